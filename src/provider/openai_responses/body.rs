//! The exact bytes of a Responses request. Keys have a fixed order and nothing depends on anything
//! but the request, so that the same request gives the same bytes (INV-5) and, up to the end of the
//! input, a longer one begins with them.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::conversation::request::{Effort, Thinking};
use crate::conversation::{Block, ModelFacts, Request, SystemBlock};
use crate::provider::growing::Growing;
use crate::provider::openai::history::{self, Entry, Part, Target};
use crate::provider::openai::names::{digest, wire};
use crate::provider::openai::{arguments_text, schema};

/// The type of the block that stores the phase of the assistant's next message, which the model
/// needs back on that message.
pub const PHASE: &str = "message_phase";

/// Parts of a request that a server may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Reasoning of earlier answers.
    pub replay: bool,
    /// Request reasoning that can be sent back.
    pub include: bool,
    /// Request a summary of the reasoning.
    pub summary: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            replay: true,
            include: true,
            summary: true,
        }
    }
}

/// The body of `request` for the provider called `provider`.
pub fn write(provider: &str, request: &Request, parts: Parts) -> Bytes {
    let model = format!("{provider}/{}", request.model);
    let target = Target {
        model: &model,
        images: request.facts.images,
        documents: request.facts.images,
        short_ids: false,
        unreadable: match parts.replay {
            true => request.unreadable,
            false => usize::MAX,
        },
    };
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let instructions = instructions(&request.system);
    if !instructions.is_empty() {
        body.insert("instructions".into(), instructions.as_str().into());
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request));
    }
    let mut out = Growing::default();
    out.json(&body);
    out.reopen();
    out.text(",\"input\":[");
    out.begin(&request.messages, format!("{target:?}"), false);
    let entries = history::entries(&request.messages, target, &mut out.progress);
    if !out.continues() {
        out.note = cache_key(&instructions, entries.first());
    }
    let key = out.note.clone();
    for entry in entries {
        out.entry();
        for item in items(entry) {
            out.separate();
            out.json(&item);
        }
    }
    out.text("]");
    let mut body = Map::new();
    body.insert("store".into(), false.into());
    body.insert("stream".into(), true.into());
    if parts.include {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    let facts = &request.facts;
    let mut reasoning = Map::new();
    if let Some(effort) = facts.effort.filter(|_| thinks(facts)) {
        // Not every model has a value for no effort at all.
        let word = match effort {
            Effort::Off => Effort::Low.as_str(),
            effort => effort.as_str(),
        };
        reasoning.insert("effort".into(), word.into());
    }
    if parts.summary && facts.thinking != Thinking::None && facts.effort != Some(Effort::Off) {
        reasoning.insert("summary".into(), "auto".into());
    }
    if !reasoning.is_empty() {
        body.insert("reasoning".into(), reasoning.into());
    }
    if request.facts.known {
        body.insert("max_output_tokens".into(), request.facts.max_output.into());
    }
    body.insert("prompt_cache_key".into(), key.into());
    out.join(&body);
    let cut = out.progress.cuts.last().copied();
    out.finish(&request.messages, cut)
}

/// The system blocks as one text.
pub fn instructions(system: &[SystemBlock]) -> String {
    let texts = system.iter().map(|block| block.text.as_str());
    let texts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n\n")
}

/// The cache key, which is the same for all requests of a conversation: made of their beginning.
fn cache_key(instructions: &str, first: Option<&Entry<'_>>) -> String {
    let first = first.map(|entry| match entry {
        Entry::User(blocks) => blocks
            .iter()
            .map(|block| match block.as_ref() {
                Block::Text { text } => text.as_str(),
                _ => "",
            })
            .collect(),
        _ => String::new(),
    });
    let first = first.unwrap_or_default();
    digest(&format!("{instructions}\0{first}"), 32)
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::conversation::ToolSpec| {
        json!({
            "type": "function",
            "name": wire(&tool.name),
            "description": tool.description,
            "parameters": schema::parameters(&tool.input_schema),
            // Strict schemas would make every argument a required one.
            "strict": false,
        })
    };
    request.tools.iter().map(tool).collect()
}

fn items(entry: Entry<'_>) -> Vec<Value> {
    match entry {
        Entry::User(blocks) => {
            let content: Vec<Value> = blocks.iter().map(|block| content(block)).collect();
            vec![json!({"type": "message", "role": "user", "content": content})]
        }
        Entry::Output { id, text } => {
            vec![json!({"type": "function_call_output", "call_id": id, "output": text})]
        }
        Entry::Answer(parts) => answer(parts),
    }
}

fn content(block: &Block) -> Value {
    match block {
        Block::Image { media_type, data } => json!({
            "type": "input_image",
            "image_url": format!("data:{media_type};base64,{data}"),
            "detail": "auto",
        }),
        Block::Document {
            media_type,
            name,
            data,
        } => json!({
            "type": "input_file",
            "filename": name,
            "file_data": format!("data:{media_type};base64,{data}"),
        }),
        Block::Text { text } => json!({"type": "input_text", "text": text}),
        _ => Value::Null,
    }
}

fn answer(parts: Vec<Part<'_>>) -> Vec<Value> {
    let mut items = Vec::new();
    let mut phase = None;
    for part in parts {
        match part {
            Part::Thought(_) => {}
            // The phase is not reasoning.
            Part::State(value) | Part::Unreadable(value) if value["type"] == PHASE => {
                phase = value.get("phase").cloned();
            }
            Part::State(value) if is_item(value) => items.push(value.clone()),
            Part::State(_) | Part::Unreadable(_) => {}
            Part::Text(text) => {
                let mut item = json!({
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": text}],
                });
                if let Some(phase) = phase.take() {
                    item["phase"] = phase;
                }
                items.push(item);
            }
            Part::Call { id, name, input } => items.push(json!({
                "type": "function_call",
                "call_id": id,
                "name": name,
                "arguments": arguments_text(input),
            })),
        }
    }
    items
}

/// Whether the value is an item of this format, not state of another one.
fn is_item(value: &Value) -> bool {
    value["type"].is_string() && value["type"] != "reasoning_details"
}

/// The model thinks, or it is unknown.
fn thinks(facts: &ModelFacts) -> bool {
    facts.thinking != Thinking::None || !facts.known
}
