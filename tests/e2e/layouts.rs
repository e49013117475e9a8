//! The layouts in the real program: a preview equals what is sent; each layout's cadence, tool
//! names and modes; and what a client declares.

use serde_json::{Value, json};

use crate::editor::turn::Turn;
use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::prompts::preview_holds;

const TEXT: &str = "//- /AGENTS.md\nAnswer in verse.\n//- /SOUL.md\nBe calm.\n//- /a.txt\nalpha\n";
/// Thinking is not bound to the prompt's bytes here.
const LOOSE: &str = "anthropic/claude-sonnet-4-6";

fn session(editor: &mut Editor, layout: &str, model: &str) {
    editor.new_session(json!({ "layout": layout, "model": model }));
}

/// Under each layout: the first time, again, after an edited file, after a kill and a resume.
fn story(layout: &str, model_name: &str) {
    // The scripted provider binds every thinking to its prefix, as only some models do.
    let step = match model_name {
        LOOSE => Reply::read("a.txt"),
        _ => Reply::read("a.txt").thinking("hm"),
    };
    let model = Model::steps(vec![step]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, layout, model_name);
    for change in ["none", "soul", "agents"] {
        match change {
            "soul" => stage.write("SOUL.md", "Be merry.\n"),
            "agents" => stage.write("AGENTS.md", "Answer in prose.\n"),
            _ => {}
        }
        model.allow_new_epoch();
        let params = editor.turn_params(change);
        preview_holds(&mut editor, &model, params);
    }
    let session = editor.session();
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    model.allow_new_epoch();
    let params = editor.turn_params("again");
    preview_holds(&mut editor, &model, params);
    assert!(
        model.last().raw_text().contains("Answer in prose."),
        "{layout}"
    );
}

/// OC-51: only the session's layout is sent.
#[test]
fn previews_hold_under_every_layout() {
    for layout in ["default", "etcode", "mini", "openclaw", "zeus", "zyhive"] {
        story(layout, LOOSE);
    }
}

/// Blocks and fences are explained where they are used, before the first of them.
#[test]
fn every_layout_explains_the_blocks_that_it_uses() {
    for layout in ["default", "etcode", "mini", "openclaw", "zeus", "zyhive"] {
        let model = Model::says("ok");
        let stage = Stage::new(TEXT);
        let mut editor = stage.editor(&model);
        session(&mut editor, layout, LOOSE);
        editor.open("a.txt");
        editor.run("hi");
        let sent = model.last();
        let (system, user) = (sent.system(), sent.last_user_text());
        let explained = "a newer block with the same id";
        let (why, first) = (user.find(explained), user.find("a.txt"));
        assert!(first.is_some(), "{layout}: {user}");
        let before = why.is_some() && why < first;
        assert!(system.contains(explained) || before, "{layout}: {user}");
    }
}

/// K12: where thinking is bound to the prompt, a layout that is rendered again leaves earlier
/// thinking out; the scripted provider refuses any that does not fit its prefix.
#[test]
fn previews_hold_where_thinking_is_bound_to_the_prompt() {
    for layout in ["etcode", "mini", "openclaw", "zeus", "zyhive"] {
        story(layout, "anthropic/claude-opus-5-5");
    }
}

/// K12: and the user is notified once of what that costs.
#[test]
fn a_layout_that_is_rendered_again_warns_once() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zyhive", "anthropic/claude-opus-5-5");
    let first = editor.run("hi");
    stage.write("SOUL.md", "Be merry.\n");
    model.allow_new_epoch();
    let second = editor.run("again");
    let warned = |turn: &Turn| {
        let notices = turn.of("notice");
        notices
            .iter()
            .any(|it| it["text"].as_str().unwrap_or_default().contains("zyhive"))
    };
    assert!(warned(&first) && !warned(&second));
    assert!(model.last().system().contains("--- SOUL.md ---\nBe merry."));
}

