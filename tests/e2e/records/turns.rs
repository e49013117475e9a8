//! Records of what is rarer in a turn, and of the prompts of all layouts.

use serde_json::{Value, json};

use super::record::Record;
use crate::editor::{Approval, Profile, Reaction};
use crate::fixture::Stage;
use crate::gemini;
use crate::mcp;
use crate::model::google::{Answer, Google};
use crate::model::{Model, Reply, RequestView};
use crate::segments;

const SUMMARY: &str = "## Task\nMend it.\n## State\nHalf.\n## Next\nThe rest.";

/// A sub-agent, a question, a server's tool, a command in the background, a web address, a plan, a
/// failed command, and a full window.
fn script(request: &RequestView) -> Reply {
    if request.user_text().contains("And?") {
        return Reply::text("It is done.");
    }
    if request
        .last_user_text()
        .contains("Write a summary of the conversation so far")
    {
        return Reply::text(SUMMARY);
    }
    if !request.tools().contains(&"delegate".to_owned()) {
        return match request.step() {
            0 => Reply::read("a.txt").thinking("Only this one."),
            1 => Reply::edit("a.txt", "x", "y"),
            _ => Reply::text("It says y now."),
        };
    }
    let question = json!({ "question": "Which parser?", "options": ["old", "new"] });
    match request.step() {
        0 => Reply::call("delegate", json!({ "task": "Look at a.txt" })),
        1 => Reply::call("ask_user", question),
        2 => Reply::call("mcp__s__echo", json!({ "text": "one" }))
            .and_call("mcp__s__fail", json!({})),
        3 => Reply::call(
            "exec",
            json!({ "command": "echo up; sleep 300", "background": true }),
        ),
        4 => Reply::call("web_fetch", json!({ "url": "http://192.168.1.1/x" })),
        5 => Reply::call(
            "save_memory",
            json!({ "kind": "fact", "text": "Uses tabs." }),
        )
        .and_call("memory_search", json!({ "query": "tabs" })),
        6 => Reply::exec("rm -rf /"),
        7 => Reply::call("exec", json!({ "command": "echo no" })),
        _ => Reply::text("done").counting(985_000),
    }
}

#[test]
fn the_record_of_a_turn_with_a_sub_agent_questions_servers_and_a_full_window() {
    let model = Model::start(script);
    let stage = mcp::stage(&[], mcp::WAIT);
    let mut editor = stage.editor(&model);
    let mut record = Record::new(&stage);
    editor.open("a.txt");
    let allow = Approval::Allow;
    editor.approvals(&[allow, allow, allow, Approval::Reject, Approval::Reject]);
    editor.reactions(&[Reaction::Says("new")]);
    model.allow_new_epoch();
    editor.run("Do all of it");
    record.notes(&mut editor);
    record.asked(&mut editor);
    for question in std::mem::take(&mut editor.script.questions) {
        record.line("question", &question);
    }
    record.title("after the compaction");
    editor.run("And?");
    record.request(&model.last(), false);
    record.title("status");
    record.line("status", &editor.status());
    record.holds("rarer");
}

#[test]
fn the_record_of_requests_in_gemini_s_format() {
    let model = Google::start(|n, _| match n {
        0 => gemini::reads(),
        1 => gemini::edit("alpha", "gamma"),
        2 => gemini::edit("alpha", "gamma"),
        _ => Answer::text("all is done"),
    });
    let stage = Stage::new(gemini::TEXT);
    let mut editor = gemini::launch(&stage, &model).start();
    editor.open("a.txt");
    editor.run("first");
    editor.run("second");
    let mut record = Record::new(&stage);
    record.body(model.last(), false);
    record.notes(&mut editor);
    record.holds("gemini");
}

/// The prompt of each layout from one workspace, and why its segments are there or not.
#[test]
fn the_record_of_the_prompts_of_all_layouts() {
    let (model, stage) = (Model::says("ok"), segments::rich());
    let mut editor = segments::launch(&stage, &model).start();
    let mut record = Record::new(&stage);
    for layout in ["default", "etcode", "mini", "openclaw", "zeus", "zyhive"] {
        record.title(layout);
        let session = json!({ "layout": layout, "model": segments::LOOSE });
        editor.new_session(session);
        let mut params = editor.turn_params("hi");
        params["segments"] = json!([{ "id": "house", "title": "House rules",
            "body": "Be brief.", "slot": "system" }]);
        let preview = editor.preview(&params);
        for row in preview["segments"].as_array().expect("segments") {
            let columns = [
                "id", "title", "layer", "source", "slot", "trust", "included", "reason",
            ];
            let row: Vec<Value> = columns.iter().map(|key| row[*key].clone()).collect();
            record.line("segment", &row.into());
        }
        model.allow_new_epoch();
        editor.start(params);
        editor.wait_ended();
        record.request(&model.last(), true);
    }
    record.holds("layouts");
}

/// What a plain client's user reads of the same turn.
#[test]
fn the_record_of_the_rarer_turn_in_an_editor_without_a_plugin() {
    let model = Model::start(script);
    let stage = mcp::stage(&[], mcp::WAIT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let mut record = Record::new(&stage);
    let uri = editor.open("a.txt");
    let allow = Approval::Allow;
    editor.approvals(&[allow, allow, allow, Approval::Reject, Approval::Reject]);
    editor.reactions(&[Reaction::Says("new")]);
    model.allow_new_epoch();
    editor.command("ask", json!({ "text": "Do all of it", "uri": uri }));
    editor.message("Save ");
    editor.save_uri(&uri);
    editor.message("done");
    record.notes(&mut editor);
    record.asked(&mut editor);
    record.holds("rarer-plain");
}
