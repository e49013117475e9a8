use proptest::prelude::*;

use super::*;

fn shown(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.paint(false)).collect()
}

#[test]
fn words_are_wrapped_and_the_text_hangs_below_itself() {
    let lines = wrapped("! ", "one two three\nfour", PLAIN, 12);
    assert_eq!(shown(&lines), ["! one two", "  three", "  four"]);
}

#[test]
fn a_word_of_two_styles_is_not_broken_between_them() {
    let spans = [Span::new("a lon", PLAIN), Span::new("gword", BOLD)];
    let none = Span::new("", PLAIN);
    let lines = wrap(&spans, &none, &none, 9);
    assert_eq!(shown(&lines), ["a", "longword"].map(str::to_owned));
    let lines = wrap(&spans, &none, &none, 8);
    assert_eq!(lines[1].paint(true), format!("lon{BOLD}gword{BOLD:#}"));
}

#[test]
fn hidden_characters_never_reach_the_terminal() {
    let span = Span::new("a\u{1b}[2Jb\u{202e}", PLAIN);
    assert_eq!(span.text, "a\\u{1b}[2Jb\\u{202e}");
}

#[test]
fn a_diff_has_the_colours_of_its_lines() {
    let lines = diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n");
    let styles: Vec<Style> = lines.iter().map(|line| line.spans[0].style).collect();
    assert_eq!(styles, [BOLD, BOLD, CODE, BAD, GOOD, PLAIN]);
}

proptest! {
    #[test]
    fn no_line_is_wider_and_no_word_is_lost(
        words in prop::collection::vec("[a-zé漢👍]{1,30}", 0..30),
        width in 10usize..60,
    ) {
        let text = words.join(" ");
        let none = Span::new("", PLAIN);
        let lines = wrap(&[Span::new(&text, PLAIN)], &none, &none, width);
        for line in &lines {
            prop_assert!(line.width() <= width, "{:?}", line);
        }
        let letters = |text: &str| text.replace(' ', "");
        prop_assert_eq!(letters(&shown(&lines).concat()), letters(&text));
    }
}
