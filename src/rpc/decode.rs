//! Parses one body into one message. Flaws that editors really send (bad UTF-8, lone surrogates,
//! byte order marks) are repaired; anything else becomes a typed error, with the request's id if
//! that can be read. Pure; knows JSON-RPC and nothing of LSP.

use serde::Deserialize;
use serde_json::Value;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const INTERNAL_ERROR: i64 = -32603;
pub const REQUEST_CANCELLED: i64 = -32800;

/// A complete message of the client: `message` still contains `id` and `method`.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        message: Value,
    },
    Notification {
        message: Value,
    },
    Answer {
        id: Value,
        result: Result<Value, (i64, String)>,
    },
    Bad {
        id: Value,
        code: i64,
        message: String,
    },
}

/// Decodes a body.
pub fn decode(body: Vec<u8>) -> Incoming {
    parse(&text_of(body))
}

/// A body as text, with bad UTF-8 replaced and a byte order mark removed.
pub fn text_of(body: Vec<u8>) -> String {
    let mut text = String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}

/// Parses the text of a body.
pub fn parse(text: &str) -> Incoming {
    let parsed = serde_json::from_str(text).or_else(|error| match repair_surrogates(text) {
        Some(repaired) => serde_json::from_str(&repaired),
        None => Err(error),
    });
    match parsed {
        Ok(message) => classify(message),
        Err(error) => Incoming::Bad {
            id: readable_id(text),
            code: PARSE_ERROR,
            message: format!("the message is not valid JSON: {error}"),
        },
    }
}

/// An error answer.
pub fn error_answer(id: Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = serde_json::json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

fn classify(mut message: Value) -> Incoming {
    let Some(fields) = message.as_object_mut() else {
        let text = match message {
            Value::Array(_) => "batches are not supported: send each message by itself",
            _ => "a message must be a JSON object",
        };
        return invalid(Value::Null, text);
    };
    let id = match fields.get("id") {
        None => None,
        Some(id @ (Value::String(_) | Value::Number(_))) => Some(id.clone()),
        Some(Value::Null) if !fields.contains_key("method") => Some(Value::Null),
        Some(_) => return invalid(Value::Null, "an id must be a string or a number"),
    };
    let version = fields.get("jsonrpc");
    if version.is_some_and(|version| version != "2.0") {
        return invalid(id.unwrap_or_default(), "\"jsonrpc\" must be \"2.0\"");
    }
    match fields.get("method") {
        Some(Value::String(_)) => match id {
            Some(id) => Incoming::Request { id, message },
            None => Incoming::Notification { message },
        },
        Some(_) => invalid(id.unwrap_or_default(), "a method must be a string"),
        None => answer(id, fields),
    }
}

fn answer(id: Option<Value>, fields: &mut serde_json::Map<String, Value>) -> Incoming {
    let error = fields.get_mut("error").map(Value::take);
    match (id, error, fields.get_mut("result").map(Value::take)) {
        // Some clients send both, with `error: null`.
        (Some(id), Some(error), result) if !(error.is_null() && result.is_some()) => {
            let code = error.get("code").and_then(Value::as_i64);
            let message = error.get("message").and_then(Value::as_str);
            let message = message.unwrap_or("error without a message").to_owned();
            let result = Err((code.unwrap_or(INTERNAL_ERROR), message));
            Incoming::Answer { id, result }
        }
        (Some(id), _, Some(result)) => Incoming::Answer {
            id,
            result: Ok(result),
        },
        (id, ..) => invalid(
            id.unwrap_or_default(),
            "neither a method nor an answer's result or error",
        ),
    }
}

fn invalid(id: Value, message: &str) -> Incoming {
    Incoming::Bad {
        id,
        code: INVALID_REQUEST,
        message: message.to_owned(),
    }
}

/// The id of a message that does not parse. Skipped values are not checked for nesting or number
/// range, so that such a request still gets its answer.
fn readable_id(text: &str) -> Value {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        id: Value,
    }
    match serde_json::from_str::<Head>(text) {
        Ok(Head {
            id: id @ (Value::String(_) | Value::Number(_)),
        }) => id,
        _ => Value::Null,
    }
}

/// Replaces unpaired `\udXXX` escapes by U+FFFD: UTF-16 editors send them when they split a string
/// inside a character. `None` without any.
fn repair_surrogates(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let Some(unit) = escaped_unit(text, at) else {
            // A two-byte escape, or one that the parser will reject.
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let pair = (0xD800..0xDC00).contains(&unit)
            && escaped_unit(text, at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        if pair {
            at += 12;
            continue;
        }
        if (0xD800..0xE000).contains(&unit) {
            out.push_str(&text[copied..at]);
            out.push('\u{fffd}');
            copied = at + 6;
        }
        at += 6;
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// The code unit of a `\uXXXX` escape at `at`.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests;
