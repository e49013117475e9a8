//! A record of what crossed the wire in a whole session, compared with a golden file. What differs
//! from run to run is masked.

use std::collections::HashMap;
use std::fmt::Write as _;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::editor::Editor;
use crate::fixture::Stage;
use crate::model::RequestView;

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
        // A copy of the program may have another name and version.
        let version = regex::escape(env!("CARGO_PKG_VERSION"));
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_interline"));
        let program = program.file_name().and_then(|name| name.to_str());
        let usage = format!("Usage: {}", program.unwrap_or_default());
        Self {
            rules: vec![
                rule(&format!(r"\b{version}\b"), "VERSION"),
                rule(&format!(r"{usage}\b"), "Usage: PROGRAM"),
                rule(
                    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?",
                    "TIME",
                ),
                rule(r"\d{4}-\d\d-\d\d", "DATE"),
                rule(r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4}\b", "DATE"),
                rule(r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", "WEEKDAY"),
                rule(r"\bhost=\S+ \| os=[^|]+ \| arch=\S+", "MACHINE"),
                rule(r"127\.0\.0\.1:\d+", "HOST"),
                rule(r"[0-9a-f]{64}", "HASH"),
                rule(r#"("prompt_cache_key": )"[0-9a-f]+""#, "$1KEY"),
                // Lengths of paths differ, and with them sizes and estimates.
                rule(
                    r#"("(\w*([tT]okens|[bB]ytes|[mM]s)|seq|used)":) ?[\d.]+"#,
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
pub struct Record {
    masks: Masks,
    text: String,
}

impl Record {
    pub fn new(stage: &Stage) -> Self {
        let (masks, text) = (Masks::new(stage), String::new());
        Self { masks, text }
    }

    pub fn title(&mut self, title: &str) {
        let _ = write!(self.text, "\n== {title}\n");
    }

    pub fn line(&mut self, what: &str, value: &Value) {
        let text = self.masks.apply(&value.to_string());
        let _ = writeln!(self.text, "{what} {text}");
    }

    /// Notifications since the last call; parts of one text or output as one, and the ends of calls
    /// that ran side by side in the order of the calls.
    pub fn notes(&mut self, editor: &mut Editor) {
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
    pub fn asked(&mut self, editor: &mut Editor) {
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
    pub fn request(&mut self, request: &RequestView, system: bool) {
        self.body(
            serde_json::from_str(&request.raw_text()).expect("JSON"),
            system,
        );
    }

    pub fn body(&mut self, mut body: Value, system: bool) {
        body["tools"] = "…".into();
        if !system {
            let first = body["messages"][0]["role"] == "system";
            let first = first.then_some("/messages/0/content");
            for key in ["/system", "/instructions", "/systemInstruction"]
                .into_iter()
                .chain(first)
            {
                if let Some(text) = body.pointer_mut(key) {
                    *text = "…".into();
                }
            }
        }
        let pretty = serde_json::to_string_pretty(&body).expect("JSON");
        let text = self.masks.apply(&pretty.replace("\\n", "\n"));
        let _ = writeln!(self.text, "{text}");
    }

    /// The output of a program.
    pub fn text(&mut self, text: &str) {
        let text = self.masks.apply(text);
        let _ = writeln!(self.text, "{text}");
    }

    pub fn holds(self, name: &str) {
        insta::with_settings!({
            snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true
        }, {
            // An empty line of a text ends in the spaces of its place.
            let lines: Vec<_> = self.text.lines().map(str::trim_end).collect();
            insta::assert_snapshot!(name, lines.join("\n"));
        });
    }
}
