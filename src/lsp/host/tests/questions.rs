//! The model's questions, by our request and by a plain message.

use super::*;
use crate::host::QuestionOutcome;

fn question(options: &[&str]) -> QuestionRequest {
    QuestionRequest {
        session_id: "ses".into(),
        turn_id: "turn".into(),
        item_id: "item".into(),
        question: "Which\u{202e}?".to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        free_text: true,
    }
}

impl Story {
    fn asking(&self, options: &[&str]) -> tokio::task::JoinHandle<Option<QuestionAnswer>> {
        let request = question(options);
        self.spawn(|host| async move { host.ask(request).await })
    }
}

#[test]
fn a_client_with_questions_gets_our_request_and_every_outcome_is_reported() {
    let mut story = story(ours(json!({ "version": 1, "questions": true })));
    assert!(story.host.questions());
    for (result, expected) in [
        (
            json!({ "outcome": "answered", "answer": "new" }),
            Some(QuestionAnswer::answered("new")),
        ),
        (
            json!({ "outcome": "declined" }),
            Some(QuestionAnswer::declined()),
        ),
        (
            json!({ "outcome": "cancelled", "answer": null }),
            Some(QuestionAnswer::cancelled()),
        ),
        // A malformed answer: the next prompt answers.
        (json!({ "outcome": "maybe" }), None),
        (json!(null), None),
    ] {
        let task = story.asking(&["old", "new"]);
        let request = story.asked("interline/question/request");
        assert_eq!(
            request["params"],
            json!({
                "sessionId": "ses", "turnId": "turn", "itemId": "item",
                "question": "Which\u{202e}?", "options": ["old", "new"], "freeText": true,
            })
        );
        story.reply(&request, result.clone());
        assert_eq!(story.finish(task), expected, "{result}");
    }
    let task = story.asking(&[]);
    let request = story.asked("interline/question/request");
    story.refuse(&request, -32601);
    assert_eq!(story.finish(task), None);
    let task = story.asking(&[]);
    story.asked("interline/question/request");
    story.client.close();
    let outcome = story.finish(task).map(|answer| answer.outcome);
    assert_eq!(outcome, Some(QuestionOutcome::Cancelled));
}

#[test]
fn a_plain_client_is_asked_by_a_message_whose_buttons_are_the_options() {
    let mut story = story(json!({}));
    assert!(!story.host.questions());
    for (result, expected) in [
        (
            json!({ "title": "new" }),
            Some(QuestionAnswer::answered("new")),
        ),
        (json!({ "title": "another" }), None),
        (json!(null), None),
    ] {
        let task = story.asking(&["old", "new"]);
        let request = story.asked("window/showMessageRequest");
        let params = &request["params"];
        assert_eq!(
            params["actions"],
            json!([{ "title": "old" }, { "title": "new" }])
        );
        let text = params["message"].as_str().unwrap();
        assert!(
            text.starts_with("Interline asks: Which\\u{202e}?"),
            "{text}"
        );
        story.reply(&request, result.clone());
        assert_eq!(story.finish(task), expected, "{result}");
    }
    let task = story.asking(&["old", "new"]);
    let request = story.asked("window/showMessageRequest");
    story.refuse(&request, -32601);
    assert_eq!(story.finish(task), None);
}

/// Both end without an answer from the client.
#[test]
fn no_question_is_asked_without_options_or_where_messages_disturb() {
    let story = story(json!({}));
    assert_eq!(story.finish(story.asking(&[])), None);
    story.host.set_approvals_via(ApprovalsVia::Command);
    assert_eq!(story.finish(story.asking(&["a", "b"])), None);
}

#[test]
fn an_abandoned_question_is_withdrawn() {
    for offer in [json!({ "version": 1, "questions": true }), json!(null)] {
        let mut story = story(ours(offer));
        let task = story.asking(&["old", "new"]);
        let method = match story.host.questions() {
            true => "interline/question/request",
            false => "window/showMessageRequest",
        };
        let request = story.asked(method);
        task.abort();
        let withdrawn = story.asked("$/cancelRequest");
        assert_eq!(withdrawn["params"]["id"], request["id"]);
    }
}
