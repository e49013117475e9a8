//! The messages that users see, on one page for review: `scripts/messages` prints it. They say
//! what happened, then what to do, and never show a wire method, an item's id or a raw URL first.

use std::fmt::Write as _;

use crate::{File, files, report, root};

const PAGE: &str = "target/messages.md";

/// Calls whose texts a user reads: the name that the page shows, the call, and the files' end.
const CALLS: [(&str, &str, &str); 11] = [
    ("failure", "Failure::new(", ".rs"),
    ("failure", "invalid(", ".rs"),
    ("error", "anyhow::bail!(", ".rs"),
    ("error", "anyhow::anyhow!(", ".rs"),
    ("error", "anyhow::ensure!(", ".rs"),
    ("notice", "Event::Notice {", ".rs"),
    ("notice", ".notice(", ".rs"),
    ("terminal", "terminal::print(", ".rs"),
    ("editor", "say.", ".lua"),
    ("editor", "say.", ".ts"),
    ("editor", "Trouble(", ".ts"),
];

/// Sentences of one message.
const SENTENCES: usize = 2;

/// The string literals up to the end of the call that begins at `text`.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut depth, mut chars) = (1, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            '"' | '`' => found.push(literal(c, &mut chars)),
            // A character like '"' is no string.
            '\'' if chars.peek() == Some(&'"') => drop(chars.next()),
            _ => {}
        }
        if depth == 0 || found.len() == 4 {
            break;
        }
    }
    found.retain(|text| text.contains(' '));
    found
}

/// The rest of a string literal; an escaped line end and the blanks after it are left out.
fn literal(end: char, chars: &mut std::iter::Peekable<std::str::Chars>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next().filter(|c| *c != end) {
        match c {
            '\\' if chars.peek() == Some(&'\n') => {
                while chars.next_if(|c| c.is_whitespace()).is_some() {}
            }
            '\\' => match chars.next() {
                Some('n') => text.push(' '),
                Some(c) => text.push(c),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

/// The messages of a file: the line, what shows it, its parts.
fn messages(file: &File) -> Vec<(usize, &'static str, Vec<String>)> {
    let code = file.code();
    let mut found = Vec::new();
    for (shown, call, _) in CALLS.iter().filter(|row| file.name.ends_with(row.2)) {
        for (at, _) in code.match_indices(call) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let mut rest = &code[at + call.len()..];
            if *call == "say." {
                rest = rest.split_once('(').map_or("", |(_, rest)| rest);
            }
            let parts = literals(rest);
            let line = code[..at].matches('\n').count() + 1;
            if !parts.is_empty() {
                found.push((line, *shown, parts));
            }
        }
    }
    found.sort();
    found
}

/// What is wrong with a message, if anything.
fn wrong(parts: &[String]) -> Option<&'static str> {
    // Separators of lists, and the other arms of a choice, are no sentences of their own.
    let start = |part: &str| part.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let sentences = parts.iter().enumerate().filter(|(n, part)| {
        let other = parts[..*n]
            .iter()
            .any(|before| start(before) == start(part));
        part.contains(char::is_alphabetic) && !other
    });
    let sentences: Vec<&str> = sentences.flat_map(|(_, part)| part.split(". ")).collect();
    let text = parts.join(". ");
    let first = parts.first().map_or("", String::as_str);
    let method = |word: &str| word.starts_with("interline/") && !word.contains('.');
    let mut words = text.split([' ', '`', '"', '(', ')', ',', ';']);
    if words.any(method) {
        Some("names a wire method")
    } else if text.contains("item_") {
        Some("shows an item's id")
    } else if first.starts_with("http") || first.starts_with("{url") || first.starts_with("{base") {
        Some("begins with a URL")
    } else if text.contains("(s)") {
        Some("has no plural")
    } else if sentences.len() > SENTENCES {
        Some("is too long")
    } else {
        None
    }
}

#[test]
fn messages_to_users_have_one_form() {
    let mut page = "# Messages to users\n".to_owned();
    let mut findings = Vec::new();
    let areas = ["src/", "editors/nvim/lua/", "editors/vscode/src/"];
    for file in files() {
        let read = areas.iter().any(|area| file.name.starts_with(area)) && !file.is_test();
        let rows = if read { messages(&file) } else { Vec::new() };
        if !rows.is_empty() {
            let _ = write!(page, "\n## {}\n\n", file.name);
        }
        for (line, shown, parts) in rows {
            let _ = writeln!(page, "- {shown}, {line}: {}", parts.join(" · "));
            if let Some(why) = wrong(&parts) {
                findings.push(format!(
                    "{}:{line}: {why}: {}",
                    file.name,
                    parts.join(" · ")
                ));
            }
        }
    }
    std::fs::create_dir_all(root().join("target")).expect("the folder of the page");
    std::fs::write(root().join(PAGE), page).expect("the page");
    report("messages to users", findings);
}

#[test]
fn messages_are_read_in_every_form() {
    let text = "fn a() { Err(Failure::new(Kind::A, format!(\"no {x} \\\n        here\"), \"do (this)\")) }\n\
                bail(\"not one\"); anyhow::bail!(\"a 'quoted' word\");";
    let file = File {
        name: "src/a.rs".to_owned(),
        text: text.to_owned(),
        bytes: 0,
    };
    let found: Vec<Vec<String>> = messages(&file).into_iter().map(|row| row.2).collect();
    let quoted = vec!["a 'quoted' word".to_owned()];
    let failure = vec!["no {x} here".to_owned(), "do (this)".to_owned()];
    assert_eq!(found, [failure, quoted]);
    assert_eq!(
        wrong(&["see interline/auth/set".to_owned()]),
        Some("names a wire method")
    );
}
