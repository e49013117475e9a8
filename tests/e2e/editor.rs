//! The scripted editor: starts the real program, speaks Content-Length frames, holds real text
//! buffers and behaves as its profile says. Every receive has a hard limit; on drop it compares
//! its buffers with the server's mirror, shuts down, and fails on unexpected messages.

pub mod answers;
mod apply;
pub mod buffer;
mod ledger;
pub mod process;
pub mod profile;
pub mod turn;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Stage, sha256};
use crate::model::Model;
use crate::text::{self, Encoding, Splice};
use answers::Script;
pub use answers::{Approval, Pick, Reaction};
use buffer::Buffer;
use ledger::Ledger;
use process::Process;
pub use profile::Profile;

/// The hard limit of every wait.
pub const LIMIT: Duration = Duration::from_secs(20);

/// What an editor starts with.
pub struct Launch<'a> {
    stage: &'a Stage,
    pub profile: Profile,
    environment: Vec<(String, String)>,
    options: Value,
    process_id: Value,
    trust: bool,
    /// Below the stage's workspace.
    folder: String,
    /// The program that starts ours, with its arguments.
    under: Vec<String>,
}

impl<'a> Launch<'a> {
    pub fn new(stage: &'a Stage, model_url: &str) -> Self {
        Self {
            stage,
            profile: Profile::rich(),
            environment: stage.environment(model_url),
            options: json!({ "model": "anthropic/claude-opus-5-5" }),
            process_id: std::process::id().into(),
            trust: true,
            folder: String::new(),
            under: Vec::new(),
        }
    }

    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    pub fn untrusted(mut self) -> Self {
        self.trust = false;
        self
    }

    /// Opens only this folder of the workspace.
    pub fn opening(mut self, folder: &str) -> Self {
        self.folder = folder.to_owned();
        self
    }

    /// Lets another program start ours.
    pub fn under(mut self, words: Vec<String>) -> Self {
        self.under = words;
        self
    }

    /// Adds a client setting.
    pub fn setting(mut self, key: &str, value: Value) -> Self {
        self.options[key] = value;
        self
    }

    /// Adds a setting of the user's own scope.
    pub fn user_setting(mut self, key: &str, value: Value) -> Self {
        self.options["user"][key] = value;
        self
    }

    pub fn no_options(mut self) -> Self {
        self.options = Value::Null;
        self
    }

    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn process_id(mut self, id: u32) -> Self {
        self.process_id = id.into();
        self
    }

    /// Starts the program and sends nothing.
    pub fn silent(self) -> Editor {
        let (place, environment) = (self.stage.path(&self.folder), &self.environment);
        let process = Process::start(&self.under, &["lsp"], environment, &place);
        Editor {
            process,
            profile: self.profile,
            root: self.stage.uri(&self.folder),
            buffers: BTreeMap::new(),
            script: Script::default(),
            next_id: 0,
            answers: HashMap::new(),
            notes: Vec::new(),
            due: VecDeque::new(),
            ledger: Ledger::default(),
            unexpected: Vec::new(),
            allowed: Vec::new(),
            held_back: Vec::new(),
            encoding: Encoding::Utf16,
            server: Value::Null,
            session: None,
            turn: None,
            reported: false,
        }
    }

    /// Starts the program, initializes it and trusts the folder unless told otherwise.
    pub fn start(self) -> Editor {
        let trust = self
            .trust
            .then(|| self.stage.path(&self.folder).display().to_string());
        let params = self.initialize_params();
        let mut editor = self.silent();
        editor.handshake(params);
        if let Some(folder) = trust {
            let params = json!({ "folder": folder, "decision": "trust" });
            editor.request("interline/trust/set", params);
        }
        editor
    }

    fn initialize_params(&self) -> Value {
        let folder = self
            .stage
            .uri(&self.folder)
            .trim_end_matches('/')
            .to_owned();
        let folders = json!([{ "uri": folder, "name": "work" }]);
        let mut params = self.profile.initialize();
        params["processId"] = self.process_id.clone();
        params["rootUri"] = folder.into();
        params["workspaceFolders"] = folders;
        if !self.options.is_null() {
            params["initializationOptions"] = self.options.clone();
        }
        params
    }
}

