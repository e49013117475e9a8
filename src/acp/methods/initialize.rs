//! `initialize`: the version, the abilities, the ways to give a key.

use serde_json::{Value, json};

use super::super::VERSION;
use super::super::door::Door;
use super::{Outcome, invalid};

pub fn run(door: &Door, params: &Value) -> Outcome {
    // Whatever version the client asks for, ours is the latest that we know: it decides.
    if !params["protocolVersion"].is_number() {
        return Err(invalid(
            "protocolVersion is missing or no number",
            "send the newest version that the client speaks",
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
