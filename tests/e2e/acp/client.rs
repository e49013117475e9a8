//! A scripted ACP client: its own buffers over the disk, scripted permissions, and a record of
//! every received line.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::lines::Lines;
use crate::editor::LIMIT;
use crate::editor::process::Process;
use crate::fixture::Stage;
use crate::model::Model;

/// What the user does with the next permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Chooses the option of this kind.
    Takes(&'static str),
    /// Leaves it on the screen.
    Waits,
}

type OnWrite = Box<dyn FnMut(&str, &str) -> String>;

pub struct Client {
    pub process: Process,
    lines: Lines,
    last: i64,
    /// Methods of our unanswered requests.
    asked: HashMap<i64, String>,
    answers: HashMap<i64, Value>,
    /// Params of each `session/update`, in order.
    pub updates: Vec<Value>,
    /// Params of permission requests with their ids.
    pub permissions: Vec<(Value, Value)>,
    pub user: VecDeque<Answer>,
    /// Params of the forms with their ids, and the results with which they are answered; without
    /// one a form stays on the screen.
    pub forms: Vec<(Value, Value)>,
    pub fills: VecDeque<Value>,
    /// Unsaved texts by path.
    pub buffers: HashMap<String, String>,
    /// The buffers' text from the nth file request on: the user types between two of them.
    pub typing: Option<(usize, String)>,
    /// Methods and paths of the file requests.
    pub files: Vec<(String, String)>,
    /// What the client makes of a written text, such as a formatter.
    pub on_write: OnWrite,
    /// Writes reach the disk too (as in Zed), not only the buffer.
    pub saves: bool,
    /// Errors whose id is null.
    pub bad: Vec<Value>,
}

impl Client {
    /// A client with a file system, initialized.
    pub fn start(stage: &Stage, model: &Model) -> Self {
        let mut client = Self::spawn(stage, model);
        client.initialize(json!({ "fs": { "readTextFile": true, "writeTextFile": true } }));
        client
    }

    pub fn spawn(stage: &Stage, model: &Model) -> Self {
        let environment = stage.environment(&model.url());
        Self::of(Process::start_lines(&["acp"], &environment, &stage.root()))
    }

