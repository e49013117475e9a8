//! A session as Markdown: prompts, answers, tool calls. Pure; the log has more than it shows.

use std::collections::HashSet;

use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::plan::{Todo, TodoStatus};
use crate::conversation::{Event, Input, TurnId};
use crate::prompt::fence;

/// Exports the session as it was shown.
pub fn markdown(title: Option<&str>, items: &[Envelope]) -> String {
    let mut out = format!("# {}\n", title.unwrap_or("Session"));
    let admitted = admitted(items);
    for item in items {
        match &item.body {
            // A prompt that was not sent has no message.
            EnvelopeBody::Started { input, .. } if !admitted.contains(&item.turn_id) => {
                prompt(&mut out, input);
            }
            EnvelopeBody::Started { .. } => {}
            EnvelopeBody::Event { event } => match event {
                Event::UserMessage { input, .. } => prompt(&mut out, input),
                Event::Text { text, .. } => out.push_str(&format!("\n{text}\n")),
                Event::ToolCall(call) => {
                    out.push_str(&format!("\n- {} ({:?})\n", call.title, call.status));
                    if let Some(diff) = &call.diff {
                        out.push_str(&format!("\n```diff\n{}\n```\n", diff.trim_end()));
                    }
                }
                Event::Plan { todos, .. } => {
                    out.push_str(&format!("\n{}\n", checklist(todos)));
                }
                Event::Notice { text } => out.push_str(&format!("\n> {text}\n")),
                Event::Compaction(item) => out.push_str(&format!("\n> {}\n", item.notice())),
                _ => {}
            },
            EnvelopeBody::Ended {
                stop_reason, error, ..
            } => {
                if let Some(error) = error {
                    out.push_str(&format!("\n> {}\n", error.words()));
                } else {
                    out.push_str(&format!("\n*{stop_reason:?}*\n"));
                }
            }
        }
    }
    out
}

/// The turns whose prompt became a message.
pub fn admitted(items: &[Envelope]) -> HashSet<&TurnId> {
    let messages = items.iter().filter(|item| {
        let event = match &item.body {
            EnvelopeBody::Event { event } => event,
            _ => return false,
        };
        matches!(event, Event::UserMessage { .. })
    });
    messages.map(|item| &item.turn_id).collect()
}

fn prompt(out: &mut String, input: &[Input]) {
    out.push_str("\n## You\n\n");
    for part in input {
        match part {
            Input::Text { text } => out.push_str(&format!("{text}\n")),
            Input::Resource { uri, .. } => out.push_str(&format!("[{uri}]\n")),
            Input::Document { name, .. } => out.push_str(&format!("[{name}]\n")),
            Input::Skill { name, arguments } => {
                out.push_str(&format!(
                    "/{name} {}\n",
                    arguments.as_deref().unwrap_or_default()
                ));
            }
            _ => {}
        }
    }
}

/// A plan as a checklist.
pub fn checklist(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The plan was removed.".to_owned();
    }
    let line = |todo: &Todo| {
        let mark = match todo.status {
            TodoStatus::Pending => ' ',
            TodoStatus::InProgress => '>',
            TodoStatus::Completed => 'x',
            TodoStatus::Cancelled => '-',
        };
        format!("- [{mark}] {}", fence::name(todo.text.trim()))
    };
    todos.iter().map(line).collect::<Vec<_>>().join("\n")
}
