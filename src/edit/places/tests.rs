use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::edit::lines;

/// The edit that makes `after` of `before`, as the driver logs it.
pub(in crate::edit) fn edit(before: &str, after: &str) -> Logged {
    let hunks = lines::difference(before, after);
    let hunks = logged(&Rope::from_str(before), &Rope::from_str(after), &hunks);
    Logged {
        before: sha256(before.as_bytes()),
        hash: sha256(after.as_bytes()),
        hunks,
        undoes: Vec::new(),
    }
}

/// The edits of a turn through these texts.
pub(in crate::edit) fn turn(texts: &[&str]) -> Vec<Logged> {
    texts
        .windows(2)
        .map(|pair| edit(pair[0], pair[1]))
        .collect()
}

const CODE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    second();\n}\n\nfn three() {\n    third();\n}\n";

/// The places' texts before and now, and whether others changed them.
fn shown(present: &str, edits: &[Logged]) -> Vec<(String, String, bool)> {
    let places = places(present, edits).found.into_iter();
    places
        .map(|it| (it.before, present[it.range].to_owned(), it.amended))
        .collect()
}

fn row(before: &str, now: &str, amended: bool) -> (String, String, bool) {
    (before.to_owned(), now.to_owned(), amended)
}

#[test]
fn each_changed_line_is_a_hunk_with_what_was_there_before() {
    let changed = CODE.replace("first", "erste").replace("third", "dritte");
    let found = places(&changed, &turn(&[CODE, &changed]));
    assert_eq!(found.before, CODE);
    assert!(found.gone.is_empty());
    let names: Vec<&[HunkAt]> = found.found.iter().map(|it| &it.hunks[..]).collect();
    assert_eq!(names, [&[(0, 0)][..], &[(0, 1)]]);
    let edits = turn(&[CODE, &changed]);
    assert_eq!(
        shown(&changed, &edits),
        [row("first", "erste", false), row("third", "dritte", false)]
    );
}

#[test]
fn what_the_user_types_elsewhere_belongs_to_no_hunk() {
    let changed = CODE.replace("second", "zweite");
    let typed = format!(
        "// mine\n{}// more\n",
        changed.replace("third();", "third(1);")
    );
    let edits = turn(&[CODE, &changed]);
    assert_eq!(shown(&typed, &edits), [row("second", "zweite", false)]);
    assert_eq!(
        places(&typed, &edits).before,
        typed.replace("zweite", "second")
    );
}

#[test]
fn later_edits_of_a_place_join_its_hunk() {
    let once = CODE.replace("second()", "zweite()");
    let twice = once.replace("zweite()", "zweite(1)");
    let edits = turn(&[CODE, &once, &twice]);
    assert_eq!(shown(&twice, &edits), [row("second(", "zweite(1", false)]);
    let found = places(&twice, &edits).found;
    assert_eq!(found[0].hunks, [(0, 0), (1, 0)]);
    let back = turn(&[CODE, &once, CODE]);
    assert_eq!(shown(CODE, &back), []);
}

#[test]
fn a_hunk_whose_text_the_user_changed_is_amended() {
    let changed = CODE.replace("second", "zweite");
    let edits = turn(&[CODE, &changed]);
    let typed = changed.replace("zweite", "deux");
    assert_eq!(shown(&typed, &edits), [row("second", "deux", true)]);
    let rewritten = changed.replace("    zweite();\n", "\tdeux 7\n");
    let rows = [row("    second();\n", "\tdeux 7\n", true)];
    assert_eq!(shown(&rewritten, &edits), rows);
}

#[test]
fn what_the_user_undid_by_hand_is_gone() {
    let changed = CODE.replace("second", "zweite");
    let found = places(CODE, &turn(&[CODE, &changed]));
    assert_eq!((found.found, found.gone), (Vec::new(), vec![(0, 0)]));
}

