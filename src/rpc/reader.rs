//! The thread that reads from the client: splits frames, parses JSON and routes each message.
//! Answers and `$/cancelRequest` bypass the lane (hazards b1, f4); everything else gets the next
//! frame number. Must never wait for the lane or the output.

use std::io::{BufRead as _, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::decode::{self, Incoming};
use super::frame::{FrameError, FrameReader, Framing};
use super::inflight::Ticket;
use super::requests::{Answer, RpcError};
use super::service::Early;
use super::shared::Shared;
use super::tap::{Direction, Tap};

const CHUNK: usize = 64 * 1024;

/// A message for the lane.
pub struct Arrival<S> {
    pub frame: u64,
    pub content: Content<S>,
}

pub enum Content<S> {
    /// With a ticket if it is a request.
    Message(Value, Option<Ticket>),
    /// Parsed by the service itself.
    Early(Early<S>),
}

pub struct Reader<S> {
    pub shared: Arc<Shared>,
    pub tap: Option<Tap>,
    /// [`super::Service::early`].
    pub early: fn(&str) -> Option<Early<S>>,
    /// Unbounded on purpose: a full lane would block answers and cancels (hazard f4).
    pub lane: UnboundedSender<Vec<Arrival<S>>>,
    /// The messages of one read, handed to the lane together to wake it once.
    pub batch: Vec<Arrival<S>>,
}

impl<S> Drop for Reader<S> {
    /// However the thread ends, the transport shuts down.
    fn drop(&mut self) {
        self.shared.begin_end();
    }
}

impl<S> Reader<S> {
    /// Reads until the end of input, an error, or `exit`.
    pub fn run(mut self, input: impl Read, framing: Framing) {
        let mut frames = FrameReader::new(framing);
        // Its buffer takes no memory before it is filled.
        let mut input = BufReader::with_capacity(CHUNK, input);
        loop {
            match input.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => {
                    let count = bytes.len();
                    frames.push(bytes);
                    input.consume(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::info!(%error, "the input can no longer be read");
                    break;
                }
            }
            self.shared
                .outbox
                .lines
                .store(frames.lines(), Ordering::SeqCst);
            if !self.route_all(&mut frames) {
                return;
            }
        }
        frames.finish();
        self.route_all(&mut frames);
    }

    /// False after `exit`.
    fn route_all(&mut self, frames: &mut FrameReader) -> bool {
        let mut open = true;
        while let Some(frame) = frames.pop().filter(|_| open) {
            open = match frame {
                Ok(body) => self.take(body),
                Err(error) => self.bad_frame(&error),
            };
        }
        self.flush();
        open
    }

    fn take(&mut self, body: Vec<u8>) -> bool {
        let text = decode::text_of(body);
        if let Some(tap) = &self.tap {
            tap(Direction::In, &text);
        }
        match (self.early)(&text) {
            Some(early) => self.arrive(Content::Early(early)),
            None => return self.route(decode::parse(&text)),
        }
        true
    }

    fn route(&mut self, incoming: Incoming) -> bool {
        match incoming {
            Incoming::Request { id, message } => self.request(id, message),
            Incoming::Notification { message } => match message["method"].as_str() {
                Some("exit") => return false,
                Some("$/cancelRequest") => self.cancel(&message["params"]["id"]),
                Some("$/cancel_request") => self.cancel(&message["params"]["requestId"]),
                _ => self.arrive(Content::Message(message, None)),
            },
            Incoming::Answer { id, result } => {
                // The lane must reach the frame that the answer names.
                self.flush();
                let result = result.map_err(|(code, message)| RpcError::Answered { code, message });
                let frame = self.shared.arrived.load(Ordering::SeqCst);
                self.shared.requests.answer(&id, Answer { result, frame });
            }
            Incoming::Bad { id, code, message } => {
                tracing::warn!(%id, code, message, "refused a message");
                self.shared.answer_error(id, code, &message);
            }
        }
        true
    }

    fn request(&mut self, id: Value, message: Value) {
        let frame = self.next_frame();
        match self.shared.inflight.admit(id.clone(), frame) {
            Some(ticket) => self.arrive(Content::Message(message, Some(ticket))),
            None => self.shared.answer_error(
                id,
                decode::INVALID_REQUEST,
                "a request with this id is still running: use another id",
            ),
        }
    }

    fn next_frame(&self) -> u64 {
        let waiting = u64::try_from(self.batch.len()).unwrap_or(u64::MAX);
        self.shared.arrived.load(Ordering::SeqCst) + waiting + 1
    }

    fn arrive(&mut self, content: Content<S>) {
        let frame = self.next_frame();
        self.batch.push(Arrival { frame, content });
    }

    /// Hands the batch to the lane.
    fn flush(&mut self) {
        let Some(last) = self.batch.last().map(|arrival| arrival.frame) else {
            return;
        };
        // Sent before the count moves, so an answer never names a frame the lane cannot reach.
        if self.lane.send(std::mem::take(&mut self.batch)).is_ok() {
            self.shared.arrived.store(last, Ordering::SeqCst);
        }
    }

    fn cancel(&self, id: &Value) {
        if self.shared.inflight.cancel(id) {
            let code = decode::REQUEST_CANCELLED;
            self.shared.answer_error(id.clone(), code, "cancelled");
        }
    }

    fn bad_frame(&self, error: &FrameError) -> bool {
        tracing::warn!(%error, "bad framing");
        match error {
            // The surrounding body was answered, or the input has ended.
            FrameError::Garbage | FrameError::Truncated => {}
            _ => {
                let code = decode::PARSE_ERROR;
                self.shared
                    .answer_error(Value::Null, code, &error.to_string());
            }
        }
        true
    }
}
