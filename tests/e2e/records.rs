//! Whole sessions compared with a record of all that crossed the wire: what the client is shown and
//! asked, and what the model reads. What differs from run to run is masked. After an intended
//! change: `INSTA_UPDATE=always cargo test --test e2e records`, and review the diff.

use std::collections::HashMap;
use std::fmt::Write as _;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::{KEY, Stage};
use crate::model::{Model, Reply, RequestView};

const TEXT: &str = "//- /AGENTS.md\n# Rules\nUse tabs.\n//- /src/AGENTS.md\nNo jokes in comments.\n\
    //- /src/lib.rs\nmod util;\n\nfn main() {\n\tutil::greet(\"you\");\n}\n\
    //- /src/util.rs\npub fn greet(name: &str) {\n\tprintln!(\"hi {name}\");\n}\n\
    //- /notes.txt\nalpha\nbeta\nalpha\n//- /.gitignore\ntarget/\n//- /target/old.rs\nfn old() {}\n\
    //- /.agents/skills/deploy/SKILL.md\n---\nname: deploy\ndescription: How to deploy.\n---\nRun it.\n";

/// Masks what differs from run to run.
struct Masks {
    rules: Vec<(Regex, &'static str)>,
    ids: Regex,
    known: HashMap<String, String>,
    places: [(String, &'static str); 2],
}

impl Masks {
    fn new(stage: &Stage) -> Self {
        let rule = |pattern: &str, mask| (Regex::new(pattern).expect("a pattern"), mask);
        let place = |path: &std::path::Path| path.display().to_string();
        let root = stage.root();
        Self {
            rules: vec![
                rule(
                    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?",
                    "TIME",
                ),
                rule(r"\d{4}-\d\d-\d\d", "DATE"),
                rule(r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", "WEEKDAY"),
                rule(r"127\.0\.0\.1:\d+", "HOST"),
                rule(r"[0-9a-f]{64}", "HASH"),
                rule(r#"("prompt_cache_key": )"[0-9a-f]+""#, "$1KEY"),
                // Lengths of paths differ, and with them sizes and estimates.
                rule(
                    r#"("(\w*([tT]okens|[bB]ytes|[mM]s)|seq)":) ?[\d.]+"#,
                    "$1 N",
                ),
                rule(r"about [\d,]+ tokens", "about N tokens"),
                rule(r"[\d.]+k? tokens", "N tokens"),
                rule(r"\d+ bytes", "N bytes"),
            ],
            ids: Regex::new(r"\b([a-z]+)_[0-9a-f]{16,}\b").expect("a pattern"),
            known: HashMap::new(),
            places: [
                (place(&root), "/WORK"),
                (place(root.parent().expect("a parent")), "/STAGE"),
            ],
        }
    }

    fn apply(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, mask) in &self.places {
            text = text.replace(place, mask);
        }
        let known = &mut self.known;
        text = self
            .ids
            .replace_all(&text, |found: &Captures| {
                let next = known.len();
                let id = known.entry(found[0].to_owned());
                id.or_insert_with(|| format!("{}_{next}", &found[1]))
                    .clone()
            })
            .into_owned();
        for (rule, mask) in &self.rules {
            text = rule.replace_all(&text, *mask).into_owned();
        }
        text
    }
}

/// Whether an event continues the text or output of the one before it.
fn is_part(last: &Value, params: &Value) -> bool {
    let (last, event) = (&last["event"], &params["event"]);
    let kind = event["type"].as_str().unwrap_or_default();
    kind.ends_with("Delta")
        && (&last["type"], &last["itemId"]) == (&event["type"], &event["itemId"])
}

/// Whether a tool call ended.
fn is_end(params: &Value) -> bool {
    let event = &params["event"];
    event["type"] == "toolCall" && (event["status"] == "completed" || event["status"] == "failed")
}

/// What crossed the wire, as text: a line for each message to the client, and the request in full.
struct Record {
    masks: Masks,
    text: String,
}

impl Record {
    fn new(stage: &Stage) -> Self {
        let (masks, text) = (Masks::new(stage), String::new());
        Self { masks, text }
    }

    fn title(&mut self, title: &str) {
        let _ = write!(self.text, "\n== {title}\n");
    }

    fn line(&mut self, what: &str, value: &Value) {
        let text = self.masks.apply(&value.to_string());
        let _ = writeln!(self.text, "{what} {text}");
    }

    /// Notifications since the last call; parts of one text or output as one, and the ends of calls
    /// that ran side by side in the order of the calls.
    fn notes(&mut self, editor: &mut Editor) {
        let mut lines: Vec<(String, Value)> = Vec::new();
        for note in std::mem::take(&mut editor.notes) {
            let method = note["method"].as_str().unwrap_or_default().to_owned();
            // When progress and status are sent depends on how busy the machine is.
            if method == "interline/status/didChange" || method == "$/progress" {
                continue;
            }
            let params = note["params"].clone();
            match lines.last_mut() {
                Some((_, last)) if is_part(last, &params) => {
                    let parts = [&last["event"]["text"], &params["event"]["text"]];
                    let text = parts.map(|it| it.as_str().unwrap_or_default()).concat();
                    last["event"]["text"] = text.into();
                }
                _ => lines.push((method, params)),
            }
        }
        // Ids of items sort by the time at which they were made.
        for run in lines.chunk_by_mut(|(_, one), (_, next)| is_end(one) && is_end(next)) {
            run.sort_by_key(|(_, params)| params["event"]["itemId"].to_string());
        }
        for (method, params) in lines {
            self.line(&method, &params);
        }
    }

    /// What the client was asked since the last call.
    fn asked(&mut self, editor: &mut Editor) {
        for asked in std::mem::take(&mut editor.script.asked) {
            self.line("asked", &asked);
        }
        // Edits of several files are sent side by side.
        let mut edits = std::mem::take(&mut editor.script.edits);
        edits.sort_by_key(Value::to_string);
        edits.iter().for_each(|edit| self.line("edit", edit));
    }

    /// A request as the provider reads it; of the tools and, where `system` is false, of the system
    /// text only that they are there.
    fn request(&mut self, request: &RequestView, system: bool) {
        let mut body: Value = serde_json::from_str(&request.raw_text()).expect("JSON");
        body["tools"] = "…".into();
        if !system {
            let first = body["messages"][0]["role"] == "system";
            let first = first.then_some("/messages/0/content");
            for key in ["/system", "/instructions"].into_iter().chain(first) {
                if let Some(text) = body.pointer_mut(key) {
                    *text = "…".into();
                }
            }
        }
        let pretty = serde_json::to_string_pretty(&body).expect("JSON");
        let text = self.masks.apply(&pretty.replace("\\n", "\n"));
        let _ = writeln!(self.text, "{text}");
    }

    fn holds(self, name: &str) {
        insta::with_settings!({
            snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true
        }, {
            // An empty line of a text ends in the spaces of its place.
            let lines: Vec<_> = self.text.lines().map(str::trim_end).collect();
            insta::assert_snapshot!(name, lines.join("\n"));
        });
    }
}

/// Nearly every tool, failures included; then a turn with a retry and one that is stopped short.
fn script(request: &RequestView) -> Reply {
    let todos = json!({ "todos": [
        { "text": "look", "status": "completed" }, { "text": "change", "status": "in_progress" }] });
    match request.n {
        0 => Reply::call("list", json!({ "path": "." }))
            .and_call("glob", json!({ "pattern": "**/*.rs" }))
            .and_call("grep", json!({ "pattern": "fn \\w+", "path": "src" }))
            .saying("I look around.")
            .thinking("First the files."),
        1 => Reply::read("src/lib.rs")
            .and_call(
                "read",
                json!({ "path": "src/util.rs", "offset": 2, "limit": 1 }),
            )
            .and_call("read", json!({ "path": "missing.rs" }))
            .and_call("read", json!({ "path": 3 }))
            .and_call("reed", json!({ "path": "notes.txt" })),
        2 => Reply::edit("src/lib.rs", "\"you\"", "\"all\"").and_call(
            "write",
            json!({ "path": "new/a.txt", "content": "one\ntwo\n" }),
        ),
        3 => Reply::edit("notes.txt", "alpha", "gamma"),
        4 => Reply::edit("notes.txt", "beta", "delta").and_call("write_todos", todos),
        5 => Reply::call(
            "exec",
            json!({ "command": "printf 'a\\nb\\n'; exit 3", "description": "Prints" }),
        ),
        6 => Reply::call("load_skill", json!({ "name": "deploy" }))
            .and_call("load_skill", json!({ "name": "deplay" }))
            .and_call("memory_search", json!({ "query": "tabs" })),
        7 => Reply::text("All is **done**."),
        8 => Reply::rate_limited("0"),
        9 => Reply::text("Cut short").stopping("max_tokens"),
        _ => Reply::text("Again."),
    }
}

fn context(editor: &Editor, params: &mut Value) {
    let at = |line: u32, character: u32| json!({ "line": line, "character": character });
    params["context"]["editors"] = json!([{
        "uri": editor.uri("src/lib.rs"), "version": 1, "active": true,
        "selections": [{ "start": at(3, 0), "end": at(3, 5) }],
    }]);
}

#[test]
fn the_record_of_a_session_in_an_editor_with_our_plugin() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let mut record = Record::new(&stage);
    let uri = editor.open("src/lib.rs");
    editor.append(&uri, "// unsaved\n");
    editor.flush_all();
    let reported = json!({ "uri": uri, "version": 2, "diagnostics": [{
        "range": { "start": { "line": 3, "character": 1 }, "end": { "line": 3, "character": 5 } },
        "severity": 1, "source": "rustc", "message": "unresolved" }] });
    editor.notify("interline/diagnostics/didChange", reported);
    editor.approvals(&[Approval::Allow]);
    let mut params = editor.turn_params("Tidy it");
    context(&editor, &mut params);
    for (title, text) in [("one", ""), ("two", "and now?"), ("three", "continue")] {
        record.title(title);
        if !text.is_empty() {
            editor.prepend("src/lib.rs", "// mine\n");
            editor.flush_all();
            params = editor.turn_params(text);
        }
        editor.start(params.take());
        editor.wait_ended();
        record.notes(&mut editor);
        record.asked(&mut editor);
    }
    record.title("reverted, listed, opened again");
    let session = json!({ "sessionId": editor.session() });
    let first = editor.request("interline/session/open", session.clone());
    let turn = first["items"][0]["turnId"].clone();
    let mut params = session.clone();
    params["turnId"] = turn;
    let reverted = editor.request("interline/turn/revert", params);
    record.line("reverted", &reverted);
    record.asked(&mut editor);
    for method in ["session/list", "session/open", "session/export"] {
        let mut params = session.clone();
        if method == "session/export" {
            params["format"] = "markdown".into();
        }
        let answer = editor.request(&format!("interline/{method}"), params);
        record.line(method, &answer);
    }
    record.title("the last request");
    record.request(&model.last(), true);
    record.holds("plugin");
}

#[test]
fn the_record_of_a_session_in_an_editor_without_a_plugin() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let mut record = Record::new(&stage);
    let uri = editor.open("src/lib.rs");
    editor.approvals(&[Approval::Allow]);
    let prompts = ["Tidy it", "and now?", "continue"];
    for (text, answer) in prompts.into_iter().zip(["All is", "Cut short", "Again."]) {
        record.title(text);
        let at = json!({ "line": 3, "character": 1 });
        let range = json!({ "start": at, "end": at });
        editor.command("ask", json!({ "text": text, "uri": uri, "range": range }));
        if answer == "All is" {
            editor.message("Save ");
            for uri in editor.buffers.keys().cloned().collect::<Vec<_>>() {
                editor.save_uri(&uri);
            }
        }
        editor.message(answer);
        record.notes(&mut editor);
        record.asked(&mut editor);
    }
    record.title("the last request");
    record.request(&model.last(), false);
    record.holds("plain");
}

/// The same answers in other formats: what the other providers read.
#[test]
fn the_record_of_requests_in_openai_s_formats() {
    for (name, id) in [
        ("responses", "openai/gpt-6.1-sol"),
        ("chat", "openai-chat/deepseek-v4-pro"),
    ] {
        let model = Model::start(script);
        let stage = Stage::new(TEXT);
        let launch = stage.launch(&model).setting("model", json!(id));
        let mut editor = launch
            .var("OPENAI_BASE_URL", &model.url())
            .var("OPENAI_API_KEY", KEY)
            .var("ANTHROPIC_API_KEY", "")
            .start();
        editor.open("src/lib.rs");
        editor.approvals(&[Approval::Allow]);
        editor.run("Tidy it");
        let mut record = Record::new(&stage);
        record.request(&model.last(), false);
        record.holds(name);
    }
}
