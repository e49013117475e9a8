//! The Markdown transcript of a session: a chat in any editor that opens files. Routes events to the
//! task that writes it ([`writer`]); decides nothing about the session.

pub mod complete;
pub mod files;
pub mod format;
mod turn_notes;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::agent::Shared;
use crate::config::ChatFolder;
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::env::tasks;
use crate::host::Host;
use crate::policy::paths;
use crate::session::{OpenSession, Sessions};
use crate::workspace::{Document, Uri};
pub use turn_notes::unsaved;
use writer::{Command, Writer};

/// How long the process waits at its end for transcripts to be written.
const FINAL_WRITE: Duration = Duration::from_millis(500);

/// The most items of earlier turns in a new transcript.
const EARLIER: u32 = 500;

/// The transcripts of a process.
#[derive(Default)]
pub struct Transcripts {
    connected: OnceLock<Connected>,
    state: Mutex<State>,
}

struct Connected {
    shared: Arc<Shared>,
    sessions: Weak<Sessions>,
    host: Weak<dyn Host>,
}

#[derive(Default)]
struct State {
    folder: ChatFolder,
    open: HashMap<SessionId, Open>,
}

struct Open {
    path: PathBuf,
    writer: UnboundedSender<Command>,
    /// The sent prompt whose answer has not ended.
    sent: Option<String>,
}

impl Transcripts {
    /// Must be called before the first event.
    pub fn connect(&self, sessions: &Arc<Sessions>, host: Weak<dyn Host>) {
        let connected = Connected {
            shared: Arc::clone(sessions.shared()),
            sessions: Arc::downgrade(sessions),
            host,
        };
        // The door connects it once.
        let _ = self.connected.set(connected);
    }

    /// Sets `chatFolder`; existing transcripts stay where they are.
    pub fn set_folder(&self, folder: ChatFolder) {
        self.state.lock().folder = folder;
    }

    /// Follows a session that has a transcript. Never waits.
    pub fn notify(&self, envelope: &Arc<Envelope>) {
        let id = &envelope.session_id;
        let known = self.state.lock().open.contains_key(id);
        if !known && matches!(envelope.body, EnvelopeBody::Started { .. }) {
            self.follow_existing(id);
        }
        let mut state = self.state.lock();
        let Some(open) = state.open.get_mut(id) else {
            return;
        };
        if matches!(envelope.body, EnvelopeBody::Ended { .. }) {
            open.sent = None;
        }
        // Fails only when the process ends.
        let _ = open.writer.send(Command::Turn(Arc::clone(envelope)));
    }

    /// Follows a session of an earlier process if it has a transcript.
    fn follow_existing(&self, id: &SessionId) {
        if let Ok((path, true)) = self.path(id) {
            self.follow(id, path);
        }
    }

    fn connected(&self) -> Result<&Connected, Failure> {
        self.connected.get().ok_or_else(|| {
            Failure::new(
                FailureKind::Invalid,
                "the server is not initialized",
                "send initialize first",
            )
        })
    }

    /// The transcript's path, and whether it exists.
    fn path(&self, id: &SessionId) -> Result<(PathBuf, bool), Failure> {
        let connected = self.connected()?;
        let gone = || {
            Failure::new(
                FailureKind::UnknownSession,
                format!("the session {id} is not open"),
                "interline.sessions reopens an earlier one",
            )
        };
        let sessions = connected.sessions.upgrade().ok_or_else(gone)?;
        let root = sessions.root(id)?;
        let folder = self.state.lock().folder;
        files::path(&connected.shared, folder, &root, id).ok_or_else(gone)
    }

    fn follow(&self, id: &SessionId, path: PathBuf) {
        let Ok(connected) = self.connected() else {
            return;
        };
        let mut state = self.state.lock();
        if state.open.contains_key(id) {
            return;
        }
        let shared = Arc::clone(&connected.shared);
        let located = files::locate(&shared.workspace, &path);
        let writer = Writer::spawn(id.clone(), located, shared, connected.host.clone());
        let open = Open {
            path,
            writer,
            sent: None,
        };
        state.open.insert(id.clone(), open);
    }

