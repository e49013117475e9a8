//! The commands that go on beside a session's turns: servers and watchers. Owns their newest
//! output and how each ended; the rest of the output is in a private file. None outlives the
//! session, nor the turn that started it when that is cancelled (INV-11).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::command::{self, End, Spec};
use super::spill::Spill;

#[cfg(all(test, unix))]
mod tests;

/// Commands of one session that run at the same time.
pub const MOST: usize = 8;

/// Commands that are remembered, those that ended included.
const REMEMBERED: usize = 32;

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// [`MOST`] run already, or the session is closing.
    #[error("too many commands run in the background")]
    Full,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    /// Processes that it left running when it ended by itself; they were stopped.
    pub left: usize,
}

/// What a command wrote since it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    /// Bytes before `text` that nobody read and that are not kept here.
    pub omitted: u64,
    /// The file that has all of the output.
    pub file: Option<PathBuf>,
    /// `None`: it runs.
    pub ended: Option<Ended>,
}

/// All background commands of one session. Dropped with it, they are killed.
#[derive(Debug, Default)]
pub struct Background {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    commands: Vec<Arc<Command>>,
    closed: bool,
}

/// One of them.
#[derive(Debug)]
pub struct Command {
    pub item: String,
    pub command: String,
    stop: CancellationToken,
    kept: Mutex<Kept>,
    /// Told at every piece of output and at the end.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Kept {
    /// The newest output.
    ring: VecDeque<u8>,
    most: usize,
    /// Bytes that came, and how far they were read.
    total: u64,
    read: u64,
    folder: PathBuf,
    spill: Spill,
    ended: Option<Ended>,
    /// The model knows that it ended.
    told: bool,
}

impl Background {
    /// Starts `spec` as the command of `item`. It ends by itself, at `spec.timeout`, when it is
    /// stopped, when `turn` is cancelled, or with the session.
    pub fn start(&self, item: &str, spec: &Spec, turn: CancellationToken) -> Result<(), Refused> {
        let mut state = lock(&self.state);
        let running = |it: &&Arc<Command>| it.running();
        if state.closed || state.commands.iter().filter(running).count() >= MOST {
            return Err(Refused::Full);
        }
        let started = command::start(spec)?;
        let command = Arc::new(Command {
            item: item.to_owned(),
            command: spec.command.clone(),
            stop: CancellationToken::new(),
            kept: Mutex::new(Kept::new(spec)),
            changed: watch::Sender::new(()),
        });
        if state.commands.len() >= REMEMBERED {
            let old = state.commands.iter().position(|it| !it.running());
            old.map(|at| state.commands.remove(at));
        }
        state.commands.push(command.clone());
        drop(state);
        let timeout = spec.timeout;
        tokio::spawn(async move {
            let cancelled = async {
                tokio::select! {
                    () = command.stop.cancelled() => {}
                    () = turn.cancelled() => {}
                }
            };
            let take = |piece: &str| {
                lock(&command.kept).push(piece);
                command.changed.send_replace(());
            };
            let finished = started.finish(timeout, cancelled, false, take).await;
            let (end, left) = finished.unwrap_or_else(|error| {
                tracing::warn!(%error, "a background command cannot be waited for");
                (End::Cancelled, 0)
            });
            lock(&command.kept).ended = Some(Ended { end, left });
            command.changed.send_replace(());
        });
        Ok(())
    }

    pub fn get(&self, item: &str) -> Option<Arc<Command>> {
        let state = lock(&self.state);
        state.commands.iter().find(|it| it.item == item).cloned()
    }

    /// Those that run, oldest first.
    pub fn running(&self) -> Vec<Arc<Command>> {
        let state = lock(&self.state);
        let running = state.commands.iter().filter(|it| it.running());
        running.cloned().collect()
    }

    /// Those that ended without the model having been told.
    pub fn untold(&self) -> Vec<(Arc<Command>, Ended)> {
        let state = lock(&self.state);
        let untold = state.commands.iter().filter_map(|it| {
            let kept = lock(&it.kept);
            let ended = kept.ended.clone().filter(|_| !kept.told)?;
            Some((it.clone(), ended))
        });
        untold.collect()
    }

    /// Stops all of them and takes no more; returns when their processes are dead.
    pub async fn close(&self) {
        let commands = {
            let mut state = lock(&self.state);
            state.closed = true;
            std::mem::take(&mut state.commands)
        };
        for command in &commands {
            command.stop.cancel();
        }
        for command in commands {
            command.end().await;
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for command in &lock(&self.state).commands {
            command.stop.cancel();
        }
    }
}

impl Command {
    fn running(&self) -> bool {
        lock(&self.kept).ended.is_none()
    }

    /// The model was told that it ended.
    pub fn tell(&self) {
        lock(&self.kept).told = true;
    }

    /// What it wrote since the last call. Waits up to `wait` for something to tell.
    pub async fn read(&self, wait: Duration) -> Output {
        let news = self.until(|kept| kept.ended.is_some() || kept.read < kept.total);
        let _ = tokio::time::timeout(wait, news).await;
        lock(&self.kept).take()
    }

    /// Stops it, with all that it started; how it ended.
    pub async fn stop(&self) -> Output {
        self.stop.cancel();
        self.end().await;
        lock(&self.kept).take()
    }

    async fn end(&self) {
        self.until(|kept| kept.ended.is_some()).await;
    }

    async fn until(&self, wanted: impl Fn(&Kept) -> bool) {
        let mut changes = self.changed.subscribe();
        while !wanted(&lock(&self.kept)) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Kept {
    fn new(spec: &Spec) -> Self {
        Self {
            ring: VecDeque::new(),
            most: spec.keep,
            total: 0,
            read: 0,
            folder: spec.spill.clone(),
            spill: Spill::default(),
            ended: None,
            told: false,
        }
    }

    fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        if self.spill.path().is_none() && self.ring.len() + bytes.len() > self.most {
            // Until now the ring held everything, so the file begins with it.
            self.spill.open(&self.folder);
            let (front, back) = self.ring.as_slices();
            self.spill.write(front);
            self.spill.write(back);
        }
        self.spill.write(bytes);
        self.total += bytes.len() as u64;
        let kept = &bytes[bytes.len().saturating_sub(self.most)..];
        let over = (self.ring.len() + kept.len()).saturating_sub(self.most);
        self.ring.drain(..over);
        self.ring.extend(kept);
    }

    /// What was not read yet.
    fn take(&mut self) -> Output {
        let first = self.total - self.ring.len() as u64;
        let mut from = first.max(self.read);
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        let fresh: Vec<u8> = self.ring.iter().skip(skip).copied().collect();
        // The ring may begin inside a character.
        let inside = fresh.iter().take_while(|byte| **byte & 0xc0 == 0x80);
        let cut = inside.count();
        from += cut as u64;
        let omitted = from - self.read;
        self.read = self.total;
        self.told |= self.ended.is_some();
        Output {
            text: String::from_utf8_lossy(&fresh[cut..]).into_owned(),
            omitted,
            file: self.spill.whole().map(PathBuf::from),
            ended: self.ended.clone(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
