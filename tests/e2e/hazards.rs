//! What must not end the server, and what must.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::process::until_dead;
use crate::editor::{Approval, Editor, LIMIT};
use crate::fixture::{Stage, sha256};
use crate::model::{Gate, Model, Reply};

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends raw bytes, then a frame that may be swallowed, then a request.
fn survives(editor: &mut Editor, what: &str, bytes: &[u8]) {
    editor.process.send_raw(bytes);
    let filler = json!({ "jsonrpc": "2.0", "method": "$/story", "params": "x".repeat(400) });
    editor.process.send(&filler);
    let status = editor.status();
    assert!(status["documents"].is_array(), "{what}: {status}");
}

// tidy: long because it is one table
fn bad_frames() -> Vec<(&'static str, Vec<u8>)> {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/x\",\"params\":{deep}}}");
    let note = br#"{"jsonrpc":"2.0","method":"$/x"}"#;
    let with = |head: &str, body: &[u8]| [head.as_bytes(), b"\r\n\r\n", body].concat();
    let n = note.len();
    vec![
        ("malformed JSON", framed(b"{\"jsonrpc\":")),
        ("a number", framed(b"42")),
        ("an empty object", framed(b"{}")),
        (
            "a batch",
            framed(b"[{\"jsonrpc\":\"2.0\",\"method\":\"$/x\"}]"),
        ),
        (
            "invalid UTF-8",
            framed(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}"),
        ),
        (
            "a BOM",
            framed(&[b"\xef\xbb\xbf".as_slice(), note].concat()),
        ),
        (
            "a float id",
            framed(b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}"),
        ),
        (
            "1e999",
            framed(b"{\"jsonrpc\":\"2.0\",\"method\":\"$/x\",\"params\":[1e999]}"),
        ),
        ("deep nesting", framed(deep.as_bytes())),
        ("an empty body", framed(b"")),
        (
            "a lower-case header",
            with(&format!("content-length: {n}"), note),
        ),
        (
            "no space after the colon",
            with(&format!("Content-Length:{n}"), note),
        ),
        (
            "a content type",
            with(
                &format!(
                    "Content-Type: application/vscode-jsonrpc; charset=\"utf-8\"\r\nContent-Length: {n}"
                ),
                note,
            ),
        ),
        (
            "three headers",
            with(&format!("A: b\r\nContent-Length: {n}\r\nC: d"), note),
        ),
        ("no length", with("Content-Type: x", note)),
        ("a negative length", with("Content-Length: -5", note)),
        ("a wordy length", with("Content-Length: many", note)),
        (
            "a small length",
            with(&format!("Content-Length: {}", n - 7), note),
        ),
        (
            "a big length",
            with(&format!("Content-Length: {}", n + 90), note),
        ),
        (
            "an absurd length",
            with("Content-Length: 100000000000000", note),
        ),
        ("blank lines", b"\r\n\r\n\n\n".to_vec()),
        ("garbage", b"what is this?\n".to_vec()),
        (
            "an answer to nothing",
            framed(b"{\"jsonrpc\":\"2.0\",\"id\":977,\"result\":1}"),
        ),
    ]
}

#[test]
fn bad_frames_leave_the_server_alive() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    // Error answers without an id are what such frames get.
    editor.allow("an answer to nothing");
    for (what, bytes) in bad_frames() {
        survives(&mut editor, what, &bytes);
    }
    assert_eq!(editor.run("still there?").text(), "ok");
}

/// E01: one byte at a time, two frames in one write.
#[test]
fn frames_may_arrive_in_any_pieces() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    let note = framed(br#"{"jsonrpc":"2.0","method":"$/x"}"#);
    for byte in &note {
        editor.process.send_raw(&[*byte]);
    }
    editor.process.send_raw(&[note.clone(), note].concat());
    editor.settle();
}

/// As P15, from the client: legal in JavaScript, sent by UTF-16 editors.
#[test]
fn a_lone_surrogate_becomes_a_replacement_character() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    let uri = editor.uri("b.txt");
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{uri}","languageId":"x","version":1,"text":"a\udc00b"}}}}}}"#
    );
    editor.process.send_raw(&framed(body.as_bytes()));
    assert_eq!(
        editor.document("b.txt")["hash"],
        sha256("a\u{fffd}b").as_str()
    );
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{uri}","version":2}},"contentChanges":[{{"range":{{"start":{{"line":0,"character":3}},"end":{{"line":0,"character":3}}}},"text":"\ud83d"}}]}}}}"#
    );
    editor.process.send_raw(&framed(body.as_bytes()));
    let shown = editor.document("b.txt");
    assert_eq!(shown["hash"], sha256("a\u{fffd}b\u{fffd}").as_str());
    assert_eq!(shown["synced"], true, "{shown}");
}

#[test]
fn ten_thousand_changes_in_a_burst_keep_their_order() {
    let stage = Stage::new("//- /a.txt\n\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    for n in 0..10_000 {
        editor.prepend("a.txt", if n % 80 == 79 { "\n" } else { "ab" });
    }
    editor.compare();
}

