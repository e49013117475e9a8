//! A question of the model as a message with the options as its buttons, for clients that do not
//! know our request.

use serde_json::{Value, json};

use super::{Severity, unlinked, words};
use crate::host::{QuestionAnswer, QuestionRequest};
use crate::prompt::fence;
use crate::rpc::{Answer, Peer, RpcError};

/// Asks. `None`: it cannot be shown, or was closed without a choice; a message has no place for
/// words of the user's own, so the next prompt answers.
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
        "message": unlinked(&words::asked(request)),
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
    // eglot gives back the title only, so nothing else is looked at.
    let title = chosen["title"].as_str()?;
    let index = titles.iter().position(|known| known == title)?;
    Some(QuestionAnswer::answered(&request.options[index]))
}
