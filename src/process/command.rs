//! Runs one command to its end or its limits.

use std::collections::BTreeMap;
use std::io::Result;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::confine::{self, Confinement, Grade, Written};
use super::folder::Folder;
use super::kept_output::{Capture, Captured, Decoder};
use super::tree::{self, Starting, Tree};
use super::warden::{self, Registration};

#[cfg(test)]
mod tests;

/// A command line for `/bin/sh -c`.
#[derive(Clone, Debug)]
pub struct Spec {
    pub command: String,
    pub cwd: Folder,
    pub env: BTreeMap<String, String>,
    pub timeout: Duration,
    /// Bytes of output for the caller: half from the head, half from the tail.
    pub keep: usize,
    /// Folder for the complete output when it exceeds `keep` (0600 file).
    pub spill: PathBuf,
    /// `None`: it runs with the user's own rights.
    pub confinement: Option<Arc<Confinement>>,
}

#[derive(Clone, Debug)]
pub struct Finished {
    /// stdout and stderr interleaved as they came; invalid UTF-8 replaced, ANSI stripped.
    pub output: Captured,
    pub end: End,
    /// Processes that the command left when it ended by itself.
    pub left: usize,
    /// They were stopped, as the command was confined.
    pub stopped: bool,
    /// What it wrote to the overlays of its confinement, if it ended by itself.
    pub written: Vec<Written>,
}

/// How a started command ended.
#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    /// Processes that it left running.
    pub left: usize,
    pub written: Vec<Written>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
}

/// How long to keep reading after the end while a descendant holds the pipe open.
const DRAIN: Duration = Duration::from_millis(200);

/// How long to wait for a process that survives SIGKILL because it is stuck in the kernel.
const LIMIT: Duration = Duration::from_millis(2_800);

/// Most bytes to read after the end and past [`DRAIN`]: more than a full pipe holds, so that
/// a slow machine loses no output.
const DRAIN_BYTES: usize = 2 * 1024 * 1024;

/// Runs `spec` and passes decoded output to `on_output` as it arrives. On timeout or cancel
/// the whole tree is dead within 3 s (INV-11), and the call returns even if a descendant
/// holds the pipe.
pub async fn run(
    spec: Spec,
    cancel: CancellationToken,
    on_output: impl FnMut(&str) + Send,
) -> Result<Finished> {
    let started = start(&spec)?;
    let stopped = spec.confinement.as_ref();
    let stopped = stopped.is_some_and(|it| it.grade == Grade::Full);
    let mut capture = Capture::new(spec.keep, &spec.spill);
    let mut on_output = on_output;
    let take = |piece: &str| {
        on_output(piece);
        capture.push(piece);
    };
    let Outcome { end, left, written } = started
        .finish(spec.timeout, cancel.cancelled(), true, take)
        .await?;
    Ok(Finished {
        output: capture.finish(),
        end,
        left,
        stopped,
        written,
    })
}

/// A running command. Dropping it kills it and everything that it started.
pub struct Started {
    child: Box<dyn ChildWrapper>,
    tree: Tree,
    /// Dropped after the tree.
    watched: Registration,
    pipe: pipe::Receiver,
    confined: Option<confine::Prepared>,
}

impl Started {
    /// Reads its output until it ends. The processes that it left running are stopped too unless
    /// `keeps` is set.
    pub async fn finish(
        self,
        timeout: Duration,
        cancelled: impl Future<Output = ()>,
        keeps: bool,
        on_output: impl FnMut(&str) + Send,
    ) -> Result<Outcome> {
        let Self {
            mut child,
            mut tree,
            watched,
            pipe,
            mut confined,
        } = self;
        let mut reader = Reader {
            pipe: Some(pipe),
            buffer: vec![0; 64 * 1024],
            decoder: Decoder::default(),
            on_output,
            read: 0,
        };
        let deadline = tokio::time::sleep(timeout);
        tokio::pin!(deadline, cancelled);
        let end = loop {
            tokio::select! {
                biased;
                status = child.wait() => break status?.into(),
                () = &mut cancelled => break End::Cancelled,
                () = &mut deadline => break End::TimedOut,
                () = reader.step() => {}
            }
        };
        let left = match end {
            End::Exited(_) | End::Signalled(_) if keeps => tree.release(),
            _ => {
                let left = tree.left();
                // Keep reading: a SIGTERM handler may still write.
                let ending = tokio::time::timeout(LIMIT, async {
                    let _ = tokio::join!(tree.end(tree::GRACE), child.wait());
                });
                tokio::pin!(ending);
                loop {
                    tokio::select! {
                        biased;
                        _ = &mut ending => break,
                        () = reader.step() => {}
                    }
                }
                left
            }
        };
        drop(watched);
        reader.drain().await;
        reader.finish();
        match (&mut confined, end) {
            (Some(confined), End::Exited(_)) => Outcome::confined(end, left, confined.reply()),
            _ => Ok(Outcome {
                end,
                left,
                written: Vec::new(),
            }),
        }
    }
}

