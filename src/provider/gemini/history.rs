//! The history in a form that Gemini accepts, made for each request and never stored: turns
//! alternate and begin with the user, each call has its response in the next user turn and in the
//! order of the calls, and signatures are in the part that they came in. A pure function of
//! messages and model (INV-5), so that a longer history begins with the same turns.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::names;
use crate::conversation::{Block, Message, Role};
use crate::provider::filler_texts::{CONTINUE, DOCUMENT_LEFT_OUT, IMAGE_LEFT_OUT, INTERRUPTED};
use crate::provider::growing::Progress;

/// The provider accepts this instead of a signature that it never gave.
pub const SKIP: &str = "skip_thought_signature_validator";

/// What a history is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// `<provider>/<id>`.
    pub model: &'a str,
    pub images: bool,
    /// So many messages at the beginning are sent without signatures, because one was rejected.
    pub unreadable: usize,
}

/// The contents of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents<'a> {
    pub turns: Vec<Turn<'a>>,
    /// The last answer reached the limit of one request; this token continues it.
    pub continuation: Option<&'a str>,
    /// The last part is not in the history.
    pub synthetic_end: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn<'a> {
    pub role: &'static str,
    pub parts: Vec<Part<'a>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part<'a> {
    Call {
        #[serde(rename = "functionCall")]
        call: Call<'a>,
        #[serde(rename = "thoughtSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    Answer {
        #[serde(rename = "functionResponse")]
        answer: Answer<'a>,
    },
    Thought {
        text: &'a str,
        thought: bool,
        #[serde(rename = "thoughtSignature")]
        signature: &'a str,
    },
    Text {
        text: &'a str,
        #[serde(rename = "thoughtSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    Image {
        #[serde(rename = "inlineData")]
        image: Image<'a>,
    },
    /// Unchanged.
    Whole(&'a Value),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call<'a> {
    pub id: String,
    pub name: String,
    pub args: Cow<'a, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer<'a> {
    pub id: String,
    pub name: String,
    pub response: Response<'a>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Image<'a> {
    #[serde(rename = "mimeType")]
    pub media_type: &'a str,
    pub data: &'a str,
}

impl<'a> Part<'a> {
    pub fn text(text: &'a str) -> Self {
        Part::Text {
            text,
            signature: None,
        }
    }
}

/// The block that stores the signature of the block before it.
pub fn signature_block(signature: &str) -> Block {
    Block::Opaque {
        value: json!({"type": "thought_signature", "signature": signature}),
    }
}

/// The block at the end of an answer that the next request continues.
pub fn continuation_block(token: &str) -> Block {
    Block::Opaque {
        value: json!({"type": "continuation", "token": token}),
    }
}

fn of_type<'a>(value: &'a Value, kind: &str, field: &str) -> Option<&'a str> {
    (value.get("type")? == kind).then_some(())?;
    value.get(field)?.as_str()
}

/// The turns of a request, from where `progress` begins: none if the history ends before, as an
/// empty one does.
pub fn turns<'a>(
    messages: &'a [Message],
    target: Target<'_>,
    progress: &mut Progress,
) -> Contents<'a> {
    let (messages, continuation) = without_unfinished(messages, target);
    let mut builder = Builder {
        target,
        turns: Vec::new(),
        open: Vec::new(),
        answered: 0,
        begun: progress.from > 0,
        progress,
        synthetic_end: false,
    };
    for (n, message) in messages.iter().enumerate().skip(builder.progress.from) {
        match message.role {
            Role::User => builder.user(message),
            Role::Assistant => builder.assistant(n, message),
        }
    }
    builder.close_calls();
    // Without turns of its own, a continued conversion has no end to complete.
    let ended = match builder.turns.last() {
        Some(turn) => turn.role == "user",
        None => builder.begun || messages.is_empty(),
    };
    if !ended {
        builder.placeholder();
    }
    Contents {
        turns: builder.turns,
        continuation,
        synthetic_end: builder.synthetic_end,
    }
}

