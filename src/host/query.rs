//! Questions to the editor's language servers, in their wire form (`interline/editor/query`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workspace::{Position, Range};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum QueryKind {
    Definition,
    References,
    Hover,
    DocumentSymbols,
    WorkspaceSymbols,
    Rename,
    Diagnostics,
    CodeActions,
}

/// `interline/editor/query`. Positions are 0-based and in the negotiated encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EditorQuery {
    pub kind: QueryKind,
    /// The document; for `workspaceSymbols` any one of the language, for `diagnostics` absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The client answers from the text at this version or a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<i32>,
    /// For `definition`, `references`, `hover` and `rename`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// For `codeActions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// For `workspaceSymbols`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// For `rename`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
}

impl EditorQuery {
    pub fn new(kind: QueryKind) -> Self {
        Self {
            kind,
            uri: None,
            min_version: None,
            position: None,
            range: None,
            query: None,
            new_name: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum QueryStatus {
    Ok,
    /// The server was just started, or is indexing.
    Starting,
    /// There is no server for this language, or it lacks the request.
    Unsupported,
    Error,
}

/// The answer; items by kind, see protocol.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EditorAnswer {
    pub status: QueryStatus,
    /// For `starting`: when to ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// One sentence: why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The document's version that the answer is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    #[serde(default)]
    pub items: Vec<Value>,
    /// For `rename`: an LSP `WorkspaceEdit`, which the client does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Value>,
}

impl EditorAnswer {
    fn without_items(status: QueryStatus, message: &str) -> Self {
        Self {
            status,
            retry_after_ms: None,
            message: Some(message.to_owned()).filter(|message| !message.is_empty()),
            version: None,
            items: Vec::new(),
            edit: None,
        }
    }

    pub fn ok(items: Vec<Value>) -> Self {
        Self {
            items,
            ..Self::without_items(QueryStatus::Ok, "")
        }
    }

    pub fn error(message: &str) -> Self {
        Self::without_items(QueryStatus::Error, message)
    }

    pub fn unsupported(message: &str) -> Self {
        Self::without_items(QueryStatus::Unsupported, message)
    }

    pub fn starting(retry_after_ms: u64) -> Self {
        Self {
            retry_after_ms: Some(retry_after_ms),
            ..Self::without_items(QueryStatus::Starting, "")
        }
    }
}