impl Outcome {
    /// With what the helper says.
    fn confined(end: End, left: usize, reply: confine::Reply) -> Result<Self> {
        if let Some(error) = reply.error {
            return Err(std::io::Error::other(error));
        }
        let end = reply.signal.map_or(end, End::Signalled);
        let ended = matches!(end, End::Exited(_));
        Ok(Self {
            end,
            left: left.max(reply.left),
            written: if ended { reply.written } else { Vec::new() },
        })
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Signalled(signal.unwrap_or(0)),
        }
    }
}

/// Starts `spec`. The caller enforces its limits.
pub fn start(spec: &Spec) -> Result<Started> {
    let entrance = spec.cwd.entrance()?;
    tree::adopt_orphans();
    tree::reap();
    let starting = Starting::new();
    let mark = uuid::Uuid::now_v7().simple().to_string();
    let watched = warden::watch(&mark);
    let (reader, writer) = std::io::pipe()?;
    let (program, input, confined) = match &spec.confinement {
        None => (PathBuf::from("/bin/sh"), Stdio::null(), None),
        Some(confinement) => {
            let prepared = confine::prepare(confinement, spec.cwd.path(), &spec.command)?;
            let (program, input, prepared) = prepared;
            (program, Stdio::from(input), Some(prepared))
        }
    };
    let mut command = CommandWrap::with_new(program, |command| {
        match &confined {
            Some(confined) => command.arg0("interline").args(&confined.arguments),
            None => command.arg("-c").arg(&spec.command),
        };
        command
            .current_dir(&entrance)
            .env_clear()
            .envs(&spec.env)
            .env(tree::MARK, &mark)
            .stdin(input);
    });
    command
        .command_mut()
        .stdout(writer.try_clone()?)
        .stderr(writer);
    // Its own session: no controlling terminal for prompts (X03), and one group to signal.
    let child = command.wrap(ProcessSession).wrap(KillOnDrop).spawn()?;
    // Our copies of the pipe's writing end would keep it open forever.
    drop(command);
    // The wrapper waits for the whole group; a background job must not delay the end.
    let child = child.into_inner();
    let tree = Tree::new(starting, child.id().unwrap_or(0), mark);
    watched.runs_as(&tree);
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    Ok(Started {
        child,
        tree,
        watched,
        pipe,
        confined,
    })
}

struct Reader<F> {
    /// `None` after its end.
    pipe: Option<pipe::Receiver>,
    buffer: Vec<u8>,
    decoder: Decoder,
    on_output: F,
    read: usize,
}

impl<F: FnMut(&str) + Send> Reader<F> {
    /// Reads one piece, or waits forever once the pipe has ended. Cancel safe.
    async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        match pipe.read(&mut self.buffer).await {
            Ok(length) if length > 0 => {
                self.read += length;
                let text = self.decoder.push(&self.buffer[..length]);
                self.take(&text);
            }
            _ => self.pipe = None,
        }
    }

    async fn drain(&mut self) {
        let deadline = tokio::time::Instant::now() + DRAIN;
        let before = self.read;
        while self.pipe.is_some() {
            let late = tokio::time::Instant::now() >= deadline;
            if late && self.read - before > DRAIN_BYTES {
                break;
            }
            tokio::select! {
                biased;
                () = self.step() => {}
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
    }

    fn take(&mut self, text: &str) {
        if !text.is_empty() {
            (self.on_output)(text);
        }
    }

    fn finish(mut self) {
        let text = self.decoder.finish();
        self.take(&text);
    }
}
