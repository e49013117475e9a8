//! The log: resume, torn tail, one writer.

use std::io::Write;

use serde_json::{Value, json};

use crate::editor::LIMIT;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n";

#[test]
fn a_session_continues_in_a_new_process() {
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

/// ZY-87.
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
    editor.quit();
    let opened = stage.editor(&model).resume(&session);
    assert!(!opened["items"].to_string().contains("damaged"), "{opened}");
}

/// ZY-30: the prompt is in the log before the model gets it.
#[test]
fn the_prompt_is_in_the_log_before_the_model_is_asked() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("ok").after(&held));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.prompt("remember sesame");
    editor.until_asked(&model, 1);
    let log = std::fs::read_to_string(&stage.logs()[0]).unwrap();
    let message = log
        .lines()
        .find(|line| line.contains("\"type\":\"message\""));
    assert!(message.unwrap().contains("remember sesame"), "{log}");
    gate.open();
    editor.wait_for_turn(&turn, LIMIT);
}

/// ZY-86, S05: the list is rebuilt from the logs.
#[test]
fn a_missing_or_broken_list_of_sessions_costs_nothing() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    drop(editor);
    let list = stage.logs()[0].parent().unwrap().join("sessions.json");
    for spoil in ["absent", "{\"torn", "[]"] {
        match spoil {
            "absent" => drop(std::fs::remove_file(&list)),
            text => std::fs::write(&list, text).unwrap(),
        }
        let mut editor = stage.editor(&model);
        let listed = editor.request("interline/session/list", json!({}));
        let rows = listed["sessions"].as_array().unwrap();
        let found = rows.iter().find(|row| row["sessionId"] == session.as_str());
        assert_eq!(found.unwrap()["turns"], 1, "{spoil}");
    }
}

/// Every prefix of a log is a valid conversation: a call without its result gets one.
/// ZY-41: call and result were in the log.
#[test]
fn a_session_killed_during_a_step_resumes_with_paired_results() {
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

/// The bodies of an opened session's items.
fn bodies(opened: &Value) -> Vec<Value> {
    let items = opened["items"].as_array().unwrap().iter();
    items.map(|item| item["body"].clone()).collect()
}

/// A prompt that waited behind an interrupted turn is reported once with its text, and is not sent
/// by itself; a withdrawn one is not reported.
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
    let turn = editor.queue("withdrawn");
    let back = json!({ "sessionId": session, "turnId": turn });
    editor.request("interline/turn/dequeue", back);
    editor.until_asked(&model, 1);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let items = bodies(&editor.resume(&session));
    let [.., cut, waited, unsent] = items.as_slice() else {
        panic!("{items:?}")
    };
    assert!(cut["error"].to_string().contains("interrupted"));
    assert_eq!(waited["input"][0]["text"], "waits");
    assert!(unsent["error"].to_string().contains("was not sent"));
    assert_eq!(editor.run("second").text(), "ok");
    assert!(!model.last().user_text().contains("waits"));
    editor.process.kill();
    let again = bodies(&stage.editor(&model).resume(&session));
    assert_eq!(again[..items.len()], items);
    let asked = json!({ "sessionId": session, "format": "markdown" });
    let text = stage
        .editor(&model)
        .request("interline/session/export", asked);
    let text = text["text"].as_str().unwrap();
    assert!(text.contains("## You\n\nwaits"), "{text}");
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
    // Opened again it still belongs to the other; once that one is gone, it can be written.
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
    // A turn of an earlier process is over; one that never existed is unknown.
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

/// A prompt edited and sent again: the fork has the conversation before it; the first session keeps
/// its edits, and the files stay as they are.
#[test]
fn a_fork_continues_from_before_a_turn() {
    let model = Model::edits("a.txt", "alpha", "alpha alpha");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.open("a.txt");
    editor.run("first");
    let turn = editor.run("second, mistyped").ended["turnId"].clone();
    let unknown = json!({"sessionId": session, "turnId": "never"});
    let error = editor.refused("interline/session/fork", unknown);
    assert_eq!(error["data"]["kind"], "unknownTurn");
    let forked = json!({"sessionId": session, "turnId": turn});
    let fork = editor.request("interline/session/fork", forked)["sessionId"].clone();
    let text = editor.text("a.txt").to_owned();
    let revert = json!({"sessionId": fork});
    let error = editor.refused("interline/turn/revert", revert);
    assert_eq!(error["data"]["kind"], "invalid");
    let mut params = editor.turn_params("second, better");
    params["sessionId"] = fork.clone();
    editor.start(params);
    editor.wait_ended();
    let prompt = model.last().user_text();
    assert!(prompt.contains("first") && prompt.contains("better") && !prompt.contains("mistyped"));
    assert!(text.contains("alpha alpha"));
    let opened = editor.request("interline/session/open", json!({"sessionId": session}));
    assert!(opened["items"].to_string().contains("mistyped"));
    assert!(!opened["items"].to_string().contains("better"));
}

/// S03: a session that another process has is forked, and both continue.
#[test]
fn a_session_of_another_process_is_forked_s03() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut first = stage.editor(&model);
    let session = first.session();
    first.run("hi");
    let mut second = stage.editor(&model);
    assert_eq!(second.resume(&session)["access"], "readOnly");
    let forked = json!({"sessionId": session});
    let fork = second.request("interline/session/fork", forked)["sessionId"].clone();
    assert_eq!(second.resume(fork.as_str().unwrap())["access"], "write");
    second.run("mine");
    assert!(model.last().user_text().contains("hi"));
    first.run("still mine");
    assert!(!model.last().user_text().contains("\nmine"));
}

