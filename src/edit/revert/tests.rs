use proptest::prelude::*;
use ropey::Rope;

use super::*;
use crate::edit::places::tests::{edit, turn};
use crate::edit::{lines, plan::patch};

/// Reverts all of these edits.
fn reverted(present: &str, edits: &[Logged]) -> RevertedText {
    revert_edits(present, edits, &[], |_| Part::Wanted)
}

const CODE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    second();\n}\n";

#[test]
fn an_untouched_text_comes_back_to_the_byte() {
    let renamed = CODE.replace("second", "deuxieme");
    let grown = format!("{renamed}\nfn three() {{}}\n");
    let taken = reverted(&grown, &turn(&[CODE, &renamed, &grown]));
    assert_eq!(taken.text, CODE);
    assert!(taken.conflicts.is_empty());
}

/// The same text was elsewhere before the edit: that place is not the agent's.
#[test]
fn words_that_stand_elsewhere_are_never_taken_for_the_edit() {
    let line = "log::error!(\"connection lost\");";
    let before = format!("fn a() {{\n    old_one();\n}}\n\nfn b() {{\n    {line}\n}}\n");
    let after = before.replace("old_one();", line);
    let edits = turn(&[&before, &after]);
    let (place, rest) = after.split_once(line).unwrap();
    let present = format!("{place}mine();{rest}");
    let taken = reverted(&present, &edits);
    assert_eq!(taken.text, present);
    assert_eq!(taken.conflicts.len(), 1);
}

#[test]
fn what_the_user_typed_elsewhere_stays() {
    let after = CODE.replace("second();", "second(2);\n    third();");
    let typed = format!("// mine\n{after}// mine too\n");
    let taken = reverted(&typed, &turn(&[CODE, &after]));
    assert_eq!(taken.text, format!("// mine\n{CODE}// mine too\n"));
    assert!(taken.conflicts.is_empty());
}

#[test]
fn what_the_user_changed_in_it_is_a_conflict_and_the_rest_comes_back() {
    let after = CODE
        .replace("first();", "first(\"a long enough one\");")
        .replace("second();", "second(\"a long enough two\");");
    let typed = after.replace("long enough two", "short two");
    let taken = reverted(&typed, &turn(&[CODE, &after]));
    let expected = CODE.replace("second();", "second(\"a short two\");");
    assert_eq!(taken.text, expected);
    assert_eq!(taken.conflicts, ["line 6: the text has changed since"]);
}

#[test]
fn a_place_that_is_there_twice_is_left_alone() {
    let before = "start\na\nend\n";
    let after = "start\na new line of words\nend\n";
    let twice = format!("{after}{after}");
    let taken = reverted(&twice, &turn(&[before, after]));
    assert_eq!(taken.text, twice);
    assert_eq!(taken.conflicts.len(), 1);
}

#[test]
fn a_deletion_comes_back_between_its_neighbours() {
    let after = CODE.replace("    first();\n", "");
    let typed = format!("{after}// mine\n");
    let taken = reverted(&typed, &turn(&[CODE, &after]));
    assert_eq!(taken.text, format!("{CODE}// mine\n"));
}

#[test]
fn one_side_of_what_was_around_is_enough() {
    let before = "the first line\nold words\nthe last line\n";
    let after = before.replace("old words", "a new line of words");
    for (from, to) in [
        ("the first line", "mine"),
        ("the last line", "mine"),
        ("the last line\n", "mine\nmore\nand more\nand more\n"),
    ] {
        let present = after.replace(from, to);
        let taken = reverted(&present, &turn(&[before, &after]));
        assert_eq!(taken.text, before.replace(from, to));
        assert!(taken.conflicts.is_empty());
    }
}

#[test]
fn reverting_a_revert_brings_the_edit_back() {
    let after = CODE.replace("second", "deuxieme");
    let taken = reverted(&after, &turn(&[CODE, &after]));
    let again = reverted(&taken.text, &[edit(&after, &taken.text)]);
    assert_eq!(again.text, after);
}

/// A log of an older version has no lines around a hunk: the exact text, or nothing.
#[test]
fn without_surroundings_only_the_exact_text_counts() {
    let after = CODE.replace("one", "el_primero_de_todos");
    let mut log = turn(&[CODE, &after]);
    for hunk in &mut log[0].hunks {
        (hunk.lead, hunk.trail) = (String::new(), String::new());
    }
    assert_eq!(reverted(&after, &log).text, CODE);
    for typed in [format!("{after}x"), format!("x{after}")] {
        assert_eq!(reverted(&typed, &log).text, typed);
    }
}

/// After undo or a reload, what the agent deleted stands beside its old place, where the same lines
/// are around.
#[test]
fn deleted_lines_that_are_back_are_not_inserted_again() {
    let before = "end;\nsecond();\nend;\n}\n";
    let edits = turn(&[before, "end;\n}\n"]);
    let same = reverted(before, &edits);
    assert_eq!((same.text.as_str(), same.conflicts.len()), (before, 1));
    let typed = format!("{before}// mine\n");
    let same = reverted(&typed, &edits);
    assert_eq!((same.text, same.conflicts.len()), (typed, 1));
}

/// The first deletion was rejected, and its place is no longer known; the second one is in force.
#[test]
fn a_revert_without_its_edit_is_not_undone() {
    let before = "abc\nfn deformed()\nghi\n";
    let present = "fn deformed()\nghi\n";
    let edits = turn(&[before, "ghi\n", before, present]);
    let present = &format!("{present}mine\n");
    let part = |(edit, _): HunkAt| [Part::Rejected, Part::Inverse, Part::Wanted][edit];
    let taken = revert_edits(present, &edits, &[], part);
    assert_eq!((&taken.text, taken.conflicts.len()), (present, 1));
}

