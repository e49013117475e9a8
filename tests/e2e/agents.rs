//! Named agents, the files that define them, and when a workspace's file is used.

use serde_json::{Value, json};

use crate::fixture::{KEY, Stage, sha256};
use crate::model::{Model, Reply};
use crate::terminal::{NOWHERE, interline, text};

const TEXT: &str = "//- /a.txt\none\ntwo\n";
const REVIEWER: &str = "---\ndescription: Reviews\ntools: [read, grep]\nmode: plan\n---\nReview.\n";
const OF_WORK: &str = ".interline/agents/helper.md";

/// A stage with the agent `reviewer` in the user's own folder.
fn stage() -> Stage {
    let stage = Stage::new(TEXT);
    let folder = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("reviewer.md"), REVIEWER).unwrap();
    stage
}

/// ET-45.
#[test]
fn run_takes_an_agent_by_name_and_names_the_known_ones() {
    let model = Model::says("ok");
    let stage = stage();
    let output = interline(&stage, &model.url(), &["run", "--agent", "reviewer", "hi"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(model.last().tools(), ["grep", "read"]);
    assert!(model.last().raw_text().contains("Mode: plan"));
    let output = interline(&stage, &model.url(), &["run", "--agent", "nobody", "hi"]);
    assert!(!output.status.success());
    assert!(
        text(&output).contains("Agents: build, plan, reviewer."),
        "{}",
        text(&output)
    );
    assert_eq!(model.count(), 1);
    let output = interline(&stage, NOWHERE, &["prompt", "--agent", "nobody"]);
    assert!(
        text(&output).contains("Agents: build, plan, reviewer."),
        "{}",
        text(&output)
    );
}

/// ET-45: at `session/new` and by `session/configure`; the request's own mode takes precedence.
#[test]
fn a_session_begins_with_an_agent_and_changes_it() {
    let model = Model::says("ok");
    let stage = stage();
    let mut editor = stage.editor(&model);
    let made = editor.request("interline/session/new", json!({ "agent": "reviewer" }));
    assert_eq!(
        (&made["agent"], &made["mode"]),
        (&json!("reviewer"), &json!("plan"))
    );
    let params = json!({ "agent": "reviewer", "mode": "ask" });
    assert_eq!(
        editor.request("interline/session/new", params)["mode"],
        "ask"
    );
    editor.new_session(json!({}));
    editor.run("hi");
    assert!(model.last().tools().contains(&"exec".to_owned()));
    let params = json!({ "sessionId": editor.session(), "agent": "nobody" });
    let error = editor.refused("interline/session/configure", params);
    assert!(error.to_string().contains("reviewer"), "{error}");
    editor.configure("agent", json!("reviewer"));
    model.allow_new_epoch();
    editor.run("again");
    assert_eq!(model.last().tools(), ["grep", "read"]);
    editor.configure("agent", json!(""));
    model.allow_new_epoch();
    editor.run("and again");
    assert!(model.last().tools().contains(&"exec".to_owned()));
}

/// ET-45: what a preview promises is what is sent, also with an agent and after a restart.
#[test]
fn an_agent_is_stored_with_its_session() {
    let model = Model::says("ok");
    let stage = stage();
    let mut editor = stage.editor(&model);
    let session = editor.new_session(json!({ "agent": "reviewer" }));
    editor.run("hi");
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session);
    assert_eq!(opened["session"]["agent"], "reviewer");
    let params = editor.turn_params("again");
    let promised = editor.preview(&params)["request"]["body"].clone();
    editor.start(params);
    editor.wait_ended();
    assert_eq!(promised, model.last().raw_text());
    assert_eq!(model.last().tools(), ["grep", "read"]);
}

/// A call of a tool that the agent does not have is refused.
#[test]
fn a_call_of_a_tool_that_the_agent_does_not_have_runs_nothing() {
    let model = Model::steps(vec![Reply::exec("touch out")]);
    let stage = stage();
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "agent": "reviewer", "mode": "agent" }));
    assert_eq!(editor.run("go").statuses(), ["failed"]);
    let (_, words, error) = model.last().results().remove(0);
    assert!(
        error && words.contains("no tool `exec`") && words.contains("grep, read"),
        "{words}"
    );
    assert!(!stage.path("out").exists());
}

