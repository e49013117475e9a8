use proptest::prelude::*;

use super::*;
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

fn check(before: &str, hunk: (usize, usize, &str), made: &[(usize, &str, &str)], fate: Fate) {
    let hunk = Hunk {
        start: hunk.0,
        end: hunk.1,
        text: hunk.2.to_owned(),
    };
    let sent = Sent::new(Rope::from_str(before), Some(Revision(1)), vec![hunk]);
    let mut present = before.to_owned();
    let changes: Vec<Change> = made
        .iter()
        .map(|(start, removed, inserted)| {
            present.replace_range(*start..start + removed.len(), inserted);
            change(*start, removed, inserted)
        })
        .collect();
    let found = fates(&sent, &Rope::from_str(&present), &changes);
    assert_eq!(found, [fate], "{present:?}");
}

/// An editor that indents the new line before it reports both tells one insertion, at one of the
/// places where it fits.
#[test]
fn an_insertion_is_found_where_it_slid_to() {
    let before = "aa\n \nbb\n";
    check(before, (3, 3, "xy"), &[(4, "", "xy ")], Fate::Shown);
    check(before, (3, 3, "xy"), &[(3, "", " xy")], Fate::Shown);
    check(before, (3, 3, "xy"), &[(4, "", "z ")], Fate::Absent);
}

/// R36: a slid difference once took such texts for the edited one.
#[test]
fn a_line_that_is_still_there_was_not_deleted() {
    let before = "aaaa\nbbbb\ncccc\ndddd";
    let deletion = (9, 14, "");
    check(
        before,
        deletion,
        &[(1, "", "x"), (18, "", "y")],
        Fate::Absent,
    );
    // A slow client reports both in one change.
    let merged = (1, "aaa\nbbbb\ncccc\nddd", "xaaa\nbbbb\ncccc\ndydd");
    check(before, deletion, &[merged], Fate::Absent);
    let landed = (1, "aaa\nbbbb\ncccc\nddd", "xaaa\nbbbb\ndydd");
    check(before, deletion, &[landed], Fate::Shown);
}

/// A client that trims a change to what differs tells a deletion at another place than its own.
#[test]
fn a_deletion_is_found_where_it_slid_to() {
    let before = "a\nb\nb\nc";
    check(before, (2, 4, ""), &[(4, "b\nc", "cx")], Fate::Shown);
    check(before, (2, 4, ""), &[(6, "c", "cx")], Fate::Absent);
}

/// R36.
#[test]
fn what_fits_both_texts_is_in_doubt() {
    check("qty = 5\n", (6, 7, "6"), &[(6, "5", "65")], Fate::Doubt);
    check("head two", (5, 8, ""), &[(5, "tw", "")], Fate::Doubt);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What lies outside the regions is the same text in the same order.
    #[test]
    fn regions_hold_all_that_changes_rewrote(
        text in "[a-e]{0,12}",
        made in prop::collection::vec((0..1000usize, 0..4usize, "[v-z]{0,3}"), 0..8),
    ) {
        let mut now = text.clone();
        let mut changes = Vec::new();
        for (place, removed, inserted) in made {
            let start = place * (now.len() + 1) / 1000;
            let end = (start + removed).min(now.len());
            changes.push(change(start, &now[start..end], &inserted));
            now.replace_range(start..end, &inserted);
        }
        let (mut old, mut new) = (0, 0);
        for region in regions(&changes) {
            prop_assert_eq!(&text[old..region.old.start], &now[new..region.new.start]);
            prop_assert!(region.old.start <= region.old.end && region.new.start <= region.new.end);
            (old, new) = (region.old.end, region.new.end);
        }
        prop_assert_eq!(&text[old..], &now[new..]);
    }
}