/// An answer that reached the limit of one request is continued by sending the same request with
/// its token, without the answer so far.
fn without_unfinished<'a>(
    messages: &'a [Message],
    target: Target<'_>,
) -> (&'a [Message], Option<&'a str>) {
    let token = |message: &'a Message| {
        let own = message.role == Role::Assistant
            && message.model.as_deref() == Some(target.model)
            && message.tool_uses().next().is_none();
        match message.content.last() {
            Some(Block::Opaque { value }) if own => of_type(value, "continuation", "token"),
            _ => None,
        }
    };
    let unfinished = messages.iter().rev().take_while(|it| token(it).is_some());
    let kept = messages.len() - unfinished.count();
    let last = messages.last().and_then(token);
    if kept == 0 {
        return (messages, None);
    }
    (&messages[..kept], last)
}

/// A call of the last model turn.
struct OpenCall<'a> {
    id: &'a str,
    wire_id: String,
    wire_name: String,
    response: Option<Response<'a>>,
}

struct Builder<'a, 't> {
    target: Target<'t>,
    turns: Vec<Turn<'a>>,
    /// Calls that the next user turn answers.
    open: Vec<OpenCall<'a>>,
    /// How many of them, from the first on, have a response: responses usually come in order.
    answered: usize,
    /// Has the ids on the wire so far (P25).
    progress: &'t mut Progress,
    /// Turns precede the first one here.
    begun: bool,
    synthetic_end: bool,
}

