//! One text buffer of the scripted editor, with the changes that it has not sent yet and its change
//! log, by which edits on an older version are mapped to the current text.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::text::{self, Encoding, Splice};

const BOM: &str = "\u{feff}";

pub struct Buffer {
    pub uri: String,
    pub text: String,
    pub version: i32,
    path: Option<PathBuf>,
    /// Editors keep it apart: the file begins with it, the text does not.
    bom: bool,
    /// Changes that were not sent yet.
    pending: Vec<Value>,
    /// Version after each change, the splices that led there, and the text before them.
    log: Vec<(i32, Vec<Splice>, String)>,
    /// Whether the server knows of it (didOpen was sent).
    pub mirrored: bool,
    /// Undo steps that the server's edits made.
    pub undo: Vec<String>,
}

impl Buffer {
    pub fn new(uri: &str, text: &str, version: i32) -> Self {
        Self {
            uri: uri.into(),
            text: text.into(),
            version,
            path: None,
            bom: false,
            pending: Vec::new(),
            log: Vec::new(),
            mirrored: true,
            undo: Vec::new(),
        }
    }

    /// The file's text; empty for a file that does not exist.
    pub fn load(uri: &str, version: i32) -> Self {
        let path = PathBuf::from(uri.strip_prefix("file://").expect("a file URI"));
        let disk = std::fs::read_to_string(&path).unwrap_or_default();
        let text = disk.strip_prefix(BOM);
        let mut buffer = Self::new(uri, text.unwrap_or(&disk), version);
        buffer.bom = text.is_some();
        buffer.path = Some(path);
        buffer
    }

    pub fn did_open(&self) -> Value {
        let suffix = self.uri.rsplit('.').next().unwrap_or_default();
        let language = if suffix == "rs" { "rust" } else { "plaintext" };
        json!({ "textDocument": { "uri": self.uri, "languageId": language,
            "version": self.version, "text": self.text } })
    }

    pub fn change(&mut self, splices: &[Splice], encoding: Encoding, full: bool, step: i32) {
        let after = text::apply(&self.text, splices);
        if full {
            self.pending = vec![json!({ "text": after })];
        } else {
            let changes = text::content_changes(&self.text, splices, encoding);
            self.pending.extend(changes);
        }
        self.version += step;
        let before = std::mem::replace(&mut self.text, after);
        self.log.push((self.version, splices.to_vec(), before));
    }

    /// The didChange with all pending changes.
    pub fn did_change(&mut self) -> Option<Value> {
        if self.pending.is_empty() || !self.mirrored {
            return None;
        }
        let changes = std::mem::take(&mut self.pending);
        Some(json!({
            "textDocument": { "uri": self.uri, "version": self.version },
            "contentChanges": changes,
        }))
    }

    /// The text as it was at `version`.
    pub fn text_at(&self, version: i32) -> String {
        let next = self.log.iter().find(|(at, ..)| *at > version);
        next.map_or_else(|| self.text.clone(), |(_, _, before)| before.clone())
    }

    /// What happened after `version`.
    pub fn later_than(&self, version: i32) -> impl Iterator<Item = &Vec<Splice>> {
        let later = self.log.iter().filter(move |(at, ..)| *at > version);
        later.map(|(_, splices, _)| splices)
    }

    /// Whether the buffer ever had `version`.
    pub fn had(&self, version: i32, first: i32) -> bool {
        version == first || self.log.iter().any(|(at, ..)| *at == version)
    }

    pub fn write(&mut self) {
        let path = self.path.as_ref().expect("a file");
        let bom = if self.bom { BOM } else { "" };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder");
        }
        std::fs::write(path, format!("{bom}{}", self.text)).expect("saved");
    }

    /// Undoes the server's newest edit as one step.
    pub fn undone(&mut self) -> Option<Splice> {
        let before = self.undo.pop()?;
        Some(Splice {
            start: 0,
            end: self.text.len(),
            new: before,
        })
    }
}
