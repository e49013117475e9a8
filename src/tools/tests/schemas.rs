//! The schemas of the arguments, generated from their types: `prompts/tools/<tool>.json`.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::prompt::Texts;
use crate::tools::{Registry, mcp_call};

const UPDATE: &str = "UPDATE_SCHEMAS";

/// JSON Schema of arguments: a closed object, in the few keywords that every provider accepts.
pub(in crate::tools) fn of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    closed_object(schema.as_value())
}

fn closed_object(schema: &Value) -> Value {
    let fields = schema["properties"].as_object();
    let fields = fields.into_iter().flatten();
    let properties: Map<String, Value> = fields
        .map(|(name, field)| (name.clone(), simplified(field)))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": schema.get("required").cloned().unwrap_or_else(|| json!([])),
        "additionalProperties": false,
    })
}

/// The schema of a field or an element, the description last. `null` is not offered for a field
/// that may be absent.
fn simplified(schema: &Value) -> Value {
    if schema["properties"].is_object() {
        return closed_object(schema);
    }
    let mut simple = Map::new();
    for key in ["type", "items", "enum", "minimum", "maximum", "description"] {
        let value = match (key, schema.get(key)) {
            (_, None | Some(Value::Null)) => continue,
            ("type", Some(Value::Array(types))) => types[0].clone(),
            ("items", Some(items)) => simplified(items),
            ("description", Some(Value::String(lines))) => lines.replace('\n', " ").into(),
            (_, Some(value)) => value.clone(),
        };
        simple.insert(key.to_owned(), value);
    }
    simple.into()
}

/// A generated file is checked in, so that the program needs neither the generator nor its tables.
pub(crate) fn check_file(name: &str, schema: &Value) {
    let text = format!("{schema:#}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "{name} is outdated; regenerate it: {UPDATE}=1 cargo test --lib schema"
    );
}

#[test]
fn the_schema_files_are_generated_from_the_types() {
    let registry = Registry::built_in();
    let mut schemas: Vec<(String, Value)> = registry
        .names()
        .into_iter()
        .map(|name| {
            let schema = registry.get(&name).unwrap().generated_schema();
            (name, schema.unwrap())
        })
        .collect();
    schemas.push(("mcp_call".to_owned(), of::<mcp_call::Arguments>()));
    schemas.sort_by(|a, b| a.0.cmp(&b.0));
    let mut names = Vec::new();
    for (name, schema) in &schemas {
        let file = format!("tools/{name}.json");
        check_file(&format!("prompts/{file}"), schema);
        names.push(file);
    }
    let texts = Texts::load(None);
    let mut files = texts.names("tools/");
    files.retain(|name| name.ends_with(".json"));
    assert_eq!(files, names, "a file without a tool, or not embedded yet");
}

#[test]
fn a_schema_is_sent_with_its_keys_in_the_order_of_the_file() {
    let texts = Texts::load(None);
    let registry = Registry::built_in();
    for name in registry.names() {
        let tool = registry.get(&name).unwrap();
        let generated = tool.generated_schema().unwrap().to_string();
        assert_eq!(tool.schema(&texts).to_string(), generated, "{name}");
    }
}
