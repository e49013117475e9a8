//! The list of stored sessions. `sessions.json` beside the logs is a cache keyed by size and time
//! of each log, rebuilt when missing or wrong.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::api::SessionRow;
use super::checkpoint::{self, Recalled};
use crate::env::order;
use crate::env::private::Place;

/// A stored session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stored {
    #[serde(skip)]
    pub path: PathBuf,
    bytes: u64,
    modified: u64,
    pub cwd: String,
    pub row: SessionRow,
    /// The prompts, in lower case and truncated, for searching.
    said: String,
    /// It is a sub-agent's session, which is not listed.
    #[serde(default)]
    child: bool,
}

impl Stored {
    /// Whether title or prompts contain the words.
    pub fn mentions(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.row.title.to_lowercase().contains(&words) || self.said.contains(&words)
    }
}

/// All stored sessions below `sessions`, newest first.
pub fn list(sessions: &Path) -> Vec<Stored> {
    let mut found = list_folder(sessions);
    for folder in folders(sessions) {
        found.extend(list_folder(&folder));
    }
    order::sort_by(&mut found, |a, b| b.row.updated_at.cmp(&a.row.updated_at));
    found
}

/// The sessions whose ids end so; none for an end that is too short to name one.
pub fn ending_in(sessions: &Path, end: &str) -> Vec<Stored> {
    let mut all = list(sessions);
    all.retain(|stored| end.len() >= 4 && stored.row.session_id.0.ends_with(end));
    all
}

fn folders(sessions: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(sessions)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

fn list_folder(folder: &Path) -> Vec<Stored> {
    let cache_path = folder.join("sessions.json");
    let cache: BTreeMap<String, Stored> = cached(&cache_path).unwrap_or_default();
    let mut fresh = BTreeMap::new();
    let mut changed = false;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
    {
        let path = entry.path();
        if path.extension().and_then(|it| it.to_str()) != Some("jsonl") {
            continue;
        }
        let Ok(meta) = entry.metadata() else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = meta.len();
        let modified = meta
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        let cached = match cache.get(&name) {
            Some(known) if known.bytes == bytes && known.modified == modified => known.clone(),
            _ => {
                changed = true;
                match scan(&path, bytes, modified) {
                    Some(cached) => cached,
                    None => continue,
                }
            }
        };
        if !cached.child {
            found.push(Stored {
                path,
                ..cached.clone()
            });
        }
        fresh.insert(name, cached);
    }
    if changed || fresh.len() != cache.len() {
        save(&cache_path, &fresh);
    }
    found
}

fn cached(path: &Path) -> Option<BTreeMap<String, Stored>> {
    let mut bytes = Vec::new();
    let mut file = Place::of(path).ok()?.read().ok()?;
    file.read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Reads one log for its row.
fn scan(path: &Path, bytes: u64, modified: u64) -> Option<Stored> {
    let Recalled { header, resumed } = checkpoint::recall(path).ok()?;
    // It could not be opened under such a name.
    header.session_id.file_name()?;
    let updated = jiff::Timestamp::from_nanosecond(i128::from(modified)).unwrap_or_default();
    Some(Stored {
        path: PathBuf::new(),
        bytes,
        modified,
        cwd: header.cwd,
        said: resumed.said,
        child: header.parent.is_some(),
        row: SessionRow {
            session_id: header.session_id,
            title: resumed.settings.title.unwrap_or_default(),
            updated_at: updated.to_string(),
            turns: resumed.conversation.turns,
            tokens: resumed.conversation.usage.total(),
            cost: resumed.conversation.usage.cost,
            state: if resumed.interrupted.is_some() {
                "interrupted"
            } else {
                "closed"
            }
            .to_owned(),
        },
    })
}

/// Writes the cache; a failure costs only time.
fn save(path: &Path, rows: &BTreeMap<String, Stored>) {
    let outcome = serde_json::to_vec(rows)
        .map_err(std::io::Error::from)
        .and_then(|json| Place::of(path)?.replace(&json));
    if let Err(error) = outcome {
        tracing::debug!("the list of sessions is not cached: {error}");
    }
}
