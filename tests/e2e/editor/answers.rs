//! What the user and the editor answer to the server's own requests, as the story scripts it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::Editor;

/// One answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    Allow,
    AllowSession,
    AllowFolder,
    AllowAlways,
    Reject,
    /// Allows, but names another hash.
    WrongHash,
    /// A message that was dismissed: null.
    Close,
    /// A JSON-RPC error.
    Error,
    /// No answer at all.
    Never,
}

/// One answer to a question of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    Says(&'static str),
    Declines,
    Closes,
    /// A JSON-RPC error.
    Error,
    /// No answer at all.
    Never,
}

/// One answer to a message with buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The button whose title contains this.
    Titled(&'static str),
    /// A JSON-RPC error.
    Error,
}

/// Something that happens when the next edit arrives, before it is handled.
pub type Hook = Box<dyn FnOnce(&mut Editor)>;

/// The answer to a query, after what happens meanwhile; `None`: no answer.
pub type QueryHook = Box<dyn FnOnce(&mut Editor, &Value) -> Option<Value>>;

#[derive(Default)]
pub struct Script {
    /// Answers to the next approvals; an approval without one is rejected and fails the story.
    pub approvals: VecDeque<Approval>,
    /// Approvals that were asked for.
    pub asked: Vec<Value>,
    /// Answers to the next questions; a question without one is declined and fails the story.
    pub reactions: VecDeque<Reaction>,
    /// Questions that were asked, by our own request or by a message.
    pub questions: Vec<Value>,
    /// Edit requests of either kind, in order.
    pub edits: Vec<Value>,
    pub before_edit: VecDeque<Hook>,
    /// The same for approvals by our own request.
    pub before_approval: VecDeque<Hook>,
    /// The creation of a progress is answered late, by the story.
    pub slow_progress: bool,
    /// Formats a text before it is saved.
    pub formatter: Option<fn(&str) -> String>,
    /// Open documents are read again when the server says that they changed on disk.
    pub reloads: bool,
    /// The user declines to save.
    pub declines_saving: bool,
    pub saves: Vec<Value>,
    /// What the user picks in the next messages with buttons that are not approvals.
    pub picks: VecDeque<Pick>,
    /// Those messages.
    pub offered: Vec<Value>,
    /// URIs of documents that were to be shown.
    pub shown: Vec<String>,
    /// Answers of the client's own tools; `None`: no answer.
    pub tool_answers: VecDeque<Option<Value>>,
    /// Answers to the next queries; `None`: no answer. A query without one fails the story.
    pub query_answers: VecDeque<QueryHook>,
    /// Queries of the editor's language servers.
    pub queries: Vec<Value>,
    /// Calls of those tools.
    pub tool_calls: Vec<Value>,
    /// What the server asked the client to refresh.
    pub refreshed: Vec<String>,
}

impl Script {
    /// Scripted answers that were never used.
    pub fn leftover(&self) -> Option<String> {
        let hooks = self.before_edit.len() + self.before_approval.len();
        let count = self.approvals.len() + hooks + self.reactions.len() + self.picks.len();
        let answers = (&self.approvals, &self.reactions);
        (count > 0).then(|| format!("{answers:?} was never asked for"))
    }
}

impl Editor {
    /// Scripts the answers to the next approvals.
    pub fn approvals(&mut self, answers: &[Approval]) {
        self.script.approvals.extend(answers);
    }

    /// Scripts the answers to the next questions.
    pub fn reactions(&mut self, answers: &[Reaction]) {
        self.script.reactions.extend(answers);
    }

    /// Lets the user do something just before the next edit is handled.
    pub fn before_edit(&mut self, act: impl FnOnce(&mut Editor) + 'static) {
        self.script.before_edit.push_back(Box::new(act));
    }

    /// Lets the user do something just before the next approval is answered.
    pub fn before_approval(&mut self, act: impl FnOnce(&mut Editor) + 'static) {
        self.script.before_approval.push_back(Box::new(act));
    }