/// A running editor with its server.
pub struct Editor {
    pub process: Process,
    pub profile: Profile,
    root: String,
    pub buffers: BTreeMap<String, Buffer>,
    pub script: Script,
    next_id: i64,
    answers: HashMap<i64, Value>,
    /// Every notification of the server, in order.
    pub notes: Vec<Value>,
    /// Documents whose didChange is held back, and until when.
    due: VecDeque<(Instant, String)>,
    ledger: Ledger,
    unexpected: Vec<String>,
    allowed: Vec<String>,
    /// Requests of the server that the profile leaves unanswered.
    pub held_back: Vec<Value>,
    encoding: Encoding,
    /// The result of `initialize`.
    pub server: Value,
    session: Option<String>,
    turn: Option<String>,
    reported: bool,
}

impl Editor {
    pub fn handshake(&mut self, params: Value) {
        self.server = self.request("initialize", params);
        let encoding = self.server["capabilities"]["positionEncoding"].as_str();
        self.encoding = Encoding::named(encoding.unwrap_or("utf-16"));
        self.notify("initialized", json!({}));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.process.send(&message);
    }

    /// Sends a request and returns its id at once.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.ledger.asked(id, method);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.process.send(&message);
        id
    }

    /// The answer to request `id`: its result or its error.
    pub fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let answer = self.until(&format!("the answer to request {id}"), |editor| {
            editor.answers.remove(&id)
        });
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// A request that must succeed.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        match self.answer(id) {
            Ok(result) => result,
            Err(error) => self.fail(&format!("{method} was answered with {error}")),
        }
    }

    /// A request that must fail; its error.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        match self.answer(id) {
            Ok(result) => self.fail(&format!("{method} succeeded: {result}")),
            Err(error) => error,
        }
    }

    /// Unexpected messages that contain `part` do not fail this story.
    pub fn allow(&mut self, part: &str) {
        self.allowed.push(part.into());
    }

    /// Serves the server until `done` yields something.
    pub fn until<T>(&mut self, what: &str, done: impl FnMut(&mut Self) -> Option<T>) -> T {
        self.until_within(LIMIT, what, done)
    }

    pub fn until_within<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut done: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(found) = done(self) {
                return found;
            }
            if Instant::now() >= deadline {
                self.fail(&format!("waited {limit:?} for {what}"));
            }
            self.serve_one();
        }
    }

    /// Handles one message or waits a moment; sends what is due.
    fn serve_one(&mut self) {
        self.send_due(Instant::now());
        let tick = Duration::from_millis(10);
        if let Some(message) = self.process.receive(tick) {
            self.take(message);
        } else if self.process.ended() {
            self.fail("the server is gone");
        }
    }

    fn take(&mut self, message: Value) {
        let id = message.get("id").cloned();
        let method = message["method"].as_str().map(str::to_owned);
        match (id, method) {
            (Some(id), Some(method)) => self.serve(id, &method, &message["params"]),
            (Some(id), None) => match id.as_i64() {
                Some(id) if id <= self.next_id => {
                    if let Err(wrong) = self.ledger.answered(&message) {
                        self.unexpected(wrong);
                    }
                    self.answers.insert(id, message);
                }
                _ => self.unexpected(format!("an answer to nothing: {message}")),
            },
            (None, Some(method)) => {
                if let Err(wrong) = self.ledger.note(&message) {
                    self.unexpected(wrong);
                }
                if !self.profile.expects(&method) {
                    self.unexpected(format!("notification {message}"));
                }
                if self.script.reloads && method == "interline/workspace/didChangeOnDisk" {
                    for uri in message["params"]["uris"].as_array().into_iter().flatten() {
                        self.reload_uri(uri.as_str().unwrap_or_default());
                    }
                }
                self.notes.push(message);
            }
            (None, None) => self.unexpected(format!("not a message: {message}")),
        }
    }

    pub fn unexpected(&mut self, what: String) {
        self.unexpected.push(what);
    }

    /// Fails the story with the server's output.
    pub fn fail(&mut self, why: &str) -> ! {
        self.reported = true;
        panic!("{why}\n{}", self.process.report())
    }
}

