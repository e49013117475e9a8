//! `initialize`, `authenticate` and `logout`: the version, the abilities, the ways to set a key.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::VERSION;
use super::super::door::{Door, Open};
use super::{Outcome, invalid};

const KEY: &str = "key";
const LOGIN: &str = "login";

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
    let open = door.initialize(params);
    let mut methods = vec![json!({ "id": KEY, "name": "A provider's key", "description": HOW })];
    if open.host.client().terminal_login {
        methods.push(json!({
            "type": "terminal",
            "id": LOGIN,
            "name": "Store a provider's key",
            "description": "Asks for a provider and its key in a terminal.",
            "args": ["--login"],
        }));
    }
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
                "fork": {},
                "additionalDirectories": {}
            },
            "auth": { "logout": {} }
        },
        "authMethods": methods,
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

/// `logout`: deletes the keys that `interline login` stored.
pub fn logout(open: &Open) -> Outcome {
    open.sessions.forget_keys()?;
    Ok(json!({}).into())
}
