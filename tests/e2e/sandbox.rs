//! Commands in the sandbox, run by the real program under an ordinary user id: for root the proof
//! would be worthless. What a machine cannot do is printed with its reason.

mod escalation;
mod lasting;
mod processes;
mod tasks;
mod unsaved;
mod world;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::editor::{Approval, Editor};
use crate::model::{Model, Reply};
use world::{
    Escape, PrivilegedBwrap, World, contents, escaped, escapes, grade, outputs, program, running,
    with_bwrap, without_namespaces,
};

/// Each command asks, also one that only reads.
const AUTO: &str = "approvals = \"ask\"\nsandbox.mode = \"auto\"\n";

/// The programs that this machine's sandbox must hold, and whether it is complete. `None`: there is
/// no sandbox.
fn held(all: &[Escape]) -> Option<(Vec<&Escape>, bool)> {
    let found = grade(&World::new(AUTO, &Model::says("ok")));
    let full = found == "full";
    if found.starts_with("none") {
        println!("skipped: no sandbox on this machine: {found}");
        return None;
    }
    for skipped in all.iter().filter(|it| !full && it.full) {
        println!("skipped: {}: the sandbox is {found}", skipped.name);
    }
    Some((all.iter().filter(|it| full || !it.full).collect(), full))
}

/// A53, A05, A06, A09, A11, A15, A37: no program leaves the sandbox, and what each one tried has
/// not happened.
#[test]
fn a53_no_program_leaves_the_sandbox() {
    let all = escapes();
    let Some((tried, full)) = held(&all) else {
        return;
    };
    let model = running(&tried);
    let mut world = World::new(AUTO, &model);
    let before = around(&world);
    let mut editor = world.editor(&model, &[]);
    nothing_escapes(&mut world, &mut editor, &model, &tried, (before, full));
}

type Contents = Vec<(PathBuf, Vec<(PathBuf, Vec<u8>)>)>;

/// The folders that no command may change, with what is in them.
fn around(world: &World) -> Contents {
    let folders = ["out", "home", "work/.git", "work/sub"].map(|name| world.stage.folder(name));
    folders
        .map(|folder| (folder.clone(), contents(&folder)))
        .into()
}

fn nothing_escapes(
    world: &mut World,
    editor: &mut Editor,
    model: &Model,
    tried: &[&Escape],
    (before, full): (Contents, bool),
) {
    let outputs = outputs(editor, model, tried.len());
    let escaped = escaped(tried, &outputs);
    assert!(escaped.is_empty(), "{escaped:#?}");
    let not_run = |output: &&String| output.contains("was not run");
    assert_eq!(outputs.iter().find(not_run), None);
    assert!(world.outside_lives());
    for (folder, before) in before {
        let held = full || !folder.starts_with(world.stage.folder("work"));
        assert!(!held || contents(&folder) == before, "{}", folder.display());
    }
    for name in [".vscode", ".envrc", ".interline", ".claude"] {
        assert!(!full || !world.stage.path(name).exists(), "{name} stays");
    }
}

/// A53, A05, A06, A37: where only bwrap may create namespaces, no program leaves the sandbox either.
#[test]
fn a53_no_program_leaves_the_sandbox_of_bwrap() {
    let all = escapes();
    let tried: Vec<&Escape> = all.iter().collect();
    let model = running(&tried);
    let Some((_bwrap, mut world, mut editor)) = with_bwrap(&model) else {
        return;
    };
    let before = around(&world);
    nothing_escapes(&mut world, &mut editor, &model, &tried, (before, true));
    assert_eq!(editor.status()["sandbox"], "full");
}

/// A26: a bwrap that the user could have put into `PATH` is passed over.
#[test]
fn a26_a_bwrap_of_the_users_is_not_started() {
    let Some(bwrap) = PrivilegedBwrap::new() else {
        return;
    };
    let model = Model::steps(vec![Reply::exec("echo in > inside")]);
    let world = World::new(AUTO, &model);
    let (folder, ran) = (world.stage.folder("out"), world.stage.folder("out/ran"));
    program(
        &folder.join("bwrap"),
        &format!("echo x > {}", ran.display()),
    );
    let mut editor = world.launch_by(bwrap.words_after(&folder), &model).start();
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    assert!(!ran.exists() && world.stage.path("inside").exists());
    assert_eq!(editor.status()["sandbox"], "full");
}

