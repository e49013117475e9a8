//! The exact bytes of a Chat Completions request. Keys have a fixed order and nothing depends on
//! anything but the request, so that the same request gives the same bytes (INV-5) and, up to the
//! end of the messages, a longer one begins with them.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::conversation::request::Effort;
use crate::conversation::{Block, Request};
use crate::provider::growing::Growing;
use crate::provider::openai::history::{self, Entry, Part, Target};
use crate::provider::openai::names::wire;
use crate::provider::openai::{arguments_text, schema};

/// The type of the block that keeps a router's `reasoning_details`.
pub const DETAILS: &str = "reasoning_details";

/// How the request limits the tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// With the parameter that the model's facts name.
    Known,
    /// With `max_completion_tokens`, whatever the facts say.
    Completion,
    Omitted,
}

/// Parts of a request that a server may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Ask for token counts.
    pub usage: bool,
    pub limit: Limit,
    /// Reasoning of earlier answers in a router's format.
    pub reasoning: bool,
    /// The facts are wrong about `reasoning_content`.
    pub other_reasoning: bool,
    /// How much to think.
    pub effort: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            usage: true,
            limit: Limit::Known,
            reasoning: true,
            other_reasoning: false,
            effort: true,
        }
    }
}

/// The body of `request` for the provider called `provider`.
pub fn write(provider: &str, request: &Request, parts: Parts) -> Bytes {
    let facts = &request.facts;
    let model = format!("{provider}/{}", request.model);
    let target = Target {
        model: &model,
        images: facts.images,
        documents: false,
        short_ids: facts.short_call_ids,
        unreadable: match parts.reasoning {
            true => request.unreadable,
            false => usize::MAX,
        },
    };
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request));
    }
    let mut out = Growing::default();
    out.json(&body);
    out.reopen();
    out.text(",\"messages\":[");
    let system: Vec<&str> = request
        .system
        .iter()
        .map(|block| block.text.as_str())
        .filter(|text| !text.trim().is_empty())
        .collect();
    if !system.is_empty() {
        out.json(&json!({"role": "system", "content": system.join("\n\n")}));
    }
    let reasoning = replays_reasoning(request, parts);
    let key = format!("{target:?} {reasoning}");
    out.begin(&request.messages, key, !system.is_empty());
    let entries = history::entries(&request.messages, target, &mut out.progress);
    conversation(&mut out, entries, reasoning);
    out.text("]");
    let mut body = Map::new();
    let limit = match parts.limit {
        // The server knows an unknown model best.
        Limit::Known if !facts.known => None,
        Limit::Known if facts.max_completion_tokens => Some("max_completion_tokens"),
        Limit::Known => Some("max_tokens"),
        Limit::Completion => Some("max_completion_tokens"),
        Limit::Omitted => None,
    };
    if let Some(name) = limit {
        body.insert(name.into(), facts.max_output.into());
    }
    // Not every server accepts the same value for no thinking at all.
    let effort = facts.effort.filter(|effort| *effort != Effort::Off);
    if let Some(effort) = effort.filter(|_| parts.effort) {
        body.insert("reasoning_effort".into(), effort.as_str().into());
    }
    body.insert("stream".into(), true.into());
    if parts.usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    out.join(&body);
    let cut = out.progress.cuts.last().copied();
    out.finish(&request.messages, cut)
}

/// Whether an answer's reasoning is sent back with its calls.
fn replays_reasoning(request: &Request, parts: Parts) -> bool {
    request.facts.replays_reasoning != parts.other_reasoning
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::conversation::ToolSpec| {
        json!({
            "type": "function",
            "function": {
                "name": wire(&tool.name),
                "description": tool.description,
                "parameters": schema::parameters(&tool.input_schema),
            },
        })
    };
    request.tools.iter().map(tool).collect()
}

fn conversation(out: &mut Growing, entries: Vec<Entry<'_>>, reasoning: bool) {
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        out.entry();
        out.separate();
        let message = match entry {
            Entry::User(mut blocks) => {
                // The templates of many models refuse two user messages in a row.
                while let Some(Entry::User(more)) =
                    entries.next_if(|next| matches!(next, Entry::User(_)))
                {
                    out.entry();
                    blocks.extend(more);
                }
                let blocks: Vec<&Block> = blocks.iter().map(AsRef::as_ref).collect();
                json!({"role": "user", "content": content(&blocks)})
            }
            Entry::Output { id, text } => {
                json!({"role": "tool", "tool_call_id": id, "content": text})
            }
            Entry::Answer(contents) => answer(contents, reasoning),
        };
        out.json(&message);
    }
}

/// Texts as one string, which every server accepts; a list of parts only if there is an image.
fn content(blocks: &[&Block]) -> Value {
    let part = |block: &&Block| match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Image { media_type, data } => json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{media_type};base64,{data}")},
        }),
        _ => Value::Null,
    };
    let texts: Option<Vec<&str>> = blocks
        .iter()
        .map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => blocks.iter().map(part).collect(),
    }
}

fn answer(contents: Vec<Part<'_>>, reasoning: bool) -> Value {
    let (mut texts, mut thoughts) = (Vec::new(), Vec::new());
    let (mut details, mut calls) = (Vec::new(), Vec::new());
    for part in contents {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Thought(thought) => thoughts.push(thought),
            Part::State(value) if value["type"] == DETAILS => {
                let all = value.get("details").and_then(Value::as_array);
                details.extend(all.into_iter().flatten().cloned());
            }
            Part::State(_) | Part::Unreadable(_) => {}
            Part::Call { id, name, input } => calls.push(json!({
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": arguments_text(input)},
            })),
        }
    }
    let mut message = json!({
        "role": "assistant",
        "content": if texts.is_empty() { Value::Null } else { texts.join("\n\n").into() },
    });
    if reasoning && !calls.is_empty() {
        // Such a server requires the field even if there was no reasoning.
        message["reasoning_content"] = thoughts.join("\n\n").into();
    }
    if !details.is_empty() {
        message[DETAILS] = details.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}
