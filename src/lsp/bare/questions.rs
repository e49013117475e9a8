//! The model's question as a message with the options as buttons, for clients that do not support
//! our request.

use super::choices::{self, Chosen};
use super::{Severity, messages};
use crate::host::{QuestionAnswer, QuestionRequest};
use crate::prompt::fence;
use crate::rpc::Peer;

/// Asks. `None`: the message cannot be shown or was closed without a choice. It has no text field, so
/// the user answers in their own words by the next prompt.
pub async fn ask(peer: &Peer, request: &QuestionRequest) -> Option<QuestionAnswer> {
    let title = |option: &String| fence::name(option.trim());
    let titles: Vec<String> = request.options.iter().map(title).collect();
    let text = messages::model_question(request);
    match choices::ask(peer, Severity::Info, &text, &titles).await {
        Chosen::Button(at) => Some(QuestionAnswer::answered(&request.options[at])),
        Chosen::Gone => Some(QuestionAnswer::cancelled()),
        Chosen::Closed | Chosen::Impossible => None,
    }
}
