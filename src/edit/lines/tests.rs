use super::*;
use crate::edit::unified_diff::unified;
use proptest::prelude::*;

fn applied(text: &str, hunks: &[Hunk]) -> String {
    let mut out = text.to_owned();
    for hunk in hunks.iter().rev() {
        out.replace_range(hunk.start..hunk.end, &hunk.text);
    }
    out
}

#[test]
fn lines_keep_their_own_ends() {
    let lines: Vec<_> = split("a\nb\r\nc\rd")
        .iter()
        .map(|line| (line.start, line.body, line.end))
        .collect();
    assert_eq!(
        lines,
        [
            (0, "a", "\n"),
            (2, "b", "\r\n"),
            (5, "c", "\r"),
            (7, "d", "")
        ]
    );
    assert!(split("").is_empty());
}

#[test]
fn an_inserted_line_ends_like_its_neighbours_i7() {
    assert_eq!(end_at("a\r\nb\n", 0), "\r\n");
    assert_eq!(end_at("a\r\nb\n", 3), "\n");
    assert_eq!(end_at("a\rb", 3), "\r");
    assert_eq!(end_at("a\r\nb", 4), "\r\n");
    assert_eq!(end_at("", 0), "\n");
}

#[test]
fn hunks_shrink_to_the_bytes_that_differ_i6() {
    let hunks = hunks("let a = 1;\n", 0..11, "let a = 2;\n");
    assert_eq!(
        hunks,
        [Hunk {
            start: 8,
            end: 9,
            text: "2".to_owned()
        }]
    );
}

#[test]
fn trimming_splits_no_character_and_no_crlf_i12() {
    // é and è share their first byte.
    let hunk = Hunk {
        start: 0,
        end: 2,
        text: "è".to_owned(),
    };
    assert_eq!(trim("é", hunk.clone()), Some(hunk));
    let hunk = Hunk {
        start: 0,
        end: 3,
        text: "a\n".to_owned(),
    };
    assert_eq!(
        trim("a\r\n", hunk),
        Some(Hunk {
            start: 1,
            end: 3,
            text: "\n".to_owned()
        })
    );
}

#[test]
fn unified_diffs_read_like_gits() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15";
    let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n";
    insta::assert_snapshot!(unified(old, new, "src/a.rs").text, @r"
    --- a/src/a.rs
    +++ b/src/a.rs
    @@ -2,7 +2,7 @@
     2
     3
     4
    -5
    +five
     6
     7
     8
    @@ -12,4 +12,4 @@
     12
     13
     14
    -15
    \ No newline at end of file
    +15
    ");
    assert_eq!(unified("a", "a", "x").text, "");
    let created = unified("", "a\nb\n", "x");
    assert!(created.text.contains("@@ -0,0 +1,2 @@\n+a\n+b\n"));
    assert_eq!((created.added, created.removed), (2, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_difference_gives_exactly_the_new_text(
        old in "(a|b|é|è|\n|\r\n|\r|𝄞){0,24}",
        new in "(a|b|é|è|\n|\r\n|\r|𝄞){0,24}",
    ) {
        let hunks = difference(&old, &new);
        prop_assert_eq!(applied(&old, &hunks), new);
        for pair in hunks.windows(2) {
            prop_assert!(pair[0].end < pair[1].start);
        }
        for hunk in &hunks {
            prop_assert!(is_boundary(&old, hunk.start) && is_boundary(&old, hunk.end));
        }
    }
}

/// A line diff takes lines that are indented for others that moved.
#[test]
fn a_formatters_hunks_are_between_the_words() {
    let before = "0,\none\nreturn;\n 0,\n }\n";
    let after = " 0,\n one\n return;\n 0,\n }\n";
    let hunks = between_words(before, after).unwrap();
    assert!(hunks.iter().all(|it| it.start == it.end && it.text == " "));
    assert_eq!(hunks.len(), 3);
    assert_eq!(between_words("a b", "a c"), None);
    assert_eq!(between_words("a b", "a b c"), None);
    let many = "x\n".repeat(400);
    let indented = many.replace('x', " x");
    let hunks = between_words(&many, &indented).unwrap();
    assert_eq!(hunks.len(), 1);
    let mut text = many;
    text.replace_range(hunks[0].start..hunks[0].end, &hunks[0].text);
    assert_eq!(text, indented);
}

#[test]
fn a_line_that_was_typed_into_is_recognised() {
    for (text, line, expected) in [
        ("丌不与", "丌不与", true),
        ("갃간丌가각不与", "丌不与", true),
        ("let total = 1;", "let total = 1", true),
        ("// before: return x; // and after", "return x;", true),
        ("let next = index + 10 + more;", "let x = 1;", false),
        ("return", "return x;", false),
        (
            "a long line with return x; far in its middle",
            "return x;",
            false,
        ),
    ] {
        assert_eq!(is_grown(text, line), expected, "{text}");
    }
    // Counting its pieces would take hours.
    let long = "a b ".repeat(250_000);
    assert!(!is_grown(&format!("{long}{long}{long}"), &long));
    assert!(is_grown(&format!("{long} typed"), &long));
}
