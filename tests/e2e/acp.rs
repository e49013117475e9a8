//! `interline acp` over stdio. `tests/acp-schema` checks every received line against the protocol's
//! schema.

mod accounts;
mod bridge;
mod choices;
pub mod client;
mod forms;
mod lines;
mod servers;
mod sessions;

use serde_json::{Value, json};

use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};
use client::{Answer, Client};

const ALLOW: Answer = Answer::Takes("allow_once");

/// initialize → new → prompt → permission → the edit through the client's files → cancel.
#[test]
fn a_prompt_edits_the_unsaved_buffer_and_the_next_one_is_cancelled() {
    let gate = Gate::default();
    let late = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "two", "2").thinking("shorter"),
        2 => Reply::text("done"),
        _ => Reply::text("never").after(&late),
    });
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.txt").display().to_string();
    client
        .buffers
        .insert(path, "unsaved\none\ntwo\n".to_owned());
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "shorten it"), "end_turn");
    assert_eq!(stage.read("a.txt"), "unsaved\none\n2\n");
    assert!(model.request(1).raw_text().contains("unsaved"));
    assert_eq!(client.agent_text(&session), "done");
    let waiting = client.start_prompt(&session, "again");
    client.until(|_| model.count() == 4);
    client.cancel(&session);
    let end = client.wait(waiting).expect("a result, no error");
    assert_eq!(end["stopReason"], "cancelled");
    gate.open();
    assert_eq!(client.leave(), 0);
}

/// INV-2: a sub-agent reads the client's buffers too.
#[test]
fn a_sub_agent_reads_the_unsaved_buffer() {
    let model = Model::start(|request| {
        let delegates = request.tools().contains(&"delegate".to_owned());
        match (delegates, request.step()) {
            (true, 0) => Reply::call("delegate", json!({ "task": "Look at a.txt" })),
            (false, 0) => Reply::read("a.txt"),
            _ => Reply::text(&request.result()),
        }
    });
    let stage = Stage::new("//- /a.txt\none\n");
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.txt").display().to_string();
    client.buffers.insert(path, "unsaved\none\n".to_owned());
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "look"), "end_turn");
    let answer = client.agent_text(&session);
    assert!(answer.contains("1\tunsaved"), "{answer}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_permission_shows_the_diff_first_and_a_rejection_changes_nothing() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Takes("reject_once"));
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "shorten it"), "end_turn");
    assert_eq!(stage.read("a.txt"), "one\ntwo\n");
    assert!(client.files.iter().all(|(what, _)| what == "read"));
    let call = &client.permissions[0].1["toolCall"];
    let diff = json!({ "type": "diff", "path": stage.path("a.txt"),
        "oldText": "one\ntwo\n", "newText": "one\n2\n" });
    assert_eq!(call["content"][0], diff);
    assert_eq!(call["locations"][0]["path"], diff["path"]);
    let calls = client.all("tool_call_update");
    assert_eq!(calls.last().expect("an update")["status"], "failed");
}

/// A command asks once; "for this session" holds for the same command.
#[test]
fn allow_always_holds_for_the_same_command() {
    let model = Model::calls("exec", json!({ "command": "echo hi" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Takes("allow_always"));
    let session = client.session(&stage.root());
    client.prompt(&session, "say it");
    client.prompt(&session, "again");
    assert_eq!(client.permissions.len(), 1);
    let call = &client.permissions[0].1["toolCall"];
    assert_eq!(call["kind"], "execute");
    assert!(call["content"].to_string().contains("echo hi"), "{call}");
    assert_eq!(client.agent_text(&session).matches("hi").count(), 2);
}

#[test]
fn the_user_s_typing_between_read_and_edit_is_kept() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\nthree\n");
    let mut client = Client::start(&stage, &model);
    client.saves = false;
    let path = stage.path("a.txt").display().to_string();
    let unsaved = "ONE\ntwo\nthree\n".to_owned();
    client.buffers.insert(path.clone(), unsaved);
    client.user.push_back(Answer::Waits);
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "shorten it");
    client.until(|client| !client.permissions.is_empty());
    let typed = "ONE\ntwo\nthree\nfour\n".to_owned();
    client.buffers.insert(path.clone(), typed);
    client.answer_last("allow_once");
    client.wait(prompt).expect("an end");
    assert_eq!(client.buffers[&path], "ONE\n2\nthree\nfour\n");
    assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
}

