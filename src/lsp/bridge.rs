//! Serves the documents that are open in this process's editor to `interline acp` processes of the
//! same user (`host/bridge.rs`): reads from the mirror, edits through the documents' lanes like a
//! session of this process. The asking process journals its edits; nothing is recorded here.

use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use ropey::Rope;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::host::ClientHost;
use crate::edit::apply::{DEADLINE, apply};
use crate::edit::{EditJob, Outcome, plan};
use crate::env::tasks::{self, Task};
use crate::host::TextEdit;
use crate::host::bridge::{
    Buffer, BufferOutcome, CLOSED, EDIT, EditBuffer, EditedBuffer, READ, ReadBuffer, permitted,
};
use crate::policy::Access;
use crate::rpc::{self, Framing, Peer, Service, decode};
use crate::session::Sessions;
use crate::session::store::NoLog;
use crate::workspace::document::text_before;
use crate::workspace::files::rope_hash;
use crate::workspace::peers::Listener;
use crate::workspace::text::offset;
use crate::workspace::{Document, Encoding, Located, Revision, SyncState, Workspace, beneath};

/// How long an edit may wait for a pause in typing, so that the answer comes before the asking
/// process gives up ([`DEADLINE`]).
const PATIENCE: Duration = Duration::from_secs(8);

/// How long the last messages may take when the editor closes.
const FAREWELL: Duration = Duration::from_millis(300);

/// More connections are closed at once.
const MOST: usize = 32;

/// The documents of this process for others.
pub struct Bridge {
    host: Arc<ClientHost>,
    sessions: Arc<Sessions>,
    listening: OnceLock<bool>,
    connections: Mutex<Vec<Connection>>,
}

struct Connection {
    peer: Peer,
    stream: UnixStream,
    served: Task<i32>,
}

impl Bridge {
    pub fn new(host: Arc<ClientHost>, sessions: Arc<Sessions>) -> Arc<Self> {
        Arc::new(Self {
            host,
            sessions,
            listening: OnceLock::new(),
            connections: Mutex::default(),
        })
    }

    fn workspace(&self) -> &Arc<Workspace> {
        &self.sessions.shared().workspace
    }

    /// Opens the socket, once; false: it could not be opened.
    pub fn listen(self: &Arc<Self>) -> bool {
        *self.listening.get_or_init(|| {
            let Some(peers) = self.workspace().peers() else {
                return false;
            };
            match peers.listen() {
                Ok(listener) => {
                    tasks::spawn(Arc::clone(self).accept(listener));
                    true
                }
                Err(error) => {
                    tracing::warn!(%error, "interline acp cannot reach the open documents");
                    false
                }
            }
        })
    }

