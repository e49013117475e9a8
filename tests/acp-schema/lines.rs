//! Every line that the stories of `cargo test --test e2e` received over ACP, against the published
//! types of the protocol. A package of its own: the types and their validator enable features of
//! crates that the program uses too.

mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use schema::wrong;

/// What protocol.md says that `interline acp` sends: each must be among the lines.
const CALLS: [&str; 6] = [
    "elicitation/create",
    "session/update",
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "$/cancel_request",
];
/// What it says that `interline acp` answers with a result.
const ANSWERS: [&str; 13] = [
    "logout",
    "session/fork",
    "initialize",
    "authenticate",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/set_mode",
    "session/set_config_option",
];

fn folder() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acp-lines");
    place.join(format!("interline{}", std::env::consts::EXE_SUFFIX))
}

/// Lines of a program that no longer exists would prove nothing.
fn assert_fresh() {
    let about = folder().join("program.json");
    let about = fs::read_to_string(&about).unwrap_or_else(|error| {
        panic!(
            "{}: {error}: run `cargo test --test e2e` first",
            about.display()
        )
    });
    let about: Value = serde_json::from_str(&about).expect("JSON");
    let program = about["program"].as_str().expect("a path");
    let built = fs::metadata(program).and_then(|facts| facts.modified());
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).expect("a time");
    let built = built.map(|time| since(time).as_nanos().to_string());
    assert!(
        built.is_ok_and(|built| about["built"] == built.as_str()),
        "{program} was built again since: run `cargo test --test e2e` first"
    );
}

/// (story and line, the method that it answers, the message)
fn lines() -> Vec<(String, Option<String>, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let story = path.file_stem().unwrap_or_default().display();
        let text = fs::read_to_string(&path).expect("a text");
        for (n, line) in text.lines().enumerate() {
            let place = format!("{story}, line {}", n + 1);
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            let request = line["request"].as_str().map(str::to_owned);
            found.push((place, request, line["message"].take()));
        }
    }
    found
}

#[test]
fn every_line_of_the_stories_is_what_the_protocol_says() {
    assert_fresh();
    let mut findings = Vec::new();
    for (place, request, message) in lines() {
        for wrong in wrong(&message, request.as_deref()) {
            findings.push(format!("{place}: {wrong}\n    {message}"));
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn the_stories_see_every_method_of_the_protocol() {
    assert_fresh();
    let mut seen = BTreeSet::new();
    for (_, request, message) in lines() {
        let call = message["method"].as_str().map(str::to_owned);
        seen.extend(call.or(request.filter(|_| message.get("result").is_some())));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../protocol.md");
    let page = fs::read_to_string(page).expect("the page");
    for method in CALLS.iter().chain(&ANSWERS) {
        let name = method.trim_start_matches("session/");
        assert!(
            page.contains(&format!("{name}`")),
            "{method} is not in protocol.md"
        );
        assert!(seen.contains(*method), "no story saw {method}: {seen:?}");
    }
}

#[test]
fn the_check_finds_what_the_protocol_does_not_know() {
    let update = |update: Value| {
        serde_json::json!({ "jsonrpc": "2.0", "method": "session/update",
            "params": { "sessionId": "s", "update": update } })
    };
    let good = serde_json::json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T",
        "kind": "edit", "status": "pending",
        "content": [{ "type": "diff", "path": "/a", "oldText": null, "newText": "x" }] });
    assert_eq!(wrong(&update(good.clone()), None), Vec::<String>::new());
    for (key, value) in [
        ("kind", "editing"),
        ("toolcallid", "t"),
        ("sessionUpdate", "tool_calls"),
    ] {
        let mut bad = good.clone();
        bad[key] = value.into();
        assert!(!wrong(&update(bad), None).is_empty(), "{key}");
    }
    let answer = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "ok" } });
    assert!(!wrong(&answer, Some("session/prompt")).is_empty());
    assert!(!wrong(&answer, None).is_empty());
}
