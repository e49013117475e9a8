//! MCP servers: a scripted one that behaves or misbehaves.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};

use crate::editor::{Approval, Editor, LIMIT, Reaction};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";

/// An entry of `mcpServers` for the scripted server.
fn server(arguments: &[&str], more: &str) -> String {
    let script = format!(
        "{}/tests/fixtures/mcp/server.py",
        env!("CARGO_MANIFEST_DIR")
    );
    let args: Vec<&str> = [script.as_str()].iter().chain(arguments).copied().collect();
    format!("[mcpServers.s]\ncommand = \"python3\"\nargs = {args:?}\n{more}\n")
}

/// A stage whose user has that server.
pub fn stage(arguments: &[&str], more: &str) -> Stage {
    let stage = Stage::new(TEXT);
    let path = stage.folder("config/interline/config.toml");
    let settings = format!("sandbox.mode = \"off\"\n{}", server(arguments, more));
    std::fs::write(path, settings).expect("settings");
    stage
}

/// Waits until the server is connected, before the first request.
pub const WAIT: &str = "waitMs = 30000";

fn until_state(editor: &mut Editor, wanted: &str) -> Value {
    editor.until(wanted, |editor| {
        let server = editor.status()["mcpServers"][0].clone();
        (server["state"] == wanted).then_some(server)
    })
}

fn echo(text: &str) -> Reply {
    Reply::call("mcp__s__echo", json!({ "text": text }))
}

#[test]
fn a_servers_tool_asks_once_for_the_session_and_its_answer_is_data() {
    let model = Model::steps(vec![echo("one"), echo("two")]);
    let stage = stage(&[], WAIT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::AllowSession]);
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    let subject = &editor.script.asked[0]["subject"];
    assert_eq!(subject["kind"], "mcp");
    assert_eq!(subject["server"], "s");
    assert_eq!(subject["tool"], "echo");
    assert_eq!(subject["arguments"], json!({ "text": "one" }));
    let result = model.last().result();
    assert!(
        result.contains("is data") && result.contains("```text\ntwo\n```"),
        "{result}"
    );
    assert!(
        model
            .request(0)
            .tools()
            .contains(&"mcp__s__echo".to_owned())
    );
    assert!(
        model
            .request(0)
            .last_user_text()
            .contains("Ask for colours.")
    );
}

/// The first request waits for no server, and late tools leave the sent bytes unchanged.
#[test]
fn late_tools_are_announced_and_called_without_a_new_prefix() {
    let through = json!({ "server": "s", "tool": "echo", "arguments": { "text": "hi" } });
    let mut calls = vec![Reply::text("ok"), Reply::call("mcp_call", through)].into_iter();
    let model = Model::start(move |request| {
        calls
            .next()
            .unwrap_or_else(|| Reply::text(&request.result()))
    });
    let gate = tempfile::tempdir().expect("a folder");
    let gate = gate.path().join("open");
    let stage = stage(&["gated", gate.to_str().expect("a path")], "");
    let mut editor = stage.editor(&model);
    editor.run("hello");
    std::fs::create_dir_all(gate.parent().expect("a folder")).expect("a folder");
    std::fs::write(&gate, "").expect("a file");
    until_state(&mut editor, "ready");
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("now");
    assert!(turn.text().contains("hi"), "{}", turn.text());
    let prompt = model.request(1).last_user_text();
    assert!(prompt.contains("Gives back what it gets."), "{prompt}");
    assert_eq!(model.request(0).tools(), model.last().tools());
    assert_eq!(
        model.request(0).body()["tools"],
        model.last().body()["tools"]
    );
}

#[test]
fn a_tool_list_that_changes_during_a_turn_is_announced_after_the_results() {
    let model = Model::steps(vec![
        Reply::call("mcp__s__grow", json!({})),
        Reply::exec("true"),
        Reply::read("a.txt"),
    ]);
    let stage = stage(&[], WAIT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow, Approval::Allow]);
    editor.run("go");
    editor.until("the new list", |editor| {
        let tools = editor.status()["mcpServers"][0]["tools"].to_string();
        tools.contains("\"late\"").then_some(())
    });
    editor.approvals(&[Approval::Allow, Approval::Allow]);
    editor.run("again");
    assert!(model.last().appended_text().contains("Came later."));
    assert_eq!(
        model.request(0).body()["tools"],
        model.last().body()["tools"]
    );
}

/// M01, INV-12.
#[test]
fn a_server_that_never_answers_delays_no_turn_and_is_reported_once() {
    let model = Model::says("ok");
    let stage = stage(&["silent"], "startMs = 100");
    let mut editor = stage.editor(&model);
    assert_eq!(editor.run("one").stop_reason(), "endTurn");
    let server = until_state(&mut editor, "failed");
    assert!(
        server["reason"].to_string().contains("did not answer"),
        "{server}"
    );
    let notices = [editor.run("two"), editor.run("three")].map(|turn| {
        let notices = turn.of("notice").into_iter();
        notices
            .filter(|it| it["text"].to_string().contains("MCP server s"))
            .count()
    });
    assert_eq!(notices, [1, 0]);
}

/// M02: the user's cancel ends the call, not the server.
#[test]
fn a_call_is_cancelled_with_its_turn_and_the_server_stays() {
    let slow = Reply::call("mcp__s__slow", json!({}));
    let mut calls = vec![slow, echo("alive")].into_iter();
    let model = Model::start(move |request| {
        let next = calls.next();
        next.unwrap_or_else(|| Reply::text(&request.result()))
    });
    let stage = stage(&[], &format!("{WAIT}\nallow = [\"*\"]"));
    let mut editor = stage.editor(&model);
    editor.prompt("go");
    editor.wait_event("progress", |it| it["type"] == "toolOutputDelta");
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    let turn = editor.run("second");
    assert!(turn.text().contains("alive"), "{}", turn.text());
}

