//! Keys: the login in a terminal that a client opens, and the logout.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::client::Client;
use crate::editor::process::Process;
use crate::fixture::{KEY, Stage};
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";

/// The environment of a stage whose user has no key yet.
fn without_key(stage: &Stage, model: &Model) -> Vec<(String, String)> {
    let mut environment = stage.environment(&model.url());
    environment.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    environment
}

/// What a client runs in a terminal: its own command and the method's arguments.
fn login(environment: &[(String, String)], arguments: &[&str], typed: &str) -> bool {
    let arguments = [&["acp"], arguments].concat();
    type_key(environment, &arguments, typed).status.success()
}

/// Runs the program with what the user types.
fn type_key(environment: &[(String, String)], arguments: &[&str], typed: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interline"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut terminal = child.stdin.take().expect("its input");
    terminal.write_all(typed.as_bytes()).expect("keys");
    drop(terminal);
    child.wait_with_output().expect("its end")
}

#[test]
fn a_login_in_a_terminal_gives_the_agent_a_key_until_the_logout() {
    let (model, stage) = (Model::says("hello"), Stage::new(TEXT));
    let environment = without_key(&stage, &model);
    let process = Process::start_lines(&["acp"], &environment, &stage.root());
    let mut client = Client::of(process);
    let hello = client.initialize(json!({ "auth": { "terminal": true } }));
    let method = &hello["authMethods"][1];
    assert_eq!(method["type"], "terminal");
    assert_eq!(method["args"], json!(["--login"]));
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "hi");
    assert_eq!(client.wait(prompt).expect_err("no key")["code"], -32000);
    assert!(
        !login(&environment, &["--login"], "anthropic\n\n"),
        "nothing was entered"
    );
    assert!(login(
        &environment,
        &["--login"],
        &format!("anthropic\n{KEY}\n")
    ));
    assert_eq!(client.prompt(&session, "hi"), "end_turn");
    client.call("logout", json!({})).expect("logged out");
    let prompt = client.start_prompt(&session, "hi");
    assert_eq!(client.wait(prompt).expect_err("no key")["code"], -32000);
}

#[test]
fn a_logout_names_the_key_that_it_cannot_delete() {
    let (model, stage) = (Model::says("hello"), Stage::new(TEXT));
    let mut client = Client::spawn(&stage, &model);
    let hello = client.initialize(json!({}));
    assert_eq!(hello["authMethods"].as_array().map(Vec::len), Some(1));
    assert_eq!(hello["agentCapabilities"]["auth"]["logout"], json!({}));
    let refused = client.call("logout", json!({})).expect_err("a variable");
    assert!(
        refused["message"].to_string().contains("anthropic"),
        "{refused}"
    );
}

/// The key in use before stays.
#[test]
fn a_key_that_the_provider_refuses_is_reported_and_not_stored() {
    let model = Model::start(|_| Reply::unauthorized());
    let stage = Stage::new(TEXT);
    let environment = without_key(&stage, &model);
    for arguments in [&["login", "anthropic"][..], &["acp", "--login"]] {
        let provider = if arguments[0] == "acp" {
            "anthropic\n"
        } else {
            ""
        };
        let output = type_key(&environment, arguments, &format!("{provider}{KEY}\n"));
        assert!(!output.status.success());
        let error = String::from_utf8_lossy(&output.stderr);
        let refused = "anthropic refused the key, so it was not stored. Check it, and try again";
        assert!(error.contains(refused), "{error}");
        assert!(!error.contains(KEY), "{error}");
    }
    assert_eq!(model.count(), 2);
    let listed = type_key(&environment, &["login"], "");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(!listed.contains("has a key"), "{listed}");
}

#[test]
fn a_key_is_stored_where_the_provider_cannot_be_reached() {
    let stage = Stage::new(TEXT);
    let mut environment = stage.environment("http://127.0.0.1:1");
    environment.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    let output = type_key(&environment, &["login", "anthropic"], &format!("{KEY}\n"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("The key could not be tested: "), "{text}");
    let listed = type_key(&environment, &["login"], "");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("anthropic    has a key"), "{listed}");
}
