//! The ordered lane: every message is first polled in arrival order. Notifications, `initialize` and
//! `shutdown` finish before the next message; a request that is not ready continues in its own
//! task. A panic costs one answer. Also the shutdown sequence and its time limits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::inflight::Ticket;
use super::reader::{Arrival, Content};
use super::service::Service;
use super::shared::Shared;
use super::{decode, parent_process};

/// How long messages that arrived before the end of input may still be handled.
const DRAIN: Duration = Duration::from_millis(500);
/// How long dropped requests may delay the door's hook (one may block its thread).
const DROP: Duration = Duration::from_millis(200);
/// From the end of input until the door's hook must finish.
const HOOK: Duration = Duration::from_millis(1400);
/// How long flushing the queue may take.
const FLUSH: Duration = Duration::from_millis(500);

/// How long the output waits for an answer that must come first. Only a hanging handler takes this
/// long, and it must not hold back other sessions' messages.
const ANSWER_FIRST: Duration = Duration::from_secs(5);

/// Called once, when the client is gone.
pub type EndHook = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

type Outcome = Result<Option<Value>, Box<dyn Any + Send>>;

pub struct Lane<S> {
    pub shared: Arc<Shared>,
    pub service: S,
    /// Requests that were not ready at their first poll.
    tasks: JoinSet<()>,
    /// Tasks for deadlines, for the end of input, and for watching the parent process.
    keepers: JoinSet<()>,
    shutdown: bool,
}

impl<S: Service> Lane<S> {
    pub fn new(shared: Arc<Shared>, service: S) -> Self {
        let mut keepers = JoinSet::new();
        keepers.spawn(keep_deadlines(Arc::clone(&shared)));
        keepers.spawn(limit_drain(Arc::clone(&shared)));
        Self {
            shared,
            service,
            tasks: JoinSet::new(),
            keepers,
            shutdown: false,
        }
    }

    /// Handles messages until the input ends, then shuts down; returns the exit code.
    pub async fn run(
        mut self,
        mut arrivals: UnboundedReceiver<Vec<Arrival<S>>>,
        hook: EndHook,
    ) -> i32 {
        loop {
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => break,
                Some(_) = self.tasks.join_next(), if !self.tasks.is_empty() => {}
                arrival = arrivals.recv() => match arrival {
                    Some(batch) => self.take(batch).await,
                    None => break,
                },
            }
        }
        // Releases everything that waits for a frame: none will arrive now.
        self.shared.handled.send_replace(u64::MAX);
        let lines = self.shared.outbox.lines.load(Ordering::SeqCst);
        let code = i32::from(!self.shutdown && !lines);
        self.end(hook).await;
        code
    }

    async fn take(&mut self, batch: Vec<Arrival<S>>) {
        for Arrival { frame, content } in batch {
            if self.shared.stop.is_cancelled() {
                return;
            }
            match content {
                Content::Early(early) => {
                    let taken = catch_unwind(AssertUnwindSafe(|| early(&mut self.service)));
                    if let Err(panic) = taken {
                        settle(&self.shared, None, None, Err(panic), "(read early)");
                    }
                }
                Content::Message(_, Some(ticket)) if ticket.is_cancelled() => {}
                Content::Message(message, ticket) => self.dispatch(message, ticket).await,
            }
            self.shared.handled.send_replace(frame);
        }
    }

    async fn dispatch(&mut self, message: Value, ticket: Option<Ticket>) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let opening = ticket.is_some() && method == "initialize";
        let closing = ticket.is_some() && method == "shutdown";
        self.shutdown |= closing;
        if let Some(pid) = message["params"]["processId"].as_i64().filter(|_| opening) {
            let shared = Arc::clone(&self.shared);
            self.keepers.spawn(async move {
                parent_process::ended(pid).await;
                tracing::info!(pid, "the parent process has ended");
                shared.begin_end();
                shared.stop.cancel();
            });
        }
        let place = ticket
            .as_ref()
            .filter(|_| S::answers_first(&method))
            .map(|_| Place::reserve(&self.shared));
        let call = catch_unwind(AssertUnwindSafe(|| self.service.call(message)));
        let future = match call {
            Ok(future) => future,
            Err(panic) => return settle(&self.shared, ticket.as_ref(), place, Err(panic), &method),
        };
        let mut future = AssertUnwindSafe(future).catch_unwind();
        if let Poll::Ready(outcome) = futures_util::poll!(&mut future) {
            return settle(&self.shared, ticket.as_ref(), place, outcome, &method);
        }
        let inline = ticket.is_none() || opening || closing;
        let shared = Arc::clone(&self.shared);
        let rest = async move {
            let cancelled = async {
                match &ticket {
                    Some(ticket) => ticket.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let answered = async {
                let limit = tokio::time::sleep(ANSWER_FIRST);
                let (place, outcome) = in_place(place, limit, future, &method).await;
                settle(&shared, ticket.as_ref(), place, outcome, &method);
            };
            tokio::select! {
                biased;
                () = cancelled => {}
                () = answered => {}
            }
        };
        if inline {
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => {}
                () = rest => {}
            }
        } else {
            self.tasks.spawn(rest);
        }
    }

    /// Stops the client's requests, fails our own, runs the door's hook, and flushes the output.
    async fn end(mut self, hook: EndHook) {
        self.shared.begin_end();
        let began = self.shared.ended_at();
        let until = tokio::time::Instant::from_std(began + HOOK);
        self.shared.outbox.release();
        let frame = self.shared.arrived.load(Ordering::SeqCst);
        self.shared.requests.close(frame);
        self.tasks.abort_all();
        let dropped = async { while self.tasks.join_next().await.is_some() {} };
        let dropped = tokio::time::timeout(DROP, dropped).await;
        let hook = AssertUnwindSafe(async { hook().await }).catch_unwind();
        match timeout_at(until, hook).await {
            Ok(Ok(())) if dropped.is_ok() => {}
            Ok(Err(_)) => tracing::error!("the door's shutdown hook panicked"),
            _ => tracing::warn!("running work did not stop in time"),
        }
        self.shared.outbox.close();
        let written = self.shared.written.cancelled();
        if tokio::time::timeout(FLUSH, written).await.is_err() {
            tracing::warn!("the client did not read the last messages");
        }
    }
}

