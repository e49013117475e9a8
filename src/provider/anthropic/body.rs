//! The exact bytes of a Messages request. Keys have a fixed order and nothing depends on anything
//! but the request, so that the same request gives the same bytes (INV-5) and a longer one begins
//! with them (apart from the markers of cache breakpoints).

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::json;

use crate::conversation::request::{Effort, Thinking};
use crate::conversation::{Block, Message, ModelFacts, Request, Role};
use crate::provider::Body;
use crate::provider::growing::{Cut, Growing};

use super::history::{self, Part, Target, Turn};

/// A marker, written as the last key of a block.
pub const MARKER: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// The provider allows four: two for the system text, two for the messages.
const SYSTEM_BREAKPOINTS: usize = 2;
const MESSAGE_BREAKPOINTS: usize = 2;
/// A thinking budget over this is rarely used up.
const MOST_BUDGET: u64 = 16_000;

/// The body of `request` for the provider called `provider`.
pub fn body(provider: &str, request: &Request) -> Body {
    write(provider, request, request.unreadable)
}

/// The same without thinking of earlier turns, after a signature was rejected.
pub fn body_without_thinking(provider: &str, request: &Request) -> Body {
    write(provider, request, usize::MAX)
}

fn write(provider: &str, request: &Request, unreadable: usize) -> Body {
    let model = format!("{provider}/{}", request.model);
    let target = Target {
        model: &model,
        images: request.facts.images,
        prefix_bound: request.facts.prefix_bound,
        unreadable,
    };
    let mut out = Writer::default();
    out.text("{\"model\":");
    out.json(&request.model);
    out.text(",\"max_tokens\":");
    out.json(&request.facts.max_output);
    system(&mut out, request);
    if !request.tools.is_empty() {
        out.text(",\"tools\":");
        out.json(request.tools.as_ref());
    }
    out.text(",\"messages\":[");
    out.bytes
        .begin(&request.messages, format!("{target:?}"), false);
    let cut = messages(&mut out, &request.messages, target);
    out.text("]");
    ask_for_thinking(&mut out, &request.facts);
    out.text(",\"stream\":true}");
    Body {
        bytes: out.bytes.finish(&request.messages, cut),
        breakpoints: out.breakpoints,
    }
}

fn system(out: &mut Writer, request: &Request) {
    // The provider refuses empty text blocks.
    let blocks: Vec<_> = request
        .system
        .iter()
        .filter(|block| !block.text.trim().is_empty())
        .collect();
    if blocks.is_empty() {
        return;
    }
    let boundaries = blocks.iter().filter(|block| block.boundary).count();
    let mut skip = boundaries.saturating_sub(SYSTEM_BREAKPOINTS);
    out.text(",\"system\":");
    out.list(&blocks, |out, block| {
        let marked = block.boundary && {
            let counts = skip == 0;
            skip = skip.saturating_sub(1);
            counts
        };
        out.text("{\"type\":\"text\",\"text\":");
        out.json(&block.text);
        out.end_block(marked);
    });
}

/// Writes the turns that an earlier request did not write. Returns where the next may begin: what is
/// before carries no breakpoints.
fn messages(out: &mut Writer, messages: &[Message], target: Target<'_>) -> Option<Cut> {
    let mut turns = history::turns(messages, target, &mut out.bytes.progress);
    let mut marked = breakpoints(&turns);
    if marked.len() < MESSAGE_BREAKPOINTS && out.bytes.continues() {
        out.bytes.restart();
        turns = history::turns(messages, target, &mut out.bytes.progress);
        marked = breakpoints(&turns);
    }
    for (t, turn) in turns.iter().enumerate() {
        out.bytes.entry();
        out.bytes.separate();
        out.text(match turn.role {
            Role::User => "{\"role\":\"user\",\"content\":",
            Role::Assistant => "{\"role\":\"assistant\",\"content\":",
        });
        let parts: Vec<_> = turn.parts.iter().enumerate().collect();
        out.list(&parts, |out, (p, part)| {
            block(out, &part.block, marked.contains(&(t, *p)));
        });
        out.text("}");
    }
    let (first, _) = marked.get(MESSAGE_BREAKPOINTS - 1)?;
    let cuts = out.bytes.progress.cuts.iter().rev();
    cuts.copied().find(|cut| cut.entry <= *first)
}

