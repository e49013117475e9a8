//! Events of a turn as `session/update`: each item once, then its changes. Pure; the text
//! of the model is unchanged, paths are absolute, lines count from 1.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::conversation::plan::{Todo, TodoStatus};
use crate::conversation::{
    CompactionStatus, ContextUse, Event, Input, ItemId, Mode, Spent, ToolItem, ToolStatus,
};
use crate::edit::unified_diff::by_file;
use crate::visible;
use crate::workspace::Uri;

/// What a client has seen of the running turn.
#[derive(Debug, Default)]
pub struct Shown {
    calls: HashSet<ItemId>,
    streamed: HashSet<ItemId>,
}

/// The context of an event.
pub struct Context<'a> {
    pub cwd: &'a Path,
    /// Replayed from the log: includes the user's text, and no deltas came before.
    pub replayed: bool,
    /// The client shows notices.
    pub notices: bool,
    /// The cost of the earlier turns.
    pub cost: Option<f64>,
}

impl Shown {
    /// The turn is over.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.streamed.clear();
    }

    /// Whether the client knows this call of the running turn.
    pub fn has(&self, call: &ItemId) -> bool {
        self.calls.contains(call)
    }

    /// The updates of one event, in order.
    pub fn updates(&mut self, event: &Event, context: &Context<'_>) -> Vec<Value> {
        let as_notice = context.notices && !context.replayed;
        match event {
            Event::TextDelta { item_id, text } => {
                self.streamed.insert(item_id.clone());
                vec![chunk("agent_message_chunk", item_id, text)]
            }
            Event::ThoughtDelta { item_id, text } => {
                self.streamed.insert(item_id.clone());
                vec![chunk("agent_thought_chunk", item_id, text)]
            }
            Event::Text { item_id, text, .. } if !self.streamed.contains(item_id) => {
                vec![chunk("agent_message_chunk", item_id, text)]
            }
            Event::Thought { item_id, text } if !self.streamed.contains(item_id) => {
                vec![chunk("agent_thought_chunk", item_id, text)]
            }
            // A live prompt is on the screen already.
            Event::UserMessage { item_id, input } if context.replayed => {
                user_message(item_id, input)
            }
            Event::ToolCall(item) => vec![self.call(item, context.cwd)],
            Event::Plan { todos, .. } => vec![plan(todos)],
            Event::Usage {
                usage,
                context: Some(now),
                ..
            } if !context.replayed => vec![usage_update(usage, *now, context)],
            Event::Retry(item) => {
                vec![notice(&item.notice(), "agent_thought_chunk", as_notice)]
            }
            Event::Compaction(item) if item.status != CompactionStatus::Running => {
                vec![notice(&item.notice(), "agent_thought_chunk", as_notice)]
            }
            Event::Image {
                item_id,
                uri,
                media_type,
                caption,
                data,
            } => image(item_id, uri, media_type, caption.as_deref(), data),
            Event::File {
                item_id,
                uri,
                name,
                bytes,
                ..
            } => {
                let link = json!({
                    "type": "resource_link", "uri": uri, "name": name, "size": bytes,
                });
                vec![block(item_id, link)]
            }
            Event::Notice { text } => vec![notice(text, "agent_message_chunk", as_notice)],
            _ => Vec::new(),
        }
    }

    fn call(&mut self, item: &ToolItem, cwd: &Path) -> Value {
        let first = self.calls.insert(item.item_id.clone());
        let mut update = json!({
            "sessionUpdate": if first { "tool_call" } else { "tool_call_update" },
            "toolCallId": item.item_id,
            "title": item.title,
            "name": item.tool,
            "kind": kind(&item.tool),
            "status": status(item.status),
        });
        let path = path_of(item, cwd);
        let mut content = Vec::new();
        let uris: Vec<String> = item.files.iter().map(|file| file.uri.clone()).collect();
        match (&item.diff, &path) {
            (Some(diff), _) if uris.len() > 1 => content.extend(diffs_of(&uris, diff).0),
            (Some(diff), Some(path)) => content.extend(diffs(path, diff)),
            (Some(diff), None) => content.push(text_content(diff)),
            (None, _) => {}
        }
        if let Some(output) = item.output.as_deref().filter(|_| shows_output(item)) {
            content.push(text_content(output));
        }
        if !content.is_empty() {
            update["content"] = content.into();
        }
        if let Some(path) = &path {
            let mut place = json!({ "path": path });
            if let Some(line) = line_of(item) {
                place["line"] = line.into();
            }
            let others = uris
                .iter()
                .skip(1)
                .filter_map(|uri| Uri::new(uri.as_str()).path());
            let others = others.map(|path| json!({ "path": path }));
            update["locations"] = std::iter::once(place).chain(others).collect();
        }
        if let Some(input) = &item.input {
            update["rawInput"] = input.clone();
        }
        update
    }
}

