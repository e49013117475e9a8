//! A command that needs more than its sandbox asks the user, each time, with a reason.

use serde_json::{Value, json};

use super::AUTO;
use super::world::{World, grade};
use crate::editor::Approval;
use crate::model::{Model, Reply};

const OUT: &str = "echo out > ../out/new; cat ../out/new";

fn outside(command: &str) -> Reply {
    let reason = "It writes to the folder beside the workspace.";
    let call = json!({ "command": command, "sandbox": "outside", "reason": reason });
    Reply::call("exec", call)
}

/// `None`: no complete sandbox here.
fn world(settings: &str, model: &Model) -> Option<World> {
    let world = World::new(settings, model);
    let found = grade(&world);
    if found != "full" {
        println!("skipped: the sandbox is {found}");
        return None;
    }
    Some(world)
}

/// The result names what was refused; the model asks once, and the user sees the exact command, that
/// it runs outside the sandbox, and why. It is never remembered, not even with a rule.
#[test]
fn a_refused_command_runs_outside_once_the_user_agrees() {
    let model = Model::steps(vec![
        Reply::exec(OUT),
        outside(OUT),
        outside(OUT),
        Reply::exec(OUT),
    ]);
    let Some(world) = world("approvals = \"auto\"\nsandbox.mode = \"auto\"\n", &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow, Approval::Allow]);
    editor.run("go");
    let results: Vec<String> = (1..5).map(|n| model.request(n).result()).collect();
    assert!(results[0].contains("may have refused this"), "{results:?}");
    assert!(results[1].contains("code 0.\nout"), "{results:?}");
    assert!(results[3].contains("Read-only"), "{results:?}");
    assert_eq!(editor.script.asked.len(), 2);
    let asked = &editor.script.asked[0];
    assert_eq!(asked["title"], format!("Run outside the sandbox: {OUT}"));
    assert_eq!(asked["subject"]["sandbox"], "outside");
    assert_eq!(asked["subject"]["command"], OUT);
    let about = asked["about"].to_string();
    assert!(about.contains("Outside the sandbox, this once"), "{about}");
    assert!(about.contains("beside the workspace."), "{about}");
    let kinds: Vec<&Value> = choices(asked).iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["allowOnce", "rejectOnce"]);
}

fn choices(asked: &Value) -> &Vec<Value> {
    asked["choices"].as_array().expect("choices")
}

#[test]
fn a_refused_escalation_is_not_asked_again_in_its_turn() {
    let no_reason = json!({ "command": OUT, "sandbox": "outside" });
    let model = Model::steps(vec![
        Reply::call("exec", no_reason),
        outside(OUT),
        outside(OUT),
    ]);
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Reject]);
    editor.run("go");
    assert!(model.request(1).result().contains("needs `reason`"));
    let result = model.request(3).result();
    assert!(result.contains("Do not ask again"), "{result}");
    assert_eq!(editor.script.asked.len(), 1);
    assert!(!world.stage.folder("out/new").exists());
}

/// With the network, but still in the sandbox.
#[test]
fn one_command_gets_the_network_and_stays_confined() {
    let fetch = "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", \
        PeerPort => $ARGV[0]) ? \"CONNECTED\" : \"cut off\"' $(cat port); echo x > ../out/new";
    let reason = "It downloads.";
    let call = json!({ "command": fetch, "sandbox": "network", "reason": reason });
    let model = Model::steps(vec![Reply::exec(fetch), Reply::call("exec", call)]);
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow, Approval::Allow]);
    editor.run("go");
    assert!(model.request(1).result().contains("cut off"));
    let result = model.request(2).result();
    assert!(result.contains("CONNECTED"), "{result}");
    assert!(!world.stage.folder("out/new").exists());
    let title = editor.script.asked[1]["title"].to_string();
    assert!(title.contains("Run with the network: perl"), "{title}");
}

/// X06: a user who requires the sandbox is not asked to leave it.
#[test]
fn x06_a_required_sandbox_cannot_be_left() {
    let model = Model::steps(vec![outside(OUT)]);
    let Some(world) = world("sandbox.mode = \"required\"\n", &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    editor.run("go");
    let result = model.request(1).result();
    assert!(result.contains("allows no command outside"), "{result}");
    assert!(editor.script.asked.is_empty());
}

/// Build tools that keep a cache find a folder for it.
#[test]
fn a_cache_in_the_home_folder_is_kept_in_the_temporary_folder_instead() {
    let model = Model::steps(vec![Reply::exec(
        "mkdir -p $XDG_CACHE_HOME/tool && echo kept > $XDG_CACHE_HOME/tool/x && cat $TMPDIR/cache/tool/x",
    )]);
    let Some(world) = world(AUTO, &model) else {
        return;
    };
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    assert!(model.request(1).result().contains("\nkept"));
}