/// E10, E11: a mirror that lost track takes no edit until didOpen or a full text heals it.
#[test]
fn a_document_out_of_sync_is_not_edited_until_it_is_healed() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut editor = stage.editor(&model);
    let uri = editor.open("a.txt");
    let place = |line: u32| json!({ "line": line, "character": 0 });
    let change = |version: i32, change: Value| json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] });
    let range = json!({ "start": place(90), "end": place(91) });
    let broken = change(2, json!({ "range": range, "text": "?" }));
    editor.notify("textDocument/didChange", broken);
    assert_eq!(editor.document("a.txt")["synced"], false);
    assert_ne!(editor.run("go").statuses().last(), Some(&"completed"));
    assert!(editor.script.edits.is_empty());
    let healed = change(9, json!({ "text": "one\ntwo\n" }));
    editor.notify("textDocument/didChange", healed);
    assert_eq!(editor.document("a.txt")["synced"], true);
}

#[test]
fn a_big_document_is_mirrored() {
    let stage = Stage::new("");
    stage.write("big.txt", "0123456789abcde\n".repeat(500_000));
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    editor.open("big.txt");
    editor.prepend("big.txt", "x");
    editor.compare();
}

/// E04.
#[test]
fn requests_at_the_wrong_time_are_refused() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.launch(&model).silent();
    assert_eq!(
        editor.refused("interline/status", json!({}))["code"],
        -32002
    );
    let folder = stage.uri("");
    let params = json!({ "processId": null, "rootUri": folder, "capabilities": {} });
    editor.handshake(params.clone());
    assert_eq!(editor.refused("initialize", params)["code"], -32600);
    assert_eq!(editor.refused("no/such/method", json!({}))["code"], -32601);
    editor.request("shutdown", Value::Null);
    assert_eq!(
        editor.refused("interline/status", json!({}))["code"],
        -32600
    );
    editor.notify("exit", Value::Null);
    assert_eq!(editor.process.wait(LIMIT), 0);
}

#[test]
fn exit_without_shutdown_is_code_one() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.process.wait(LIMIT), 1);
}

/// A turn that hangs in its stream, with a command's process below it.
fn busy(stage: &Stage, model: &Model, process_id: u32) -> (Editor, u32) {
    let mut editor = stage.launch(model).process_id(process_id).start();
    editor.approvals(&[Approval::Allow]);
    editor.prompt("wait");
    let pid = editor.until("the command", |_| stage.number("pid"));
    (editor, pid)
}

const SLEEP: &str = "sleep 300 & echo $! > pid.tmp; mv pid.tmp pid; wait";

/// E05.
#[test]
fn the_end_of_input_ends_the_server_and_its_commands() {
    let model = Model::calls("exec", json!({ "command": SLEEP }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let (mut editor, pid) = busy(&stage, &model, std::process::id());
    editor.process.close_stdin();
    editor.process.wait(LIMIT);
    until_dead(pid);
}

/// E05, d3: the pipe stays open in another process, yet the parent is gone.
#[test]
fn the_death_of_the_parent_ends_the_server_and_its_commands() {
    let mut parent = Command::new("sleep")
        .arg("300")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let model = Model::calls("exec", json!({ "command": SLEEP }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let (mut editor, pid) = busy(&stage, &model, parent.id());
    parent.kill().unwrap();
    parent.wait().unwrap();
    editor.process.wait(LIMIT);
    until_dead(pid);
}

#[test]
fn a_stream_that_hangs_does_not_delay_the_exit() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("never").after(&held));
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    editor.prompt("wait");
    editor.until_asked(&model, 1);
    assert_eq!(editor.quit(), 0);
    assert!(!gate.is_open());
}

/// E07: exactly one answer, and an early cancel is not lost.
#[test]
fn a_storm_of_cancels_gets_one_answer_each() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    for _ in 0..50 {
        let id = editor.ask("interline/status", json!({}));
        editor.notify("$/cancelRequest", json!({ "id": id }));
        editor.notify("$/cancelRequest", json!({ "id": id }));
        let _ = editor.answer(id);
    }
    editor.settle();
}

/// g7: such URIs are mirrored or ignored, never fatal.
#[test]
fn odd_uris_are_no_danger() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    for uri in [
        "file://",
        "",
        "/plain/path",
        "file:///a b.rs",
        "C:\\x",
        "file:///%zz",
        "git:/x",
    ] {
        let document = json!({ "uri": uri, "languageId": "x", "version": 1, "text": "t" });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        editor.settle();
    }
    assert_eq!(editor.run("hi").text(), "ok");
}

/// X02: a flood of output costs head, tail and a capped file, not its size in memory.
#[test]
fn x02_a_flood_leaves_memory_flat() {
    let command = "head -c 300000000 /dev/zero | tr '\\0' 'x'";
    let model = Model::calls("exec", json!({ "command": command }));
    let stage = Stage::new("//- /a.txt\na\n");
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("flood");
    let turn = editor.wait_ended_within(Duration::from_secs(60));
    assert_eq!(turn.statuses(), ["completed"]);
    let peak = editor.process.peak_memory();
    assert!(peak < 150_000, "{peak} KiB at the peak");
}
