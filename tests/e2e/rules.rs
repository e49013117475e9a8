//! What settings may do to the user: a restriction that is misspelt, and editor settings that
//! come with a repository.

use serde_json::json;

use crate::acp::client::Client;
use crate::editor::{Approval, Profile};
use crate::fixture::Stage;
use crate::model::Model;
use crate::terminal::{NOWHERE, interline, text};

const TEXT: &str = "//- /a.txt\none\ntwo\n";

fn writes() -> Model {
    let input = json!({ "path": "new.txt", "content": "made\n" });
    Model::calls("write", input)
}

fn configure(stage: &Stage, text: &str) {
    std::fs::write(stage.folder("config/interline/config.toml"), text).unwrap();
}

/// ZE-89: a mode that is not understood is the narrowest one, and the user is told.
#[test]
fn a_misspelt_mode_writes_nothing_and_the_user_is_told() {
    for profile in [Profile::rich(), Profile::bare()] {
        let (model, stage) = (writes(), Stage::new(TEXT));
        configure(&stage, "mode = \"readonly\"\n");
        let mut editor = stage.launch(&model).profile(profile).start();
        let told = editor.message("mode (config.toml)");
        assert!(
            told.contains("`readonly`") && told.contains("counts as \"ask\""),
            "{told}"
        );
        editor.command("interline.ask", json!([{ "text": "go" }]));
        editor.until_asked(&model, 2);
        let result = model.last().result();
        assert!(result.contains("`ask`"), "{result}");
        assert!(!stage.path("new.txt").exists());
        let status = editor.status();
        let ignored = status["ignoredSettings"].to_string();
        assert!(ignored.contains("readonly"), "{ignored}");
    }
}

/// ZE-89: the same by the editor's settings, which may only narrow; the case does not matter.
#[test]
fn a_misspelt_mode_of_the_editor_narrows_and_plan_may_be_written_in_capitals() {
    for (given, mode) in [("readonly", "ask"), ("Plan", "plan"), (" PLAN", "plan")] {
        let (model, stage) = (writes(), Stage::new(TEXT));
        let mut editor = stage.launch(&model).setting("mode", json!(given)).start();
        let made = editor.request("interline/session/new", json!({}));
        assert_eq!(made["mode"], mode, "{given}");
        editor.run("go");
        assert!(!stage.path("new.txt").exists());
        let told = editor.note("window/showMessage", |_| true);
        assert_eq!(told.is_some(), mode == "ask", "{given}: {told:?}");
    }
}

/// ZE-89: `Ask` asks, and so does what nobody understands.
#[test]
fn misspelt_approvals_ask() {
    for (given, told) in [("Ask", false), ("careful", true)] {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        configure(&stage, &format!("approvals = \"{given}\"\n"));
        let mut editor = stage.editor(&model);
        editor.open("a.txt");
        editor.approvals(&[Approval::Reject]);
        assert_eq!(editor.run("go").statuses(), ["completed", "rejected"]);
        let note = editor.note("window/showMessage", |_| true);
        assert_eq!(note.is_some(), told, "{given}: {note:?}");
    }
}

/// ZE-89: settings that change while the editor runs are told once.
#[test]
fn a_misspelling_that_comes_later_is_told_once() {
    let (model, stage) = (writes(), Stage::new(TEXT));
    let mut editor = stage.editor(&model);
    for _ in 0..2 {
        let settings = json!({ "settings": { "interline": { "approvals": "evry" } } });
        editor.notify("workspace/didChangeConfiguration", settings);
    }
    editor.approvals(&[Approval::Reject]);
    assert_eq!(editor.run("go").statuses(), ["rejected"]);
    let shown = |note: &&serde_json::Value| note["method"] == "window/showMessage";
    assert_eq!(editor.notes.iter().filter(shown).count(), 1);
}

/// ZE-89, S10: over ACP the first prompt says it, also of a file that cannot be read at all.
#[test]
fn an_acp_client_says_what_is_not_understood() {
    for (file, part) in [
        ("mode = \"plam\"\n", "mode (config.toml)"),
        ("mode = ", "every edit asks"),
    ] {
        let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
        configure(&stage, file);
        let mut client = Client::start(&stage, &model);
        let session = client.session(&stage.root());
        client.prompt(&session, "hi");
        let said = client.said(&session);
        assert!(said.contains(part) && said.contains("ok"), "{said}");
        assert_eq!(client.leave(), 0);
    }
}

