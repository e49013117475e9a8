//! The commands `/revert` and `/redo`: the protocol has no method for them. They take no turn, and no
//! model reads them; the next prompt tells it what was reverted.

use std::path::Path;

use serde_json::{Value, json};

use super::super::door::Open;
use super::super::updates::{diffs, line_in, notice};
use super::Outcome;
use crate::conversation::{Input, ItemId, SessionId};
use crate::host::Host as _;
use crate::prompt::fence;
use crate::session::{RevertTurn, RevertedFile};
use crate::workspace::Uri;

/// A command of the user.
pub enum Command {
    /// What the last turn changed; or only a file of it, or the changes of a tool call.
    Revert(Option<String>),
    /// The revert before.
    Redo,
}

/// The command that a prompt is, if it is one.
pub fn command(input: &[Input]) -> Option<Command> {
    let [Input::Text { text }] = input else {
        return None;
    };
    let (name, argument) = match text.trim().split_once(char::is_whitespace) {
        Some((name, argument)) => (name, Some(argument.trim().to_owned())),
        None => (text.trim(), None),
    };
    match (name, argument) {
        ("/revert", argument) => Some(Command::Revert(argument)),
        ("/redo", None) => Some(Command::Redo),
        _ => None,
    }
}

pub async fn run(open: &Open, id: &SessionId, command: Command) -> Outcome {
    // Another prompt must not run at the same time.
    let _running = open.turns().begin(&open.sessions, id)?;
    open.host.send_notices(id);
    let reverts = matches!(command, Command::Revert(_));
    let known = open.turns().with(id, |known| {
        let last = known.reverted.take().filter(|_| !reverts);
        (known.cwd.clone(), last)
    });
    let (cwd, last) = known.unwrap_or_default();
    let mut ask = RevertTurn {
        session_id: id.clone(),
        turn_id: None,
        item_id: last,
        uris: None,
        hunk_ids: None,
        preview: false,
    };
    match command {
        Command::Redo if ask.item_id.is_none() => {
            return Ok(said(open, id, "Nothing was reverted before."));
        }
        Command::Revert(Some(item)) if item.starts_with("item_") => ask.item_id = Some(item.into()),
        Command::Revert(Some(file)) => {
            ask.uris = Some(vec![Uri::from_path(&cwd.join(file)).to_string()]);
        }
        Command::Revert(None) | Command::Redo => {}
    }
    open.host.refresh_files(id).await;
    let reverted = match open.sessions.revert(ask).await {
        Ok(reverted) => reverted,
        Err(failure) => return Ok(said(open, id, &failure.sentences())),
    };
    if reverts {
        let item = reverted.item_id.clone();
        open.turns().with(id, |known| known.reverted = Some(item));
    }
    let title = if reverts { "Revert" } else { "Redo" };
    open.host
        .update(id, &card(&reverted.item_id, title, &reverted.files));
    let problems: Vec<String> = reverted.files.iter().filter_map(problem).collect();
    let outcome = match (problems.is_empty(), reverts) {
        (true, true) => "Reverted. `/redo` restores it.".to_owned(),
        (true, false) => "Restored.".to_owned(),
        (false, _) => format!("Not everything was changed:\n{}", problems.join("\n")),
    };
    Ok(said(open, id, &outcome))
}

/// Ends the prompt with a sentence.
fn said(open: &Open, id: &SessionId, text: &str) -> super::Answer {
    let text = notice(text, "agent_message_chunk", false);
    open.host.update(id, &text);
    json!({ "stopReason": "end_turn" }).into()
}

fn problem(file: &RevertedFile) -> Option<String> {
    let conflicts = file.conflicts.join("; ");
    (!conflicts.is_empty()).then(|| format!("{}: {conflicts}", fence::name(&file.uri)))
}

/// What was changed, as a tool call with diffs and locations.
fn card(item: &ItemId, title: &str, files: &[RevertedFile]) -> Value {
    let mut content = Vec::new();
    let mut locations = Vec::new();
    for file in files {
        let Some(path) = Uri::new(file.uri.as_str()).path() else {
            continue;
        };
        content.extend(diffs(&path, &file.diff));
        locations.push(location(&path, &file.diff));
    }
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": item,
        "title": title,
        "kind": "edit",
        "status": "completed",
        "content": content,
        "locations": locations,
    })
}

fn location(path: &Path, diff: &str) -> Value {
    match line_in(diff) {
        Some(line) => json!({ "path": path, "line": line }),
        None => json!({ "path": path }),
    }
}