/// ZY-01: a file that changes between two steps is seen by the next turn, not by the next step.
/// ZY-37.
#[test]
fn zyhive_reads_its_files_once_a_turn() {
    let stage = Stage::new(TEXT);
    let soul = stage.path("SOUL.md");
    let model = Model::start(move |request| {
        if request.step() == 0 {
            std::fs::write(&soul, "Be merry.\n").expect("written");
            return Reply::read("a.txt");
        }
        Reply::text("done")
    });
    let mut editor = stage.editor(&model);
    session(&mut editor, "zyhive", LOOSE);
    editor.run("hi");
    assert_eq!(model.request(0).system(), model.request(1).system());
    assert!(model.last().system().contains("Be calm."));
    model.allow_new_epoch();
    editor.run("again");
    assert!(model.last().system().contains("Be merry."));
}

/// OC-05: a layout of the cadence `step` is live between two requests.
#[test]
fn openclaw_is_live_between_two_steps() {
    let stage = Stage::new(TEXT);
    let soul = stage.path("SOUL.md");
    let model = Model::start(move |request| {
        if request.step() == 0 {
            std::fs::write(&soul, "Be merry.\n").expect("written");
            return Reply::read("a.txt");
        }
        Reply::text("done")
    });
    let mut editor = stage.editor(&model);
    session(&mut editor, "openclaw", LOOSE);
    model.allow_new_epoch();
    editor.prompt("hi");
    model.wait_for(1);
    model.allow_new_epoch();
    editor.wait_ended();
    assert!(model.request(0).system().contains("Be calm."));
    assert!(model.request(1).system().contains("Be merry."));
}