/// The user types before each read that an edit makes, the last one right before the write.
#[test]
fn typing_between_any_two_reads_of_an_edit_is_kept() {
    for n in 1..4 {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new("//- /a.txt\none\ntwo\n");
        let mut client = Client::start(&stage, &model);
        client.saves = false;
        let path = stage.path("a.txt").display().to_string();
        client.buffers.insert(path.clone(), "ONE\ntwo\n".to_owned());
        client.typing = Some((n, "ONE\ntwo\nfour\n".to_owned()));
        client.user.push_back(ALLOW);
        let session = client.session(&stage.root());
        client.prompt(&session, "shorten it");
        assert_eq!(client.typing, None, "{n}: {:?}", client.files);
        assert_eq!(
            client.buffers[&path], "ONE\n2\nfour\n",
            "{n}: {:?}",
            client.files
        );
    }
}

/// Typing that overlaps the edit: nothing is written, and the model sees the current text.
#[test]
fn typing_over_the_same_place_is_a_conflict() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Waits);
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "shorten it");
    client.until(|client| !client.permissions.is_empty());
    let path = stage.path("a.txt").display().to_string();
    client.buffers.insert(path, "one\nTWO\n".to_owned());
    client.answer_last("allow_once");
    client.wait(prompt).expect("an end");
    assert!(client.files.iter().all(|(what, _)| what == "read"));
    assert!(
        model.last().result().contains("TWO"),
        "{}",
        model.last().result()
    );
}

#[test]
fn the_model_sees_what_a_formatter_changed_on_save() {
    let model = Model::edits("a.rs", "two", "2");
    let stage = Stage::new("//- /a.rs\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    client.on_write = Box::new(|_, text| text.replace("2\n", "2;\n"));
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.prompt(&session, "shorten it");
    assert_eq!(stage.read("a.rs"), "one\n2;\n");
    assert!(
        model.last().result().contains("2;"),
        "{}",
        model.last().result()
    );
}

#[test]
fn a_write_that_does_nothing_is_no_success() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    client.on_write = Box::new(|_, _| "one\ntwo\n".to_owned());
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.prompt(&session, "shorten it");
    let result = model.last().result();
    assert!(result.contains("lacks the edit"), "{result}");
}

#[test]
fn a_client_without_files_has_its_edits_on_disk() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    for capabilities in [json!({}), json!({ "fs": { "readTextFile": true } })] {
        stage.write("a.txt", "one\ntwo\n");
        let mut client = Client::spawn(&stage, &model);
        client.initialize(capabilities);
        client.user.push_back(ALLOW);
        let session = client.session(&stage.root());
        assert_eq!(client.prompt(&session, "shorten it"), "end_turn");
        assert_eq!(stage.read("a.txt"), "one\n2\n");
        assert!(
            client.files.is_empty(),
            "never asked for: {:?}",
            client.files
        );
        assert_eq!(client.leave(), 0);
    }
}

/// An edit has its diff and its place; what it changed is reverted, restored, and reverted by call.
#[test]
fn what_a_turn_changed_is_reverted_and_restored_by_commands() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\nthree\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.prompt(&session, "shorten it");
    let path = stage.path("a.txt").display().to_string();
    let updates = client.all("tool_call_update");
    let edit = updates.iter().rfind(|it| it["kind"] == "edit").unwrap();
    assert_eq!(edit["locations"][0]["path"], path);
    assert_eq!(edit["content"][0]["newText"], "one\n2\nthree\n");
    let call = edit["toolCallId"].as_str().unwrap().to_owned();
    let by_call = format!("/revert {call}");
    for (command, text) in [
        ("/revert", "one\ntwo\nthree\n"),
        ("/redo", "one\n2\nthree\n"),
        ("/revert a.txt", "one\ntwo\nthree\n"),
        ("/redo", "one\n2\nthree\n"),
        (&by_call, "one\ntwo\nthree\n"),
    ] {
        assert_eq!(client.prompt(&session, command), "end_turn");
        assert_eq!(stage.read("a.txt"), text, "{command}");
    }
    let card = client.all("tool_call").pop().unwrap();
    assert_eq!(
        (&card["title"], &card["kind"]),
        (&json!("Revert"), &json!("edit"))
    );
    assert_eq!(card["content"][0]["newText"], "one\ntwo\nthree\n");
    assert_eq!(card["locations"][0]["path"], path);
    let commands = client.all("available_commands_update")[0].to_string();
    assert!(commands.contains("\"revert\"") && commands.contains("\"redo\""));
}

