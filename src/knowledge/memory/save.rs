//! Saves one memory: checks it, then adds it to its topic, the diary and the index under a lock, so
//! that two processes lose nothing. Lines written by a person stay as they are.

use std::path::{Path, PathBuf};

use super::bullets::{self, Unfit};
use super::folder::{DAILY, INDEX, Place, TOPICS};
use super::{Entry, Kind, MOST, Memory, Scope, folder, index};
use crate::secrets::{Detector, Secret};

/// The result of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The memory, with the file that holds it.
    pub entry: Entry,
    /// It existed already; nothing was written.
    pub known: bool,
    /// Further problems, as `(source, reason)`. The memory is saved nevertheless.
    pub problems: Vec<(String, String)>,
}

/// Why nothing was saved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsaved {
    #[error("{0}")]
    Unfit(#[from] Unfit),
    #[error("it looks like {0}")]
    Secret(Secret),
    #[error("there is no session to save it for")]
    NoSession,
    #[error("the scope has {MOST} memories: delete some in {}", .0.display())]
    Full(PathBuf),
    /// INV-2: an open document is never written on disk.
    #[error("{} is open in the editor: close it first", .0.display())]
    Open(PathBuf),
    #[error("{}: {reason}", .path.display())]
    Io { path: PathBuf, reason: String },
}

impl Memory {
    /// The text as it would be stored, or why it cannot be saved.
    pub fn check(&self, text: &str) -> Result<String, Unsaved> {
        let text = bullets::normalized(text)?;
        match Detector::new(self.env.vars()).find(&text) {
            Some(secret) => Err(Unsaved::Secret(secret)),
            None => Ok(text),
        }
    }

    /// Saves a memory under today's date. `open`: an editor has this file open.
    pub fn save(
        &self,
        kind: Kind,
        scope: Scope,
        text: &str,
        open: impl Fn(&Path) -> bool,
    ) -> Result<Saved, Unsaved> {
        let text = self.check(text)?;
        let place = self.place(scope).ok_or(Unsaved::NoSession)?;
        let failed = |path: PathBuf| move |reason| Unsaved::Io { path, reason };
        place.create().map_err(failed(place.path()))?;
        // Held until the end; dropping the file releases it.
        let _lock = place.lock().map_err(failed(place.path()))?;
        let mut problems = Vec::new();
        let detector = Detector::new(self.env.vars());
        let mut entries = folder::read(&place, scope, &detector, &mut problems);
        if let Some(known) = entries.iter().find(|entry| entry.text == text) {
            return Ok(Saved {
                entry: known.clone(),
                known: true,
                problems,
            });
        }
        if entries.len() >= MOST {
            return Err(Unsaved::Full(place.path().join(TOPICS)));
        }
        let date = self.env.now().date();
        let topic = Path::new(TOPICS).join(format!("{}.md", kind.as_str()));
        let daily = Path::new(DAILY).join(format!("{date}.md"));
        let files = [&*topic, &*daily, Path::new(INDEX)].map(|name| place.path().join(name));
        if let Some(path) = files.iter().find(|path| open(path)) {
            return Err(Unsaved::Open(path.clone()));
        }
        let line = bullets::line(kind, &text, date);
        add(&place, &topic, &heading(kind), &line).map_err(failed(files[0].clone()))?;
        let entry = Entry {
            kind,
            scope,
            text,
            date: Some(date),
            path: files[0].clone(),
        };
        entries.push(entry.clone());
        let mut also = |path: &Path, outcome: Result<(), String>| {
            let problem = |reason| problems.push((path.display().to_string(), reason));
            outcome.map_err(problem).is_ok()
        };
        also(&files[1], add(&place, &daily, &format!("# {date}"), &line));
        also(&files[2], index::write(&place, &entries));
        Ok(Saved {
            entry,
            known: false,
            problems,
        })
    }
}

fn heading(kind: Kind) -> String {
    let name = kind.as_str();
    format!("# {}{}s", name[..1].to_ascii_uppercase(), &name[1..])
}

/// Adds a line to a file and keeps its other bytes.
fn add(place: &Place, name: &Path, heading: &str, line: &str) -> Result<(), String> {
    let old = place.text(name)?.unwrap_or_default();
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = if old.trim().is_empty() {
        format!("{heading}{end}{end}")
    } else {
        old
    };
    if !text.ends_with('\n') {
        text.push_str(end);
    }
    let before = bullets::parse(&text, Kind::Fact).len();
    text.push_str(line);
    text.push_str(end);
    // In an open comment or code block it would not be read back.
    if bullets::parse(&text, Kind::Fact).len() != before + 1 {
        return Err("it ends inside a comment or a code block: close that first".to_owned());
    }
    place.replace(name, &text)
}
