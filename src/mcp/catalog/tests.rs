use serde_json::{Value, json};

use super::{Catalog, TOOLS};

fn tools(raw: Value) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.set_tools("s", raw.as_array().unwrap(), None);
    catalog
}

/// M03, A31.
#[test]
fn tools_without_a_schema_or_description_and_duplicates_are_corrected() {
    let catalog = tools(json!([
        {"name": "b", "description": "B.", "inputSchema": {"type": "object"}},
        {"name": "a"},
        {"name": "b", "description": "another"},
        {"description": "nobody"},
        {"name": ""},
    ]));
    let names: Vec<&str> = catalog.tools.iter().map(|it| it.native.as_str()).collect();
    assert_eq!(names, ["mcp__s__a", "mcp__s__b"]);
    assert_eq!(catalog.tools[1].description, "B.");
    assert_eq!(
        catalog.tools[0].schema,
        json!({"type": "object", "properties": {}}).into()
    );
    assert_eq!(catalog.notes.len(), 3);
}

#[test]
fn too_many_tools_and_a_long_description_are_truncated_and_noted() {
    let many: Vec<Value> = (0..10_000)
        .map(|n| json!({"name": format!("t{n}")}))
        .collect();
    let catalog = tools(Value::Array(many));
    assert_eq!(catalog.tools.len(), TOOLS);
    assert!(catalog.notes[0].contains("left out"));
    let long = tools(json!([{"name": "a", "description": "x".repeat(100_000)}]));
    assert!(long.tools[0].description.len() < 2_100);
}

/// A31: any change of the description or schema makes it a different tool.
#[test]
fn the_pin_covers_the_whole_description() {
    let pin = |raw: Value| tools(json!([raw])).tools[0].pin.clone();
    let first = pin(json!({"name": "a", "description": "x"}));
    assert_eq!(first, pin(json!({"name": "a", "description": "x"})));
    assert_ne!(first, pin(json!({"name": "a", "description": "y"})));
    assert_ne!(
        first,
        pin(json!({"name": "a", "description": "x", "annotations": {"readOnlyHint": true}}))
    );
}

#[test]
fn only_wanted_tools_are_offered() {
    let mut catalog = Catalog::default();
    let raw = [json!({"name": "get_a"}), json!({"name": "set_a"})];
    catalog.set_tools("s", &raw, Some(&["get_*".to_owned()]));
    assert_eq!(catalog.tools.len(), 1);
    assert!(catalog.notes.is_empty());
}
