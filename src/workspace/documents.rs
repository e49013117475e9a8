//! The mirror of the editor's open buffers. Notifications change it immediately and in order
//! (INV-1); everything else reads cheap views. File system calls (keys, comparison with the disk)
//! are made outside the lock.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use ropey::Rope;
use tokio::sync::{Notify, watch};

use super::diagnostics::Diagnostics;
use super::dirty::{Base, Verdict};
use super::excluded::{Excluding, Lists};
use super::file_state::{FileState, Sides, file_state};
use super::git::UserGit;
use super::listings::{Listings, fold};
use super::mirror::{Mirror, Revisions};
use super::peers::{OpenDocument, Peers};
use super::resolve::{canonicalize, resolve, same_file};
use super::text::Encoding;
use super::{Author, Change, ContentChange, Document, Revision, Root, Uri};
use crate::env::Env;

/// Roots and documents. Shared as `Arc<Workspace>`.
pub struct Workspace {
    state: Mutex<State>,
    /// Notified at each signal of any document.
    any: Notify,
    peers: OnceLock<Peers>,
    /// What the user keeps from the model.
    lists: Lists,
    /// What other language servers report.
    pub diagnostics: Diagnostics,
}

/// A change that a formatter made when a document was saved.
#[derive(Clone, Debug)]
pub struct Formatted {
    pub uri: Uri,
    pub before: Rope,
    pub after: Rope,
}

#[derive(Default)]
struct State {
    roots: Vec<Root>,
    home: Option<PathBuf>,
    git: Option<UserGit>,
    config: Option<PathBuf>,
    mirrors: BTreeMap<String, Mirror>,
    /// Keys of the spellings that the client uses for open documents, so that a didChange needs no
    /// file system access. Removed at close.
    keys: HashMap<Uri, String>,
    /// By key, including documents that are not open (yet).
    signals: HashMap<String, watch::Sender<u64>>,
    /// Last comparison with the disk, by key.
    verdicts: HashMap<String, Verdict>,
    /// The texts that buffers and their files last had in common, by key.
    bases: HashMap<String, Base>,
    revisions: Revisions,
}

impl State {
    /// The buffer and the file have the same text. If both changed since they last had, and nobody
    /// saved, the editor loaded the file: the changes are the disk's.
    fn rebase(&mut self, key: &str, base: Base) {
        let before = self.bases.get(key);
        if before.is_some_and(|before| before.revision > base.revision) {
            return;
        }
        if let Some(before) = before
            && before.stamp.is_some()
            && before.stamp != base.stamp
            && before.rope != base.rope
            && let Some(mirror) = self.mirrors.get_mut(key)
        {
            mirror.loaded(before.revision, base.revision);
        }
        self.bases.insert(key.to_owned(), base);
    }

