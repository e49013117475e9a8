//! `initialize`: the version, the abilities, the ways to set a key.

use serde_json::{Value, json};

use super::super::VERSION;
use super::super::door::Door;
use super::{Outcome, invalid};

pub fn run(door: &Door, params: &Value) -> Outcome {
    // Always our latest version, whatever the client asks for: the client decides.
    if !params["protocolVersion"].is_number() {
        return Err(invalid(
            "protocolVersion is missing or not a number",
            "send the newest version the client supports",
        ));
    }
    door.initialize(params);
    let result = json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": true, "sse": false },
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "close": {},
                "delete": {},
                "additionalDirectories": {}
            }
        },
        "authMethods": [{
            "id": super::authenticate::METHOD,
            "name": "A provider's key",
            "description": super::authenticate::HOW,
        }],
        "agentInfo": {
            "name": "interline",
            "title": "Interline",
            "version": env!("CARGO_PKG_VERSION"),
        }
    });
    Ok(result.into())
}
