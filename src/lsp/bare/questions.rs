//! The model's question as a message with the options as buttons, for clients that do not support
//! our request.

use serde_json::{Value, json};

use super::{Severity, messages, unlinked};
use crate::host::{QuestionAnswer, QuestionRequest};
use crate::prompt::fence;
use crate::rpc::{Answer, Peer, RpcError};

/// Asks. `None`: the message cannot be shown or was closed without a choice. It has no text field, so
/// the user answers in their own words by the next prompt.
pub async fn ask(peer: &Peer, request: &QuestionRequest) -> Option<QuestionAnswer> {
    let titles: Vec<String> = request
        .options
        .iter()
        .map(|option| unlinked(&fence::name(option.trim())))
        .collect();
    let actions: Vec<Value> = titles
        .iter()
        .map(|title| json!({ "title": title }))
        .collect();
    let params = json!({
        "type": Severity::Info as u8,
        "message": unlinked(&messages::model_question(request)),
        "actions": actions,
    });
    let answer = peer.question("window/showMessageRequest", params).await;
    let chosen = match answer {
        Answer {
            result: Ok(action), ..
        } => action,
        Answer {
            result: Err(RpcError::Gone),
            ..
        } => return Some(QuestionAnswer::cancelled()),
        // Helix 25.01 answers -32601.
        Answer {
            result: Err(error), ..
        } => {
            tracing::debug!(%error, "a question could not be shown");
            return None;
        }
    };
    // Eglot returns the title only, so nothing else is used.
    let title = chosen["title"].as_str()?;
    let index = titles.iter().position(|known| known == title)?;
    Some(QuestionAnswer::answered(&request.options[index]))
}
