//! The stdio transport of both doors: lenient Content-Length and line framing, an ordered input
//! lane, one ordered output queue, and our own requests to the client. Survives bad frames and
//! panicking handlers. Knows no LSP type.
//!
//! The guards, and the measurements behind them, are listed in ARCHITECTURE.md. Handlers change
//! state before their first await, and leave blocking work to `spawn_blocking`: the first poll
//! is inline (hazard g2). Panics are caught, so the release profile must unwind.

pub mod decode;
pub mod frame;
mod inflight;
mod lane;
mod outbox;
mod parent_process;
mod reader;
mod requests;
mod service;
mod shared;
mod tap;

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

pub use frame::Framing;
use lane::{EndHook, Lane};
use reader::Reader;
pub use requests::{Answer, Requests, RpcError};
pub use service::{Early, Service};
use shared::Shared;
pub use tap::{Direction, Tap};

/// The client, as the doors' hosts speak to it. Cheap to clone.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

/// The transport before it serves. The door creates it, gives the [`Peer`] to its hosts, builds its
/// service with them, and calls [`Transport::serve`].
pub struct Transport {
    shared: Arc<Shared>,
    framing: Framing,
    tap: Option<Tap>,
    hook: EndHook,
}

/// Creates a transport and the client's handle. Messages sent before [`Transport::serve`] wait.
pub fn channel() -> (Peer, Transport) {
    let shared = Arc::new(Shared::default());
    let peer = Peer {
        shared: Arc::clone(&shared),
    };
    let transport = Transport {
        shared,
        framing: Framing::Detect,
        tap: None,
        hook: Box::new(|| Box::pin(std::future::ready(()))),
    };
    (peer, transport)
}

impl Transport {
    /// Sets the framing instead of guessing it from the first byte.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Shows every frame to `tap`, in the order in which it is read or written.
    pub fn tap(mut self, tap: impl Fn(Direction, &str) + Send + Sync + 'static) -> Self {
        self.tap = Some(Arc::new(move |direction, text: &str| {
            if catch_unwind(AssertUnwindSafe(|| tap(direction, text))).is_err() {
                tracing::error!("the recorder panicked");
            }
        }));
        self
    }

    /// Called once when the client is gone, before the last flush: cancel turns, kill children.
    /// Has 1 s, or 1.4 s if nothing hangs. Its notifications are still written; its requests fail
    /// with [`RpcError::Gone`].
    pub fn on_end<F>(mut self, hook: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.hook = Box::new(move || Box::pin(hook()));
        self
    }

    /// Serves until `exit`, the end of input, a broken output, or the end of the process that
    /// `initialize` named; then ends within 2 s. Returns the exit code: 0 after `shutdown` (or
    /// with line framing), else 1. The caller leaves with `std::process::exit`: a thread may
    /// still be blocked in a read.
    pub async fn serve<S: Service>(
        self,
        service: S,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> i32 {
        let Self {
            shared,
            framing,
            tap,
            hook,
        } = self;
        let (lane, arrivals) = mpsc::unbounded_channel();
        let lines = framing == Framing::Lines;
        shared.outbox.lines.store(lines, Ordering::SeqCst);
        shared.lines.store(lines, Ordering::SeqCst);
        let reader = Reader {
            shared: Arc::clone(&shared),
            tap: tap.clone(),
            early: S::early,
            lane,
            batch: Vec::new(),
        };
        let writer = Arc::clone(&shared);
        let started = thread("rpc-read", move || reader.run(input, framing)).and_then(|()| {
            thread("rpc-write", move || {
                writer.outbox.write_to(output, tap.as_ref());
                writer.written.cancel();
                writer.begin_end();
                writer.stop.cancel();
            })
        });
        if let Err(error) = started {
            tracing::error!(%error, "cannot start a thread: raise the thread limit");
            return 1;
        }
        Lane::new(shared, service).run(arrivals, hook).await
    }
}

/// Standard input for a transport, which is its only reader from now on: descriptor 0 becomes
/// `/dev/null`, so that no library, no child process and no link to `/dev/stdin` in a repository
/// can consume the client's messages.
pub fn stdin() -> std::io::Result<Box<dyn Read + Send>> {
    use std::os::fd::AsFd as _;
    let own = std::io::stdin().as_fd().try_clone_to_owned()?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(Box::new(std::fs::File::from(own)))
}

/// Standard output for a transport. The standard library's is line-buffered: it writes each frame
/// in two parts and wakes the client twice.
pub fn stdout() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd as _;
    match std::io::stdout().as_fd().try_clone_to_owned() {
        Ok(stdout) => Box::new(std::fs::File::from(stdout)),
        Err(_) => Box::new(std::io::stdout()),
    }
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(run).map(drop)
}