    async fn accept(self: Arc<Self>, listener: Listener) {
        loop {
            match listener.accept().await {
                Ok(stream) => {
                    if let Err(error) = self.serve(stream) {
                        tracing::warn!(%error, "cannot serve open documents to another process");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a process could not connect");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn serve(self: &Arc<Self>, stream: UnixStream) -> std::io::Result<()> {
        let mut connections = self.connections.lock();
        connections.retain(|connection| !connection.served.is_finished());
        if connections.len() >= MOST {
            return Err(std::io::Error::other("there are too many connections"));
        }
        let (peer, transport) = rpc::channel();
        let (input, output) = (stream.try_clone()?, stream.try_clone()?);
        let requests = Requests(Arc::clone(self));
        let transport = transport.framing(Framing::Lines);
        let served = tasks::spawn(transport.serve(requests, input, output));
        connections.push(Connection {
            peer,
            stream,
            served,
        });
        Ok(())
    }

    /// The editor closes its buffers: reports that, and ends all connections.
    pub async fn end(&self) {
        let connections = std::mem::take(&mut *self.connections.lock());
        for connection in &connections {
            connection.peer.notify(CLOSED, json!({}));
            let _ = connection.stream.shutdown(Shutdown::Read);
        }
        let served = connections.into_iter().map(|connection| connection.served);
        let all = futures_util::future::join_all(served);
        let _ = tokio::time::timeout(FAREWELL, all).await;
    }

    /// The place, if another process may access it.
    async fn locate(&self, path: &std::path::Path, access: Access) -> Result<Located, String> {
        let (workspace, path) = (Arc::clone(self.workspace()), path.to_owned());
        let dirs = self.sessions.shared().env.dirs.clone();
        let locate = move || {
            let located = beneath::locate_path(&workspace, &path);
            permitted(&dirs, &located, access).then_some(located)
        };
        let located = tasks::blocking(locate).await.ok().flatten();
        located.ok_or_else(|| "it is protected there, or outside the editor's folders".to_owned())
    }

    async fn read(&self, ask: ReadBuffer) -> Result<Option<Buffer>, String> {
        let located = self.locate(&ask.path, Access::Read).await?;
        self.buffer(&located).await
    }

    async fn buffer(&self, located: &Located) -> Result<Option<Buffer>, String> {
        let Some(document) = self.workspace().document_by_key(&located.key()) else {
            return Ok(None);
        };
        if let SyncState::OutOfSync(reason) = &document.sync {
            return Err(format!("its text is unknown there: {reason}"));
        }
        let workspace = Arc::clone(self.workspace());
        let buffer = move || Buffer {
            text: String::from(&document.rope),
            revision: document.revision.0,
            dirty: workspace.dirty(&document),
        };
        let buffer = tasks::blocking(buffer).await;
        buffer.map(Some).map_err(|error| error.to_string())
    }

    async fn edit(&self, ask: EditBuffer) -> Result<EditedBuffer, String> {
        let located = self.locate(&ask.path, Access::Write).await?;
        let document = self.workspace().document_by_key(&located.key());
        let planned = document.and_then(|document| self.plan(&document, &ask));
        let Some(plan) = planned else {
            return Ok(EditedBuffer {
                outcome: BufferOutcome::Refused,
                reason: "its text has changed".to_owned(),
                before: None,
                buffer: self.buffer(&located).await?,
            });
        };
        let cancel = CancellationToken::new();
        let shared = self.sessions.shared();
        let edit = apply(EditJob {
            session: ask.session,
            turn: ask.turn,
            item: ask.item,
            label: ask.label,
            located: located.clone(),
            plan,
            base_revision: Some(Revision(ask.revision)),
            create: false,
            delete: false,
            shape: None,
            closed_files: crate::config::ClosedFiles::default(),
            deadline: DEADLINE,
            workspace: Arc::clone(self.workspace()),
            lanes: Arc::clone(&shared.lanes),
            host: self.host.clone(),
            recorder: Arc::new(NoLog),
            cancel: cancel.clone(),
        });
        tokio::pin!(edit);
        let outcome = tokio::select! {
            biased;
            outcome = &mut edit => outcome,
            () = tokio::time::sleep(PATIENCE) => {
                cancel.cancel();
                edit.await
            }
        };
        let (outcome, reason, before) = in_words(outcome);
        Ok(EditedBuffer {
            outcome,
            reason,
            before,
            buffer: self.buffer(&located).await?,
        })
    }

    /// The edit of the text that the other process saw; `None` if that is no longer known.
    fn plan(&self, document: &Document, ask: &EditBuffer) -> Option<plan::Plan> {
        let mut changes = self
            .workspace()
            .changes_since(&document.uri, Revision(ask.revision))?;
        changes.retain(|change| change.revision <= document.revision);
        let base = text_before(&document.rope, &changes);
        if rope_hash(&base) != ask.hash {
            return None;
        }
        let ranges: Option<Vec<_>> = ask.edits.iter().map(|edit| range(&base, edit)).collect();
        Some(plan::ranges(&base, ranges?))
    }
}

fn range(base: &Rope, edit: &TextEdit) -> Option<(Range<usize>, String)> {
    let start = offset(base, edit.range.start, Encoding::Utf8).ok()?;
    let end = offset(base, edit.range.end, Encoding::Utf8).ok()?;
    (start <= end).then(|| (start..end, edit.new_text.clone()))
}

/// The outcome, why nothing was changed, and the text that an applied edit met.
fn in_words(outcome: Outcome) -> (BufferOutcome, String, Option<String>) {
    use BufferOutcome::{Applied, Conflict, Rebased, Refused, Unknown};
    let refused = |reason: &str| (Refused, reason.to_owned(), None);
    match outcome {
        Outcome::Applied(landed) => (Applied, String::new(), Some(landed.before())),
        Outcome::Rebased(landed) => (Rebased, String::new(), Some(landed.before())),
        Outcome::Conflict { .. } => {
            let reason = "it was changed in the editor in the meantime";
            (Conflict, reason.to_owned(), None)
        }
        Outcome::Refused { reason } | Outcome::Blocked { reason } => (Refused, reason, None),
        Outcome::Diverged { restored: true } => {
            refused("it did not land as planned, and was reverted")
        }
        Outcome::Cancelled => refused("the user did not pause typing"),
        Outcome::Diverged { restored: false }
        | Outcome::Held(_)
        | Outcome::Unconfirmed
        | Outcome::Unknown { .. } => (Unknown, String::new(), None),
    }
}

/// The requests of one connection.
struct Requests(Arc<Bridge>);

impl Service for Requests {
    fn call(&mut self, mut message: Value) -> BoxFuture<'static, Option<Value>> {
        let bridge = Arc::clone(&self.0);
        Box::pin(async move {
            let id = message.get("id").cloned()?;
            let params = message["params"].take();
            let answer = match message["method"].as_str() {
                Some(READ) => match serde_json::from_value(params) {
                    Ok(ask) => bridge.read(ask).await.map(|buffer| json!(buffer)),
                    Err(error) => Err(error.to_string()),
                },
                Some(EDIT) => match serde_json::from_value(params) {
                    Ok(ask) => bridge.edit(ask).await.map(|edited| json!(edited)),
                    Err(error) => Err(error.to_string()),
                },
                _ => Err("unknown method".to_owned()),
            };
            Some(match answer {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Err(reason) => decode::error_answer(id, decode::INVALID_REQUEST, &reason, None),
            })
        })
    }
}
