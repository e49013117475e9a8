//! A client's sessions and how their prompts end.

use serde_json::{Value, json};

use super::client::Client;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";

fn ids(page: &Value) -> Vec<String> {
    let rows = page["sessions"].as_array().expect("sessions").iter();
    rows.map(|it| it["sessionId"].as_str().expect("an id").to_owned())
        .collect()
}

/// Each session is on exactly one page, and the last page says that it is the last.
#[test]
fn sessions_are_listed_page_by_page() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let made: Vec<String> = (0..51)
        .map(|n| {
            let session = client.session(&stage.root());
            client.prompt(&session, &format!("prompt {n}"));
            session
        })
        .collect();
    let (mut listed, mut pages, mut cursor) = (Vec::new(), 0, json!({}));
    while pages < 3 {
        let page = client.call("session/list", cursor).expect("a page");
        listed.extend(ids(&page));
        pages += 1;
        let Some(next) = page.get("nextCursor") else {
            break;
        };
        cursor = json!({ "cursor": next });
    }
    assert_eq!((pages, listed.len()), (2, 51));
    assert!(made.iter().all(|it| listed.contains(it)), "{listed:?}");
}

/// The model gets the earlier conversation; the client gets none of it again.
#[test]
fn a_resumed_session_continues_without_its_history() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    client.prompt(&session, "remember the mill");
    assert_eq!(client.leave(), 0);
    let mut client = Client::spawn(&stage, &model);
    let methods = client.initialize(json!({}))["authMethods"].clone();
    let key = json!({ "methodId": methods[0]["id"] });
    client.call("authenticate", key).expect("there is a key");
    let stored = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
    let resumed = client.call("session/resume", stored).expect("the session");
    assert_eq!(resumed["modes"]["currentModeId"], "agent");
    assert_eq!(client.prompt(&session, "and now?"), "end_turn");
    assert_eq!(client.agent_text(&session), "ok");
    assert!(client.all("user_message_chunk").is_empty());
    assert!(model.last().raw_text().contains("remember the mill"));
}

/// The fork has the conversation and is open; the other session does not change.
#[test]
fn a_fork_continues_from_the_same_conversation() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    client.prompt(&session, "remember the mill");
    let fork = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
    let forked = client.call("session/fork", fork).expect("a fork");
    assert_eq!(forked["modes"]["currentModeId"], "agent");
    let new = forked["sessionId"].as_str().expect("an id").to_owned();
    assert_ne!(new, session);
    assert_eq!(client.prompt(&new, "only in the fork"), "end_turn");
    assert!(model.last().raw_text().contains("remember the mill"));
    client.prompt(&session, "and here?");
    assert!(!model.last().raw_text().contains("only in the fork"));
    let gone = json!({ "sessionId": "s_none", "cwd": stage.root() });
    let refused = client.call("session/fork", gone).expect_err("unknown");
    assert_eq!(refused["code"], -32002);
}

/// A folder lists only its own sessions, and a deleted one is gone from the list and the disk.
#[test]
fn sessions_are_listed_by_folder_until_they_are_deleted() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /a/a.txt\nx\n//- /b/b.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let made = ["a", "b"].map(|folder| {
        let session = client.session(&stage.path(folder));
        client.prompt(&session, folder);
        session
    });
    for (folder, session) in ["a", "b"].iter().zip(&made) {
        let only = json!({ "cwd": stage.path(folder) });
        let page = client.call("session/list", only).expect("a page");
        assert_eq!(ids(&page), std::slice::from_ref(session));
        assert_eq!(page["sessions"][0]["title"], *folder);
    }
    let gone = json!({ "sessionId": made[0] });
    client.call("session/delete", gone).expect("deleted");
    let page = client.call("session/list", json!({})).expect("a page");
    assert_eq!(ids(&page), made[1..]);
    let load = json!({ "sessionId": made[0], "cwd": stage.path("a"), "mcpServers": [] });
    let refused = client.call("session/load", load).expect_err("gone");
    assert_eq!(refused["code"], -32002);
}

#[test]
fn a_prompt_ends_with_the_protocol_s_reason() {
    for (reply, reason) in [
        (Reply::text("a"), "end_turn"),
        (Reply::text("a").stopping("max_tokens"), "max_tokens"),
        (Reply::text("a").stopping("refusal"), "refusal"),
    ] {
        let model = Model::plays(vec![reply]);
        let stage = Stage::new(TEXT);
        let mut client = Client::start(&stage, &model);
        let session = client.session(&stage.root());
        assert_eq!(client.prompt(&session, "go"), reason);
    }
    let model = Model::start(|request| {
        Reply::call("glob", json!({ "pattern": format!("*{}", request.n) }))
    });
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "loop"), "max_turn_requests");
}

