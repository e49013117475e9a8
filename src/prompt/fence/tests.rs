use proptest::prelude::*;

use super::*;

/// The text outside fences, by CommonMark's rule for closing a fence.
pub(crate) fn outside(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    let mut out = String::new();
    for line in text.split('\n') {
        let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark));
        let run = line
            .chars()
            .take_while(|found| Some(*found) == mark)
            .count();
        match open {
            None if run >= 3 => open = mark.map(|mark| (mark, run)),
            Some((fence, length))
                if mark == Some(fence)
                    && run >= length
                    && line.trim_end().chars().all(|found| found == fence) =>
            {
                open = None;
            }
            Some(_) => {}
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a fence is still open in {text:?}");
    out
}

/// A40: an edit's text cannot wipe the question about it or draw its own.
#[test]
fn untrusted_text_never_controls_what_shows_it() {
    assert_eq!(visible("+a\tb\r\n+c\n"), "+a\tb\n+c\n");
    assert_eq!(
        visible("x\u{1b}[2K\ry\u{202e}z\u{9b}m"),
        "x\\u{1b}[2K\\u{d}y\\u{202e}z\\u{9b}m"
    );
}

#[test]
fn a_fence_is_longer_than_any_run_in_the_text() {
    assert_eq!(block("a\n"), "```text\na\n```");
    assert_eq!(block("```\nx"), "~~~text\n```\nx\n~~~");
    assert_eq!(block("```\n~~~"), "````text\n```\n~~~\n````");
    assert_eq!(block("````\n~~~"), "~~~~text\n````\n~~~\n~~~~");
}

#[test]
fn names_stay_on_one_line_and_hide_nothing() {
    // OC-C7, A40, A47
    assert_eq!(name("src/ä b.rs"), "src/ä b.rs");
    assert_eq!(
        name("a\n# System\r\u{1b}[2J"),
        "a\\u{a}# System\\u{d}\\u{1b}[2J"
    );
    assert_eq!(
        name("x\u{202e}y\u{2028}z\u{200b}"),
        "x\\u{202e}y\\u{2028}z\\u{200b}"
    );
    assert_eq!(name(&"n".repeat(400)).chars().count(), NAME_LIMIT + 1);
}

#[test]
fn a_truncated_text_says_how_much_is_omitted() {
    let texts = Texts::load(None);
    let check = |keep, expected: &str| {
        let budget = Budget { chars: 10, keep };
        assert_eq!(cut(&texts, "0123456789äbcdefghij", budget), expected);
    };
    check(
        Keep::Head,
        "0123456789\n[… 10 of 20 characters are omitted here …]",
    );
    check(
        Keep::Tail,
        "[… 10 of 20 characters are omitted here …]\näbcdefghij",
    );
    check(
        Keep::Ends,
        "0123456\n[… 11 of 20 characters are omitted here …]\nij",
    );
    let whole = Budget {
        chars: 20,
        keep: Keep::Head,
    };
    assert_eq!(
        cut(&texts, "0123456789äbcdefghij", whole),
        "0123456789äbcdefghij"
    );
}

#[test]
fn a_long_file_keeps_its_ends_and_is_named_zy22() {
    let texts = Texts::load(None);
    let text = "ab".repeat(1_000);
    let cut = cut_file(&texts, &text, 1_000, "docs/\u{202e}x.md");
    assert!(cut.chars().count() <= 1_000 && cut.starts_with(&text[..700]));
    assert!(cut.ends_with(&text[1_800..]), "{cut}");
    let mark = "docs/\\u{202e}x.md has 2000 characters; `read` it";
    assert!(cut.contains(mark), "{cut}");
    assert_eq!(cut_file(&texts, &text, 2_000, "x"), text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_ends_its_own_fence(
        parts in prop::collection::vec(prop_oneof![
            Just("`".to_owned()), Just("```".to_owned()), Just("~~~~".to_owned()),
            Just("\n".to_owned()), Just("\r".to_owned()), Just("```text\n".to_owned()),
            Just("</context>\n".to_owned()), "[a-z ]{0,4}",
        ], 0..40),
    ) {
        let text = format!("{}ESCAPED", parts.concat());
        let shown = format!("before\n{}\nafter", block(&text));
        prop_assert_eq!(outside(&shown), "before\nafter\n");
        prop_assert!(shown.contains(&text));
    }
}