impl<'a> Builder<'a, '_> {
    fn assistant(&mut self, n: usize, message: &'a Message) {
        let ids = self.progress.ids.count();
        let before = std::mem::take(&mut self.open);
        let parts = self.parts(message, n >= self.target.unreadable);
        if parts.is_empty() {
            self.open = before;
            return;
        }
        let calls = std::mem::replace(&mut self.open, before);
        self.close_calls();
        self.open = calls;
        if self.turns.is_empty() && !self.begun {
            self.placeholder();
        }
        self.synthetic_end = false;
        if self.turns.last().is_none_or(|it| it.role == "user") {
            self.progress.cut(n, self.turns.len(), ids);
        }
        self.turn("model").parts.extend(parts);
    }

    fn parts(&mut self, message: &'a Message, readable: bool) -> Vec<Part<'a>> {
        let own = readable && message.model.as_deref() == Some(self.target.model);
        let mut parts: Vec<Part<'a>> = Vec::new();
        let mut signable = false;
        for block in &message.content {
            if let Block::Opaque { value } = block
                && let Some(signature) = of_type(value, "thought_signature", "signature")
            {
                if own && std::mem::take(&mut signable) {
                    sign(parts.last_mut(), signature);
                }
                continue;
            }
            let part = self.part(block, own);
            signable = matches!(part, Some(Part::Text { .. } | Part::Call { .. }));
            parts.extend(part);
        }
        parts.retain(
            |part| !matches!(part, Part::Text { text, signature: None } if text.trim().is_empty()),
        );
        if !own {
            let first = parts.iter_mut().find(|it| matches!(it, Part::Call { .. }));
            sign(first, SKIP);
        }
        parts
    }

    fn part(&mut self, block: &'a Block, own: bool) -> Option<Part<'a>> {
        match block {
            Block::Text { text } => Some(Part::text(text)),
            // Without a signature, it is a summary for people.
            Block::Thinking {
                thinking,
                signature,
            } => (own && !signature.is_empty()).then_some(Part::Thought {
                text: thinking,
                thought: true,
                signature,
            }),
            Block::ToolUse { id, name, input } => Some(self.call(id, name, input)),
            Block::Opaque { value } => {
                let part = value.get("type").is_none() && value.is_object();
                (own && part).then_some(Part::Whole(value))
            }
            Block::RedactedThinking { .. }
            | Block::ToolResult { .. }
            | Block::Image { .. }
            | Block::Document { .. } => None,
        }
    }

    fn call(&mut self, id: &'a str, name: &str, input: &'a Value) -> Part<'a> {
        let wire_id = self.unique(id);
        let wire_name = match name {
            "" => "unknown".to_owned(),
            name => names::wire(name).into_owned(),
        };
        self.open.push(OpenCall {
            id,
            wire_id: wire_id.clone(),
            wire_name: wire_name.clone(),
            response: None,
        });
        Part::Call {
            call: Call {
                id: wire_id,
                name: wire_name,
                args: match input {
                    Value::Object(_) => Cow::Borrowed(input),
                    _ => Cow::Owned(Value::Object(Map::new())),
                },
            },
            signature: None,
        }
    }

    fn user(&mut self, message: &'a Message) {
        for block in &message.content {
            let part = match block {
                Block::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => {
                    self.answer(tool_use_id, content, *is_error);
                    continue;
                }
                Block::Text { text } if text.trim().is_empty() => continue,
                Block::Text { text } => Part::text(text),
                Block::Image { .. } if !self.target.images => Part::text(IMAGE_LEFT_OUT),
                Block::Document { .. } if !self.target.images => Part::text(DOCUMENT_LEFT_OUT),
                Block::Image { media_type, data }
                | Block::Document {
                    media_type, data, ..
                } => Part::Image {
                    image: Image { media_type, data },
                },
                _ => continue,
            };
            self.synthetic_end = false;
            self.turn("user").parts.push(part);
        }
    }

    /// Answers an open call. Results without a call and second results are dropped.
    fn answer(&mut self, id: &str, content: &'a str, is_error: bool) {
        let mut rest = self.open[self.answered..].iter_mut();
        let call = rest.find(|call| call.response.is_none() && call.id == id);
        if let Some(call) = call {
            call.response = Some(match is_error {
                true => Response::Error(content),
                false => Response::Output(content),
            });
        }
        let done = |it: &OpenCall<'_>| it.response.is_some();
        while self.open.get(self.answered).is_some_and(done) {
            self.answered += 1;
        }
    }

    /// Puts the responses, in the order of the calls, at the beginning of the user's turn. Calls
    /// without a result get a response that says so (INV-6, P36).
    fn close_calls(&mut self) {
        self.answered = 0;
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            return;
        }
        let synthetic = open.last().is_some_and(|call| call.response.is_none());
        let answers: Vec<Part<'a>> = open
            .into_iter()
            .map(|call| Part::Answer {
                answer: Answer {
                    id: call.wire_id,
                    name: call.wire_name,
                    response: call.response.unwrap_or(Response::Error(INTERRUPTED)),
                },
            })
            .collect();
        let turn = self.turn("user");
        let alone = turn.parts.is_empty();
        turn.parts.splice(0..0, answers);
        if alone {
            self.synthetic_end = synthetic;
        }
    }

    fn placeholder(&mut self) {
        self.turn("user").parts.push(Part::text(CONTINUE));
        self.synthetic_end = true;
    }

    /// The last turn if it has this role, or a new one.
    fn turn(&mut self, role: &'static str) -> &mut Turn<'a> {
        let at = match self.turns.last() {
            Some(turn) if turn.role == role => self.turns.len() - 1,
            _ => {
                let parts = Vec::new();
                self.turns.push(Turn { role, parts });
                self.turns.len() - 1
            }
        };
        &mut self.turns[at]
    }

    /// Ids are letters and digits in this format. They are made in the order of the history, so
    /// that a call that was sent keeps its id.
    fn unique(&mut self, id: &str) -> String {
        let plain = |c: &char| c.is_ascii_alphanumeric();
        let mut base: String = id.chars().filter(plain).take(56).collect();
        if base.is_empty() {
            base.push_str("call");
        }
        let mut unique = base.clone();
        let mut n = 1u32;
        while !self.progress.ids.take(&unique) {
            n += 1;
            unique = format!("{base}x{n}");
        }
        unique
    }
}

fn sign<'a>(part: Option<&mut Part<'a>>, given: &'a str) {
    match part {
        Some(Part::Call { signature, .. } | Part::Text { signature, .. })
            if signature.is_none() =>
        {
            *signature = Some(given);
        }
        _ => {}
    }
}
