use proptest::prelude::*;

use super::*;

fn property(schema: Value) -> Value {
    let whole = json!({"type": "object", "properties": {"p": schema}});
    parameters(&whole).unwrap()["properties"]["p"].clone()
}

#[test]
fn a_plain_schema_keeps_its_keys_and_their_order() {
    let schema = json!({"type": "object", "properties": {"z": {"type": "string", "description": "Z"}, "a": {"type": "integer", "minimum": 1}}, "required": ["z"], "additionalProperties": false});
    assert_eq!(
        parameters(&schema).unwrap().to_string(),
        r#"{"type":"object","properties":{"z":{"type":"string","description":"Z"},"a":{"type":"integer","minimum":1}},"required":["z"]}"#
    );
}

#[test]
fn a_tool_without_arguments_has_no_parameters() {
    let empty = json!({"type": "object", "properties": {}, "additionalProperties": false});
    for schema in [empty, json!({}), json!(true), Value::Null] {
        assert_eq!(parameters(&schema), None, "{schema}");
    }
}

#[test]
fn what_the_provider_would_refuse_is_left_out() {
    let odd = json!({"type": "string", "format": "uri", "default": "x", "$comment": "c", "examples": ["e"], "minLength": 2});
    assert_eq!(property(odd), json!({"type": "string", "minLength": 2}));
    let odd = json!({"type": ["null", "array"], "prefixItems": [], "uniqueItems": true});
    let list = json!({"type": "array", "items": {"type": "string"}, "nullable": true});
    assert_eq!(property(odd), list);
    assert_eq!(property(json!(true)), json!({"type": "string"}));
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(property(map), json!({"type": "object"}));
    let texts = json!({"enum": ["a", 3, "", null], "const": "b"});
    assert_eq!(
        property(texts),
        json!({"type": "string", "enum": ["a", "b"]})
    );
    assert_eq!(
        property(json!({"type": "integer", "enum": [1]})),
        json!({"type": "integer"})
    );
}

#[test]
fn references_are_inlined_and_cycles_end() {
    let schema = json!({
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/node", "description": "N"}, "gone": {"$ref": "#/x"}},
    });
    let cleaned = parameters(&schema).unwrap();
    let node = &cleaned["properties"]["n"];
    assert_eq!(node["description"], "N");
    assert_eq!(node["properties"]["next"]["type"], "object");
    assert_eq!(cleaned["properties"]["gone"], json!({"type": "string"}));
    assert!(!cleaned.to_string().contains('$'));
}

#[test]
fn unions_are_alone_and_one_at_the_root_is_merged() {
    let union = json!({"description": "D", "oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]});
    assert_eq!(
        property(union),
        json!({"anyOf": [
            {"type": "string", "description": "D", "nullable": true},
            {"type": "integer", "description": "D", "nullable": true},
        ]})
    );
    let one = json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]});
    assert_eq!(property(one), json!({"type": "boolean", "nullable": true}));
    let root = json!({"oneOf": [
        {"properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a", "c"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b", "c"]},
    ], "properties": {"d": {"type": "string"}}, "required": ["d"]});
    let merged = parameters(&root).unwrap();
    let names: Vec<&String> = merged["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["d", "a", "c", "b"]);
    assert_eq!(merged["required"], json!(["d", "c"]));
    let all =
        json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a", "x"]}]});
    assert_eq!(parameters(&all).unwrap()["required"], json!(["a"]));
}

#[test]
fn schemas_that_multiply_are_bounded() {
    let again = json!({"$ref": "#/$defs/b"});
    let many: Vec<Value> = (0..8).map(|_| again.clone()).collect();
    for key in ["allOf", "anyOf"] {
        let bomb =
            json!({"type": "object", "properties": {"p": again}, "$defs": {"b": {key: many}}});
        let cleaned = parameters(&bomb).unwrap();
        check(&cleaned);
        assert!(cleaned.to_string().len() < 200_000);
    }
}

/// What the provider accepts.
fn check(schema: &Value) {
    let map = schema.as_object().unwrap();
    if let Some(variants) = map.get("anyOf") {
        assert_eq!(map.len(), 1, "{schema}");
        variants.as_array().unwrap().iter().for_each(check);
        return;
    }
    assert!(map["type"].is_string(), "{schema}");
    for key in map.keys() {
        let known = PLAIN.contains(&key.as_str())
            || [
                "type",
                "nullable",
                "enum",
                "items",
                "properties",
                "required",
            ]
            .contains(&key.as_str());
        assert!(known, "{key}");
    }
    assert_eq!(
        map["type"] == "array",
        map.contains_key("items"),
        "{schema}"
    );
    if let Some(properties) = map.get("properties") {
        let properties = properties.as_object().unwrap();
        assert!(!properties.is_empty());
        properties.values().for_each(check);
        let required = map.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten() {
            assert!(properties.contains_key(name.as_str().unwrap()));
        }
    }
    if let Some(items) = map.get("items") {
        check(items);
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "format": "date", "enum": ["a", 1]})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!({"$ref": "#"})),
        Just(json!(true)),
        Just(json!({"type": "what", "minimum": "x"})),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let some = proptest::collection::vec(inner, 0..4);
        prop_oneof![
            some.clone().prop_map(|all| json!({"anyOf": all, "description": "d"})),
            some.clone().prop_map(|all| json!({"allOf": all, "oneOf": [{"type": "null"}]})),
            some.clone().prop_map(|all| json!({"type": "array", "items": all.first()})),
            some.prop_map(|all| {
                let names = ["a", "b", "c"].into_iter().map(str::to_owned);
                let properties: Map<String, Value> = names.zip(all).collect();
                json!({"properties": properties, "required": ["a", "z"], "additionalProperties": {}})
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_schema_becomes_one_that_the_provider_accepts(schema in any_schema()) {
        if let Some(cleaned) = parameters(&schema) {
            check(&cleaned);
            prop_assert_eq!(&cleaned["type"], "object");
        }
    }
}
