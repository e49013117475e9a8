use super::run::step;
use super::*;
use crate::edit::plan::patch;
use crate::workspace::Author;

fn changes(made: &[(usize, &str, &str)]) -> Vec<Change> {
    made.iter()
        .enumerate()
        .map(|(at, (start, removed, inserted))| Change {
            revision: Revision(at as u64 + 2),
            start: *start,
            removed: (*removed).to_owned(),
            inserted: (*inserted).to_owned(),
            author: Author::User,
            continues: false,
        })
        .collect()
}

const BEFORE: &str = "head\ntwo\ntail\n";

fn sent(old: &str, new: &str) -> Sent {
    let start = BEFORE.find(old).expect("the place is there");
    let hunk = Hunk {
        start,
        end: start + old.len(),
        text: new.to_owned(),
    };
    Sent::new(Rope::from_str(BEFORE), Some(Revision(1)), vec![hunk])
}

fn check(sent: &Sent, made: &[(usize, &str, &str)], expected: &str) {
    let changes = changes(made);
    let present = changes.iter().fold(Rope::from_str(BEFORE), |text, change| {
        step(&text, change).expect("the change fits")
    });
    let now = Revision(made.len() as u64 + 1);
    let verdict = judge(sent, &present, now, Some(&changes));
    let word = match &verdict {
        Verdict::Shown { from, to, moved } => format!("shown {} {} {moved}", from.0, to.0),
        other => format!("{other:?}").to_lowercase(),
    };
    assert_eq!(word, expected, "{made:?}");
}

#[test]
fn a_mirror_that_has_not_moved_is_pending() {
    check(&sent("two", "2"), &[], "pending");
}

#[test]
fn the_edit_is_found_among_the_changes_of_others() {
    let edit = sent("two", "2");
    check(&edit, &[(5, "two", "2")], "shown 1 2 false");
    check(&edit, &[(0, "", "x"), (6, "two", "2")], "shown 2 3 true");
    check(&edit, &[(5, "two", "2"), (0, "", "x")], "shown 1 2 true");
    // An editor may begin an undo step with changes that cancel each other.
    let nothing = [(0, "", "x"), (0, "x", ""), (5, "two", "2")];
    check(&edit, &nothing, "shown 3 4 false");
    let between = [(5, "two", "2x"), (6, "x", "")];
    check(&edit, &between, "shown 1 3 false");
    // In two pieces, as a client may report it.
    check(&edit, &[(5, "two", ""), (5, "", "2")], "shown 1 3 false");
}

/// A client replaced several lines at once, and their diff happens to contain the edit. Only the
/// text after the last piece was ever in the editor.
#[test]
fn a_piece_of_a_replacement_is_no_edit() {
    let edit = sent("two\n", "");
    for pieces in [
        [(5, "two\n", ""), (5, "", "two x\n")],
        [(5, "", "two x\n"), (11, "two\n", "")],
    ] {
        let mut changes = changes(&pieces);
        changes[0].continues = true;
        let present = Rope::from_str("head\ntwo x\ntail\n");
        let verdict = judge(&edit, &present, Revision(3), Some(&changes));
        assert_eq!(verdict, Verdict::Absent, "{pieces:?}");
    }
}

/// Eglot 1.17 applied an edit for an old text beside its place and reported it with the typing.
#[test]
fn an_edit_that_landed_beside_its_place_in_one_change_with_typing_is_never_sent_again() {
    let edit = sent("two", "two → wall");
    let misplaced = [(0, "head\ntwo\n", "typed\nhea → walld\ntwo\n")];
    let insertion = Sent::new(
        Rope::from_str(BEFORE),
        Some(Revision(1)),
        vec![Hunk {
            start: 8,
            end: 8,
            text: " → wall".to_owned(),
        }],
    );
    check(&insertion, &misplaced, "elsewhere { sure: false }");
    // The text was there before.
    check(&edit, &[(0, "head\ntwo\n", "typed\nhead\ntwo\n")], "absent");
}

#[test]
fn an_edit_that_the_user_undid_is_undone() {
    let edit = sent("two", "2");
    check(&edit, &[(5, "two", "2"), (5, "2", "two")], "undone");
}

#[test]
fn typing_alone_is_no_edit() {
    let edit = sent("two", "2");
    check(&edit, &[(0, "", "two"), (0, "two", "")], "absent");
    check(&edit, &[(6, "w", "W")], "absent");
    // The user deleted half of the replaced text, or all of it and typed a letter.
    check(&sent("two", ""), &[(5, "tw", "")], "unknown");
    // A dropped insertion, while the user deleted the text beside its place.
    let start = BEFORE.find("two").expect("there");
    let insertion = Sent::new(
        Rope::from_str(BEFORE),
        Some(Revision(1)),
        vec![Hunk {
            start,
            end: start,
            text: "tail\n".to_owned(),
        }],
    );
    check(&insertion, &[(5, "two\n", "")], "absent");
}

#[test]
fn the_edit_is_found_in_one_change_with_typing_around_and_inside_it() {
    let edit = sent("two", "a longer text");
    check(&edit, &[(5, "two", "xa longer texty")], "shown 1 2 true");
    check(&edit, &[(5, "two", "a lonXger text")], "shown 2 2 true");
    check(
        &edit,
        &[(0, "head\ntwo", "HEAD\na longer text")],
        "shown 1 2 true",
    );
}

#[test]
fn the_edits_text_at_another_place_is_elsewhere() {
    // Or typed by the user: with so short a text it is unclear.
    check(
        &sent("two", "2"),
        &[(9, "", "2")],
        "elsewhere { sure: false }",
    );
    check(
        &sent("two", "a longer text"),
        &[(8, "", "and a longer text")],
        "elsewhere { sure: true }",
    );
}

#[test]
fn only_what_is_certainly_ours_is_reverted() {
    let edit = sent("two", "a longer text");
    let back = |made: &[(usize, &str, &str)]| {
        let changes = changes(made);
        let present = changes.iter().fold(Rope::from_str(BEFORE), |text, change| {
            step(&text, change).expect("the change fits")
        });
        inverse(&edit, &present, &changes).map(|hunks| patch(&present, &hunks).to_string())
    };
    let whole = Some(BEFORE.to_owned());
    assert_eq!(back(&[(9, "tail", "a longer text")]), whole);
    // The user's later typing stays.
    let typed = back(&[(9, "tail", "a longer text"), (0, "", "x")]);
    assert_eq!(typed, Some(format!("x{BEFORE}")));
    assert_eq!(back(&[(9, "tail", "a longer text"), (12, "", "x")]), None);
    assert_eq!(back(&[(9, "", "and a longer text")]), None);
    assert_eq!(
        back(&[(9, "", "a longer text"), (0, "", "a longer text")]),
        None
    );
}

/// R36.
#[test]
fn unknown_changes_are_judged_by_the_texts_alone() {
    let edit = sent("two", "2");
    let verdict = |text: &str| judge(&edit, &Rope::from_str(text), Revision(9), None);
    assert!(matches!(
        verdict("head\n2\ntail\n"),
        Verdict::Shown { moved: false, .. }
    ));
    assert_eq!(verdict(BEFORE), Verdict::Absent);
    for text in ["HEAD\n2\ntail\n", "HEAD\ntwo\ntail\n"] {
        assert_eq!(verdict(text), Verdict::Unknown, "{text}");
    }
}