    pub fn of(process: Process) -> Self {
        Self {
            process,
            lines: Lines::new(),
            last: 0,
            asked: HashMap::new(),
            answers: HashMap::new(),
            updates: Vec::new(),
            permissions: Vec::new(),
            user: VecDeque::new(),
            forms: Vec::new(),
            fills: VecDeque::new(),
            buffers: HashMap::new(),
            typing: None,
            files: Vec::new(),
            on_write: Box::new(|_, text| text.to_owned()),
            saves: true,
            bad: Vec::new(),
        }
    }

    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities,
            "clientInfo": { "name": "story", "version": "1" } });
        self.call("initialize", params).expect("initialize")
    }

    /// As a client that speaks another version.
    pub fn initialize_with(&mut self, version: u64) -> Value {
        let params = json!({ "protocolVersion": version });
        self.call("initialize", params).expect("initialize")
    }

    /// A session in `dir`; its id.
    pub fn session(&mut self, dir: &Path) -> String {
        let params = json!({ "cwd": dir, "mcpServers": [] });
        let new = self.call("session/new", params).expect("a session");
        new["sessionId"].as_str().expect("an id").to_owned()
    }

    /// Prompts and waits; the stop reason.
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.start_prompt(session, text);
        let result = self.wait(id).expect("an end");
        result["stopReason"].as_str().expect("a reason").to_owned()
    }

    pub fn start_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = [json!({ "type": "text", "text": text })];
        let params = json!({ "sessionId": session, "prompt": prompt });
        self.send("session/prompt", params)
    }

    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        self.wait(id)
    }

    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.asked.insert(id, method.to_owned());
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    fn line(&mut self, message: &Value) {
        self.process.send_line(message);
    }

    /// The answer to request `id`.
    pub fn wait(&mut self, id: i64) -> Result<Value, Value> {
        self.until(|client| client.answers.contains_key(&id));
        let answer = self.answers.remove(&id).expect("an answer");
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Handles one message or waits a moment; the stop reason of prompt `id` if it has ended. For
    /// stories in which an editor works at the same time.
    pub fn poll(&mut self, id: i64) -> Option<String> {
        if let Some(message) = self.process.receive(Duration::from_millis(10)) {
            self.take(message);
        }
        let answer = self.answers.remove(&id)?;
        let reason = &answer["result"]["stopReason"];
        Some(reason.as_str().expect("a reason").to_owned())
    }

    pub fn until(&mut self, done: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !done(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let late = left.is_zero() || self.process.ended();
            assert!(!late, "nothing more came\n{}", self.process.report());
            if let Some(message) = self.process.receive(left.min(Duration::from_millis(200))) {
                self.take(message);
            }
        }
    }

    fn take(&mut self, message: Value) {
        let id = message.get("id").cloned().unwrap_or_default();
        let ours = id.as_i64().filter(|_| message.get("method").is_none());
        let asked = ours.and_then(|id| self.asked.remove(&id));
        self.lines.add(asked.as_deref(), &message);
        let params = &message["params"];
        match (message["method"].as_str(), ours) {
            (None, Some(id)) => {
                self.answers.insert(id, message);
            }
            (None, None) => self.bad.push(message["error"].clone()),
            (Some("session/update"), _) => self.updates.push(params.clone()),
            (Some("session/request_permission"), _) => self.asked_permission(id, params.clone()),
            (Some("elicitation/create"), _) => {
                if let Some(result) = self.fills.pop_front() {
                    self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
                }
                self.forms.push((id, params.clone()));
            }
            (Some("fs/read_text_file"), _) => self.read(&id, params),
            (Some("fs/write_text_file"), _) => self.write(&id, params),
            _ => {}
        }
    }

    fn asked_permission(&mut self, id: Value, params: Value) {
        self.permissions.push((id, params));
        match self.user.pop_front() {
            Some(Answer::Takes(kind)) => self.answer_last(kind),
            Some(Answer::Waits) => {}
            None => panic!("nobody expected a permission request"),
        }
    }

    /// Answers the last permission request with the option of that kind.
    pub fn answer_last(&mut self, kind: &str) {
        let (id, params) = self.permissions.last().cloned().expect("a request");
        let options = params["options"].as_array().expect("options");
        let option = options.iter().find(|option| option["kind"] == kind);
        let outcome = match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
    }

    fn read(&mut self, id: &Value, params: &Value) {
        let path = params["path"].as_str().expect("a path").to_owned();
        if let Some((_, text)) = self.typing.take_if(|(n, _)| *n == self.files.len()) {
            self.buffers.insert(path.clone(), text);
        }
        let text = self.buffers.get(&path).cloned();
        let text = text.or_else(|| std::fs::read_to_string(&path).ok());
        self.files.push(("read".to_owned(), path));
        let answer = match text {
            Some(text) => json!({ "jsonrpc": "2.0", "id": id, "result": { "content": text } }),
            None => json!({ "jsonrpc": "2.0", "id": id,
                "error": { "code": -32002, "message": "no such file" } }),
        };
        self.line(&answer);
    }

    fn write(&mut self, id: &Value, params: &Value) {
        let path = params["path"].as_str().expect("a path").to_owned();
        let text = params["content"].as_str().expect("a text");
        let text = (self.on_write)(&path, text);
        if self.saves {
            let folder = Path::new(&path).parent().expect("a folder");
            std::fs::create_dir_all(folder).expect("a folder");
            std::fs::write(&path, &text).expect("a file");
            self.buffers.remove(&path);
        } else {
            self.buffers.insert(path.clone(), text);
        }
        self.files.push(("write".to_owned(), path));
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }

    /// The kinds of the updates so far; repeated ones appear once.
    pub fn kinds(&self) -> Vec<&str> {
        let kinds = self.updates.iter();
        let mut kinds: Vec<&str> = kinds
            .filter_map(|params| params["update"]["sessionUpdate"].as_str())
            .collect();
        kinds.dedup();
        kinds
    }

    /// The agent's text in a session so far.
    pub fn agent_text(&self, session: &str) -> String {
        let updates = self.updates.iter();
        updates
            .filter(|params| params["sessionId"] == session)
            .filter(|params| params["update"]["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|params| params["update"]["content"]["text"].as_str())
            .collect()
    }

    /// The updates of one kind.
    pub fn all(&self, kind: &str) -> Vec<Value> {
        let updates = self.updates.iter().map(|params| &params["update"]);
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .cloned()
            .collect()
    }

    /// Closes the input, records what still arrives, and returns the exit code.
    pub fn leave(mut self) -> i32 {
        self.process.close_stdin();
        let deadline = Instant::now() + LIMIT;
        while !self.process.ended() && Instant::now() < deadline {
            if let Some(message) = self.process.receive(Duration::from_millis(200)) {
                self.take(message);
            }
        }
        self.process.wait(LIMIT)
    }
}
