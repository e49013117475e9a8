//! Scripts of answers: lines of text, thoughts and calls, which `wire.rs` renders in a wire format
//! and which the decoded events are compared with. Any bytes are a script; lines that begin with an
//! unknown letter are ignored.

use serde_json::{Value, json};

use crate::conversation::Block;
use crate::provider::{ModelEvent, ProviderError, StopReason};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// One piece of an answer, in the order on the wire. Calls are identified by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thought(String),
    Begin(usize),
    /// A part of the JSON text of a call's arguments.
    Json(usize, String),
    End(usize),
    /// The finish reason, for formats that may send it before the end.
    Reason,
    /// Pieces from here on are sent only with the finished item, in formats that send both.
    Silent,
}

/// One call of the script.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The id on the wire; other calls may have it too.
    pub id: String,
    pub name: String,
    /// The value of its only argument, if it has one.
    pub value: Option<String>,
    pub done: bool,
}

impl Call {
    pub fn input(&self) -> Value {
        match &self.value {
            Some(value) => json!({ "v": value }),
            None => json!({}),
        }
    }
}

/// The pieces of an answer and what they amount to.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub pieces: Vec<Piece>,
    pub calls: Vec<Call>,
    /// The limit of tokens truncated the answer: unfinished calls stay unfinished.
    pub cut: bool,
    /// Thoughts at the beginning are in the text, between tags.
    pub inline: bool,
    /// The answer is a list in one event, in formats that have that.
    pub list: bool,
    /// How lines end on the wire.
    pub ends: &'static str,
}

/// More calls do not test more.
const CALLS: usize = 8;

impl Script {
    /// One letter per line: `t`ext, t`h`ought, `c`all (`c=`: with the id of the last one),
    /// `a`rguments of a call whose digit follows, `d`one, `f`inish reason, `m`aximum of tokens,
    /// `i`nline thoughts, `l`ist, `s`ilent from here on, `r` and `n`: how lines end.
    pub fn read(data: &[u8]) -> Self {
        let mut script = Self {
            ends: "\n",
            ..Self::default()
        };
        for line in data.split(|byte| *byte == b'\n') {
            let Some((op, rest)) = line.split_first() else {
                continue;
            };
            script.line(*op, rest);
        }
        if !script.cut {
            (0..script.calls.len()).for_each(|n| script.done(n));
        }
        script
    }

    fn line(&mut self, op: u8, rest: &[u8]) {
        match op {
            b't' => self.pieces.push(Piece::Text(words(rest))),
            b'h' => self.pieces.push(Piece::Thought(words(rest))),
            b'c' if self.calls.len() < CALLS => {
                let n = self.calls.len();
                let id = match (rest.first(), self.calls.last()) {
                    (Some(b'='), Some(last)) => last.id.clone(),
                    _ => format!("call{n}"),
                };
                self.calls.push(Call {
                    id,
                    name: format!("tool{n}"),
                    ..Call::default()
                });
                self.pieces.push(Piece::Begin(n));
            }
            b'a' => self.argument(rest),
            b'd' => {
                if let Some(n) = self.number(rest) {
                    self.done(n);
                }
            }
            b'f' => self.pieces.push(Piece::Reason),
            b's' => self.pieces.push(Piece::Silent),
            b'm' => self.cut = true,
            b'i' => self.inline = true,
            b'l' => self.list = true,
            b'r' => self.ends = "\r\n",
            b'n' => self.ends = "\r",
            _ => {}
        }
    }

    fn number(&self, rest: &[u8]) -> Option<usize> {
        let digit = usize::from(*rest.first()?);
        (!self.calls.is_empty()).then(|| digit % self.calls.len())
    }

