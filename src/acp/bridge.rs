//! Documents that are open in another editor of the user, with an `interline lsp` on the same
//! folder: their text comes from there, and their edits go there (`host/bridge.rs`). What was open
//! there and cannot be asked for is neither read nor written until it was saved or reopened.
//!
//! The mirror holds each such document, also a saved one: it is open, so the disk is not written.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use ropey::Rope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::mirrored;
use crate::env::order;
use crate::env::{Dirs, tasks};
use crate::host::bridge::{
    Buffer, BufferOutcome, CLOSED, EDIT, EditBuffer, EditedBuffer, READ, ReadBuffer, permitted,
};
use crate::host::{EditAnswer, EditRequest};
use crate::policy::Access;
use crate::rpc::{self, Framing, Peer, RpcError, Service};
use crate::workspace::files::rope_hash;
use crate::workspace::peers::Card;
use crate::workspace::{Located, Uri, Workspace, beneath};

/// How long a read may take.
const READING: Duration = Duration::from_secs(3);

/// The other process answers an edit before this ([`crate::edit::apply::DEADLINE`]).
const EDITING: Duration = Duration::from_secs(12);

/// How many files are read at once when all are checked.
const TOGETHER: usize = 64;

/// The documents of other editors.
pub struct Bridge {
    workspace: Arc<Workspace>,
    dirs: Dirs,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By process.
    links: HashMap<i32, Arc<Link>>,
    /// By key: what was open there when it was last asked for.
    open: HashMap<String, Open>,
}

/// A connection to another process.
struct Link {
    peer: Peer,
    stream: UnixStream,
    /// The editor and the process, for messages.
    holder: String,
    ended: Ended,
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[derive(Clone, Default)]
struct Ended {
    /// The editor closed its buffers.
    closed: Arc<AtomicBool>,
    /// The connection is gone.
    gone: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Open {
    link: Arc<Link>,
    /// Of the text in the mirror; `None`: it is hidden, or the client's.
    text: Option<(u64, String)>,
    /// When the file was saved, as far as it was known when the document was asked for.
    saved: Option<SystemTime>,
}

/// What another editor has of a file.
pub enum Elsewhere {
    /// It is not open there, as far as this process may know.
    No,
    Open(Shown),
    /// It is open there, and its text is unknown.
    Unknown(String),
}

/// A document of another editor.
pub struct Shown {
    link: Arc<Link>,
    buffer: Buffer,
}

impl Shown {
    pub fn dirty(&self) -> bool {
        self.buffer.dirty
    }

    pub fn text(&self) -> &str {
        &self.buffer.text
    }

    pub fn holder(&self) -> &str {
        &self.link.holder
    }
}

impl Bridge {
    pub fn new(workspace: Arc<Workspace>, dirs: Dirs) -> Self {
        Self {
            workspace,
            dirs,
            state: Mutex::default(),
        }
    }

    /// Whether the mirror has the file's text from another editor.
    pub fn has(&self, key: &str) -> bool {
        let state = self.state.lock();
        state.open.get(key).is_some_and(|open| open.text.is_some())
    }

    /// Asks the editor that has the file open, if there is one.
    pub async fn ask(&self, file: &Located) -> Elsewhere {
        if !permitted(&self.dirs, file, Access::Read) {
            return Elsewhere::No;
        }
        let known = self.state.lock().open.get(&file.key()).cloned();
        let link = match (self.card(file).await, &known) {
            (Some(card), _) => match self.link(&card).await {
                Ok(link) => link,
                Err(error) => {
                    let reason = format!("{} cannot be reached: {error}", card.holder());
                    return Elsewhere::Unknown(reason);
                }
            },
            (None, Some(known)) => known.link.clone(),
            (None, None) => return Elsewhere::No,
        };
        let params = ReadBuffer {
            path: file.path.clone(),
        };
        match link
            .request::<_, Option<Buffer>>(READ, &params, READING)
            .await
        {
            Ok(Some(buffer)) => Elsewhere::Open(Shown { link, buffer }),
            Ok(None) => Elsewhere::No,
            Err(_) if link.ended.closed.load(Ordering::SeqCst) => Elsewhere::No,
            Err(RpcError::Gone) if known.as_ref().is_some_and(|it| it.saved != saved(file)) => {
                Elsewhere::No
            }
            Err(error) => {
                self.keep(file, &link);
                let why = match error {
                    RpcError::Gone => "it ended without closing its files".to_owned(),
                    error => error.to_string(),
                };
                Elsewhere::Unknown(format!("{} did not show it: {why}", link.holder))
            }
        }
    }

