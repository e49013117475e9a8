//! Language servers of the user's configuration, for clients that do not answer queries: a scripted
//! one that sees unsaved text, and the real rust-analyzer if it is there.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::acp::client::Client;
use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::terminal::{interline, text};

const TEXT: &str = "//- /a.foo\nfn parse\nparse 1\n//- /b.foo\ncall parse\n";

/// A stage whose user has the scripted server, and the file in which each start leaves a line.
fn stage(mode: &str) -> (Stage, PathBuf) {
    let stage = Stage::new(TEXT);
    let note = stage.folder("tmp/starts");
    configure(&stage, &entry(mode, &note));
    (stage, note)
}

fn entry(mode: &str, note: &std::path::Path) -> String {
    let top = env!("CARGO_MANIFEST_DIR");
    let script = format!("{top}/tests/fixtures/lsp/server.py");
    let note = note.display().to_string();
    let command = ["python3", &script, mode, &note];
    format!("[languageServers.foo]\ncommand = {command:?}\nextensions = [\"foo\"]\n")
}

fn configure(stage: &Stage, text: &str) {
    let path = stage.folder("config/interline/config.toml");
    std::fs::write(path, text).expect("settings");
}

fn lookup(what: &str, path: &str, line: u32, symbol: &str) -> Reply {
    let input = json!({ "what": what, "path": path, "line": line, "symbol": symbol });
    Reply::call("lookup", input)
}

fn plain(stage: &Stage, model: &Model) -> Editor {
    stage.launch(model).profile(Profile::plain()).start()
}

#[test]
fn a_plain_client_gets_answers_from_the_users_server_which_sees_unsaved_text() {
    let (stage, note) = stage("good");
    let model = Model::steps(vec![
        lookup("references", "a.foo", 3, "parse"),
        lookup("hover", "a.foo", 3, "parse"),
    ]);
    let mut editor = plain(&stage, &model);
    editor.open("a.foo");
    editor.prepend("a.foo", "// 🦀 unsaved\n");
    editor.run("who calls it?");
    let result = model.request(1).result();
    let lines = "a.foo:2:fn parse\na.foo:3:parse 1\nb.foo:1:call parse";
    assert_eq!(result, lines);
    assert!(model.last().result().contains("the word `parse`"));
    let starts = std::fs::read_to_string(note).expect("starts");
    assert_eq!(starts, "start\n", "started once, by the first question");
}