/// After undo or a reload, and typing elsewhere: to insert them again would double them.
#[test]
fn deleted_lines_that_are_back_between_equal_lines_are_amended() {
    let base = "alike();\nfirst();\nalike();\nthird();\nfourth();\nfifth();\nsixth();\n";
    let without = base.replacen("first();\nalike();\n", "", 1);
    let edits = turn(&[base, &without]);
    let amended = |present: &str| -> Vec<bool> {
        let rows = shown(present, &edits);
        rows.iter().map(|(_, _, amended)| *amended).collect()
    };
    let typed = base.replace("sixth", "my_sixth");
    assert!(!amended(&typed).contains(&false));
    assert_eq!(amended(&typed.replace("first()", "first(1)")), [true]);
    assert_eq!(amended(&without.replace("sixth", "my_sixth")), [false]);
    let alike = base.replace("first", "alike");
    let edits = turn(&[&alike, &alike.replacen("alike();\n", "", 1)]);
    let typed = alike
        .replacen("alike();\n", "", 1)
        .replace("sixth", "my_sixth");
    assert_eq!(shown(&typed, &edits), [row("alike();\n", "", false)]);
}

/// Undo and typing brought the line back far from where the place is found by its surroundings: only
/// the log knows that it stood nowhere after the edit.
#[test]
fn a_removed_line_that_is_back_elsewhere_is_amended() {
    let base = format!("import one\n\n{CODE}");
    let without = CODE.replace("second", "zweite");
    let edits = turn(&[&base, &without]);
    let back = |text: &str| {
        shown(text, &edits)
            .iter()
            .map(|it| it.2)
            .collect::<Vec<_>>()
    };
    assert_eq!(back(&format!("{without}// mine\n")), [false, false]);
    let far = format!("{without}// mine\nimport one\n");
    assert_eq!(back(&far), [true, false]);
    assert_eq!(
        back(&far.replace("import one", "  import the one")),
        [true, false]
    );
}

/// The agent moved a line in two edits: that it stands elsewhere is its own doing.
#[test]
fn a_removed_line_that_a_later_edit_wrote_elsewhere_is_not_amended() {
    let base = format!("import one\n\n{CODE}");
    let moved = format!("{CODE}import one\n");
    let edits = turn(&[&base, CODE, &moved]);
    let typed = moved.replace("fn two", "fn my_two");
    let rows = [
        row("import one\n\n", "", false),
        row("", "import one\n", false),
    ];
    assert_eq!(shown(&typed, &edits), rows);
}

#[test]
fn the_log_names_the_removed_lines_that_are_nowhere_else() {
    let vanished = |before: &str, after: &str| {
        let hunks = edit(before, after).hunks.into_iter();
        hunks.map(|it| it.vanished).collect::<Vec<_>>()
    };
    let before = "first();\n}\nsecond();\nthird();\nfourth();\nlast();\n";
    assert_eq!(vanished(before, "last();\n"), [[(0, 1), (2, 5)]]);
    assert_eq!(
        vanished(before, "last();\nsecond();\n"),
        [[(0, 1)], [(0, 2)]]
    );
    // A line of which only a part changed is still recognised in what it became.
    assert_eq!(vanished(before, &before.replace("ir", "")), [[], []]);
    assert_eq!(
        vanished(CODE, &format!("{CODE}fn four() {{}}\n")),
        [vec![]; 1]
    );
}

#[test]
fn the_log_names_the_lines_around_a_hunk_that_the_text_has_elsewhere() {
    let common = |before: &str, after: &str| {
        let hunks = edit(before, after).hunks.into_iter();
        let hunks = hunks.map(|it| (it.common, it.repeated));
        hunks.collect::<Vec<_>>()
    };
    let twins = "return;\na();\nend();\nreturn;\nb();\nend();\n";
    // `return;` and `end();` are twice in the text, and `end();` also around the hunk.
    assert_eq!(
        common(twins, &twins.replace("b();", "b(1);")),
        [(vec![(2, 3)], false)]
    );
    let many = twins.replace('b', "a").repeat(4);
    let changed = format!("{many}{many}");
    let before = changed
        .replacen("a();", "b();", 6)
        .replacen("b();", "a();", 5);
    assert_eq!(common(&before, &changed), [(vec![(0, 6)], true)]);
    assert_eq!(
        common(CODE, &CODE.replace("second", "zweite")),
        [(vec![], false)]
    );
}

