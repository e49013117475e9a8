use serde_json::{Value, json};

use super::normalised;

#[test]
fn a_good_schema_stays_as_it_is() {
    let good = json!({
        "type": "object",
        "properties": {"zone": {"type": "string", "description": "IANA"}},
        "required": ["zone"],
    });
    assert_eq!(normalised(Some(&good)), (good, false));
}

/// M03.
#[test]
fn an_error_costs_only_its_part_of_the_schema() {
    let bad = json!({
        "type": "string",
        "anyOf": [{"required": ["a"]}],
        "properties": {
            "a": {"$ref": "http://other/schema.json", "type": "string"},
            "b": {"$ref": "#/$defs/missing"},
            "c": {"$ref": "#/$defs/there"},
            "bad name!": {"type": "string"},
            "d": "text",
        },
        "required": ["a", "bad name!", 3],
        "$defs": {"there": {"type": "number"}},
    });
    let (schema, cut) = normalised(Some(&bad));
    assert!(cut);
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "$defs": {"there": {"type": "number"}},
            "properties": {
                "a": {"type": "string"},
                "b": {},
                "c": {"$ref": "#/$defs/there"},
            },
            "required": ["a"],
        })
    );
}

#[test]
fn a_missing_too_large_or_too_deep_schema_becomes_an_open_object() {
    let open = json!({"type": "object", "properties": {}});
    assert_eq!(normalised(None), (open.clone(), false));
    assert_eq!(normalised(Some(&json!([1]))), (open.clone(), true));
    let large = json!({"type": "object", "description": "x".repeat(40_000)});
    assert_eq!(normalised(Some(&large)), (open, true));
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    let (schema, cut) = normalised(Some(&deep));
    assert!(cut && levels(&schema) < 30);
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(levels).max().unwrap_or(0),
        _ => 1,
    }
}

#[test]
fn invisible_characters_are_made_visible() {
    let sly = json!({"type": "object", "description": "a\u{202e}b\u{e0041}"});
    let (schema, _) = normalised(Some(&sly));
    assert_eq!(schema["description"], "a\\u{202e}b\\u{e0041}");
}
