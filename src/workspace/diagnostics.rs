//! What other language servers report about documents, as the editor passes it on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::visible;

/// A diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// 0-based, of its start.
    pub line: u32,
    /// `error`, `warning`, `information` or `hint`.
    pub severity: String,
    pub message: String,
}

/// Characters of a problem's message.
const WIDTH: usize = 300;

impl Reported {
    /// Its line for the model, and a rank that puts errors first.
    pub fn shown_at(&self, path: &str) -> (u8, String) {
        let rank = match self.severity.as_str() {
            "error" => 0,
            "warning" => 1,
            _ => 2,
        };
        let message = self.message.lines().next().unwrap_or_default();
        let message: String = message.chars().take(WIDTH).collect();
        let line = self.line.saturating_add(1);
        let message = visible::line(&message);
        (rank, format!("{path}:{line}: {}: {message}", self.severity))
    }

    /// From LSP's form.
    pub fn read(value: &Value) -> Self {
        let severity = match value["severity"].as_u64() {
            Some(2) => "warning",
            Some(3) => "information",
            Some(4) => "hint",
            _ => "error",
        };
        let line = value["range"]["start"]["line"].as_u64().unwrap_or(0);
        Self {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            severity: severity.to_owned(),
            message: value["message"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// All diagnostics of a document, which may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of the document, if the editor says so.
    pub version: Option<i32>,
    pub items: Vec<Reported>,
    /// Counts the reports of all documents.
    pub number: u64,
}

/// Reports by document key.
pub type Reports = BTreeMap<String, Arc<Report>>;

/// The last reports of all documents.
#[derive(Debug, Default)]
pub struct Diagnostics {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    reports: Reports,
    count: u64,
    /// Suffixes of the documents that were reported about.
    suffixes: BTreeSet<String>,
}

fn suffix(key: &str) -> Option<&str> {
    Path::new(key).extension()?.to_str()
}

impl Diagnostics {
    /// Replaces the report of a document.
    pub fn set(&self, key: &str, version: Option<i32>, items: Vec<Reported>) {
        let mut state = self.state.lock();
        state.count += 1;
        let number = state.count;
        let report = Report {
            version,
            items,
            number,
        };
        state.suffixes.extend(suffix(key).map(str::to_owned));
        state.reports.insert(key.to_owned(), Arc::new(report));
        drop(state);
        self.changes.send_replace(number);
    }

    /// The document was closed, after which its report may be out of date.
    pub fn forget(&self, key: &str) {
        self.state.lock().reports.remove(key);
    }

    pub fn report(&self, key: &str) -> Option<Arc<Report>> {
        self.state.lock().reports.get(key).cloned()
    }

    pub fn reports(&self) -> Reports {
        self.state.lock().reports.clone()
    }

    /// Whether the editor ever reported anything.
    pub fn any(&self) -> bool {
        self.state.lock().count > 0
    }

    /// Whether a change of this document is probably reported about: one like it was.
    pub fn expected(&self, key: &str) -> bool {
        let state = self.state.lock();
        let like_it = suffix(key).is_some_and(|it| state.suffixes.contains(it));
        like_it || state.reports.contains_key(key)
    }

    /// Changes with each report.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