#[test]
fn a_new_file_is_made_by_the_client() {
    let input = json!({ "path": "new/b.txt", "content": "hello\n" });
    let model = Model::calls("write", input);
    let stage = Stage::new("//- /a.txt\nx\n//- /new/c.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.prompt(&session, "make it");
    let path = stage.path("new/b.txt").display().to_string();
    assert!(client.files.contains(&("write".to_owned(), path)));
    assert_eq!(stage.read("new/b.txt"), "hello\n");
    assert_eq!(
        client.permissions[0].1["toolCall"]["content"][0]["oldText"],
        Value::Null
    );
    assert!(model.last().result().contains("new/b.txt"));
    client.prompt(&session, "/revert");
    assert!(!stage.path("new/b.txt").exists(), "reverted, not emptied");
    client.prompt(&session, "/redo");
    assert_eq!(stage.read("new/b.txt"), "hello\n");
}

#[test]
fn two_sessions_work_at_once_and_a_cancel_affects_one() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(
        move |request| match request.last_user_text().contains("slow") {
            true => Reply::text("late").after(&held),
            false => Reply::text("quick"),
        },
    );
    let stage = Stage::new("//- /one/a.txt\nx\n//- /two/b.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let one = client.session(&stage.path("one"));
    let two = client.session(&stage.path("two"));
    let slow = client.start_prompt(&one, "slow");
    model.wait_for(1);
    let busy = client.start_prompt(&one, "more");
    assert_eq!(
        client.wait(busy).expect_err("one at a time")["data"]["kind"],
        "busy"
    );
    assert_eq!(client.prompt(&two, "go"), "end_turn");
    assert_eq!(client.agent_text(&two), "quick");
    client.cancel(&one);
    assert_eq!(
        client.wait(slow).expect("no error")["stopReason"],
        "cancelled"
    );
    gate.open();
    assert_eq!(client.agent_text(&one), "");
    assert_eq!(client.prompt(&one, "and now"), "end_turn");
}

#[test]
fn a_permission_answered_after_the_cancel_runs_nothing() {
    let model = Model::calls("exec", json!({ "command": "touch out" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Waits);
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "make it");
    client.until(|client| !client.permissions.is_empty());
    client.cancel(&session);
    let end = client.wait(prompt).expect("no error");
    assert_eq!(end["stopReason"], "cancelled");
    let count = client.updates.len();
    client.answer_last("allow_once");
    let list = client.call("session/list", json!({})).expect("the list");
    assert_eq!(list["sessions"][0]["sessionId"], session.as_str());
    assert_eq!(list["sessions"][0]["cwd"], json!(stage.root()));
    assert_eq!(client.updates.len(), count, "nothing follows the answer");
    assert!(!stage.path("out").exists());
}

#[test]
fn a_client_that_vanishes_during_a_turn_leaves_nothing_running() {
    let model = Model::calls("exec", json!({ "command": "sleep 60" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.start_prompt(&session, "wait");
    client.until(|client| !client.process.children().is_empty());
    let children = client.process.children();
    assert_eq!(client.leave(), 0);
    for child in children {
        crate::editor::process::until_dead(child);
    }
}

#[test]
fn bad_lines_are_answered_and_the_agent_lives() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let lines: [&[u8]; 7] = [
        b"not json\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\n",
        b"[]\n",
        b"\xff\xfe\x00\n",
        b"{\"jsonrpc\":\"1.0\",\"method\":\"x\"}\n",
        b"\n  \n",
        b"Content-Length: 2\r\n",
    ];
    for line in lines {
        client.process.send_raw(line);
    }
    client.until(|client| client.bad.len() == 6);
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "hi"), "end_turn");
    assert_eq!(client.agent_text(&session), "hello");
}

/// Invalid requests get the protocol's error codes.
#[test]
fn wrong_requests_get_the_protocol_s_codes() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::spawn(&stage, &model);
    let root = stage.root();
    let session = json!({ "sessionId": "s_none", "prompt": [{ "type": "text", "text": "x" }] });
    let early = client.call("session/new", json!({ "cwd": root, "mcpServers": [] }));
    assert_eq!(early.expect_err("before initialize")["code"], -32602);
    let newest = client.initialize_with(65_535);
    assert_eq!(newest["protocolVersion"], 1);
    for (method, params, code) in [
        (
            "session/new",
            json!({ "cwd": "work", "mcpServers": [] }),
            -32602,
        ),
        ("session/new", json!({ "cwd": root }), -32602),
        (
            "session/new",
            json!({ "cwd": "/nowhere/at/all", "mcpServers": [] }),
            -32602,
        ),
        ("session/new", json!([]), -32602),
        ("session/prompt", session, -32002),
        (
            "session/load",
            json!({ "sessionId": "s_none", "cwd": root, "mcpServers": [] }),
            -32002,
        ),
        ("authenticate", json!({ "methodId": "magic" }), -32602),
        ("session/fork", json!({}), -32602),
        ("_ours", json!({}), -32601),
    ] {
        let refused = client.call(method, params).expect_err(method);
        assert_eq!(refused["code"], code, "{method}: {refused}");
    }
}

#[test]
fn without_a_key_the_prompt_says_how_to_give_one() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut environment = stage.environment(&model.url());
    environment.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    let mut client = Client::of(crate::editor::process::Process::start_lines(
        &["acp"],
        &environment,
        &stage.root(),
    ));
    let methods = client.initialize(json!({}))["authMethods"].clone();
    assert!(
        methods[0]["description"]
            .to_string()
            .contains("interline login")
    );
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "hi");
    let refused = client.wait(prompt).expect_err("no key");
    assert_eq!(refused["code"], -32000, "{refused}");
    let asked = client.call("authenticate", json!({ "methodId": methods[0]["id"] }));
    assert_eq!(asked.expect_err("still none")["code"], -32000);
}