    /// Scripts the answer to the next query.
    pub fn query(&mut self, act: impl FnOnce(&mut Editor, &Value) -> Option<Value> + 'static) {
        self.script.query_answers.push_back(Box::new(act));
    }

    fn answer_query(&mut self, id: Value, params: &Value) {
        self.script.queries.push(params.clone());
        let Some(act) = self.script.query_answers.pop_front() else {
            self.unexpected(format!("a query that nobody expected: {params}"));
            return self.reply_error(id, -32603, "no answer is scripted");
        };
        match act(self, params) {
            Some(answer) => self.reply(id, answer),
            None => self.held_back.push(id),
        }
    }

    /// Answers one request of the server.
    pub(super) fn serve(&mut self, id: Value, method: &str, params: &Value) {
        if method.starts_with("interline/") && !self.profile.announced(method) {
            self.unexpected(format!("{method} was not announced"));
        }
        match method {
            "workspace/applyEdit" | "interline/edit/apply" => {
                self.script.edits.push(params.clone());
                if let Some(act) = self.script.before_edit.pop_front() {
                    act(self);
                }
                self.apply(id, method, params);
            }
            "interline/approval/request" => self.approve(id, params),
            "window/showMessageRequest" if is_question(params) => self.react(id, params, true),
            "window/showMessageRequest" if !self.script.picks.is_empty() => {
                self.pick(id, params);
            }
            "window/showMessageRequest" => self.choose(id, params),
            "interline/tool/call" => {
                self.script.tool_calls.push(params.clone());
                match self.script.tool_answers.pop_front().flatten() {
                    Some(answer) => self.reply(id, answer),
                    None => self.held_back.push(id),
                }
            }
            "interline/editor/query" => self.answer_query(id, params),
            "interline/workspace/save" => self.save_all(id, params),
            "interline/question/request" => self.react(id, params, false),
            "workspace/configuration" => {
                let items = params["items"].as_array().map_or(0, Vec::len);
                self.reply(id, json!(vec![Value::Null; items]));
            }
            "window/showDocument" => self.show(id, params),
            "window/workDoneProgress/create" if self.script.slow_progress => {
                self.held_back.push(id);
            }
            "window/workDoneProgress/create"
            | "client/registerCapability"
            | "client/unregisterCapability" => self.reply(id, Value::Null),
            _ if method.ends_with("/refresh") => {
                self.script.refreshed.push(method.to_owned());
                self.reply(id, Value::Null);
            }
            _ => {
                self.unexpected(format!("request {method} {params}"));
                self.reply_error(id, -32601, "Method not found");
            }
        }
    }

    pub fn reply(&mut self, id: Value, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.process.send(&message);
    }

    /// Answers an edit that the profile left unanswered.
    pub fn answer_late(&mut self, id: Value, applied: bool) {
        self.reply(id, json!({ "applied": applied }));
    }

    pub(super) fn reply_error(&mut self, id: Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.process.send(&message);
    }

    fn next_approval(&mut self, params: &Value) -> Approval {
        self.script.asked.push(params.clone());
        self.script.approvals.pop_front().unwrap_or_else(|| {
            self.unexpected(format!("an approval that nobody expected: {params}"));
            Approval::Reject
        })
    }

    fn approve(&mut self, id: Value, params: &Value) {
        let answer = self.next_approval(params);
        if let Some(act) = self.script.before_approval.pop_front() {
            act(self);
        }
        let kind = match answer {
            Approval::Allow | Approval::WrongHash => "allowOnce",
            Approval::AllowSession => "allowSession",
            Approval::AllowFolder => "allowFolder",
            Approval::AllowAlways => "allowAlways",
            Approval::Reject => "rejectOnce",
            Approval::Close => return self.reply(id, Value::Null),
            Approval::Error => return self.reply_error(id, -32603, "no"),
            Approval::Never => return self.held_back.push(id),
        };
        let choices = params["choices"].as_array().cloned().unwrap_or_default();
        let Some(choice) = choices.iter().find(|choice| choice["kind"] == kind) else {
            self.unexpected(format!("no choice {kind} in {params}"));
            return self.reply_error(id, -32603, "no such choice");
        };
        let hash = match answer {
            Approval::WrongHash => json!("0".repeat(64)),
            _ => params["hash"].clone(),
        };
        self.reply(id, json!({ "choice": choice["id"], "hash": hash }));
    }

