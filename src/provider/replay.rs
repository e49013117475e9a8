//! A recorded model: `replay/FILE` answers from a file, `replay/@demo` from the one built in.
//! No key, no network, no state: step k (from 0) answers the request that contains k assistant
//! messages of this model, so that a retry gets the same step and a resumed session continues.

mod recorded;
#[cfg(test)]
mod tests;

use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{Block, Failure, FailureKind, Message, Request, Role};

use super::anthropic::body;
use super::{Batch, Body, Provider, ProviderError};
use recorded::Answer;

const DEMO: &str = include_str!("replay/demo.jsonl");
const HINT: &str = "a recording answers only the run that it was made for: restore the recording \
                    and the files that it works on, or make a new one";

/// A model that answers from a recording.
///
/// A recording consists of JSON lines. The first is the header. A step is a line with an answer,
/// either written by hand (`events`) or by `--record` (`stream`, with `n`, `api`, `model`, `at`,
/// `end`):
///
/// ```text
/// {"interline":"replay","version":1,"model":"claude-opus-5-5"}
/// {"expect":{"lastUserContains":"greet"},"events":[{"type":"message_start",…},…,{"type":"message_stop"}]}
/// {"expect":{"toolResult":{"name":"edit","contains":"applied"}},"events":[…]}
/// {"n":3,"api":"openai","model":"openai/m","at":{"first":"0a…","answers":2},"expect":{…},"stream":[[0,"data: …"]],"end":"whole"}
/// ```
///
/// `model` (optional) names the model whose facts apply. `events` are Anthropic stream events, read
/// by the same decoder; with `"delayMs": 30` an event is delayed, for a stream that someone
/// watches. `stream` contains the bytes of an answer in the format `api`, each piece with its time
/// in milliseconds (played without waiting); only answers whose `end` is `whole` are played. `at`
/// identifies the conversation and the answer. `expect` (optional) checks the request; its keys are
/// optional: `lastUserContains` (text of the last user message), `lastToolResultContains` (any
/// result in it), `toolResult` and `toolResults` (a list) of `{name, contains?, lacks?, isError?}`
/// about the last result of that tool in the last user message, `systemContains`, `offers` (names
/// of tools). A failed check, or a request after the last step, is a fatal failure that names the
/// step, what was expected and what was found. Other lines (`direction`, `sent`, `refused`,
/// `ended`) are for people.
#[derive(Debug)]
pub struct Replay {
    /// What follows `replay/` in the model's name.
    id: String,
    model: Option<String>,
    steps: Vec<Step>,
    /// How the recording ended, if it says so.
    ended: Option<String>,
    /// Why answers were left out: `secret` or `limit`.
    left_out: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    interline: String,
    version: u32,
    #[serde(default)]
    model: Option<String>,
    /// For people.
    #[serde(default, rename = "comment")]
    _comment: Option<String>,
    /// The program that wrote it, for people.
    #[serde(default, rename = "program")]
    _program: Option<String>,
}

/// A step that was written by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    #[serde(default)]
    expect: Expect,
    events: Vec<Value>,
    /// For people.
    #[serde(default, rename = "comment")]
    _comment: Option<String>,
}

#[derive(Debug)]
struct Step {
    expect: Expect,
    answer: Answer,
    line: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Expect {
    last_user_contains: Option<String>,
    last_tool_result_contains: Option<String>,
    tool_result: Option<ExpectResult>,
    tool_results: Vec<ExpectResult>,
    system_contains: Option<String>,
    offers: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExpectResult {
    name: String,
    #[serde(default)]
    contains: Option<String>,
    #[serde(default)]
    lacks: Option<String>,
    #[serde(default)]
    is_error: Option<bool>,
}

impl Replay {
    /// The built-in recording.
    pub fn demo() -> Result<Self, Failure> {
        Self::parse("@demo", DEMO)
    }

    /// The recording in the file `path`; `id` is the model's.
    pub fn open(id: &str, path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::new(
                FailureKind::NoModel,
                format!("the recording {} cannot be read: {error}", path.display()),
                "name a readable file as replay/FILE (for an absolute path: replay//home/me/run.jsonl)",
            )
        })?;
        Self::parse(id, &text)
    }

