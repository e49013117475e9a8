//! Texts and code name each other: tools and their descriptions, prompts and their users,
//! protocol.md and the methods, ARCHITECTURE.md and the tree, layouts as data.

use crate::{File, files, report, root};

fn text_of(name: &str) -> String {
    let found = std::fs::read_to_string(root().join(name));
    found.unwrap_or_else(|_| panic!("{name} is missing"))
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

fn below<'a>(all: &'a [File], folder: &'a str, end: &'a str) -> impl Iterator<Item = &'a File> {
    all.iter()
        .filter(move |file| file.name.starts_with(folder) && file.name.ends_with(end))
}

#[test]
fn every_tool_has_its_description_and_the_other_way_round() {
    let all = files();
    let described: Vec<&str> = below(&all, "prompts/tools/", ".md")
        .map(|f| stem(&f.name))
        .collect();
    // A tool of the client's is described by the client.
    let mut built = Vec::new();
    for file in below(&all, "src/tools/", ".rs").filter(|file| !file.is_test()) {
        for rest in file.code().split("const NAME: &'static str = ").skip(1) {
            let name = rest.split(';').next().unwrap_or_default();
            // A constant of another module: the file is named after the tool.
            let literal = name
                .strip_prefix('"')
                .and_then(|name| name.strip_suffix('"'));
            built.push(literal.unwrap_or_else(|| stem(&file.name)));
        }
    }
    let mut findings = Vec::new();
    for name in &described {
        if !built.contains(name) {
            findings.push(format!("prompts/tools/{name}.md describes no tool"));
        }
    }
    for name in &built {
        if !described.contains(name) {
            findings.push(format!("{name} has no prompts/tools/{name}.md"));
        }
    }
    assert!(!built.is_empty(), "no tools found");
    report("tools and their texts", findings);
}

/// A text that no code and no layout names is dead.
#[test]
fn every_prompt_text_is_used() {
    let all = files();
    let users: String = all
        .iter()
        .filter(|file| file.name.starts_with("src/") || file.name.starts_with("prompts/layouts/"))
        .map(|file| file.text.as_str())
        .collect();
    let mut findings = Vec::new();
    for file in below(&all, "prompts/", ".md") {
        let name = stem(&file.name);
        let used = users.match_indices(name).any(|(at, _)| {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let before = users[..at].chars().next_back();
            let after = users[at + name.len()..].chars().next();
            !before.is_some_and(word) && !after.is_some_and(word)
        });
        if !used {
            findings.push(file.name.clone());
        }
    }
    report("texts that nothing names", findings);
}

#[test]
fn rust_never_tests_a_layouts_name() {
    let all = files();
    let layouts: Vec<String> = ["etcode", "mini", "openclaw", "zeus", "zyhive"]
        .map(|name| format!("\"{name}\""))
        .to_vec();
    let mut findings = Vec::new();
    for file in below(&all, "src/", ".rs").filter(|file| !file.is_test()) {
        for (n, line) in file.code().lines().enumerate() {
            if layouts.iter().any(|name| line.contains(name.as_str())) {
                findings.push(format!("{}:{}: {}", file.name, n + 1, line.trim()));
            }
        }
    }
    report("layouts are data", findings);
}

/// `"interline/…"` literals of the door's own types.
fn methods(text: &str) -> Vec<String> {
    let parts = text.split("\"interline/").skip(1);
    let mut found: Vec<String> = parts
        .filter_map(|part| part.split_once('"'))
        .map(|(name, _)| format!("interline/{name}"))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn the_protocol_page_names_every_method() {
    let page = text_of("protocol.md");
    let mut named = methods(&text_of("src/lsp/ext.rs"));
    assert!(!named.is_empty(), "src/lsp/ext.rs names no method");
    named.retain(|method| {
        let mut places = page.match_indices(method.as_str());
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/');
        !places.any(|(at, _)| ends(&page[at + method.len()..]))
    });
    report("methods that protocol.md does not name", named);
}

/// Tokens in backticks that look like paths of the tree.
fn paths(page: &str) -> Vec<String> {
    let spans = page.split('`').skip(1).step_by(2);
    let legal = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let ends = [".rs", ".md", ".toml", ".lua", "/"];
    spans
        .filter(|span| span.contains('/') && span.chars().all(legal))
        .filter(|span| ends.iter().any(|end| span.ends_with(end)))
        .filter(|span| span.starts_with(".ci/") || !span.starts_with(['.', '/']))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_architecture_page_names_only_what_exists() {
    let mut findings = paths(&text_of("ARCHITECTURE.md"));
    findings.retain(|name| {
        let tree = root();
        !tree.join(name).exists() && !tree.join("src").join(name).exists()
    });
    report("ARCHITECTURE.md names what is not there", findings);
}

#[test]
fn the_project_stands_alone() {
    let hosts = [
        "index.crates",
        "registry.npmjs",
        "pythonhosted",
        "deb.debian",
    ];
    let mut findings = Vec::new();
    for file in files() {
        if file.name.starts_with("tests/tidy") || file.name.contains("lock") {
            continue;
        }
        for (n, line) in file.text.lines().enumerate() {
            let bad = hosts.iter().any(|host| line.contains(host)) || line.contains("../shared");
            if bad {
                findings.push(format!("{}:{}: {}", file.name, n + 1, line.trim()));
            }
        }
    }
    report("outside places", findings);
}

#[test]
fn the_scanners_see_what_they_must() {
    assert_eq!(
        methods("x(\"interline/a/b\"), \"other/c\""),
        ["interline/a/b"]
    );
    let page = "`edit/apply.rs` and `workspace/applyEdit`, `.interline/config.toml`, `src/`";
    assert_eq!(paths(page), ["edit/apply.rs", "src/"]);
}
