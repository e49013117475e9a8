//! Logs that other programs wrote in the two forms of the ZyHive design: flat messages, and typed
//! messages and compactions below their own header (ZY-81, ZY-83-C). Calls stored there for display
//! are shown, and never become part of the conversation.

use std::path::Path;

use serde_json::Value;

use super::Header;
use crate::conversation::entry::{Carried, Compaction};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{
    Block, CompactionItem, CompactionStatus, Entry, Event, Input, ItemId, Message, Role, SessionId,
    ToolItem, ToolStatus, TurnId,
};
use crate::prompt::Texts;

/// The turn that such lines belong to.
pub const TURN: &str = "flat";

/// Larger times are milliseconds, not seconds.
const MILLISECONDS: i64 = 100_000_000_000;

/// Whether a line has one of the forms.
pub fn is(value: &Value) -> bool {
    let said = |value: &Value| value.get("role").is_some() && value.get("content").is_some();
    match value.get("type").and_then(Value::as_str) {
        None => said(value),
        Some("message") => value.get("message").is_some_and(said),
        Some("compaction") => value.get("summary").is_some_and(Value::is_string),
        Some(_) => false,
    }
}

/// A header for such a log; its session is named after its file.
pub fn header(value: &Value) -> Header {
    let created_at = time(&value["createdAt"]).unwrap_or_default();
    Header {
        program: String::new(),
        ..Header::new(SessionId::from(""), created_at, Path::new(""), &[])
    }
}

fn time(value: &Value) -> Option<String> {
    let Some(number) = value.as_i64() else {
        return value.as_str().map(str::to_owned);
    };
    let time = match number {
        MILLISECONDS.. => jiff::Timestamp::from_millisecond(number),
        _ => jiff::Timestamp::from_second(number),
    };
    time.ok().map(|time| time.to_string())
}

/// The entries for a line at the byte `at`: shown items and messages. Item numbers rise with the
/// bytes, so that earlier lines need not be counted.
pub fn entries(value: &Value, at: u64) -> Vec<Entry> {
    let (events, said) = match value.get("type").and_then(Value::as_str) {
        None => message(value),
        Some("message") => message(&value["message"]),
        _ => compaction(value),
    };
    let shown = events.into_iter().zip(1..).map(|(event, n)| Entry::Item {
        turn: TurnId::from(TURN),
        seq: at + n,
        body: EnvelopeBody::Event {
            event: event(ItemId(format!("{TURN}-{at}-{n}"))),
        },
    });
    shown.chain(said).collect()
}

/// An event that wants the id of its item.
type Shown = Box<dyn FnOnce(ItemId) -> Event>;

/// `role` and `content`: a text, blocks, or either of them as JSON in a string.
fn message(value: &Value) -> (Vec<Shown>, Option<Entry>) {
    let role = match value["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return (Vec::new(), None),
    };
    let content = match &value["content"] {
        Value::String(text) => blocks(&serde_json::from_str(text).unwrap_or(Value::Null))
            .unwrap_or_else(|| vec![Block::text(text.clone())]),
        other => blocks(other).unwrap_or_default(),
    };
    let calls = value["toolCalls"].as_array();
    let events = match role {
        Role::User => prompt(&content),
        Role::Assistant => answer(&content, calls),
    };
    let said = (!content.is_empty()).then(|| Entry::Message {
        turn: TurnId::from(TURN),
        message: Message {
            role,
            content,
            model: None,
        },
    });
    (events, said)
}

fn prompt(content: &[Block]) -> Vec<Shown> {
    let parts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(Input::Text { text: text.clone() }),
        Block::Image { media_type, data } => Some(Input::Image {
            mime_type: media_type.clone(),
            data: data.clone(),
        }),
        _ => None,
    });
    let input: Vec<Input> = parts.collect();
    match input.is_empty() {
        true => Vec::new(),
        false => vec![Box::new(|item_id| Event::UserMessage { item_id, input })],
    }
}

fn answer(content: &[Block], calls: Option<&Vec<Value>>) -> Vec<Shown> {
    let mut events: Vec<Shown> = Vec::new();
    for block in content {
        match block.clone() {
            Block::Text { text } => events.push(Box::new(|item_id| Event::text(item_id, text))),
            Block::ToolUse { name, input, .. } if calls.is_none() => {
                events.push(called(name, Some(input), None));
            }
            _ => {}
        }
    }
    let text = |call: &Value, name: &str| match &call[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    for call in calls.into_iter().flatten() {
        if let Some(name) = call["name"].as_str() {
            let input = call.get("input").cloned();
            let output = text(call, "result").or_else(|| text(call, "output"));
            events.push(called(name.to_owned(), input, output));
        }
    }
    events
}

fn called(tool: String, input: Option<Value>, output: Option<String>) -> Shown {
    Box::new(|item_id| {
        Event::ToolCall(ToolItem {
            input,
            output,
            ..ToolItem::new(item_id, tool, ToolStatus::Completed)
        })
    })
}

/// `None`: it is neither a text nor a list with a known block.
fn blocks(content: &Value) -> Option<Vec<Block>> {
    match content {
        Value::String(text) => Some(vec![Block::text(text.clone())]),
        Value::Array(parts) => {
            let blocks: Vec<Block> = parts.iter().filter_map(block).collect();
            (!blocks.is_empty()).then_some(blocks)
        }
        _ => None,
    }
}

/// A block as the ZyHive design or the Messages API spells it.
fn block(part: &Value) -> Option<Block> {
    match part["type"].as_str()? {
        "tool_result" => Some(Block::ToolResult {
            tool_use_id: part["tool_use_id"].as_str()?.to_owned(),
            content: match &part["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => {
                    let texts = parts.iter().filter_map(|part| part["text"].as_str());
                    texts.collect::<Vec<_>>().join("\n")
                }
                _ => String::new(),
            },
            is_error: part["is_error"].as_bool().unwrap_or(false),
        }),
        "image" => {
            let source = part.get("source").unwrap_or(part);
            Some(Block::Image {
                media_type: source["media_type"].as_str()?.to_owned(),
                data: source["data"].as_str()?.to_owned(),
            })
        }
        "text" | "tool_use" => serde_json::from_value(part.clone()).ok(),
        // Reasoning is bound to the request that it came from.
        _ => None,
    }
}

/// The summary and an acknowledgement replace everything before; the kept messages follow.
fn compaction(value: &Value) -> (Vec<Shown>, Option<Entry>) {
    let summary = value["summary"].as_str().unwrap_or_default().to_owned();
    let tokens = |name: &str| value[name].as_u64().unwrap_or(0);
    let (before, after) = (tokens("tokensBefore"), tokens("tokensAfter"));
    let texts = Texts::load(None);
    let text = texts.render("compact/summary.md", &[("summary", &summary)]);
    let heard = texts.render("compact/ack.md", &[]);
    let entry = Entry::Compaction(Box::new(Compaction {
        turn: TurnId::from(TURN),
        reason: "threshold".to_owned(),
        first_kept: 0,
        summary: Some(summary.clone()),
        tokens_before: before,
        tokens_after: after,
        model: String::new(),
        messages: vec![
            Message::user(vec![Block::text(text)]),
            Message::assistant(vec![Block::text(heard)], ""),
        ],
        carried: Carried::default(),
        begun: None,
    }));
    let event: Shown = Box::new(move |item_id| {
        Event::Compaction(CompactionItem {
            item_id,
            status: CompactionStatus::Completed,
            reason: "threshold".to_owned(),
            tokens_before: before,
            tokens_after: Some(after),
            text: Some(summary),
        })
    });
    (vec![event], Some(entry))
}
