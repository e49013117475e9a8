//! Settings and what they may grant; announced capabilities; reports for bugs.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::editor::{Approval, Profile};
use crate::fixture::{KEY, Stage};
use crate::model::Model;
use crate::terminal::{NOWHERE, interline, text};

const TEXT: &str = "//- /a.txt\none\ntwo\n";

#[test]
fn the_initialize_result_names_the_tier_and_the_capabilities() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let editor = stage.editor(&model);
    let ours = &editor.server["capabilities"]["experimental"]["interline"];
    assert_eq!(ours["version"], 1);
    assert_ne!(ours["tier"], "bare");
    assert!(
        ours["modes"]
            .as_array()
            .is_some_and(|all| all.contains(&json!("agent"))),
        "{ours}"
    );
    assert!(
        ours["layouts"]
            .as_array()
            .is_some_and(|all| all.contains(&json!("default")))
    );
    assert!(ours["models"].as_array().is_some_and(|all| !all.is_empty()));
    let commands = &editor.server["capabilities"]["executeCommandProvider"];
    assert!(
        commands["commands"].as_array().is_none_or(Vec::is_empty),
        "{commands}"
    );
}

#[test]
fn commands_are_advertised_to_clients_that_do_not_register_them() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let editor = stage.launch(&model).profile(Profile::bare()).start();
    let commands = &editor.server["capabilities"]["executeCommandProvider"]["commands"];
    assert!(commands.to_string().contains("interline.ask"), "{commands}");
}

/// Each command does its own work: none falls through to the last one, which saves.
#[test]
fn no_advertised_command_but_its_own_saves() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let commands = &editor.server["capabilities"]["executeCommandProvider"]["commands"];
    let commands = commands.as_array().expect("names").clone();
    assert!(commands.len() >= 20, "{commands:?}");
    for command in commands {
        let params = json!({ "command": command, "arguments": [{}] });
        let id = editor.ask("workspace/executeCommand", params);
        let words = match editor.answer(id) {
            Ok(result) => result.to_string(),
            Err(error) => error.to_string(),
        };
        let saves = words.contains("asked to save") || words.contains("\"results\"");
        assert_eq!(saves, command == "interline.saveAll", "{command}: {words}");
        assert!(!words.contains("there is no command"), "{command}: {words}");
    }
}

/// A27, A52, INV-9: a repository's settings reach us as client settings and may only narrow.
#[test]
fn grants_in_client_settings_are_ignored_with_a_notice() {
    let evil = json!({ "anthropic": { "baseUrl": "http://127.0.0.1:9/evil" } });
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model).untrusted();
    let mut editor = launch
        .setting("approvals", json!("auto"))
        .setting("providers", evil)
        .start();
    editor.open("a.txt");
    editor.approvals(&[Approval::Reject]);
    assert_eq!(editor.run("go").statuses(), ["completed", "rejected"]);
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(
        ignored.contains("approvals") && ignored.contains("providers"),
        "{ignored}"
    );
}

#[test]
fn grants_that_come_later_from_a_client_are_ignored_too() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).untrusted().start();
    let settings = json!({ "settings": { "interline": { "approvals": "auto" } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    editor.open("a.txt");
    editor.approvals(&[Approval::Reject]);
    assert_eq!(editor.run("go").statuses(), ["completed", "rejected"]);
}

#[test]
fn client_settings_may_narrow() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = stage
        .launch(&model)
        .setting("approvals", json!("ask"))
        .start();
    editor.open("a.txt");
    editor.approvals(&[Approval::Allow]);
    assert_eq!(editor.run("go").statuses(), ["completed", "completed"]);
    let policy = &editor.status()["policy"];
    let asked = json!({ "value": "ask", "source": "client settings" });
    assert_eq!(policy["approvals"], asked);
    let steps = json!({ "value": 30, "source": "default" });
    assert_eq!(policy["limits.steps"], steps);
}

#[test]
fn the_users_own_settings_may_grant() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let own = json!({ "anthropic": { "baseUrl": model.url(), "apiKeyEnv": "MY_KEY" } });
    let launch = stage.launch(&model).user_setting("providers", own);
    let launch = launch.var("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let launch = launch.var("ANTHROPIC_API_KEY", "wrong");
    let mut editor = launch.var("MY_KEY", crate::fixture::KEY).start();
    assert_eq!(editor.run("hi").text(), "ok");
}

/// What a key command runs is never decided by the files of a workspace.
#[test]
fn a_key_command_runs_in_the_home_folder() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    stage.write("key.txt", "wrong");
    std::fs::create_dir_all(stage.folder("home")).unwrap();
    std::fs::write(stage.folder("home/key.txt"), crate::fixture::KEY).unwrap();
    let own = json!({ "anthropic": { "apiKeyCommand": ["cat", "key.txt"] } });
    let launch = stage.launch(&model).user_setting("providers", own);
    let mut editor = launch.var("ANTHROPIC_API_KEY", "").start();
    assert_eq!(editor.run("hi").text(), "ok");
}