    fn argument(&mut self, rest: &[u8]) {
        let Some(n) = self.number(rest) else { return };
        let call = &mut self.calls[n];
        if call.done {
            return;
        }
        let more = String::from_utf8_lossy(&rest[1..]).into_owned();
        let begins = if call.value.is_none() {
            "{\"v\":\""
        } else {
            ""
        };
        let quoted = Value::String(more.clone()).to_string();
        let json = format!("{begins}{}", &quoted[1..quoted.len() - 1]);
        call.value.get_or_insert_default().push_str(&more);
        self.pieces.push(Piece::Json(n, json));
    }

    fn done(&mut self, n: usize) {
        let call = &mut self.calls[n];
        if std::mem::replace(&mut call.done, true) {
            return;
        }
        if call.value.is_some() {
            self.pieces.push(Piece::Json(n, "\"}".to_owned()));
        }
        self.pieces.push(Piece::End(n));
    }

    fn said(&self, thought: bool) -> String {
        let piece = |piece: &Piece| match (piece, thought) {
            (Piece::Text(text), false) | (Piece::Thought(text), true) => Some(text.clone()),
            _ => None,
        };
        self.pieces.iter().filter_map(piece).collect()
    }

    /// Panics unless the events match the script.
    pub fn compare(&self, events: &[ModelEvent], error: Option<&ProviderError>, format: Format) {
        let says = |piece: &Piece| !matches!(piece, Piece::Reason | Piece::Silent);
        if !self.pieces.iter().any(says) {
            // Formats differ about an empty answer.
            return;
        }
        assert!(error.is_none(), "a whole answer failed: {error:?}");
        let (text, thought) = (self.said(false), self.said(true));
        let streamed = |thoughts: bool| -> String {
            let piece = |event: &ModelEvent| match (event, thoughts) {
                (ModelEvent::TextDelta { text, .. }, false)
                | (ModelEvent::ThoughtDelta { text, .. }, true) => Some(text.clone()),
                _ => None,
            };
            events.iter().filter_map(piece).collect()
        };
        assert_eq!(streamed(false), text, "the text as it came");
        assert_eq!(streamed(true), thought, "the thoughts as they came");
        let (mut texts, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
        for event in events {
            let ModelEvent::Block { block, invalid, .. } = event else {
                continue;
            };
            match block {
                Block::Text { text } => texts.push_str(text),
                Block::Thinking { thinking, .. } => thoughts.push_str(thinking),
                Block::ToolUse { name, input, .. } => calls.push((name, input, invalid.is_some())),
                _ => {}
            }
        }
        assert_eq!(texts, text, "the text");
        assert_eq!(thoughts, thought, "the thoughts");
        self.compare_calls(&mut calls, format);
        let stop = match (self.cut, self.calls.is_empty()) {
            (true, _) => StopReason::MaxTokens,
            (false, true) => StopReason::EndTurn,
            (false, false) => StopReason::ToolUse,
        };
        assert_eq!(events.last(), Some(&ModelEvent::Stop(stop)), "the end");
    }

    fn compare_calls(&self, calls: &mut [(&String, &Value, bool)], format: Format) {
        // Calls that arrive one by one have the order of their ends; calls that arrive complete are
        // never truncated.
        let whole = format == Format::Gemini;
        if whole || format == Format::Anthropic {
            calls.sort_by_key(|(name, ..)| (*name).clone());
        }
        let expected = self.calls.iter().filter(|call| call.done || !whole);
        let expected: Vec<&Call> = expected.collect();
        assert_eq!(calls.len(), expected.len(), "the number of calls");
        for ((name, input, invalid), call) in calls.iter().zip(expected) {
            assert_eq!(**name, call.name, "the order of the calls");
            assert!(call.done || *invalid, "{name} was cut and can run");
            assert!(!call.done || !*invalid || self.cut, "{name} cannot run");
            if !*invalid {
                assert_eq!(**input, call.input(), "{name}");
            }
        }
    }
}

/// Words that begin with a letter, without the characters of tags.
fn words(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line).replace('<', "(");
    format!("x{line}")
}
