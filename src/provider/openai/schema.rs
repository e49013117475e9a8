//! Tool schemas that the API accepts: one object at the root instead of a union, an object for
//! every schema, and `items` in every array. The rest of JSON Schema passes. A schema that is
//! accepted as it is keeps its bytes.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Deeper schemas are not changed.
const DEPTH: usize = 64;

/// The schema for the wire.
pub fn parameters(schema: &Value) -> Value {
    let mut root = match schema {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    inline(&mut root);
    for choice in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = root.shift_remove(choice) {
            merge(&mut root, &parts, choice == "allOf", schema);
        }
    }
    for refused in ["not", "enum", "const", "if", "then", "else"] {
        root.shift_remove(refused);
    }
    if root.get("type").is_none_or(|kind| kind != "object") {
        root.insert("type".into(), "object".into());
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".into(), json!({}));
    }
    let mut root = Value::Object(root);
    mend(&mut root, DEPTH);
    root
}

/// Replaces a reference at the root by its target.
fn inline(root: &mut Map<String, Value>) {
    for _ in 0..DEPTH {
        let Some(Value::String(reference)) = root.shift_remove("$ref") else {
            return;
        };
        let whole = Value::Object(root.clone());
        let Some(Value::Object(found)) = resolve(&whole, &reference).cloned() else {
            return;
        };
        for (key, value) in found {
            root.entry(key).or_insert(value);
        }
    }
}

fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Merges the properties of all `parts`. Required is what every part requires, or, if all of them
/// apply at once, what any requires.
fn merge(root: &mut Map<String, Value>, parts: &[Value], all: bool, whole: &Value) {
    let mut demanded: Option<HashSet<String>> = None;
    let mut properties = match root.shift_remove("properties") {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    for part in parts {
        let reference = part.get("$ref").and_then(Value::as_str);
        let part = reference.and_then(|it| resolve(whole, it)).unwrap_or(part);
        if let Some(Value::Object(more)) = part.get("properties") {
            for (name, schema) in more {
                properties.entry(name).or_insert_with(|| schema.clone());
            }
        }
        let own = strings(part.get("required"));
        demanded = Some(match demanded {
            None => own.into_iter().collect(),
            Some(known) if all => known.into_iter().chain(own).collect(),
            Some(known) => own
                .into_iter()
                .filter(|name| known.contains(name))
                .collect(),
        });
    }
    let mut required = strings(root.get("required"));
    let mut further: Vec<String> = demanded.unwrap_or_default().into_iter().collect();
    further.retain(|name| !required.contains(name));
    further.sort();
    required.extend(further);
    root.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        root.insert("required".into(), json!(required));
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// Mends one schema and those inside it.
fn mend(schema: &mut Value, depth: usize) {
    if !schema.is_object() {
        // JSON Schema also allows `true` and `false`, but the API does not.
        *schema = json!({});
    }
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    let is_array = match map.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    // An older form is a list of schemas, one for each element.
    let tuple = map.get("items").is_some_and(Value::is_array);
    if is_array && (tuple || !map.contains_key("items")) {
        map.insert("items".into(), json!({}));
    }
    if depth == 0 {
        return;
    }
    for key in ["properties", "$defs", "definitions"] {
        if let Some(Value::Object(all)) = map.get_mut(key) {
            all.values_mut().for_each(|one| mend(one, depth - 1));
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(all)) = map.get_mut(key) {
            all.iter_mut().for_each(|one| mend(one, depth - 1));
        }
    }
    if let Some(items) = map.get_mut("items") {
        mend(items, depth - 1);
    }
}
