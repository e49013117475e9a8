//! The tools that ask language servers: which are offered, and the announcements in a running
//! conversation when they appear or disappear. Tools that appeared later are called through `mcp_call`, so that
//! the sent prefix keeps its bytes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::mcp_tools::{CALL, tool_list};
use crate::agent::{Settings, Shared};
use crate::conversation::{ToolFacts, ToolSpec, sha256};
use crate::prompt::epoch::{JournalEntry, LATE};
use crate::prompt::facts::RemoteToolFacts;
use crate::prompt::{Layout, Texts};
use crate::tools::{DIAGNOSTICS, LANGUAGES, Registry};

/// What the tools need.
pub const ABILITIES: [&str; 2] = [LANGUAGES, DIAGNOSTICS];
/// The name under which `mcp_call` reaches them.
pub const SERVER: &str = "editor";

/// What the client declared, and whether language servers can be asked. A client cannot declare
/// the latter.
pub fn abilities(shared: &Shared, settings: &Settings) -> BTreeMap<String, Value> {
    let mut abilities = shared.declared();
    let servers = &settings.config.language_servers;
    let ready = shared.languages.ready(servers, &shared.env);
    // Not as soon as something is reported: after a restart the tools would differ.
    for ability in ABILITIES {
        abilities.insert(ability.to_owned(), json!(ready));
    }
    abilities
}

/// Whether they may appear in mid-conversation.
pub fn may_come_late(shared: &Shared, settings: &Settings) -> bool {
    let servers = &settings.config.language_servers;
    shared.languages.may_come() && !shared.languages.ready(servers, &shared.env)
}

/// Those of the registry's tools.
pub fn present(registry: &Registry, texts: &Texts) -> Vec<RemoteToolFacts> {
    let ours = registry.only(|tool| needs_server(tool.spec().needs));
    present_facts(&ours.facts(texts))
}

/// Whether this is what one of them needs.
pub fn needs_server(needs: Option<&str>) -> bool {
    needs.is_some_and(|needs| ABILITIES.contains(&needs))
}

fn present_facts(tools: &[ToolFacts]) -> Vec<RemoteToolFacts> {
    let fact = |tool: &ToolFacts| RemoteToolFacts {
        name: tool.spec.name.clone(),
        native: tool.spec.name.clone(),
        description: tool.spec.description.clone(),
        schema: tool.spec.input_schema.to_string(),
    };
    tools.iter().map(fact).collect()
}

/// The announcement of what changed since the tools in `offered` (the epoch's) were sent, unless
/// the messages already `announced` it. Pure. `present`: the tools that can answer now.
pub fn announcement(
    texts: &Texts,
    layout: &Layout,
    present: &[RemoteToolFacts],
    offered: &[ToolSpec],
    announced: &BTreeMap<String, String>,
) -> Option<JournalEntry> {
    let call = layout.tool_name(CALL);
    let is_offered = |name: &str| offered.iter().any(|it| layout.wire_name(&it.name) == name);
    let late: Vec<&RemoteToolFacts> = present.iter().filter(|it| !is_offered(&it.name)).collect();
    let is_present = |name: &&str| present.iter().any(|it| it.name == *name);
    let (works, gone): (Vec<&str>, Vec<&str>) = NAMES
        .into_iter()
        .filter(|name| is_offered(name))
        .partition(is_present);
    let last = announced.get(LATE).map_or("", String::as_str);
    let names = |names: &[&str]| names.join(", ");
    let (text, lasting) = if !late.is_empty() && is_offered(CALL) {
        let list = tool_list(&late);
        let values = [("call", call), ("server", SERVER), ("list", list.as_str())];
        (texts.render("journal/language-tools.md", &values), true)
    } else if !gone.is_empty() {
        let values = [("names", names(&gone))];
        let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
        (
            texts.render("journal/language-tools-gone.md", &values),
            true,
        )
    } else if last.is_empty() {
        return None;
    } else if works.is_empty() {
        let values = [("names", names(&NAMES))];
        let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
        (
            texts.render("journal/language-tools-gone.md", &values),
            false,
        )
    } else {
        let values = [("names", names(&works))];
        let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
        (
            texts.render("journal/language-tools-back.md", &values),
            false,
        )
    };
    let hash = match lasting {
        true => sha256(text.as_bytes()),
        false => String::new(),
    };
    let about = "tools";
    (last != hash).then(|| JournalEntry {
        about: about.to_owned(),
        source: LATE.to_owned(),
        hash,
        text: texts.render("journal/entry.md", &[("about", about), ("text", &text)]),
    })
}

/// The tools by name.
const NAMES: [&str; 4] = ["code_action", "diagnostics", "lookup", "rename_symbol"];

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> RemoteToolFacts {
        RemoteToolFacts {
            name: name.to_owned(),
            native: name.to_owned(),
            ..RemoteToolFacts::default()
        }
    }

    fn spec(name: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({}).into(),
        }
    }

    fn said(
        present: &[&str],
        offered: &[&str],
        last: Option<&JournalEntry>,
    ) -> Option<JournalEntry> {
        let present: Vec<_> = present.iter().map(|name| tool(name)).collect();
        let offered: Vec<_> = offered.iter().map(|name| spec(name)).collect();
        let last = last.map(|it| (it.source.clone(), it.hash.clone()));
        let announced = last.into_iter().collect();
        let texts = Texts::load(None);
        let layout = Layout::load(&texts, "default").unwrap();
        announcement(&texts, &layout, &present, &offered, &announced)
    }

    #[test]
    fn tools_that_come_later_are_announced_once_and_their_end_too() {
        assert_eq!(said(&[], &["read", CALL], None), None);
        let came = said(&["lookup"], &["read", CALL], None).unwrap();
        assert!(
            came.text.contains("call them with `mcp_call`"),
            "{}",
            came.text
        );
        assert_eq!(said(&["lookup"], &["read", CALL], Some(&came)), None);
        let gone = said(&[], &["read", CALL], Some(&came)).unwrap();
        assert!(
            gone.text.contains("no language server runs"),
            "{}",
            gone.text
        );
        assert_eq!(said(&[], &["read", CALL], Some(&gone)), None);
    }

    #[test]
    fn the_end_of_offered_tools_is_announced_and_their_return() {
        assert_eq!(said(&["lookup"], &["lookup"], None), None);
        let gone = said(&[], &["lookup"], None).unwrap();
        assert!(gone.text.contains("lookup cannot answer"), "{}", gone.text);
        assert_eq!(said(&[], &["lookup"], Some(&gone)), None);
        let back = said(&["lookup"], &["lookup"], Some(&gone)).unwrap();
        assert!(back.text.contains("work again"), "{}", back.text);
        assert_eq!(said(&["lookup"], &["lookup"], Some(&back)), None);
    }
}