    /// From now on the file is known to be open behind this link.
    fn keep(&self, file: &Located, link: &Arc<Link>) {
        let mut state = self.state.lock();
        let open = state.open.entry(file.key()).or_insert_with(|| Open {
            link: link.clone(),
            text: None,
            saved: saved(file),
        });
        open.text = None;
    }

    /// Brings a document of another editor into the mirror.
    pub fn show(&self, file: &Located, shown: Shown) {
        let Shown { link, buffer } = shown;
        let rope = Rope::from(buffer.text);
        let mut state = self.state.lock();
        if let Some(Open {
            link: of,
            text: Some((newer, _)),
            ..
        }) = state.open.get(&file.key())
            && Arc::ptr_eq(of, &link)
            && *newer > buffer.revision
        {
            return;
        }
        mirrored::show(&self.workspace, &file.uri, &rope);
        let open = Open {
            link,
            text: Some((buffer.revision, rope_hash(&rope))),
            saved: saved(file),
        };
        state.open.insert(file.key(), open);
    }

    /// The file's text is no longer that of another editor.
    pub fn release(&self, file: &Located) {
        self.state.lock().open.remove(&file.key());
    }

    /// The file is neither read nor written until it is shown or released.
    pub fn hide(&self, file: &Located, reason: &str) {
        if let Some(open) = self.state.lock().open.get_mut(&file.key()) {
            open.text = None;
        }
        self.workspace.hide(&file.uri, reason);
    }

    /// Files that are open in other editors, and those that were.
    pub async fn files(self: &Arc<Self>) -> Vec<Located> {
        let bridge = Arc::clone(self);
        let find = move || {
            let cards = bridge.cards().into_iter();
            let mut keys: Vec<String> = cards
                .flat_map(|card| card.documents)
                .map(|document| document.key)
                .chain(bridge.state.lock().open.keys().cloned())
                .collect();
            keys.sort_unstable();
            keys.dedup();
            let files = keys.iter().filter_map(|key| {
                let file = beneath::locate_path(&bridge.workspace, key.as_ref());
                permitted(&bridge.dirs, &file, Access::Read).then_some(file)
            });
            files.take(TOGETHER).collect()
        };
        tasks::blocking(find).await.unwrap_or_default()
    }

    /// Sends an edit of a document that [`Self::show`] brought here.
    pub async fn apply(self: Arc<Self>, edit: EditRequest) -> EditAnswer {
        let (workspace, uri) = (Arc::clone(&self.workspace), edit.uri.clone());
        let locate = move || {
            uri.path()
                .map(|path| beneath::locate_path(&workspace, &path))
        };
        let Some(file) = tasks::blocking(locate).await.ok().flatten() else {
            return refused("its path cannot be resolved");
        };
        let open = self.state.lock().open.get(&file.key()).cloned();
        let Some((open, (revision, _))) = open.and_then(|open| {
            let text = open.text.clone().filter(|(_, hash)| *hash == edit.hash)?;
            Some((open, text))
        }) else {
            return refused("its text has changed");
        };
        if !permitted(&self.dirs, &file, Access::Write) {
            return refused("it is protected");
        }
        let params = EditBuffer {
            path: file.path.clone(),
            revision,
            hash: edit.hash,
            edits: edit.edits,
            label: edit.label,
            session: edit.session,
            turn: edit.turn,
            item: edit.item,
        };
        let link = open.link;
        match link
            .request::<_, EditedBuffer>(EDIT, &params, EDITING)
            .await
        {
            Ok(edited) => self.edited(&file, &edit.uri, &link, edited).await,
            Err(RpcError::Answered { message, .. }) => EditAnswer::Refused { reason: message },
            Err(error) => {
                let reason = format!("{} did not answer an edit: {error}", link.holder);
                tracing::warn!(file = %file.uri, reason);
                self.keep(&file, &link);
                self.hide(&file, &reason);
                // Whether it landed is unknown, so there is no answer.
                std::future::pending().await
            }
        }
    }