/// What the user does.
impl Editor {
    /// The URI of a file of the workspace.
    pub fn uri(&self, name: &str) -> String {
        format!("{}{name}", self.root)
    }

    pub fn open(&mut self, name: &str) -> String {
        let uri = self.uri(name);
        self.open_uri(&uri);
        uri
    }

    pub fn open_uri(&mut self, uri: &str) {
        let buffer = Buffer::load(uri, self.profile.first_version);
        self.notify("textDocument/didOpen", buffer.did_open());
        self.buffers.insert(uri.into(), buffer);
    }

    /// An unnamed buffer.
    pub fn open_untitled(&mut self, uri: &str, text: &str) {
        let buffer = Buffer::new(uri, text, self.profile.first_version);
        self.notify("textDocument/didOpen", buffer.did_open());
        self.buffers.insert(uri.into(), buffer);
    }

    pub fn text(&self, name: &str) -> &str {
        &self.buffer(name).text
    }

    pub fn buffer(&self, name: &str) -> &Buffer {
        let uri = self.uri(name);
        let found = self.buffers.get(&uri);
        found.unwrap_or_else(|| panic!("{name} is not open"))
    }

    /// Types at the very end of an open document.
    pub fn append(&mut self, uri: &str, new: &str) {
        let end = self.buffers[uri].text.len();
        let splice = Splice {
            start: end,
            end,
            new: new.into(),
        };
        self.change(uri, &[splice]);
    }

    /// Replaces the only `old` with `new`, as typed.
    pub fn replace(&mut self, name: &str, old: &str, new: &str) {
        let text = self.text(name);
        let found: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
        assert_eq!(found.len(), 1, "{old:?} in {text:?}");
        let splice = Splice {
            start: found[0],
            end: found[0] + old.len(),
            new: new.into(),
        };
        let uri = self.uri(name);
        self.change(&uri, &[splice]);
    }

    /// Types at the very start.
    pub fn prepend(&mut self, name: &str, new: &str) {
        let splice = Splice {
            start: 0,
            end: 0,
            new: new.into(),
        };
        let uri = self.uri(name);
        self.change(&uri, &[splice]);
    }

    /// Changes a buffer and notifies the server, now or after the profile's delay.
    pub fn change(&mut self, uri: &str, splices: &[Splice]) {
        let (full, encoding) = (self.profile.full, self.encoding);
        let buffer = self.buffers.get_mut(uri).expect("an open buffer");
        buffer.change(splices, encoding, full, self.profile.version_step);
        if self.profile.delay.is_zero() {
            self.flush(uri);
        } else {
            // A later change restarts the delay, as debouncing clients do.
            self.due.retain(|(_, other)| other != uri);
            let at = Instant::now() + self.profile.delay;
            self.due.push_back((at, uri.into()));
        }
    }

    /// Sends all pending changes of one document.
    pub fn flush(&mut self, uri: &str) {
        self.due.retain(|(_, other)| other != uri);
        let buffer = self.buffers.get_mut(uri).expect("an open buffer");
        if let Some(params) = buffer.did_change() {
            self.notify("textDocument/didChange", params);
        }
    }

    pub fn flush_all(&mut self) {
        let uris: Vec<String> = self.buffers.keys().cloned().collect();
        for uri in uris {
            self.flush(&uri);
        }
    }

    fn send_due(&mut self, now: Instant) {
        while let Some((at, uri)) = self.due.front().cloned() {
            if at > now {
                return;
            }
            self.flush(&uri);
        }
    }

    pub fn save(&mut self, name: &str) {
        let uri = self.uri(name);
        self.save_uri(&uri);
    }

