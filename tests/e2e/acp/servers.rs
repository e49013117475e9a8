//! MCP servers that the client names for a session, pictures and files.

use std::time::Instant;

use serde_json::{Value, json};

use super::ALLOW;
use super::client::Client;
use crate::editor::LIMIT;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

/// The scripted server as clients name it.
fn scripted(name: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/server.py");
    json!({ "name": name, "command": "/usr/bin/env", "args": ["python3", script],
        "env": [{ "name": "OWN", "value": "${HOME}" }] })
}

fn session(client: &mut Client, stage: &Stage, servers: Value) -> String {
    let params = json!({ "cwd": stage.root(), "mcpServers": servers });
    let new = client.call("session/new", params).expect("a session");
    new["sessionId"].as_str().expect("an id").to_owned()
}

/// Calls the tool once its description was sent, else says ok.
fn calls(tool: &'static str, arguments: Value) -> Model {
    let through = json!({ "server": "ed", "tool": tool, "arguments": arguments });
    Model::start(move |request| match request.results().is_empty() {
        true if request.raw_text().contains("Gives back what it gets.") => {
            Reply::call("mcp_call", through.clone())
        }
        true => Reply::text("ok"),
        false => Reply::text(&request.result()),
    })
}

/// Prompts until the agent says something, because no turn waits for a server.
fn prompt_until(client: &mut Client, session: &str, wanted: &str) {
    let end = Instant::now() + LIMIT;
    while !client.agent_text(session).contains(wanted) {
        assert!(Instant::now() < end, "{}", client.agent_text(session));
        client.user.push_back(ALLOW);
        client.prompt(session, "go on");
    }
}

#[test]
fn a_server_of_the_client_is_connected_for_its_session_alone() {
    let model = calls("echo", json!({ "text": "from the editor" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let with = session(&mut client, &stage, json!([scripted("ed")]));
    prompt_until(&mut client, &with, "from the editor");
    assert_eq!(client.permissions.len(), 1, "each call asks");
    let without = client.session(&stage.root());
    client.prompt(&without, "and here?");
    let tools = model.last().tools();
    assert!(!tools.iter().any(|tool| tool.contains("mcp")), "{tools:?}");
}

/// A client's values are literal: `${HOME}` is not expanded.
#[test]
fn a_server_of_the_client_gets_its_own_variables_and_no_others() {
    let model = calls("env", json!({}));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let id = session(&mut client, &stage, json!([scripted("ed")]));
    prompt_until(&mut client, &id, "OWN");
    let answer = client.agent_text(&id);
    assert!(!answer.contains("ANTHROPIC"), "{answer}");
}

#[test]
fn a_server_behind_an_address_gets_the_client_s_headers() {
    use std::io::BufRead as _;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/address.py");
    let mut child = std::process::Command::new("python3")
        .arg(script)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("python3");
    let mut port = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("its output"));
    out.read_line(&mut port).expect("a port");
    let server = json!({ "type": "http", "name": "ed",
        "url": format!("http://127.0.0.1:{}/mcp", port.trim()),
        "headers": [{ "name": "Authorization", "value": "Bearer tok-123456" }] });
    let through = json!({ "server": "ed", "tool": "echo", "arguments": { "text": "over http" } });
    let model = Model::start(move |request| match request.results().is_empty() {
        true if request.raw_text().contains("Echoes.") => Reply::call("mcp_call", through.clone()),
        true => Reply::text("ok"),
        false => Reply::text(&request.result()),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let id = session(&mut client, &stage, json!([server]));
    prompt_until(&mut client, &id, "over http");
    assert!(!model.last().raw_text().contains("tok-123456"));
    drop(child.stdin.take());
    child.wait().expect("its end");
}

#[test]
fn unusable_servers_are_reported_at_the_first_prompt() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let old = json!({ "type": "sse", "name": "old", "url": "http://127.0.0.1:9/", "headers": [] });
    let odd = json!({ "name": "odd/name", "command": "x", "args": [], "env": [] });
    let gone = json!({ "name": "gone", "command": "/no/such/program", "args": [], "env": [] });
    let id = session(&mut client, &stage, json!([old, odd, gone, gone]));
    assert_eq!(client.prompt(&id, "hi"), "end_turn");
    let answer = client.agent_text(&id);
    for words in [
        "server old is not used: the old HTTP+SSE",
        "server odd/name is not used: a name must have",
        "server gone is not used: it is listed twice",
        "MCP server gone is unavailable: the program",
    ] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    assert!(answer.ends_with("hello"), "{answer}");
}

#[test]
fn a_reopened_session_has_the_servers_that_are_named_then() {
    let model = calls("echo", json!({ "text": "pomegranate" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    let id = session(&mut client, &stage, json!([scripted("ed")]));
    prompt_until(&mut client, &id, "pomegranate");
    let asked = client.permissions.len();
    let close = json!({ "sessionId": id });
    client.call("session/close", close).expect("closed");
    let params = json!({ "sessionId": id, "cwd": stage.root(), "mcpServers": [scripted("ed")] });
    client.call("session/load", params).expect("opened");
    client.updates.clear();
    prompt_until(&mut client, &id, "pomegranate");
    assert!(client.permissions.len() > asked, "it was called again");
}

/// A dot of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn pictures_and_files_are_shown_in_the_agent_s_message() {
    let model = Model::steps(vec![
        Reply::call(
            "show_image",
            json!({ "path": "dot.png", "caption": "A dot" }),
        ),
        Reply::call("send_file", json!({ "path": "out.csv" })),
    ]);
    let stage = Stage::new("//- /out.csv\na,b\n");
    stage.write("dot.png", PNG);
    let mut client = Client::start(&stage, &model);
    client.user.extend([ALLOW, ALLOW]);
    let id = client.session(&stage.root());
    assert_eq!(client.prompt(&id, "show me"), "end_turn");
    let chunks = client.all("agent_message_chunk");
    let of = |kind: &str| {
        let found = chunks.iter().find(|it| it["content"]["type"] == kind);
        found.map(|it| it["content"].clone()).expect("a block")
    };
    assert_eq!(of("image")["mimeType"], "image/png");
    let link = of("resource_link");
    assert_eq!(
        (&link["name"], &link["size"]),
        (&json!("out.csv"), &json!(4))
    );
}
