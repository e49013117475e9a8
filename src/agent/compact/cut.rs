//! The size of a conversation, where it may be cut, which tool outputs may be pruned, and its
//! transcript. A call is never separated from its result. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conversation::usage::estimated_tokens;
use crate::conversation::{Block, Message, ModelFacts, Role};
use crate::env::order;
use crate::prompt::Layout;

/// Tokens left for an answer at the end of the window, unless the model writes less.
const RESERVE: u64 = 20_000;
/// Newest tokens that are kept verbatim if the layout sets nothing.
const KEEP: u64 = 20_000;
/// Newest tokens whose tool outputs are never pruned.
const PROTECTED: u64 = 40_000;
/// Smaller outputs stay.
const SMALL: usize = 2_000;
/// Bytes of one result in a transcript.
const SHOWN: usize = 2_000;
/// Tools whose results are text rather than output, or are retained in another way.
const SPARED: [&str; 4] = ["ask_user", "load_skill", "save_memory", "write_todos"];

/// When a conversation with this model and layout is due for compaction, and how much of it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Tokens of the window.
    pub context: u64,
    /// Tokens of the window left for a request.
    pub usable: u64,
    /// Tokens at which a conversation is compacted.
    pub threshold: u64,
    /// Tokens that the layout keeps.
    pub keep: Option<usize>,
}

impl Numbers {
    pub fn of(layout: &Layout, facts: &ModelFacts) -> Self {
        let reserve = RESERVE.min(facts.max_output).min(facts.context / 4);
        let usable = facts.context.saturating_sub(reserve);
        let own = layout.head.compaction;
        Self {
            context: facts.context,
            usable,
            threshold: own.threshold.map_or(usable, |it| it.min(usable)),
            keep: own.keep,
        }
    }

    /// How many of `total` tokens may stay verbatim.
    fn kept_tokens(&self, total: u64) -> u64 {
        match self.keep {
            Some(_) => (self.threshold / 2).min(total / 2),
            None => KEEP.min(self.threshold / 4).min(total / 4),
        }
    }
}

/// Estimated tokens of a message.
pub fn weight(message: &Message) -> u64 {
    message.tokens()
}

pub fn weigh(messages: &[Message]) -> u64 {
    messages.iter().map(weight).sum()
}

/// Moves the cut to the next prompt, if there is one: an answer without its prompt says little. A
/// final answer goes with its prompt; work with tools stays.
pub fn from_a_prompt(messages: &[Message], first: usize) -> usize {
    let kept = messages.get(first..).unwrap_or_default();
    match kept.iter().position(Message::is_prompt) {
        Some(after) => first + after,
        None if kept.iter().any(|it| it.tool_uses().next().is_some()) => first,
        None => messages.len(),
    }
}

/// Characters kept of a prompt whose answer alone stays.
const PROMPT: usize = 1_000;

/// The beginning of the prompt that the message at `first` answers.
pub fn answered_prompt(messages: &[Message], first: usize) -> Option<Message> {
    if messages.get(first)?.role != Role::Assistant {
        return None;
    }
    let prompt = messages[..first].iter().rfind(|it| it.is_prompt())?;
    let text = prompt.texts().next()?;
    let shown = match text.char_indices().nth(PROMPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    Some(Message::user(vec![Block::text(shown)]))
}

/// Whether the history may begin with the message at `at`: no later result answers an earlier call.
pub fn may_begin(messages: &[Message], at: usize) -> bool {
    let follow = messages[at.min(messages.len())..].iter();
    let mut before_calls = follow.take_while(|message| message.role == Role::User);
    !before_calls.any(|message| message.answered_calls().next().is_some())
}

/// The index of the first message that stays verbatim. `scale`: real tokens per estimated token.
pub fn first_kept(messages: &[Message], numbers: &Numbers, total: u64, scale: f64) -> usize {
    let room = numbers.kept_tokens(total);
    let most = numbers.keep.unwrap_or(usize::MAX);
    let (mut at, mut sum, mut best) = (messages.len(), 0u64, messages.len());
    while at > 0 && messages.len() - at < most {
        sum = sum.saturating_add(scaled(weight(&messages[at - 1]), scale));
        if sum > room {
            break;
        }
        at -= 1;
        if may_begin(messages, at) {
            best = at;
        }
    }
    best
}

/// Converts estimated `tokens` to real ones.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
pub fn scaled(tokens: u64, scale: f64) -> u64 {
    (tokens as f64 * scale) as u64
}

/// A result that may be pruned, and the call that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// The tool's name as the model sees it.
    pub tool: &'a str,
    /// The file, command or pattern of the call.
    pub what: &'a str,
    pub bytes: usize,
}

