//! The client's file system: it returns a file's text as the editor shows it, unsaved changes
//! included, and accepts complete files. The protocol has neither versions nor ranges, so each edit
//! reads, compares, writes and reads again; changes in between are detected or reported, never
//! knowingly overwritten.
//!
//! The mirror holds files that differ from the disk; a file shown as it is on disk is treated
//! as closed. A file the client cannot read is read and written on disk.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ropey::Rope;
use serde_json::{Value, json};

use super::mirrored;
use crate::conversation::SessionId;
use crate::edit::line_ends::line_feeds;
use crate::env::tasks;
use crate::host::{EditAnswer, EditRequest, TextEdit};
use crate::rpc::{Peer, RpcError};
use crate::workspace::files::{LIMIT, on_disk, rope_hash};
use crate::workspace::text::offset;
use crate::workspace::{Encoding, Located, Workspace, beneath};

/// How long the client may take for one file.
const WAIT: Duration = Duration::from_secs(10);

/// The same after one timeout: a client that never answers causes the long wait once,
/// not for each file. Its next answer ends that.
const AGAIN: Duration = Duration::from_millis(500);

/// The client's files.
pub struct ClientFiles {
    peer: Peer,
    workspace: Arc<Workspace>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Keys of files on disk that the client cannot read.
    closed: HashSet<String>,
    /// The client did not answer its last request in time.
    silent: bool,
    last: HashMap<String, Last>,
}

impl State {
    fn patience(&self) -> Duration {
        match self.silent {
            true => AGAIN,
            false => WAIT,
        }
    }

    fn heard(&mut self, answer: &Result<Value, RpcError>) {
        self.silent = matches!(answer, Err(RpcError::Deadline));
    }
}

/// What a file was when the client last showed it.
struct Last {
    /// Hash of the client's text.
    client: String,
    /// Hash of the disk's.
    disk: Option<String>,
    /// They were the same.
    clean: bool,
}

/// What the client shows, beside the disk.
struct Shown {
    rope: Rope,
    /// The same as on disk but for line ends, or older than the disk: a command changed the
    /// file, and the editor has not read it again.
    clean: bool,
}

/// A file that was sent to be written.
struct Written {
    /// What the client showed just before; `None`: nothing.
    before: Option<Rope>,
    after: Rope,
    /// What the client answered.
    answer: Result<(), String>,
}

impl ClientFiles {
    pub fn new(peer: Peer, workspace: Arc<Workspace>) -> Self {
        Self {
            peer,
            workspace,
            state: Mutex::default(),
        }
    }

    /// The client's text of a file, if it is not the one on disk.
    pub async fn unsaved(&self, session: &SessionId, file: &Located) -> Option<Rope> {
        let path = self.path(file)?;
        let text = self.read(session, &path).await;
        let disk = self.disk(file).await;
        match text {
            Ok(text) => {
                let shown = self.compare(&file.key(), text, disk);
                (!shown.clean).then_some(shown.rope)
            }
            Err(reason) => {
                tracing::debug!(path, reason, "the client does not show this file");
                if disk.is_some() {
                    self.state.lock().closed.insert(file.key());
                }
                None
            }
        }
    }

    /// Whether the client takes edits of the file.
    pub fn takes(&self, file: &Located) -> bool {
        self.path(file).is_some() && !self.state.lock().closed.contains(&file.key())
    }

    /// Reads, compares, writes, reads again.
    pub async fn apply(self: Arc<Self>, edit: EditRequest) -> EditAnswer {
        let file = beneath::locate(
            &self.workspace,
            std::path::Path::new("/"),
            edit.uri.as_str(),
        );
        let Ok(file) = file else {
            return refused("its path cannot be resolved");
        };
        let Some(path) = self.path(&file) else {
            return refused("it lies outside the session's folders");
        };
        let document = self.workspace.document(&edit.uri);
        let disk = self.disk(&file).await;
        let base = match &document {
            Some(document) => document.rope.clone(),
            None => disk.clone().unwrap_or_default(),
        };
        if rope_hash(&base) != edit.hash {
            return conflict(&edit, "its text moved on");
        }
        let before = match self.read(&edit.session, &path).await {
            Ok(text) => Some(self.compare(&file.key(), text, disk)),
            Err(_) if edit.create => None,
            Err(reason) => return refused(&reason),
        };
        if let Some(before) = &before {
            let expected = if edit.create {
                before.rope.len_bytes() == 0
            } else {
                same(&before.rope, &base) || document.is_none() && before.clean
            };
            if !expected {
                mirrored::show(&self.workspace, &file.uri, &before.rope);
                return conflict(&edit, "it was changed in the editor meanwhile");
            }
        }
        let Some(after) = patched(&base, &edit.edits) else {
            return refused("a position of the edit names no place in its text");
        };
        let shown = before.map(|before| before.rope);
        let after = match &shown {
            // The editor keeps the file's line ends by itself.
            Some(shown) if !has_returns(shown) && has_returns(&base) => {
                Rope::from(line_feeds(&String::from(&after)))
            }
            _ => after,
        };
        let answer = self.write(&edit.session, &path, &after).await;
        let sent = Written {
            before: shown,
            after,
            answer,
        };
        self.verify(&edit, &file, &path, sent).await
    }

