//! Questions as forms (`elicitation/create`). Pure.

use serde_json::{Value, json};

use crate::host::{QuestionAnswer, QuestionOutcome, QuestionRequest};

/// The field with the chosen option, or with the only text.
const ANSWER: &str = "answer";
/// The field with a text in addition to options; it takes precedence.
const OTHER: &str = "other";

/// The params. `in_call`: the client has seen the call that asks.
pub fn params(request: &QuestionRequest, in_call: bool) -> Value {
    let mut fields = json!({ ANSWER: { "type": "string", "title": "Answer" } });
    let mut required = vec![ANSWER];
    if !request.options.is_empty() {
        fields[ANSWER]["enum"] = json!(request.options);
        if request.free_text {
            fields[OTHER] = json!({ "type": "string", "title": "In your own words" });
            required.clear();
        }
    }
    let mut params = json!({
        "sessionId": request.session_id,
        "mode": "form",
        "message": request.question,
        "requestedSchema": { "type": "object", "properties": fields, "required": required },
    });
    if in_call {
        params["toolCallId"] = json!(request.item_id);
    }
    params
}

/// The user's answer; `None` if the client's does not follow the protocol.
pub fn answer(request: &QuestionRequest, result: &Value) -> Option<QuestionAnswer> {
    let without = |outcome| QuestionAnswer {
        outcome,
        answer: None,
    };
    match result["action"].as_str()? {
        "accept" => {}
        "decline" => return Some(without(QuestionOutcome::Declined)),
        _ => return Some(without(QuestionOutcome::Cancelled)),
    }
    let field = |name: &str| {
        let text = result["content"][name].as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let listed = |text: &String| request.options.contains(text);
    let words = field(OTHER).filter(|_| request.free_text);
    let chosen = || field(ANSWER).filter(|text| request.options.is_empty() || listed(text));
    match words.or_else(chosen) {
        Some(text) => Some(QuestionAnswer::answered(&text)),
        None => Some(without(QuestionOutcome::Declined)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ItemId, SessionId, TurnId};

    fn asked(options: &[&str], free_text: bool) -> QuestionRequest {
        QuestionRequest {
            session_id: SessionId::from("s"),
            turn_id: TurnId::from("t"),
            item_id: ItemId::from("i"),
            question: "Which?".to_owned(),
            options: options.iter().map(|&it| it.to_owned()).collect(),
            free_text,
        }
    }

    fn answered(request: &QuestionRequest, content: Value) -> Option<String> {
        let result = json!({ "action": "accept", "content": content });
        answer(request, &result).expect("an answer").answer
    }

    #[test]
    fn a_form_has_the_options_and_a_field_for_other_words() {
        let form = &params(&asked(&["a", "b"], true), true)["requestedSchema"];
        assert_eq!(form["properties"][ANSWER]["enum"], json!(["a", "b"]));
        assert_eq!(form["required"], json!([]));
        let form = &params(&asked(&["a", "b"], false), false)["requestedSchema"];
        assert_eq!(form["properties"].get(OTHER), None);
        assert_eq!(form["required"], json!([ANSWER]));
    }

    #[test]
    fn own_words_take_precedence_and_unknown_options_are_no_answer() {
        let both = asked(&["a", "b"], true);
        let content = json!({ "answer": "a", "other": " c " });
        assert_eq!(answered(&both, content).as_deref(), Some("c"));
        assert_eq!(
            answered(&both, json!({ "answer": "a" })).as_deref(),
            Some("a")
        );
        assert_eq!(answered(&both, json!({ "answer": "x" })), None);
        let only = asked(&["a"], false);
        assert_eq!(answered(&only, json!({ "other": "c" })), None);
        let text = asked(&[], true);
        assert_eq!(
            answered(&text, json!({ "answer": "c" })).as_deref(),
            Some("c")
        );
        assert_eq!(answer(&text, &json!({ "action": 1 })), None);
    }
}
