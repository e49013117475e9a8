//! Lines that other programs wrote in the two forms of the ZyHive design: flat messages, and typed
//! messages and compactions (ZY-81, ZY-83-C). What they keep for display is not taken over.

use serde_json::Value;

use crate::conversation::entry::{Carried, Compaction};
use crate::conversation::{Block, Entry, Message, Role, TurnId};
use crate::prompt::Texts;

/// The turn that such lines count as.
const TURN: &str = "flat";

/// The entry that a line comes to; `None` if it has neither form.
pub fn entry(value: &Value) -> Option<Entry> {
    match value.get("type").and_then(Value::as_str) {
        None => message(value),
        Some("message") => message(value.get("message")?),
        Some("compaction") => compaction(value),
        Some(_) => None,
    }
}

/// `role` and `content`: a text, blocks, or either of them as JSON in a string.
fn message(value: &Value) -> Option<Entry> {
    let role = match value.get("role")?.as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let content = match value.get("content")? {
        Value::String(text) => blocks(&serde_json::from_str(text).unwrap_or(Value::Null))
            .unwrap_or_else(|| vec![Block::text(text.clone())]),
        other => blocks(other)?,
    };
    Some(Entry::Message {
        turn: TurnId::from(TURN),
        message: Message {
            role,
            content,
            model: None,
        },
    })
}

fn blocks(content: &Value) -> Option<Vec<Block>> {
    match content {
        Value::String(text) => Some(vec![Block::text(text.clone())]),
        Value::Array(_) => serde_json::from_value(content.clone()).ok(),
        _ => None,
    }
}

/// The summary and a word that it was heard stand for all before; what was kept follows it.
fn compaction(value: &Value) -> Option<Entry> {
    let summary = value.get("summary")?.as_str()?;
    let tokens = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let texts = Texts::load(None);
    let text = texts.render("compact/summary.md", &[("summary", summary)]);
    let heard = texts.render("compact/ack.md", &[]);
    Some(Entry::Compaction(Box::new(Compaction {
        turn: TurnId::from(TURN),
        reason: "threshold".to_owned(),
        first_kept: 0,
        summary: Some(summary.to_owned()),
        tokens_before: tokens("tokensBefore"),
        tokens_after: tokens("tokensAfter"),
        model: String::new(),
        messages: vec![
            Message::user(vec![Block::text(text)]),
            Message::assistant(vec![Block::text(heard)], ""),
        ],
        carried: Carried::default(),
        begun: None,
    })))
}