    /// What the client shows after the write decides, not its answer.
    async fn verify(
        &self,
        edit: &EditRequest,
        file: &Located,
        path: &str,
        sent: Written,
    ) -> EditAnswer {
        let text = match (self.read(&edit.session, path).await, &sent.answer) {
            (Ok(text), _) => text,
            // A new file that was not written is not there to read.
            (Err(_), Err(reason)) if edit.create => {
                // The next try goes to disk.
                self.state.lock().closed.insert(file.key());
                return refused(reason);
            }
            (Err(reason), _) => {
                tracing::warn!(path, reason, "a written file cannot be read again");
                return EditAnswer::Claimed;
            }
        };
        let disk = self.disk(file).await;
        let now = self.compare(&file.key(), text, disk).rope;
        if sent.before.is_some_and(|before| before == now) && now != sent.after {
            return refused(match &sent.answer {
                Ok(()) => "the client reported success, but its text lacks the edit",
                Err(reason) => reason,
            });
        }
        let version = mirrored::show(&self.workspace, &file.uri, &now);
        if same(&now, &sent.after) {
            return EditAnswer::Claimed;
        }
        // A formatter on saving, or the user in the same moment.
        EditAnswer::Mapped {
            rebased: true,
            version,
            hash: rope_hash(&now),
        }
    }

    /// Beside the disk, and what was known of both.
    fn compare(&self, key: &str, text: String, disk: Option<Rope>) -> Shown {
        let rope = Rope::from(text);
        let client = rope_hash(&rope);
        let on_disk = disk.as_ref().map(rope_hash);
        let equal = disk.as_ref().is_some_and(|disk| same(disk, &rope));
        let mut state = self.state.lock();
        state.closed.remove(key);
        let stale = !equal
            && on_disk.is_some()
            && state
                .last
                .get(key)
                .is_some_and(|last| last.clean && last.client == client && last.disk != on_disk);
        if !stale {
            let last = Last {
                client,
                disk: on_disk,
                clean: equal,
            };
            state.last.insert(key.to_owned(), last);
        }
        Shown {
            rope,
            clean: equal || stale,
        }
    }

    /// As the client spells it: below its own name of the folder. `None` outside all folders.
    fn path(&self, file: &Located) -> Option<String> {
        let (index, _) = file.root.as_ref()?;
        let roots = self.workspace.roots();
        let root = roots.get(*index)?;
        let relative = file.path.strip_prefix(&root.path).ok()?;
        let folder = root.uri.path().unwrap_or_else(|| root.path.clone());
        let path: PathBuf = folder.join(relative);
        path.to_str().map(str::to_owned)
    }

    async fn disk(&self, file: &Located) -> Option<Rope> {
        let (workspace, file) = (Arc::clone(&self.workspace), file.clone());
        // Its kind may have changed since it was located.
        let read = move || {
            let file = beneath::locate_path(&workspace, &file.path);
            on_disk(&workspace, &file).ok().map(|content| content.rope)
        };
        tasks::blocking(read).await.ok().flatten()
    }

    async fn read(&self, session: &SessionId, path: &str) -> Result<String, String> {
        let params = json!({ "sessionId": session, "path": path });
        let result = self.ask("fs/read_text_file", params).await;
        let mut result = result.map_err(|error| error.to_string())?;
        match result.get_mut("content").map(Value::take) {
            Some(Value::String(text)) if text.len() as u64 <= LIMIT => {
                Ok(match text.strip_prefix('\u{feff}') {
                    Some(rest) => rest.to_owned(),
                    None => text,
                })
            }
            Some(Value::String(_)) => Err("its text is too large".to_owned()),
            _ => Err("the client's answer has no content".to_owned()),
        }
    }

    async fn write(&self, session: &SessionId, path: &str, text: &Rope) -> Result<(), String> {
        let content = String::from(text);
        let params = json!({ "sessionId": session, "path": path, "content": content });
        let asked = self.ask("fs/write_text_file", params).await;
        asked
            .map(drop)
            .map_err(|error| format!("the client did not write it: {error}"))
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let wait = self.state.lock().patience();
        let result = self.peer.request(method, params, Some(wait)).await.result;
        self.state.lock().heard(&result);
        result
    }
}

fn refused(reason: &str) -> EditAnswer {
    EditAnswer::Refused {
        reason: reason.to_owned(),
    }
}

/// An edit of an open document is rebased onto the new text; a closed one the model reads again.
fn conflict(edit: &EditRequest, reason: &str) -> EditAnswer {
    let reason = reason.to_owned();
    match edit.version {
        Some(_) => EditAnswer::Refused { reason },
        None => EditAnswer::Conflict { reason },
    }
}

/// Equal but for line ends: editors give them as they hold them.
fn same(a: &Rope, b: &Rope) -> bool {
    if a == b {
        return true;
    }
    (has_returns(a) || has_returns(b))
        && line_feeds(&String::from(a)) == line_feeds(&String::from(b))
}

fn has_returns(rope: &Rope) -> bool {
    rope.chunks().any(|chunk| chunk.contains('\r'))
}

/// The text with the edits; `None` when a position is not in it.
fn patched(base: &Rope, edits: &[TextEdit]) -> Option<Rope> {
    let text = String::from(base);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let start = offset(base, edit.range.start, Encoding::Utf8).ok()?;
        let end = offset(base, edit.range.end, Encoding::Utf8).ok()?;
        out.push_str(text.get(at..start)?);
        out.push_str(&edit.new_text);
        at = end.max(start);
    }
    out.push_str(text.get(at..)?);
    Some(Rope::from(out))
}

#[cfg(test)]
mod tests;