impl Peer {
    /// Queues a notification. Never blocks; see [`Peer::ready`].
    pub fn notify(&self, method: &str, params: Value) {
        self.shared.notify(method, &params);
    }

    /// Like [`Peer::notify`], but serializes the type directly into the frame. Params that cannot be
    /// serialized are logged and not sent.
    pub fn notify_with<T: Serialize + ?Sized>(&self, method: &str, params: &T) {
        self.shared.notify(method, params);
    }

    /// Queues a complete message that is already JSON text.
    pub fn notify_raw(&self, message: String) {
        self.shared.outbox.push(message.into_bytes());
    }

    /// Queues a request. Dropping the future does not cancel the request; a late answer is ignored.
    /// At the deadline the request is cancelled by `$/cancelRequest` (`$/cancel_request` over ACP).
    pub fn request(
        &self,
        method: &str,
        params: Value,
        deadline: Option<Duration>,
    ) -> BoxFuture<'static, Answer> {
        let deadline = deadline.and_then(|after| Instant::now().checked_add(after));
        self.ask(method, &params, deadline, false)
    }

    /// Queues a request that asks the user. Dropping the future cancels the request, so that no
    /// obsolete question stays on the screen. A late answer is ignored.
    pub fn question(&self, method: &str, params: Value) -> BoxFuture<'static, Answer> {
        self.ask(method, &params, None, true)
    }

    fn ask(
        &self,
        method: &str,
        params: &Value,
        deadline: Option<Instant>,
        cancel_on_drop: bool,
    ) -> BoxFuture<'static, Answer> {
        let shared = Arc::clone(&self.shared);
        let waiting = shared.requests.open(deadline).map(|(id, answer)| {
            shared.push(Some(id), method, params);
            let shared = Arc::clone(&shared);
            (cancel_on_drop.then(|| Withdraw { shared, id }), answer)
        });
        Box::pin(async move {
            let answered = match waiting {
                Some((_withdraw, answer)) => answer.await.ok(),
                None => None,
            };
            answered.unwrap_or_else(|| Answer {
                result: Err(RpcError::Gone),
                frame: shared.arrived.load(Ordering::SeqCst),
            })
        })
    }

    /// Resolves when fewer than 256 messages are queued for the client.
    pub async fn ready(&self) {
        self.shared.outbox.ready().await;
    }

    /// How many messages are queued for the client.
    pub fn waiting(&self) -> usize {
        self.shared.outbox.waiting()
    }

    /// Resolves when the client is gone: `exit`, the end of input, or a broken output. `serve`
    /// returns within 2 s of it, unless a handler blocks its thread.
    pub async fn closed(&self) {
        self.shared.closing.cancelled().await;
    }

    /// Resolves when the lane has handled frame `frame`: a notification to its end, a request
    /// to its first await.
    pub async fn handled(&self, frame: u64) {
        let mut handled = self.shared.handled.subscribe();
        // Fails only without a sender, and `shared` holds it.
        let _ = handled.wait_for(|last| *last >= frame).await;
    }
}

/// Cancels a request that still waits for its answer when it is dropped.
struct Withdraw {
    shared: Arc<Shared>,
    id: i64,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        if self.shared.requests.forget(self.id) {
            self.shared.withdraw(self.id);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
