use std::cell::Cell;

use proptest::prelude::*;
use ropey::Rope;

use super::*;
use crate::edit::plan::patch;
use crate::workspace::{Author, Revision};

fn change(start: usize, removed: &str, inserted: &str) -> Change {
    Change {
        revision: Revision(0),
        start,
        removed: removed.to_owned(),
        inserted: inserted.to_owned(),
        author: Author::User,
        continues: false,
    }
}

fn hunk(start: usize, end: usize, text: &str) -> Hunk {
    Hunk {
        start,
        end,
        text: text.to_owned(),
    }
}

fn apply(text: &str, change: &Change) -> String {
    let mut out = text.to_owned();
    let end = change.start + change.removed.len();
    assert_eq!(&out[change.start..end], change.removed);
    out.replace_range(change.start..end, &change.inserted);
    out
}

fn check(start: usize, end: usize, by: Change, expected: Option<(usize, usize)>) {
    assert_eq!(shift(start, end, &by), expected, "{by:?}");
}

#[test]
fn changes_before_a_hunk_shift_it_and_those_behind_do_not() {
    check(4, 6, change(0, "ab", "x"), Some((3, 5)));
    check(4, 6, change(0, "", "xy"), Some((6, 8)));
    check(4, 6, change(7, "a", ""), Some((4, 6)));
    check(4, 6, change(2, "ab", "xyz"), Some((5, 7)));
    check(4, 6, change(6, "ab", "x"), Some((4, 6)));
}

#[test]
fn an_insertion_at_an_edge_is_the_users_and_comes_first() {
    check(4, 6, change(4, "", "x"), Some((5, 7)));
    check(4, 6, change(6, "", "x"), Some((4, 6)));
    check(4, 4, change(4, "", "x"), Some((5, 5)));
}

/// An undo that arrived first brought back what a revert would insert.
#[test]
fn an_insertion_that_the_user_made_too_is_a_conflict() {
    let edit = [hunk(4, 4, "line\n")];
    assert!(rebase(&edit, &[change(4, "", "line\n")]).is_err());
    assert!(rebase(&edit, &[change(2, "", "line\n")]).is_ok());
    assert!(rebase(&edit, &[change(4, "", "mine\n")]).is_ok());
    assert!(rebase(&[hunk(4, 4, "\n")], &[change(4, "", "\n")]).is_ok());
    // Reported in one change with what was typed, and without the line end that stays.
    assert!(rebase(&edit, &[change(1, "was", "is\nline")]).is_err());
    assert!(rebase(&edit, &[change(4, "", "line\nnext\n")]).is_err());
    assert!(rebase(&edit, &[change(1, "was", "is\nlin")]).is_ok());
    assert!(rebase(&edit, &[change(0, "was", "is\nline")]).is_err());
    let both = [hunk(4, 4, "line\nnext\n")];
    assert!(rebase(&both, &[change(4, "", "next\n")]).is_err());
    assert!(rebase(&both, &[change(4, "", "next")]).is_ok());
    // A replacement that would write the line, which an undo brought back beside it.
    let replaced = [hunk(4, 7, "line\nnext")];
    assert!(rebase(&replaced, &[change(4, "", "line\n")]).is_err());
    assert!(rebase(&replaced, &[change(7, "", "\nnext")]).is_err());
    assert!(rebase(&replaced, &[change(7, "", "\nmine")]).is_ok());
    assert!(rebase(&replaced, &[change(2, "", "line\n")]).is_ok());
    // ` b\n` before ` c` is `b\n ` after its space.
    assert!(rebase(&[hunk(5, 5, "b\n ")], &[change(4, "", " b\n")]).is_err());
    assert!(rebase(&[hunk(4, 4, " b\n")], &[change(5, "", "b\n ")]).is_err());
    assert!(rebase(&[hunk(6, 6, "b\n ")], &[change(4, "", " b\n")]).is_ok());
}

#[test]
fn a_change_of_a_hunks_bytes_is_a_conflict_b01() {
    check(4, 6, change(5, "", "x"), None);
    check(4, 6, change(5, "a", ""), None);
    check(4, 6, change(3, "ab", ""), None);
    check(4, 6, change(0, "abcdefgh", "z"), None);
    check(4, 4, change(3, "ab", ""), None);
    assert_eq!(
        rebase(&[hunk(0, 1, "x"), hunk(4, 6, "y")], &[change(5, "a", "")]),
        Err(Conflict::Overlap {
            hunk: 1,
            by: Author::User
        })
    );
}

/// The hunk in `base`, and whether a change leaves it to be rebased.
fn joins(base: &str, edit: Hunk, by: Change, conflict: bool) {
    let rope = Rope::from_str(base);
    let found = rebase_words(&rope, &[edit], std::slice::from_ref(&by));
    assert_eq!(found.is_err(), conflict, "{by:?}");
}

/// R37.
#[test]
fn a_change_that_touches_a_hunk_within_a_word_is_a_conflict() {
    let base = "qty = 5;";
    joins(base, hunk(6, 7, "6"), change(6, "", "5"), true);
    joins(base, hunk(6, 7, "6"), change(7, "", "5"), true);
    joins(base, hunk(6, 7, "6"), change(6, "", "-"), false);
    joins(base, hunk(6, 7, "6"), change(7, "", ".5"), false);
    joins(base, hunk(6, 7, ""), change(7, "", "x"), true);
    joins(base, hunk(6, 7, "-"), change(7, ";", "x;"), true);
    // A word that is deleted or replaced right beside it.
    joins("val5", hunk(3, 4, "6"), change(0, "val", ""), true);
    joins("val 5", hunk(4, 5, "6"), change(0, "val ", ""), false);
    // Insertions at one place.
    joins("parse()", hunk(5, 5, "_line"), change(5, "", "x"), true);
    joins("parse()", hunk(5, 5, "_line"), change(5, "", "x "), false);
    joins("foo\nbar", hunk(3, 3, "\nnew"), change(3, "", "x"), false);
    joins("foo\nbar", hunk(4, 4, "new\n"), change(4, "", "x"), true);
}

