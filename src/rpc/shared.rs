//! State shared by the transport's threads, its lane and its peers; queues outgoing messages.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::decode;
use super::inflight::Inflight;
use super::outbox::Outbox;
use super::requests::Requests;

/// State shared by the threads, the lane and the peers.
#[derive(Default)]
pub struct Shared {
    pub outbox: Outbox,
    pub requests: Requests,
    pub inflight: Inflight,
    /// The number of the last frame handed to the lane.
    pub arrived: AtomicU64,
    /// The number of the last frame that the lane handled; `u64::MAX` after the end.
    pub handled: watch::Sender<u64>,
    /// Nothing more will arrive.
    pub closing: CancellationToken,
    /// The lane stops at once, whatever it is waiting for.
    pub stop: CancellationToken,
    /// The writer has ended.
    pub written: CancellationToken,
    pub end: OnceLock<Instant>,
    /// The framing is lines by agreement (ACP), where cancelling is another method.
    pub lines: AtomicBool,
}

#[derive(Serialize)]
struct Outgoing<'a, T: ?Sized> {
    jsonrpc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    params: &'a T,
}

impl Shared {
    pub fn notify<T: Serialize + ?Sized>(&self, method: &str, params: &T) {
        self.push(None, method, params);
    }

    /// Cancels one of our requests at the client.
    pub fn withdraw(&self, id: i64) {
        if self.lines.load(Ordering::SeqCst) {
            self.notify("$/cancel_request", &serde_json::json!({ "requestId": id }));
        } else {
            self.notify("$/cancelRequest", &serde_json::json!({ "id": id }));
        }
    }

    pub fn push<T: Serialize + ?Sized>(&self, id: Option<i64>, method: &str, params: &T) {
        self.send(&Outgoing {
            jsonrpc: "2.0",
            id,
            method,
            params,
        });
    }

    pub fn send<T: Serialize>(&self, message: &T) {
        if let Some(body) = Self::encode(message) {
            self.outbox.push(body);
        }
    }

    pub fn encode<T: Serialize>(message: &T) -> Option<Vec<u8>> {
        serde_json::to_vec(message)
            .inspect_err(|error| tracing::error!(%error, "a message cannot be serialized"))
            .ok()
    }

    pub fn answer_error(&self, id: Value, code: i64, message: &str) {
        self.send(&decode::error_answer(id, code, message, None));
    }

    /// Starts the shutdown clock, once.
    pub fn begin_end(&self) {
        self.end.get_or_init(Instant::now);
        self.closing.cancel();
    }

    pub fn ended_at(&self) -> Instant {
        *self.end.get_or_init(Instant::now)
    }
}
