//! Rules that hold over all turn notifications of a process: numbers without gaps, started
//! before events, exactly one end and nothing after it, deltas that add up to their item, and the
//! answer to `turn/start` before all of it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

#[derive(Default)]
pub struct Ledger {
    /// Session → newest number.
    numbers: HashMap<String, u64>,
    started: HashSet<String>,
    ended: HashSet<String>,
    /// Requests that start a turn and have no answer yet.
    starting: HashSet<i64>,
    /// Turns that `turn/start` was answered with.
    answered: HashSet<String>,
    /// Item → its deltas so far.
    deltas: HashMap<String, String>,
}

impl Ledger {
    pub fn note(&mut self, message: &Value) -> Result<(), String> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let Some(kind) = method.strip_prefix("interline/turn/") else {
            return Ok(());
        };
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        let (session, turn) = (text("sessionId"), text("turnId"));
        let number = params["seq"]
            .as_u64()
            .ok_or_else(|| format!("no seq in {message}"))?;
        let before = self.numbers.insert(session, number);
        if before.is_some_and(|before| before + 1 != number) {
            return Err(format!("seq {number} after {before:?}: {message}"));
        }
        if self.ended.contains(&turn) {
            return Err(format!("after the end of its turn: {message}"));
        }
        match kind {
            "started" if !self.started.insert(text("turnId")) => Err(format!("twice: {message}")),
            "event" | "ended" if !self.started.contains(&text("turnId")) => {
                Err(format!("before its turn started: {message}"))
            }
            "ended" => {
                self.ended.insert(turn);
                Ok(())
            }
            "event" => self.event(&params["event"]),
            _ => Ok(()),
        }
    }

    /// A request `id` was sent.
    pub fn asked(&mut self, id: i64, method: &str) {
        if method == "interline/turn/start" {
            self.starting.insert(id);
        }
    }

    /// A request was answered: `turn/start` before its turn sends anything.
    pub fn answered(&mut self, answer: &Value) -> Result<(), String> {
        let started = answer["id"].as_i64().filter(|id| self.starting.remove(id));
        let state = answer["result"]["state"].as_str();
        let turn = answer["result"]["turnId"].as_str().unwrap_or_default();
        if started.is_none() || state != Some("running") {
            return Ok(());
        }
        match self.answered.insert(turn.to_owned()) && self.started.contains(turn) {
            true => Err(format!("after its turn started: {answer}")),
            false => Ok(()),
        }
    }

    /// A session was opened: its turns began before, for who opens it.
    pub fn opened(&mut self, answer: &Value) {
        for item in answer["items"].as_array().into_iter().flatten() {
            if let Some(turn) = item["turnId"].as_str() {
                self.started.insert(turn.to_owned());
            }
        }
    }

    fn event(&mut self, event: &Value) -> Result<(), String> {
        let item = event["itemId"].as_str().unwrap_or_default().to_owned();
        let text = event["text"].as_str().unwrap_or_default();
        match event["type"].as_str() {
            Some("textDelta" | "thoughtDelta") => {
                self.deltas.entry(item).or_default().push_str(text);
                Ok(())
            }
            Some("text" | "thought") => match self.deltas.remove(&item) {
                Some(deltas) if deltas != text => {
                    Err(format!("the deltas {deltas:?} are not the item {text:?}"))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[test]
fn the_ledger_reports_gaps_late_events_wrong_deltas_and_late_answers() {
    let note = |ledger: &mut Ledger, kind: &str, seq: u64, event: Value| {
        let params = serde_json::json!({ "sessionId": "s", "turnId": "t", "seq": seq,
            "event": event });
        let method = format!("interline/turn/{kind}");
        ledger.note(&serde_json::json!({ "method": method, "params": params }))
    };
    let mut ledger = Ledger::default();
    let delta = serde_json::json!({ "type": "textDelta", "itemId": "i", "text": "a" });
    let item = serde_json::json!({ "type": "text", "itemId": "i", "text": "b" });
    assert!(note(&mut ledger, "event", 1, delta.clone()).is_err());
    assert!(note(&mut ledger, "started", 2, Value::Null).is_ok());
    assert!(note(&mut ledger, "event", 4, delta).is_err());
    assert!(note(&mut ledger, "event", 5, item).is_ok_and(|()| true));
    assert!(note(&mut ledger, "ended", 6, Value::Null).is_ok());
    assert!(note(&mut ledger, "ended", 7, Value::Null).is_err());
    let answer = |id: i64, turn: &str| {
        let result = serde_json::json!({ "turnId": turn, "state": "running" });
        serde_json::json!({ "id": id, "result": result })
    };
    (1..=2).for_each(|id| ledger.asked(id, "interline/turn/start"));
    assert!(ledger.answered(&answer(1, "t")).is_err());
    assert!(ledger.answered(&answer(2, "later")).is_ok());
    assert!(ledger.answered(&answer(3, "t")).is_ok());
}