    /// Reads a recording. Errors name the line.
    pub fn parse(id: &str, text: &str) -> Result<Self, Failure> {
        let invalid = |line: usize, reason: &str| {
            Failure::new(
                FailureKind::Invalid,
                format!("the recording {id}, line {line}: {reason}"),
                "correct the recording; src/provider/replay.rs describes the format",
            )
        };
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(n, line)| (n + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty());
        let (at, first) = lines.next().ok_or_else(|| invalid(1, "it is empty"))?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| invalid(at, &error.to_string()))?;
        if header.interline != "replay" || header.version != 1 {
            return Err(invalid(
                at,
                r#"the header must be {"interline":"replay","version":1}"#,
            ));
        }
        let mut replay = Self {
            id: id.to_owned(),
            model: header.model,
            steps: Vec::new(),
            ended: None,
            left_out: Vec::new(),
        };
        for (line, text) in lines {
            let value: Value =
                serde_json::from_str(text).map_err(|error| invalid(line, &error.to_string()))?;
            replay
                .line(line, value)
                .map_err(|reason| invalid(line, &reason))?;
        }
        Ok(replay)
    }

    fn line(&mut self, line: usize, value: Value) -> Result<(), String> {
        if let Some(ended) = value["ended"].as_str() {
            self.ended = Some(ended.to_owned());
            return Ok(());
        }
        let known = ["direction", "sent", "refused", "interline"];
        if known.iter().any(|key| value.get(key).is_some()) {
            return Ok(());
        }
        let step = if value.get("stream").is_some() {
            let end = value["end"].as_str().unwrap_or_default().to_owned();
            let Some(step) = recorded::step(line, value)? else {
                if matches!(end.as_str(), "secret" | "limit") {
                    self.left_out.push(end);
                }
                return Ok(());
            };
            if self.model.is_none() {
                self.model = step.answer.model();
            }
            step
        } else {
            let step: WrittenStep =
                serde_json::from_value(value).map_err(|error| error.to_string())?;
            if step.events.iter().any(|event| event.get("type").is_none()) {
                return Err("an event without `type`".to_owned());
            }
            Step {
                expect: step.expect,
                answer: Answer::written(&step.events),
                line,
            }
        };
        self.steps.push(step);
        Ok(())
    }

    /// The model whose facts apply to this recording.
    pub fn recorded_model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The step that answers `request`, after its checks.
    fn step(&self, request: &Request) -> Result<&Step, ProviderError> {
        let fatal = |message: String| {
            ProviderError::Fatal(Failure::new(FailureKind::Invalid, message, HINT))
        };
        let own = format!("replay/{}", self.id);
        let number = request
            .messages
            .iter()
            .filter(|m| m.role == Role::Assistant && m.model.as_deref() == Some(own.as_str()))
            .count();
        let recorded = self.steps.iter().any(|step| step.answer.is_recorded());
        let step = match recorded {
            true => recorded::find(&self.steps, request),
            false => self.steps.get(number),
        };
        let step = step.ok_or_else(|| {
            let why = match self.ended.as_deref() {
                _ if self.left_out.iter().any(|why| why == "secret") => {
                    " (an answer with a secret spread over pieces was left out)"
                }
                _ if !self.left_out.is_empty() => " (an answer was too long and was left out)",
                Some("limit") => " (it reached its size limit)",
                None if recorded => {
                    " (its last line is missing: the program was killed or is still running)"
                }
                _ => "",
            };
            fatal(format!(
                "the recording {} has no step {}: it ends after {}{why}",
                self.id,
                number + 1,
                self.steps.len()
            ))
        })?;
        step.expect.check(request).map_err(|reason| {
            fatal(format!(
                "the recording {}, step {} (line {}): {reason}",
                self.id,
                number + 1,
                step.line
            ))
        })?;
        Ok(step)
    }
}

impl Expect {
    fn check(&self, request: &Request) -> Result<(), String> {
        let last = request.messages.iter().rfind(|m| m.role == Role::User);
        let contains = |what: &str, text: &str, wanted: &Option<String>| match wanted {
            Some(wanted) if !text.contains(wanted.as_str()) => Err(format!(
                "expected {what} to contain {wanted:?}, but it was: {}",
                excerpt(text)
            )),
            _ => Ok(()),
        };
        contains(
            "the last user message",
            &joined(last, text_of),
            &self.last_user_contains,
        )?;
        contains(
            "a tool result",
            &joined(last, result_of),
            &self.last_tool_result_contains,
        )?;
        let system: Vec<&str> = request.system.iter().map(|b| b.text.as_str()).collect();
        contains("the system text", &system.join("\n"), &self.system_contains)?;
        for name in &self.offers {
            if !request.tools.iter().any(|tool| tool.name == *name) {
                return Err(format!("expected the tool {name} to be offered"));
            }
        }
        self.tool_result
            .iter()
            .chain(&self.tool_results)
            .try_for_each(|wanted| wanted.check(request, last))
    }
}

impl ExpectResult {
    fn check(&self, request: &Request, last: Option<&Message>) -> Result<(), String> {
        let name = &self.name;
        let calls: Vec<&str> = request
            .messages
            .iter()
            .flat_map(Message::tool_uses)
            .filter(|(_, called, _)| called == name)
            .map(|(id, _, _)| id)
            .collect();
        let found = last.and_then(|message| {
            message.content.iter().rev().find_map(|block| match block {
                Block::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } if calls.contains(&tool_use_id.as_str()) => Some((content, *is_error)),
                _ => None,
            })
        });
        let Some((content, is_error)) = found else {
            let results = joined(last, result_of);
            return Err(format!(
                "expected a result of {name}, but found none; results: {}",
                excerpt(&results)
            ));
        };
        let wrong = |what: String| {
            Err(format!(
                "expected the result of {name} {what}, but it was: {}",
                excerpt(content)
            ))
        };
        match (&self.contains, &self.lacks, self.is_error) {
            (Some(wanted), _, _) if !content.contains(wanted) => {
                wrong(format!("to contain {wanted:?}"))
            }
            (_, Some(unwanted), _) if content.contains(unwanted) => {
                wrong(format!("not to contain {unwanted:?}"))
            }
            (_, _, Some(true)) if !is_error => wrong("to be an error".to_owned()),
            (_, _, Some(false)) if is_error => wrong("not to be an error".to_owned()),
            _ => Ok(()),
        }
    }
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        _ => None,
    }
}

fn result_of(block: &Block) -> Option<&str> {
    match block {
        Block::ToolResult { content, .. } => Some(content),
        _ => None,
    }
}

fn joined(message: Option<&Message>, pick: fn(&Block) -> Option<&str>) -> String {
    let blocks = message.map(|m| m.content.as_slice()).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(pick).collect();
    texts.join("\n")
}

fn excerpt(text: &str) -> String {
    const MOST: usize = 400;
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[async_trait]
impl Provider for Replay {
    fn name(&self) -> &str {
        "replay"
    }

    fn body(&self, request: &Request) -> Body {
        body::body("replay", request)
    }

    async fn stream(
        &self,
        request: &Request,
        _: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        self.step(request)?.answer.play(request)
    }
}