/// INV-8: a mode refuses calls whose effect is unknown.
#[test]
fn plan_mode_calls_no_server() {
    let model = Model::steps(vec![echo("x")]);
    let stage = stage(&[], &format!("{WAIT}\nallow = [\"*\"]"));
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("plan"));
    assert_eq!(editor.run("go").statuses(), ["rejected"]);
}

/// A27, A28, INV-9.
#[test]
fn inv9_a_workspaces_server_starts_only_once_its_file_is_trusted() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let text = json!({ "mcpServers": { "w": { "command": "touch", "args": ["started"] } } });
    stage.write(".mcp.json", text.to_string());
    let mut editor = stage.editor(&model);
    editor.run("one");
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("interline trust"), "{ignored}");
    assert!(!stage.path("started").exists());
    let hash = crate::fixture::sha256(&text.to_string());
    let file = stage.uri(".mcp.json");
    let trust = json!({ "file": file, "hash": hash, "decision": "trust" });
    editor.request("interline/trust/set", trust);
    editor.run("two");
    editor.until("its start", |_| {
        stage.path("started").exists().then_some(())
    });
}

#[test]
fn what_a_server_asks_is_asked_of_the_user() {
    let model = Model::steps(vec![Reply::call("mcp__s__ask", json!({}))]);
    let stage = stage(&[], WAIT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.reactions(&[Reaction::Says("red")]);
    let turn = editor.run("go");
    assert!(
        turn.text().contains("accept") && turn.text().contains("red"),
        "{}",
        turn.text()
    );
    let question = editor.script.questions[0]["question"].to_string();
    assert!(
        question.contains("The MCP server s asks: Which colour?"),
        "{question}"
    );
}

#[test]
fn a_prompt_and_a_resource_that_the_user_picks_join_the_message() {
    let model = Model::says("ok");
    let stage = stage(&[], WAIT);
    let mut editor = stage.editor(&model);
    let mut params = editor.turn_params("hello");
    let prompt = json!({ "type": "mcpPrompt", "server": "s", "name": "greet", "arguments": { "place": "Ada" } });
    let resource = json!({ "type": "resource", "uri": "mcp:s/note://one" });
    params["input"] = json!([prompt, resource]);
    editor.start(params);
    editor.wait_ended();
    let text = model.last().last_user_text();
    assert!(
        text.contains("Say hello to Ada.") && text.contains("the note's text"),
        "{text}"
    );
}

/// INV-11: a server may take its 20 s over a prompt; the user's cancel does not wait for it.
#[test]
fn inv11_cancel_does_not_wait_for_a_server_s_prompt() {
    let model = Model::says("ok");
    let mark = tempfile::tempdir().expect("a folder");
    let asked = mark.path().join("asked");
    let stage = stage(&["mute", &asked.display().to_string()], WAIT);
    let mut editor = stage.editor(&model);
    let mut params = editor.turn_params("hello");
    let prompt = json!({ "type": "mcpPrompt", "server": "s", "name": "greet", "arguments": { "place": "Ada" } });
    params["input"] = json!([prompt]);
    editor.start(params);
    editor.until("the server to be asked", |_| asked.exists().then_some(()));
    editor.cancel();
    let turn = editor.wait_ended_within(LIMIT);
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(model.count(), 0);
}

#[test]
fn an_image_of_a_server_reaches_a_model_with_eyes() {
    let model = Model::steps(vec![Reply::call("mcp__s__image", json!({}))]);
    let stage = stage(&[], &format!("{WAIT}\nallow = [\"image\"]"));
    let mut editor = stage.editor(&model);
    editor.run("look");
    let body = model.last().body().to_string();
    assert!(
        body.contains("iVBORw0KGgo=") && body.contains("\"type\":\"image\""),
        "{body}"
    );
}

/// INV-11.
#[test]
fn inv11_what_a_server_started_ends_with_the_editor() {
    let model = Model::steps(vec![Reply::call("mcp__s__spawn", json!({}))]);
    let stage = stage(&[], &format!("{WAIT}\nallow = [\"*\"]"));
    let mut editor = stage.editor(&model);
    let text = editor.run("go").text();
    let pid = text
        .lines()
        .find_map(|line| line.parse::<i32>().ok())
        .and_then(Pid::from_raw)
        .expect("a process");
    let process = pidfd_open(pid, PidfdFlags::empty()).expect("the process runs");
    editor.quit();
    let limit = Timespec::try_from(LIMIT).expect("a time");
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit));
    assert_eq!(ended, Ok(1), "it still runs");
}

#[test]
fn what_is_written_is_completed_by_files_prompts_and_their_arguments() {
    let model = Model::says("ok");
    let stage = stage(&[], WAIT);
    let mut editor = stage.editor(&model);
    editor.run("hello");
    let mut labels = |text: &str| -> Vec<String> {
        let params = json!({ "text": text, "offset": text.len() });
        let answer = editor.request("interline/input/complete", params);
        let items = answer["items"].as_array().expect("items").clone();
        let label = |it: &Value| it["label"].as_str().expect("a label").to_owned();
        items.iter().map(label).collect()
    };
    assert_eq!(labels("look at @a."), ["a.txt"]);
    assert_eq!(labels("/s:gr"), ["s:greet"]);
    assert_eq!(labels("/s:greet p"), ["place="]);
    assert_eq!(labels("/s:greet place=A"), ["Ada", "Alan"]);
    assert_eq!(labels("ada@example"), Vec::<String>::new());
}
