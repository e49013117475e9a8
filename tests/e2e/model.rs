//! A reactive scripted model: a real HTTP server on loopback that speaks the providers' wire
//! formats, distinguished by the path. A script sees each parsed request and computes the answer;
//! every request is checked as the provider would check it (`check.rs`), and a violation fails the
//! story.

mod check;
pub mod google;
mod http;
pub mod openai;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::editor::LIMIT;
use crate::fixture::KEY;
use openai::Wire;
pub use reply::{Gate, Reply};
pub use request::RequestView;

/// Answers the requests, in order of arrival.
pub type Script = Box<dyn FnMut(&RequestView) -> Reply + Send>;

/// The server. Dropping it reports violations by the requests.
pub struct Model {
    shared: Arc<Shared>,
    port: u16,
}

pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopped: AtomicBool,
}

struct State {
    script: Script,
    requests: Vec<Arc<RequestView>>,
    book: check::Book,
    violations: Vec<String>,
    connections: usize,
    /// Streams that the client closed before their end.
    hung_up: usize,
}

impl Model {
    pub fn start(script: impl FnMut(&RequestView) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                script: Box::new(script),
                requests: Vec::new(),
                book: check::Book::default(),
                violations: Vec::new(),
                connections: 0,
                hung_up: 0,
            }),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || accept(&listener, &accepting));
        Self { shared, port }
    }

    /// Plays the replies one after another; a request too many gets an error that names it.
    pub fn plays(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::start(move |request| {
            replies
                .next()
                .unwrap_or_else(|| Reply::violation(&format!("no reply for #{}", request.n)))
        })
    }

    /// Says the same to every prompt.
    pub fn says(text: &str) -> Self {
        let text = text.to_owned();
        Self::start(move |_| Reply::text(&text))
    }

    /// One tool call, then a text that ends in its result.
    pub fn calls(tool: &str, input: Value) -> Self {
        Self::steps(vec![Reply::call(tool, input)])
    }

    /// These steps, then a text that ends in the last result; the same for every prompt.
    pub fn steps(steps: Vec<Reply>) -> Self {
        Self::start(move |request| match steps.get(request.step()) {
            Some(reply) => reply.clone(),
            None => Reply::text(&format!("done: {}", request.result())),
        })
    }

    /// Reads a file, then replaces a text in it.
    pub fn edits(path: &str, old: &str, new: &str) -> Self {
        Self::steps(vec![Reply::read(path), Reply::edit(path, old, new)])
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    pub fn request(&self, n: usize) -> Arc<RequestView> {
        let state = self.shared.lock();
        let count = state.requests.len();
        let found = state.requests.get(n).cloned();
        drop(state);
        found.unwrap_or_else(|| panic!("the model got {count} requests, no #{n}"))
    }

    pub fn last(&self) -> Arc<RequestView> {
        self.request(self.count().saturating_sub(1))
    }

    pub fn hung_up(&self) -> usize {
        self.shared.lock().hung_up
    }

    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// The next request may begin a new epoch: its prefix may differ, thinking must be gone.
    pub fn allow_new_epoch(&self) {
        self.shared.lock().book.allow_new_epoch();
    }

    /// Takes the violations, so that a story can expect them.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().violations)
    }

    /// Waits for `n` requests. Only for stories whose editor has nothing to answer.
    pub fn wait_for(&self, n: usize) {
        self.wait_until("a request", |state| state.requests.len() >= n);
    }

    /// Waits until the client closed a stream before its end.
    pub fn wait_for_hang_up(&self) {
        self.wait_until("a hang-up", |state| state.hung_up > 0);
    }

    fn wait_until(&self, what: &str, done: impl Fn(&State) -> bool) {
        let deadline = Instant::now() + LIMIT;
        let mut state = self.shared.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the model waited {LIMIT:?} for {what}");
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let violations = self.violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!(
                "the model's requests were wrong:\n{}",
                violations.join("\n")
            );
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Checks and records the request and asks the script.
    fn answer(&self, head: &http::Head, raw: Vec<u8>) -> Reply {
        let mut state = self.lock();
        let state = &mut *state;
        let wire = Wire::of(&head.path);
        let mut found = match wire {
            Wire::Messages => check::head(head, &raw, KEY),
            _ => openai::check(wire, head, &raw, KEY),
        };
        let n = state.requests.len();
        let view = match RequestView::new(n, raw, wire) {
            Ok(view) => Arc::new(view),
            Err(reason) => {
                state.violations.push(reason.clone());
                return Reply::violation(&reason);
            }
        };
        found.extend(state.book.check(&view));
        state.requests.push(view.clone());
        self.changed.notify_all();
        let found: Vec<String> = found
            .into_iter()
            .map(|what| format!("request #{n}: {what}"))
            .collect();
        if !found.is_empty() {
            let text = found.join("; ");
            state.violations.extend(found);
            return Reply::violation(&text);
        }
        (state.script)(&view).signed(&view)
    }

    /// The client received all of `reply`.
    fn answered(&self, reply: &Reply) {
        let mut state = self.lock();
        let state = &mut *state;
        let number = reply.request();
        if let Some(view) = number.and_then(|number| state.requests.get(number)) {
            state.book.answered(view, reply);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped() {
            return;
        }
        let Ok(stream) = stream else { continue };
        shared.lock().connections += 1;
        let shared = shared.clone();
        std::thread::spawn(move || {
            // The client may hang up whenever it likes; that is no failure of the server.
            if http::serve(stream, &shared).is_err() {
                shared.lock().hung_up += 1;
                shared.changed.notify_all();
            }
        });
    }
}
