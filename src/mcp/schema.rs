//! Normalises a tool's schema to what every provider accepts: an object at the top, bounded in size
//! and depth, with references that resolve. An error in it costs a part of the schema, never the
//! request.

use serde_json::{Map, Value, json};

use crate::prompt::fence;

#[cfg(test)]
mod tests;

/// Bytes of one tool's schema; a larger one is left out.
const BYTES: usize = 32 * 1024;
const DEPTH: usize = 24;
/// Keywords that providers reject at the top.
const NOT_ON_TOP: [&str; 6] = ["oneOf", "anyOf", "allOf", "not", "enum", "const"];

/// The schema, and whether a part was left out.
pub fn normalised(raw: Option<&Value>) -> (Value, bool) {
    let Some(Value::Object(raw)) = raw else {
        return (any_object(), raw.is_some());
    };
    let size = Value::Object(raw.clone()).to_string().len();
    if size > BYTES {
        return (any_object(), true);
    }
    let whole = Value::Object(raw.clone());
    let mut cut = false;
    let mut top = match clean(&whole, &whole, DEPTH, &mut cut) {
        Value::Object(top) => top,
        _ => Map::new(),
    };
    for keyword in NOT_ON_TOP {
        cut |= top.remove(keyword).is_some();
    }
    if top.get("type") != Some(&json!("object")) {
        cut |= top.contains_key("type");
        top.insert("type".to_owned(), json!("object"));
    }
    properties(&mut top, &mut cut);
    (Value::Object(top), cut)
}

fn any_object() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Keeps only names that every provider accepts, and `required` only for existing properties.
fn properties(top: &mut Map<String, Value>, cut: &mut bool) {
    let mut known = match top.remove("properties") {
        Some(Value::Object(known)) => known,
        other => {
            *cut |= other.is_some();
            Map::new()
        }
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let before = known.len();
    known.retain(|name, schema| {
        (1..=64).contains(&name.len()) && name.chars().all(legal) && schema_like(schema)
    });
    *cut |= known.len() < before;
    let required = match top.remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    let there = |name: &Value| name.as_str().is_some_and(|name| known.contains_key(name));
    let required: Vec<Value> = required.into_iter().filter(there).collect();
    top.insert("properties".to_owned(), Value::Object(known));
    if !required.is_empty() {
        top.insert("required".to_owned(), Value::Array(required));
    }
}

fn schema_like(schema: &Value) -> bool {
    schema.is_object() || schema.is_boolean()
}

/// A copy without parts that are too deep, dangling references and invisible characters.
fn clean(value: &Value, whole: &Value, depth: usize, cut: &mut bool) -> Value {
    if depth == 0 {
        *cut = true;
        return json!({});
    }
    match value {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, inner) in map {
                if key == "$schema" || key == "$id" {
                    continue;
                }
                if key == "$ref" && !resolves(inner, whole) {
                    *cut = true;
                    continue;
                }
                out.insert(key.clone(), clean(inner, whole, depth - 1, cut));
            }
            Value::Object(out)
        }
        Value::Array(items) => {
            let items = items.iter();
            Value::Array(items.map(|it| clean(it, whole, depth - 1, cut)).collect())
        }
        Value::String(text) => Value::String(fence::visible(text)),
        other => other.clone(),
    }
}

/// Whether the reference points into the schema itself.
fn resolves(reference: &Value, whole: &Value) -> bool {
    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
    pointer.is_some_and(|pointer| !pointer.is_empty() && whole.pointer(pointer).is_some())
}
