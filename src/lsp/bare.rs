//! Stand-ins for clients that announce no capabilities of ours: approvals and questions as messages
//! or commands, turns as progress and one closing message.

pub mod approvals;
pub mod choices;
pub mod comments;
pub mod messages;
pub mod progress;
pub mod questions;
pub mod transcript;

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

/// Escapes a text so that no client renders a link in it: VS Code would run the command that the
/// link names, and the text may come from the model or a file name. Hidden and reordering
/// characters become visible.
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

    /// A35: VS Code renders links in messages and runs the commands that they name.
    #[test]
    fn no_text_in_a_message_becomes_a_link_or_is_hidden() {
        let words = "[open](command:workbench.action.quit)\u{202e}\nnext";
        let shown = "[open] (command:workbench.action.quit)\\u{202e}\nnext";
        assert_eq!(unlinked(words), shown);
        assert_eq!(unlinked(shown), shown, "once is enough");
    }
}
