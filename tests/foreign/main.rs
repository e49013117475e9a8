//! Stories with MCP servers that are not ours: the reference servers of npm and PyPI, at pinned
//! versions, which `scripts/mcp-servers.sh` puts into a folder. `cargo test` leaves these out;
//! `scripts/test mcp` runs them with `MCP_SERVERS` as that folder.

#[path = "../e2e"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the harness of the stories in tests/e2e, of which these use a part"
)]
mod harness {
    pub mod editor;
    pub mod fixture;
    pub mod model;
    pub mod text;
}

use std::path::PathBuf;

use harness::{editor, fixture, model, text};
use serde_json::{Value, json};

use editor::{Approval, Editor, Reaction};
use fixture::Stage;
use model::{Model, Reply};

/// Where the servers are.
fn folder() -> PathBuf {
    PathBuf::from(std::env::var("MCP_SERVERS").expect("MCP_SERVERS, as scripts/test sets it"))
}

fn everything() -> String {
    let program = folder().join("node_modules/.bin/mcp-server-everything");
    program.display().to_string()
}

/// A stage whose user has these servers, each waited for.
fn stage(servers: &str) -> Stage {
    let stage = Stage::new("//- /a.txt\nx\n");
    let path = stage.folder("config/interline/config.toml");
    std::fs::write(path, servers).expect("settings");
    stage
}

fn stdio(allow: &str) -> Stage {
    stage(&format!(
        "[mcpServers.all]\ncommand = {:?}\nargs = [\"stdio\"]\nwaitMs = 60000\nallow = [{allow:?}]\n",
        everything()
    ))
}

fn server(editor: &mut Editor) -> Value {
    editor.status()["mcpServers"][0].clone()
}

#[test]
fn the_reference_server_offers_tools_prompts_and_resources() {
    let echo = Reply::call("mcp__all__echo", json!({ "message": "hello there" }));
    let model = Model::steps(vec![echo]);
    let stage = stdio("none");
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("go");
    assert!(turn.text().contains("hello there"), "{}", turn.text());
    let server = server(&mut editor);
    assert_eq!(server["state"], "ready", "{server}");
    for kind in ["tools", "prompts", "resources"] {
        assert!(
            server[kind].as_array().is_some_and(|it| !it.is_empty()),
            "{kind}: {server}"
        );
    }
}

#[test]
fn its_image_its_long_work_and_its_error_arrive() {
    let long = json!({ "duration": 1, "steps": 2 });
    let model = Model::steps(vec![
        Reply::call("mcp__all__get-tiny-image", json!({})),
        Reply::call("mcp__all__trigger-long-running-operation", long),
        Reply::call("mcp__all__get-sum", json!({ "a": "no number" })),
    ]);
    let stage = stdio("*");
    let mut editor = stage.editor(&model);
    let turn = editor.run("go");
    assert_eq!(
        turn.statuses(),
        ["completed", "completed", "failed"],
        "{:?}",
        turn.calls()
    );
    assert!(!turn.of("toolOutputDelta").is_empty(), "no progress");
    assert!(
        model
            .last()
            .body()
            .to_string()
            .contains("\"type\":\"image\"")
    );
}

#[test]
fn its_question_is_the_users() {
    let model = Model::steps(vec![Reply::call(
        "mcp__all__trigger-elicitation-request",
        json!({}),
    )]);
    let stage = stdio("*");
    let mut editor = stage.editor(&model);
    editor.reactions(&[Reaction::Declines]);
    let turn = editor.run("go");
    assert!(turn.text().contains("decline"), "{}", turn.text());
    let question = editor.script.questions[0]["question"].to_string();
    assert!(question.contains("The MCP server all asks"), "{question}");
}

#[test]
fn a_prompt_and_a_resource_of_it_join_the_message() {
    let model = Model::says("ok");
    let stage = stdio("none");
    let mut editor = stage.editor(&model);
    editor.run("first");
    let server = server(&mut editor);
    let uri = server["resources"][0]["uri"]
        .as_str()
        .expect("a resource")
        .to_owned();
    let mut params = editor.turn_params("hello");
    let prompt =
        json!({ "type": "mcpPrompt", "server": "all", "name": "simple-prompt", "arguments": {} });
    let resource = json!({ "type": "resource", "uri": format!("mcp:all/{uri}") });
    params["input"] = json!([prompt, resource]);
    editor.start(params);
    editor.wait_ended();
    let text = model.last().last_user_text();
    assert!(
        text.contains("simple prompt") && text.contains(&uri),
        "{text}"
    );
}

#[test]
fn the_same_server_behind_an_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let mut served = std::process::Command::new(everything())
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the server");
    let echo = Reply::call("mcp__all__echo", json!({ "message": "over http" }));
    let model = Model::steps(vec![echo]);
    let stage = stage(&format!(
        "[mcpServers.all]\nurl = \"http://127.0.0.1:{port}/mcp\"\nwaitMs = 60000\nallow = [\"*\"]\n"
    ));
    let mut editor = stage.editor(&model);
    // It is tried again until the port is open.
    editor.run("first");
    editor.until("the server", |editor| {
        (server(editor)["state"] == "ready").then_some(())
    });
    editor.new_session(json!({}));
    model.allow_new_epoch();
    let turn = editor.run("go");
    let _ = served.kill().and_then(|()| served.wait());
    assert!(turn.text().contains("over http"), "{}", turn.text());
}

#[test]
fn a_server_written_in_python_tells_the_time() {
    let input = json!({ "timezone": "Asia/Kathmandu" });
    let model = Model::steps(vec![Reply::call("mcp__time__get_current_time", input)]);
    let program = folder().join("python/bin/mcp-server-time");
    let stage = stage(&format!(
        "[mcpServers.time]\ncommand = {program:?}\nwaitMs = 60000\nallow = [\"*\"]\n"
    ));
    let mut editor = stage.editor(&model);
    let turn = editor.run("what time is it?");
    assert!(turn.text().contains("Asia/Kathmandu"), "{}", turn.text());
}
