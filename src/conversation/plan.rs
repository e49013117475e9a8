//! A session's plan: the todos that the model last wrote. It is derived from the messages alone, so
//! it survives restarts without state of its own. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Message, Role};

#[cfg(test)]
mod tests;

/// The tool that writes plans.
pub const TOOL: &str = "write_todos";

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Todo {
    pub text: String,
    pub status: TodoStatus,
}

/// The same names in the tool's arguments, in events and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// How many todos have `status`.
pub fn count(todos: &[Todo], status: TodoStatus) -> usize {
    todos.iter().filter(|todo| todo.status == status).count()
}

/// The todos that the last successful call wrote, even if the list is empty. A call without a
/// result, or with an error, changed nothing.
pub fn written(messages: &[Message]) -> Option<Vec<Todo>> {
    let mut end = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        if message.role != Role::Assistant {
            continue;
        }
        // Ids are unique in one message only: a call's result comes before the next answer.
        let results = &messages[at + 1..end];
        end = at;
        let found = message
            .tool_uses()
            .filter(|(id, name, _)| *name == TOOL && succeeded(results, id))
            .filter_map(|(_, _, input)| todos(input))
            .last();
        if found.is_some() {
            return found;
        }
    }
    None
}

fn succeeded(results: &[Message], id: &str) -> bool {
    let mut blocks = results.iter().flat_map(|message| &message.content);
    blocks.any(|block| {
        matches!(block, Block::ToolResult { tool_use_id, is_error: false, .. } if tool_use_id == id)
    })
}

fn todos(input: &Value) -> Option<Vec<Todo>> {
    serde_json::from_value(input.get("todos")?.clone()).ok()
}

/// Whether a text lists steps: two or more lines that are numbered or have checkboxes.
pub fn lists_steps(text: &str) -> bool {
    text.lines().filter(|line| is_step(line)).count() >= 2
}

fn is_step(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#*-_".contains(c));
    if line.starts_with("[ ]") {
        return true;
    }
    let line = match line.split_at_checked(5) {
        Some((word, rest)) if word.eq_ignore_ascii_case("step ") => rest,
        _ => line,
    };
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let mut after = rest.chars();
    (1..=3).contains(&digits)
        && after.next().is_some_and(|c| ".):".contains(c))
        && after.next().is_some_and(|c| c.is_whitespace() || c == '*')
}
