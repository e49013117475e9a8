//! docs/troubleshooting.md quotes messages as users see them: each exists in the program or in a
//! client.

use crate::{File, files, report, root};

/// Shorter parts of a message occur anywhere.
const LEAST: usize = 5;

/// The quoted messages in the first column of the page's tables.
fn quoted(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|line| line[2..].split(" | ").next());
    let quotes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quotes.collect()
}

/// A source without the line ends inside its strings, in lower case: sentences get a capital letter
/// only when they are shown.
fn flat(file: &File) -> String {
    let mut text = String::new();
    for line in file.text.lines() {
        match line.trim().strip_suffix('\\') {
            Some(begun) => text.push_str(begun.trim_start()),
            None => {
                text.push_str(line.trim_start());
                text.push('\n');
            }
        }
    }
    text.replace("\\n", "\n").to_lowercase()
}

/// The parts of a message between its placeholders that no source has.
fn missing<'a>(message: &'a str, sources: &[String]) -> Vec<&'a str> {
    let parts = message.split('…').map(str::trim);
    let long = parts.filter(|part| part.len() >= LEAST);
    long.filter(|part| {
        let part = part.to_lowercase();
        !sources.iter().any(|source| source.contains(&part))
    })
    .collect()
}

#[test]
fn every_quoted_message_exists() {
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md"));
    let page = page.expect("docs/troubleshooting.md");
    let all = files();
    let shown = |file: &&File| {
        let name = file.name.as_str();
        let source = name.starts_with("src/") || name.starts_with("editors/");
        source && !file.is_test() && !name.ends_with(".md")
    };
    let sources: Vec<String> = all.iter().filter(shown).map(flat).collect();
    let messages = quoted(&page);
    assert!(messages.len() > 20, "{messages:?}");
    let findings = messages.iter().flat_map(|message| {
        let parts = missing(message, &sources);
        parts
            .into_iter()
            .map(move |part| format!("no source has {part:?} of {message:?}"))
    });
    report("docs/troubleshooting.md", findings.collect());
}

#[test]
fn a_message_that_does_not_exist_is_found() {
    let sources = ["\"the key of {} is gone\"".to_owned()];
    assert_eq!(
        quoted("| `The key of … is gone` · `x y` | a | `b` |"),
        ["The key of … is gone", "x y"]
    );
    assert!(missing("The key of … is gone", &sources).is_empty());
    assert_eq!(missing("The key of … is lost", &sources), ["is lost"]);
}
