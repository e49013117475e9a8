//! Code actions: our commands at the cursor, and the answers to pending approvals.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::commands::prompts;
use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::params::{CodeActions, Command};
use crate::workspace::Uri;

/// The client asks for actions by itself, not its user.
const AUTOMATIC: u8 = 2;

/// A code action that runs a command. Without `edit`, beside which Zed would not run the command,
/// and without `data`, so that there is nothing to resolve.
#[derive(Serialize)]
struct Action {
    title: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Value>,
    command: Command,
}

/// The actions at a range.
pub async fn list(door: Arc<Door>, params: CodeActions) -> Result<Vec<Value>, Failure> {
    let door = door.as_ref();
    let uri = Uri::new(params.text_document.uri);
    let place = json!({ "uri": uri.as_str(), "range": params.range });
    let context = params.context;
    let mut actions = Vec::new();
    let offered = door.sessions()?.config().code_actions != Some(false);
    if offered && !context.diagnostics.is_empty() {
        let mut arguments = place.clone();
        arguments["diagnostics"] = json!(context.diagnostics);
        let mut fix = action("Interline: fix this", "interline.fix", arguments);
        fix.kind = "quickfix";
        fix.diagnostics = context.diagnostics;
        actions.push(fix);
    }
    let chat = super::transcript::commands(door, &uri);
    let asked = context.trigger_kind != Some(AUTOMATIC);
    if asked && !chat.is_empty() {
        // There is nothing to explain or fix in a transcript.
        actions = chat.into_iter().map(of_command).collect();
        actions.extend(approvals(door));
    } else if asked && offered {
        let changes = super::review::actions(door, uri.as_str(), params.range).await;
        actions.extend(changes.into_iter().map(of_command));
        if prompts::comment_at(door, &uri, params.range).is_some() {
            let title = "Interline: do this comment";
            let mut rewrite = action(title, "interline.doComment", place.clone());
            rewrite.kind = "refactor.rewrite";
            actions.push(rewrite);
        }
        let title = "Interline: explain this";
        actions.push(action(title, "interline.explain", place.clone()));
        actions.push(action("Interline: ask in chat…", "interline.chat", place));
        actions.extend(approvals(door));
    }
    let literals = door
        .client()
        .is_ok_and(|client| client.code_action_literals);
    Ok(actions
        .into_iter()
        .filter(|action| wanted(context.only.as_deref(), action.kind))
        .map(|action| match literals {
            true => json!(action),
            false => json!(action.command),
        })
        .collect())
}

/// The answers to pending approvals, for clients that may not show the question.
fn approvals(door: &Door) -> Vec<Action> {
    let (Ok(client), Ok(host)) = (door.client(), door.host()) else {
        return Vec::new();
    };
    if client.offer.approvals {
        return Vec::new();
    }
    let rows = host.approvals().list();
    rows.into_iter()
        .flat_map(|(item, title)| {
            let argument = json!({ "itemId": item });
            [
                action(
                    &format!("Interline: allow {title}"),
                    "interline.approve",
                    argument.clone(),
                ),
                action(
                    &format!("Interline: reject {title}"),
                    "interline.reject",
                    argument,
                ),
            ]
        })
        .collect()
}

fn of_command(command: Command) -> Action {
    Action {
        title: command.title.clone(),
        kind: "refactor",
        diagnostics: Vec::new(),
        command,
    }
}

fn action(title: &str, command: &str, argument: Value) -> Action {
    of_command(Command {
        title: title.to_owned(),
        command: command.to_owned(),
        arguments: [argument],
    })
}

/// Kinds are hierarchical: `refactor` includes `refactor.rewrite`.
fn wanted(only: Option<&[String]>, kind: &str) -> bool {
    let Some(only) = only else { return true };
    only.iter().any(|wanted| {
        wanted.is_empty()
            || kind == wanted.as_str()
            || kind
                .strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
    })
}
