//! Sessions and turns as a client sees them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Editor, LIMIT};

/// A turn that ended.
pub struct Turn {
    pub events: Vec<Value>,
    /// The params of `interline/turn/ended`.
    pub ended: Value,
}

impl Turn {
    pub fn stop_reason(&self) -> &str {
        self.ended["stopReason"].as_str().unwrap_or_default()
    }

    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect()
    }

    /// All completed text.
    pub fn text(&self) -> String {
        let texts = self.of("text").into_iter();
        texts.filter_map(|event| event["text"].as_str()).collect()
    }

    /// Tool calls in their last state, in order of appearance.
    pub fn calls(&self) -> Vec<&Value> {
        let mut found: Vec<&Value> = Vec::new();
        for call in self.of("toolCall") {
            match found
                .iter_mut()
                .find(|known| known["itemId"] == call["itemId"])
            {
                Some(known) => *known = call,
                None => found.push(call),
            }
        }
        found
    }

    pub fn statuses(&self) -> Vec<&str> {
        let calls = self.calls().into_iter();
        calls.filter_map(|call| call["status"].as_str()).collect()
    }
}

impl Editor {
    /// Queues a prompt behind the running turn; returns its id.
    pub fn queue(&mut self, text: &str) -> String {
        let mut params = self.turn_params(text);
        params["whenBusy"] = "queue".into();
        let queued = self.request("interline/turn/start", params);
        assert_eq!(queued["state"], "queued");
        queued["turnId"].as_str().unwrap().to_owned()
    }

    /// The session of this editor; made at the first use.
    pub fn session(&mut self) -> String {
        if let Some(session) = &self.session {
            return session.clone();
        }
        self.new_session(json!({}))
    }

    pub fn new_session(&mut self, params: Value) -> String {
        let made = self.request("interline/session/new", params);
        let id = made["sessionId"].as_str().expect("a session id").to_owned();
        self.session = Some(id.clone());
        id
    }

    /// Resumes a stored session.
    pub fn resume(&mut self, session: &str) -> Value {
        let opened = self.look_at(session);
        self.session = Some(session.into());
        opened
    }

    /// Opens a session beside the current one.
    pub fn look_at(&mut self, session: &str) -> Value {
        let opened = self.request("interline/session/open", json!({ "sessionId": session }));
        self.ledger.opened(&opened);
        opened
    }

    pub fn configure(&mut self, key: &str, value: Value) {
        let mut params = json!({ "sessionId": self.session() });
        params[key] = value;
        self.request("interline/session/configure", params);
    }

    /// The params of `turn/start` for a plain prompt, with the versions of all buffers.
    pub fn turn_params(&mut self, text: &str) -> Value {
        let versions: serde_json::Map<String, Value> = self
            .buffers
            .values()
            .filter(|buffer| buffer.mirrored)
            .map(|buffer| (buffer.uri.clone(), buffer.version.into()))
            .collect();
        json!({
            "sessionId": self.session(),
            "input": [{ "type": "text", "text": text }],
            "context": { "editors": [], "versions": versions },
        })
    }

    /// Starts a turn after flushing all buffers, as plugins do.
    pub fn prompt(&mut self, text: &str) -> String {
        self.flush_all();
        let params = self.turn_params(text);
        self.start(params)
    }

    pub fn start(&mut self, params: Value) -> String {
        let started = self.request("interline/turn/start", params);
        let id = started["turnId"].as_str().expect("a turn id").to_owned();
        self.turn = Some(id.clone());
        id
    }

    /// Waits for the end of the turn started last.
    pub fn wait_ended(&mut self) -> Turn {
        self.wait_ended_within(LIMIT)
    }

    pub fn wait_ended_within(&mut self, limit: Duration) -> Turn {
        let turn = self.turn.clone().expect("a turn was started");
        self.wait_for_turn(&turn, limit)
    }

    pub fn wait_for_turn(&mut self, turn: &str, limit: Duration) -> Turn {
        let ended = self.until_within(limit, "the turn's end", |editor| {
            editor.note("interline/turn/ended", |params| params["turnId"] == turn)
        });
        let events = self.events(turn);
        Turn { events, ended }
    }

    /// Prompts and waits for the end.
    pub fn run(&mut self, text: &str) -> Turn {
        self.prompt(text);
        self.wait_ended()
    }

    /// Events of a turn so far.
    pub fn events(&self, turn: &str) -> Vec<Value> {
        let notes = self.notes.iter();
        let events = notes.filter(|note| {
            note["method"] == "interline/turn/event" && note["params"]["turnId"] == turn
        });
        events.map(|note| note["params"]["event"].clone()).collect()
    }

    /// Waits for an event of the running turn.
    pub fn wait_event(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let turn = self.turn.clone().expect("a turn was started");
        self.until(what, |editor| {
            editor.events(&turn).into_iter().find(|event| wanted(event))
        })
    }

    /// Waits until a call of the running turn has this status.
    pub fn wait_status(&mut self, status: &str) -> Value {
        self.wait_event(&format!("a call that is {status}"), |event| {
            event["type"] == "toolCall" && event["status"] == status
        })
    }

    /// The params of the first notification of `method` that `wanted` takes.
    pub fn note(&self, method: &str, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let mut notes = self.notes.iter().filter(|note| note["method"] == method);
        notes
            .find(|note| wanted(&note["params"]))
            .map(|note| note["params"].clone())
    }

    /// Runs a command of ours, as every client can.
    pub fn command(&mut self, name: &str, argument: Value) -> Value {
        let params = json!({ "command": format!("interline.{name}"), "arguments": [argument] });
        self.request("workspace/executeCommand", params)
    }

    /// Waits for a message to the user that contains `part`.
    pub fn message(&mut self, part: &str) -> String {
        self.until(&format!("a message with {part:?}"), |editor| {
            let params = editor.note("window/showMessage", |params| {
                params["message"]
                    .as_str()
                    .is_some_and(|it| it.contains(part))
            })?;
            params["message"].as_str().map(str::to_owned)
        })
    }

    /// Titles of the code actions at the start of a line of an open file.
    pub fn actions(&mut self, name: &str, line: u32) -> Vec<Value> {
        let at = json!({ "line": line, "character": 0 });
        let params = json!({ "textDocument": { "uri": self.uri(name) },
            "range": { "start": at, "end": at }, "context": { "diagnostics": [] } });
        let answer = self.request("textDocument/codeAction", params);
        answer.as_array().cloned().unwrap_or_default()
    }

    pub fn cancel(&mut self) -> Value {
        let session = self.session();
        self.request("interline/turn/cancel", json!({ "sessionId": session }))
    }

    /// The body that the preview promises for the same arguments.
    pub fn preview(&mut self, params: &Value) -> Value {
        self.request("interline/prompt/preview", params.clone())
    }
}
