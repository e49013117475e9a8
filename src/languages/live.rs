//! A started language server and the documents as it has them.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use ropey::Rope;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Base;
use super::connection::Connection;
use crate::env::order;
use crate::workspace::{Encoding, Revision};

/// A started server.
pub(super) struct Live {
    pub connection: Connection,
    pub encoding: Encoding,
    pub capabilities: Value,
    /// Its documents, by URI.
    open: Mutex<BTreeMap<String, Sent>>,
    /// When it was asked last.
    pub used: Mutex<Instant>,
}

/// A document as the server has it.
#[derive(Clone)]
struct Sent {
    key: String,
    base: Base,
}

impl Live {
    pub fn new(connection: Connection, capabilities: Value) -> Self {
        Self {
            encoding: match capabilities["positionEncoding"].as_str() {
                Some("utf-8") => Encoding::Utf8,
                Some("utf-32") => Encoding::Utf32,
                _ => Encoding::Utf16,
            },
            connection,
            capabilities,
            open: Mutex::default(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// Its documents, by key.
    pub fn bases(&self) -> BTreeMap<String, Base> {
        let open = self.open.lock();
        let sent = open.values().cloned();
        order::map(sent.map(|sent| (sent.key, sent.base)))
    }

    /// The version under which the server has a document.
    pub fn version(&self, uri: &str) -> Option<i32> {
        self.open.lock().get(uri).map(|sent| sent.base.version)
    }

    /// Sends a document's text, if the server does not have it.
    pub fn sync(&self, uri: &str, key: &str, language: &str, text: (Rope, Option<Revision>)) {
        let (rope, revision) = text;
        let mut open = self.open.lock();
        let version = match open.get(uri) {
            Some(sent) if sent.base.rope == rope => {
                if let Some(sent) = open.get_mut(uri) {
                    sent.base.revision = revision;
                }
                return;
            }
            Some(sent) => {
                let version = sent.base.version + 1;
                self.connection.notify(
                    "textDocument/didChange",
                    json!({
                        "textDocument": { "uri": uri, "version": version },
                        "contentChanges": [{ "text": rope.to_string() }],
                    }),
                );
                version
            }
            None => {
                self.connection.notify(
                    "textDocument/didOpen",
                    json!({ "textDocument": {
                        "uri": uri, "languageId": language, "version": 1, "text": rope.to_string(),
                    }}),
                );
                1
            }
        };
        let base = Base {
            version,
            rope,
            revision,
        };
        open.insert(
            uri.to_owned(),
            Sent {
                key: key.to_owned(),
                base,
            },
        );
    }

    /// Closes the documents that are not wanted.
    pub fn close_others(&self, wanted: &BTreeSet<String>) {
        let mut open = self.open.lock();
        open.retain(|uri, _| {
            let stays = wanted.contains(uri);
            if !stays {
                let closed = json!({ "textDocument": { "uri": uri } });
                self.connection.notify("textDocument/didClose", closed);
            }
            stays
        });
    }
}
