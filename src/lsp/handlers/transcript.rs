//! Code lenses, code actions and completion in transcripts. Other documents get none.

use std::sync::Arc;

use lsp_types::{CodeLens, CodeLensParams, Command, Position, Range};
use lsp_types::{CompletionItem, CompletionList, CompletionParams, CompletionResponse};
use serde_json::{Value, json};

use crate::conversation::SessionId;
use crate::lsp::bare::transcript::{complete, format};
use crate::lsp::door::Door;
use crate::lsp::from_proto;
use crate::lsp::service::raw_uri;
use crate::workspace::{Document, Uri};

/// The transcript with this URI.
fn transcript(door: &Door, uri: &Uri) -> Option<(Document, SessionId)> {
    door.host().ok()?.transcripts().document(uri)
}

/// Lenses at the prompt's heading.
pub fn lenses(door: &Door, params: &CodeLensParams) -> Option<Vec<CodeLens>> {
    let uri = raw_uri(&params.text_document.uri);
    let (document, _) = transcript(door, &uri)?;
    let body = String::from(&document.rope);
    let mut lenses = Vec::new();
    if let Some(line) = format::prompt_line(&body) {
        lenses.extend(commands(door, &uri).into_iter().map(|command| {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            let start = Position { line, character: 0 };
            CodeLens {
                range: Range { start, end: start },
                command: Some(command),
                data: None,
            }
        }));
    }
    Some(lenses)
}

/// The commands that a transcript offers.
pub fn commands(door: &Door, uri: &Uri) -> Vec<Command> {
    let Some((_, id)) = transcript(door, uri) else {
        return Vec::new();
    };
    let command = |title: &str, name: &str, argument: Value| Command {
        title: format!("Interline: {title}"),
        command: name.to_owned(),
        arguments: Some(vec![argument]),
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

pub async fn completion(door: Arc<Door>, params: CompletionParams) -> Option<CompletionResponse> {
    let place = params.text_document_position;
    let uri = raw_uri(&place.text_document.uri);
    let (document, id) = transcript(&door, &uri)?;
    let sessions = door.sessions().ok()?;
    let root = sessions.root(&id).ok().or_else(|| {
        let roots = door.workspace.roots();
        roots.first().map(|root| root.path.clone())
    })?;
    let (shared, config) = (Arc::clone(sessions.shared()), sessions.config());
    let place = (from_proto::position(place.position), door.encoding());
    let find = move || complete::items(&shared, &config, &root, &document, place);
    // Folders and skills are read.
    let items = tokio::task::spawn_blocking(find).await.unwrap_or_default();
    let items: Vec<CompletionItem> = items
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect();
    Some(CompletionResponse::List(CompletionList {
        is_incomplete: true,
        items,
    }))
}
