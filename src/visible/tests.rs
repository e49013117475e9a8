use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use super::*;

fn all() -> impl Iterator<Item = char> {
    (0..=0x10_ffff).filter_map(char::from_u32)
}

/// R07, R14: the table is Unicode's own properties, and the blank glyphs.
#[test]
fn the_table_holds_what_unicode_says_is_hidden_and_the_blank_glyphs() {
    let properties = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]";
    let matcher = RegexMatcher::new(properties).unwrap();
    let glyphs = [
        '\u{2800}',
        '\u{fffc}',
        '\u{13441}',
        '\u{13442}',
        '\u{16fe4}',
        '\u{1d159}',
    ];
    let mut buffer = [0; 4];
    for c in all() {
        let text = c.encode_utf8(&mut buffer).as_bytes();
        let expected = matcher.is_match(text).unwrap() || glyphs.contains(&c);
        assert_eq!(hidden(c), expected, "{}", c.escape_unicode());
    }
}

#[test]
fn prose_keeps_what_words_and_emoji_need_and_nothing_that_is_not_hidden() {
    let family = "👩\u{200d}👧 ❤\u{fe0f} می\u{200c}خواهم";
    assert_eq!(prose(family), family);
    assert_eq!(line(family), "👩\\u{200d}👧 ❤\\u{fe0f} می\\u{200c}خواهم");
    assert!(all().filter(|c| among(&PROSE, *c)).all(hidden));
    assert_eq!(
        prose("a\u{1b}]52;c;x\u{7}\u{9b}2J\u{202e}\r\nb\tc\r"),
        "a\\u{1b}]52;c;x\\u{7}\\u{9b}2J\\u{202e}\nb\tc\\u{d}"
    );
}

/// R13: what is printed as JSON means the same and shows everything.
#[test]
fn json_keeps_its_meaning_and_hides_nothing() {
    let value = serde_json::json!({ "a\u{202e}": "x\u{9b}\u{e0041}\u{7f}\u{2028}ü😀\u{1b}" });
    let text = serde_json::to_string_pretty(&value).unwrap();
    let shown = json(&text);
    assert!(!shown.chars().any(|c| hidden(c) && c != '\n'), "{shown}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
        value
    );
    assert!(shown.contains("ü😀"));
}

/// R07: whatever kind of blank pushes the end of a command out of sight is counted.
#[test]
fn a_run_of_blanks_in_a_command_is_shown_with_its_length() {
    for c in [
        ' ',
        '\t',
        '\u{a0}',
        '\u{3000}',
        '\u{2800}',
        '\u{3164}',
        '\u{1d159}',
    ] {
        let hides = format!("ls{}; touch x", String::from(c).repeat(300));
        assert_eq!(
            command(&hides),
            "ls ⟨300 blanks⟩ ; touch x",
            "{}",
            c.escape_unicode()
        );
    }
    let script = "if a; then\n            b  c\nfi\n";
    assert_eq!(command(script), script);
    let far = format!("a\n{}b", " ".repeat(41));
    assert_eq!(command(&far), "a\n ⟨41 blanks⟩ b");
    assert_eq!(
        command("a\u{2800}b\u{200b}\u{1b}"),
        "a\\u{2800}b\\u{200b}\\u{1b}"
    );
}

/// R08.
#[test]
fn a_cut_text_keeps_its_end_and_says_what_is_missing() {
    assert_eq!(ends("abcdef", 6), "abcdef");
    assert_eq!(ends("abcdefgh", 4), "ab… (4 bytes left out) …gh");
    assert_eq!(ends("äääääää", 5), "ä… (10 bytes left out) …ä");
}

/// A40: empty lines push the rest out of sight as blanks do.
#[test]
fn a40_a_run_of_line_ends_is_shown_with_its_length() {
    let hidden = format!("ls{}rm x", "\n".repeat(500));
    assert_eq!(command(&hidden), "ls\n⟨500 line ends⟩\nrm x");
    let mixed = format!("ls\n{}rm x", " \t\n".repeat(30));
    assert_eq!(command(&mixed), "ls\n⟨31 line ends⟩\nrm x");
    for ordinary in ["a\n\n\nb\n", "a\n    b", "\n\na"] {
        assert_eq!(command(ordinary), ordinary);
    }
    let tail = format!("x{}", "\n".repeat(20));
    assert_eq!(content(&tail), "x\n⟨20 line ends⟩\n");
}

/// A40, A41: a diff keeps its alignment, and nothing is far to the right of it.
#[test]
fn a41_other_texts_show_runs_of_blanks_that_are_not_ordinary() {
    let aligned = format!("+a = 1;{}// one\n-b", " ".repeat(60));
    assert_eq!(content(&aligned), aligned);
    let far = format!("+a = 1;{}rm();\u{202e}\n", " ".repeat(500));
    assert_eq!(content(&far), "+a = 1; ⟨500 blanks⟩ rm();\\u{202e}\n");
    let indented = format!("{}b", "\t".repeat(130));
    assert_eq!(content(&indented), " ⟨130 blanks⟩ b");
}
