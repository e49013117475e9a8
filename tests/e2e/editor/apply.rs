//! What each client does with an edit of the server.

use serde_json::{Value, json};

use super::profile::{Conduct, Stale};
use super::{Buffer, Editor, splices_of};
use crate::fixture::sha256;
use crate::text::{self, Splice};

/// What became of an edit in the buffer.
enum Landing {
    Applied,
    Rebased,
    /// Not applied, with the reason.
    Not(String),
}

impl Editor {
    pub(super) fn apply(&mut self, id: Value, method: &str, params: &Value) {
        if method == "interline/edit/apply" {
            self.apply_ours(id, params);
        } else {
            self.apply_standard(id, params);
        }
    }

    fn apply_ours(&mut self, id: Value, params: &Value) {
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        let landing = match self.profile.conduct {
            Conduct::Honest | Conduct::AppliesSilently => {
                self.ensure_open(&uri);
                self.land(&uri, &params["version"], &params["edits"], Stale::Rebased)
            }
            Conduct::Ignores | Conduct::Claims => Landing::Applied,
            _ => Landing::Not("refused by the story".into()),
        };
        if matches!(
            self.profile.conduct,
            Conduct::AppliesSilently | Conduct::Ignores
        ) {
            return self.held_back.push(id);
        }
        let mut answer = json!({ "version": 0, "hash": "" });
        if let Some(buffer) = self.buffers.get(&uri) {
            answer = json!({ "version": buffer.version, "hash": sha256(&buffer.text) });
        }
        match landing {
            _ if self.profile.conduct == Conduct::Odd => answer["status"] = "ok".into(),
            Landing::Applied => answer["status"] = "applied".into(),
            Landing::Rebased => answer["status"] = "rebased".into(),
            Landing::Not(reason) => {
                let refused = self.profile.conduct != Conduct::Honest;
                answer["status"] = if refused { "refused" } else { "conflict" }.into();
                answer["reason"] = reason.into();
            }
        }
        self.reply(id, answer);
    }

    fn apply_standard(&mut self, id: Value, params: &Value) {
        let label = params["label"].as_str().unwrap_or_default();
        if !label.starts_with("Interline: ") {
            self.unexpected(format!("label {label:?}"));
        }
        match self.profile.conduct {
            Conduct::Ignores => return self.held_back.push(id),
            Conduct::Claims => return self.reply(id, json!({ "applied": true })),
            Conduct::Refuses => return self.reply(id, json!({ "applied": false })),
            _ => {}
        }
        let operations = operations(&params["edit"]);
        let documents: Vec<&Value> = operations
            .iter()
            .filter(|o| o.get("kind").is_none())
            .collect();
        if documents.len() > 1 {
            self.unexpected(format!("{} documents in one edit", documents.len()));
        }
        let mut landing = Landing::Applied;
        for operation in &operations {
            landing = self.operate(operation);
            if matches!(landing, Landing::Not(_)) {
                break;
            }
        }
        self.answer_standard(id, landing);
    }

    /// One entry of `documentChanges`.
    fn operate(&mut self, operation: &Value) -> Landing {
        match operation["kind"].as_str() {
            Some("create") => {
                let uri = operation["uri"].as_str().unwrap_or_default();
                let path = uri.strip_prefix("file://").unwrap_or_default();
                if std::path::Path::new(path).exists() {
                    return Landing::Not("the file exists".into());
                }
                if let Some(parent) = std::path::Path::new(path).parent() {
                    let _ = std::fs::create_dir_all(parent);
                }
                match std::fs::write(path, "") {
                    Ok(()) => Landing::Applied,
                    Err(error) => Landing::Not(error.to_string()),
                }
            }
            Some("delete") => {
                let uri = operation["uri"].as_str().unwrap_or_default();
                let path = uri.strip_prefix("file://").unwrap_or_default();
                if let Err(error) = std::fs::remove_file(path) {
                    return Landing::Not(error.to_string());
                }
                if self
                    .buffers
                    .remove(uri)
                    .is_some_and(|buffer| buffer.mirrored)
                {
                    let document = json!({ "textDocument": { "uri": uri } });
                    self.notify("textDocument/didClose", document);
                }
                Landing::Applied
            }
            Some(kind) => Landing::Not(format!("{kind} is not scripted")),
            None => {
                let document = &operation["textDocument"];
                let uri = document["uri"].as_str().unwrap_or_default().to_owned();
                self.ensure_open(&uri);
                let stale = self.profile.stale;
                self.land(&uri, &document["version"], &operation["edits"], stale)
            }
        }
    }