/// The right place no longer looks as it did, and another one does.
#[test]
fn a_place_that_the_user_changed_is_not_taken_for_one_that_was_like_it() {
    let part = |name: &str, body: &str| {
        format!("fn {name}() {{\n    let x = get();\n    {body};\n    done();\n}}\n")
    };
    let before = [
        part("one", "set(0)"),
        part("two", "get(0)"),
        part("three", "set(9)"),
    ]
    .concat();
    let after = before.replace("get(0)", "set(0)");
    let edits = turn(&[&before, &after]);
    assert_eq!(shown(&after, &edits).len(), 1);
    let at = after.find("fn two").unwrap();
    let (head, rest) = after.split_at(at);
    for typed in ["let y = get();", "let x = get(1);"] {
        let rest = rest
            .replacen("let x = get();", typed, 1)
            .replacen("fn two", "fn zwei", 1);
        let typed = format!("{head}{rest}");
        let places = places(&typed, &edits);
        assert!(places.found.iter().all(|it| it.range.start > at), "{typed}");
    }
}

const LIST: &str = "/// A kind of part.\nenum Position {\n    Major,\n    Minor,\n    Patch,\n    Pre,\n}\n\nstruct QuotedChar(char);\n\nfn quoted(c: char) -> ExcessiveComparators {\n    QuotedChar(c)\n}\n";

/// On the same line, or in the next ones.
#[test]
fn what_the_user_types_beside_a_change_leaves_it_open_to_review() {
    let cases = [
        (
            "struct QuotedChar",
            "struct Quoted",
            "struct Quoted(char);\n",
            "struct Quoted(char); // mine\n",
        ),
        (
            "struct QuotedChar",
            "struct Quoted",
            "struct Quoted(char);\n",
            "struct Quoted(char);\n// mine\n",
        ),
        (
            "struct QuotedChar",
            "struct Quoted",
            "struct Quoted(char);\n",
            "// mine\nstruct Quoted(char);\n",
        ),
        ("    Minor,\n", "", "    Major,\n", "    Major, // mine\n"),
        ("    Minor,\n", "", "    Patch,\n", "    Patch, // mine\n"),
        (
            "    Minor,\n",
            "",
            "    Patch,\n",
            "    Patch,\n    Mine,\n",
        ),
        (
            "    Minor,\n",
            "",
            "    Major,\n",
            "    Mine,\n    Major,\n",
        ),
        (
            "ExcessiveComparators",
            "TooMany",
            "fn quoted",
            "// mine\nfn quoted",
        ),
        (
            "ExcessiveComparators",
            "TooMany",
            "TooMany {",
            "TooMany { // mine",
        ),
        (
            "ExcessiveComparators",
            "TooMany",
            "TooMany {\n",
            "TooMany {\n    mine();\n",
        ),
    ];
    for (old, new, place, typed) in cases {
        let changed = LIST.replacen(old, new, 1);
        let edits = turn(&[LIST, &changed]);
        let present = changed.replacen(place, typed, 1);
        assert_ne!(present, changed);
        let (old, new) = (old.strip_prefix("struct Quoted").unwrap_or(old), new);
        let new = new.strip_prefix("struct Quoted").unwrap_or(new);
        assert_eq!(shown(&present, &edits), [row(old, new, false)], "{typed}");
    }
}