/// A diff is all there is to say about a successful edit.
fn shows_output(item: &ToolItem) -> bool {
    item.diff.is_none() || item.status != ToolStatus::Completed
}

/// An image for the user with its caption. Logs store no images, so a replayed one is a link.
fn image(
    item: &ItemId,
    uri: &str,
    media_type: &str,
    caption: Option<&str>,
    data: &str,
) -> Vec<Value> {
    let picture = match data {
        "" => {
            let name = uri.rsplit('/').next().unwrap_or(uri);
            json!({ "type": "resource_link", "uri": uri, "name": name, "mimeType": media_type })
        }
        data => json!({ "type": "image", "mimeType": media_type, "data": data, "uri": uri }),
    };
    let mut all = vec![block(item, picture)];
    if let Some(caption) = caption {
        let text = format!("\n\n{caption}\n\n");
        all.push(chunk("agent_message_chunk", item, &text));
    }
    all
}

/// A non-text block in the agent's message.
fn block(item: &ItemId, content: Value) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": content, "messageId": item })
}

fn chunk(what: &str, item: &ItemId, text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "sessionUpdate": what, "content": content, "messageId": item })
}

fn user_message(item: &ItemId, input: &[Input]) -> Vec<Value> {
    let block = |part: &Input| match part {
        Input::Text { text } => json!({ "type": "text", "text": text }),
        Input::Image { mime_type, data } => {
            json!({ "type": "image", "mimeType": mime_type, "data": data })
        }
        Input::Document {
            name,
            mime_type,
            data,
        } => {
            let resource = json!({ "uri": name, "mimeType": mime_type, "blob": data });
            json!({ "type": "resource", "resource": resource })
        }
        Input::Resource {
            uri, text, label, ..
        } => match text {
            Some(text) => json!({ "type": "resource", "resource": { "uri": uri, "text": text } }),
            None => {
                let name = label.as_deref().unwrap_or(uri);
                json!({ "type": "resource_link", "uri": uri, "name": name })
            }
        },
        Input::Skill { name, arguments } => {
            let rest = arguments.as_deref().unwrap_or_default();
            json!({ "type": "text", "text": format!("/{name} {rest}").trim_end() })
        }
        Input::McpPrompt { server, name, .. } => {
            json!({ "type": "text", "text": format!("/{server}:{name}") })
        }
    };
    let update = |part| {
        json!({
            "sessionUpdate": "user_message_chunk",
            "content": block(part),
            "messageId": item,
        })
    };
    input.iter().map(update).collect()
}

/// A file, in a message of ours.
pub fn link(uri: &str, name: &str) -> Value {
    let content = json!({ "type": "resource_link", "uri": uri, "name": name });
    json!({ "sessionUpdate": "agent_message_chunk", "content": content })
}

/// The user's text in a replayed turn.
pub fn replayed_prompt(turn: &str, input: &[Input]) -> Vec<Value> {
    user_message(&ItemId(format!("{turn}-prompt")), input)
}

/// A sentence from Interline itself, outside the model's text: a notice, otherwise a chunk.
pub fn notice(text: &str, otherwise: &str, as_notice: bool) -> Value {
    let text = text.trim();
    if as_notice && !text.is_empty() {
        return json!({ "sessionUpdate": "notice", "severity": "warning", "title": text });
    }
    json!({
        "sessionUpdate": otherwise,
        "content": { "type": "text", "text": format!("\n\n{text}\n\n") },
    })
}

fn plan(todos: &[Todo]) -> Value {
    let entry = |todo: &Todo| {
        let status = match todo.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
            // The protocol has no such status; the plan is sent in full, so the entry disappears.
            TodoStatus::Cancelled => return None,
        };
        Some(json!({ "content": todo.text, "priority": "medium", "status": status }))
    };
    let entries: Vec<Value> = todos.iter().filter_map(entry).collect();
    json!({ "sessionUpdate": "plan", "entries": entries })
}

/// What fills the context now.
pub fn filled(now: ContextUse) -> Value {
    json!({ "sessionUpdate": "usage_update", "used": now.used, "size": now.window })
}

