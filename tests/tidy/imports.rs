//! Who may import whom (design, section 3).

use crate::{File, report, sources};

/// Top to bottom. A row uses the rows below it. Modules in one row never import each other,
/// except in the first and the last, whose modules belong together.
const ROWS: [&[&str]; 14] = [
    &["main", "cli", "logging"],
    &["lsp", "acp", "terminal"],
    &["session"],
    &["agent"],
    &["mcp"],
    &["tools"],
    &["prompt", "provider"],
    &["knowledge"],
    &["edit", "languages"],
    &["host"],
    &["policy"],
    &["workspace"],
    &["http", "process", "rpc"],
    &["conversation", "config", "env", "secrets", "visible"],
];

/// The harness of the fuzz targets: it uses every module, and only tests use it.
const FUZZ: &str = "fuzz";

/// A crate that only some modules may name: the rest of the code speaks our own types.
const OWNED: [(&str, &str); 2] = [
    ("agent_client_protocol_schema", "src/acp"),
    ("rmcp", "src/mcp"),
];

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// `src/edit/apply.rs` → `edit`, `src/main.rs` → `main`.
fn module(name: &str) -> &str {
    let inner = name.trim_start_matches("src/");
    inner
        .split('/')
        .next()
        .unwrap_or(inner)
        .trim_end_matches(".rs")
}

/// The text without comments; strings stay.
fn without_comments(text: &str) -> String {
    let cut = |line: &str| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|line| cut(line) + "\n").collect()
}

/// First path elements after `prefix`, braces resolved one level deep.
fn named_after(code: &str, prefix: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        let legal = |c: &char| c.is_alphanumeric() || *c == '_';
        text.chars().take_while(legal).collect()
    };
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut element = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => found.push(word(std::mem::take(&mut element).trim())),
                _ if depth == 0 => element.push(c),
                _ => {}
            }
        }
        found.push(word(element.trim()));
    }
    found.retain(|name| !name.is_empty());
    found
}

/// What a file names of the crate's top modules.
fn imports(file: &File) -> Vec<String> {
    let code = without_comments(&file.text);
    let mut found = named_after(&code, "crate::");
    found.extend(named_after(&code, "interline::"));
    // `super::` as often as the module is deep leads to the top as well.
    let depth = file.name.trim_start_matches("src/").matches('/').count() + 1;
    found.extend(named_after(&code, &"super::".repeat(depth)));
    found.retain(|name| row(name).is_some() || name == FUZZ);
    found.sort();
    found.dedup();
    found
}

#[test]
fn imports_point_down() {
    let mut findings = Vec::new();
    for file in sources() {
        let own = module(&file.name);
        if own == "lib" || own == FUZZ {
            continue;
        }
        let Some(from) = row(own) else {
            findings.push(format!("{}: {own} is in no row", file.name));
            continue;
        };
        let group = from == 0 || from == ROWS.len() - 1;
        for other in imports(&file) {
            let to = row(&other).unwrap_or_default();
            let fine = match other.as_str() {
                FUZZ => file.is_test(),
                _ => other == own || to > from || (to == from && group),
            };
            if !fine {
                findings.push(format!("{}: {own} names {other}", file.name));
            }
        }
    }
    report("imports point down and never sideways", findings);
}

#[test]
fn foreign_protocols_stay_behind_their_door() {
    let mut findings = Vec::new();
    for file in sources() {
        let code = without_comments(&file.text);
        for (name, home) in OWNED {
            if code.contains(&format!("{name}::")) && !file.name.starts_with(home) {
                findings.push(format!("{} names {name}, which only {home} may", file.name));
            }
        }
    }
    report("protocol crates", findings);
}

#[test]
fn the_scanner_sees_what_it_must() {
    let code = "use crate::edit::{a, b};\nuse crate::{host::Host, policy::{x, y}, env};\n\
                let x = crate::rpc::go(); // crate::lsp\nuse mycrate::tools;";
    let mut found = named_after(&without_comments(code), "crate::");
    found.sort();
    assert_eq!(found, ["edit", "env", "host", "policy", "rpc"]);
    assert_eq!(module("src/edit/apply.rs"), "edit");
    assert_eq!(module("src/main.rs"), "main");
}
