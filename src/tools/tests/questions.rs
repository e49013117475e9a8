//! `ask_user`: the question to the user, and what the model reads for each outcome.

use std::sync::Arc;

use serde_json::json;

use super::bench::{Bench, Unanswered};
use crate::config::Config;
use crate::host::QuestionAnswer;
use crate::tools::ToolError;

#[tokio::test]
async fn a_question_reaches_the_user_unchanged_and_the_answer_is_the_users_text() {
    let bench = Bench::new();
    *bench.editor.answer.lock().unwrap() = Some(QuestionAnswer::answered(" the {{new}} one\n"));
    let arguments = json!({ "question": " Which?\n", "options": ["the old one", "the new one"] });
    let said = bench.text("ask_user", arguments).await;
    assert_eq!(said, "The user answers: the {{new}} one");
    let asked = bench.editor.asked.lock().unwrap();
    assert_eq!(asked[0].question, "Which?");
    assert_eq!(asked[0].options, ["the old one", "the new one"]);
    assert!(asked[0].free_text);
}

#[tokio::test]
async fn declined_and_closed_questions_tell_the_model_what_to_do() {
    let bench = Bench::new();
    for (answer, part) in [
        (QuestionAnswer::declined(), "declined to answer"),
        (QuestionAnswer::cancelled(), "closed without an answer"),
        (QuestionAnswer::answered(" "), "closed without an answer"),
    ] {
        *bench.editor.answer.lock().unwrap() = Some(answer);
        let said = bench
            .text("ask_user", json!({ "question": "Which?" }))
            .await;
        assert!(
            said.contains(part) && said.contains("best judgement"),
            "{said}"
        );
    }
}

/// The conversation continues with the user's next prompt.
#[tokio::test]
async fn without_a_way_to_ask_the_turn_ends_with_the_question() {
    let bench = Bench::new();
    let arguments = json!({ "question": "Which\u{202e}?", "options": ["old", "new"] });
    let output = bench.call("ask_user", arguments).await.unwrap();
    assert!(output.text.contains("in the next message") && !output.is_error);
    let shown = output.closing.unwrap();
    assert!(
        shown.starts_with("Question: Which\\u{202e}?\n- old\n- new\n"),
        "{shown}"
    );
    assert!(shown.contains("next prompt") && shown.contains("interline.ask"));
}

#[tokio::test]
async fn a_cancelled_turn_and_the_deadline_end_a_question() {
    let mut bench = Bench::new();
    bench.cx.host = Arc::new(Unanswered);
    let arguments = json!({ "question": "Which?" });
    let prepared = bench.prepare("ask_user", arguments.clone()).await.unwrap();
    bench.cx.cancel.cancel();
    let stopped = prepared.run(&bench.cx).await;
    assert!(matches!(stopped, Err(ToolError::Cancelled)));

    bench.cx.cancel = tokio_util::sync::CancellationToken::new();
    let mut config = Config::default();
    config.limits.approval_minutes = 0;
    bench.cx.config = Arc::new(config);
    let output = bench.call("ask_user", arguments).await.unwrap();
    assert!(output.is_error && output.text.contains("No one answered in time"));
    assert!(
        output
            .closing
            .unwrap()
            .contains("in time, so the turn ended")
    );
}

#[tokio::test]
async fn an_invalid_question_is_not_asked() {
    let bench = Bench::new();
    let long = "ü".repeat(2_001);
    let option = "ü".repeat(201);
    for (arguments, part) in [
        (json!({ "question": " \n" }), "0 characters"),
        (json!({ "question": long }), "2001 characters"),
        (
            json!({ "question": "?", "options": ["1", "2", "3", "4", "5", "6", "7"] }),
            "at most 6 options",
        ),
        (
            json!({ "question": "?", "options": [option] }),
            "200 characters",
        ),
        (
            json!({ "question": "?", "options": ["a", " "] }),
            "1 to 200",
        ),
        (
            json!({ "question": "?", "options": ["a", "a "] }),
            "different",
        ),
        (json!({ "question": "?", "options": "a" }), "options"),
        (json!({ "ask": "?" }), "ask"),
    ] {
        let words = bench.fails("ask_user", arguments).await;
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(bench.editor.asked.lock().unwrap().is_empty());
    bench
        .text(
            "ask_user",
            json!({ "question": &long[2..], "options": null }),
        )
        .await;
}

#[tokio::test]
async fn long_answers_and_titles_are_truncated() {
    let bench = Bench::new();
    let long = "é".repeat(20_000);
    *bench.editor.answer.lock().unwrap() = Some(QuestionAnswer::answered(&long));
    let said = bench
        .text("ask_user", json!({ "question": "Which?" }))
        .await;
    assert!(said.len() < 33 * 1024 && said.ends_with("é […]"));
    let arguments = json!({ "question": "é".repeat(100) });
    let title = bench.prepare("ask_user", arguments).await.unwrap().title;
    assert_eq!(title, format!("Ask: {}…", "é".repeat(80)));
    let arguments = json!({ "question": "One?\nMore of it" });
    let title = bench.prepare("ask_user", arguments).await.unwrap().title;
    assert_eq!(title, "Ask: One?…");
}

#[tokio::test]
async fn a_question_runs_alone() {
    let bench = Bench::new();
    let tool = crate::tools::Registry::built_in().get("ask_user").unwrap();
    assert!(tool.targets(&bench.cx, &json!({})).alone);
}