    /// A bare client's toast: the first action allows, one that names the session allows for
    /// it, one that begins with `Reject` rejects.
    fn choose(&mut self, id: Value, params: &Value) {
        let answer = self.next_approval(params);
        let actions = params["actions"].as_array().cloned().unwrap_or_default();
        let titled = |part: &str| {
            let found = actions.iter().find(|action| {
                let title = action["title"].as_str().unwrap_or_default();
                title.to_lowercase().contains(part)
            });
            found.cloned().unwrap_or_default()
        };
        match answer {
            Approval::Allow | Approval::WrongHash => self.reply(id, titled("allow")),
            Approval::AllowSession => self.reply(id, titled("session")),
            Approval::AllowFolder => self.reply(id, titled("in this folder")),
            Approval::AllowAlways => self.reply(id, titled("in all")),
            Approval::Reject => self.reply(id, titled("reject")),
            Approval::Close => self.reply(id, Value::Null),
            Approval::Error => self.reply_error(id, -32601, "Method not found"),
            Approval::Never => self.held_back.push(id),
        }
    }

    fn pick(&mut self, id: Value, params: &Value) {
        self.script.offered.push(params.clone());
        let actions = params["actions"].as_array().cloned().unwrap_or_default();
        match self.script.picks.pop_front() {
            Some(Pick::Titled(part)) => {
                let titled = |it: &&Value| it["title"].as_str().is_some_and(|it| it.contains(part));
                match actions.iter().find(titled) {
                    Some(action) => self.reply(id, action.clone()),
                    None => self.unexpected(format!("no button {part} in {params}")),
                }
            }
            None => self.reply(id, Value::Null),
            Some(Pick::Error) => self.reply_error(id, -32601, "Method not found"),
        }
    }

    /// Editors open what they show; a page is the browser's.
    fn show(&mut self, id: Value, params: &Value) {
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        self.script.shown.push(uri.clone());
        if params["external"] != true && !self.buffers.contains_key(&uri) {
            self.open_uri(&uri);
        }
        self.reply(id, json!({ "success": true }));
    }

    /// Answers a question; as a message's button or as our request's result.
    fn react(&mut self, id: Value, params: &Value, button: bool) {
        self.script.questions.push(params.clone());
        let reaction = self.script.reactions.pop_front().unwrap_or_else(|| {
            self.unexpected(format!("a question that nobody expected: {params}"));
            Reaction::Declines
        });
        let result = match reaction {
            Reaction::Says(words) if button => json!({ "title": words }),
            Reaction::Says(words) => json!({ "outcome": "answered", "answer": words }),
            Reaction::Declines | Reaction::Closes if button => Value::Null,
            Reaction::Declines => json!({ "outcome": "declined" }),
            Reaction::Closes => json!({ "outcome": "cancelled" }),
            Reaction::Error => return self.reply_error(id, -32601, "Method not found"),
            Reaction::Never => return self.held_back.push(id),
        };
        self.reply(id, result);
    }

    fn save_all(&mut self, id: Value, params: &Value) {
        self.script.saves.push(params.clone());
        self.flush_all();
        let uris = params["uris"].as_array().cloned().unwrap_or_default();
        let mut results = Vec::new();
        for uri in uris {
            let name = uri.as_str().unwrap_or_default().to_owned();
            if self.script.declines_saving || !self.buffers.contains_key(&name) {
                results.push(json!({ "uri": name, "status": "declined",
                                      "reason": "the disk is full" }));
                continue;
            }
            self.save_uri(&name);
            let version = self.buffers[&name].version;
            results.push(json!({ "uri": name, "status": "saved", "version": version }));
        }
        self.reply(id, json!({ "results": results }));
    }
}

/// A message with the model's question, not one that asks for consent.
fn is_question(params: &Value) -> bool {
    let text = params["message"].as_str().unwrap_or_default();
    text.starts_with("Interline asks: ")
}
