//! Commands that keep running beside a session's turns, such as servers and watchers. Owns their
//! newest output and how each ended; older output is in a private file. No command outlives the
//! session, or the turn that started it if that turn is cancelled (INV-11).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::command::{self, End, Spec};
use super::kept_output::Ring;
use crate::conversation::TurnId;
use crate::env::tasks;

#[cfg(test)]
mod tests;

/// Commands of one session that run at the same time.
pub const MOST: usize = 8;

/// Commands that are remembered, including ended ones.
const REMEMBERED: usize = 32;

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// [`MOST`] are running already, or the session is closing.
    #[error("too many commands run in the background")]
    Full,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    /// Processes that it left running when it ended by itself. They were stopped.
    pub left: usize,
}

/// What a command wrote since the last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    /// Bytes before `text` that were never read and are no longer in the buffer.
    pub omitted: u64,
    /// The file with the complete output.
    pub file: Option<PathBuf>,
    /// `None`: it is running.
    pub ended: Option<Ended>,
}

/// All background commands of one session. They are killed when it is dropped.
#[derive(Debug, Default)]
pub struct Background {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    commands: Vec<Arc<Command>>,
    closed: bool,
    /// Of all confined commands of the session.
    temporary: Option<tempfile::TempDir>,
    /// Unsaved texts that commands saw: path → hash, and since when.
    seen: BTreeMap<PathBuf, (String, SystemTime)>,
    /// Commands that the user did not let out of the sandbox, and the turn.
    refused: Option<(TurnId, BTreeSet<String>)>,
}

/// One background command.
#[derive(Debug)]
pub struct Command {
    pub item: String,
    pub command: String,
    stop: CancellationToken,
    kept: Mutex<OutputBuffer>,
    /// Notified of every piece of output and of the end.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct OutputBuffer {
    newest: Ring,
    /// Bytes received, and bytes read.
    total: u64,
    read: u64,
    ended: Option<Ended>,
    /// The model knows that it ended.
    reported: bool,
}

impl Background {
    /// Starts `spec` as the command of `item`. It runs until it exits, reaches `spec.timeout`, is
    /// stopped, `turn` is cancelled, or the session ends.
    pub fn start(&self, item: &str, spec: &Spec, turn: CancellationToken) -> Result<(), Refused> {
        let mut state = self.state.lock();
        let running = |it: &&Arc<Command>| it.running();
        if state.closed || state.commands.iter().filter(running).count() >= MOST {
            return Err(Refused::Full);
        }
        let started = command::start(spec)?;
        let command = Arc::new(Command {
            item: item.to_owned(),
            command: spec.command.clone(),
            stop: CancellationToken::new(),
            kept: Mutex::new(OutputBuffer::new(spec)),
            changed: watch::Sender::new(()),
        });
        if state.commands.len() >= REMEMBERED {
            let old = state.commands.iter().position(|it| !it.running());
            old.map(|at| state.commands.remove(at));
        }
        state.commands.push(command.clone());
        drop(state);
        let timeout = spec.timeout;
        tasks::spawn(async move {
            let cancelled = async {
                tokio::select! {
                    () = command.stop.cancelled() => {}
                    () = turn.cancelled() => {}
                }
            };
            let take = |piece: &str| {
                command.kept.lock().push(piece);
                command.changed.send_replace(());
            };
            let finished = started.finish(timeout, cancelled, false, take).await;
            let (end, left) = match finished {
                Ok(outcome) => (outcome.end, outcome.left),
                Err(error) => {
                    tracing::warn!(%error, "a background command cannot be waited for");
                    (End::Cancelled, 0)
                }
            };
            command.kept.lock().ended = Some(Ended { end, left });
            command.changed.send_replace(());
        });
        Ok(())
    }

    /// The temporary folder of the session's confined commands, which only the user can enter.
    pub fn temporary(&self) -> std::io::Result<PathBuf> {
        let mut state = self.state.lock();
        let folder = match state.temporary.take() {
            Some(folder) if folder.path().is_dir() => folder,
            _ => tempfile::Builder::new().prefix("interline-").tempdir()?,
        };
        let folder = state.temporary.insert(folder);
        folder.path().canonicalize()
    }

    /// The user did not let a command out of the sandbox.
    pub fn refuse_escalation(&self, turn: &TurnId, command: &str) {
        let mut state = self.state.lock();
        let known = state.refused.take().filter(|(known, _)| known == turn);
        let (turn, mut commands) = known.unwrap_or_else(|| (turn.clone(), BTreeSet::new()));
        commands.insert(command.to_owned());
        state.refused = Some((turn, commands));
    }

