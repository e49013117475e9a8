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
                    out.push_str(&format!("\n> {}\n", error.sentences()));
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
    let prompt = |item: &&Envelope| {
        matches!(
            item.body,
            EnvelopeBody::Event {
                event: Event::UserMessage { .. }
            }
        )
    };
    let messages = items.iter().filter(prompt);
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_session_is_exported_as_it_was_shown() {
        let event = |turn: &str, event: Value| {
            json!({ "sessionId": "s", "turnId": turn, "seq": 1, "body": {
                "kind": "event", "event": event,
            } })
        };
        let started = |turn: &str, words: &str| {
            json!({ "sessionId": "s", "turnId": turn, "seq": 1, "body": {
                "kind": "started", "origin": "client", "input": [{ "type": "text", "text": words }],
            } })
        };
        let ended = |turn: &str, error: Value| {
            json!({ "sessionId": "s", "turnId": turn, "seq": 1, "body": {
                "kind": "ended", "stopReason": "endTurn", "error": error,
                "usage": serde_json::to_value(crate::conversation::Spent::default()).unwrap(),
                "files": [],
            } })
        };
        let input = json!([
            { "type": "text", "text": "look" },
            { "type": "resource", "uri": "file:///w/a.rs" },
            { "type": "document", "name": "a.pdf", "mimeType": "application/pdf", "data": "" },
            { "type": "skill", "name": "pdf", "arguments": "a b" },
            { "type": "image", "mimeType": "image/png", "data": "" },
        ]);
        let todo = |status: &str| json!({ "text": status, "status": status });
        let call = json!({ "type": "toolCall", "itemId": "i", "tool": "edit", "title": "Edit a",
            "status": "completed", "diff": "-a\n+b\n" });
        let items = [
            started("t1", "not shown twice"),
            event(
                "t1",
                json!({ "type": "userMessage", "itemId": "i", "input": input }),
            ),
            event(
                "t1",
                json!({ "type": "text", "itemId": "i", "text": "Well." }),
            ),
            event("t1", call),
            event(
                "t1",
                json!({ "type": "plan", "itemId": "i", "todos": [
                todo("pending"), todo("in_progress"), todo("completed"), todo("cancelled"),
            ] }),
            ),
            event("t1", json!({ "type": "plan", "itemId": "i", "todos": [] })),
            event("t1", json!({ "type": "notice", "text": "By the way." })),
            ended("t1", Value::Null),
            started("t2", "never sent"),
            ended(
                "t2",
                json!({ "kind": "network", "message": "No way out.", "hint": "Wait." }),
            ),
        ];
        let items = items.map(|item| serde_json::from_value::<Envelope>(item).unwrap());
        assert_eq!(
            markdown(Some("Looking"), &items),
            "# Looking\n\n## You\n\nlook\n[file:///w/a.rs]\n[a.pdf]\n/pdf a b\n\nWell.\n\n\
             - Edit a (Completed)\n\n```diff\n-a\n+b\n```\n\n- [ ] pending\n- [>] in_progress\n\
             - [x] completed\n- [-] cancelled\n\nThe plan was removed.\n\n> By the way.\n\n\
             *EndTurn*\n\n## You\n\nnever sent\n\n> No way out. Wait.\n"
        );
        assert_eq!(markdown(None, &[]), "# Session\n");
    }
}
