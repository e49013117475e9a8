//! Code actions: our commands at the cursor, and the answers to pending approvals.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionTriggerKind,
    Command,
};
use serde_json::{Value, json};

use super::commands::prompts;
use crate::lsp::door::Door;
use crate::lsp::from_proto;
use crate::lsp::service::raw_uri;

/// The actions at a range.
pub fn list(door: &Door, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let uri = raw_uri(&params.text_document.uri);
    let place = json!({ "uri": uri.as_str(), "range": params.range });
    let context = &params.context;
    let mut actions = Vec::new();
    if !context.diagnostics.is_empty() {
        let mut arguments = place.clone();
        arguments["diagnostics"] = json!(context.diagnostics);
        let mut fix = action("Interline: fix this", "interline.fix", arguments);
        fix.kind = Some(CodeActionKind::QUICKFIX);
        fix.diagnostics = Some(context.diagnostics.clone());
        actions.push(fix);
    }
    let chat = super::transcript::commands(door, &uri);
    let asked = context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC);
    if asked && !chat.is_empty() {
        // There is nothing to explain or fix in a transcript.
        actions = chat.into_iter().map(of_command).collect();
        actions.extend(approvals(door));
    } else if asked {
        if prompts::comment_at(door, &uri, from_proto::range(params.range)).is_some() {
            let title = "Interline: do this comment";
            let mut rewrite = action(title, "interline.doComment", place.clone());
            rewrite.kind = Some(CodeActionKind::REFACTOR_REWRITE);
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
    actions
        .into_iter()
        .filter(|action| wanted(context.only.as_deref(), action.kind.as_ref()))
        .map(|action| match (literals, action.command) {
            (false, Some(command)) => CodeActionOrCommand::Command(command),
            (_, command) => CodeActionOrCommand::CodeAction(CodeAction { command, ..action }),
        })
        .collect()
}

/// The answers to pending approvals, for clients that may not show the question.
fn approvals(door: &Door) -> Vec<CodeAction> {
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

fn of_command(command: Command) -> CodeAction {
    CodeAction {
        title: command.title.clone(),
        kind: Some(CodeActionKind::REFACTOR),
        command: Some(command),
        ..CodeAction::default()
    }
}

/// Without `edit`, beside which Zed would not run the command, and without `data`, so that there is
/// nothing to resolve.
fn action(title: &str, command: &str, argument: Value) -> CodeAction {
    CodeAction {
        title: title.to_owned(),
        kind: Some(CodeActionKind::REFACTOR),
        command: Some(Command {
            title: title.to_owned(),
            command: command.to_owned(),
            arguments: Some(vec![argument]),
        }),
        ..CodeAction::default()
    }
}

/// Kinds are hierarchical: `refactor` includes `refactor.rewrite`.
fn wanted(only: Option<&[CodeActionKind]>, kind: Option<&CodeActionKind>) -> bool {
    let (Some(only), Some(kind)) = (only, kind) else {
        return true;
    };
    only.iter().any(|wanted| {
        let (wanted, kind) = (wanted.as_str(), kind.as_str());
        wanted.is_empty()
            || kind == wanted
            || kind
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.starts_with('.'))
    })
}
