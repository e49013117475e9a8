//! The commands that a prompt may be. The protocol has no methods for them; no model reads them.

use serde_json::json;

use super::super::door::{Door, Open};
use super::super::updates::link;
use super::{Outcome, revert, said};
use crate::conversation::{Failure, Input, SessionId};
use crate::env::{self, tasks};
use crate::knowledge::memory::Memory;
use crate::prompt::fence;
use crate::session::PreviewPrompt;
use crate::session::preview::markdown;
use crate::workspace::Uri;

/// A command of the user.
pub enum Command {
    /// What the last turn changed; or only a file of it, or the changes of a tool call.
    Revert(Option<String>),
    /// Restores what the last revert reverted.
    Redo,
    /// With what the summary must preserve.
    Compact(Option<String>),
    Prompt,
    Memory,
    Export,
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
        ("/compact", argument) => Some(Command::Compact(argument)),
        ("/redo", None) => Some(Command::Redo),
        ("/prompt", None) => Some(Command::Prompt),
        ("/memory", None) => Some(Command::Memory),
        ("/export", None) => Some(Command::Export),
        _ => None,
    }
}

pub async fn run(door: &Door, open: &Open, id: &SessionId, command: Command) -> Outcome {
    match command {
        Command::Revert(argument) => return revert::run(open, id, true, argument).await,
        Command::Redo => return revert::run(open, id, false, None).await,
        Command::Compact(focus) => return compact(open, id, focus).await,
        Command::Prompt | Command::Memory | Command::Export => {}
    }
    let _running = open.turns().begin(&open.sessions, id)?;
    open.host.send_notices(id);
    let text = match command {
        Command::Memory => memory(door, open, id).await,
        Command::Export => export(door, open, id).await,
        _ => prompt(open, id).await,
    };
    Ok(said(open, id, &text.unwrap_or_else(|it| it.sentences())))
}

/// It runs like a turn, so a cancel ends it.
async fn compact(open: &Open, id: &SessionId, focus: Option<String>) -> Outcome {
    let running = open.turns().begin(&open.sessions, id)?;
    open.host.send_notices(id);
    let compacted = open.sessions.compact(id, focus);
    tokio::pin!(compacted);
    let compacted = tokio::select! {
        biased;
        compacted = &mut compacted => compacted,
        () = running.cancelled() => {
            let _ = open.sessions.cancel(id, None).await;
            let _ = compacted.await;
            return Ok(json!({ "stopReason": "cancelled" }).into());
        }
    };
    Ok(match compacted {
        Ok(()) => said(open, id, "The conversation is compacted."),
        Err(failure) => said(open, id, &failure.sentences()),
    })
}

async fn prompt(open: &Open, id: &SessionId) -> Result<String, Failure> {
    let ask = PreviewPrompt {
        session_id: Some(id.clone()),
        ..PreviewPrompt::default()
    };
    let preview = open.sessions.preview(ask).await?;
    Ok(markdown::text(&preview))
}

/// The memories that apply in the session, by the file that holds them.
async fn memory(door: &Door, open: &Open, id: &SessionId) -> Result<String, Failure> {
    if !open.config.memory.enabled {
        return Ok("Memory is off (`memory.enabled`).".to_owned());
    }
    let (env, id) = (door.env.clone(), id.clone());
    let cwd = open.turns().cwd(&id).unwrap_or_default();
    let read = tasks::blocking(move || {
        let root = std::fs::canonicalize(&cwd).unwrap_or(cwd);
        Memory::new(&env, &root, Some(&id)).read()
    });
    let loaded = read.await.unwrap_or_default();
    let mut lines = Vec::new();
    let mut file = None;
    for entry in &loaded.entries {
        if file != Some(&entry.path) {
            file = Some(&entry.path);
            let path = fence::name(&entry.path.display().to_string());
            lines.push(format!("\n**{}** ({path})\n", entry.scope.as_str()));
        }
        lines.push(format!(
            "- {}: {}",
            entry.kind.as_str(),
            fence::line(&entry.text)
        ));
    }
    if lines.is_empty() {
        lines.push("Nothing is remembered.".to_owned());
    }
    let problems = loaded.problems.iter();
    lines.extend(problems.map(|(source, reason)| {
        format!(
            "\nNot used: {}: {}",
            fence::name(source),
            fence::line(reason)
        )
    }));
    Ok(lines.join("\n"))
}

/// Writes a file that only its owner can read, and sends it as a link.
async fn export(door: &Door, open: &Open, id: &SessionId) -> Result<String, Failure> {
    let text = open.sessions.export(id, "markdown").await?;
    let path = door.env.dirs.state.join("exports").join(format!("{id}.md"));
    let to = path.clone();
    let written = tasks::blocking(move || env::write_private(&to, [text.as_bytes()]));
    if let Err(error) = written.await.map_err(std::io::Error::other).flatten() {
        return Ok(format!("The file was not written: {error}."));
    }
    let uri = Uri::from_path(&path).to_string();
    open.host.update(id, &link(&uri, &format!("{id}.md")));
    let path = fence::name(&path.display().to_string());
    Ok(format!("Written to {path}."))
}
