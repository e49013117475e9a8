//! The log: resume, torn tail, one writer.

use std::io::Write;

use serde_json::{Value, json};

use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n";

#[test]
fn a_session_goes_on_in_a_new_process() {
    let model = Model::steps(vec![Reply::read("a.txt").thinking("hm")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    drop(editor);
    let mut editor = stage.editor(&model);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    let opened = editor.resume(&session);
    assert!(opened["items"].to_string().contains("first"), "{opened}");
    editor.run("second");
    assert!(model.last().user_text().contains("first"));
}

#[test]
fn a_torn_tail_costs_only_its_record() {
    let model = Model::steps(vec![Reply::read("a.txt").thinking("hm")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    drop(editor);
    let log = stage
        .logs()
        .into_iter()
        .find(|log| log.display().to_string().contains(&session));
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(log.unwrap())
        .unwrap();
    file.write_all(b"{\"type\":\"message\",\"turn\":\"tur")
        .unwrap();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    editor.run("second");
    assert!(model.last().user_text().contains("first"));
}

/// Every prefix of a log is a valid conversation: a call without its result gets one.
#[test]
fn a_kill_amid_a_step_resumes_with_paired_results() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::text("held").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.prompt("first");
    editor.until_asked(&model, 2);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    assert_eq!(editor.run("second").text(), "ok");
    assert!(!gate.is_open());
}

/// The bodies of a session that was opened.
fn bodies(opened: &Value) -> Vec<Value> {
    let items = opened["items"].as_array().unwrap().iter();
    items.map(|item| item["body"].clone()).collect()
}

/// What waited behind a turn that was cut off is told with its words, once, and is not sent by
/// itself; what was taken back is not told.
#[test]
fn prompts_that_waited_when_the_process_died_are_given_back() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text("held").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.prompt("first");
    editor.queue("waits");
    let turn = editor.queue("was taken back");
    let back = json!({ "sessionId": session, "turnId": turn });
    editor.request("interline/turn/dequeue", back);
    editor.until_asked(&model, 1);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let told = bodies(&editor.resume(&session));
    let [.., cut, waited, unsent] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(cut["error"].to_string().contains("interrupted"));
    assert_eq!(waited["input"][0]["text"], "waits");
    assert!(unsent["error"].to_string().contains("was not sent"));
    assert_eq!(editor.run("second").text(), "ok");
    assert!(!model.last().user_text().contains("waits"));
    editor.process.kill();
    let again = bodies(&stage.editor(&model).resume(&session));
    assert_eq!(again[..told.len()], told);
}

#[test]
fn a_second_process_opens_read_only() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut first = stage.editor(&model);
    let session = first.session();
    first.run("hi");
    let mut second = stage.editor(&model);
    assert_eq!(second.resume(&session)["access"], "readOnly");
    let params = second.turn_params("mine");
    let error = second.refused("interline/turn/start", params);
    assert_eq!(error["data"]["kind"], "readOnly");
    for (method, extra) in [
        ("configure", json!({"mode": "ask"})),
        ("rename", json!({"title": "mine"})),
        ("delete", json!({})),
    ] {
        let mut params = extra;
        params["sessionId"] = json!(session);
        let error = second.refused(&format!("interline/session/{method}"), params);
        assert_eq!(error["data"]["kind"], "readOnly", "{method}");
    }
    assert_eq!(first.run("still mine").text(), "ok");
    // Opened again it is still the other's; once that one is gone, it can be written.
    assert_eq!(second.resume(&session)["access"], "readOnly");
    drop(first);
    assert_eq!(second.resume(&session)["access"], "write");
    assert_eq!(second.run("mine now").text(), "ok");
}

#[test]
fn a_stored_session_is_renamed_and_deleted_without_being_open() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    let turn = editor.run("first").ended["turnId"].clone();
    editor.request("interline/session/close", json!({"sessionId": session}));
    let named = json!({"sessionId": session, "title": "Later"});
    editor.request("interline/session/rename", named);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"][0]["title"], "Later");
    // A turn of an earlier life is over; one that never was is unknown.
    assert_eq!(editor.resume(&session)["access"], "write");
    let over = json!({"sessionId": session, "turnId": turn});
    let cancelled = editor.request("interline/turn/cancel", over.clone());
    assert_eq!(cancelled["cancelled"], json!([]));
    let error = editor.refused("interline/turn/dequeue", over);
    assert_eq!(error["data"]["kind"], "turnEnded");
    let never = json!({"sessionId": session, "turnId": "never"});
    let error = editor.refused("interline/turn/cancel", never);
    assert_eq!(error["data"]["kind"], "unknownTurn");
    editor.request("interline/session/delete", json!({"sessionId": session}));
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"], json!([]));
}

#[test]
fn logs_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    stage.editor(&model).run("hi");
    let logs = stage.logs();
    assert!(!logs.is_empty());
    for log in logs {
        let mode = std::fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", log.display());
    }
}

#[test]
fn two_sessions_of_one_process_edit_one_file_in_turn() {
    let model = Model::edits("a.txt", "alpha", "alpha alpha");
    let stage = Stage::new("//- /a.txt\nalpha\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.run("double");
    editor.new_session(json!({}));
    let turn = editor.run("double");
    assert_eq!(
        turn.statuses(),
        ["completed", "failed"],
        "now it is there twice"
    );
    assert_eq!(editor.text("a.txt"), "alpha alpha\n");
}
