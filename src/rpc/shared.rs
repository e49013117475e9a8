//! State that the threads, the lane and the peers share, and how a message gets into the output.

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

/// What the threads, the lane and the peers have in common.
#[derive(Default)]
pub struct Shared {
    pub outbox: Outbox,
    pub requests: Requests,
    pub inflight: Inflight,
    /// The number of the last frame that went into the lane.
    pub arrived: AtomicU64,
    /// The number of the last frame that the lane handled; the maximum after the end.
    pub handled: watch::Sender<u64>,
    /// Nothing more will arrive.
    pub closing: CancellationToken,
    /// The lane stops now, whatever it waits for.
    pub stop: CancellationToken,
    /// The writer has ended.
    pub written: CancellationToken,
    pub end: OnceLock<Instant>,
    /// The client speaks on lines by agreement (ACP), where a cancel has a name of its own.
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

    /// Tells the client that nobody waits for the answer any more.
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

    /// The clock of the end starts once, whatever comes first.
    pub fn begin_end(&self) {
        self.end.get_or_init(Instant::now);
        self.closing.cancel();
    }

    pub fn ended_at(&self) -> Instant {
        *self.end.get_or_init(Instant::now)
    }
}