/// A reserved place in the output, given up when it is dropped unfilled.
struct Place {
    shared: Arc<Shared>,
    number: u64,
}

impl Place {
    fn reserve(shared: &Arc<Shared>) -> Self {
        Self {
            number: shared.outbox.reserve(),
            shared: Arc::clone(shared),
        }
    }

    fn fill(self, body: Vec<u8>) {
        self.shared.outbox.fill(self.number, body);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.outbox.give_up(self.number);
    }
}

/// Awaits a request's outcome. Its place is given up if the answer is late.
async fn in_place(
    place: Option<Place>,
    limit: impl Future<Output = ()>,
    mut future: impl Future<Output = Outcome> + Unpin,
    method: &str,
) -> (Option<Place>, Outcome) {
    if place.is_some() {
        tokio::select! {
            biased;
            outcome = &mut future => return (place, outcome),
            () = limit => tracing::warn!(method, "a late answer lost its place in the output"),
        }
        drop(place);
    }
    (None, future.await)
}

/// Sends the answer, unless the request was already answered.
fn settle(
    shared: &Shared,
    ticket: Option<&Ticket>,
    place: Option<Place>,
    outcome: Outcome,
    method: &str,
) {
    if let Err(panic) = &outcome {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        tracing::error!(method, reason, "a handler panicked");
    }
    let Some(ticket) = ticket else { return };
    if !shared.inflight.settle(ticket) {
        return;
    }
    let answer = match outcome {
        Ok(Some(answer)) => answer,
        Ok(None) => return,
        Err(_) => decode::error_answer(
            ticket.id.clone(),
            decode::INTERNAL_ERROR,
            "the handler failed; the log has the details",
            None,
        ),
    };
    match (place, Shared::encode(&answer)) {
        (Some(place), Some(body)) => place.fill(body),
        (None, Some(body)) => shared.outbox.push(body),
        (_, None) => {}
    }
}

/// Fails our requests whose deadline has passed.
async fn keep_deadlines(shared: Arc<Shared>) {
    loop {
        let changed = shared.requests.changed.notified();
        match shared.requests.next_deadline() {
            Some(at) => tokio::select! {
                () = changed => continue,
                () = tokio::time::sleep_until(tokio::time::Instant::from_std(at)) => {}
            },
            None => {
                changed.await;
                continue;
            }
        }
        let frame = shared.arrived.load(Ordering::SeqCst);
        for id in shared.requests.expire(Instant::now(), frame) {
            shared.withdraw(id);
        }
    }
}

/// After the end of input, limits the wait for handlers that do not finish.
async fn limit_drain(shared: Arc<Shared>) {
    shared.closing.cancelled().await;
    tokio::time::sleep(DRAIN).await;
    shared.stop.cancel();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_late_answer_gives_up_its_place() {
        let shared = Arc::new(Shared::default());
        let answer = || Box::pin(tokio::task::yield_now().map(|()| Ok(None)));
        let place = || Some(Place::reserve(&shared));
        let (kept, _) = in_place(place(), std::future::pending(), answer(), "quick").await;
        assert!(kept.is_some());
        let (kept, _) = in_place(place(), std::future::ready(()), answer(), "slow").await;
        assert!(kept.is_none());
    }
}
