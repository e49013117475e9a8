//! What a client without capabilities of ours gets instead of them: approvals and questions as messages or
//! commands, turns as progress and one closing message.

pub mod approvals;
pub mod choices;
pub mod comments;
pub mod progress;
pub mod questions;
pub mod transcript;
pub mod words;

use serde_json::json;

use crate::prompt::fence;
use crate::rpc::Peer;

/// LSP's `MessageType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error = 1,
    Warning = 2,
    Info = 3,
}

/// A text that no client takes for a link: VS Code would run the command that one names, and the
/// words are the model's or a file name's. What cannot be seen or reorders shows itself.
pub fn unlinked(text: &str) -> String {
    fence::prose(text).replace("](", "] (")
}

/// `window/showMessage`.
pub fn show(peer: &Peer, severity: Severity, text: &str) {
    let params = json!({ "type": severity as u8, "message": unlinked(text) });
    peer.notify("window/showMessage", params);
}

#[cfg(test)]
mod tests {
    use super::unlinked;

    /// VS Code shows a message's links, and runs the commands that they name.
    #[test]
    fn no_words_in_a_message_become_a_link_or_hide() {
        let words = "[open](command:workbench.action.quit)\u{202e}\nnext";
        let shown = "[open] (command:workbench.action.quit)\\u{202e}\nnext";
        assert_eq!(unlinked(words), shown);
        assert_eq!(unlinked(shown), shown, "once is enough");
    }
}