/// A reload between two edits: what the first one deleted is back, and is not inserted again.
#[test]
fn an_edit_that_was_undone_before_the_next_one_is_gone() {
    let base = "end end\nfirst\nend end\n\n\nend end\n}\n}\n\nlast\nend end\n";
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let without = |at: usize, count: usize| -> String {
        let kept = |it: &(usize, &&str)| it.0 < at || it.0 >= at + count;
        lines
            .iter()
            .enumerate()
            .filter(kept)
            .map(|it| *it.1)
            .collect()
    };
    for first in 0..lines.len() - 1 {
        for second in 0..lines.len() {
            let next = without(second, 1);
            let edits = [edit(base, &without(first, 2)), edit(base, &next)];
            let found = places(&next, &edits);
            assert_eq!(found.before, base, "{first}, {second}");
            assert!(found.gone.contains(&(0, 0)), "{first}, {second}");
        }
    }
}

#[test]
fn a_created_file_is_one_hunk() {
    assert_eq!(shown(CODE, &turn(&["", CODE])), [row("", CODE, false)]);
    let typed = CODE.replace("second", "zweite");
    assert_eq!(shown(&typed, &turn(&["", CODE])), [row("", &typed, true)]);
}

/// A text of distinct lines, and numbers of lines that an edit changes, removes or follows.
fn any_edits() -> impl Strategy<Value = (Vec<String>, Vec<Vec<(usize, u8)>>)> {
    let lines = (4usize..40).prop_map(|count| {
        (0..count)
            .map(|n| format!("line number {n} of it"))
            .collect::<Vec<_>>()
    });
    let edit = prop::collection::vec((0usize..60, 0u8..3), 1..5);
    (lines, prop::collection::vec(edit, 1..6))
}

fn changed(lines: &[String], edit: &[(usize, u8)], number: usize) -> Vec<String> {
    let edits: BTreeMap<usize, u8> = edit
        .iter()
        .map(|(at, how)| (at % lines.len(), *how))
        .collect();
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match edits.get(&at) {
            Some(0) => out.push(format!("{line} edit {number}")),
            Some(1) => out.extend([line.clone(), format!("added {at} by edit {number}")]),
            Some(_) if lines.len() > 1 => {}
            _ => out.push(line.clone()),
        }
    }
    match out.is_empty() {
        true => lines.to_vec(),
        false => out,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The places are disjoint, in order and on lines of their own, each logged hunk is in one or
    /// is gone, and with what was before in each place, the text is the one before the edits.
    #[test]
    fn places_cover_exactly_what_the_edits_changed((lines, edits) in any_edits()) {
        let mut texts = vec![lines.clone()];
        for (number, edit) in edits.iter().enumerate() {
            texts.push(changed(texts.last().unwrap(), edit, number));
        }
        let texts: Vec<String> = texts.iter().map(|it| it.join("\n")).collect();
        let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let edits = turn(&refs);
        let present = refs.last().unwrap();
        let found = places(present, &edits);
        prop_assert_eq!(&found.before, refs[0]);
        prop_assert!(found.gone.is_empty());
        let mut text = (*present).to_owned();
        for place in found.found.iter().rev() {
            prop_assert!(!place.amended);
            text.replace_range(place.range.clone(), &place.before);
        }
        prop_assert_eq!(&text, refs[0]);
        for pair in found.found.windows(2) {
            let between = &present[pair[0].range.end..pair[1].range.start];
            prop_assert!(between.contains('\n'), "{:?}", pair);
        }
    }

    /// Whatever others made of the text, the places are inside it and give the text before.
    #[test]
    fn places_fit_any_text((lines, edits) in any_edits(), typed in prop::collection::vec((0usize..60, 0u8..3), 0..6)) {
        let after = changed(&lines, &edits[0], 0);
        let present = changed(&after, &typed, 9).join("\n");
        let edits = turn(&[&lines.join("\n"), &after.join("\n")]);
        let found = places(&present, &edits);
        let mut text = present.clone();
        let mut end = present.len();
        for place in found.found.iter().rev() {
            prop_assert!(place.range.end <= end);
            end = place.range.start;
            text.replace_range(place.range.clone(), &place.before);
        }
        let whole: usize = found.found.iter().map(|it| it.hunks.len()).sum();
        prop_assert!(whole + found.gone.len() <= edits.iter().map(|it| it.hunks.len()).sum());
        prop_assert_eq!(text, found.before);
    }
}
