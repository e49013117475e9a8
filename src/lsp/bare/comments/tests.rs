use ropey::Rope;

use super::{Comment, at};
use crate::workspace::{Position, Range};

/// `»` marks the cursor.
fn found(language: &str, suffix: &str, text: &str) -> Option<(u32, u32, String)> {
    let before = text.split('»').next().unwrap();
    let line = before.matches('\n').count() as u32;
    let rope = Rope::from_str(&text.replace('»', ""));
    let cursor = Position { line, character: 0 };
    let range = Range {
        start: cursor,
        end: cursor,
    };
    let comment = at(&rope, language, suffix, range)?;
    let Comment { first, last, text } = comment;
    Some((first, last, text))
}

#[track_caller]
fn check(language: &str, text: &str, expected: Option<(u32, u32, &str)>) {
    let found = found(language, "", text);
    let found = found
        .as_ref()
        .map(|(first, last, text)| (*first, *last, text.as_str()));
    assert_eq!(found, expected, "{language}: {text}");
}

#[test]
fn consecutive_comment_lines_belong_together() {
    let rust = "fn a() {}\n// Parse the line\n»// and count words.\nfn b() {}\n";
    check(
        "rust",
        rust,
        Some((1, 2, "Parse the line\nand count words.")),
    );
    check("rust", "    /// do »it", Some((0, 0, "do it")));
    check(
        "python",
        "# »make it fast\nx = 1\n",
        Some((0, 0, "make it fast")),
    );
    check("lua", "x = 1\n»-- say why\n", Some((1, 1, "say why")));
    check("emacs-lisp-mode", ";;; »rename\n", Some((0, 0, "rename")));
    check("vim", "» \" turn it round", Some((0, 0, "turn it round")));
    check("dosbatch", "»REM copy all\n", Some((0, 0, "copy all")));
}

#[test]
fn a_block_is_found_from_each_of_its_lines() {
    let text = |mark: usize| {
        let lines = ["int a;", "/**", " * Sort by", " * name.", " */", "int b;"];
        let line = |(at, line): (usize, &&str)| {
            let cursor = if at == mark { "»" } else { "" };
            format!("{cursor}{line}")
        };
        lines
            .iter()
            .enumerate()
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    };
    for mark in 1..=4 {
        check("c", &text(mark), Some((1, 4, "Sort by\nname.")));
    }
    check("c", &text(0), None);
    check("c", &text(5), None);
    check(
        "html",
        "<p>\n<!-- add a\n»list -->\n",
        Some((1, 2, "add a\nlist")),
    );
    check("lua", "--[[ one\n»two ]]\n", Some((0, 1, "one\ntwo")));
    check(
        "ocaml",
        "let x = 1 (* »double it *)\n",
        Some((0, 0, "double it")),
    );
    check("css", "a { color: red } /* »blue */", Some((0, 0, "blue")));
}

#[test]
fn a_comment_after_code_is_found() {
    check(
        "rust",
        "let x = 1;» // make it 2",
        Some((0, 0, "make it 2")),
    );
    check("python", "x = 1»  # don't", Some((0, 0, "don't")));
    check("rust", "fn f<'a>() {}» // name it", Some((0, 0, "name it")));
    check("rust", "f(\"a\")» // \"do\" it", Some((0, 0, "\"do\" it")));
    check("rust", "f();»// do it", Some((0, 0, "do it")));
    check("rust", "f() »/* one */ + 1 // two", Some((0, 0, "one")));
    check("c", "/* a */ »/* b */", Some((0, 0, "b")));
    check("c", "x = 1; // a /* »b */", Some((0, 0, "a /* b */")));
    check(
        "rust",
        "a(); // one\n»// two\nb(); // three",
        Some((1, 1, "two")),
    );
    check("sh", "#!/bin/sh\n»# do it\n", Some((1, 1, "do it")));
    check(
        "sql",
        "select 1» -- all columns",
        Some((0, 0, "all columns")),
    );
}

#[test]
fn strings_addresses_and_headings_are_not_comments() {
    check("rust", "let url = \"http://x\";»", None);
    check("python", "x = '# not »this'", None);
    check(
        "javascript",
        "glob('src/**/*.js')\n»go()\n/* real */\n",
        None,
    );
    check(
        "javascript",
        "glob(\"src/*.js\")\nx()» // yes\n/* no */",
        Some((1, 1, "yes")),
    );
    check("markdown", "# A »heading\n", None);
    check("c", "#include »<a.h>\n", None);
    check("unheard-of", "#include »<a.h>\n", None);
    check("sh", "#!/bin/sh»\n", None);
    check("rust", "//»\n// ----\n", None);
    check("rust", "let a = \"»/* no */\";", None);
    check("rust", "let a = \"\\\"// »no\";", None);
    check("rust", "x// »part of a word", None);
    check("html", "<p>\n<!-- open\n»text\n", None);
    check("css", "/* a */\n»b {}\n", None);
    check("rust", "", None);
}

#[test]
fn an_unknown_language_is_guessed_and_the_suffix_helps() {
    check("unheard-of", "» # do this\n", Some((0, 0, "do this")));
    check("unheard-of", "» // do this\n", Some((0, 0, "do this")));
    let by_suffix = found("plaintext", "py", "x = 1 #»do\n");
    assert_eq!(by_suffix, Some((0, 0, "do".to_owned())));
}

#[test]
fn a_selection_gives_the_first_comment_in_it() {
    let rope = Rope::from_str("a();\n// first\nb();\n// second\n");
    let place = |line| Position { line, character: 0 };
    let range = Range {
        start: place(0),
        end: place(4),
    };
    assert_eq!(at(&rope, "go", "go", range).unwrap().text, "first");
    let before = Range {
        start: place(0),
        end: place(1),
    };
    assert_eq!(at(&rope, "go", "go", before), None);
}

/// Any text gives a bounded result.
#[test]
fn any_text_and_place_gives_a_bounded_result() {
    let long = "/*".repeat(50_000);
    for text in [long.as_str(), "\u{feff}é//é", "'''\"\"\"`", "\r\n\r//x\r"] {
        let rope = Rope::from_str(text);
        for line in [0, 1, 7, u32::MAX] {
            let cursor = Position { line, character: 9 };
            let range = Range {
                start: cursor,
                end: cursor,
            };
            for language in ["rust", "lua", "html", "what"] {
                let _ = at(&rope, language, "", range);
            }
        }
    }
}
