//! The agent's runtime: `label=value` parts on one line, in the layout's order; unknown values are
//! omitted.

use super::{Built, Input};
use crate::prompt::fence;
use crate::prompt::layout::model_id;
use crate::prompt::types::Trust;

/// The fields that a layout may name.
const KNOWN: [&str; 16] = [
    "agent",
    "arch",
    "capabilities",
    "channel",
    "cwd",
    "host",
    "mode",
    "model",
    "modelId",
    "os",
    "reasoning",
    "sandbox",
    "subagent",
    "thinking",
    "tools",
    "version",
];

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let fields = cx.entry.params.get("fields");
    let fields = fields.and_then(toml::Value::as_array);
    let assign = cx.string("assign").unwrap_or("=");
    let parts: Vec<String> = fields
        .into_iter()
        .flatten()
        .filter_map(|field| {
            let (label, key) = pair(field)?;
            let value = value(cx, key)?;
            Some(format!("{label}{assign}{}", fence::name(&value)))
        })
        .collect();
    let text = parts.join(cx.string("separator").unwrap_or(" | "));
    if text.is_empty() {
        return vec![Built::absent(
            "session",
            Trust::Own,
            "nothing is known about it",
        )];
    }
    let text = format!("{}{text}", cx.string("prefix").unwrap_or_default());
    vec![Built::new(text, "session", Trust::Own, "always included")]
}

/// A field is its key, or `[label, key]`.
fn pair(field: &toml::Value) -> Option<(&str, &str)> {
    match field {
        toml::Value::String(key) => Some((key, key)),
        toml::Value::Array(pair) => Some((pair.first()?.as_str()?, pair.get(1)?.as_str()?)),
        _ => None,
    }
}

/// An error unless every field of the layout is known.
pub(in crate::prompt) fn check(fields: &toml::Value) -> Result<(), String> {
    let known = KNOWN.join(", ");
    let Some(fields) = fields.as_array() else {
        return Err("params.fields must be a list".to_owned());
    };
    for field in fields {
        match pair(field) {
            Some((_, key)) if KNOWN.contains(&key) => {}
            _ => return Err(format!("unknown field {field}; known: {known}")),
        }
    }
    Ok(())
}

fn value(cx: &Input<'_>, key: &str) -> Option<String> {
    let (facts, runtime) = (cx.facts, &cx.facts.runtime);
    let text = match key {
        "agent" => facts.agent_name().to_owned(),
        "arch" => runtime.arch.clone(),
        "capabilities" => facts.capabilities().join(","),
        "channel" => runtime.channel.clone(),
        "cwd" => facts.cwd.clone(),
        "host" => runtime.host.clone(),
        "mode" => facts.mode.as_str().to_owned(),
        "model" => facts.model.clone(),
        "modelId" => model_id(&facts.model).to_owned(),
        "os" => runtime.os.clone(),
        "reasoning" => runtime.reasoning.clone(),
        "sandbox" => facts.sandbox.text().to_owned(),
        "subagent" => runtime.parent.as_ref().map(|_| "true".to_owned())?,
        "thinking" => runtime.thinking.clone(),
        "tools" if runtime.tools => "on".to_owned(),
        "tools" => "off".to_owned(),
        "version" => runtime.version.clone(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}
