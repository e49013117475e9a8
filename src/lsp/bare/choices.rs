//! Messages with buttons. The user's choice is read from its title, because some clients (Eglot)
//! return nothing else.

use serde_json::{Value, json};

use super::{Severity, unlinked};
use crate::rpc::{Peer, RpcError};

/// The outcome of a message with buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The button with this index.
    Button(usize),
    Closed,
    /// The client cannot show it: Helix 25.01 answers -32601.
    Impossible,
    /// The client has left.
    Gone,
}

/// Shows the message with `titles` as its buttons and waits for the user.
pub async fn ask(peer: &Peer, severity: Severity, text: &str, titles: &[String]) -> Chosen {
    let shown: Vec<String> = titles.iter().map(|title| unlinked(title)).collect();
    let action = |title: &String| json!({ "title": title });
    let params = json!({
        "type": severity as u8,
        "message": unlinked(text),
        "actions": shown.iter().map(action).collect::<Vec<Value>>(),
    });
    let answer = peer.question("window/showMessageRequest", params).await;
    match answer.result {
        Ok(action) => {
            let chosen = shown.iter().position(|title| action["title"] == **title);
            chosen.map_or(Chosen::Closed, Chosen::Button)
        }
        Err(RpcError::Gone) => Chosen::Gone,
        Err(error) => {
            tracing::debug!(%error, "a message with buttons could not be shown");
            Chosen::Impossible
        }
    }
}