    pub fn save_uri(&mut self, uri: &str) {
        self.flush(uri);
        self.format(uri);
        let buffer = self.buffers.get_mut(uri).expect("an open buffer");
        buffer.write();
        let params = json!({ "textDocument": { "uri": uri } });
        self.notify("textDocument/didSave", params);
    }

    fn format(&mut self, uri: &str) {
        let Some(formatter) = self.script.formatter else {
            return;
        };
        let text = &self.buffers[uri].text;
        let new = formatter(text);
        if new != *text {
            let end = text.len();
            self.change(uri, &[Splice { start: 0, end, new }]);
            self.flush(uri);
        }
    }

    /// Reads an open document again from disk.
    pub fn reload(&mut self, name: &str) {
        let uri = self.uri(name);
        self.reload_uri(&uri);
    }

    fn reload_uri(&mut self, uri: &str) {
        let new = Buffer::load(uri, 0).text;
        let end = self.buffers[uri].text.len();
        self.change(uri, &[Splice { start: 0, end, new }]);
    }

    pub fn close(&mut self, name: &str) {
        let uri = self.uri(name);
        self.close_uri(&uri);
    }

    pub fn close_uri(&mut self, uri: &str) {
        self.flush(uri);
        self.buffers.remove(uri);
        let params = json!({ "textDocument": { "uri": uri } });
        self.notify("textDocument/didClose", params);
    }

    /// Waits until everything sent so far has reached the server's mirror.
    pub fn settle(&mut self) {
        self.flush_all();
        self.status();
    }

    /// Serves the server until the model got `count` requests.
    pub fn until_asked(&mut self, model: &Model, count: usize) {
        self.until(&format!("model request {count}"), |_| {
            (model.count() >= count).then_some(())
        });
    }

    /// The result of `interline/status`.
    pub fn status(&mut self) -> Value {
        self.request("interline/status", json!({}))
    }

    /// The server's row about a document.
    pub fn document(&mut self, name: &str) -> Value {
        let uri = self.uri(name);
        let status = self.status();
        let rows = status["documents"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| row["uri"] == uri.as_str());
        row.unwrap_or_else(|| self.fail(&format!("no document {uri} in {status}")))
    }

    /// Compares every buffer with the server's mirror.
    pub fn compare(&mut self) {
        self.flush_all();
        let status = self.status();
        let rows = status["documents"].as_array().cloned().unwrap_or_default();
        let mut wrong = Vec::new();
        for (uri, buffer) in self.buffers.iter().filter(|(_, buffer)| buffer.mirrored) {
            let row = rows.iter().find(|row| row["uri"] == uri.as_str());
            let hash = row.map(|row| row["hash"].clone()).unwrap_or_default();
            if hash != sha256(&buffer.text).as_str() {
                wrong.push(format!("{uri}: {:?}, the server has {row:?}", buffer.text));
            }
        }
        if !wrong.is_empty() {
            self.fail(&format!("buffer and mirror differ:\n{}", wrong.join("\n")));
        }
    }

    /// Shuts the server down; its exit code.
    pub fn quit(&mut self) -> i32 {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.process.wait(LIMIT)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if !self.reported {
                eprintln!("{}", self.process.report());
            }
            return;
        }
        if self.process.over() {
            return;
        }
        self.compare();
        assert_eq!(self.quit(), 0, "exit code\n{}", self.process.report());
        let allowed = |what: &String| self.allowed.iter().any(|part| what.contains(part));
        let mut wrong = std::mem::take(&mut self.unexpected);
        wrong.retain(|what| !allowed(what));
        if let Some(left) = self.script.leftover() {
            wrong.push(left);
        }
        let report = self.process.report();
        assert!(
            wrong.is_empty(),
            "unexpected:\n{}\n{report}",
            wrong.join("\n")
        );
    }
}

/// The byte splices of a server's edit on a buffer.
fn splices_of(buffer: &Buffer, edits: &Value, encoding: Encoding) -> Result<Vec<Splice>, String> {
    let edits = edits.as_array().ok_or("an edit without edits")?;
    text::splices(&buffer.text, edits, encoding)
}