/// What fills the context now, and what the session cost.
fn usage_update(turn: &Spent, now: ContextUse, context: &Context<'_>) -> Value {
    let mut update = filled(now);
    if let (Some(before), Some(now)) = (context.cost, turn.cost) {
        update["cost"] = json!({ "amount": before + now, "currency": "USD" });
    }
    update
}

/// The mode changed.
pub fn mode(mode: Mode) -> Value {
    json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode.as_str() })
}

/// The protocol's kind of a tool.
pub fn kind(tool: &str) -> &'static str {
    match tool {
        "read" | "load_skill" | "project_read" => "read",
        "edit" | "write" | "apply_patch" | "project_write" => "edit",
        "list" | "glob" | "grep" | "memory_search" | "project_glob" | "project_list" => "search",
        "exec" => "execute",
        "web_fetch" => "fetch",
        "write_todos" => "think",
        _ => "other",
    }
}

fn status(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending | ToolStatus::AwaitingApproval | ToolStatus::AwaitingSave => "pending",
        ToolStatus::Running => "in_progress",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed | ToolStatus::Rejected | ToolStatus::Cancelled => "failed",
    }
}

/// The file of a call: the one it changed, or else the one it names.
fn path_of(item: &ToolItem, cwd: &Path) -> Option<PathBuf> {
    if let Some(file) = item.files.first() {
        return Uri::new(file.uri.as_str()).path();
    }
    location_of(item.input.as_ref()?.get("path")?.as_str()?, cwd)
}

/// The absolute path of a path argument.
pub fn location_of(argument: &str, cwd: &Path) -> Option<PathBuf> {
    if argument.starts_with("file:") {
        return Uri::new(argument).path();
    }
    if argument.is_empty() || argument.starts_with('~') || argument.contains("://") {
        return None;
    }
    let path: PathBuf = cwd.join(argument).components().collect();
    path.is_absolute().then_some(path)
}

/// 1-based: where the change begins, or else where reading begins.
fn line_of(item: &ToolItem) -> Option<u64> {
    if let Some(diff) = &item.diff {
        return line_in(diff);
    }
    item.input.as_ref()?.get("offset")?.as_u64()
}

/// The first changed line of a unified diff, from 1.
pub fn line_in(diff: &str) -> Option<u64> {
    let head = diff.lines().find_map(|line| line.strip_prefix("@@ "))?;
    let after = head.split_once('+')?.1;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(|line: u64| line.max(1))
}

fn text_content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// The diff of these files in their order, and their paths. What belongs to no file is text.
pub fn diffs_of(uris: &[String], unified: &str) -> (Vec<Value>, Vec<PathBuf>) {
    let paths: Option<Vec<PathBuf>> = uris
        .iter()
        .map(|uri| Uri::new(uri.as_str()).path())
        .collect();
    let parts = match uris {
        [_] => vec![unified],
        _ => by_file(unified),
    };
    let paths = paths.filter(|paths| paths.len() == parts.len());
    let Some(paths) = paths else {
        return (vec![text_content(&visible::content(unified))], Vec::new());
    };
    let pairs = paths.iter().zip(parts);
    (
        pairs.flat_map(|(path, part)| diffs(path, part)).collect(),
        paths,
    )
}

/// The hunks of a unified diff as the protocol's diffs: old and new text of each, with the lines
/// around them. A hunk that only adds to nothing is a new file. They are for display: nothing hides
/// in them (A41).
pub fn diffs(path: &Path, unified: &str) -> Vec<Value> {
    let mut hunks: Vec<(bool, String, String)> = Vec::new();
    for line in unified.lines() {
        if let Some(head) = line.strip_prefix("@@ ") {
            let creates = head.starts_with("-0,0 ");
            hunks.push((creates, String::new(), String::new()));
            continue;
        }
        let Some((_, old, new)) = hunks.last_mut() else {
            continue;
        };
        let (mark, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        let sides: &mut [&mut String] = match mark {
            "-" => &mut [old],
            "+" => &mut [new],
            " " | "" => &mut [old, new],
            // "\ No newline at end of file": of the line before.
            _ => {
                for side in [old, new] {
                    if side.ends_with('\n') {
                        side.pop();
                    }
                }
                continue;
            }
        };
        for side in sides {
            side.push_str(&visible::content(rest));
            side.push('\n');
        }
    }
    hunks
        .into_iter()
        .map(|(creates, old, new)| {
            let old = if creates { Value::Null } else { old.into() };
            json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
        })
        .collect()
}

#[cfg(test)]
mod tests;
