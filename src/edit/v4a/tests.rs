use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, prop_oneof, proptest};
use ropey::Rope;

use super::*;
use crate::edit::matching::Strategy;

const ONE: &str = "*** Begin Patch\n*** Update File: a.rs\n@@\n-old\n+new\n*** End Patch\n";

fn update(patch: &str) -> Vec<Chunk> {
    let sections = parse(&format!("*** Update File: a\n{patch}")).unwrap();
    match &sections[..] {
        [one] => match &one.action {
            Action::Update { chunks, .. } => chunks.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The text after the chunks, and how they were found.
fn applied(text: &str, patch: &str) -> Result<(String, Strategy), Vec<Problem>> {
    match plan(&Rope::from_str(text), &update(patch)) {
        Ok(plan) => Ok((plan.result().to_string(), plan.strategy)),
        Err(errors) => Err(errors.into_iter().map(|error| error.problem).collect()),
    }
}

fn exactly(text: &str, patch: &str) -> String {
    let (text, strategy) = applied(text, patch).unwrap();
    assert_eq!(strategy, Strategy::Exact);
    text
}

fn ambiguous(text: &str, patch: &str) -> Vec<usize> {
    match applied(text, patch).unwrap_err().remove(0) {
        Problem::Ambiguous { lines, .. } => lines,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_sections_of_a_patch_are_read() {
    let patch = "*** Begin Patch\n*** Add File: new/b.rs\n+one\n+\n+two\n*** Update File: a.rs\n\
                 *** Move to: c.rs\n@@ fn x\n context\n-old\n+new\n*** End of File\n\
                 *** Delete File: d.rs\n*** End Patch";
    let chunk = Chunk {
        line: 8,
        headers: vec!["fn x".to_owned()],
        old: "context\nold\n".to_owned(),
        new: "context\nnew\n".to_owned(),
        at_end: true,
    };
    let section = |path: &str, action| Section {
        path: path.to_owned(),
        action,
    };
    let to = Some("c.rs".to_owned());
    let chunks = vec![chunk];
    let expected = [
        section("new/b.rs", Action::Add("one\n\ntwo\n".to_owned())),
        section("a.rs", Action::Update { to, chunks }),
        section("d.rs", Action::Delete),
    ];
    assert_eq!(parse(patch).unwrap(), expected);
}

#[test]
fn what_models_wrap_around_a_patch_or_leave_out_does_not_matter() {
    let plain = parse(ONE).unwrap();
    let body = ONE.trim_end();
    let open = body.strip_suffix("\n*** End Patch").unwrap();
    for odd in [
        body.to_owned(),
        open.to_owned(),
        format!("\n\n{body}\n\n"),
        ONE.replace('\n', "\r\n"),
        format!("<<'EOF'\n{body}\nEOF\n"),
        format!("apply_patch <<\"PATCH\"\n{open}\nPATCH"),
        format!("```diff\n{body}\n```"),
        format!("apply_patch\n{body}"),
        format!("  *** Begin Patch\n{}", body.split_once('\n').unwrap().1),
        body.replace("a.rs\n", "a.rs  \n\n"),
        body.replace("+new\n", "+new\n\n"),
        body.replace("*** End", "\n*** End"),
    ] {
        let mut read = parse(&odd).unwrap();
        let Action::Update { chunks, .. } = &mut read[0].action else {
            panic!("{odd}");
        };
        chunks[0].line = 3;
        assert_eq!(read, plain, "{odd}");
    }
    let unmarked = ONE.split_once('\n').unwrap().1;
    assert_eq!(parse(unmarked).unwrap()[0].path, "a.rs");
    let twice = format!("{ONE}{ONE}");
    assert_eq!(parse(&twice).unwrap().len(), 2);
}

#[test]
fn what_is_no_patch_names_the_line() {
    let unexpected = |line: usize, text: &str| unexpected(line, text);
    let update = "*** Begin Patch\n*** Update File: a\n";
    for (patch, error) in [
        ("", ParseError::Empty),
        ("*** Begin Patch\n*** End Patch", ParseError::Empty),
        ("hello", unexpected(1, "hello")),
        ("--- a/x\n+++ b/x\n", unexpected(1, "--- a/x")),
        (
            &format!("cd x && apply_patch <<EOF\n{ONE}"),
            unexpected(1, "cd x && apply_patch <<EOF"),
        ),
        (update, ParseError::NoLines { line: 2 }),
        (
            &format!("{update}@@ fn a\n"),
            ParseError::NoLines { line: 3 },
        ),
        (&format!("{update}@@\n-a\nb\n"), unexpected(5, "b")),
        (
            &format!("{update}@@\n-a\n*** Move to: c\n"),
            unexpected(5, "*** Move to: c"),
        ),
        ("*** Add File: a\n+one\ntwo\n", unexpected(3, "two")),
        ("*** Delete File: a\nmore\n", unexpected(2, "more")),
        ("*** Delete File:\n", unexpected(1, "*** Delete File:")),
        (&format!("{ONE}more\n"), unexpected(7, "more")),
    ] {
        assert_eq!(parse(patch), Err(error), "{patch}");
    }
}

#[test]
fn line_numbers_after_the_signs_say_nothing() {
    for head in [
        "@@ -1,3 +1,4 @@",
        "@@ -12 +12 @@ fn other() {",
        "@@",
        "@@ @@",
    ] {
        assert!(
            update(&format!("{head}\n-a\n"))[0].headers.is_empty(),
            "{head}"
        );
    }
    for head in ["@@ fn a() {", "@@ fn a() { @@", "@@fn a() {"] {
        assert_eq!(update(&format!("{head}\n-a\n"))[0].headers, ["fn a() {"]);
    }
    assert_eq!(update("@@     def a():\n-a\n")[0].headers, ["    def a():"]);
}

#[test]
fn several_headers_belong_to_one_chunk_and_lines_begin_the_next() {
    let chunks = update("@@ class A\n\n@@   def f\n-a\n@@\n+b\n");
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[0].headers, ["class A", "  def f"]);
}

#[test]
fn blank_lines_inside_a_chunk_need_no_space_and_those_at_its_end_are_nothing() {
    let chunks = update("@@\n a\n\n-b\n\n\n*** End Patch\n");
    assert_eq!((&*chunks[0].old, &*chunks[0].new), ("a\n\nb\n", "a\n\n"));
}

#[test]
fn chunks_change_their_only_places() {
    let text = "one\ntwo\nthree\nfour\n";
    assert_eq!(
        exactly(text, "@@\n two\n-three\n+3\n four\n"),
        "one\ntwo\n3\nfour\n"
    );
    // In any order, and with shared context.
    let patch = "@@\n three\n-four\n+4\n@@\n-one\n+1\n two\n three\n";
    assert_eq!(exactly(text, patch), "1\ntwo\nthree\n4\n");
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(
        exactly(&crlf, "@@\n-two\n+2\n+2½\n"),
        "one\r\n2\r\n2½\r\nthree\r\nfour\r\n"
    );
    // The file's last line has no end, and keeps none.
    assert_eq!(exactly("a\nb", "@@\n a\n-b\n+c\n"), "a\nc");
    assert_eq!(exactly("a\nb", "@@\n b\n+c\n"), "a\nb\nc");
}

#[test]
fn a_chunk_is_found_by_the_strategies_of_any_edit_and_never_by_similarity() {
    let (text, how) = applied("fn a() {\n    x  \n}\n", "@@\n-    x\n+    y\n").unwrap();
    assert_eq!(
        (text.as_str(), how),
        ("fn a() {\n    y  \n}\n", Strategy::TrailingSpace)
    );
    let (text, how) = applied("fn a() {\n    x();\n}\n", "@@\n-x();\n+y();\n").unwrap();
    assert_eq!(
        (text.as_str(), how),
        ("fn a() {\n    y();\n}\n", Strategy::Indentation)
    );
    let problems = applied("let total = 1;\n", "@@\n-let totol = 1;\n+x\n").unwrap_err();
    let [
        Problem::NotFound {
            similar, differs, ..
        },
    ] = &problems[..]
    else {
        panic!("{problems:?}");
    };
    assert_eq!(similar, &[1]);
    assert!(differs.is_some());
}

#[test]
fn two_places_are_refused_unless_a_header_or_the_end_names_one_i11() {
    let text = "fn a() {\n    x\n}\n\nfn b() {\n    x\n}\n";
    assert_eq!(ambiguous(text, "@@\n-    x\n+    y\n"), [2, 6]);
    let second = "fn a() {\n    x\n}\n\nfn b() {\n    y\n}\n";
    assert_eq!(exactly(text, "@@ fn b() {\n-    x\n+    y\n"), second);
    let first = "fn a() {\n    y\n}\n\nfn b() {\n    x\n}\n";
    assert_eq!(exactly(text, "@@ fn a() {\n-    x\n+    y\n"), first);
    assert_eq!(
        exactly(text, "@@\n-    x\n+    y\n }\n*** End of File\n"),
        second
    );
    let twice = text.replace("    x\n", "    x\n    x\n");
    assert_eq!(ambiguous(&twice, "@@ fn b() {\n-    x\n+    y\n"), [7, 8]);
}

#[test]
fn headers_narrow_one_after_another() {
    let class = |name: &str| {
        format!(
            "class {name}:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"
        )
    };
    let text = format!("{}\n{}", class("A"), class("B"));
    let patch = "@@ class B:\n@@     def g(self):\n-        return 1\n+        return 2\n";
    let expected = format!("{}\n{}", class("A"), class("B"));
    let at = expected.rfind("return 1").unwrap();
    let expected = format!("{}return 2\n", &expected[..at]);
    assert_eq!(exactly(&text, patch), expected);
    // The header is written without its indentation.
    assert_eq!(exactly(&text, &patch.replace("    def", "def")), expected);
    assert_eq!(
        ambiguous(&text, "@@ class B:\n-        return 1\n"),
        [10, 13]
    );
}

#[test]
fn a_header_may_be_far_above_its_chunk_or_its_first_line() {
    let text = "use a;\nuse b;\n\nfn x() {}\n\nfn y() {}\n";
    let after = "use a;\nuse b;\n\nfn x() {}\n\nfn z() {}\n";
    assert_eq!(exactly(text, "@@ use b;\n-fn y() {}\n+fn z() {}\n"), after);
    let after = "use a;\nuse c;\n\nfn x() {}\n\nfn y() {}\n";
    assert_eq!(
        exactly(text, "@@ use a;\n use a;\n-use b;\n+use c;\n"),
        after
    );
    let signature = "fn a(\n    x: u8,\n) {\n    1\n}\n\nfn b() {\n    1\n}\n";
    let after = signature.replacen("    1\n", "    2\n", 1);
    assert_eq!(exactly(signature, "@@ fn a(\n-    1\n+    2\n"), after);
}

#[test]
fn a_header_that_is_not_there_is_named() {
    let problems = applied("fn a() {}\nx\n", "@@ fn aa() {}\n-x\n+y\n").unwrap_err();
    let [
        Problem::NotFound {
            header, similar, ..
        },
    ] = &problems[..]
    else {
        panic!("{problems:?}");
    };
    assert_eq!(
        (header.as_deref(), &similar[..]),
        (Some("fn aa() {}"), &[1][..])
    );
}

#[test]
fn additions_go_below_their_header_or_to_the_end_and_nowhere_else() {
    let text = "a\r\n    b\r\nc\r\n";
    assert_eq!(
        exactly(text, "@@ b\n+        new\n"),
        "a\r\n    b\r\n        new\r\nc\r\n"
    );
    assert_eq!(
        exactly(text, "@@\n+d\n*** End of File\n"),
        "a\r\n    b\r\nc\r\nd\r\n"
    );
    assert_eq!(exactly("a\nb", "@@ b\n+c\n"), "a\nb\nc");
    assert_eq!(exactly("", "@@\n+a\n"), "a\n");
    assert_eq!(applied(text, "@@\n+d\n"), Err(vec![Problem::Nowhere]));
    assert_eq!(ambiguous("x\nx\n", "@@ x\n+d\n"), [1, 2]);
}

#[test]
fn chunks_that_change_the_same_lines_are_refused() {
    let overlap = Err(vec![Problem::Overlap { other: 2 }]);
    assert_eq!(applied("a\nb\n", "@@\n-a\n+c\n b\n@@\n-a\n+d\n"), overlap);
    assert_eq!(applied("a\nb\n", "@@ a\n+c\n@@ a\n+d\n"), overlap);
    let errors = applied("a\n", "@@\n-x\n@@\n-y\n").unwrap_err();
    assert_eq!(errors.len(), 2, "every chunk is reported");
}

#[test]
fn a_header_with_too_many_places_is_refused_quickly_i13() {
    let text = "x\n}\n".repeat(20_000);
    assert_eq!(ambiguous(&text, "@@ }\n-y\n").len(), 20_000);
}

fn line() -> impl prop::strategy::Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["a", "b", "    a", "fn x() {", "}", "", "é\t"])
            .prop_map(str::to_owned),
        "[a-c ]{0,4}",
    ]
}

use prop::strategy::Strategy as _;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A patch made of a text and a changed one turns the one into the other, or is refused because
    /// its lines are there twice.
    #[test]
    fn a_patch_of_a_changed_text_applies_or_is_ambiguous_i6_i11(
        lines in prop::collection::vec(line(), 1..12),
        at in 0..12_usize,
        removed in 0..3_usize,
        added in prop::collection::vec(line(), 0..3),
    ) {
        let at = at.min(lines.len());
        let end = (at + removed).min(lines.len());
        let from = at.saturating_sub(2);
        let to = (end + 2).min(lines.len());
        let mut patch = "@@\n".to_owned();
        let mut push = |sign: &str, lines: &[String]| {
            for line in lines {
                patch.push_str(&format!("{sign}{line}\n"));
            }
        };
        push(" ", &lines[from..at]);
        push("-", &lines[at..end]);
        push("+", &added);
        push(" ", &lines[end..to]);
        let joined = |parts: &[&[String]]| {
            parts.concat().iter().map(|line| format!("{line}\n")).collect::<String>()
        };
        let text = joined(&[&lines]);
        let wanted = joined(&[&lines[..at], &added, &lines[end..]]);
        match applied(&text, &patch) {
            Ok((result, _)) => prop_assert_eq!(result, wanted),
            Err(problems) => {
                let old = joined(&[&lines[from..to]]);
                let ends = text.match_indices(&old).count() + usize::from(old.trim().is_empty());
                prop_assert_eq!(problems.len(), 1);
                let twice = matches!(problems[0], Problem::Ambiguous { .. } | Problem::Nowhere);
                prop_assert_eq!(twice, ends != 0, "{:?}", problems);
            }
        }
    }

    #[test]
    fn any_text_is_read_without_panics_and_any_plan_is_in_bounds(
        text in "[ab\r\n {}]{0,40}",
        patch in "(@@ ?[ab]?\n|[-+ ][ab{} ]{0,2}\n|\\*\\*\\* End of File\n|\n){0,8}",
    ) {
        if let Ok(sections) = parse(&format!("*** Update File: a\n{patch}")) {
            for section in sections {
                if let Action::Update { chunks, .. } = section.action {
                    let _ = plan(&Rope::from_str(&text), &chunks).map(|plan| plan.result());
                }
            }
        }
    }
}
