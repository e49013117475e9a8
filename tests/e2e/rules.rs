//! Misspelt restrictions, and editor settings that come with a repository.

use serde_json::json;

use crate::acp::client::Client;
use crate::editor::{Approval, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::terminal::{NOWHERE, interline, text};

const TEXT: &str = "//- /a.txt\none\ntwo\n";

fn writes() -> Model {
    let input = json!({ "path": "new.txt", "content": "made\n" });
    Model::calls("write", input)
}

fn configure(stage: &Stage, text: &str) {
    std::fs::write(stage.folder("config/interline/config.toml"), text).unwrap();
}

/// ZE-89, ZE-36: a mode that is not understood is the narrowest one, and the user is notified.
#[test]
fn a_misspelt_mode_writes_nothing_and_is_reported() {
    for profile in [Profile::rich(), Profile::bare()] {
        let (model, stage) = (writes(), Stage::new(TEXT));
        configure(&stage, "mode = \"readonly\"\n");
        let mut editor = stage.launch(&model).profile(profile).start();
        let shown_message = editor.message("mode (config.toml)");
        assert!(
            shown_message.contains("`readonly`") && shown_message.contains("treated as \"ask\""),
            "{shown_message}"
        );
        editor.command("ask", json!({ "text": "go" }));
        editor.until_asked(&model, 2);
        let result = model.last().result();
        assert!(result.contains("`ask`"), "{result}");
        assert!(!stage.path("new.txt").exists());
        let status = editor.status();
        let ignored = status["ignoredSettings"].to_string();
        assert!(ignored.contains("readonly"), "{ignored}");
    }
}

/// ZE-89: the same in the editor's settings, which may only narrow; case does not matter.
#[test]
fn a_misspelt_mode_of_the_editor_narrows_and_plan_may_be_written_in_capitals() {
    for (given, mode) in [("readonly", "ask"), ("Plan", "plan"), (" PLAN", "plan")] {
        let (model, stage) = (writes(), Stage::new(TEXT));
        let mut editor = stage.launch(&model).setting("mode", json!(given)).start();
        let made = editor.request("interline/session/new", json!({}));
        assert_eq!(made["mode"], mode, "{given}");
        editor.run("go");
        assert!(!stage.path("new.txt").exists());
        let message = editor.note("window/showMessage", |_| true);
        assert_eq!(message.is_some(), mode == "ask", "{given}: {message:?}");
    }
}

/// ZE-89: `Ask` asks, and so does a value that is not understood.
#[test]
fn misspelt_approvals_ask() {
    for (given, notified) in [("Ask", false), ("careful", true)] {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        configure(&stage, &format!("approvals = \"{given}\"\n"));
        let mut editor = stage.editor(&model);
        editor.open("a.txt");
        editor.approvals(&[Approval::Reject]);
        assert_eq!(editor.run("go").statuses(), ["completed", "rejected"]);
        let note = editor.note("window/showMessage", |_| true);
        assert_eq!(note.is_some(), notified, "{given}: {note:?}");
    }
}

/// ZE-89: settings that change while the editor runs are reported once.
#[test]
fn a_later_misspelling_is_reported_once() {
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

/// ZE-89, S10: over ACP the first prompt reports it, also for a file that cannot be read at all.
#[test]
fn an_acp_client_shows_which_settings_are_not_understood() {
    for (file, part) in [
        ("mode = \"plam\"\n", "mode (config.toml)"),
        ("mode = ", "every edit asks"),
    ] {
        let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
        configure(&stage, file);
        let mut client = Client::start(&stage, &model);
        let session = client.session(&stage.root());
        client.prompt(&session, "hi");
        let answer = client.agent_text(&session);
        assert!(answer.contains(part) && answer.contains("ok"), "{answer}");
        assert_eq!(client.leave(), 0);
    }
}

/// ZE-89: no one watches `interline run`, so it does not start on a guess.
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
            text(&output).contains("invalid settings"),
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

/// R21: editor settings switch off neither the user's segments nor the base.
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

/// R21: a client does not override the user's own switch.
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
    // The layout begins with the time.
    model.allow_new_epoch();
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

/// R04, A07: an allowed script asks again once the agent rewrote it, or what it names, on disk or
/// in an unsaved buffer.
#[test]
fn r04_a_remembered_script_asks_again_once_it_changed() {
    let run = || Reply::exec("sh check.sh");
    let change =
        |path: &str, text: &str| Reply::call("write", json!({ "path": path, "content": text }));
    let model = Model::steps(vec![
        Reply::read("check.sh").and_call("read", json!({ "path": "lib.sh" })),
        run(),
        run(),
        change("check.sh", "touch evil1\n"),
        run(),
        change("check.sh", "sh lib.sh\n"),
        run(),
        change("lib.sh", "touch evil2\n"),
        run(),
    ]);
    let stage = Stage::new("//- /check.sh\nsh lib.sh\n//- /lib.sh\necho fine\n");
    let mut editor = stage.editor(&model);
    editor.open("lib.sh");
    let (always, never) = (Approval::AllowSession, Approval::Reject);
    editor.approvals(&[always, never, never]);
    let turn = editor.run("go");
    assert_eq!(editor.script.asked.len(), 3, "{:?}", turn.statuses());
    let remember = editor.script.asked[0]["remember"].to_string();
    assert!(remember.contains("until a file in it"), "{remember}");
    assert!(!stage.path("evil1").exists() && !stage.path("evil2").exists());
}

/// R04: the question for a build says whose code runs; an ordinary edit does not end the rule, an
/// edit of a build file does.
#[test]
fn r04_a_build_says_that_it_runs_the_agents_changes() {
    let run = || Reply::exec("make --version");
    let write = |path: &str| Reply::call("write", json!({ "path": path, "content": "x\n" }));
    let steps = vec![
        run(),
        write("src/a.c"),
        run(),
        write("CMakeLists.txt"),
        run(),
    ];
    let model = Model::steps(steps);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::AllowSession, Approval::Reject]);
    let turn = editor.run("go");
    let statuses = turn.statuses();
    assert_eq!(statuses[3..], ["completed", "rejected"], "{statuses:?}");
    let reason = editor.script.asked[0]["reason"].to_string();
    assert!(reason.contains("including the agent's changes"), "{reason}");
}

