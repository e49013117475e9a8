//! The model's questions to the user in each client.

use serde_json::{Value, json};

use crate::editor::{Editor, Profile, Reaction};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";

fn asks() -> Reply {
    let input = json!({ "question": "Which parser?", "options": ["the old one", "the new one"] });
    Reply::call("ask_user", input)
}

/// Messages that were shown.
fn shown(editor: &Editor) -> String {
    let notes = editor.notes.iter();
    let messages = notes.filter(|note| note["method"] == "window/showMessage");
    let texts = messages.filter_map(|note| note["params"]["message"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_question_is_answered_declined_or_closed_and_the_model_hears_which() {
    for (reaction, heard) in [
        (Reaction::Says("the new one"), "answers: the new one"),
        (Reaction::Says("neither, write one"), "neither, write one"),
        (Reaction::Declines, "declined to answer"),
        (Reaction::Closes, "closed without an answer"),
    ] {
        let model = Model::steps(vec![asks()]);
        let stage = Stage::new(TEXT);
        let mut editor = stage.editor(&model);
        editor.reactions(&[reaction]);
        let turn = editor.run("parse it");
        assert_eq!(turn.statuses(), ["completed"], "{reaction:?}");
        assert!(turn.text().contains(heard), "{}", turn.text());
        let question = &editor.script.questions[0];
        assert_eq!(question["question"], "Which parser?");
        assert_eq!(question["itemId"], turn.calls()[0]["itemId"]);
    }
}

#[test]
fn a_cancelled_turn_withdraws_its_question() {
    let model = Model::steps(vec![asks()]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.reactions(&[Reaction::Never]);
    editor.prompt("parse it");
    let id = editor.until("the question", |editor| editor.held_back.pop());
    editor.cancel();
    let turn = editor.wait_ended();
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(turn.statuses(), ["cancelled"]);
    let taken_back = |params: &Value| params["id"] == id;
    assert!(editor.note("$/cancelRequest", taken_back).is_some());
}

#[test]
fn a_client_without_questions_gets_a_message_with_the_options() {
    let model = Model::steps(vec![asks()]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::plain()).start();
    editor.reactions(&[Reaction::Says("the old one")]);
    let turn = editor.run("parse it");
    assert!(turn.text().contains("answers: the old one"));
    let actions = &editor.script.questions[0]["actions"];
    assert_eq!(
        actions,
        &json!([{ "title": "the old one" }, { "title": "the new one" }])
    );
}

/// A dismissed message is not an answer: the user may want to write one.
#[test]
fn where_a_message_fails_or_is_closed_the_turn_ends_and_the_next_prompt_answers() {
    for reaction in [Reaction::Error, Reaction::Closes] {
        let model = Model::plays(vec![asks(), Reply::text("the new one it is")]);
        let stage = Stage::new(TEXT);
        let mut editor = stage.launch(&model).profile(Profile::plain()).start();
        editor.reactions(&[reaction]);
        let turn = editor.run("parse it");
        assert_eq!((turn.stop_reason(), model.count()), ("endTurn", 1));
        let notice = turn.of("notice")[0]["text"].as_str().unwrap();
        assert!(notice.contains("Which parser?\n- the old one"), "{notice}");
        assert_eq!(editor.run("the new one").text(), "the new one it is");
        let request = model.last();
        assert!(
            request
                .raw_text()
                .contains("answers it in the next message")
        );
        assert!(request.last_user_text().contains("the new one"));
    }
}

/// Runs `interline.ask`.
fn ask(editor: &mut Editor, text: &str) {
    let params = json!({ "command": "interline.ask", "arguments": [{ "text": text }] });
    editor.request("workspace/executeCommand", params);
}

/// Calls behind the question in the same message wait for the answer, too.
#[test]
fn a_bare_client_reads_a_free_question_and_answers_it_by_a_new_ask() {
    let asks = Reply::call("ask_user", json!({ "question": "What name?" }));
    let write = json!({ "path": "b.txt", "content": "b" });
    let model = Model::plays(vec![asks.and_call("write", write), Reply::text("done")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    ask(&mut editor, "make a file");
    let question = editor.until("the question", |editor| {
        Some(shown(editor)).filter(|text| text.contains("What name?"))
    });
    assert!(question.contains("interline.ask"), "{question}");
    ask(&mut editor, "b.txt");
    editor.until("the answer", |editor| {
        shown(editor).contains("done").then_some(())
    });
    let results = model.last().results();
    assert!(results[1].1.contains("Not run"), "{results:?}");
    assert!(!stage.path("b.txt").exists());
}
