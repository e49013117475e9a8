//! State that a compaction retains verbatim, without a model: todos, files that calls named,
//! instruction files and skills. Pure but for the skills, which are read again, so that text which
//! is no longer trusted is not repeated.

use std::collections::BTreeMap;

use crate::agent::{Conversation, TurnEnv};
use crate::conversation::entry::Carried;
use crate::conversation::plan::{self, Todo, TodoStatus};
use crate::conversation::{Block, Message};
use crate::knowledge::skills;
use crate::prompt::epoch::NESTED;
use crate::prompt::types::{Budget, Keep};
use crate::prompt::{Layout, fence};
use crate::tools::load_skill;

/// Most files and instruction files that are named.
const NAMES: usize = 100;
/// Characters of one skill, and of all of them.
const SKILL: usize = 20_000;
const SKILLS: usize = 100_000;
/// Tools that change the file they name.
const CHANGES: [&str; 3] = ["edit", "write", "apply_patch"];

/// The state retained when `gone` is dropped. The plan is that of all messages.
pub fn carried(conversation: &Conversation, layout: &Layout, gone: &[Message]) -> Carried {
    let before = &conversation.carried;
    let todos = match plan::written(&with_own_names(&conversation.messages, layout)) {
        Some(todos) => todos,
        None => before.todos.clone(),
    };
    let mut carried = Carried {
        hint: None,
        todos,
        files: before.files.clone(),
        skills: before.skills.clone(),
    };
    for (tool, argument) in succeeded(gone, layout) {
        if tool == "load_skill" && !carried.skills.contains(&argument) {
            carried.skills.push(argument);
        } else if tool == "read" || CHANGES.contains(&tool.as_str()) {
            let changed = CHANGES.contains(&tool.as_str());
            *carried.files.entry(argument).or_default() |= changed;
        }
    }
    carried
}

/// The messages with the tools' own names.
fn with_own_names(messages: &[Message], layout: &Layout) -> Vec<Message> {
    let shown = layout.tool_name(plan::TOOL);
    let mut messages = messages.to_vec();
    if shown != plan::TOOL {
        for block in messages.iter_mut().flat_map(|it| &mut it.content) {
            if let Block::ToolUse { name, .. } = block
                && name == shown
            {
                plan::TOOL.clone_into(name);
            }
        }
    }
    messages
}

/// Calls that succeeded: the tool's own name, and the path or name in its arguments.
fn succeeded(messages: &[Message], layout: &Layout) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut calls: BTreeMap<&str, (String, String)> = BTreeMap::new();
    for message in messages {
        for (id, name, input) in message.tool_uses() {
            let argument = input.get("path").or_else(|| input.get("name"));
            if let Some(argument) = argument.and_then(serde_json::Value::as_str) {
                let wire = layout.wire_name(name).to_owned();
                calls.insert(id, (wire, argument.to_owned()));
            }
        }
        for block in &message.content {
            if let Block::ToolResult {
                tool_use_id,
                is_error: false,
                ..
            } = block
            {
                out.extend(calls.remove(tool_use_id.as_str()));
            }
        }
    }
    out
}

/// The texts for the retained state; `conversation` has the instruction files that were shown.
/// Reads the skills.
pub fn blocks(cx: &TurnEnv, conversation: &Conversation, carried: &Carried) -> Vec<Block> {
    let texts = &cx.shared.texts;
    let mut out = Vec::new();
    let mut add = |name: &str, key: &str, text: String| {
        if !text.is_empty() {
            out.push(Block::text(texts.render(name, &[(key, &text)])));
        }
    };
    let todos: Vec<String> = carried.todos.iter().map(todo).collect();
    add("compact/todos.md", "todos", todos.join("\n"));
    let running = cx.state.background.running();
    let running = running
        .iter()
        .map(|it| format!("{}: {}", it.item, fence::line(&it.command)));
    add("compact/background.md", "commands", fenced_list(running));
    let files = carried.files.iter().map(|(path, changed)| {
        let done = if *changed { "changed" } else { "read" };
        format!("{done}: {}", fence::name(path))
    });
    add("compact/files.md", "files", fenced_list(files));
    let nested = conversation
        .sent_updates
        .iter()
        .filter(|(_, hash)| !hash.is_empty());
    let nested = nested.filter_map(|(key, _)| key.strip_prefix(NESTED));
    add(
        "compact/nested.md",
        "paths",
        fenced_list(nested.map(fence::name)),
    );
    for text in skill_texts(cx, &carried.skills) {
        add("compact/skill.md", "text", text);
    }
    out
}

/// Fenced names: a file can have any name.
fn fenced_list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.take(NAMES).collect();
    match names.is_empty() {
        true => String::new(),
        false => fence::block(&names.join("\n")),
    }
}

fn todo(todo: &Todo) -> String {
    let status = match todo.status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
        TodoStatus::Cancelled => "cancelled",
    };
    format!("- {status}: {}", fence::line(&todo.text))
}

fn skill_texts(cx: &TurnEnv, names: &[String]) -> Vec<String> {
    if names.is_empty() {
        return Vec::new();
    }
    let (shared, config) = (&cx.shared, cx.config());
    let trusted = shared.trusted(&cx.cwd);
    let found = skills::find(&shared.workspace, &shared.env, &config, &cx.cwd, trusted);
    let budget = Budget {
        chars: SKILL,
        keep: Keep::Head,
    };
    let mut room = SKILLS;
    let mut out = Vec::new();
    for skill in names.iter().filter_map(|name| found.get(name)) {
        let text = load_skill::skill_text(&shared.texts, &cx.cwd, skill);
        let text = fence::cut(&shared.texts, &text, budget);
        let Some(left) = room.checked_sub(text.chars().count()) else {
            break;
        };
        room = left;
        out.push(text);
    }
    out
}
