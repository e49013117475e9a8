use proptest::prelude::*;

use crate::knowledge::memory::Kind;
use crate::knowledge::memory::bullets::{Unfit, line, normalized, parse};

fn found(text: &str) -> Vec<(Kind, String, String)> {
    let date = |date: Option<jiff::civil::Date>| date.map(|it| it.to_string()).unwrap_or_default();
    parse(text, Kind::Habit)
        .into_iter()
        .map(|it| (it.kind, it.text, date(it.date)))
        .collect()
}

fn one(text: &str) -> (Kind, String, String) {
    let mut all = found(text);
    assert_eq!(all.len(), 1, "{text:?}: {all:?}");
    all.remove(0)
}

#[test]
fn a_bullet_is_a_memory_with_type_and_date_where_it_has_them() {
    for (text, kind, words, date) in [
        (
            "- [preference] likes tea (2026-11-21)",
            Kind::Preference,
            "likes tea",
            "2026-11-21",
        ),
        ("- [Constraints]  no tabs", Kind::Constraint, "no tabs", ""),
        ("* plain words", Kind::Habit, "plain words", ""),
        (
            "12) counted (2026-01-02)",
            Kind::Habit,
            "counted",
            "2026-01-02",
        ),
        ("+\t[skill] Rust", Kind::Skill, "Rust", ""),
        ("- [x] done", Kind::Habit, "[x] done", ""),
        (
            "- [docs](https://a.b/c)",
            Kind::Habit,
            "[docs](https://a.b/c)",
            "",
        ),
        (
            "- since (2026-13-01)",
            Kind::Habit,
            "since (2026-13-01)",
            "",
        ),
        ("- (2026-01-02)", Kind::Habit, "(2026-01-02)", ""),
        (
            "- a (2020-01-01) (2026-01-02)",
            Kind::Habit,
            "a (2020-01-01)",
            "2026-01-02",
        ),
        ("  - indented alone", Kind::Habit, "indented alone", ""),
        (
            "a paragraph\nof two lines",
            Kind::Habit,
            "a paragraph of two lines",
            "",
        ),
        (
            "- long\n  and longer (2026-01-02)",
            Kind::Habit,
            "long and longer",
            "2026-01-02",
        ),
        (
            "- db (2026-01-02)\n  - version 16",
            Kind::Habit,
            "db; version 16",
            "2026-01-02",
        ),
        ("\u{feff}- marked\r\n", Kind::Habit, "marked", ""),
    ] {
        let wanted = (kind, words.to_owned(), date.to_owned());
        assert_eq!(one(text), wanted, "{text:?}");
    }
}

#[test]
fn headings_rules_comments_code_and_front_matter_are_no_memories() {
    let text = "---\ntitle: x\n---\n# Head\n\n***\n<!-- a -->\n<!--\n- hidden\n-->\n\
                ```toml\n- code\n```\n- seen\n##### deep\n- - -\n";
    assert_eq!(
        found(text),
        [(Kind::Habit, "seen".to_owned(), String::new())]
    );
    // Without its end it is a rule.
    assert_eq!(one("---\n- seen").1, "seen");
}

#[test]
fn texts_are_one_paragraph_without_characters_that_hide() {
    assert_eq!(normalized(" a\n\tb\u{2028}c  d "), Ok("a b c d".to_owned()));
    assert_eq!(normalized(" \n "), Err(Unfit::Empty));
    assert_eq!(normalized(&"ä".repeat(2_000)), Ok("ä".repeat(2_000)));
    assert_eq!(normalized(&"ä".repeat(2_001)), Err(Unfit::TooLong(2_001)));
    for hidden in [
        "a\u{1b}[2Jb",
        "a\0",
        "a\u{202e}b",
        "a\u{e0041}",
        "a\u{200b}b",
    ] {
        assert_eq!(normalized(hidden), Err(Unfit::Hidden), "{hidden:?}");
    }
    assert_eq!(normalized("👩‍💻 ❤️ می‌خواهم"), Ok("👩‍💻 ❤️ می‌خواهم".to_owned()));
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

proptest! {
    /// What is written is read back, whatever precedes it.
    #[test]
    fn a_line_reads_as_it_was_written(
        kind in kinds(),
        text in "[ -~äé中\\[\\]()#*`-]{1,60}",
        before in prop::sample::select(vec!["", "# Head\n\n", "- other\n", "words\n", "- a\n  - b\n"]),
    ) {
        let Ok(text) = normalized(&text) else { return Ok(()) };
        let date = jiff::civil::date(2026, 11, 21);
        let all = parse(&format!("{before}{}\n", line(kind, &text, date)), Kind::Fact);
        let last = all.last().unwrap();
        prop_assert_eq!((last.kind, &last.text, last.date), (kind, &text, Some(date)));
    }

    #[test]
    fn any_text_reads_as_single_lines(text in "(?s).{0,400}|([-*`<>!\n #a\\[\\]()0-9]{0,120})") {
        for found in parse(&text, Kind::Fact) {
            prop_assert!(!found.text.is_empty());
            prop_assert!(!found.text.contains('\n'));
            prop_assert!(found.line >= 1 && found.line <= text.lines().count());
        }
    }
}