/// The last real block of each of the last two user turns: this request writes the newest one to
/// the cache, and the previous request wrote the one before, so it is found whatever is in between.
fn breakpoints(turns: &[Turn<'_>]) -> Vec<(usize, usize)> {
    let markable = |part: &Part<'_>| !part.synthetic;
    turns
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, turn)| turn.role == Role::User)
        .filter_map(|(t, turn)| Some((t, turn.parts.iter().rposition(markable)?)))
        .take(MESSAGE_BREAKPOINTS)
        .collect()
}

fn block(out: &mut Writer, block: &Block, marked: bool) {
    match block {
        Block::Text { text } => {
            out.text("{\"type\":\"text\",\"text\":");
            out.json(text);
        }
        Block::Thinking {
            thinking,
            signature,
        } => {
            out.text("{\"type\":\"thinking\",\"thinking\":");
            out.json(thinking);
            out.text(",\"signature\":");
            out.json(signature);
        }
        Block::RedactedThinking { data } => {
            out.text("{\"type\":\"redacted_thinking\",\"data\":");
            out.json(data);
        }
        Block::ToolUse { id, name, input } => {
            out.text("{\"type\":\"tool_use\",\"id\":");
            out.json(id);
            out.text(",\"name\":");
            out.json(name);
            out.text(",\"input\":");
            out.json(input);
        }
        Block::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => {
            out.text("{\"type\":\"tool_result\",\"tool_use_id\":");
            out.json(tool_use_id);
            out.text(",\"content\":");
            out.json(content);
            if *is_error {
                out.text(",\"is_error\":true");
            }
        }
        Block::Image { media_type, data } => {
            out.text("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":");
            out.json(media_type);
            out.text(",\"data\":");
            out.json(data);
            out.text("}");
        }
        Block::Document {
            media_type,
            name,
            data,
        } => {
            out.text("{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":");
            out.json(media_type);
            out.text(",\"data\":");
            out.json(data);
            out.text("},\"title\":");
            out.json(name);
        }
        Block::Opaque { value } => {
            out.json(value);
            return;
        }
    }
    out.end_block(marked);
}

fn ask_for_thinking(out: &mut Writer, facts: &ModelFacts) {
    match facts.thinking {
        Thinking::None => {}
        _ if facts.effort == Some(Effort::Off) => {}
        Thinking::Adaptive => {
            // Without `display` some models send no text between their tool calls.
            out.text(",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}");
            if let Some(effort) = facts.effort {
                out.text(",\"output_config\":");
                out.json(&json!({"effort": effort.as_str()}));
            }
        }
        Thinking::Budget => {
            let wanted = facts.effort.map(|effort| effort.budget(facts.max_output));
            let usual = (facts.max_output / 2).min(MOST_BUDGET);
            let budget = wanted.unwrap_or(usual).max(1024);
            if budget < facts.max_output {
                out.text(",\"thinking\":");
                out.json(&json!({"type": "enabled", "budget_tokens": budget}));
            }
        }
    }
}

#[derive(Default)]
struct Writer {
    bytes: Growing,
    breakpoints: Vec<usize>,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.bytes.text(text);
    }

    fn json(&mut self, value: &(impl Serialize + ?Sized)) {
        self.bytes.json(value);
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.text("[");
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.text(",");
            }
            each(self, item);
        }
        self.text("]");
    }

    fn end_block(&mut self, marked: bool) {
        if marked {
            self.text(MARKER);
        }
        self.text("}");
        if marked {
            self.breakpoints.push(self.bytes.size());
        }
    }
}
