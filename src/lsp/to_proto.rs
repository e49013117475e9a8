//! Converts our types to LSP: failures to JSON-RPC errors, edits to `workspace/applyEdit`, envelopes
//! to notifications. Pure.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::bare::unlinked;
use super::capabilities::Client;
use super::ext::{ApplyEdit, TurnEnded, TurnEvent, TurnStarted};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Failure, FailureKind};
use crate::host::EditRequest;
use crate::rpc::decode::INTERNAL_ERROR;
use crate::visible;

const INVALID_PARAMS: i64 = -32602;

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Error {
    /// One without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// A result that cannot be encoded.
    pub fn internal(error: &serde_json::Error) -> Self {
        Self::new(INTERNAL_ERROR, error.to_string())
    }
}

/// A failure as a JSON-RPC error; clients branch on its `kind`.
pub fn error(failure: Failure) -> Error {
    let mut data = json!(failure);
    if let Some(fields) = data.as_object_mut() {
        fields.remove("message");
    }
    Error {
        code: failure.kind.code(),
        // Clients show it verbatim.
        message: unlinked(&failure.sentences()),
        data: Some(data),
    }
}

/// The error for invalid params: JSON-RPC's code plus our kind.
pub fn invalid_params(reason: &str) -> Error {
    Error {
        data: Some(json!({
            "kind": FailureKind::Invalid,
            "hint": "see protocol.md or `interline schema` for the fields",
        })),
        ..Error::new(INVALID_PARAMS, reason)
    }
}

/// `workspace/applyEdit` for one document.
pub fn apply_edit(edit: &EditRequest, client: &Client) -> Value {
    let uri = edit.uri.as_str();
    let label = label(&edit.label);
    let workspace_edit = if client.document_changes || edit.create {
        let mut changes = Vec::with_capacity(2);
        if edit.create {
            changes.push(json!({
                "kind": "create",
                "uri": uri,
                "options": { "overwrite": false, "ignoreIfExists": false },
            }));
        }
        changes.push(json!({
            "textDocument": { "uri": uri, "version": edit.version },
            "edits": edit.edits,
        }));
        json!({ "documentChanges": changes })
    } else {
        json!({ "changes": { uri: edit.edits } })
    };
    json!({ "label": label, "edit": workspace_edit })
}

/// `workspace/applyEdit` that deletes one file.
pub fn delete_file(uri: &str, title: &str) -> Value {
    let delete = json!({
        "kind": "delete",
        "uri": uri,
        "options": { "recursive": false, "ignoreIfNotExists": true },
    });
    json!({ "label": label(title), "edit": { "documentChanges": [delete] } })
}

/// `interline/edit/apply`.
pub fn anchored_edit(edit: EditRequest) -> ApplyEdit {
    ApplyEdit {
        label: label(&edit.label),
        session_id: edit.session,
        turn_id: edit.turn,
        item_id: edit.item,
        uri: edit.uri.as_str().to_owned(),
        version: edit.version,
        hash: edit.hash,
        edits: edit.edits,
        undo_break: true,
        save: None,
        exact: edit.exact,
    }
}

fn label(title: &str) -> String {
    let title = visible::line(title);
    match title.starts_with("Interline: ") {
        true => title.into_owned(),
        false => format!("Interline: {title}"),
    }
}

/// The notification of an envelope.
pub enum Notice<'a> {
    Started(TurnStarted<'a>),
    Event(TurnEvent<'a>),
    Ended(TurnEnded<'a>),
}

/// Borrows everything, so that a delta is sent without a copy.
pub fn notice(envelope: &Envelope) -> Notice<'_> {
    let session_id = Cow::Borrowed(&envelope.session_id);
    let turn_id = Cow::Borrowed(&envelope.turn_id);
    let seq = envelope.seq;
    match &envelope.body {
        EnvelopeBody::Started {
            origin,
            input,
            parent,
        } => Notice::Started(TurnStarted {
            session_id,
            turn_id,
            seq,
            origin: *origin,
            input: Cow::Borrowed(input),
            parent: parent.clone(),
        }),
        EnvelopeBody::Event { event } => Notice::Event(TurnEvent {
            session_id,
            turn_id,
            seq,
            event: Cow::Borrowed(event),
        }),
        EnvelopeBody::Ended {
            stop_reason,
            error,
            usage,
            files,
        } => Notice::Ended(TurnEnded {
            session_id,
            turn_id,
            seq,
            stop_reason: *stop_reason,
            error: error.as_ref().map(Cow::Borrowed),
            usage: *usage,
            files: Cow::Borrowed(files),
        }),
    }
}
