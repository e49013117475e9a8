use proptest::prelude::*;

use super::*;

#[test]
fn an_accepted_schema_keeps_its_bytes() {
    let fine = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "format": "uri", "pattern": "^a"},
            "many": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}]}},
        },
        "required": ["path"],
        "additionalProperties": false,
        "$defs": {"x": {"type": "object"}},
    });
    assert_eq!(parameters(&fine).to_string(), fine.to_string());
}

#[test]
fn a_union_at_the_root_becomes_one_object() {
    let schema = json!({"oneOf": [
        {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]},
        {"properties": {"c": true, "b": {}}, "required": ["b"]},
    ]});
    let expected = json!({
        "properties": {"a": {"type": "string"}, "b": {}, "c": {}},
        "required": ["b"],
        "type": "object",
    });
    assert_eq!(parameters(&schema), expected);
    let all = json!({"type": "object", "allOf": [{"required": ["x"]}, {"$ref": "#/$defs/y"}],
        "$defs": {"y": {"properties": {"y": {}}, "required": ["y"]}}});
    assert_eq!(parameters(&all)["required"], json!(["x", "y"]));
    assert_eq!(parameters(&all)["properties"], json!({"y": {}}));
}

#[test]
fn a_reference_at_the_root_is_replaced() {
    let schema = json!({"$ref": "#/definitions/Args", "definitions": {
        "Args": {"type": "object", "properties": {"p": {"type": "integer"}}, "required": ["p"]}}});
    let mended = parameters(&schema);
    assert_eq!(mended["properties"]["p"]["type"], "integer");
    assert!(mended.get("$ref").is_none());
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
    assert_eq!(parameters(&endless)["type"], "object");
}

#[test]
fn arrays_have_items_and_schemas_are_objects() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "array"}, "b": {"type": ["array", "null"], "items": [{}, {}]}, "c": 3}});
    let mended = parameters(&schema);
    assert_eq!(mended["properties"]["a"]["items"], json!({}));
    assert_eq!(mended["properties"]["b"]["items"], json!({}));
    assert_eq!(mended["properties"]["c"], json!({}));
    for odd in [
        json!(null),
        json!([]),
        json!({"type": "string"}),
        json!({"enum": [1]}),
    ] {
        let mended = parameters(&odd);
        assert_eq!(
            (&mended["type"], &mended["properties"]),
            (&json!("object"), &json!({}))
        );
        assert!(mended.get("enum").is_none());
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({"type": "string"})),
        Just(json!({"type": "array"})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"enum": ["a"], "not": {}})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let many = proptest::collection::vec(inner.clone(), 0..3);
        let keys = prop_oneof![Just("oneOf"), Just("anyOf"), Just("allOf")];
        prop_oneof![
            (keys, many).prop_map(|(key, all)| json!({ key: all, "$defs": {"d": {}} })),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({
                "type": "object", "properties": {"a": a, "b": b}, "required": ["a"]})),
            inner.prop_map(|items| json!({"type": "array", "items": items})),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_becomes_an_accepted_one(schema in any_schema()) {
        let mended = parameters(&schema);
        prop_assert_eq!(&mended["type"], "object");
        for refused in ["oneOf", "anyOf", "allOf", "not", "enum", "$ref"] {
            prop_assert!(mended.get(refused).is_none(), "{} in {}", refused, mended);
        }
        let bare = mended.to_string().contains(r#"{"type":"array"}"#);
        prop_assert!(!bare);
        // A second pass changes nothing.
        prop_assert_eq!(parameters(&mended).to_string(), mended.to_string());
    }
}
