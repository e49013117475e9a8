//! MCP servers in a turn: the prompts and resources that the user picked, and tools that appeared
//! after the epoch's tools were sent. The latter are announced once in journal entries and called
//! through `mcp_call`, so the sent prefix keeps its bytes.

use std::collections::BTreeMap;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::agent::TurnEnv;
use crate::conversation::{Input, ToolSpec, sha256};
use crate::mcp::{Content, Servers};
use crate::prompt::epoch::{JournalEntry, REMOTE};
use crate::prompt::facts::{RemoteFacts, RemoteToolFacts};
use crate::prompt::{Layout, Texts, fence};

#[cfg(test)]
mod tests;

/// The tool that calls all other server tools.
pub const CALL: &str = "mcp_call";
/// Bytes of one server's list with schemas; beyond it tools are listed by name, up to the second.
const LIST: usize = 24 * 1024;
const NAMES: usize = 32 * 1024;
/// Prefix of a server's resource in a prompt: `mcp:SERVER/URI`.
pub const SCHEME: &str = "mcp:";

/// What became of the parts of a prompt that a server has: by the part's place.
pub type Picked = BTreeMap<usize, Result<Content, String>>;

/// Server and URI of a server's resource.
pub fn resource(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

/// Why the text of a picked part is not there.
pub fn reason(outcome: Option<&Result<Content, String>>) -> &str {
    match outcome {
        Some(Err(reason)) => reason,
        // A preview starts no server.
        _ => "it is fetched when the prompt is sent",
    }
}

/// Fetches the parts of `input` that servers provide. Bounded in time; stops when the turn is
/// cancelled.
pub async fn pick(cx: &TurnEnv, input: &[Input]) -> Picked {
    pick_from(&cx.servers(), &cx.cwd, input, &cx.cancel).await
}

/// The same for a preview: from running servers, or with `start` also from those that must be
/// started first.
pub async fn preview(servers: &Servers, cwd: &Path, input: &[Input], start: bool) -> Picked {
    if start {
        servers.start_all(cwd);
        servers.wait(cwd).await;
    }
    let known = |part: &&Input| match part {
        Input::McpPrompt { server, .. } => start || servers.ready(cwd, server),
        Input::Resource { uri, .. } => {
            resource(uri).is_none_or(|(server, _)| start || servers.ready(cwd, server))
        }
        _ => true,
    };
    // Skipped parts keep their index.
    let asked = input.iter().map(|part| match known(&part) {
        true => part.clone(),
        false => Input::Text {
            text: String::new(),
        },
    });
    let asked: Vec<Input> = asked.collect();
    pick_from(servers, cwd, &asked, &CancellationToken::new()).await
}

async fn pick_from(
    servers: &Servers,
    cwd: &Path,
    input: &[Input],
    cancel: &CancellationToken,
) -> Picked {
    let mut picked = Picked::new();
    for (place, part) in input.iter().enumerate() {
        let asked = async {
            match part {
                Input::McpPrompt {
                    server,
                    name,
                    arguments,
                } => Some(servers.prompt(cwd, server, name, arguments).await),
                Input::Resource {
                    uri, text: None, ..
                } => match resource(uri) {
                    Some((server, uri)) => Some(servers.resource(cwd, server, uri).await),
                    None => None,
                },
                _ => None,
            }
        };
        let outcome = tokio::select! {
            outcome = asked => outcome,
            () = cancel.cancelled() => Some(Err("the turn was cancelled".to_owned())),
        };
        if let Some(outcome) = outcome {
            picked.insert(place, outcome);
        }
    }
    picked
}

/// Announcements of tools missing from `offered` (the epoch's), compared with what the messages
/// `announced`. Pure.
pub fn late_tools(
    texts: &Texts,
    layout: &Layout,
    servers: &[RemoteFacts],
    offered: &[ToolSpec],
    announced: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let call = layout.tool_name(CALL);
    if !offered.iter().any(|tool| tool.name == call) {
        return Vec::new();
    }
    let mut entries = Vec::new();
    for server in servers {
        let native = |tool: &&RemoteToolFacts| !offered.iter().any(|it| it.name == tool.native);
        let late: Vec<&RemoteToolFacts> = server.tools.iter().filter(native).collect();
        let name = fence::name(&server.server);
        let values = [("server", name.as_str()), ("call", call)];
        let text = (!late.is_empty()).then(|| {
            let list = fence::block(&tool_list(&late));
            texts.render(
                "journal/mcp-tools.md",
                &[values[0], values[1], ("list", list.as_str())],
            )
        });
        entries.extend(announcement(
            texts,
            announced,
            &server.server,
            text,
            &values,
        ));
    }
    let gone = announced.iter().filter(|(_, hash)| !hash.is_empty());
    let gone = gone.filter_map(|(key, _)| key.strip_prefix(REMOTE));
    for server in gone.filter(|name| !servers.iter().any(|it| it.server == *name)) {
        let name = fence::name(server);
        let values = [("server", name.as_str()), ("call", call)];
        entries.extend(announcement(texts, announced, server, None, &values));
    }
    entries
}

/// The update that announces `text`, or that there are no tools left; `None` if already announced.
fn announcement(
    texts: &Texts,
    announced: &BTreeMap<String, String>,
    server: &str,
    text: Option<String>,
    values: &[(&str, &str)],
) -> Option<JournalEntry> {
    let source = format!("{REMOTE}{server}");
    let hash = text.as_ref().map(|text| sha256(text.as_bytes()));
    let hash = hash.unwrap_or_default();
    if announced.get(&source).map_or("", String::as_str) == hash {
        return None;
    }
    let text = text.unwrap_or_else(|| texts.render("journal/mcp-none.md", values));
    let about = "tools";
    Some(JournalEntry {
        about: about.to_owned(),
        source,
        hash,
        text: texts.render("journal/entry.md", &[("about", about), ("text", &text)]),
    })
}

/// One paragraph per tool: in full while there is room, then by name.
pub(super) fn tool_list(tools: &[&RemoteToolFacts]) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    for tool in tools {
        let name = fence::line(&tool.name);
        let whole = format!(
            "{name}\n{}\nArguments: {}\n\n",
            tool.description, tool.schema
        );
        if out.len() + whole.len() <= LIST {
            out.push_str(&whole);
        } else if out.len() + name.len() <= NAMES {
            out.push_str(&format!("{name}\n"));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        out.push_str(&format!("[… {left_out} more …]\n"));
    }
    out.trim_end().to_owned()
}
