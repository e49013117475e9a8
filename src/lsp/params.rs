//! The params of LSP's standard methods, as far as they are used. URIs stay as the client wrote
//! them, and values that are only passed on stay JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workspace::{ContentChange, Position, Range};

/// A document by its URI.
#[derive(Debug, Deserialize)]
pub struct Document {
    pub uri: String,
}

/// `textDocument/didOpen`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidOpen {
    pub text_document: OpenedDocument,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedDocument {
    pub uri: String,
    pub language_id: String,
    pub version: i32,
    pub text: String,
}

/// `textDocument/didChange`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChange {
    pub text_document: VersionedDocument,
    pub content_changes: Vec<ContentChange>,
}

#[derive(Debug, Deserialize)]
pub struct VersionedDocument {
    pub uri: String,
    pub version: i32,
}

/// `textDocument/didSave`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidSave {
    pub text_document: Document,
    #[serde(default)]
    pub text: Option<String>,
}

/// `textDocument/didClose`, `textDocument/codeLens`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfDocument {
    pub text_document: Document,
}

/// `textDocument/codeAction`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeActions {
    pub text_document: Document,
    pub range: Range,
    pub context: CodeActionContext,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeActionContext {
    #[serde(default)]
    pub diagnostics: Vec<Value>,
    /// Kinds that the client wants; unset: all.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// 1: asked for; 2: the client asks by itself.
    #[serde(default)]
    pub trigger_kind: Option<u8>,
}

/// `textDocument/completion`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    pub text_document: Document,
    pub position: Position,
}

/// `workspace/executeCommand`.
#[derive(Debug, Deserialize)]
pub struct ExecuteCommand {
    pub command: String,
    #[serde(default)]
    pub arguments: Vec<Value>,
}

/// `workspace/didChangeConfiguration`.
#[derive(Debug, Deserialize)]
pub struct DidChangeConfiguration {
    pub settings: Value,
}

/// `workspace/didChangeWorkspaceFolders`.
#[derive(Debug, Deserialize)]
pub struct DidChangeWorkspaceFolders {
    pub event: FolderChange,
}

#[derive(Debug, Deserialize)]
pub struct FolderChange {
    pub added: Vec<Folder>,
    pub removed: Vec<Folder>,
}

#[derive(Debug, Deserialize)]
pub struct Folder {
    pub uri: String,
    pub name: String,
}

/// `window/workDoneProgress/cancel`.
#[derive(Debug, Deserialize)]
pub struct CancelProgress {
    /// A string or a number.
    pub token: Value,
}

/// A command with its arguments, in answers.
#[derive(Clone, Debug, Serialize)]
pub struct Command {
    pub title: String,
    pub command: String,
    pub arguments: [Value; 1],
}
