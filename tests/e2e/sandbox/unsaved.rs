//! Commands see what is on the screen: unsaved text in place of files, with nothing saved, and what
//! they write comes back as edits of the buffers.

use serde_json::{Value, json};

use super::AUTO;
use super::world::{World, grade, with_bwrap};
use crate::editor::{Approval, Editor};
use crate::model::{Model, Reply};

/// A world with `a.txt` ("x") open and changed to `text`. `None`: no complete sandbox here.
fn dirty(settings: &str, text: &str, commands: &[&str]) -> Option<(World, Model, Editor)> {
    let commands: Vec<String> = commands.iter().map(|it| (*it).to_owned()).collect();
    let answers = commands.len();
    let model = Model::start(move |request| match request.n % 2 {
        0 => Reply::exec(&commands[request.n / 2]),
        _ => Reply::text("ok"),
    });
    let world = World::new(&format!("{AUTO}{settings}"), &model);
    let found = grade(&world);
    if found != "full" {
        println!("skipped: the sandbox is {found}");
        return None;
    }
    let mut editor = world.editor(&model, &[]);
    type_over(&mut editor, text, answers);
    Some((world, model, editor))
}

/// Changes `a.txt`, and allows this many commands.
fn type_over(editor: &mut Editor, text: &str, answers: usize) {
    editor.open("a.txt");
    editor.replace("a.txt", "x", text);
    editor.approvals(&vec![Approval::Allow; answers]);
}

#[test]
fn a_command_sees_unsaved_text_and_nothing_is_saved() {
    let Some((world, model, mut editor)) = dirty("", "on screen", &["cat a.txt"]) else {
        return;
    };
    editor.run("show");
    let result = model.request(1).result();
    assert!(result.contains("\non screen\n"), "{result}");
    assert!(result.contains("unsaved text of: a.txt. The files on disk are unchanged"));
    assert_eq!(world.stage.read("a.txt"), "x\n");
    assert!(editor.script.saves.is_empty());
    let asked = &editor.script.asked[0];
    assert_eq!(asked["subject"]["sees"], json!([world.stage.uri("a.txt")]));
    assert_eq!(asked["subject"]["unsaved"], json!([]));
    let about = asked["about"].to_string();
    assert!(about.contains("Sees the unsaved text of: a.txt"), "{about}");
}

/// The same where only bwrap may create namespaces; and what the command writes comes back.
#[test]
fn bwrap_shows_unsaved_text_and_returns_what_a_command_writes() {
    let model = Model::steps(vec![
        Reply::exec("cat a.txt"),
        Reply::exec("sed s/screen/SCREEN/ a.txt > out && cat out > a.txt"),
    ]);
    let Some((_bwrap, world, mut editor)) = with_bwrap(&model) else {
        return;
    };
    type_over(&mut editor, "on screen", 2);
    editor.run("show and format");
    let result = model.request(1).result();
    assert!(result.contains("\non screen\n"), "{result}");
    assert_eq!(editor.text("a.txt"), "on SCREEN\n");
    assert_eq!(world.stage.read("a.txt"), "x\n");
}

/// A formatter: its change is an edit of the buffer, beside what was typed meanwhile, and is
/// reviewed like any other.
#[test]
fn what_a_command_writes_to_unsaved_text_is_an_edit_of_the_buffer() {
    let format = "sed s/screen/SCREEN/ a.txt > out && cat out > a.txt";
    let Some((world, model, mut editor)) = dirty("", "one\ntwo\non screen\nfour\nfive", &[format])
    else {
        return;
    };
    editor.before_edit(|editor| editor.prepend("a.txt", "typed\n"));
    let turn = editor.run("format");
    assert_eq!(
        editor.text("a.txt"),
        "typed\none\ntwo\non SCREEN\nfour\nfive\n"
    );
    assert_eq!(world.stage.read("a.txt"), "x\n");
    let result = model.request(1).result();
    assert!(result.contains("The command changed `a.txt`"), "{result}");
    let files = &turn.calls().last().expect("a call")["files"];
    assert_eq!(files[0]["uri"], world.stage.uri("a.txt"));
    let session = editor.session();
    let listed = editor.request("interline/review/list", json!({ "sessionId": session }));
    let hunk = &listed["hunks"][0];
    assert_eq!(
        (&hunk["state"], &hunk["author"]),
        (&json!("applied"), &json!("session"))
    );
    let revert = json!({ "sessionId": session });
    editor.request("interline/turn/revert", revert);
    assert_eq!(
        editor.text("a.txt"),
        "typed\none\ntwo\non screen\nfour\nfive\n"
    );
}

/// What cannot be an edit of the buffer fails, and the result says why.
#[test]
fn a_file_with_unsaved_text_is_neither_replaced_nor_removed() {
    let commands = ["echo new > b.txt; mv -f b.txt a.txt", "rm a.txt"];
    let Some((world, model, mut editor)) = dirty("", "on screen", &commands) else {
        return;
    };
    for turn in 0..2 {
        editor.run("go");
        let result = model.request(2 * turn + 1).result();
        assert!(
            result.contains("not replaced, renamed or removed"),
            "{result}"
        );
    }
    assert_eq!(editor.text("a.txt"), "on screen\n");
    assert_eq!(world.stage.read("a.txt"), "x\n");
}

