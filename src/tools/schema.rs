//! Checking arguments: unknown, missing and wrongly typed keys named by their path, nothing
//! coerced (P23). What did not parse, or names a key twice, is never run (P22, P24).

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use super::{ToolContext, ToolError, words};

#[cfg(test)]
mod tests;

/// The arguments as `T`, which denies unknown fields; else words that name the place.
pub(super) fn check<T: DeserializeOwned>(
    cx: &ToolContext,
    tool: &str,
    arguments: Value,
) -> Result<T, ToolError> {
    // Serde would take an array for a struct, field by field.
    if !arguments.is_object() {
        return Err(words::for_model(
            cx,
            "results/arguments-not-json.md",
            &[("tool", tool)],
        ));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "" } else { path.as_str() };
        let problem = match (place, error.inner().to_string()) {
            ("", problem) => problem,
            (place, problem) => format!("`{place}`: {problem}"),
        };
        words::for_model(
            cx,
            "results/arguments-wrong.md",
            &[("tool", tool), ("problem", &problem)],
        )
    })
}

/// JSON Schema of a closed object: `properties` in the given order, then `required`.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments of a call out of the model's text; a key that occurs twice is an error,
/// because which one counts is anybody's guess (P24). Empty text is an empty object.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = deserializer.deserialize_any(Strict)?;
    deserializer.end()?;
    Ok(value)
}

/// Builds a [`Value`] and refuses duplicate keys.
struct Strict;

impl<'de> serde::de::DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(Strict)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` occurs twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
