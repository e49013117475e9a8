//! Calls of our own tools through `mcp_call`, which reaches those that appeared after the
//! conversation's tools were sent.

use serde_json::json;

use super::Call;
use crate::agent::request::language_tools::{SERVER, needs_server};
use crate::agent::request::mcp_tools::CALL;
use crate::tools::Registry;

/// Such a call becomes a call of the tool.
pub fn unwrapped(mut call: Call, registry: &Registry) -> Call {
    if call.name != CALL || call.input["server"] != SERVER {
        return call;
    }
    let name = call.input["tool"].as_str().unwrap_or_default().to_owned();
    let ours = registry.get(&name);
    if ours.is_some_and(|tool| needs_server(tool.spec().needs)) {
        let arguments = call.input.get("arguments").cloned();
        call.input = arguments.unwrap_or_else(|| json!({}));
        call.name = name;
    }
    call
}
