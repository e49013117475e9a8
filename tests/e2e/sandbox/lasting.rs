//! Rules that last and command lists: what a complete sandbox contains runs unasked by them, and
//! nothing else does.

use serde_json::json;

use super::world::{World, grade, printed};
use crate::editor::{Approval, Editor, Profile};
use crate::model::{Model, Reply};

const AUTO: &str = "sandbox.mode = \"auto\"\n";

/// A model that runs one command each turn.
fn repeats(command: &'static str) -> Model {
    Model::start(move |request| match request.n % 2 {
        0 => Reply::exec(command),
        _ => Reply::text("ok"),
    })
}

/// A world with a complete sandbox, if the machine has one.
fn world(settings: &str, model: &Model) -> Option<World> {
    let world = World::new(settings, model);
    let found = grade(&world);
    if found != "full" {
        println!("skipped: the sandbox is {found}");
        return None;
    }
    Some(world)
}

/// Runs a turn, in which the command asks as often as there are answers.
fn turn(editor: &mut Editor, answers: &[Approval]) {
    let before = editor.script.asked.len();
    editor.approvals(answers);
    editor.run("go");
    assert_eq!(editor.script.asked.len() - before, answers.len());
}

/// A43: what the choice shows is what is stored; it applies in later sessions, until it is removed.
#[test]
fn a43_a_lasting_rule_is_shown_stored_used_listed_and_removed() {
    let model = repeats("touch made");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    turn(&mut editor, &[Approval::AllowFolder]);
    let choice = editor.script.asked[0]["choices"][2].clone();
    assert_eq!(choice["rule"], "touch …");
    assert_eq!(choice["label"], "Always allow `touch …` in this folder");
    assert_eq!(editor.quit(), 0);
    let mut editor = world.editor(&model, &[]);
    turn(&mut editor, &[]);
    let listed = editor.request("interline/rules/list", json!({}));
    let folder = world.stage.root().display().to_string();
    let row = &listed["rules"][0];
    assert_eq!(
        (&row["rule"], &row["folder"]),
        (&json!("touch …"), &json!(folder))
    );
    let shown = printed(&world, &["rules"]);
    assert!(
        shown.starts_with(&format!("1  `touch …` in {folder}, since ")),
        "{shown}"
    );
    assert!(printed(&world, &["doctor"]).contains("1 rule that lasts"));
    editor.request("interline/rules/remove", json!({ "id": 1 }));
    turn(&mut editor, &[Approval::Reject]);
    assert_eq!(
        editor.request("interline/rules/list", json!({})),
        json!({ "rules": [] })
    );
}

/// A43: removed in a terminal, in all folders; by a client with messages only.
#[test]
fn a43_a_rule_for_all_folders_ends_when_it_is_removed_in_a_terminal() {
    let model = repeats("touch made");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let mut editor = world.launch(&model, &[]).profile(Profile::bare()).start();
    let ask = |editor: &mut Editor, requests| {
        editor.command("ask", json!({ "text": "go" }));
        editor.until_asked(&model, requests);
        editor.settle();
    };
    editor.approvals(&[Approval::AllowAlways]);
    ask(&mut editor, 2);
    ask(&mut editor, 4);
    let label = "Always allow `touch …` in all trusted folders";
    assert!(editor.script.asked[0].to_string().contains(label));
    assert_eq!(editor.script.asked.len(), 1);
    let removed = printed(&world, &["rules", "remove", "1"]);
    assert!(
        removed.contains("Removed 1  `touch …` in all trusted folders"),
        "{removed}"
    );
    assert!(printed(&world, &["rules", "remove", "1"]).contains("there is no rule 1"));
    editor.approvals(&[Approval::Reject]);
    ask(&mut editor, 6);
    assert_eq!(editor.script.asked.len(), 2);
}

/// A43, A27: a deny list of the editor's settings beats a stored rule, and their allow list is
/// ignored with a notice.
#[test]
fn a43_deny_beats_a_stored_rule_and_a_repository_allows_nothing() {
    let model = repeats("touch made");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    turn(&mut world.editor(&model, &[]), &[Approval::AllowAlways]);
    std::fs::remove_file(world.stage.path("made")).expect("a file");
    let lists = json!({ "deny": ["touch"], "allow": ["mkdir"] });
    let launch = world.launch(&model, &[]).setting("policy", lists);
    let mut editor = launch.start();
    turn(&mut editor, &[]);
    assert!(
        model
            .last()
            .result()
            .contains("settings forbid this command")
    );
    assert!(!world.stage.path("made").exists());
    let status = editor.status();
    let ignored = status["ignoredSettings"].to_string();
    assert!(ignored.contains("policy.allow"), "{ignored}");
    assert_eq!(status["policy"]["policy.deny"]["value"], json!(["touch"]));
}

#[test]
fn a43_an_allow_list_of_a_repository_runs_nothing_and_the_users_does() {
    let model = repeats("mkdir -p d && touch d/made | cat");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let lists = json!({ "allow": ["mkdir", "touch"] });
    let launch = world.launch(&model, &[]).setting("policy", lists.clone());
    turn(&mut launch.start(), &[Approval::Reject]);
    let launch = world.launch(&model, &[]).user_setting("policy", lists);
    turn(&mut launch.start(), &[]);
    assert!(world.stage.path("d/made").exists());
    let asks = json!({ "ask": ["touch"] });
    let launch = world.launch(&model, &[]).setting("policy", asks);
    let mut editor = launch.start();
    turn(&mut editor, &[Approval::Reject]);
    let reason = editor.script.asked[0]["reason"].to_string();
    assert!(reason.contains("setting `policy` asks"), "{reason}");
}

/// A43: no rule and no list applies without the sandbox, and none is offered.
#[test]
fn a43_without_the_sandbox_a_rule_neither_applies_nor_is_offered() {
    let model = repeats("touch made");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    turn(&mut world.editor(&model, &[]), &[Approval::AllowAlways]);
    let off = "sandbox.mode = \"off\"\npolicy.allow = [\"touch\"]\n";
    std::fs::write(world.stage.folder("config/interline/config.toml"), off).expect("a file");
    let mut editor = world.editor(&model, &[]);
    turn(&mut editor, &[Approval::Reject]);
    let choices = editor.script.asked[0]["choices"].as_array().map(Vec::len);
    assert_eq!(choices, Some(3));
}

/// A damaged file allows nothing, and is reported.
#[test]
fn a43_a_damaged_file_of_rules_allows_nothing_and_is_reported() {
    let model = repeats("touch made");
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    turn(&mut world.editor(&model, &[]), &[Approval::AllowAlways]);
    let file = world.stage.folder("state/interline/rules.json");
    let stored = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, stored.replace("touch", "touch; rm")).expect("a file");
    let mut editor = world.editor(&model, &[]);
    turn(&mut editor, &[Approval::Reject]);
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("allows nothing"), "{ignored}");
    assert!(printed(&world, &["doctor"]).contains("has a rule that is not valid"));
    let failed = editor.refused("interline/rules/list", json!({}));
    assert!(failed.to_string().contains("rules.json"), "{failed}");
}
