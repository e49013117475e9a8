//! `initialize` and `authenticate`: the version, the abilities, the ways to set a key.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::VERSION;
use super::super::door::{Door, Open};
use super::{Outcome, invalid};

const KEY: &str = "key";

/// Shown to the user.
const HOW: &str = "Run `interline login anthropic` (or openai, gemini) in a terminal, or set \
                   ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY under \"env\" of this \
                   agent in the editor's settings. Interline never opens a browser.";

/// `initialize`.
pub fn initialize(door: &Door, params: &Value) -> Outcome {
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
        "authMethods": [{ "id": KEY, "name": "A provider's key", "description": HOW }],
        "agentInfo": {
            "name": "interline",
            "title": "Interline",
            "version": env!("CARGO_PKG_VERSION"),
        }
    });
    Ok(result.into())
}

/// The params of `authenticate`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticate {
    method_id: String,
}

/// `authenticate`: reports whether a model can be used now; there is nothing to log in to.
pub fn authenticate(open: &Open, Authenticate { method_id }: Authenticate) -> Outcome {
    if method_id != KEY {
        return Err(invalid(
            format!("unknown method {method_id:?}"),
            "use one of authMethods",
        ));
    }
    let providers = &open.sessions.shared().providers;
    providers.resolve(&open.config, None)?;
    Ok(json!({}).into())
}