    /// Whether the user did so in this turn.
    pub fn escalation_refused(&self, turn: &TurnId, command: &str) -> bool {
        let state = self.state.lock();
        let refused = state.refused.as_ref().filter(|(known, _)| known == turn);
        refused.is_some_and(|(_, commands)| commands.contains(command))
    }

    /// Since when commands see this text in place of the file's: a build tool takes a text with the
    /// same time for the one that it knows.
    pub fn seen_since(&self, path: &Path, hash: String) -> SystemTime {
        let mut state = self.state.lock();
        match state.seen.get(path) {
            Some((known, since)) if *known == hash => *since,
            _ => {
                let now = SystemTime::now();
                state.seen.insert(path.to_owned(), (hash, now));
                now
            }
        }
    }

    /// Files that commands saw with other texts than these, and since when.
    pub fn take_seen(&self, except: impl Fn(&Path) -> bool) -> Vec<(PathBuf, SystemTime)> {
        let mut state = self.state.lock();
        let taken = state.seen.extract_if(.., |path, _| !except(path));
        taken.map(|(path, (_, since))| (path, since)).collect()
    }

    pub fn get(&self, item: &str) -> Option<Arc<Command>> {
        let state = self.state.lock();
        state.commands.iter().find(|it| it.item == item).cloned()
    }

    /// The running commands, oldest first.
    pub fn running(&self) -> Vec<Arc<Command>> {
        let state = self.state.lock();
        let running = state.commands.iter().filter(|it| it.running());
        running.cloned().collect()
    }

    /// Ended commands that the model does not know about yet.
    pub fn unreported(&self) -> Vec<(Arc<Command>, Ended)> {
        let state = self.state.lock();
        let untold = state.commands.iter().filter_map(|it| {
            let kept = it.kept.lock();
            let ended = kept.ended.clone().filter(|_| !kept.reported)?;
            Some((it.clone(), ended))
        });
        untold.collect()
    }

    /// Stops all commands and refuses new ones. Returns when their processes are dead.
    pub async fn close(&self) {
        let commands = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.commands)
        };
        for command in &commands {
            command.stop.cancel();
        }
        for command in commands {
            command.wait_until_ended().await;
        }
        let temporary = self.state.lock().temporary.take();
        drop(temporary);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for command in &self.state.lock().commands {
            command.stop.cancel();
        }
    }
}

impl Command {
    fn running(&self) -> bool {
        self.kept.lock().ended.is_none()
    }

    /// The model now knows that it ended.
    pub fn mark_reported(&self) {
        self.kept.lock().reported = true;
    }

    /// The output since the last call. Waits up to `wait` for new output or the end.
    pub async fn read(&self, wait: Duration) -> Output {
        let news = self.wait_until(|kept| kept.ended.is_some() || kept.read < kept.total);
        let _ = tokio::time::timeout(wait, news).await;
        self.kept.lock().take_unread()
    }

    /// Stops it and everything that it started, and returns its last output.
    pub async fn stop(&self) -> Output {
        self.stop.cancel();
        self.wait_until_ended().await;
        self.kept.lock().take_unread()
    }

    async fn wait_until_ended(&self) {
        self.wait_until(|kept| kept.ended.is_some()).await;
    }

    async fn wait_until(&self, wanted: impl Fn(&OutputBuffer) -> bool) {
        let mut changes = self.changed.subscribe();
        while !wanted(&self.kept.lock()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl OutputBuffer {
    fn new(spec: &Spec) -> Self {
        Self {
            newest: Ring::new(spec.keep, &spec.spill),
            total: 0,
            read: 0,
            ended: None,
            reported: false,
        }
    }

    fn push(&mut self, piece: &str) {
        self.newest.push("", piece.as_bytes());
        self.total += piece.len() as u64;
    }

    /// The unread output.
    fn take_unread(&mut self) -> Output {
        let first = self.total - self.newest.bytes.len() as u64;
        let mut from = first.max(self.read);
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        let fresh: Vec<u8> = self.newest.bytes.iter().skip(skip).copied().collect();
        // The ring may begin inside a character.
        let inside = fresh.iter().take_while(|byte| **byte & 0xc0 == 0x80);
        let cut = inside.count();
        from += cut as u64;
        let omitted = from - self.read;
        self.read = self.total;
        self.reported |= self.ended.is_some();
        Output {
            text: String::from_utf8_lossy(&fresh[cut..]).into_owned(),
            omitted,
            file: self.newest.spill.complete_path().map(PathBuf::from),
            ended: self.ended.clone(),
        }
    }
}