    fn answer_standard(&mut self, id: Value, landing: Landing) {
        let answer = match (&landing, self.profile.conduct) {
            (_, Conduct::AppliesSilently) => return self.held_back.push(id),
            (_, Conduct::Denies) => json!({ "applied": false }),
            (Landing::Not(reason), _) => match self.profile.stale {
                Stale::Dropped | Stale::Rebased => json!({ "applied": true }),
                Stale::Error => return self.reply_error(id, -32603, reason),
                Stale::Refused => {
                    json!({ "applied": false, "failureReason": reason, "failedChange": 0 })
                }
            },
            _ => json!({ "applied": true }),
        };
        self.reply(id, answer);
        if self.profile.answers_first && self.profile.delay.is_zero() {
            self.flush_all();
        }
    }

    /// Editors open the files that an edit touches; only some tell the server.
    fn ensure_open(&mut self, uri: &str) {
        if self.buffers.contains_key(uri) {
            return;
        }
        let mut buffer = Buffer::load(uri, self.profile.first_version);
        buffer.mirrored = self.profile.attaches;
        if buffer.mirrored {
            self.notify("textDocument/didOpen", buffer.did_open());
        }
        self.buffers.insert(uri.into(), buffer);
    }

    fn land(&mut self, uri: &str, version: &Value, edits: &Value, stale: Stale) -> Landing {
        let encoding = self.encoding;
        let first = self.profile.first_version;
        let buffer = &self.buffers[uri];
        let version = version.as_i64().map(|version| version as i32);
        let current = version.is_none_or(|version| version == buffer.version);
        if current {
            return match splices_of(buffer, edits, encoding) {
                Ok(splices) => self.put(uri, splices, Landing::Applied),
                Err(wrong) => self.senseless(uri, &wrong),
            };
        }
        let version = version.unwrap_or_default();
        if stale != Stale::Rebased || !buffer.had(version, first) {
            return Landing::Not(format!(
                "version {version}, the buffer has {}",
                buffer.version
            ));
        }
        match rebase(buffer, version, edits, encoding) {
            Ok(Some(splices)) => self.put(uri, splices, Landing::Rebased),
            Ok(None) => Landing::Not("the user's typing overlaps".into()),
            Err(wrong) => self.senseless(uri, &wrong),
        }
    }

    fn senseless(&mut self, uri: &str, wrong: &str) -> Landing {
        self.unexpected(format!("a senseless edit of {uri}: {wrong}"));
        Landing::Not(wrong.to_owned())
    }

    fn put(&mut self, uri: &str, mut splices: Vec<Splice>, landing: Landing) -> Landing {
        if self.profile.conduct == Conduct::Garbles {
            // The text lands at the file's start; what it should replace stays.
            for splice in &mut splices {
                (splice.start, splice.end) = (0, 0);
            }
        }
        let before = self.buffers[uri].text.clone();
        if let Some(buffer) = self.buffers.get_mut(uri) {
            buffer.undo.push(before);
        }
        let hold = self.profile.answers_first && self.profile.delay.is_zero();
        if hold {
            let (full, step) = (self.profile.full, self.profile.version_step);
            let encoding = self.encoding;
            if let Some(buffer) = self.buffers.get_mut(uri) {
                buffer.change(&splices, encoding, full, step);
            }
        } else {
            self.change(uri, &splices);
        }
        landing
    }

    /// The user presses undo once.
    pub fn undo(&mut self, name: &str) {
        let uri = self.uri(name);
        let buffer = self.buffers.get_mut(&uri).expect("an open buffer");
        let splice = buffer.undone().expect("something to undo");
        self.change(&uri, &[splice]);
    }
}

/// `documentChanges`, or plain `changes` in their form.
fn operations(edit: &Value) -> Vec<Value> {
    if let Some(changes) = edit["documentChanges"].as_array() {
        return changes.clone();
    }
    let plain = edit["changes"].as_object().cloned().unwrap_or_default();
    let entry = |(uri, edits): (String, Value)| json!({ "textDocument": { "uri": uri, "version": null }, "edits": edits });
    plain.into_iter().map(entry).collect()
}

/// The edits, computed on `version`, as splices of the current text; `None` on an overlap.
fn rebase(
    buffer: &Buffer,
    version: i32,
    edits: &Value,
    encoding: text::Encoding,
) -> Result<Option<Vec<Splice>>, String> {
    let old = buffer.text_at(version);
    let edits = edits.as_array().ok_or("an edit without edits")?;
    let mut splices = text::splices(&old, edits, encoding)?;
    for later in buffer.later_than(version) {
        let mapped: Option<Vec<Splice>> = splices.iter().map(|s| text::map(s, later)).collect();
        match mapped {
            Some(mapped) => splices = mapped,
            None => return Ok(None),
        }
    }
    Ok(Some(splices))
}
