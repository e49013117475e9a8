//! Checks arguments: reports unknown, missing and wrongly typed keys by path, and coerces nothing
//! (P23). The provider has already refused arguments that do not parse (P22, P24).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ToolContext, ToolError};
use crate::config::typed::typed;
use crate::prompt::Texts;

/// The schemas of the built-in tools that were asked for. They cannot be replaced.
static PARSED: LazyLock<Mutex<BTreeMap<&'static str, Arc<Value>>>> = LazyLock::new(Mutex::default);

/// The schema of a built-in tool's arguments, parsed once.
pub(super) fn of_tool(texts: &Texts, name: &'static str) -> Arc<Value> {
    let parse = || {
        let json = texts.get(&format!("tools/{name}.json"));
        Arc::new(serde_json::from_str(json.unwrap_or_default()).unwrap_or_default())
    };
    PARSED.lock().entry(name).or_insert_with(parse).clone()
}

/// The arguments as `T`, which denies unknown fields, or an error that names the place.
pub(super) fn check<T: DeserializeOwned>(
    cx: &ToolContext,
    tool: &str,
    arguments: Value,
) -> Result<T, ToolError> {
    // Serde would accept an array for a struct, field by field.
    let arguments = Value::Object(check_object(cx, tool, arguments)?);
    typed(arguments).map_err(|wrong| {
        let problem = wrong.quoted();
        cx.error(
            "results/arguments-wrong.md",
            &[("tool", &tool), ("problem", &problem)],
        )
    })
}

/// The arguments of a tool without any.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