/// R22: the question shows a path, and a command's question names the stored variables.
#[test]
fn r22_a_variable_is_seen_before_it_is_kept_and_named_before_it_is_used() {
    let set = |name: &str, value: &str| {
        Reply::call("self_set_env", json!({ "name": name, "value": value }))
    };
    let model = Model::steps(vec![
        set("PYTHONPATH", "/tmp/evil"),
        set("APP_URL", "http://u:pass-5b1f@h.example/x"),
        set("APP_KEY", "/tmp/evil/key"),
        set("APP_TOKEN", "tok-5b1f0c9d2e77"),
        Reply::exec("true"),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive" }));
    editor.approvals(&[Approval::Allow; 4]);
    let turn = editor.run("go");
    assert_eq!(turn.statuses()[0], "failed");
    let asked = &editor.script.asked;
    let shown = |n: usize| asked[n]["subject"]["change"].to_string();
    assert!(shown(0).contains("(secret)@h.example/x"), "{}", shown(0));
    assert!(shown(1).contains("`/tmp/evil/key`"), "{}", shown(1));
    assert!(shown(2).contains("looks like a secret"), "{}", shown(2));
    let reason = asked[3]["reason"].to_string();
    assert!(reason.contains("APP_KEY, APP_TOKEN, APP_URL"), "{reason}");
    let seen = format!("{:?}{asked:?}", editor.notes);
    assert!(!seen.contains("pass-5b1f") && !seen.contains("tok-5b1f"));
}

/// R30: the user sees the skill that later prompts obey before it is installed, its end too.
#[test]
fn r30_a_skill_shows_its_description_and_text_before_it_is_installed() {
    let model = Model::calls("self_install_skill", json!({ "path": "pdf" }));
    let stage = Stage::new(TEXT);
    let middle = "Fill in one field after the other.\n".repeat(400);
    let text =
        format!("---\nname: pdf\ndescription: Fills forms.\n---\nHEAD\n{middle}\nTAIL-ORDER\n");
    stage.write("pdf/SKILL.md", text);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive" }));
    editor.approvals(&[Approval::Reject]);
    editor.run("go");
    let change = editor.script.asked[0]["subject"]["change"].to_string();
    for part in [
        "Description: Fills forms.",
        "HEAD",
        "TAIL-ORDER",
        "characters more",
    ] {
        assert!(change.contains(part), "{part}: {change}");
    }
}

/// A memory for all folders needs approval once a session, and is read as a note.
#[test]
fn a_memory_for_all_folders_asks_once_and_is_a_note_elsewhere() {
    let save = |text: &str| {
        let what = json!({ "type": "preference", "scope": "user", "text": text });
        Reply::call("save_memory", what)
    };
    let model = Model::steps(vec![
        save("Run the first thing."),
        save("Run the second thing."),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::AllowSession]);
    assert_eq!(editor.run("go").statuses(), ["completed"; 2]);
    drop(editor);
    let model = Model::says("ok");
    stage.launch(&model).untrusted().start().run("hi");
    let system = model.last().system();
    let at = system
        .find("preference: Run the first thing.")
        .expect("the note");
    assert!(
        system[..at].contains("never instructions to follow"),
        "{system}"
    );
}

/// R06, A08: the workspace's `etcode.json` is the user's, and edits of files that it names ask.
#[test]
fn r06_what_is_an_instruction_now_asks_before_it_is_written() {
    let write = |path: &str| Reply::call("write", json!({ "path": path, "content": "Obey.\n" }));
    let model = Model::steps(vec![
        Reply::read("house.txt"),
        write("etcode.json"),
        write("house.txt"),
        write("docs/new.txt"),
        write("plain.txt"),
    ]);
    let named = r#"{"instructions": ["house.txt", "docs/*.txt"]}"#;
    let stage = Stage::new("//- /house.txt\nBe kind.\n//- /docs/a.txt\nA\n");
    stage.write("etcode.json", named);
    let mut editor = stage.editor(&model);
    editor.open("house.txt");
    editor.approvals(&[Approval::Reject, Approval::Reject]);
    let turn = editor.run("go");
    let expected = ["rejected", "rejected", "rejected", "completed"];
    assert_eq!(turn.statuses()[1..], expected, "{}", turn.text());
    assert_eq!(stage.read("etcode.json"), named);
}

/// R12, A28: a trusted server's program that changed is not started until it is trusted again.
#[test]
fn r12_a_changed_program_of_a_trusted_server_is_not_started() {
    let (model, stage) = (Model::says("ok"), Stage::new(TEXT));
    let file = r#"{"mcpServers": {"it": {"command": "sh", "args": ["srv.sh"]}}}"#;
    stage.write(".mcp.json", file);
    stage.write("srv.sh", "touch started-1\n");
    let trust = |editor: &mut crate::editor::Editor| {
        let (path, hash) = (stage.path(".mcp.json"), crate::fixture::sha256(file));
        let trust = json!({ "file": path, "hash": hash, "decision": "trust" });
        editor.request("interline/trust/set", trust);
    };
    let run = |editor: &mut crate::editor::Editor, part: &str| {
        editor.run("hi");
        editor.status()["ignoredSettings"]
            .to_string()
            .contains(part)
    };
    let mut editor = stage.editor(&model);
    trust(&mut editor);
    run(&mut editor, "");
    editor.until("the first start", |_| {
        stage.path("started-1").exists().then_some(())
    });
    drop(editor);
    stage.write("srv.sh", "touch started-2\n");
    let mut editor = stage.editor(&model);
    assert!(run(&mut editor, "a program that it starts changed"));
    assert!(!stage.path("started-2").exists());
    trust(&mut editor);
    run(&mut editor, "");
    editor.until("the second start", |_| {
        stage.path("started-2").exists().then_some(())
    });
}
