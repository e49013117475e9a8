//! Each field that a prompt may depend on is filled by the gatherer: a segment whose fact only
//! tests can set is a segment that the product never shows.

use crate::{files, report};

const FACTS: &str = "src/prompt/facts.rs";
const GATHERER: &str = "src/agent/request/facts";
/// Structs that the gatherer makes; the others come whole from their own rows.
const MADE: [&str; 9] = [
    "Facts",
    "AgentPrompt",
    "Folder",
    "SkillFacts",
    "MemoryFacts",
    "Runtime",
    "Git",
    "EditorFacts",
    "ActiveDocument",
];
/// Fields that are not filled yet, and why.
const UNSET: [(&str, &str, &str); 0] = [];
/// Values that say nothing.
const NOTHING: [&str; 6] = [
    "None",
    "false",
    "Vec::new()",
    "String::new()",
    "BTreeMap::new()",
    "Default::default()",
];

/// The names of a struct's fields.
fn fields<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let body = text.split_once(&format!("pub struct {name} {{\n"));
    let body = body.and_then(|(_, rest)| rest.split_once("\n}"));
    let lines = body.map_or("", |(body, _)| body).lines();
    let field = |line: &'a str| Some(line.trim().strip_prefix("pub ")?.split_once(':')?.0);
    lines.filter_map(field).collect()
}

/// What stands between the braces of each literal of the struct.
fn literals<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, opened) in text.match_indices(&format!("{name} {{")) {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let body = &text[at + opened.len()..];
        let mut depth = 1;
        let end = body.find(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        found.push(&body[..end.unwrap_or(body.len())]);
    }
    found
}

fn is_set(gatherer: &str, name: &str, field: &str) -> bool {
    let says = |part: &str| match part.trim().split_once(':') {
        Some((key, value)) => key == field && !NOTHING.contains(&value.trim()),
        None => part.trim() == field,
    };
    literals(gatherer, name)
        .iter()
        .any(|body| body.split(['\n', ',']).any(says))
        || gatherer.contains(&format!("facts.{field} = "))
}

#[test]
fn each_fact_is_gathered() {
    let files = files();
    let facts = files.iter().find(|file| file.name == FACTS);
    let facts = &facts.expect("the facts are there").text;
    let parts = files.iter();
    let parts = parts.filter(|file| file.name.starts_with(GATHERER) && !file.is_test());
    let gatherer: String = parts.map(|file| format!("{}\n", file.code())).collect();
    let mut findings = Vec::new();
    for name in MADE {
        let fields = fields(facts, name);
        assert!(!fields.is_empty(), "{FACTS} has no {name}");
        for field in fields {
            let known = UNSET
                .iter()
                .any(|(of, unset, _)| (*of, *unset) == (name, field));
            match (is_set(&gatherer, name, field), known) {
                (false, false) => findings.push(format!("{name}.{field}: only tests can set it")),
                (true, true) => findings.push(format!("{name}.{field} is set: take it off UNSET")),
                _ => {}
            }
        }
    }
    report("facts that are never gathered", findings);
}

#[test]
fn a_fact_without_a_value_counts_as_unset() {
    let gatherer = "Folder {\n    name: root.name,\n    path,\n    description: None,\n}";
    let set = |field: &str| is_set(gatherer, "Folder", field);
    assert!(set("name") && set("path"));
    assert!(!set("description") && !set("writable"));
    let text = "pub struct Folder {\n    pub name: String,\n    /// x: y\n    pub path: String,\n}";
    assert_eq!(fields(text, "Folder"), ["name", "path"]);
}
