//! An approval as `session/request_permission`, and its answer. Decides nothing: anything that is
//! not exactly one of the offered options is a rejection.

use std::path::Path;

use serde_json::{Value, json};

use super::updates::{diffs_of, kind, location_of};
use crate::host::{Access, ApprovalAnswer, ApprovalRequest, ChoiceKind, Subject};
use crate::prompt::fence;
use crate::rpc::RpcError;
use crate::visible;

/// The params. `cwd`: the session's.
pub fn params(request: &ApprovalRequest, cwd: &Path) -> Value {
    let options: Vec<Value> = request
        .choices
        .iter()
        .map(|choice| {
            json!({ "optionId": choice.id, "name": choice.label, "kind": kind_of(choice.kind) })
        })
        .collect();
    let (tool_kind, content, locations) = card_of(&request.subject, cwd);
    let mut content = content;
    let mut why = format!("Reason: {}.", request.reason.trim_end_matches('.'));
    if let Some(remember) = &request.remember {
        why.push_str(&format!(" \"For this session\" allows {remember}."));
    }
    content.push(text(&visible::content(&why)));
    json!({
        "sessionId": request.session_id,
        "toolCall": {
            "toolCallId": request.item_id,
            "title": fence::name(&request.title),
            "kind": tool_kind,
            "status": "pending",
            "content": content,
            "locations": locations,
            "rawInput": request.subject,
        },
        "options": options,
    })
}

fn kind_of(choice: ChoiceKind) -> &'static str {
    match choice {
        ChoiceKind::AllowOnce => "allow_once",
        ChoiceKind::AllowSession | ChoiceKind::AllowFolder | ChoiceKind::AllowAlways => {
            "allow_always"
        }
        ChoiceKind::RejectOnce => "reject_once",
    }
}

/// Kind, content and locations of the request: exactly what will be done. A diff comes
/// first, since clients show that one.
fn card_of(subject: &Subject, cwd: &Path) -> (&'static str, Vec<Value>, Vec<Value>) {
    let at = |path: &Path| vec![json!({ "path": path })];
    match subject {
        Subject::Edit {
            uri, diff, files, ..
        } => {
            let uris = if files.is_empty() {
                std::slice::from_ref(uri)
            } else {
                files
            };
            let (content, paths) = diffs_of(uris, diff);
            let locations = paths.iter().map(|path| json!({ "path": path })).collect();
            ("edit", content, locations)
        }
        Subject::Command {
            command,
            description,
            cwd,
            unsaved,
            sees,
            ..
        } => {
            let mut words = format!("{}\nin {}", visible::command(command), fence::name(cwd));
            for (what, uris) in [("Unsaved", unsaved), ("Sees the unsaved text of", sees)] {
                let names: Vec<String> = uris.iter().map(|uri| fence::name(uri)).collect();
                if !names.is_empty() {
                    words.push_str(&format!("\n{what}: {}", names.join(", ")));
                }
            }
            if let Some(description) = description {
                words.push_str(&format!("\nThe agent says: {}", fence::line(description)));
            }
            ("execute", vec![text(&words)], Vec::new())
        }
        Subject::Path { path, access } => {
            let word = match access {
                Access::Read => "read",
                Access::Write => "write",
            };
            let located = location_of(path, cwd)
                .map(|path| at(&path))
                .unwrap_or_default();
            let words = format!("{word} {}", visible::content(&fence::line(path)));
            (kind(word), vec![text(&words)], located)
        }
        Subject::Fetch { url } => (
            "fetch",
            vec![text(&visible::content(&fence::line(url)))],
            Vec::new(),
        ),
        Subject::Setting { key, change, .. } => {
            let words = format!("{}: {}", fence::name(key), visible::content(change));
            ("other", vec![text(&words)], Vec::new())
        }
        other => {
            let words = serde_json::to_string_pretty(other).unwrap_or_default();
            ("other", vec![text(&visible::content(&words))], Vec::new())
        }
    }
}

fn text(words: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": words } })
}

/// The client's answer.
pub fn answer(request: &ApprovalRequest, result: Result<Value, RpcError>) -> ApprovalAnswer {
    let result = match result {
        Ok(result) => result,
        Err(RpcError::Gone) => return ApprovalAnswer::rejected("client closed"),
        Err(error) => return ApprovalAnswer::rejected(&format!("client error: {error}")),
    };
    let outcome = &result["outcome"];
    match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
        (Some("selected"), Some(id)) => {
            match request.choices.iter().find(|choice| choice.id == id) {
                Some(choice) => ApprovalAnswer {
                    choice: choice.kind,
                    hash: request.hash.clone(),
                    by: "user".to_owned(),
                    feedback: None,
                },
                None => ApprovalAnswer::rejected("an option that was not offered"),
            }
        }
        (Some("cancelled"), _) => ApprovalAnswer::rejected("user (cancelled)"),
        _ => ApprovalAnswer::rejected("an unreadable answer"),
    }
}