/// What the first edit deleted was put back by a rejection; the second deleted it again.
#[test]
fn what_was_deleted_again_after_a_rejection_comes_back_beside_typing() {
    let before = "first();\nsecond();\nthird();\nfourth();\n";
    let without = "first();\nthird();\nfourth();\n";
    let typed = |text: &str| text.replace("first", "fi_rst");
    let mut edits = turn(&[before, without, before]);
    edits.extend(turn(&[&typed(before), &typed(without)]));
    let part = |(edit, _): HunkAt| [Part::Rejected, Part::Inverse, Part::Wanted][edit];
    let taken = revert_edits(&typed(without), &edits, &[], part);
    assert_eq!((taken.text, taken.conflicts.len()), (typed(before), 0));
}

/// Between equal lines a deletion is found again although a rejection put the line back.
#[test]
fn a_rejected_deletion_is_not_reverted_twice() {
    let before = "end end\nend end\nend end\n\n";
    let edits = turn(&[before, "end end\nend end\n\n", before]);
    let present = before.replacen("end", "e_nd", 1);
    let part = |(edit, _): HunkAt| [Part::Rejected, Part::Inverse][edit];
    let taken = revert_edits(&present, &edits, &[], part);
    assert_eq!(taken.text, present);
}

/// The first deletion was rejected while the second one was on its way.
#[test]
fn beside_a_rejected_change_the_other_is_reverted() {
    let texts = [
        "first();\nsecond();\n}\n",
        "second();\n}\n",
        "}\n",
        "first();\n}\n",
    ];
    let part = |(edit, _): HunkAt| [Part::Reverted, Part::Wanted, Part::Inverse][edit];
    let taken = revert_edits(texts[3], &turn(&texts), &[], part);
    assert_eq!((taken.text.as_str(), taken.conflicts.len()), (texts[0], 0));
}

/// The difference of the whole texts would be another one, with hunks that belong to several places.
#[test]
fn the_hunks_of_a_revert_stay_inside_their_places() {
    let before = "end\nabc\n\nend\n}\nend\n";
    let edits = turn(&[
        before,
        "\nend\n}\nend\n",
        "\nend\nend\n",
        "new\n\nend\nend\n",
    ]);
    let present = "new\n\nend\nend\n";
    let taken = reverted(present, &edits);
    assert_eq!(taken.text, before);
    let starts: Vec<usize> = taken.hunks.iter().map(|hunk| hunk.start).collect();
    assert_eq!(starts, [0, 9]);
    let hunks = &taken.hunks;
    assert_eq!(patch(&Rope::from_str(present), hunks).to_string(), before);
}

proptest! {
    /// INV-4: whatever the user did since, none of the user's lines is lost, and nothing panics.
    #[test]
    fn lines_of_the_user_survive_a_revert(
        before in prop::collection::vec("[a-c]{1,3}", 0..12),
        edits in prop::collection::vec((0usize..12, "[d-f]{4,20}é?"), 1..5),
        typed in prop::collection::vec((0usize..16, "USER[0-9]{3}"), 0..4),
    ) {
        let mut texts = vec![before.join("\n")];
        let mut lines: Vec<String> = before.clone();
        for (at, text) in edits {
            let at = at.min(lines.len());
            if at < lines.len() && text.len() % 2 == 0 {
                lines[at] = text;
            } else {
                lines.insert(at, text);
            }
            texts.push(lines.join("\n"));
        }
        let steps: Vec<&str> = texts.iter().map(String::as_str).collect();
        let log = turn(&steps);
        for (at, text) in &typed {
            lines.insert((*at).min(lines.len()), text.clone());
        }
        let present = lines.join("\n");
        let taken = reverted(&present, &log);
        for (_, text) in &typed {
            prop_assert!(taken.text.contains(text.as_str()));
        }
        if typed.is_empty() {
            prop_assert_eq!(&taken.text, &texts[0]);
            prop_assert!(taken.conflicts.is_empty());
        }
        // The driver's input makes exactly this text.
        let hunks = lines::difference(&present, &taken.text);
        prop_assert_eq!(patch(&Rope::from_str(&present), &hunks).to_string(), taken.text);
    }
}

/// A place that others split since is reverted whole or not at all.
#[test]
fn a_group_with_a_changed_part_is_left_whole() {
    let first = CODE.replace("first();", "first(\"a long enough one\");");
    let both = first.replace("second();", "second(\"a long enough two\");");
    let typed = both.replace("long enough two", "short two");
    let edits = turn(&[CODE, &first, &both]);
    let group = [vec![(0, 0), (1, 0)]];
    let left = revert_edits(&typed, &edits, &group, |_| Part::Wanted);
    assert_eq!(
        (left.text.as_str(), left.reverted),
        (typed.as_str(), vec![])
    );
    let lines = [2, 6].map(|line| format!("line {line}: the text has changed since"));
    assert_eq!(left.conflicts, lines);
    let apart = [vec![(0, 0)], vec![(1, 0)]];
    let taken = revert_edits(&typed, &edits, &apart, |_| Part::Wanted);
    assert_eq!(taken.reverted, [(0, 0)]);
    assert!(!taken.text.contains("a long enough one"), "{}", taken.text);
}
