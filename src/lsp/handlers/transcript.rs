//! Code lenses, code actions and completion in transcripts.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::{Failure, SessionId};
use crate::env::tasks;
use crate::lsp::bare::transcript::{complete, format};
use crate::lsp::door::Door;
use crate::lsp::params::{Command, Completion, OfDocument};
use crate::workspace::{Document, Position, Range, Uri};

/// The transcript with this URI.
fn transcript(door: &Door, uri: &Uri) -> Option<(Document, SessionId)> {
    door.host().ok()?.transcripts().document(uri)
}

/// Lenses at the prompt's heading; in other documents, at the agent's changes.
pub async fn lenses(door: Arc<Door>, params: OfDocument) -> Result<Option<Vec<Value>>, Failure> {
    let uri = Uri::new(params.text_document.uri);
    let Some((document, _)) = transcript(&door, &uri) else {
        let changes = super::review::lenses(&door, uri.as_str()).await;
        return Ok((!changes.is_empty()).then_some(changes));
    };
    let body = String::from(&document.rope);
    let mut lenses = Vec::new();
    if let Some(line) = format::prompt_line(&body) {
        lenses.extend(commands(&door, &uri).into_iter().map(|command| {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            let start = Position { line, character: 0 };
            json!({ "range": Range { start, end: start }, "command": command })
        }));
    }
    Ok(Some(lenses))
}

/// The commands that a transcript offers.
pub fn commands(door: &Door, uri: &Uri) -> Vec<Command> {
    let Some((_, id)) = transcript(door, uri) else {
        return Vec::new();
    };
    let command = |title: &str, name: &str, argument: Value| Command {
        title: format!("Interline: {title}"),
        command: name.to_owned(),
        arguments: [argument],
    };
    vec![
        command("send", "interline.send", json!({ "uri": uri.as_str() })),
        command("cancel", "interline.cancel", json!({ "sessionId": id })),
        command(
            "revert the last turn",
            "interline.revert",
            json!({ "sessionId": id }),
        ),
    ]
}

pub async fn completion(door: Arc<Door>, params: Completion) -> Result<Option<Value>, Failure> {
    let Some(find) = completions(&door, params) else {
        return Ok(None);
    };
    // Folders and skills are read.
    let items = tasks::blocking(find).await.unwrap_or_default();
    Ok(Some(json!({ "isIncomplete": true, "items": items })))
}

/// Finds the items at a place in a transcript.
fn completions(
    door: &Arc<Door>,
    params: Completion,
) -> Option<impl FnOnce() -> Vec<Value> + Send + 'static> {
    let uri = Uri::new(params.text_document.uri);
    let (document, id) = transcript(door, &uri)?;
    let sessions = door.sessions().ok()?;
    let root = sessions.root(&id).ok().or_else(|| {
        let roots = door.workspace.roots();
        roots.first().map(|root| root.path.clone())
    })?;
    let (shared, config) = (Arc::clone(sessions.shared()), sessions.config());
    let place = (params.position, door.encoding());
    Some(move || complete::items(&shared, &config, &root, &document, place))
}