/// Two writers of one place: the user's text stays.
#[test]
fn a_change_that_meets_the_users_typing_is_a_conflict() {
    let wait = "echo changed > a.txt; touch go; until test -e typed; do sleep 0.02; done";
    let Some((world, model, mut editor)) = dirty("", "on screen", &[wait]) else {
        return;
    };
    editor.prompt("go");
    let went = world.stage.path("go");
    editor.until("the command", |_| went.exists().then_some(()));
    editor.replace("a.txt", "screen", "paper");
    editor.settle();
    world.stage.write("typed", "");
    editor.wait_ended();
    assert_eq!(editor.text("a.txt"), "on paper\n");
    let result = model.request(1).result();
    assert!(result.contains("was not made in the editor"), "{result}");
}

/// A05: files that run later stay protected, and so does everything under `edits.review = "before"`.
#[test]
fn protected_files_with_unsaved_text_are_read_only() {
    let write = "cat sub/package.json; echo evil > sub/package.json; echo evil > a.txt";
    let before = "edits.review = \"before\"\n";
    let Some((world, model, mut editor)) = dirty(before, "on screen", &[write]) else {
        return;
    };
    editor.open("sub/package.json");
    editor.replace("sub/package.json", "{}", "{ }");
    editor.run("go");
    let result = model.request(1).result();
    assert!(result.contains("\n{ }\n"), "{result}");
    assert!(
        result.contains("are read-only: a.txt, sub/package.json"),
        "{result}"
    );
    assert_eq!(editor.text("sub/package.json"), "{ }\n");
    assert_eq!(editor.text("a.txt"), "on screen\n");
    assert_eq!(world.stage.read("sub/package.json"), "{}\n");
}

#[test]
fn a37_a_secrets_unsaved_text_stays_hidden() {
    let read = "cat .env; cat a.txt";
    let Some((_world, model, mut editor)) = dirty("", "on screen", &[read]) else {
        return;
    };
    editor.open(".env");
    editor.replace(".env", "TOKEN=x", "TOKEN=marker");
    editor.run("go");
    let result = model.request(1).result();
    assert!(
        result.contains("on screen") && !result.contains("marker"),
        "{result}"
    );
}

/// Build tools compare times: the same text keeps its time, and a text that was discarded makes
/// the file new again.
#[test]
fn a_build_tool_notices_each_change_of_the_text_once() {
    let commands = [
        "test a.txt -nt made || touch made; stat -c %y a.txt",
        "test a.txt -nt made && echo OLD; stat -c %y a.txt",
        "test a.txt -nt made && echo NEW; touch made",
        "test a.txt -nt made && echo AGAIN",
    ];
    let Some((world, model, mut editor)) = dirty("", "on screen", &commands) else {
        return;
    };
    editor.run("build");
    editor.run("build");
    editor.replace("a.txt", "on screen", "x");
    editor.run("build");
    editor.run("build");
    let results: Vec<String> = (0..4)
        .map(|turn| model.request(2 * turn + 1).result())
        .collect();
    let time = |result: &str| {
        result
            .lines()
            .find(|it| it.starts_with("20"))
            .map(str::to_owned)
    };
    assert_eq!(time(&results[0]), time(&results[1]), "{results:?}");
    assert!(!results[1].contains("OLD"), "{results:?}");
    assert!(results[2].contains("NEW"), "{results:?}");
    assert!(!results[3].contains("AGAIN"), "{results:?}");
    assert_eq!(world.stage.read("a.txt"), "x\n");
}

/// A command that the user did not approve must not write unsaved text to disk.
#[test]
fn a_command_that_only_reads_asks_if_something_would_be_saved_first() {
    let call = json!({ "command": "cat a.txt", "background": true });
    let model = Model::calls("exec", call);
    let settings = "approvals = \"edits\"\nsandbox.mode = \"auto\"\n";
    let world = World::new(settings, &model);
    if grade(&world) != "full" {
        println!("skipped: the sandbox is not complete");
        return;
    }
    let mut editor = world.editor(&model, &[]);
    editor.open("a.txt");
    editor.run("show");
    assert!(editor.script.asked.is_empty(), "{:?}", editor.script.asked);
    editor.replace("a.txt", "x", "on screen");
    editor.approvals(&[Approval::Reject]);
    editor.run("show");
    assert_eq!(editor.script.asked.len(), 1);
    assert_eq!(world.stage.read("a.txt"), "x\n");
}

/// The setting, and commands that may outlive the text, keep the barrier of saving.
#[test]
fn files_are_saved_first_on_request_and_for_background_commands() {
    let Some((world, model, mut editor)) =
        dirty("exec.overlay = false\n", "on screen", &["cat a.txt"])
    else {
        return;
    };
    editor.run("show");
    assert!(model.request(1).result().contains("on screen"));
    assert_eq!(world.stage.read("a.txt"), "on screen\n");
    let call = json!({ "command": "cat a.txt", "background": true });
    let model = Model::calls("exec", call);
    let world = World::new(AUTO, &model);
    let mut editor = world.editor(&model, &[]);
    editor.open("a.txt");
    editor.replace("a.txt", "x", "on screen");
    editor.approvals(&[Approval::Allow]);
    editor.run("show");
    let saved: &Value = &editor.script.saves[0]["uris"];
    assert_eq!(*saved, json!([world.stage.uri("a.txt")]));
}
