//! Servers and watchers: commands that outlive their turn but not their session.

use serde_json::{Value, json};

use crate::editor::process::{lives, until_dead};
use crate::editor::{Approval, Editor, LIMIT};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply, RequestView};

const TEXT: &str = "//- /a.txt\nx\n";
const SERVER: &str = "sleep 300 & echo $! > pid.tmp; mv pid.tmp pid; echo up; wait";

fn start(command: &str) -> Reply {
    Reply::call("exec", json!({ "command": command, "background": true }))
}

/// The item id that the start reported, taken from the conversation.
fn item(request: &RequestView) -> Value {
    let text = request.raw_text();
    let (_, rest) = text.split_once("as item ").expect("a start");
    let item = rest.split('.').next().expect("an item");
    item.into()
}

/// Waits until the next request would report an end.
fn until_news(editor: &mut Editor, words: &str) {
    let params = editor.turn_params("and?");
    editor.until("the news", |editor| {
        let next = editor.preview(&params)["request"]["body"].to_string();
        next.contains(words).then_some(())
    });
}

/// An editor whose session runs [`SERVER`] in the background, and the id of its inner process.
fn serving(stage: &Stage, model: &Model) -> (Editor, u32) {
    let mut editor = stage.editor(model);
    editor.approvals(&[Approval::Allow]);
    assert_eq!(editor.run("serve").statuses(), ["completed"]);
    let pid = editor.until("the server", |_| stage.number("pid"));
    (editor, pid)
}

/// INV-8: one approval, for the start; reading and stopping need none.
#[test]
fn a_server_outlives_its_turn_and_is_read_and_stopped_by_item_id() {
    let model = Model::start(|request| match request.n {
        0 => start(SERVER),
        2 => Reply::call(
            "exec",
            json!({ "read": item(request), "timeout_ms": 60_000 }),
        ),
        3 => Reply::call("exec", json!({ "stop": item(request) })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let (mut editor, pid) = serving(&stage, &model);
    assert!(
        editor.script.asked[0]
            .to_string()
            .contains("background\":true")
    );
    assert!(lives(pid));
    assert_eq!(editor.run("stop it").statuses(), ["completed", "completed"]);
    assert_eq!(model.request(3).result(), "Still running.\nup");
    let words = model.request(4).result();
    assert!(words.starts_with("Stopped, with everything"), "{words}");
    assert!(!lives(pid));
}

#[test]
fn the_model_hears_that_a_command_ended_by_itself() {
    let model = Model::start(|request| match request.n {
        0 => start("while [ ! -e go ]; do sleep 0.05; done; exit 3"),
        2 => Reply::call(
            "exec",
            json!({ "read": item(request), "timeout_ms": 60_000 }),
        ),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.run("watch");
    assert!(!model.last().raw_text().contains("ended ("));
    stage.write("go", "");
    until_news(&mut editor, "Exit code 3");
    editor.run("and?");
    let heard = model.request(2).last_user_text();
    assert!(heard.contains("): Exit code 3. Read the item"), "{heard}");
    editor.run("again");
    assert_eq!(model.last().raw_text().matches("): Exit code 3").count(), 1);
}

/// A command that ended between two turns is reported at the start of the next, and only once.
#[test]
fn an_end_between_turns_is_reported_once_in_the_next() {
    let model = Model::start(|request| match request.n {
        0 => start("while [ ! -e go ]; do sleep 0.05; done; exit 3"),
        2 => Reply::read("a.txt"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.run("watch");
    stage.write("go", "");
    until_news(&mut editor, "Exit code 3");
    editor.run("and?");
    assert_eq!(model.count(), 4);
    assert_eq!(model.last().raw_text().matches("): Exit code 3").count(), 1);
}

/// INV-11: the turn's own commands go with it, those of earlier turns stay.
#[test]
fn inv11_cancel_kills_what_the_turn_started_in_the_background() {
    let held = Gate::default();
    let model = Model::start(move |request| match request.n {
        0 => start(SERVER),
        2 => start("echo $$ > pid2.tmp; mv pid2.tmp pid2; sleep 300"),
        3 => Reply::text("never").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let (mut editor, kept) = serving(&stage, &model);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("more");
    let gone: u32 = editor.until("the second", |_| stage.number("pid2"));
    editor.until_asked(&model, 4);
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    until_news(&mut editor, "Stopped, with everything it started");
    assert!(!lives(gone) && lives(kept));
}

/// INV-11, with the session; another session's server stays.
#[test]
fn inv11_a_closed_session_leaves_no_process() {
    let model = Model::steps(vec![start(SERVER)]);
    let stage = Stage::new(TEXT);
    let (mut editor, pid) = serving(&stage, &model);
    let session = editor.session();
    std::fs::remove_file(stage.path("pid")).unwrap();
    editor.new_session(json!({}));
    editor.approvals(&[Approval::Allow]);
    editor.run("serve");
    let other = editor.until("the server", |_| stage.number("pid"));
    editor.request("interline/session/close", json!({ "sessionId": session }));
    assert!(!lives(pid) && lives(other));
}

/// INV-11, E05: with the server.
#[test]
fn inv11_the_end_of_the_server_ends_what_runs_in_the_background() {
    let model = Model::steps(vec![start(SERVER)]);
    for polite in [true, false] {
        let stage = Stage::new(TEXT);
        let (mut editor, pid) = serving(&stage, &model);
        if polite {
            assert_eq!(editor.quit(), 0);
        } else {
            editor.process.close_stdin();
            editor.process.wait(LIMIT);
        }
        until_dead(pid);
    }
}

/// E05, INV-11: when the server is killed, another process of ours ends the commands of the running
/// turn and those in the background.
#[test]
fn inv11_a_server_that_is_killed_leaves_no_command() {
    let inner = "sleep 300 & echo $! > pid2.tmp; mv pid2.tmp pid2; wait";
    let model = Model::plays(vec![start(SERVER), Reply::text("ok"), Reply::exec(inner)]);
    let stage = Stage::new(TEXT);
    let (mut editor, pid) = serving(&stage, &model);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("more");
    let second: u32 = editor.until("the second", |_| stage.number("pid2"));
    editor.process.kill();
    until_dead(pid);
    until_dead(second);
}