/// The programs above do succeed where nothing stops them: else the story would prove nothing.
/// Machines differ in what they allow an ordinary user.
#[test]
fn the_same_programs_succeed_without_a_sandbox() {
    let all = escapes();
    assert!(all.len() >= 40, "{}", all.len());
    let tried: Vec<&Escape> = all.iter().filter(|it| it.control).collect();
    let model = running(&tried);
    let world = World::new("sandbox.mode = \"off\"\n", &model);
    let mut editor = world.editor(&model, &[]);
    let outputs = outputs(&mut editor, &model, tried.len());
    let escaped = escaped(&tried, &outputs);
    for escape in &tried {
        if !escaped.iter().any(|(name, _)| *name == escape.name) {
            println!("this machine holds it anyway: {}", escape.name);
        }
    }
    assert!(escaped.len() >= 30, "{escaped:?}");
}

const WORK: [&str; 7] = [
    "echo one > new.txt && mkdir -p d/e && mv new.txt d/e && cat d/e/new.txt",
    "f=$(mktemp) && echo two > $f && cat $f && echo $TMPDIR",
    "perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, \
        LocalAddr => \"127.0.0.1\"); $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", \
        PeerPort => $l->sockport); print \"connected\" if $c'",
    "test -w /dev/null || echo no null; git -c user.name=a -c user.email=a@b commit -q \
        --allow-empty -m committed; git log --format=%s",
    "exit 7",
    "kill -9 $$",
    "sleep 300 & echo started",
];

fn working() -> Model {
    Model::start(|request| match request.n % 2 {
        0 => Reply::exec(WORK[request.n / 2]),
        _ => Reply::text("ok"),
    })
}

/// Honest work is not disturbed: files, its own temporary folder, a server on its own loopback,
/// commits, exit codes, what it leaves.
#[test]
fn a_confined_command_can_work() {
    let model = working();
    let world = World::new(AUTO, &model);
    let grade = grade(&world);
    works(&mut world.editor(&model, &[]), &model, &grade);
}

/// The same where only bwrap may create namespaces.
#[test]
fn a_command_that_bwrap_confines_can_work() {
    let model = working();
    if let Some((_bwrap, _world, mut editor)) = with_bwrap(&model) {
        works(&mut editor, &model, "full");
    }
}

fn works(editor: &mut Editor, model: &Model, grade: &str) {
    let shown = outputs(editor, model, WORK.len());
    for (at, expected) in [(0, "one"), (1, "two"), (4, "7"), (5, "9")] {
        assert!(shown[at].contains(expected), "{shown:?}");
    }
    if grade != "full" {
        println!("skipped: the loopback, what is left: the sandbox is {grade}");
        return;
    }
    for (at, expected) in [(1, "/interline-"), (2, "connected"), (6, "were stopped")] {
        assert!(shown[at].contains(expected), "{shown:?}");
    }
    match shown[3].contains("no null") {
        true => println!("skipped: git needs a writable /dev/null"),
        false => assert!(shown[3].contains("committed"), "{shown:?}"),
    }
}

/// Without any settings, commands are confined as far as the machine allows.
#[test]
fn commands_are_confined_by_default() {
    let model = Model::steps(vec![Reply::exec("echo out > ../out/new")]);
    let world = World::new("", &model);
    let found = grade(&world);
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    let word = found.split(':').next().unwrap_or_default();
    assert_eq!(editor.status()["sandbox"], word);
    assert_eq!(world.stage.folder("out/new").exists(), word == "none");
}

/// OC-22: the grade is in the status, the approval and the prompt.
#[test]
fn the_grade_is_shown() {
    let model = Model::steps(vec![Reply::exec("touch new")]);
    let world = World::new(AUTO, &model);
    let line = grade(&world);
    let word = line.split(':').next().unwrap_or_default();
    let launch = world.launch(&model, &[]);
    let mut editor = launch.setting("layout", json!("openclaw")).start();
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    assert_eq!(editor.status()["sandbox"], word);
    let reason = editor.script.asked[0]["reason"].to_string();
    let expected = match word {
        "full" => "Sandboxed: it can change only the workspace's folders",
        "partial" => "Partly sandboxed",
        _ => "Not sandboxed",
    };
    assert!(reason.contains(expected), "{reason}");
    let system = model.request(0).system();
    assert_eq!(
        system.contains("Commands run in a sandbox"),
        word != "none",
        "{system}"
    );
}