#[test]
fn a_loaded_session_is_replayed_before_the_answer() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    client.prompt(&session, "shorten it");
    let answer = client.agent_text(&session);
    assert_eq!(client.leave(), 0);
    let mut client = Client::start(&stage, &model);
    let params = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
    let id = client.send("session/load", params);
    client.wait(id).expect("the session");
    let kinds = client.kinds();
    assert_eq!(kinds[0], "user_message_chunk");
    assert!(kinds.contains(&"tool_call"), "{kinds:?}");
    assert_eq!(client.agent_text(&session), answer);
    let prompts = client.all("user_message_chunk");
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert_eq!(prompts[0]["content"]["text"], "shorten it");
    client.until(|client| !client.all("usage_update").is_empty());
    assert!(client.all("usage_update")[0]["used"].as_u64() > Some(0));
    assert_eq!(client.prompt(&session, "and then?"), "end_turn");
}

/// A login would not help: the client must not open one.
#[test]
fn an_unknown_model_is_an_invalid_value() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    for name in ["nonsense", "nobody/gpt-9"] {
        let params = json!({ "sessionId": session, "configId": "model", "value": name });
        let refused = client.call("session/set_config_option", params);
        assert_eq!(refused.expect_err(name)["code"], -32602, "{name}");
    }
    let settings = stage.folder("config/interline/config.toml");
    std::fs::write(settings, "model = \"nobody/gpt-9\"\n").expect("settings");
    let mut client = Client::start(&stage, &model);
    let params = json!({ "cwd": stage.root(), "mcpServers": [] });
    let refused = client
        .call("session/new", params)
        .expect_err("no such model");
    assert_eq!(refused["code"], -32602, "{refused}");
}