#[test]
fn changes_are_followed_one_after_another() {
    let moved = rebase(
        &[hunk(4, 6, "y")],
        &[change(0, "", "12"), change(6, "", "3")],
    );
    assert_eq!(moved, Ok(vec![hunk(7, 9, "y")]));
}

/// A user's changes as (place in permille, removed characters, inserted text).
fn typing() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    prop::collection::vec((0..1000usize, 0..3usize, "[u-z]{0,2}"), 0..5)
}

fn changes(text: &str, typing: &[(usize, usize, String)]) -> (String, Vec<Change>) {
    let mut now = text.to_owned();
    let mut changes = Vec::new();
    for (place, removed, inserted) in typing {
        let start = place * now.len() / 1000;
        let end = (start + removed).min(now.len());
        if start == end && inserted.is_empty() {
            continue;
        }
        let change = change(start, &now[start..end], inserted);
        now = apply(&now, &change);
        changes.push(change);
    }
    (now, changes)
}

/// The user's changes applied to the text after the hunk: the other order.
fn afterwards(text: &str, hunk: &Hunk, changes: &[Change]) -> String {
    let mut now = patch(&Rope::from_str(text), std::slice::from_ref(hunk)).to_string();
    // Where the edit is in `now`; user insertions at its start come first.
    let (mut start, mut old) = (hunk.start, hunk.end - hunk.start);
    for change in changes {
        let place = if change.start > start || (change.start == start && !change.removed.is_empty())
        {
            change.start + hunk.text.len() - old
        } else {
            change.start
        };
        let moved = Change {
            start: place,
            ..change.clone()
        };
        now = apply(&now, &moved);
        (start, _) = shift(start, start + old, change).expect("checked by the rebase");
        old = hunk.end - hunk.start;
    }
    now
}

#[test]
fn disjoint_changes_commute_and_conflicts_change_nothing_i1_i2_i3() {
    let (moved, conflicts) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(600));
    let inputs = (
        "[a-f]{4,16}",
        0..1000usize,
        0..4usize,
        "[A-F]{0,3}",
        typing(),
    );
    runner
        .run(&inputs, |(text, place, length, new, typing)| {
            let start = place * text.len() / 1000;
            let end = (start + length).min(text.len());
            let edit = hunk(start, end, &new);
            let (now, changes) = changes(&text, &typing);
            match rebase(std::slice::from_ref(&edit), &changes) {
                Ok(placed) => {
                    moved.set(moved.get() + 1);
                    let result = patch(&Rope::from_str(&now), &placed).to_string();
                    // I02: both orders give one text.
                    prop_assert_eq!(&result, &afterwards(&text, &edit, &changes));
                    // I01: the user's own text is all there, in the user's order.
                    let users = |text: &str| -> String {
                        text.chars().filter(|c| ('u'..='z').contains(c)).collect()
                    };
                    prop_assert_eq!(users(&result), users(&now));
                    // What is replaced is what the model saw.
                    prop_assert_eq!(&now[placed[0].start..placed[0].end], &text[start..end]);
                }
                Err(conflict) => {
                    conflicts.set(conflicts.get() + 1);
                    prop_assert_eq!(
                        conflict,
                        Conflict::Overlap {
                            hunk: 0,
                            by: Author::User
                        }
                    );
                }
            }
            Ok(())
        })
        .expect("the property holds");
    println!(
        "rebase: {} moved, {} conflicts",
        moved.get(),
        conflicts.get()
    );
    assert!(moved.get() > 100 && conflicts.get() > 50);
}

/// Lines in which `name` is used, with what the user wrote around it.
fn uses(around: &[(String, String)], name: &str) -> String {
    let line = |(before, behind): &(String, String)| format!("{before} {name} {behind}\n");
    around.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A rename and the user's edits elsewhere give the same text in either order.
    #[test]
    fn a_rename_and_disjoint_edits_of_the_user_commute(
        mut around in prop::collection::vec(("[a-z🦀é]{0,4}", "[a-z🦀é]{0,4}"), 1..6),
        typed in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), "[a-z🦀\n]{0,5}"), 0..6),
        old in "parse|p",
        new in "parse_line|scan|par|p2",
    ) {
        let base = uses(&around, &old);
        let mut places = Vec::new();
        let mut at = 0;
        for (before, behind) in &around {
            let start = at + before.len() + 1;
            places.push((start..start + old.len(), new.clone()));
            at = start + old.len() + 1 + behind.len() + 1;
        }
        let plan = crate::edit::plan::ranges(&Rope::from_str(&base), places);
        prop_assert_eq!(plan.result().to_string(), uses(&around, &new));
        let mut changes = Vec::new();
        for (line, first, text) in typed {
            let line = line.index(around.len());
            let lines_before = uses(&around[..line], &old).len();
            let (before, behind) = &mut around[line];
            let (start, removed) = match first {
                true => (lines_before, std::mem::replace(before, text.clone())),
                false => {
                    let start = lines_before + before.len() + old.len() + 2;
                    (start, std::mem::replace(behind, text.clone()))
                }
            };
            changes.push(change(start, &removed, &text));
        }
        let edited = Rope::from_str(&uses(&around, &old));
        let hunks = rebase_words(&plan.base, &plan.hunks, &changes).expect("disjoint");
        prop_assert_eq!(patch(&edited, &hunks).to_string(), uses(&around, &new));
    }
}