/// With `approvals = "auto"`, what a complete sandbox contains runs unasked; anything less asks. The
/// result names what was refused.
#[test]
fn what_the_sandbox_contains_runs_unasked_with_auto() {
    let model = Model::steps(vec![Reply::exec("echo in > inside; echo out > ../out/new")]);
    let world = World::new("approvals = \"auto\"\nsandbox.mode = \"auto\"\n", &model);
    let full = grade(&world) == "full";
    let mut editor = world.editor(&model, &[]);
    if !full {
        editor.approvals(&[Approval::Allow]);
    }
    editor.run("go");
    assert_eq!(editor.script.asked.is_empty(), full);
    assert_eq!(world.stage.read("inside"), "in\n");
    let result = model.request(1).result();
    let named = result.contains("may have refused this") && result.contains("../out/new");
    assert!(named || grade(&world).starts_with("none"), "{result}");
}

/// A command that only reads runs unasked in a complete sandbox; one of its parts that is not known
/// to only read makes it ask.
#[test]
fn a_command_that_only_reads_runs_unasked_in_a_complete_sandbox() {
    let model = Model::steps(vec![
        Reply::exec("ls | wc -l"),
        Reply::exec("ls | tee copy"),
    ]);
    let world = World::new("sandbox.mode = \"auto\"\n", &model);
    let full = grade(&world) == "full";
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow, Approval::Allow][usize::from(full)..]);
    editor.run("go");
    assert_eq!(editor.script.asked.len(), if full { 1 } else { 2 });
    assert!(model.request(1).result().contains("Exit code 0"));
    assert!(world.stage.path("copy").exists());
}

/// X06: where namespaces are forbidden, the sandbox is partial, and says so.
#[test]
fn x06_forbidden_namespaces_are_not_silently_accepted() {
    let model = Model::steps(vec![Reply::exec(
        "echo in > inside; echo out > ../out/outside || echo held",
    )]);
    let Some((world, mut editor)) = without_namespaces(AUTO, &model) else {
        return;
    };
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    let status: Value = editor.status()["sandbox"].clone();
    assert_eq!(status, json!("partial"));
    let reason = editor.script.asked[0]["reason"].to_string();
    assert!(reason.contains("Partly sandboxed"), "{reason}");
    assert!(world.stage.path("inside").exists());
    assert!(!world.stage.folder("out/outside").exists());
}

/// X06: with `required`, a command is refused and no one is asked.
#[test]
fn x06_a_required_sandbox_refuses_where_it_is_not_complete() {
    let model = Model::steps(vec![Reply::exec("echo x > inside")]);
    let settings = "sandbox.mode = \"required\"\n";
    let Some((world, mut editor)) = without_namespaces(settings, &model) else {
        return;
    };
    editor.run("go");
    let result = model.request(1).result();
    assert!(result.contains("requires a complete sandbox"), "{result}");
    assert!(!world.stage.path("inside").exists());
    assert!(editor.script.asked.is_empty());
}

/// A39: a command in a complete sandbox cannot read what `.interlineignore` excludes.
#[test]
fn a39_a_confined_command_cannot_read_what_is_excluded() {
    let program = "cat keep/* sub/a.csv; cp -r keep copy; grep -r zebra .; rm -rf copy; echo done";
    let model = Model::steps(vec![Reply::exec(program), Reply::exec(program)]);
    let world = World::new(AUTO, &model);
    if grade(&world) != "full" {
        println!("skipped: the sandbox is {}", grade(&world));
        return;
    }
    world.stage.write("keep/otter.md", "zebra MARKTEXT\n");
    world.stage.write("sub/a.csv", "zebra MARKTEXT\n");
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow, Approval::Allow]);
    editor.before_approval(|_| {});
    let list = world.stage.path(".interlineignore");
    editor.before_approval(move |_| std::fs::write(list, "/keep\n*.csv\n").expect("a list"));
    editor.run("go");
    let shown = |n: usize| model.request(n).result().contains("MARKTEXT");
    assert!(shown(1) && !shown(2), "{}", model.request(2).result());
    assert!(model.request(2).result().contains("done"));
}
