//! Tool schemas that the API accepts: a subset of OpenAPI's. References are inlined, unions at the
//! root merged, and refused keywords dropped (the tools check their arguments themselves). A pure
//! function that never fails and whose result is bounded.

#[cfg(test)]
mod tests;

use std::cell::Cell;

use serde_json::{Map, Value, json};

/// A deeper schema is just an object.
const DEPTH: usize = 12;
/// The most schemas in one tool's schema; references count each time.
const MOST: usize = 2_000;
/// Keywords that pass as they are.
const PLAIN: [&str; 8] = [
    "description",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
];

/// The parameters of a tool; `None` for a tool without any.
pub fn parameters(schema: &Value) -> Option<Value> {
    let cleaner = Cleaner {
        root: schema,
        left: Cell::new(MOST),
    };
    let flat = cleaner.flat(schema, 0);
    let mut flat = cleaner.root_union(flat);
    flat.insert("type".to_owned(), "object".into());
    let cleaned = cleaner.object(&flat, 0);
    cleaned.get("properties").is_some().then_some(cleaned)
}

struct Cleaner<'a> {
    root: &'a Value,
    left: Cell<usize>,
}

impl Cleaner<'_> {
    /// The schema with references inlined and `allOf` merged, one level deep.
    fn flat(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let Some(map) = schema.as_object().filter(|_| self.left.get() > 0) else {
            return Map::new();
        };
        self.left.set(self.left.get() - 1);
        let mut flat = Map::new();
        if depth < DEPTH {
            if let Some(target) = map.get("$ref").and_then(|it| self.find(it)) {
                flat = self.flat(target, depth + 1);
            }
            for part in list(map.get("allOf")) {
                merge(&mut flat, self.flat(part, depth + 1));
            }
        }
        let mut own = map.clone();
        own.shift_remove("$ref");
        own.shift_remove("allOf");
        merge(&mut flat, own);
        flat
    }

    fn find(&self, reference: &Value) -> Option<&Value> {
        let path = reference.as_str()?.strip_prefix('#')?;
        self.root.pointer(path)
    }

    /// A union at the root becomes one object with the properties of all variants. Required is what
    /// all of them require.
    fn root_union(&self, mut map: Map<String, Value>) -> Map<String, Value> {
        for key in ["anyOf", "oneOf"] {
            let Some(Value::Array(variants)) = map.shift_remove(key) else {
                continue;
            };
            let mut required: Option<Vec<Value>> = None;
            for variant in &variants {
                let mut variant = self.flat(variant, 0);
                let own = match variant.shift_remove("required") {
                    Some(Value::Array(names)) => names,
                    _ => Vec::new(),
                };
                required = Some(match required {
                    Some(mut common) => {
                        common.retain(|name| own.contains(name));
                        common
                    }
                    None => own,
                });
                variant.retain(|key, _| key == "properties");
                merge(&mut map, variant);
            }
            let common = required.unwrap_or_default();
            merge(
                &mut map,
                Map::from_iter([("required".into(), common.into())]),
            );
        }
        map
    }

    fn any(&self, schema: &Value, depth: usize) -> Value {
        if depth > DEPTH || self.left.get() == 0 {
            return json!({"type": "object"});
        }
        let map = self.flat(schema, depth);
        if let Some(union) = self.union(&map, depth) {
            return union;
        }
        let (kind, nullable) = kind(&map);
        let mut out = match kind.as_str() {
            "object" => self.object(&map, depth),
            "array" => {
                let items = map.get("items").filter(|items| items.is_object());
                let item = items.map(|items| self.any(items, depth + 1));
                let mut out = plain("array", &map);
                out["items"] = item.unwrap_or_else(|| json!({"type": "string"}));
                out
            }
            "string" => strings(&map),
            other => plain(other, &map),
        };
        if nullable {
            out["nullable"] = true.into();
        }
        out
    }

    /// Nothing else is allowed beside `anyOf`, so the description moves into the variants.
    fn union(&self, map: &Map<String, Value>, depth: usize) -> Option<Value> {
        let variants: Vec<&Value> = list(map.get("anyOf"))
            .chain(list(map.get("oneOf")))
            .collect();
        let is_null = |it: &&&Value| it.get("type").is_some_and(|kind| kind == "null");
        let nullable = variants.iter().any(|it| is_null(&it));
        let mut cleaned = Vec::new();
        for variant in variants.iter().filter(|it| !is_null(it)) {
            let mut variant = self.any(variant, depth + 1);
            match variant.get_mut("anyOf").map(Value::take) {
                Some(Value::Array(inner)) => cleaned.extend(inner),
                _ => cleaned.push(variant),
            }
        }
        for variant in &mut cleaned {
            if let (Some(text), None) = (map.get("description"), variant.get("description")) {
                variant["description"] = text.clone();
            }
            if nullable {
                variant["nullable"] = true.into();
            }
        }
        match cleaned.len() {
            0 => None,
            1 => cleaned.pop(),
            _ => Some(json!({"anyOf": cleaned})),
        }
    }

    fn object(&self, map: &Map<String, Value>, depth: usize) -> Value {
        let mut out = plain("object", map);
        let properties = map.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|all| !all.is_empty()) else {
            // The list of properties must not be empty.
            return out;
        };
        let cleaned: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), self.any(schema, depth + 1)))
            .collect();
        let required: Vec<Value> = list(map.get("required"))
            .filter(|name| name.as_str().is_some_and(|name| cleaned.contains_key(name)))
            .cloned()
            .collect();
        out["properties"] = cleaned.into();
        if !required.is_empty() {
            out["required"] = required.into();
        }
        out
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Merges `more` into `into`: properties and required names are joined, other values replaced.
fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(all)), Value::Object(own)) if key == "properties" => {
                all.extend(own);
            }
            (Some(Value::Array(all)), Value::Array(own)) if key == "required" => {
                for name in own {
                    if !all.contains(&name) {
                        all.push(name);
                    }
                }
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The type, and whether `null` is allowed as well.
fn kind(map: &Map<String, Value>) -> (String, bool) {
    let mut names: Vec<&str> = match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let nullable = names.contains(&"null") || map.get("nullable") == Some(&Value::Bool(true));
    names.retain(|name| *name != "null");
    let known = |name: &&str| {
        matches!(
            *name,
            "object" | "array" | "string" | "number" | "integer" | "boolean"
        )
    };
    let guess = || match () {
        () if map.contains_key("properties") => "object",
        () if map.contains_key("items") => "array",
        () => "string",
    };
    let kind = names.into_iter().find(known).unwrap_or_else(guess);
    (kind.to_owned(), nullable)
}

fn plain(kind: &str, map: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), kind.into());
    for key in PLAIN {
        let Some(value) = map.get(key) else { continue };
        let fits = match key {
            "description" | "pattern" => value.is_string(),
            _ => value.is_number(),
        };
        if fits {
            out.insert(key.to_owned(), value.clone());
        }
    }
    out.into()
}

/// Only strings can be enumerated.
fn strings(map: &Map<String, Value>) -> Value {
    let mut out = plain("string", map);
    let named = list(map.get("enum")).chain(map.get("const"));
    let texts: Vec<Value> = named
        .filter(|value| value.as_str().is_some_and(|text| !text.is_empty()))
        .cloned()
        .collect();
    if !texts.is_empty() {
        out["enum"] = texts.into();
    }
    out
}
