//! `authenticate`: reports whether a model can be used now; there is nothing to log in to.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::door::Door;
use super::{Outcome, invalid, read};

pub const METHOD: &str = "key";

/// Shown to the user.
pub const HOW: &str = "Run `interline login anthropic` (or openai, gemini) in a terminal, or set \
                       ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY under \"env\" of this \
                       agent in the editor's settings. Interline never opens a browser.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authenticate {
    method_id: String,
}

pub fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let asked: Authenticate = read(params)?;
    if asked.method_id != METHOD {
        return Err(invalid(
            format!("unknown method {:?}", asked.method_id),
            "use one of authMethods",
        ));
    }
    let providers = &open.sessions.shared().providers;
    providers.resolve(&open.config, None)?;
    Ok(json!({}).into())
}
