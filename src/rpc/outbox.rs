//! The ordered queue to the client and the thread that writes it. Pushing never blocks; busy
//! producers wait in [`Outbox::ready`]. Must not reorder or drop messages while the client is
//! connected. A place in the queue can be reserved: nothing behind it is written until it is
//! filled or given up.

use std::collections::VecDeque;
use std::io::{BufWriter, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::tap::{Direction, Tap};

/// From this many queued messages on, [`Outbox::ready`] waits.
pub const LIMIT: usize = 256;
const BUFFER: usize = 64 * 1024;

/// Message bodies on their way to the client.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<State>,
    wake: Condvar,
    /// Bodies pushed but not yet handed to the output.
    waiting: AtomicUsize,
    space: Notify,
    /// Producers are no longer held back.
    released: AtomicBool,
    /// Answers go out as lines instead of Content-Length frames.
    pub lines: AtomicBool,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Queued>,
    /// The number of the last reserved place.
    reserved: u64,
    /// The writer is waiting for the condition variable.
    asleep: bool,
    /// New messages are dropped.
    closed: bool,
}

enum Queued {
    Body(Vec<u8>),
    /// The place of a body that will follow.
    Reserved(u64),
}

impl State {
    /// Moves the bodies in front of the first reserved place to `batch`.
    fn take_ready(&mut self, batch: &mut VecDeque<Vec<u8>>) {
        while let Some(queued) = self.queue.pop_front() {
            match queued {
                Queued::Body(body) => batch.push_back(body),
                Queued::Reserved(_) => return self.queue.push_front(queued),
            }
        }
    }

    fn position(&self, place: u64) -> Option<usize> {
        let mut queue = self.queue.iter();
        queue.position(|queued| matches!(queued, Queued::Reserved(found) if *found == place))
    }
}

impl Outbox {
    /// Queues a body, or drops it after [`close`](Self::close).
    pub fn push(&self, body: Vec<u8>) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        state.queue.push_back(Queued::Body(body));
        self.wake_writer(&mut state);
    }

    /// Reserves the next place in the queue. The caller must fill it or give it up.
    pub fn reserve(&self) -> u64 {
        let mut state = self.state.lock();
        state.reserved += 1;
        let place = state.reserved;
        if !state.closed {
            state.queue.push_back(Queued::Reserved(place));
        }
        place
    }

    /// Puts a body into a reserved place. After [`close`](Self::close) it is dropped.
    pub fn fill(&self, place: u64, body: Vec<u8>) {
        let mut state = self.state.lock();
        if let Some(at) = state.position(place) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            state.queue[at] = Queued::Body(body);
            self.wake_writer(&mut state);
        }
    }

    /// Gives up a reserved place, if it was not filled.
    pub fn give_up(&self, place: u64) {
        let mut state = self.state.lock();
        if let Some(at) = state.position(place) {
            state.queue.remove(at);
            self.wake_writer(&mut state);
        }
    }

    fn wake_writer(&self, state: &mut State) {
        if std::mem::take(&mut state.asleep) {
            self.wake.notify_one();
        }
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Resolves when fewer than [`LIMIT`] messages are queued.
    pub async fn ready(&self) {
        loop {
            let mut space = pin!(self.space.notified());
            space.as_mut().enable();
            if self.waiting() < LIMIT || self.released.load(Ordering::SeqCst) {
                return;
            }
            space.await;
        }
    }

    /// Ends the back-pressure, so that no producer hangs at shutdown on a client that stopped reading.
    pub fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
        self.space.notify_waiters();
    }

    /// Drops new messages from now on; the writer ends once the queue is written.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state
            .queue
            .retain(|queued| matches!(queued, Queued::Body(_)));
        self.wake.notify_one();
    }

    /// The writer's loop: ends after [`close`](Self::close) or when the output breaks.
    pub fn write_to(&self, output: impl Write, tap: Option<&Tap>) {
        if let Err(error) = self.write_all(output, tap) {
            tracing::info!(%error, "the client no longer reads");
        }
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
        self.waiting.store(0, Ordering::SeqCst);
        self.space.notify_waiters();
    }

    fn write_all(&self, output: impl Write, tap: Option<&Tap>) -> std::io::Result<()> {
        let mut output = BufWriter::with_capacity(BUFFER, output);
        let mut batch = VecDeque::new();
        loop {
            self.state.lock().take_ready(&mut batch);
            if batch.is_empty() {
                output.flush()?;
                if !self.wait() {
                    return Ok(());
                }
            }
            for body in batch.drain(..) {
                self.write(&mut output, body, tap)?;
                if self.waiting.fetch_sub(1, Ordering::SeqCst) == LIMIT {
                    self.space.notify_waiters();
                }
            }
        }
    }

    fn write(
        &self,
        output: &mut impl Write,
        mut body: Vec<u8>,
        tap: Option<&Tap>,
    ) -> std::io::Result<()> {
        if let Some(tap) = tap {
            tap(Direction::Out, &String::from_utf8_lossy(&body));
        }
        if self.lines.load(Ordering::SeqCst) {
            // In JSON a raw line end can only be whitespace between tokens.
            for byte in &mut body {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
            body.push(b'\n');
        } else {
            write!(output, "Content-Length: {}\r\n\r\n", body.len())?;
        }
        output.write_all(&body)
    }

    /// Waits for something to write; `false` once the queue is closed and empty.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !matches!(state.queue.front(), Some(Queued::Body(_))) {
            if state.closed {
                return false;
            }
            state.asleep = true;
            self.wake.wait(&mut state);
        }
        state.asleep = false;
        true
    }
}
