use super::*;
use crate::edit::plan;
use crate::workspace::Revision;

fn check(
    base: &str,
    old: &str,
    changes: &[(usize, &str, &str)],
    expected: Result<usize, Conflict>,
) {
    let plan = plan::replace(&Rope::from_str(base), old, "NEW", None).expect("one match");
    let mut now = base.to_owned();
    let changes: Vec<Change> = changes
        .iter()
        .map(|(start, removed, inserted)| {
            now.replace_range(*start..start + removed.len(), inserted);
            Change {
                revision: Revision(2),
                start: *start,
                removed: (*removed).to_owned(),
                inserted: (*inserted).to_owned(),
                author: Author::User,
                continues: false,
            }
        })
        .collect();
    let found = rebased_hunks(&plan, &Rope::from_str(&now), Some(&changes))
        .map(|(hunks, _)| hunks[0].start);
    assert_eq!(found, expected);
}

#[test]
fn a_plan_follows_the_changes_to_its_place() {
    check("a old", "old", &[(0, "", "xx")], Ok(4));
    check(
        "a old",
        "old",
        &[(3, "l", "")],
        Err(Conflict::Overlap {
            hunk: 0,
            by: Author::User,
        }),
    );
    // Typed and undone: the text is the one that the model saw.
    check("a old", "old", &[(3, "l", ""), (3, "", "l")], Ok(2));
}

#[test]
fn an_edge_that_typing_put_inside_a_crlf_is_a_conflict_i12() {
    check(
        "a\nb",
        "\n",
        &[(1, "", "\r")],
        Err(Conflict::Overlap {
            hunk: 0,
            by: Author::User,
        }),
    );
}

#[test]
fn nothing_is_replaced_that_the_model_did_not_see() {
    let plan = plan::replace(&Rope::from_str("a old"), "old", "NEW", None).expect("one match");
    // A record that does not lead from the plan's base to the current text.
    for present in ["a odl", "a é", "a"] {
        let found = rebased_hunks(&plan, &Rope::from_str(present), Some(&[]));
        assert_eq!(
            found.err(),
            Some(Conflict::Overlap {
                hunk: 0,
                by: Author::User
            }),
            "{present}"
        );
    }
}

#[test]
fn without_a_record_only_the_same_text_will_do() {
    let base = Rope::from_str("a old");
    let plan = plan::replace(&base, "old", "NEW", None).expect("one match");
    assert!(rebased_hunks(&plan, &base, None).is_ok());
    let other = rebased_hunks(&plan, &Rope::from_str("b old"), None);
    assert_eq!(other.err(), Some(Conflict::Forgotten));
}

/// A revert's own lines can be back by undo, wherever that put them.
#[test]
fn a_review_meets_no_change_that_touches_it_or_brings_its_lines_back() {
    let base = Rope::from_str("one\ntwo\nthree\nfour\n");
    let hunk = Hunk {
        start: 8,
        end: 8,
        text: "gone line\n".to_owned(),
    };
    let plan = Plan {
        base: base.clone(),
        named: Vec::new(),
        hunks: vec![hunk],
        strategy: crate::edit::matching::Strategy::Exact,
    };
    let found = |start: usize, inserted: &str| {
        let mut now = base.clone();
        now.insert(start, inserted);
        let change = Change {
            revision: Revision(2),
            start,
            removed: String::new(),
            inserted: inserted.to_owned(),
            author: Author::User,
            continues: false,
        };
        untouched_hunks(&plan, &now, Some(&[change])).map(|(hunks, _)| hunks[0].start)
    };
    let conflict = Err(Conflict::Overlap {
        hunk: 0,
        by: Author::User,
    });
    assert_eq!(found(0, "typed\n"), Ok(14));
    assert_eq!(found(8, "typed\n"), conflict);
    assert_eq!(found(19, "  gone line\n"), conflict);
    assert_eq!(found(19, "gone in a line\n"), conflict);
}