/// ZY-85: title, tokens and last use of each.
#[test]
fn sessions_are_searched_paged_and_exported() {
    let model = Model::says("The answer is 42.");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("Ask about\nthe Zebra");
    editor.run("and again");
    editor.new_session(json!({}));
    editor.run("something else");
    let found = editor.request("interline/session/list", json!({"query": "zebra"}));
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["sessions"][0]["sessionId"], session.as_str());
    let page = json!({"sessionId": session, "limit": 3});
    let last = editor.request("interline/session/open", page);
    let before = json!({"sessionId": session, "limit": 300, "before": last["prevCursor"]});
    let earlier = editor.request("interline/session/open", before);
    assert!(earlier["items"].to_string().contains("Zebra") && earlier["prevCursor"].is_null());
    assert!(!last["items"].to_string().contains("Zebra"));
    let asked = json!({"sessionId": session, "format": "markdown"});
    let text = editor.request("interline/session/export", asked)["text"].clone();
    let text = text.as_str().unwrap();
    assert!(
        text.contains("## You\n\nAsk about") && text.contains("The answer is 42."),
        "{text}"
    );
    let error = editor.refused(
        "interline/session/export",
        json!({"sessionId": session, "format": "pdf"}),
    );
    assert_eq!(error["data"]["kind"], "invalid");
}

/// S06: the log of a newer version is not written; it opens, and can be forked.
#[test]
fn a_newer_log_is_read_only_s06() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("hi");
    editor.request("interline/session/close", json!({"sessionId": session}));
    let mut logs = stage.logs().into_iter();
    let log = logs
        .find(|log| log.display().to_string().contains(&session))
        .unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(first).unwrap();
    header["version"] = json!(4);
    header.as_object_mut().unwrap().remove("crc");
    let newer = format!("{header}\n{rest}{{\"type\":\"hologram\",\"x\":1}}\n");
    std::fs::write(&log, &newer).unwrap();
    assert_eq!(editor.resume(&session)["access"], "readOnly");
    let params = editor.turn_params("mine");
    let error = editor.refused("interline/turn/start", params);
    assert_eq!(error["data"]["kind"], "readOnly");
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        newer,
        "nothing is lost"
    );
    let forked = json!({"sessionId": session});
    let fork = editor.request("interline/session/fork", forked)["sessionId"].clone();
    assert_eq!(editor.resume(fork.as_str().unwrap())["access"], "write");
    editor.run("go on");
    assert!(model.last().user_text().contains("hi"));
}

#[test]
fn a_title_comes_from_the_first_prompt_or_a_model_of_its_own() {
    let model = Model::start(
        |request| match request.body()["model"] == "claude-haiku-5-5" {
            true => Reply::text("\"Mend the cart.\""),
            false => Reply::text("ok"),
        },
    );
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let routing = json!({"title": "anthropic/claude-haiku-5-5"});
    let mut editor = launch.user_setting("routing", routing).start();
    editor.run("please mend the cart, it is broken");
    editor.until("a title", |editor| {
        let note = |note: &serde_json::Value| note["title"] == "Mend the cart";
        editor.note("interline/session/didChange", note)
    });
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"][0]["title"], "Mend the cart");
}

/// The tokens of a failed title request are counted.
#[test]
fn a_title_that_fails_is_counted_too() {
    let model = Model::start(
        |request| match request.body()["model"] == "claude-haiku-5-5" {
            true => Reply::text("Mend the cart").cut_after(600),
            false => Reply::text("ok"),
        },
    );
    let stage = Stage::new(TEXT);
    let routing = json!({"title": "anthropic/claude-haiku-5-5"});
    let launch = stage.launch(&model).user_setting("routing", routing);
    let mut editor = launch.start();
    editor.run("mend it");
    let counted = |note: &Value| note["tokens"].as_u64() > Some(3160);
    let note = editor.until("its tokens", |editor| {
        editor.note("interline/session/didChange", counted)
    });
    assert_eq!(note["title"], "mend it");
}

/// A long log continues from its checkpoint with the same bytes as without; the checkpoint is deleted
/// with its log.
#[test]
fn a_long_session_continues_from_its_checkpoint() {
    let model = Model::steps((0..4).map(|_| Reply::read("a.txt")).collect());
    let stage = Stage::new(TEXT);
    stage.write("a.txt", "a line of the file\n".repeat(9_000));
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    editor.quit();
    let checkpoint = stage.logs()[0].with_extension("checkpoint");
    let mut sent = Vec::new();
    for _ in 0..3 {
        let mut editor = stage.editor(&model);
        let opened = editor.resume(&session);
        assert!(opened["items"].to_string().contains("first"));
        let ask = json!({ "sessionId": session, "input": [{ "type": "text", "text": "on" }] });
        sent.push(editor.request("interline/prompt/preview", ask)["request"].clone());
        assert!(
            checkpoint.exists(),
            "a log of {:?}",
            stage.logs()[0].metadata()
        );
        editor.quit();
        if sent.len() == 2 {
            std::fs::write(&checkpoint, "{\"torn").unwrap();
        }
    }
    assert!(sent[0] == sent[1] && sent[1] == sent[2]);
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    editor.run("second");
    assert!(model.last().user_text().contains("first"));
    editor.request("interline/session/delete", json!({ "sessionId": session }));
    assert!(!checkpoint.exists());
}
