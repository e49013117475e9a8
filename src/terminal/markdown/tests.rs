use super::super::markup::BOLD;
use super::*;

fn shown(source: &str, width: usize) -> String {
    let look = Look {
        width,
        styles: true,
    };
    let lines = lines(source, look);
    let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
    lines.join("\n")
}

#[test]
fn blocks_are_drawn_for_a_terminal() {
    let source = "# Title\n\nOne **two** `three` [four](https://x.test).\n\n- a\n- b\n  1. c\n\n\
                  > quoted\n> text\n\n```sh\nls  -l\n```\n\n- [x] done\n\n---\n";
    let rule = "─".repeat(30);
    assert_eq!(
        shown(source, 30),
        format!(
            "Title\n\nOne two three four\n(https://x.test).\n\n• a\n• b\n  1. c\n\n│ quoted text\n\n\
             ── sh {}\nls  -l\n{rule}\n\n• [x] done\n\n{rule}",
            "─".repeat(24)
        )
    );
}

#[test]
fn a_table_fits_the_width() {
    let source = "| name | what it does |\n|---|--:|\n| a | one two three four |\n";
    assert_eq!(
        shown(source, 20),
        "name │  what it does\n─────┼──────────────\na    │ one two three\n     │          four"
    );
}

#[test]
fn without_styles_marks_say_what_headings_and_code_are() {
    let look = Look {
        width: 40,
        styles: false,
    };
    let lines = lines("## Two\n\nRun `ls`.", look);
    let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
    assert_eq!(lines, ["## Two", "", "Run `ls`."]);
}

#[test]
fn emphasis_has_a_style() {
    let look = Look {
        width: 40,
        styles: true,
    };
    let line = &lines("a **b**", look)[0];
    assert_eq!(line.paint(true), format!("a {BOLD}b{BOLD:#}"));
}

/// A character reference is no way to control the terminal.
#[test]
fn character_references_do_not_control_the_terminal() {
    assert_eq!(shown("a&#27;[2J", 40), "a\\u{1b}[2J");
    assert_eq!(shown("`\u{1b}c`", 40), "\\u{1b}c");
}