    fn signal(&mut self, key: &str) {
        if let Some(sender) = self.signals.get(key) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// The mirror of `key` and the counter that its changes need.
    fn mirror(&mut self, key: &str) -> Option<(&mut Mirror, &mut Revisions)> {
        Some((self.mirrors.get_mut(key)?, &mut self.revisions))
    }
}

impl Workspace {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::default()),
            any: Notify::new(),
            peers: OnceLock::new(),
            lists: Lists::default(),
            diagnostics: Diagnostics::default(),
        })
    }

    /// Sets the registry in which processes list their open documents; only the first call has an
    /// effect. Removes temporary files that killed processes left behind.
    pub fn join(&self, peers: Peers) {
        peers.leftovers().sweep();
        let _ = self.peers.set(peers);
    }

    pub fn peers(&self) -> Option<&Peers> {
        self.peers.get()
    }

    /// Waits for the next didOpen, change, save or close of any document. Returns at once if there
    /// was one since the last call.
    pub async fn touched(&self) {
        self.any.notified().await;
    }

    /// The open documents as published to other processes. Accesses the disk.
    pub fn listed(&self) -> Vec<OpenDocument> {
        self.documents()
            .iter()
            .filter(|document| document.opened)
            .map(|document| OpenDocument::new(document, self.dirty(document)))
            .collect()
    }

    pub fn set_roots(&self, roots: Vec<Root>) {
        self.state.lock().roots = roots;
    }

    pub fn roots(&self) -> Vec<Root> {
        self.state.lock().roots.clone()
    }

    /// Sets the user: the home folder for `~/` in path arguments, which are refused without one,
    /// and the user's own ignore files.
    pub fn set_user(&self, env: &Env) {
        let mut state = self.state.lock();
        state.home = Some(env.dirs.home.clone());
        state.git = Some(UserGit::new(env));
        state.config = Some(env.dirs.config.clone());
    }

    pub(super) fn user_git(&self) -> Option<UserGit> {
        self.state.lock().git.clone()
    }

    /// Whether the user keeps a canonical path from the model, as its lists are now.
    pub fn excludes(&self, path: &Path, folder: bool) -> bool {
        let (roots, config) = {
            let state = self.state.lock();
            (state.roots.clone(), state.config.clone())
        };
        self.lists
            .exclude(&roots, config.as_deref(), (path, folder))
    }

    /// The user's own list, for the places below `top`.
    pub(super) fn user_patterns(&self, top: &Path) -> Excluding {
        let config = self.state.lock().config.clone();
        self.lists.user(config.as_deref(), top)
    }

    /// Which names are in the folders that are asked for again and again.
    pub fn listings(&self) -> &Listings {
        &self.lists.listings
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.state.lock().home.clone()
    }

    /// The canonical path. Roots are canonical, so they are not looked up again.
    pub fn canonical(&self, path: &Path) -> std::io::Result<PathBuf> {
        let root = self.state.lock().roots.iter().any(|root| root.path == path);
        match root {
            true => Ok(path.to_path_buf()),
            false => canonicalize(path),
        }
    }

    /// The innermost root that contains `path`, with links resolved.
    pub fn root_for(&self, path: &Path) -> Option<Root> {
        let roots = self.roots();
        let find = |path: &Path| {
            let (index, _) = super::roots::containing(&roots, path)?;
            roots.get(index).cloned()
        };
        // Roots are canonical: a session's directory usually is one.
        let root = roots.iter().find(|root| root.path == path).cloned();
        root.or_else(|| find(&resolve(path).path))
    }

    /// A second didOpen of the same document replaces the text and heals its sync state. A URI
    /// without a path is not mirrored.
    pub fn did_open(&self, uri: Uri, language: &str, version: i32, text: &str) {
        if !uri.mirrored() {
            return;
        }
        let key = self.fresh_key(&uri);
        let mut state = self.state.lock();
        state.keys.insert(uri.clone(), key.clone());
        match state.mirror(&key) {
            Some((mirror, next)) => mirror.reopen(uri, language, version, text, next),
            None => {
                let at = state.revisions.next();
                let mirror = Mirror::open(uri, key.clone(), language, version, text, at);
                state.mirrors.insert(key.clone(), mirror);
            }
        }
        self.any.notify_one();
        state.signal(&key);
    }

    /// Applies the changes in order. If one cannot be applied, the document is out of sync.
    pub fn did_change(
        &self,
        uri: &Uri,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
    ) {
        if !uri.mirrored() {
            return;
        }
        let key = self.key(uri);
        let mut state = self.state.lock();
        state.keys.insert(uri.clone(), key.clone());
        if !state.mirrors.contains_key(&key) {
            let at = state.revisions.next();
            let why = "it changed without being opened";
            let mirror = Mirror::unopened(uri.clone(), key.clone(), at, why);
            state.mirrors.insert(key.clone(), mirror);
        }
        if let Some((mirror, next)) = state.mirror(&key) {
            mirror.change(uri, version, changes, encoding, next);
        }
        self.any.notify_one();
        state.signal(&key);
    }

    /// Marks the document out of sync because a change was lost: no edits until its full text
    /// arrives.
    pub fn lose(&self, uri: &Uri, reason: &str) {
        let key = self.key(uri);
        let mut state = self.state.lock();
        if let Some((mirror, _)) = state.mirror(&key) {
            mirror.lose(reason);
        }
        state.signal(&key);
    }

    /// The document is open, and its text cannot be known: it is neither read nor edited until its
    /// full text arrives.
    pub fn hide(&self, uri: &Uri, reason: &str) {
        let key = self.key(uri);
        let mut state = self.state.lock();
        state.keys.insert(uri.clone(), key.clone());
        let at = state.revisions.next();
        let mirror = Mirror::unopened(uri.clone(), key.clone(), at, reason);
        state.mirrors.insert(key.clone(), mirror);
        state.signal(&key);
    }

    /// Does not change the mirrored text. If the saved text differs from it, the mirror is wrong.
    /// Returns what a formatter changed just before.
    pub fn did_save(&self, uri: &Uri, text: Option<&str>) -> Option<Formatted> {
        let key = self.key(uri);
        let mut state = self.state.lock();
        if let (Some(text), Some((mirror, _))) = (text, state.mirror(&key))
            && mirror.document.rope != text
        {
            mirror.lose("the saved text differs from the mirrored one");
        }
        state.verdicts.remove(&key);
        if let Some(mirror) = state.mirrors.get(&key) {
            let base = Base {
                rope: mirror.document.rope.clone(),
                revision: mirror.document.revision,
                stamp: None,
            };
            state.bases.insert(key.clone(), base);
        }
        let formatted = state.mirror(&key).and_then(|(mirror, _)| {
            let before = mirror.saved()?;
            Some(Formatted {
                uri: mirror.document.uri.clone(),
                before,
                after: mirror.document.rope.clone(),
            })
        });
        self.any.notify_one();
        state.signal(&key);
        formatted
    }

    /// Forgets a closed document's text: from now on the disk is authoritative.
    pub fn did_close(&self, uri: &Uri) {
        let key = self.key(uri);
        let mut state = self.state.lock();
        state.keys.remove(uri);
        let gone = state
            .mirror(&key)
            .is_some_and(|(mirror, _)| mirror.close(uri));
        if gone {
            state.mirrors.remove(&key);
            state.keys.retain(|_, other| *other != key);
            state.verdicts.remove(&key);
            state.bases.remove(&key);
        }
        self.any.notify_one();
        state.signal(&key);
        state
            .signals
            .retain(|_, sender| sender.receiver_count() > 0);
    }

    /// The document with the identity of `uri`, however it is spelled.
    pub fn document(&self, uri: &Uri) -> Option<Document> {
        self.document_by_key(&self.key(uri))
    }

    /// The document with this key ([`Document::key`]).
    pub fn document_by_key(&self, key: &str) -> Option<Document> {
        self.state
            .lock()
            .mirrors
            .get(key)
            .map(|mirror| mirror.document.clone())
    }

    /// All mirrored documents, by key. Includes those that are known only from a change without
    /// didOpen (out of sync, not `opened`).
    pub fn documents(&self) -> Vec<Document> {
        self.state
            .lock()
            .mirrors
            .values()
            .map(|mirror| mirror.document.clone())
            .collect()
    }

    /// The changes after `revision`, oldest first; `None` if they are no longer recorded (the ring
    /// holds 4 MiB of changes per document, and closing discards them).
    pub fn changes_since(&self, uri: &Uri, revision: Revision) -> Option<Vec<Change>> {
        let key = self.key(uri);
        let changes = self.state.lock().mirrors.get(&key)?.since(revision)?;
        Some(changes.iter().map(|change| Change::clone(change)).collect())
    }

    /// The text that the document had at a version of the client, with its revision; `None` if that
    /// version is unknown or some changes since are not recorded.
    pub fn at_version(&self, uri: &Uri, version: i32) -> Option<(Revision, Rope)> {
        let key = self.key(uri);
        self.state.lock().mirrors.get(&key)?.at_version(version)
    }

    /// The revision of the text that the document was opened with, and all changes since, oldest
    /// first; `None` if it is not open or some changes are no longer recorded.
    pub fn changes_since_open(&self, uri: &Uri) -> Option<(Revision, Vec<Change>)> {
        let key = self.key(uri);
        let (opened, changes) = self.state.lock().mirrors.get(&key)?.since_open()?;
        let changes = changes.iter().map(|change| Change::clone(change));
        Some((opened, changes.collect()))
    }

    /// Marks the recorded changes in `(from, to]` as made by `author` (a confirmed edit of a
    /// session).
    pub fn attribute(&self, uri: &Uri, from: Revision, to: Revision, author: Author) {
        let key = self.key(uri);
        if let Some((mirror, _)) = self.state.lock().mirror(&key) {
            mirror.attribute(from, to, &author);
        }
    }

    /// Wakes at each didOpen, change, save and close of the document; works before it is open.
    /// The value counts these signals.
    pub fn watch(&self, uri: &Uri) -> watch::Receiver<u64> {
        let key = self.key(uri);
        let mut state = self.state.lock();
        state
            .signals
            .retain(|other, sender| *other == key || sender.receiver_count() > 0);
        let sender = state
            .signals
            .entry(key)
            .or_insert_with(|| watch::Sender::new(0));
        sender.subscribe()
    }

    /// Waits until the mirror has `version` of the document or a later one; false if that does not
    /// happen within `limit`.
    pub async fn wait_for_version(&self, uri: &Uri, version: i32, limit: Duration) -> bool {
        let mut signals = self.watch(uri);
        let arrived = async {
            loop {
                signals.borrow_and_update();
                if self
                    .document(uri)
                    .is_some_and(|document| document.version >= version)
                {
                    return true;
                }
                if signals.changed().await.is_err() {
                    return false;
                }
            }
        };
        tokio::time::timeout(limit, arrived).await.unwrap_or(false)
    }

    /// Whether the text differs from the file on disk (never inferred from events). A document
    /// without a file is dirty; one that cannot be edited is not.
    pub fn dirty(&self, document: &Document) -> bool {
        if document.uri.read_only() {
            return false;
        }
        let Some(path) = document.uri.path() else {
            return true;
        };
        let verdict = self.compare(&path, document);
        verdict.is_none_or(|verdict| verdict.dirty)
    }

    /// Whether the document has text that is not on disk. False if only the file changed.
    pub fn unsaved(&self, document: &Document) -> bool {
        self.file_state(document).unsaved()
    }

    /// The state of an open document's file. Accesses the disk.
    pub fn file_state(&self, document: &Document) -> FileState {
        if document.uri.read_only() {
            return FileState::Clean;
        }
        let path = document.uri.path();
        let same = path.as_ref().and_then(|path| self.compare(path, document));
        let same = same.map(|verdict| !verdict.dirty);
        let base = self.state.lock().bases.get(&document.key).cloned();
        let since = match (base, path) {
            (Some(mut base), Some(path)) if same != Some(true) => {
                let looked_at = base.stamp.is_some();
                let since = base.since(&path, document);
                if !looked_at {
                    self.state.lock().bases.insert(document.key.clone(), base);
                }
                Some(since)
            }
            _ => None,
        };
        file_state(Some(Sides { same, since }))
    }

    /// `None`: there is no readable file.
    fn compare(&self, path: &Path, document: &Document) -> Option<Verdict> {
        let known = self.state.lock().verdicts.get(&document.key).cloned();
        let verdict = Verdict::compare(path, document, known.as_ref())?;
        let new = known.as_ref() != Some(&verdict) && verdict.settled();
        let mut state = self.state.lock();
        if !state.mirrors.contains_key(&document.key) {
            return Some(verdict);
        }
        if let Some(base) = verdict.base(document) {
            state.rebase(&document.key, base);
        }
        if new {
            state.verdicts.insert(document.key.clone(), verdict.clone());
        }
        Some(verdict)
    }

    /// The key of `uri`: the one under which the client's spelling was opened, else from the file
    /// system.
    pub(super) fn key(&self, uri: &Uri) -> String {
        if let Some(key) = self.state.lock().keys.get(uri) {
            return key.clone();
        }
        self.fresh_key(uri)
    }

    fn fresh_key(&self, uri: &Uri) -> String {
        let key = uri.key();
        self.alias(&key).unwrap_or(key)
    }

    /// Whether a document might be open under this path or another spelling of it.
    pub fn may_be_open(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| fold(&name.to_string_lossy()));
        let wanted = name(path);
        let state = self.state.lock();
        let mut keys = state.mirrors.keys();
        keys.any(|key| name(Path::new(key)) == wanted)
    }

    /// The key of an open document that is the same file under another spelling, which happens if
    /// file systems ignore case or normalisation (B10). Accesses the file system only if such a
    /// document is open.
    pub(super) fn alias(&self, key: &str) -> Option<String> {
        let candidates: Vec<String> = {
            let state = self.state.lock();
            if state.mirrors.contains_key(key) || !key.starts_with('/') {
                return None;
            }
            let folded = fold(key);
            let alike = state.mirrors.keys().filter(|other| fold(other) == folded);
            alike.cloned().collect()
        };
        candidates
            .into_iter()
            .find(|other| same_file(Path::new(key), Path::new(other)))
    }
}

#[cfg(test)]
mod tests;