#[test]
fn a_user_scope_without_its_capability_grants_nothing() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let evil = json!({ "anthropic": { "baseUrl": "http://127.0.0.1:9" } });
    let profile = Profile::rich().without("userSettings");
    let launch = stage.launch(&model).profile(profile);
    let mut editor = launch.user_setting("providers", evil).start();
    assert_eq!(editor.run("hi").text(), "ok");
}

#[test]
fn the_config_file_is_used() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let text = "model = \"anthropic/claude-opus-5-5\"\nmode = \"plan\"\n";
    std::fs::write(stage.folder("config/interline/config.toml"), text).unwrap();
    let mut editor = stage.launch(&model).no_options().start();
    let made = editor.request("interline/session/new", json!({}));
    assert_eq!(made["mode"], "plan");
    assert_eq!(made["model"], "anthropic/claude-opus-5-5");
}

/// A29.
#[test]
fn a_dot_env_of_the_workspace_is_never_read() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    stage.write(
        ".env",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nHTTPS_PROXY=http://127.0.0.1:9\n",
    );
    assert_eq!(stage.editor(&model).run("hi").text(), "ok");
}

#[test]
fn a_key_from_the_editors_secret_store_is_used_and_never_stored() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model).var("ANTHROPIC_API_KEY", "");
    let mut editor = launch.start();
    let params = json!({ "provider": "anthropic", "secret": crate::fixture::KEY });
    editor.request("interline/auth/set", params);
    assert_eq!(editor.run("hi").text(), "ok");
    drop(editor);
    for log in stage.logs() {
        assert!(
            !std::fs::read_to_string(log)
                .unwrap()
                .contains(crate::fixture::KEY)
        );
    }
}

#[test]
fn servers_in_a_new_session_are_ignored_with_a_notice() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "mcpServers": { "x": { "command": "touch" } } }));
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("mcpServers"), "{ignored}");
}

/// INV-10: what a bug report contains.
#[test]
fn debug_reports_the_state_without_keys_texts_and_titles() {
    let stage = Stage::new("//- /a.txt\nword-of-the-file\n");
    let model = Model::says("word-of-the-answer");
    let launch = stage.launch(&model).var("MY_TOKEN", "tok-4f9b1c7723aa55");
    let headers = json!({ "x-team": "word-of-a-header" });
    let own = json!({ "lab": { "baseUrl": model.url(), "headers": headers } });
    let mut editor = launch.user_setting("providers", own).start();
    editor.open("a.txt");
    editor.run("word-of-the-prompt");
    let report = editor.request("interline/debug", json!({}));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["client"]["tier"], "interline");
    assert_eq!(report["status"]["documents"][0]["version"], 1);
    assert_eq!(report["status"]["sessions"][0]["turns"], 1);
    assert!(report["folders"]["config"].is_string());
    assert!(report["settings"]["providers"]["lab"]["baseUrl"].is_string());
    assert!(
        report["log"]
            .as_array()
            .is_some_and(|lines| !lines.is_empty())
    );
    let text = report.to_string();
    for hidden in [
        "word-of-",
        KEY,
        "tok-4f9b",
        &stage.folder("home").display().to_string(),
    ] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

/// `interline doctor --report` writes the same, for its owner only, and replaces no file.
#[test]
fn doctor_writes_a_report_that_only_the_user_can_read() {
    let stage = Stage::new("");
    let output = interline(&stage, NOWHERE, &["doctor", "--report", "bug.json"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("Read it before you share it."));
    let report: Value = serde_json::from_str(&stage.read("bug.json")).expect("JSON");
    assert_eq!(report["status"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(!report.to_string().contains(KEY));
    let mode = stage
        .path("bug.json")
        .metadata()
        .expect("a file")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let again = interline(&stage, NOWHERE, &["doctor", "--report", "bug.json"]);
    assert!(text(&again).contains("exists already"), "{}", text(&again));
}

#[test]
fn an_unknown_session_and_a_wrong_type_are_named() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    let input = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": "ses_none", "input": input });
    let error = editor.refused("interline/turn/start", params);
    assert_eq!(error["data"]["kind"], "unknownSession");
    let params = json!({ "sessionId": 7, "input": input });
    let error = editor.refused("interline/turn/start", params);
    let kind = &error["data"]["kind"];
    assert!(error["code"] == -32602 || kind == "invalid", "{error}");
}
