//! Messages with buttons. The user's choice is read from its title, because some clients return
//! nothing else.

use serde_json::{Value, json};

use super::{Severity, unlinked};
use crate::rpc::{Answer, Peer};

/// The outcome of a message with buttons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    Title(String),
    Closed,
    /// The client cannot show it.
    Impossible,
}

/// Shows the message and waits for the user.
pub async fn ask(peer: &Peer, text: &str, titles: &[String]) -> Chosen {
    let shown: Vec<String> = titles.iter().map(|title| unlinked(title)).collect();
    let actions: Vec<Value> = shown
        .iter()
        .map(|title| json!({ "title": title }))
        .collect();
    let params = json!({
        "type": Severity::Info as u8,
        "message": unlinked(text),
        "actions": actions,
    });
    let Answer { result, .. } = peer.question("window/showMessageRequest", params).await;
    match result {
        Ok(action) => match action["title"].as_str() {
            Some(title) => {
                let at = shown.iter().position(|known| known == title);
                let known = at.and_then(|at| titles.get(at));
                Chosen::Title(known.map_or(title, String::as_str).to_owned())
            }
            None => Chosen::Closed,
        },
        Err(_) => Chosen::Impossible,
    }
}
