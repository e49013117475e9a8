//! The exact bytes of a `streamGenerateContent` request. Keys have a fixed order and nothing
//! depends on anything but the request, so that the same request gives the same bytes (INV-5). The
//! contents are last, so that a longer history begins with the same bytes: the provider caches by
//! prefix.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::conversation::request::{Effort, Thinking};
use crate::conversation::{Request, ToolSpec};
use crate::provider::Body;
use crate::provider::growing::Growing;

use super::history::{self, Contents, Part, Target};
use super::names;
use super::schema;

/// The smallest budget that every model with budgets accepts.
const LEAST_BUDGET: u64 = 512;
/// A thinking budget over this is rarely used up.
const MOST_BUDGET: u64 = 16_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    generation_config: Generation,
}

#[derive(Serialize)]
struct System<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

/// The body of `request` for the provider called `provider`.
pub fn body(provider: &str, request: &Request) -> Body {
    write(provider, request, request.unreadable)
}

/// The same without the signatures of earlier turns, after one was rejected.
pub fn body_without_signatures(provider: &str, request: &Request) -> Body {
    write(provider, request, usize::MAX)
}

fn write(provider: &str, request: &Request, unreadable: usize) -> Body {
    let model = format!("{provider}/{}", request.model);
    let target = Target {
        model: &model,
        images: request.facts.images,
        unreadable,
    };
    let mut out = Growing::default();
    out.json(&head(request));
    // The contents are appended to the object of the head.
    out.reopen();
    out.text(",\"contents\":[");
    out.begin(&request.messages, format!("{target:?}"), false);
    let mut contents = history::turns(&request.messages, target, &mut out.progress);
    if contents.turns.is_empty() && out.continues() {
        // Without its unfinished end, this history ends before the body that it would continue.
        out.restart();
        contents = history::turns(&request.messages, target, &mut out.progress);
    }
    let Contents {
        turns,
        continuation,
        synthetic_end,
    } = contents;
    for turn in &turns {
        out.entry();
        out.separate();
        out.json(turn);
    }
    let end = out.size();
    out.text("]");
    if let Some(token) = continuation {
        out.text(",\"continuationToken\":");
        out.json(token);
    }
    out.text("}");
    let cached = !turns.is_empty() && !synthetic_end;
    let cut = out.progress.cuts.last().copied();
    Body {
        bytes: out.finish(&request.messages, cut),
        breakpoints: cached.then_some(end).into_iter().collect(),
    }
}

fn head(request: &Request) -> Head<'_> {
    let parts: Vec<Part<'_>> = request
        .system
        .iter()
        .filter(|block| !block.text.trim().is_empty())
        .map(|block| Part::text(&block.text))
        .collect();
    let declarations: Vec<Declaration<'_>> = request.tools.iter().map(declaration).collect();
    Head {
        system_instruction: (!parts.is_empty()).then_some(System { parts }),
        tools: (!declarations.is_empty()).then_some([Tools {
            function_declarations: declarations,
        }]),
        generation_config: Generation {
            max_output_tokens: request.facts.max_output,
            thinking_config: thinking(request),
        },
    }
}

fn declaration(tool: &ToolSpec) -> Declaration<'_> {
    Declaration {
        name: names::wire(&tool.name),
        description: &tool.description,
        parameters: schema::parameters(&tool.input_schema),
    }
}

fn thinking(request: &Request) -> Option<ThinkingConfig> {
    let (most, effort) = (request.facts.max_output, request.facts.effort);
    let (thinking_budget, thinking_level) = match (request.facts.thinking, effort) {
        (Thinking::None, _) => return None,
        (Thinking::Adaptive, None) => (None, None),
        // These models cannot stop thinking.
        (Thinking::Adaptive, Some(Effort::Off)) => (None, Some(Effort::Low.as_str())),
        (Thinking::Adaptive, Some(effort)) => (None, Some(effort.as_str())),
        (Thinking::Budget, None) => (Some((most / 2).min(MOST_BUDGET)), None),
        (Thinking::Budget, Some(effort)) => {
            let budget = effort.budget(most).clamp(LEAST_BUDGET, MOST_BUDGET);
            (Some(budget), None)
        }
    };
    Some(ThinkingConfig {
        include_thoughts: effort != Some(Effort::Off),
        thinking_budget,
        thinking_level,
    })
}
