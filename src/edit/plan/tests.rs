use super::*;
use crate::edit::line_ends;
use crate::edit::matching::Strategy;
use proptest::prelude::*;

fn check(base: &str, old: &str, new: &str, expected: &str) {
    let plan = replace(&Rope::from_str(base), old, new, None).expect("one match");
    assert_eq!(plan.result(), expected, "{old:?} → {new:?} in {base:?}");
}

fn written(base: &str, content: &str) -> String {
    write(&Rope::from_str(base), content).result().to_string()
}

#[test]
fn exactly_one_match_is_replaced() {
    check("fn a() {}\n", "a()", "b()", "fn b() {}\n");
    check("a\nb\nc\n", "b\n", "", "a\nc\n");
}

#[test]
fn what_cannot_be_placed_says_where_to_look_i11() {
    let base = Rope::from_str("one\ntwo\none\n");
    let fail =
        |old: &str, new: &str, expected| replace(&base, old, new, expected).expect_err("no plan");
    assert_eq!(fail("", "x", None), PlanError::EmptyOld);
    assert_eq!(fail("one", "one", None), PlanError::Same);
    assert_eq!(
        fail("one", "x", None),
        PlanError::Ambiguous {
            lines: vec![1, 3],
            strategy: Strategy::Exact
        }
    );
    assert_eq!(
        fail("one", "x", Some(3)),
        PlanError::Count {
            found: 2,
            expected: 3,
            lines: vec![1, 3],
            strategy: Strategy::Exact
        }
    );
    assert_eq!(
        fail("twoo", "x", None),
        PlanError::NotFound {
            similar: vec![2],
            differs: Some(Difference {
                line: 2,
                there: "two".to_owned(),
                wanted: "twoo".to_owned()
            })
        }
    );
    let both = replace(&base, "one", "1", Some(2)).expect("two matches");
    assert_eq!(both.result(), "1\ntwo\n1\n");
}

#[test]
fn occurrences_that_overlap_are_not_one_and_several_count_from_the_top() {
    let base = Rope::from_str("}\n}\n}\n");
    let found = |expected| replace(&base, "}\n}\n", "]\n", expected).map(|it| it.result());
    let twice = PlanError::Ambiguous {
        lines: vec![1, 2],
        strategy: Strategy::Exact,
    };
    assert_eq!(found(None).unwrap_err(), twice);
    for (expected, count) in [(1, 2), (2, 1)] {
        let Err(PlanError::Count { found, .. }) = found(Some(expected)) else {
            panic!("another count")
        };
        assert_eq!(found, count, "of {expected}");
    }
    let four = replace(&Rope::from_str("}\n}\n}\n}\n"), "}\n}\n", "]\n", Some(2));
    assert_eq!(four.expect("twice").result(), "]\n]\n");
}

#[test]
fn replaced_lines_keep_the_documents_line_ends_b09() {
    check("a\r\nb\r\nc\r\n", "b\n", "b\nB\n", "a\r\nb\r\nB\r\nc\r\n");
    check("a\rb\r", "b", "b\nB", "a\rb\rB\r");
    check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\n");
    check("x", "x", "x\ny", "x\ny");
    check("a\r\nx", "x", "x\ny", "a\r\nx\r\ny");
    check("a\nb\n", "a\r\nb", "a\r\nB", "a\nB\n");
}

#[test]
fn matches_that_touch_become_one_hunk() {
    let plan = replace(&Rope::from_str("xx"), "x", "yz", Some(2)).expect("two matches");
    assert_eq!(plan.hunks.len(), 1);
    assert_eq!(plan.result(), "yzyz");
}

#[test]
fn lines_of_a_match_that_stay_the_same_are_not_touched() {
    let base = Rope::from_str("head\none\nmiddle\ntwo\ntail\n");
    let plan = replace(&base, "one\nmiddle\ntwo", "1\nmiddle\n2", None).expect("one match");
    assert_eq!(plan.hunks.len(), 2);
    assert_eq!(plan.result(), "head\n1\nmiddle\n2\ntail\n");
}

#[test]
fn writing_keeps_line_ends_and_takes_the_final_newline_as_given_b09() {
    assert_eq!(written("a\r\nb\r\n", "a\nB\n"), "a\r\nB\r\n");
    assert_eq!(written("a\r\nb\nc\n", "a\nb\nc\nd\n"), "a\r\nb\nc\nd\n");
    assert_eq!(written("a\n", "a"), "a");
    assert_eq!(written("a", "a\n"), "a\n");
    assert_eq!(written("a\r\n", "a\r\nb\n"), "a\r\nb\n");
    assert_eq!(written("", "a\nb"), "a\nb");
    assert_eq!(written("a\n", ""), "");
}

#[test]
fn writing_the_same_content_plans_nothing() {
    let base = Rope::from_str("a\r\nb");
    assert!(write(&base, "a\nb").hunks.is_empty());
}

#[test]
fn a_large_file_is_reduced_to_what_differs_i13() {
    let base: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
    let content = base.replace("line 30000\n", "line thirty\nline more\n");
    let plan = write(&Rope::from_str(&base), &content);
    assert_eq!(plan.hunks.len(), 1);
    assert!(plan.hunks[0].text.len() < 30);
    assert_eq!(plan.result(), content);
}

#[test]
fn the_diff_names_the_path_and_counts_lines() {
    let plan = replace(&Rope::from_str("a\nb\n"), "b", "c", None).expect("one match");
    assert_eq!(
        plan.diff("x.rs"),
        "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    );
    let unified = plan.unified("x.rs");
    assert_eq!((unified.added, unified.removed), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever was written, the content without line ends is the requested one, and every
    /// unchanged line keeps its own end.
    #[test]
    fn written_text_is_the_content_but_for_line_ends(
        base in "(a|b|é|\n|\r\n|\r){0,20}",
        content in "(a|b|é|\n){0,20}",
    ) {
        let plan = write(&Rope::from_str(&base), &content);
        let result = plan.result().to_string();
        prop_assert_eq!(line_ends::line_feeds(&result), content);
        for hunk in &plan.hunks {
            prop_assert!(!line_ends::splits_crlf(&base, hunk.start));
            prop_assert!(!line_ends::splits_crlf(&base, hunk.end));
        }
    }

    #[test]
    fn a_replacement_changes_its_match_only_i6(
        before in "(a|b|\n|\r\n){0,8}",
        after in "(a|b|\n|\r\n){0,8}",
        new in "(x|y|\n){0,6}",
    ) {
        let base = format!("{before}OLD{after}");
        let plan = replace(&Rope::from_str(&base), "OLD", &new, None).expect("one match");
        let result = plan.result().to_string();
        prop_assert!(result.starts_with(&before) && result.ends_with(&after));
        let middle = &result[before.len()..result.len() - after.len()];
        prop_assert_eq!(line_ends::line_feeds(middle), new);
    }
}
