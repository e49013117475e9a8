//! A tool call's arguments, read strictly: an object, or an error that the model can act on, never
//! a guess (P22–P24).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The arguments in `text`. Nothing at all means no arguments.
pub fn parse(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match strict(text)? {
        value @ Value::Object(_) => Ok(value),
        other => Err(format!(
            "the arguments must be a JSON object, not {}",
            match other {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                Value::String(_) => "a string (is the object encoded twice?)",
                _ => "an array",
            }
        )),
    }
}

/// Any JSON in which no key is repeated, at any depth.
pub fn strict(text: &str) -> Result<Value, String> {
    let text = mend_surrogates(text);
    let mut json = serde_json::Deserializer::from_str(&text);
    Strict
        .deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| format!("the arguments are not valid JSON: {error}"))
}

/// The JSON text with each unpaired surrogate replaced by U+FFFD: JSON allows them, Rust's strings
/// do not (P15).
pub fn mend_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = bytes[at..].iter().position(|&b| b == b'\\') {
        at += offset;
        match unit(bytes, at) {
            Some(high) if (0xd800..0xdc00).contains(&high) => {
                let paired = unit(bytes, at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
                if paired {
                    at += 12;
                    continue;
                }
            }
            Some(low) if (0xdc00..0xe000).contains(&low) => {}
            Some(_) => {
                at += 6;
                continue;
            }
            None => {
                // Any other escape: skip the escaped byte too, it may be a backslash.
                at = (at + 2).min(bytes.len());
                continue;
            }
        }
        out.push_str(&text[copied..at]);
        out.push_str("\\ufffd");
        at += 6;
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The code unit of the `\uXXXX` at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, &digit| {
        Some(value * 16 + char::from(digit).to_digit(16)?)
    })
}

/// Builds a [`Value`] and rejects a repeated key: which one is meant is anyone's guess.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!(
                    "the key `{key}` comes twice"
                )));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