    /// Shows first what the edit met and then the result, so that the mirror's changes are those of
    /// the other editor.
    async fn edited(
        &self,
        file: &Located,
        uri: &Uri,
        link: &Arc<Link>,
        edited: EditedBuffer,
    ) -> EditAnswer {
        if let Some(before) = edited.before {
            mirrored::show(&self.workspace, uri, &Rope::from(before));
        }
        match edited.buffer {
            Some(buffer) => {
                let link = Arc::clone(link);
                self.show(file, Shown { link, buffer });
            }
            None => {
                self.release(file);
                mirrored::close(&self.workspace, uri);
            }
        }
        let reason = edited.reason;
        match edited.outcome {
            BufferOutcome::Applied | BufferOutcome::Rebased => EditAnswer::Claimed,
            BufferOutcome::Conflict => EditAnswer::Conflict { reason },
            BufferOutcome::Refused => EditAnswer::Refused { reason },
            BufferOutcome::Unknown => std::future::pending().await,
        }
    }

    /// The process that has the file open: one with unsaved text first.
    async fn card(&self, file: &Located) -> Option<Card> {
        let (workspace, file) = (Arc::clone(&self.workspace), file.clone());
        let find = move || {
            let mut cards = workspace.peers()?.others();
            let key = file.key();
            cards.retain(|card| serves(card, &file) && card.lists(&key));
            let dirty = |card: &Card| card.documents.iter().any(|it| it.key == key && it.dirty);
            order::sort_by_key(&mut cards, |card| (!dirty(card), card.process));
            cards.into_iter().next()
        };
        tasks::blocking(find).await.ok().flatten()
    }

    /// The processes with a socket.
    fn cards(&self) -> Vec<Card> {
        let mut cards = self.workspace.peers().map_or(Vec::new(), |it| it.others());
        cards.retain(|card| !card.roots.is_empty());
        cards
    }

    async fn link(&self, card: &Card) -> std::io::Result<Arc<Link>> {
        let known = self.state.lock().links.get(&card.process).cloned();
        if let Some(link) = known.filter(|link| !link.ended.gone.load(Ordering::SeqCst)) {
            return Ok(link);
        }
        let Some(peers) = self.workspace.peers() else {
            return Err(std::io::Error::other("there is no registry"));
        };
        let link = Arc::new(Link::new(peers.connect(card).await?, card.holder())?);
        self.state.lock().links.insert(card.process, link.clone());
        Ok(link)
    }
}

/// Whether the process works in a folder with this file.
fn serves(card: &Card, file: &Located) -> bool {
    card.roots.iter().any(|root| file.path.starts_with(root))
}

fn saved(file: &Located) -> Option<SystemTime> {
    std::fs::symlink_metadata(&file.path)
        .and_then(|it| it.modified())
        .ok()
}

fn refused(reason: &str) -> EditAnswer {
    EditAnswer::Refused {
        reason: reason.to_owned(),
    }
}

impl Link {
    fn new(stream: UnixStream, holder: String) -> std::io::Result<Self> {
        let (peer, transport) = rpc::channel();
        let (input, output) = (stream.try_clone()?, stream.try_clone()?);
        let ended = Ended::default();
        let (service, gone) = (ended.clone(), ended.gone.clone());
        tasks::spawn(async move {
            let transport = transport.framing(Framing::Lines);
            transport.serve(service, input, output).await;
            gone.store(true, Ordering::SeqCst);
        });
        Ok(Self {
            peer,
            stream,
            holder,
            ended,
        })
    }

    async fn request<P: Serialize, T: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
        limit: Duration,
    ) -> Result<T, RpcError> {
        let answer = self.peer.request(method, json!(params), Some(limit)).await;
        // The reason for the end arrives before it.
        self.peer.handled(answer.frame).await;
        let malformed = |error: serde_json::Error| RpcError::Answered {
            code: 0,
            message: format!("its answer has another form: {error}"),
        };
        serde_json::from_value(answer.result?).map_err(malformed)
    }
}

impl Service for Ended {
    fn call(&mut self, message: Value) -> BoxFuture<'static, Option<Value>> {
        if message["method"] == CLOSED {
            self.closed.store(true, Ordering::SeqCst);
        }
        Box::pin(std::future::ready(None))
    }
}
