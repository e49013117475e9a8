//! What a client announced in `initialize`. Unknown fields mean nothing; what is missing or of
//! another type was not announced, and is never used then.

use serde_json::Value;

/// The client's abilities that make a difference here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    pub name: Option<String>,
    /// Reads *and* writes text files. With only one of them the disk is used for both: a text
    /// that is read here and written there diverges.
    pub files: bool,
    /// Shows notices that are no part of the conversation.
    pub notices: bool,
}

impl Client {
    /// From the params of `initialize`.
    pub fn new(params: &Value) -> Self {
        let capabilities = &params["clientCapabilities"];
        let files = &capabilities["fs"];
        Self {
            name: params["clientInfo"]["name"].as_str().map(str::to_owned),
            files: files["readTextFile"] == true && files["writeTextFile"] == true,
            notices: capabilities["session"]["notices"].is_object(),
        }
    }
}
