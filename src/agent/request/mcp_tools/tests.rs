use std::collections::BTreeMap;

use serde_json::json;

use super::{late_tools, resource};
use crate::conversation::ToolSpec;
use crate::prompt::facts::{RemoteFacts, RemoteToolFacts};
use crate::prompt::{Layout, Texts};

fn server(name: &str, tools: &[&str]) -> RemoteFacts {
    let tool = |tool: &&str| RemoteToolFacts {
        name: (*tool).to_owned(),
        native: format!("mcp__{name}__{tool}"),
        description: "Does ``` things.".to_owned(),
        schema: "{}".to_owned(),
    };
    RemoteFacts {
        server: name.to_owned(),
        instructions: None,
        tools: tools.iter().map(tool).collect(),
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}).into(),
    }
}

fn announced_by(
    servers: &[RemoteFacts],
    offered: &[ToolSpec],
    announced: &mut BTreeMap<String, String>,
) -> Vec<String> {
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "default").unwrap();
    let entries = late_tools(&texts, &layout, servers, offered, announced);
    let say = entries.into_iter().map(|entry| {
        announced.insert(entry.source, entry.hash);
        entry.text
    });
    say.collect()
}

#[test]
fn late_tools_and_their_removal_are_announced_once() {
    let offered = [spec("mcp_call"), spec("mcp__a__early")];
    let mut announced = BTreeMap::new();
    let first = announced_by(&[server("a", &["early", "late"])], &offered, &mut announced);
    assert_eq!(first.len(), 1);
    assert!(first[0].contains("late\nDoes") && !first[0].contains("early"));
    assert!(
        first[0].contains("````text") || first[0].contains("~~~text"),
        "{}",
        first[0]
    );
    assert!(announced_by(&[server("a", &["early", "late"])], &offered, &mut announced).is_empty());
    let end = announced_by(&[server("a", &["early"])], &offered, &mut announced);
    assert!(end[0].contains("any more"));
    assert!(announced_by(&[server("a", &["early"])], &offered, &mut announced).is_empty());
}

#[test]
fn a_removed_server_is_announced_only_if_it_had_late_tools() {
    let offered = [spec("mcp_call"), spec("mcp__b__x")];
    let mut announced = BTreeMap::new();
    assert!(announced_by(&[server("b", &["x"])], &offered, &mut announced).is_empty());
    assert_eq!(
        announced_by(&[server("a", &["y"])], &offered, &mut announced).len(),
        1
    );
    let gone = announced_by(&[], &offered, &mut announced);
    assert!(gone.len() == 1 && gone[0].contains("`a`"), "{gone:?}");
}

#[test]
fn without_a_way_to_call_them_nothing_is_announced() {
    let mut announced = BTreeMap::new();
    assert!(announced_by(&[server("a", &["x"])], &[spec("read")], &mut announced).is_empty());
}

#[test]
fn ten_thousand_late_tools_are_truncated() {
    let names: Vec<String> = (0..10_000).map(|n| format!("tool_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let said = announced_by(
        &[server("a", &names)],
        &[spec("mcp_call")],
        &mut BTreeMap::new(),
    );
    assert!(said[0].len() < 40_000 && said[0].contains("more …"));
}

#[test]
fn a_resource_of_a_server_is_named_by_both() {
    assert_eq!(
        resource("mcp:docs/file:///a/b"),
        Some(("docs", "file:///a/b"))
    );
    assert_eq!(resource("file:///a"), None);
}