/// ZE-89: nobody watches `interline run`, so it does not start on a guess.
#[test]
fn run_does_not_start_with_settings_that_are_not_understood() {
    for file in [
        "mode = \"readonly\"\n",
        "[limits]\ncost = \"2\"\n",
        "mode = ",
        "[agents.x]\nmode = \"reads\"\n",
    ] {
        let (model, stage) = (writes(), Stage::new(TEXT));
        configure(&stage, file);
        let output = interline(&stage, &model.url(), &["run", "--trust", "go"]);
        assert_eq!(output.status.code(), Some(1), "{file}: {}", text(&output));
        assert!(
            text(&output).contains("not understood"),
            "{}",
            text(&output)
        );
        assert!(model.count() == 0 && !stage.path("new.txt").exists());
        let doctor = text(&interline(&stage, NOWHERE, &["doctor"]));
        assert!(doctor.contains("\nwrong "), "{doctor}");
    }
}

const SEGMENTS: [&str; 8] = [
    "globalInstructions",
    "instructions",
    "notes",
    "provider",
    "editing",
    "mode",
    "soul",
    "cursor",
];

/// R21, ZE-36: editor settings do not switch off what is the user's, nor the base.
#[test]
fn r21_a_repository_switches_off_no_segment_of_the_users() {
    let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
    std::fs::write(stage.folder("config/interline/AGENTS.md"), "GLOBAL-WORD\n").unwrap();
    configure(&stage, "[prompt]\nnotes = \"NOTE-WORD\"\n");
    let off = SEGMENTS.map(|id| (id.to_owned(), json!(false)));
    let off: serde_json::Map<_, _> = off.into_iter().collect();
    let off = json!({ "segments": off });
    let launch = stage.launch(&model).untrusted();
    let mut editor = launch.setting("prompt", off).start();
    editor.run("hi");
    let system = model.last().system();
    assert!(system.contains("GLOBAL-WORD"), "{system}");
    assert!(system.contains("NOTE-WORD") && system.len() > 3_000);
    let ignored = editor.status()["ignoredSettings"].to_string();
    for id in &SEGMENTS[..7] {
        assert!(ignored.contains(&format!("prompt.segments.{id}\"")), "{id}");
    }
    assert!(!ignored.contains("prompt.segments.cursor"), "{ignored}");
}

/// R21: the user's own switch is not turned by a client.
#[test]
fn r21_the_users_own_switch_of_a_segment_stays() {
    let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
    configure(&stage, "[prompt.segments]\ncursor = true\ndate = false\n");
    let turned = json!({ "segments": { "cursor": false, "date": true } });
    let mut editor = stage.launch(&model).setting("prompt", turned).start();
    let status = editor.status();
    let keys: Vec<&str> = status["ignoredSettings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["key"].as_str())
        .collect();
    assert_eq!(keys, ["prompt.segments.cursor", "prompt.segments.date"]);
}

/// R21: every layout that a repository may choose keeps the user's own instructions.
#[test]
fn r21_no_layout_loses_the_users_own_instructions() {
    for layout in ["default", "etcode", "mini", "openclaw", "zeus", "zyhive"] {
        let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
        std::fs::write(stage.folder("config/interline/AGENTS.md"), "GLOBAL-WORD\n").unwrap();
        let launch = stage.launch(&model).setting("layout", json!(layout));
        launch.start().run("hi");
        assert!(model.last().raw_text().contains("GLOBAL-WORD"), "{layout}");
    }
}

/// R22: a layout of the editor's settings brings no opt-in tools, also not after a restart; one
/// that the user or a request names does.
#[test]
fn r22_a_repositorys_layout_brings_no_opt_in_tools() {
    let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
    let launch = || stage.launch(&model).setting("layout", json!("zyhive"));
    let mut editor = launch().start();
    let session = editor.session();
    editor.run("hi");
    let offered = |model: &Model| model.last().tools().contains(&"self_set_env".to_owned());
    assert!(!offered(&model), "{:?}", model.last().tools());
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("self_set_env"), "{ignored}");
    drop(editor);
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    editor.run("again");
    assert!(!offered(&model));
    model.allow_new_epoch();
    editor.configure("layout", json!("zyhive"));
    editor.run("now");
    assert!(offered(&model));
    drop(editor);
    configure(&stage, "layout = \"zyhive\"\n");
    launch().start().run("mine");
    assert!(offered(&model));
}

/// R22: the same for an agent that the editor's settings name.
#[test]
fn r22_a_repositorys_choice_of_an_agent_brings_no_opt_in_tools() {
    let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
    let own = "[agents.keeper]\nprompt = \"Keep.\"\ntools = [\"read\", \"self_set_env\"]\n";
    configure(&stage, own);
    let launch = || stage.launch(&model).setting("agent", json!("keeper"));
    let mut editor = launch().start();
    editor.run("hi");
    assert_eq!(model.last().tools(), ["read"]);
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("self_set_env"), "{ignored}");
    editor.new_session(json!({ "agent": "keeper" }));
    editor.run("hi");
    assert_eq!(model.last().tools(), ["read", "self_set_env"]);
    drop(editor);
    configure(&stage, &format!("agent = \"keeper\"\n{own}"));
    launch().start().run("hi");
    assert_eq!(model.last().tools(), ["read", "self_set_env"]);
}