/// The messages with old tool outputs replaced by `marker`, and the estimated tokens that this
/// saves. `wire` maps a shown tool name to its own name.
pub fn pruned(
    messages: &[Message],
    numbers: &Numbers,
    scale: f64,
    wire: impl Fn(&str) -> String,
    marker: impl Fn(&Output<'_>) -> String,
) -> (Vec<Message>, u64) {
    let protected = PROTECTED.min(numbers.threshold / 3);
    let mut end = messages.len().saturating_sub(1);
    let mut sum = messages.last().map_or(0, weight);
    while end > 0 {
        sum = sum.saturating_add(weight(&messages[end - 1]));
        if scaled(sum, scale) > protected {
            break;
        }
        end -= 1;
    }
    let (mut out, mut saved) = (messages.to_vec(), 0);
    let mut calls: BTreeMap<String, (String, String)> = BTreeMap::new();
    for message in &mut out[..end] {
        if message.role == Role::Assistant {
            let uses = message.tool_uses();
            calls =
                order::map(uses.map(|(id, name, input)| {
                    (id.to_owned(), (name.to_owned(), main_argument(input)))
                }));
            continue;
        }
        for block in &mut message.content {
            let Block::ToolResult {
                tool_use_id,
                content,
                ..
            } = block
            else {
                continue;
            };
            let Some((tool, what)) = calls.get(tool_use_id) else {
                continue;
            };
            if content.len() <= SMALL || SPARED.contains(&wire(tool).as_str()) {
                continue;
            }
            let said = marker(&Output {
                tool,
                what,
                bytes: content.len(),
            });
            saved += estimated_tokens(content.len()).saturating_sub(estimated_tokens(said.len()));
            *content = said;
        }
    }
    (out, saved)
}

/// The main argument of a call.
pub fn main_argument(input: &Value) -> String {
    let names = ["path", "command", "pattern", "query", "url", "name", "uri"];
    let mut found = names.iter().filter_map(|name| input.get(*name)?.as_str());
    found.next().unwrap_or_default().to_owned()
}

/// The messages as a readable transcript: results truncated, thinking and images left out.
pub fn transcript(messages: &[Message]) -> Vec<String> {
    let mut parts = Vec::new();
    for message in messages {
        for block in &message.content {
            let text = match (block, message.role) {
                (Block::Text { text }, Role::User) => format!("[user]\n{text}"),
                (Block::Text { text }, Role::Assistant) => format!("[assistant]\n{text}"),
                (Block::ToolUse { name, input, .. }, _) => {
                    format!("[call of {name}]\n{}", truncate_output(&input.to_string()))
                }
                (Block::ToolResult { content, .. }, _) => {
                    format!("[result]\n{}", truncate_output(content))
                }
                (Block::Image { .. }, _) => "[image]".to_owned(),
                (Block::Document { name, .. }, _) => format!("[document {name}]"),
                _ => continue,
            };
            parts.push(text);
        }
    }
    parts
}

fn truncate_output(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(SHOWN / 2), text.len() - SHOWN / 2);
    let tail = text.ceil_char_boundary(tail);
    let left = tail - head;
    format!(
        "{}\n[{left} bytes left out]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// Joins texts into chunks of at most `bytes`; longer ones are split.
pub fn chunks(parts: &[String], bytes: usize) -> Vec<String> {
    let bytes = bytes.max(1_000);
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        let mut rest = part.as_str();
        while !rest.is_empty() {
            let room = match out.last() {
                Some(last) if last.len() + 2 < bytes => bytes - last.len() - 2,
                _ => 0,
            };
            if rest.len() <= room {
                if let Some(last) = out.last_mut() {
                    last.push_str("\n\n");
                    last.push_str(rest);
                }
                break;
            }
            let end = rest.floor_char_boundary(bytes.min(rest.len()));
            out.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    out
}
