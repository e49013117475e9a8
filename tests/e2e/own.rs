//! The opt-in tools: the agent changes its skills, variables, name and soul, works in projects,
//! reads settings; and an agent that is confined to one folder.

use serde_json::json;

use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::terminal::{NOWHERE, interline, text};

const SKILL: &str = "---\nname: pdf\ndescription: Fills forms.\n---\nUse fill.py.\n";
const VALUE: &str = "npm-hunter2-5b1f0c9d";

/// The next turn, whose prompt a layout that is rendered again may change.
fn next(editor: &mut Editor, model: &Model, approvals: &[Approval]) -> String {
    editor.approvals(approvals);
    model.allow_new_epoch();
    let turn = editor.run("go on");
    assert_eq!(turn.stop_reason(), "endTurn");
    model.last().system()
}

/// ZY-64: an installed skill is in the next turn's prompt, and gone after it is removed.
#[test]
fn zy64_a_skill_comes_and_goes_with_the_next_turn() {
    let model = Model::start(|request| match request.n {
        0 => Reply::call("self_install_skill", json!({ "path": "pdf" })),
        3 => Reply::call("self_uninstall_skill", json!({ "name": "pdf" })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    stage.write("pdf/SKILL.md", SKILL);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive" }));
    assert!(!next(&mut editor, &model, &[Approval::Allow]).contains("Use fill.py."));
    let subject = editor.script.asked[0]["subject"].clone();
    assert_eq!(
        (&subject["kind"], &subject["key"]),
        (&json!("setting"), &json!("skills.pdf"))
    );
    assert!(next(&mut editor, &model, &[]).contains("Use fill.py."));
    next(&mut editor, &model, &[Approval::Allow]);
    assert!(!next(&mut editor, &model, &[]).contains("Use fill.py."));
    assert!(!stage.folder("config/interline/skills/pdf").exists());
}

/// ZY-64: one answer removes a skill and installs its new version, in this order.
#[test]
fn a_skill_is_replaced_by_one_answer() {
    let install = json!({ "path": "pdf" });
    let replace = Reply::call("self_uninstall_skill", json!({ "name": "pdf" }))
        .and_call("self_install_skill", install.clone());
    let model = Model::start(move |request| match request.n {
        0 => Reply::call("self_install_skill", install.clone()),
        2 => replace.clone(),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    stage.write("pdf/SKILL.md", SKILL);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive" }));
    next(&mut editor, &model, &[Approval::Allow]);
    stage.write("pdf/SKILL.md", SKILL.replace("fill.py", "stamp.py"));
    editor.approvals(&[Approval::Allow; 2]);
    model.allow_new_epoch();
    assert_eq!(editor.run("replace it").statuses(), ["completed"; 2]);
    assert!(next(&mut editor, &model, &[]).contains("Use stamp.py."));
}

/// ZY-65, ZY-18, ZY-19, INV-10: the name is in the prompt, the value in commands only.
#[test]
fn zy65_a_private_variable_is_shown_by_name_and_used_by_value() {
    let model = Model::start(|request| match request.n {
        0 => Reply::call(
            "self_set_env",
            json!({ "name": "NPM_TOKEN", "value": VALUE }),
        ),
        2 => Reply::exec("printf %s \"$NPM_TOKEN\" > out.txt"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    let session = editor.new_session(json!({ "layout": "zyhive" }));
    next(&mut editor, &model, &[Approval::Allow]);
    // A value that streams in pieces is not shown in pieces either.
    assert!(!format!("{:?}", editor.notes).contains("toolInputDelta"));
    let system = next(&mut editor, &model, &[Approval::Allow]);
    assert!(system.contains("## 可用环境变量") && system.contains("\n- NPM_TOKEN"));
    assert!(!system.contains(VALUE));
    assert_eq!(stage.read("out.txt"), VALUE);
    let items = editor.request("interline/session/open", json!({ "sessionId": session }));
    let seen = format!("{:?}{:?}{items}", editor.notes, editor.script.asked);
    assert!(seen.contains("(not shown)") && !seen.contains(VALUE));
}

/// ZY-66: the name and the soul of the next turn's prompt.
#[test]
fn zy66_the_agent_gets_a_name_and_a_soul() {
    let model = Model::start(|request| match request.n {
        0 => Reply::call("self_rename", json!({ "name": "Ada" }))
            .and_call("self_update_soul", json!({ "text": "Be brief.\n" })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /SOUL.md\nBe loud.\n");
    let mut editor = stage.editor(&model);
    editor.open("SOUL.md");
    editor.new_session(json!({ "layout": "zyhive" }));
    let before = next(&mut editor, &model, &[Approval::Allow; 2]);
    assert!(before.contains("Be loud.") && before.contains("Agent: main"));
    assert_eq!(editor.text("SOUL.md"), "Be brief.\n");
    let after = next(&mut editor, &model, &[]);
    assert!(
        after.contains("Be brief.") && after.contains("Agent: Ada"),
        "{after}"
    );
    let doctor = text(&interline(&stage, NOWHERE, &["doctor"]));
    assert!(doctor.contains("main is called Ada"), "{doctor}");
}

/// ZY-67, ZY-67-C.
#[test]
fn zy67_a_project_is_made_and_written() {
    let page = json!({ "project": "site", "path": "index.md", "content": "Hi\n" });
    let model = Model::steps(vec![
        Reply::call("project_create", json!({ "name": "site" })),
        Reply::call("project_write", page),
        Reply::call("project_list", json!({})),
    ]);
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive" }));
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("make a site");
    assert_eq!(turn.statuses(), ["completed"; 3]);
    assert!(turn.text().contains("- site (id: "), "{}", turn.text());
    assert_eq!(editor.text("site/index.md"), "Hi\n");
}

/// OC-18: offered by the layout, needs approval, and lasts for the session.
#[test]
fn oc18_a_setting_is_narrowed_for_the_session() {
    let set = json!({ "action": "set", "key": "mode", "value": "plan" });
    let layout = json!({ "action": "set", "key": "layout", "value": "default" });
    let model = Model::start(move |request| match request.n {
        0 => Reply::call("settings", set.clone()).and_call("settings", layout.clone()),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "openclaw" }));
    let system = next(&mut editor, &model, &[Approval::Allow; 2]);
    assert!(system.contains("Self-Update") && system.contains("- settings: "));
    next(&mut editor, &model, &[]);
    assert!(!model.last().tools().contains(&"settings".to_owned()));
    assert!(model.last().raw_text().contains("Mode: plan"));
}

/// OC-18: a limit that was set for the session applies to its next turn.
#[test]
fn oc18_a_limit_that_was_set_for_the_session_ends_a_turn() {
    let set = json!({ "action": "set", "key": "limits.steps", "value": 2 });
    let model = Model::start(move |request| match request.n {
        0 => Reply::call("settings", set.clone()),
        1 => Reply::text("ok"),
        n => Reply::call("glob", json!({ "pattern": format!("*{n}") })),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "openclaw" }));
    editor.approvals(&[Approval::Allow]);
    assert_eq!(editor.run("be quick").statuses(), ["completed"]);
    assert_eq!(editor.run("loop").stop_reason(), "maxSteps");
    assert_eq!(model.count(), 4);
}

/// A call of a tool that is not offered is refused as unknown.
#[test]
fn an_opt_in_tool_that_nobody_asked_for_is_unknown() {
    let set = json!({ "name": "NPM_TOKEN", "value": VALUE });
    let model = Model::calls("self_set_env", set);
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    let turn = editor.run("keep it");
    assert!(
        !model
            .last()
            .tools()
            .iter()
            .any(|tool| tool.starts_with("self_"))
    );
    assert!(
        turn.text().contains("there is no tool `self_set_env`"),
        "{}",
        turn.text()
    );
    assert!(!format!("{:?}", editor.notes).contains(VALUE));
}

/// ZY-68.
#[test]
fn zy68_a_confined_agent_stays_in_its_folder() {
    let model = Model::start(|request| match request.n {
        0 => Reply::read("a.txt")
            .and_call("read", json!({ "path": "skills/pdf/SKILL.md" }))
            .and_call("exec", json!({ "command": "touch made" })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    stage.write("skills/pdf/SKILL.md", SKILL);
    let agents = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let agent = "---\nconfine: skills/pdf\n---\nMake the skill.";
    std::fs::write(agents.join("studio.md"), agent).unwrap();
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive", "agent": "studio" }));
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["rejected", "completed", "failed"]);
    let tools = model.last().tools();
    assert!(
        !tools
            .iter()
            .any(|it| it == "exec" || it == "self_install_skill")
    );
    assert!(
        model
            .last()
            .raw_text()
            .contains("one folder only: skills/pdf")
    );
}

/// ZY-68: without a path it works in its folder, and it can leave nothing elsewhere: no memory, no
/// name, no project, no variable.
#[test]
fn zy68_a_confined_agent_leaves_nothing_outside() {
    let memory = json!({ "type": "fact", "scope": "user", "text": "Planted." });
    let model = Model::start(move |request| match request.n {
        0 => Reply::call("grep", json!({ "pattern": "x" }))
            .and_call("glob", json!({ "pattern": "**/*" }))
            .and_call("list", json!({}))
            .and_call("save_memory", memory.clone())
            .and_call("self_rename", json!({ "name": "Eve" }))
            .and_call("project_create", json!({ "name": "p" })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n//- /skills/pdf/b.txt\nx\n");
    let agents = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(
        agents.join("studio.md"),
        "---\nconfine: skills/pdf\n---\nMake it.",
    )
    .unwrap();
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zyhive", "agent": "studio" }));
    let turn = editor.run("go");
    let (done, failed) = (["completed"; 3], ["failed"; 3]);
    assert_eq!(turn.statuses(), [done, failed].concat());
    for (tool, text, _) in &model.last().results()[..3] {
        assert!(
            text.contains("b.txt") && !text.contains("a.txt"),
            "{tool}: {text}"
        );
    }
    let tools = model.last().tools();
    let writes = |it: &&String| it.starts_with("self_set") || it.starts_with("project_w");
    assert!(!tools.contains(&"save_memory".to_owned()) && !tools.iter().any(|it| writes(&it)));
    let kept = stage.folder("config/interline/memory");
    assert!(!kept.exists() && !stage.folder("config/interline/kept.json").exists());
}

/// ZE-63: the files that the session made, also after a restart.
#[test]
fn ze63_the_prompt_lists_what_was_made_after_a_restart_too() {
    let model = Model::start(|request| match request.n {
        0 => Reply::call(
            "write",
            json!({ "path": "src/new.rs", "content": "fn a() {}\n" }),
        ),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /src/old.rs\nx\n");
    let session = {
        let mut editor = stage.editor(&model);
        let session = editor.new_session(json!({ "layout": "zeus" }));
        next(&mut editor, &model, &[]);
        assert!(next(&mut editor, &model, &[]).contains("- src/new.rs"));
        editor.save("src/new.rs");
        session
    };
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    let system = next(&mut editor, &model, &[]);
    assert!(
        system.contains("- src/new.rs") && !system.contains("old.rs"),
        "{system}"
    );
}