/// The setting `agent` applies to new sessions; a repository can carry it, so it only narrows.
#[test]
fn a_setting_names_the_agent_of_new_sessions() {
    let model = Model::says("ok");
    let stage = stage();
    let wide = "---\nmode: agent\n---\nx\n";
    std::fs::write(stage.folder("config/interline/agents/wide.md"), wide).unwrap();
    let launch = stage.launch(&model).setting("agent", json!("wide"));
    let mut editor = launch.setting("mode", json!("plan")).start();
    let made = editor.request("interline/session/new", json!({}));
    assert_eq!(
        (&made["agent"], &made["mode"]),
        (&json!("wide"), &json!("plan"))
    );
    let params = json!({ "agent": "wide" });
    assert_eq!(
        editor.request("interline/session/new", params)["mode"],
        "agent"
    );
    let settings = json!({ "settings": { "interline": { "agent": "nobody" } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    let error = editor.refused("interline/session/new", json!({}));
    assert!(error.to_string().contains("reviewer, wide"), "{error}");
}

/// INV-9: a workspace's agent is used once the folder and exactly its text are trusted.
#[test]
fn a_workspaces_agent_is_used_once_its_text_is_trusted() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let first = "---\ntools: read\n---\nHelp.\n";
    stage.write(OF_WORK, first);
    let mut editor = stage.editor(&model);
    let helper = json!({ "agent": "helper" });
    let error = editor.refused("interline/session/new", helper.clone());
    assert_eq!(error["data"]["kind"], "notTrusted", "{error}");
    let decide =
        |hash: &str| json!({ "file": stage.uri(OF_WORK), "hash": hash, "decision": "trust" });
    let error = editor.refused("interline/trust/set", decide(&sha256("another text")));
    assert_eq!(error["data"]["kind"], "stale", "{error}");
    editor.request("interline/trust/set", decide(&sha256(first)));
    editor.new_session(helper.clone());
    editor.run("hi");
    assert_eq!(model.last().tools(), ["read"]);
    stage.write(OF_WORK, "Help more.\n");
    let params = editor.turn_params("again");
    let error = editor.refused("interline/turn/start", params);
    assert_eq!(error["data"]["kind"], "notTrusted", "{error}");
    stage.write(OF_WORK, first);
    editor.run("again");
    let params = json!({ "file": stage.uri(OF_WORK), "decision": "untrust" });
    editor.request("interline/trust/set", params);
    editor.refused("interline/session/new", helper);
}

/// INV-9: on the command line, one by one.
#[test]
fn trust_lists_active_files_and_trusts_one_by_its_content() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    stage.write(OF_WORK, "Help.\n");
    stage.write(".mcp.json", "{}");
    let run = |args: &[&str]| text(&interline(&stage, &model.url(), args));
    let listed = run(&["trust"]);
    assert_eq!(listed.matches("not trusted").count(), 2, "{listed}");
    assert!(run(&["run", "--agent", "helper", "hi"]).contains("not trusted"));
    assert!(run(&["trust", OF_WORK]).contains("exactly this content"));
    assert!(run(&["run", "--agent", "helper", "hi"]).contains("ok"));
    assert!(run(&["doctor"]).contains("2 files here make the agent behave: 1 not trusted"));
    stage.write(OF_WORK, "Help everyone.\n");
    let listed = run(&["trust"]);
    assert!(
        listed.contains("changed since you trusted it (6 → 15 bytes)"),
        "{listed}"
    );
    assert!(listed.contains("+Help everyone."), "{listed}");
    stage.write(OF_WORK, "Help.\n");
    assert!(run(&["trust", "--remove"]).contains("nor are the files below it"));
    run(&["trust"]);
    assert!(run(&["run", "--agent", "helper", "hi"]).contains("not trusted"));
    assert_eq!(model.count(), 1);
}

/// ET-47, INV-10: a key in plain text in the user's own file is used with a notice, and appears
/// nowhere.
#[test]
fn the_users_etcode_json_gives_a_key_that_is_shown_nowhere() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let own = json!({ "provider": [{ "id": "anthropic", "apiKey": KEY }] });
    let path = stage.folder("config/interline/etcode.json");
    std::fs::write(path, own.to_string()).unwrap();
    let launch = stage.launch(&model).var("ANTHROPIC_API_KEY", "");
    let mut editor = launch.start();
    assert_eq!(editor.run("hi").text(), "ok");
    let status = editor.status().to_string();
    assert!(status.contains("provider.anthropic.apiKey"), "{status}");
    assert!(!status.contains(KEY) && !model.last().raw_text().contains(KEY));
    drop(editor);
    for log in stage.logs() {
        assert!(!std::fs::read_to_string(log).unwrap().contains(KEY));
    }
}

/// ET-47, INV-9.
#[test]
fn a_workspaces_etcode_json_names_instructions_and_nothing_else() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /docs/rules.md\nAlways answer in verse.\n");
    let evil = json!({ "provider": [{ "id": "anthropic", "apiKey": "sk-evil" }],
        "instructions": ["docs/rules.md", "/etc/hostname"] });
    stage.write("etcode.json", evil.to_string());
    let mut editor = stage.editor(&model);
    assert_eq!(editor.run("hi").text(), "ok");
    assert!(model.last().system().contains("Always answer in verse."));
    let status = editor.status();
    let rows = status["ignoredSettings"].as_array().cloned();
    let keys: Vec<Value> = rows
        .into_iter()
        .flatten()
        .map(|row| row["key"].clone())
        .collect();
    assert_eq!(keys, ["provider.anthropic", "instructions"], "{status}");
    assert!(!status.to_string().contains("sk-evil"), "{status}");
}

/// Thinking is bound to its prefix, and another agent has a different one.
#[test]
fn an_agent_switch_sends_no_thinking_of_the_previous_epoch() {
    let model = Model::steps(vec![Reply::read("a.txt").thinking("hm")]);
    let stage = stage();
    let mut editor = stage.editor(&model);
    editor.run("hi");
    editor.configure("agent", json!("reviewer"));
    model.allow_new_epoch();
    editor.run("again");
}

/// ET-50: without any configuration; `plan` is mode plan, and a setting that a repository could
/// carry widens nothing.
#[test]
fn build_and_plan_work_out_of_the_box() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    for (agent, mode) in [("build", "Mode: agent"), ("plan", "Mode: plan")] {
        let output = interline(&stage, &model.url(), &["run", "--agent", agent, "hi"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(model.last().raw_text().contains(mode), "{agent}");
        assert!(model.last().tools().contains(&"exec".to_owned()));
    }
    let launch = stage.launch(&model).user_setting("mode", json!("ask"));
    let mut editor = launch.setting("agent", json!("build")).start();
    editor.run("hi");
    assert!(model.last().raw_text().contains("Mode: ask"));
    editor.configure("agent", json!("build"));
    model.allow_new_epoch();
    editor.run("hi");
    assert!(model.last().raw_text().contains("Mode: agent"));
}
