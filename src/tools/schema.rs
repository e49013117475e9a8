//! Checks arguments: reports unknown, missing and wrongly typed keys by path, and coerces nothing
//! (P23). The provider has already refused arguments that do not parse (P22, P24).

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
#[derive(Deserialize)]
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

/// JSON Schema of a closed object: `properties` in the given order, then `required`.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