#[test]
fn mode_and_model_are_options_and_stay_in_step() {
    let model = Model::calls("write", json!({ "path": "b.txt", "content": "x" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    let ask = json!({ "sessionId": session, "modeId": "ask" });
    client.call("session/set_mode", ask).expect("the mode");
    client.prompt(&session, "make it");
    assert!(!stage.path("b.txt").exists());
    let set =
        |id: &str, value: &str| json!({ "sessionId": session, "configId": id, "value": value });
    let options = client.call("session/set_config_option", set("model", "replay/@demo"));
    let options = options.expect("the options")["configOptions"].clone();
    assert_eq!(options[0]["currentValue"], "ask");
    assert_eq!(options[1]["currentValue"], "replay/@demo");
    assert!(
        client
            .call("session/set_config_option", set("mode", "yolo"))
            .is_err()
    );
    client.until(|client| !client.all("config_option_update").is_empty());
    assert_eq!(client.all("current_mode_update")[0]["currentModeId"], "ask");
}

#[test]
fn a_plan_usage_and_unused_servers_are_reported() {
    let todos = json!([{ "text": "look", "status": "completed" },
        { "text": "cut", "status": "in_progress" }, { "text": "no", "status": "cancelled" }]);
    let model = Model::calls("write_todos", json!({ "todos": todos }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let servers = json!([{ "name": "docs", "command": "/bin/docs", "args": [], "env": [] }]);
    let new = client.call(
        "session/new",
        json!({ "cwd": stage.root(), "mcpServers": servers }),
    );
    let session = new.expect("a session")["sessionId"].clone();
    client.prompt(session.as_str().expect("an id"), "plan it");
    let entries = client.all("plan")[0]["entries"].clone();
    assert_eq!(entries.as_array().map(Vec::len), Some(2));
    assert_eq!(entries[1]["status"], "in_progress");
    assert!(client.all("usage_update")[0]["size"].as_u64() > Some(0));
    assert!(
        client
            .agent_text(session.as_str().expect("an id"))
            .contains("docs")
    );
}

#[test]
fn resources_and_links_of_the_prompt_reach_the_model() {
    let model = Model::says("seen");
    let stage = Stage::new("//- /a.txt\nsaved\n");
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.txt").display().to_string();
    client.buffers.insert(path, "unsaved\n".to_owned());
    let session = client.session(&stage.root());
    let prompt = json!([
        { "type": "text", "text": "look" },
        { "type": "resource_link", "uri": stage.uri("a.txt"), "name": "a.txt" },
        { "type": "resource", "resource": { "uri": "zed:///x", "text": "embedded words" } },
    ]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    client.call("session/prompt", params).expect("an end");
    let asked = model.last().user_text();
    assert!(
        asked.contains("unsaved") && asked.contains("embedded words"),
        "{asked}"
    );
    let audio = json!([{ "type": "audio", "mimeType": "audio/wav", "data": "" }]);
    let params = json!({ "sessionId": session, "prompt": audio });
    assert_eq!(
        client.call("session/prompt", params).expect_err("audio")["code"],
        -32602
    );
}

/// A command changed the file, and the editor still shows the old text: the disk is read.
#[test]
fn a_buffer_older_than_the_disk_is_not_believed() {
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let model = Model::steps(vec![
        Reply::read("a.txt"),
        Reply::exec("printf 'one\\nTWO\\n' > a.txt"),
        Reply::edit("a.txt", "TWO", "2"),
    ]);
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.txt").display().to_string();
    client.buffers.insert(path, "one\ntwo\n".to_owned());
    client.user.extend([ALLOW, ALLOW]);
    let session = client.session(&stage.root());
    client.prompt(&session, "shorten it");
    assert_eq!(stage.read("a.txt"), "one\n2\n");
}

#[test]
fn a_cancelled_request_cancels_its_turn() {
    let model = Model::start(|_| Reply::text("late").after(&Gate::default()));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    let id = client.start_prompt(&session, "hi");
    model.wait_for(1);
    client.notify("$/cancel_request", json!({ "requestId": id }));
    assert_eq!(client.wait(id).expect_err("cancelled")["code"], -32800);
    model.wait_for_hang_up();
    let again = client.start_prompt(&session, "again");
    client.cancel(&session);
    let end = client.wait(again).expect("no error");
    assert_eq!(end["stopReason"], "cancelled");
}

/// A name that the client gives is shown beside the path, never instead of it.
#[test]
fn a_linked_file_is_named_by_its_path() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /src/deep/a.txt\nalpha\n");
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    for (name, shown) in [
        ("a.txt", "File: src/deep/a.txt\nalpha"),
        ("the plan", "File: src/deep/a.txt (the plan)\nalpha"),
    ] {
        let uri = stage.uri("src/deep/a.txt");
        let link = json!({ "type": "resource_link", "uri": uri, "name": name });
        let params = json!({ "sessionId": session, "prompt": [link] });
        client.call("session/prompt", params).expect("an end");
        let request_text = model.last().last_user_text();
        assert!(request_text.contains(shown), "{request_text}");
    }
}