/// A second prompt of a session is refused while the first one runs.
#[test]
fn one_prompt_of_a_session_runs_at_a_time() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text("one").after(&held),
        _ => Reply::text("two"),
    });
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    let first = client.start_prompt(&session, "first");
    client.until(|_| model.count() == 1);
    let second = client.start_prompt(&session, "second");
    let refused = client.wait(second).expect_err("one runs");
    assert!(refused.to_string().contains("still running"), "{refused}");
    gate.open();
    client.wait(first).expect("an end");
    assert_eq!(client.prompt(&session, "third"), "end_turn");
    assert_eq!(client.agent_text(&session), "onetwo");
    assert!(!model.last().user_text().contains("second"));
}

/// A prompt with a part that cannot be used does not reach the model at all.
#[test]
fn a_prompt_with_an_unusable_part_is_refused() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    let text = json!({ "type": "text", "text": "hi" });
    let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" });
    let blob = json!({ "uri": "file:///x.bin", "blob": "AA==" });
    let binary = json!({ "type": "resource", "resource": blob });
    for prompt in [json!([]), json!([text, audio]), json!([text, binary])] {
        let params = json!({ "sessionId": session, "prompt": prompt });
        let refused = client.call("session/prompt", params).expect_err("refused");
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    assert_eq!(model.count(), 0);
    assert_eq!(client.prompt(&session, "hi"), "end_turn");
}

/// The one skill that the user may start is offered; one that only the model may use is not.
#[test]
fn the_one_skill_of_the_user_is_a_command() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    for (name, more) in [("deploy", "x: y"), ("hidden", "user-invocable: false")] {
        let folder = stage.folder("home/.agents/skills").join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let text = format!("---\ndescription: About {name}\n{more}\n---\nHow to.");
        std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
    }
    let mut client = Client::start(&stage, &model);
    client.session(&stage.root());
    client.until(|client| !client.all("available_commands_update").is_empty());
    let update = &client.all("available_commands_update")[0]["availableCommands"];
    let commands = update.as_array().expect("commands");
    let names: Vec<&Value> = commands.iter().map(|it| &it["name"]).collect();
    assert_eq!(
        names,
        [
            "compact", "revert", "redo", "prompt", "memory", "export", "deploy"
        ]
    );
    assert_eq!(commands[6]["description"], "About deploy");
}

/// A closed session takes no prompt until it is loaded again.
#[test]
fn a_closed_session_takes_no_prompt_until_it_is_loaded() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    client.prompt(&session, "hi");
    let close = json!({ "sessionId": session });
    client.call("session/close", close).expect("closed");
    let prompt = client.start_prompt(&session, "again");
    let refused = client.wait(prompt).expect_err("closed");
    assert_eq!(refused["code"], -32002, "{refused}");
    assert!(refused.to_string().contains("session/load"), "{refused}");
    let load = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
    client.call("session/load", load).expect("open again");
    assert_eq!(client.prompt(&session, "again"), "end_turn");
}

/// What the user typed since the last prompt into a file that the model has read.
#[test]
fn the_model_hears_of_typing_between_two_prompts() {
    let model = Model::start(|request| match request.n {
        0 => Reply::read("a.txt"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\none\n");
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.txt").display().to_string();
    let unsaved = "one\ntwo\n".to_owned();
    client.buffers.insert(path.clone(), unsaved);
    let session = client.session(&stage.root());
    client.prompt(&session, "read it");
    let typed = "one\ntwo\nmarmalade\n".to_owned();
    client.buffers.insert(path, typed);
    client.prompt(&session, "and now?");
    let prompt = model.last().last_user_text();
    assert!(prompt.contains("+marmalade"), "{prompt}");
}

/// ZE-85: a PDF whose bytes come with the prompt, also when the session is loaded again.
#[test]
fn an_embedded_pdf_reaches_the_model_and_is_shown_again() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    let data = "JVBERi0xLjQgcGxhbg==";
    let pdf =
        json!({ "uri": "file:///docs/plan.pdf", "mimeType": "application/pdf", "blob": data });
    let prompt = [json!({ "type": "resource", "resource": pdf })];
    let params = json!({ "sessionId": session, "prompt": prompt });
    client.call("session/prompt", params).expect("an end");
    let content = model.last().messages()[0]["content"].clone();
    assert_eq!(content[0]["title"], "plan.pdf", "{content}");
    assert_eq!(content[0]["source"]["data"], data);
    client.leave();
    let mut client = Client::start(&stage, &model);
    let load = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
    client.call("session/load", load).expect("the session");
    let shown = client.all("user_message_chunk")[0]["content"]["resource"].clone();
    assert_eq!(shown["uri"], "plan.pdf");
    assert_eq!(shown["blob"], data);
}