/// K9: the model calls tools by the layout's names; clients see ours; both names resolve.
#[test]
fn mini_has_its_own_names_for_tools() {
    let first = Reply::call("read_file", json!({ "path": "a.txt" }));
    let model = Model::steps(vec![first.and_call("read", json!({ "path": "SOUL.md" }))]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini", LOOSE);
    let turn = editor.run("read both");
    let names = model.request(0).tools();
    assert!(names.contains(&"read_file".to_owned()) && names.contains(&"bash".to_owned()));
    assert!(!names.contains(&"read".to_owned()));
    let results = model.last().results();
    assert!(
        results[0].1.contains("alpha") && results[1].1.contains("Be calm."),
        "{results:?}"
    );
    assert!(turn.calls().iter().all(|call| call["tool"] == "read"));
}

/// ZE-34, K11: placeholders in ask mode, descriptions again in agent mode, and a call refused.
#[test]
fn zeus_shows_placeholders_in_ask_mode() {
    let model = Model::steps(vec![Reply::edit("a.txt", "alpha", "beta")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus", LOOSE);
    let edit = |request: &crate::model::RequestView| -> Value {
        let tools = request.body()["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        tools
            .into_iter()
            .find(|tool| tool["name"] == "edit")
            .unwrap_or_default()
    };
    editor.configure("mode", json!("ask"));
    editor.run("change it");
    let asked = edit(&model.request(0))["description"].to_string();
    assert!(asked.contains("Not available in ask mode"), "{asked}");
    assert!(
        model.last().result().contains("agent"),
        "{}",
        model.last().result()
    );
    assert_eq!(stage.read("a.txt"), "alpha\n");
    editor.configure("mode", json!("agent"));
    model.allow_new_epoch();
    editor.run("go on");
    assert!(
        !edit(&model.last())["description"]
            .to_string()
            .contains("Not available")
    );
}

/// ZE-51: without skills no tool for them under this layout; in the default one it always is.
#[test]
fn zeus_offers_load_skill_only_with_skills() {
    for (layout, offered) in [("zeus", false), ("default", true)] {
        let model = Model::says("ok");
        let stage = Stage::new(TEXT);
        let mut editor = stage.editor(&model);
        session(&mut editor, layout, LOOSE);
        editor.run("hi");
        assert_eq!(
            model.last().tools().contains(&"load_skill".to_owned()),
            offered,
            "{layout}"
        );
    }
}

/// OC-28, OC-34: the prompt has what the client declares at `initialize`, and nothing else of it.
#[test]
fn a_client_declares_what_it_can_say() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let segments = json!({ "tts": true, "heartbeat": "Answer HEARTBEAT_OK.", "reactions": false });
    let profile = Profile::rich().declaring(segments);
    let mut editor = stage.launch(&model).profile(profile).start();
    session(&mut editor, "openclaw", LOOSE);
    editor.run("hi");
    let system = model.last().system();
    assert!(system.contains("## Voice (TTS)\n"), "{system}");
    assert!(system.contains("## Heartbeats\nAnswer HEARTBEAT_OK."));
    assert!(!system.contains("## Reactions") && !system.contains("## Messaging"));
}

/// MC-02, MC-03, INV-9: SYSTEM_PROMPT.md is the first segment once its text is trusted.
#[test]
fn mini_takes_a_trusted_system_prompt() {
    let model = Model::says("ok");
    let stage = Stage::new(&format!("{TEXT}//- /SYSTEM_PROMPT.md\nYou are a pirate.\n"));
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini", LOOSE);
    editor.run("hi");
    assert!(model.last().system().starts_with("# 角色"));
    let file = stage.path("SYSTEM_PROMPT.md");
    let hash = crate::fixture::sha256("You are a pirate.\n");
    let params = json!({ "file": file, "hash": hash, "decision": "trust" });
    editor.request("interline/trust/set", params);
    model.allow_new_epoch();
    editor.run("again");
    assert!(model.last().system().starts_with("You are a pirate.\n"));
}

/// K12, K13: under the default layout changes are announced, and the prompt's bytes stay.
#[test]
fn the_default_layout_announces_what_changed() {
    let model = Model::steps(vec![Reply::read("a.txt").thinking("hm")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("hi");
    let system = model.last().system();
    assert!(system.contains("--- SOUL.md ---\nBe calm."));
    stage.write("SOUL.md", "Be merry.\n");
    let skill = stage.folder("config/interline").join("skills/ship");
    std::fs::create_dir_all(&skill).expect("made");
    let text = "---\nname: ship\ndescription: Ships it.\n---\nRun make.\n";
    std::fs::write(skill.join("SKILL.md"), text).expect("written");
    editor.run("again");
    let prompt = model.last().appended_text();
    assert!(
        prompt.contains("Be merry.") && prompt.contains("- ship: Ships it."),
        "{prompt}"
    );
    assert_eq!(model.last().system(), system);
}

/// ET-44: the user's command changes segments, adds one, and the preview shows the same.
#[test]
fn the_transform_command_changes_the_prompt() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let script = "#!/bin/sh\ncat >/dev/null\nprintf '%s' '{\"segments\":[{\"id\":\"soul\",\
        \"text\":\"Be quick.\"},{\"id\":\"editing\",\"text\":\"\"},{\"id\":\"house\",\"text\":\"No tabs.\"}]}'\n";
    let path = stage.folder("config/interline").join("change");
    std::fs::create_dir_all(stage.folder("config/interline")).expect("made");
    std::fs::write(&path, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("set");
    let command = json!({ "transform": [path] });
    let mut editor = stage.launch(&model).user_setting("prompt", command).start();
    let params = editor.turn_params("hi");
    preview_holds(&mut editor, &model, params);
    let system = model.last().system();
    assert!(
        system.contains("Be quick.") && !system.contains("Be calm."),
        "{system}"
    );
    assert!(system.ends_with("No tabs.") && !system.contains("# Editing"));
}

/// A sixth layout: one file in the override folder of the built binary.
#[test]
fn a_custom_layout_is_one_file() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let layouts = stage.folder("config/interline").join("prompts/layouts");
    std::fs::create_dir_all(&layouts).expect("made");
    let mine = "[[segment]]\nid = \"soul\"\nslot = \"system\"\n\
        params = { builder = \"file\", files = [\"SOUL.md\"] }\n";
    std::fs::write(layouts.join("mine.toml"), mine).expect("written");
    let mut editor = stage.editor(&model);
    session(&mut editor, "mine", LOOSE);
    let params = editor.turn_params("hi");
    preview_holds(&mut editor, &model, params);
    assert_eq!(model.last().system(), "--- SOUL.md ---\nBe calm.");
}

/// OC-55: marks that the prompt demands are removed from an answer, however it is split; the
/// model's own text goes back to it unchanged.
#[test]
fn demanded_marks_are_no_text() {
    let replies = [
        "[[reply_to_current]] Hello **you**.\n__SILENT__",
        "HEARTBEAT_OK",
        "The word `__SILENT__` in the middle.",
    ];
    let steps = replies.map(|text| Reply::text(text).in_pieces(3)).to_vec();
    let model = Model::plays(steps);
    let stage = Stage::new(TEXT);
    let segments = json!({
        "replyTags": true, "silentReplies": true, "heartbeat": "Answer HEARTBEAT_OK.",
    });
    let profile = Profile::rich().declaring(segments);
    let mut editor = stage.launch(&model).profile(profile).start();
    session(&mut editor, "openclaw", LOOSE);
    let turns: Vec<Turn> = (0..3).map(|_| editor.run("hi")).collect();
    let item = |n: usize| turns[n].of("text")[0].clone();
    let deltas = |n: usize| -> String {
        let texts = turns[n].of("textDelta").into_iter();
        texts.filter_map(|delta| delta["text"].as_str()).collect()
    };
    assert_eq!(
        (&item(0)["text"], &item(0)["replyTo"]),
        (&json!("Hello **you**."), &json!("current"))
    );
    assert_eq!(
        (&item(1)["text"], &item(1)["signal"]),
        (&json!(""), &json!("heartbeat"))
    );
    assert_eq!(item(2)["text"], replies[2]);
    let shown = ["Hello **you**.", "", replies[2]].map(str::to_owned);
    assert_eq!([deltas(0), deltas(1), deltas(2)], shown);
    let sent = model.last().raw_text();
    assert!(
        sent.contains("[[reply_to_current]] Hello **you**.\\n__SILENT__"),
        "{sent}"
    );
    let demanded = json!(turns.iter().map(Turn::text).collect::<Vec<_>>());
    assert_eq!(demanded, json!(shown));
}

/// OC-55: thoughts between the tags that the setting asks for are thoughts.
#[test]
fn demanded_thoughts_are_thoughts() {
    let answer = "<think>It is short.</think>\n<final>Yes.</final>";
    let model = Model::plays(vec![Reply::text(answer).in_pieces(4)]);
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let switched = json!({ "segments": { "reasoningFormat": true } });
    let mut editor = launch.user_setting("prompt", switched).start();
    session(&mut editor, "openclaw", LOOSE);
    let turn = editor.run("is it?");
    assert!(model.last().system().contains("## Reasoning Format"));
    assert_eq!(turn.of("text")[0]["text"], "Yes.");
    assert_eq!(turn.of("thought")[0]["text"], "It is short.");
    assert_eq!(turn.text(), "Yes.");
}

/// ZY-62, ZY-63: the tools that show things are offered to clients that declared them, and no
/// others.
#[test]
fn pictures_and_files_go_to_clients_that_can_show_them() {
    let names = |model: &Model| -> Vec<String> {
        let body = model.request(0).body().clone();
        let tools = body["tools"].as_array().expect("tools").iter();
        tools
            .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
            .collect()
    };
    let stage = Stage::new(TEXT);
    std::fs::write(stage.path("dot.png"), b"\x89PNG\r\n\x1a\nrest").expect("a picture");
    let model = Model::steps(vec![
        Reply::call("show_image", json!({ "path": "dot.png" }))
            .and_call("send_file", json!({ "path": "a.txt" })),
    ]);
    let profile = Profile::rich().declaring(json!({ "images": true, "fileSend": true }));
    let mut editor = stage.launch(&model).profile(profile).start();
    let turn = editor.run("show it");
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    assert_eq!(turn.of("image")[0]["data"], "iVBORw0KGgpyZXN0");
    assert_eq!(turn.of("file")[0]["name"], "a.txt");
    let log = std::fs::read_to_string(&stage.logs()[0]).expect("a log");
    assert!(log.contains("dot.png") && !log.contains("iVBORw0KGgpyZXN0"));
    let model = Model::says("ok");
    let mut editor = Stage::new(TEXT).editor(&model);
    editor.run("hi");
    assert!(
        !names(&model)
            .iter()
            .any(|name| name == "show_image" || name == "send_file")
    );
}
