//! Checks arguments: reports unknown, missing and wrongly typed keys by path, and coerces nothing
//! (P23). The provider has already refused arguments that do not parse (P22, P24).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{ToolContext, ToolError};

/// The arguments as `T`, which denies unknown fields, or an error that names the place.
pub(super) fn check<T: DeserializeOwned>(
    cx: &ToolContext,
    tool: &str,
    arguments: Value,
) -> Result<T, ToolError> {
    // Serde would accept an array for a struct, field by field.
    let arguments = Value::Object(check_object(cx, tool, arguments)?);
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "" } else { path.as_str() };
        let problem = match (place, error.inner().to_string()) {
            ("", problem) => problem,
            (place, problem) => format!("`{place}`: {problem}"),
        };
        cx.error(
            "results/arguments-wrong.md",
            &[("tool", &tool), ("problem", &problem)],
        )
    })
}

/// The arguments of a tool without any.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// A query must contain a word to rank by.
pub(super) fn check_query(cx: &ToolContext, tool: &str, query: &str) -> Result<(), ToolError> {
    match query.contains(char::is_alphanumeric) {
        true => Ok(()),
        false => Err(cx.error(
            "results/arguments-wrong.md",
            &[("tool", &tool), ("problem", &"`query`: it has no words")],
        )),
    }
}

/// The arguments of a tool whose schema is not ours.
pub(super) fn check_object(
    cx: &ToolContext,
    tool: &str,
    arguments: Value,
) -> Result<Map<String, Value>, ToolError> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(cx.error("results/arguments-not-json.md", &[("tool", &tool)])),
    }
}

/// JSON Schema of arguments: a closed object, in the few keywords that every provider accepts.
pub(super) fn of<T: JsonSchema>() -> Value {
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