#[test]
fn run_asks_the_users_server() {
    let (stage, _) = stage("indexing");
    let model = Model::steps(vec![lookup("definition", "b.foo", 1, "parse")]);
    let output = interline(&stage, &model.url(), &["run", "--trust", "look"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(model.last().result(), "a.foo:1:fn parse");
}

#[test]
fn an_acp_client_gets_answers_about_its_unsaved_buffer() {
    let (stage, _) = stage("good");
    let model = Model::steps(vec![lookup("definition", "a.foo", 3, "parse")]);
    let mut client = Client::start(&stage, &model);
    let path = stage.path("a.foo").display().to_string();
    let unsaved = "// unsaved\nfn parse\nparse 1\n";
    client.buffers.insert(path, unsaved.to_owned());
    let session = client.session(&stage.root());
    client.prompt(&session, "look");
    assert_eq!(model.last().result(), "a.foo:2:fn parse");
}

#[test]
fn a_server_that_ends_is_reported_in_a_sentence_and_started_again() {
    let (stage, note) = stage("crash");
    let model = Model::steps(vec![
        lookup("hover", "a.foo", 1, "parse"),
        lookup("hover", "a.foo", 1, "parse"),
    ]);
    let mut editor = plain(&stage, &model);
    editor.run("look");
    let first = model.request(1).result();
    assert!(first.contains("exit code 7"), "{first}");
    assert!(
        first.contains("the next question starts it again"),
        "{first}"
    );
    assert!(model.last().result().contains("the word `parse`"));
    let starts = std::fs::read_to_string(note).expect("starts");
    assert_eq!(starts, "start\nstart\n");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let (stage, _) = stage("dead");
    let model = Model::steps(vec![lookup("hover", "a.foo", 1, "parse")]);
    plain(&stage, &model).run("look");
    let result = model.last().result();
    assert!(result.contains("exit code 3 (no licence)"), "{result}");
}

/// INV-9: a program that is started is the user's choice.
#[test]
fn inv9_a_repositorys_settings_start_no_language_server() {
    let stage = Stage::new(TEXT);
    let note = stage.folder("tmp/starts");
    stage.write(".interline/config.toml", entry("good", &note));
    let model = Model::says("ok");
    let entry = json!({ "foo": { "command": ["touch", note], "extensions": ["foo"] } });
    let profile = Profile::plain();
    let launch = stage.launch(&model).profile(profile);
    let mut editor = launch.setting("languageServers", entry).start();
    editor.allow("languageServers");
    editor.run("look");
    assert!(!model.last().tools().contains(&"lookup".to_owned()));
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("languageServers"), "{ignored}");
    assert!(!note.exists());
}

#[test]
fn doctor_lists_configured_servers_and_those_that_it_finds() {
    let (stage, _) = stage("good");
    let bin = stage.folder("home/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let model = Model::says("ok");
    let program = bin.join("gopls");
    std::fs::write(&program, "#!/bin/sh\n").expect("a program");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("executable");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    let output = Command::new(env!("CARGO_BIN_EXE_interline"))
        .arg("doctor")
        .env_clear()
        .envs(stage.environment(&model.url()))
        .env("PATH", path)
        .current_dir(stage.root())
        .output()
        .expect("an end");
    let said = text(&output);
    assert!(said.contains("language server foo: python3"), "{said}");
    assert!(said.contains("gopls"), "{said}");
    assert!(said.contains("languageServers.go"), "{said}");
}
/// The server's versions are its own; the edits land in the buffer and on disk.
#[test]
fn a_plain_client_renames_by_the_users_server_in_unsaved_text() {
    let (stage, _) = stage("good");
    let rename = json!({ "path": "a.foo", "line": 3, "symbol": "parse", "new_name": "scan" });
    let shout = json!({ "path": "b.foo", "line": 1, "title": "Shout call" });
    let model = Model::steps(vec![
        Reply::call("rename_symbol", rename),
        Reply::call("code_action", shout),
    ]);
    let mut editor = plain(&stage, &model);
    editor.open("a.foo");
    editor.prepend("a.foo", "// 🦀 unsaved\n");
    let turn = editor.run("call it scan");
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.foo"), "// 🦀 unsaved\nfn scan\nscan 1\n");
    assert_eq!(editor.text("b.foo"), "CALL scan\n");
}

/// How long rust-analyzer may need on a busy machine.
const INDEXED: Duration = Duration::from_secs(120);

/// A stage with rust-analyzer and a model that calls until there is an answer; `None` with a
/// printed reason if it is not installed.
fn with_rust_analyzer(call: fn() -> Reply) -> Option<(Stage, Model)> {
    let found = Command::new("rust-analyzer").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: rust-analyzer is not installed (rustup component add rust-analyzer)");
        return None;
    }
    let stage = Stage::new(
        "//- /Cargo.toml\n[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         //- /src/lib.rs\nmod other;\npub fn parse() {}\n\
         //- /src/other.rs\nfn call() { crate::parse() }\n",
    );
    configure(
        &stage,
        "[languageServers.rust]\ncommand = [\"rust-analyzer\"]\n",
    );
    let model = Model::start(move |request| match request.result() {
        result if result.to_lowercase().contains("ask again later") || result.is_empty() => call(),
        result => Reply::text(&result),
    });
    Some((stage, model))
}

/// With `src/lib.rs` open and one unsaved line at its beginning.
fn rust_editor(stage: &Stage, model: &Model) -> Editor {
    let launch = stage.launch(model).profile(Profile::plain());
    let home = std::env::var("HOME").unwrap_or_default();
    let rustup = std::env::var("RUSTUP_HOME").unwrap_or(format!("{home}/.rustup"));
    let cargo = std::env::var("CARGO_HOME").unwrap_or(format!("{home}/.cargo"));
    let launch = launch.var("RUSTUP_HOME", &rustup).var("CARGO_HOME", &cargo);
    let mut editor = launch.start();
    editor.open("src/lib.rs");
    editor.prepend("src/lib.rs", "// unsaved\n");
    editor
}

/// While it starts or indexes, the result says to ask again.
#[test]
fn rust_analyzer_answers_from_unsaved_text() {
    let call = || lookup("references", "src/lib.rs", 3, "parse");
    let Some((stage, model)) = with_rust_analyzer(call) else {
        return;
    };
    let mut editor = rust_editor(&stage, &model);
    editor.prompt("who calls it?");
    let said = editor.wait_ended_within(INDEXED).text();
    assert!(said.contains("src/lib.rs:3:pub fn parse() {}"), "{said}");
    let used = "src/other.rs:1:fn call() { crate::parse() }";
    assert!(said.contains(used), "{said}");
}

#[test]
fn rust_analyzer_renames_in_two_files_one_of_them_unsaved() {
    let call = || {
        let input = json!({ "path": "src/lib.rs", "line": 3, "symbol": "parse",
            "new_name": "scan" });
        Reply::call("rename_symbol", input)
    };
    let Some((stage, model)) = with_rust_analyzer(call) else {
        return;
    };
    let mut editor = rust_editor(&stage, &model);
    editor.prompt("call it scan");
    editor.wait_ended_within(INDEXED);
    let text = "// unsaved\nmod other;\npub fn scan() {}\n";
    assert_eq!(editor.text("src/lib.rs"), text);
    assert_eq!(editor.text("src/other.rs"), "fn call() { crate::scan() }\n");
}
