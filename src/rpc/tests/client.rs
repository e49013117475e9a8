//! A client under the test's control: OS pipes to a transport that serves on its own runtime.
//! Every wait is bounded, so that a wedged transport fails its test.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::rpc::frame::FrameReader;
use crate::rpc::{Framing, Peer, Service, Transport};

/// Elapses in failing tests only.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub type Reply = BoxFuture<'static, Option<Value>>;

/// A service made from a closure over method and message.
struct Handler<F>(F);

pub fn handler<F>(handle: F) -> impl Service
where
    F: FnMut(String, Value) -> Reply + Send + 'static,
{
    Handler(handle)
}

/// Reports when the future that holds it is dropped.
pub struct Dropped(pub Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl<F: FnMut(String, Value) -> Reply + Send + 'static> Service for Handler<F> {
    fn answers_first(method: &str) -> bool {
        method.starts_with("first ")
    }

    fn call(&mut self, message: Value) -> Reply {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        (self.0)(method, message)
    }
}

/// Answers a request with `result` at once.
pub fn reply(message: &Value, result: Value) -> Reply {
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Box::pin(std::future::ready(Some(answer)))
}

pub fn nothing() -> Reply {
    Box::pin(std::future::ready(None))
}

pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}

pub struct Client {
    pub peer: Peer,
    pub runtime: Runtime,
    to: Option<PipeWriter>,
    unread: Option<PipeReader>,
    from: Receiver<Value>,
    incoming: Sender<Value>,
    kept: Vec<Value>,
    code: Receiver<i32>,
}

impl Client {
    /// Starts a transport with the service that `make` builds around the peer.
    pub fn start<S: Service>(make: impl FnOnce(&Peer) -> S) -> Self {
        Self::start_with(|transport| transport, make)
    }

    pub fn start_with<S: Service>(
        adapt: impl FnOnce(Transport) -> Transport,
        make: impl FnOnce(&Peer) -> S,
    ) -> Self {
        let mut client = Self::start_deaf(adapt, make);
        client.listen();
        client
    }

    /// A client that does not read until [`Client::listen`].
    pub fn start_deaf<S: Service>(
        adapt: impl FnOnce(Transport) -> Transport,
        make: impl FnOnce(&Peer) -> S,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (input, to) = std::io::pipe().unwrap();
        let (unread, output) = std::io::pipe().unwrap();
        let (peer, transport) = crate::rpc::channel();
        let transport = adapt(transport);
        let guard = runtime.enter();
        let service = make(&peer);
        drop(guard);
        let (ended, code) = channel();
        runtime.spawn(async move {
            let _ = ended.send(transport.serve(service, input, output).await);
        });
        let (incoming, from) = channel();
        Self {
            peer,
            runtime,
            to: Some(to),
            unread: Some(unread),
            from,
            incoming,
            kept: Vec::new(),
            code,
        }
    }

    /// Reads from now on.
    pub fn listen(&mut self) {
        let mut output = self.unread.take().unwrap();
        let incoming = self.incoming.clone();
        std::thread::spawn(move || {
            let mut frames = FrameReader::new(Framing::Detect);
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                frames.push(&chunk[..count]);
                while let Some(frame) = frames.pop() {
                    let body = frame.expect("the transport writes good frames");
                    let message = serde_json::from_slice(&body).expect("and good JSON");
                    let _ = incoming.send(message);
                }
            }
        });
    }

    /// Stops reading for good: the transport's output breaks.
    pub fn hang_up(&mut self) {
        self.unread = None;
    }

    pub fn send(&mut self, message: &Value) {
        self.send_bytes(&framed(message.to_string().as_bytes()));
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn close(&mut self) {
        self.to = None;
    }

    /// The next message in order.
    pub fn next(&mut self) -> Value {
        if self.kept.is_empty() {
            self.from.recv_timeout(PATIENCE).expect("a message")
        } else {
            self.kept.remove(0)
        }
    }

    /// The first message that fits; the others stay in order.
    pub fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("a fitting message");
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// The answer to the request `id`.
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.find(|message| message.get("method").is_none() && message["id"] == id)
    }

    /// Sends a request and returns its answer.
    pub fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.send(&request(id, method, params));
        self.answer(id)
    }

    /// Messages received so far that the test has not asked for.
    pub fn leftovers(&mut self) -> Vec<Value> {
        let mut left = std::mem::take(&mut self.kept);
        left.extend(self.from.try_iter());
        left
    }

    /// Waits for `serve` to return.
    pub fn exit_code(&mut self) -> i32 {
        self.code.recv_timeout(PATIENCE).expect("serve ends")
    }

    /// Spins until the condition holds.
    pub fn until(&self, condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < PATIENCE, "it never came true");
            std::thread::yield_now();
        }
    }
}