    /// Opens the session's transcript, creating it if necessary, and puts `quote` under the user's
    /// heading.
    pub async fn open(&self, id: &SessionId, quote: Option<String>) -> Result<PathBuf, Failure> {
        let known = self.state.lock().open.get(id).map(|open| open.path.clone());
        let path = match known {
            Some(path) => path,
            None => self.path(id)?.0,
        };
        self.create(id, &path).await?;
        self.follow(id, path.clone());
        if let Some(quote) = quote {
            self.quote(id, quote).await;
        }
        Ok(path)
    }

    /// Creates the transcript with the session's earlier turns, unless it exists.
    async fn create(&self, id: &SessionId, path: &Path) -> Result<(), Failure> {
        let cannot = |reason: String| {
            Failure::new(
                FailureKind::Invalid,
                format!("cannot create the transcript {}: {reason}", path.display()),
                "check the folder, or the setting chatFolder",
            )
        };
        let shared = Arc::clone(&self.connected()?.shared);
        let (workspace, made) = (Arc::clone(&shared.workspace), path.to_owned());
        let located = tasks::blocking(move || {
            let located = files::locate(&workspace, &made);
            (!located.open && !made.exists()).then_some(located)
        });
        let Some(located) = located.await.map_err(|error| cannot(error.to_string()))? else {
            return Ok(());
        };
        let mut text = format::new_transcript(id);
        if let Some(sessions) = self.connected()?.sessions.upgrade() {
            let opened = sessions.open(OpenSession {
                session_id: id.clone(),
                before: None,
                limit: Some(EARLIER),
                cwd: None,
            });
            text.push_str(&turn_notes::earlier(&shared.workspace, &opened.await?.items).await);
        }
        let write = tasks::blocking(move || files::write(&shared, &located, &text.into()));
        write
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(cannot)
    }

    /// Waits until the quote is on disk; an open transcript gets it when the user pauses.
    async fn quote(&self, id: &SessionId, quote: String) {
        let (done, written) = oneshot::channel();
        let writer = self
            .state
            .lock()
            .open
            .get(id)
            .map(|open| open.writer.clone());
        if let Some(writer) = writer {
            let _ = writer.send(Command::Quote(quote, done));
        }
        let _ = tokio::time::timeout(FINAL_WRITE, written).await;
    }

    /// The user sends the text under the last heading. `false`: the same prompt is already being
    /// answered.
    pub fn send(&self, id: &SessionId, document: &Document, words: &str, end: usize) -> bool {
        if let Some(path) = document.uri.path() {
            self.follow(id, path);
        }
        let mut state = self.state.lock();
        let Some(open) = state.open.get_mut(id) else {
            return true;
        };
        if open.sent.as_deref() == Some(words) {
            return false;
        }
        open.sent = Some(words.to_owned());
        let _ = open.writer.send(Command::Sent {
            words: words.to_owned(),
            end,
            revision: document.revision,
        });
        true
    }

    /// The prompt was refused after all.
    pub fn unsent(&self, id: &SessionId) {
        if let Some(open) = self.state.lock().open.get_mut(id) {
            open.sent = None;
        }
    }

    /// The open document, if it is a transcript, with its session.
    pub fn document(&self, uri: &Uri) -> Option<(Document, SessionId)> {
        let shared = &self.connected.get()?.shared;
        if !paths::transcript(&uri.path()?, &shared.env.dirs.state) {
            return None;
        }
        let document = shared.workspace.document(uri).filter(|it| it.opened)?;
        let id = format::session(&head(&document))?;
        Some((document, id))
    }

    /// The open transcript that was changed last.
    pub fn newest(&self) -> Option<(Document, SessionId)> {
        let shared = &self.connected.get()?.shared;
        let documents = shared.workspace.documents().into_iter();
        let found = documents.filter_map(|document| self.document(&document.uri));
        found.max_by_key(|(document, _)| document.revision)
    }

    /// Writes what is still pending, as far as possible.
    pub async fn end(&self) {
        let writers: Vec<_> = {
            let mut state = self.state.lock();
            state.open.drain().map(|(_, open)| open.writer).collect()
        };
        let last = async {
            for writer in writers {
                let (done, written) = oneshot::channel();
                if writer.send(Command::End(done)).is_ok() {
                    let _ = written.await;
                }
            }
        };
        if tokio::time::timeout(FINAL_WRITE, last).await.is_err() {
            tracing::warn!(
                "not every transcript was written in full; the sessions' logs are complete"
            );
        }
    }
}

/// The beginning of the document, which holds the first line.
fn head(document: &Document) -> String {
    document.rope.chars().take(200).collect()
}
