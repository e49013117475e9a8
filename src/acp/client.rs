//! What a client announced in `initialize`. Unknown fields are ignored; what is missing or of
//! another type was not announced and is never used.

use serde_json::Value;

/// The client's abilities that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    pub name: Option<String>,
    /// Reads *and* writes text files. With only one of them the disk is used for both, because a text
    /// that is read in one place and written in the other diverges.
    pub files: bool,
    /// Shows notices outside the conversation.
    pub notices: bool,
    /// Shows forms.
    pub forms: bool,
    /// Runs this program in a terminal for a login.
    pub terminal_login: bool,
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
            forms: capabilities["elicitation"]["form"].is_object(),
            terminal_login: capabilities["auth"]["terminal"] == true,
        }
    }
}
