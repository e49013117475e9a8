//! Questions and plans as forms, for clients that show them.

use serde_json::{Value, json};

use super::client::Client;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";

fn asks() -> Model {
    let input = json!({ "question": "Which parser?", "options": ["the old one", "the new one"] });
    Model::steps(vec![Reply::call("ask_user", input)])
}

/// A client with forms.
fn client(stage: &Stage, model: &Model) -> Client {
    let mut client = Client::spawn(stage, model);
    client.initialize(json!({ "elicitation": { "form": {} } }));
    client
}

fn filled(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

#[test]
fn a_question_is_a_form_of_its_call() {
    for (fill, heard) in [
        (filled("the new one"), "answers: the new one"),
        (
            json!({ "action": "accept", "content": { "other": "write one" } }),
            "write one",
        ),
        (json!({ "action": "decline" }), "declined to answer"),
        (json!({ "action": "cancel" }), "closed without an answer"),
    ] {
        let (model, stage) = (asks(), Stage::new(TEXT));
        let mut client = client(&stage, &model);
        client.fills.push_back(fill);
        let session = client.session(&stage.root());
        assert_eq!(client.prompt(&session, "parse it"), "end_turn");
        let result = model.last().result();
        assert!(result.contains(heard), "{result}");
        let form = &client.forms[0].1;
        assert_eq!(form["message"], "Which parser?");
        assert_eq!(form["toolCallId"], client.all("tool_call")[0]["toolCallId"]);
    }
}

#[test]
fn a_client_without_forms_gets_the_question_as_text() {
    let (model, stage) = (asks(), Stage::new(TEXT));
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "parse it"), "end_turn");
    assert!(client.forms.is_empty());
    let text = client.agent_text(&session);
    assert!(text.contains("Which parser?"), "{text}");
}

#[test]
fn a_cancelled_prompt_withdraws_its_form() {
    let (model, stage) = (asks(), Stage::new(TEXT));
    let mut client = client(&stage, &model);
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "parse it");
    client.until(|client| !client.forms.is_empty());
    client.cancel(&session);
    let end = client.wait(prompt).expect("no error");
    assert_eq!(end["stopReason"], "cancelled");
}

/// Plans a file in plan mode, then writes it.
fn plans() -> Model {
    let todos = json!([{ "text": "write b.txt", "status": "pending" }]);
    Model::plays(vec![
        Reply::call("write_todos", json!({ "todos": todos })),
        Reply::text("That is it."),
        Reply::call("write", json!({ "path": "b.txt", "content": "b\n" })),
        Reply::text("done"),
    ])
}

fn planning(client: &mut Client, stage: &Stage) -> String {
    let session = client.session(&stage.root());
    let plan = json!({ "sessionId": session, "modeId": "plan" });
    client.call("session/set_mode", plan).expect("the mode");
    session
}

/// The turn that carries the plan out belongs to the prompt that asked for the plan.
#[test]
fn an_accepted_plan_is_carried_out_by_the_same_prompt() {
    let (model, stage) = (plans(), Stage::new(TEXT));
    let mut client = client(&stage, &model);
    client.fills.push_back(filled("Carry it out"));
    client.user.push_back(super::ALLOW);
    let session = planning(&mut client, &stage);
    assert_eq!(client.prompt(&session, "plan b.txt"), "end_turn");
    assert_eq!(stage.read("b.txt"), "b\n");
    let modes = client.all("current_mode_update");
    assert_eq!(modes.last().expect("a mode")["currentModeId"], "agent");
    let form = &client.forms[0].1;
    assert!(form["message"].to_string().contains("Carry out this plan?"));
    assert_eq!(form.get("toolCallId"), None);
}

#[test]
fn a_plan_that_is_not_accepted_ends_the_prompt() {
    for fill in [filled("Not now"), json!({ "action": "decline" })] {
        let (model, stage) = (plans(), Stage::new(TEXT));
        let mut client = client(&stage, &model);
        client.fills.push_back(fill);
        let session = planning(&mut client, &stage);
        assert_eq!(client.prompt(&session, "plan b.txt"), "end_turn");
        assert_eq!(model.count(), 2);
    }
    let (model, stage) = (plans(), Stage::new(TEXT));
    let mut client = client(&stage, &model);
    let session = planning(&mut client, &stage);
    let prompt = client.start_prompt(&session, "plan b.txt");
    client.until(|client| !client.forms.is_empty());
    client.cancel(&session);
    let end = client.wait(prompt).expect("no error");
    assert_eq!(end["stopReason"], "cancelled");
}
