//! Edits and what happens at the same moment: bursts, refusals, silence, other sessions, and files
//! whose text in the editor differs from the disk.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::profile::Conduct;
use crate::editor::{Editor, LIMIT, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};
use crate::text::Splice;

const REPEATED: &str = "//- /a.txt\naaaa\nbbbb\ncccc\ndddd";

/// Many cursors: one notification with insertions in the first line.
fn burst(editor: &mut Editor, count: usize) {
    let insertion = |start| Splice {
        start,
        end: start,
        new: "x".into(),
    };
    let uri = editor.uri("a.txt");
    let splices: Vec<Splice> = (0..count).map(|at| insertion(1 + at % 3)).collect();
    let mut splices = splices;
    splices.sort_by_key(|splice| splice.start);
    editor.change(&uri, &splices);
}

/// INV-3: the line is still there, whatever a diff of the texts suggests.
#[test]
fn a_refused_edit_in_a_burst_of_changes_is_never_reported_as_done() {
    for conduct in [Conduct::Refuses, Conduct::Ignores] {
        let model = Model::edits("a.txt", "bbbb\ncccc", "bbbb");
        let stage = Stage::new(REPEATED);
        let profile = Profile::plain().conducting(conduct);
        let mut editor = stage.launch(&model).profile(profile).start();
        editor.open("a.txt");
        editor.before_edit(|editor| burst(editor, 300));
        editor.prompt("shorten");
        let turn = editor.wait_ended_within(Duration::from_secs(30));
        assert_eq!(turn.statuses(), ["completed", "failed"], "{conduct:?}");
        assert!(editor.text("a.txt").ends_with("bbbb\ncccc\ndddd"));
        assert!(
            !turn.text().contains("in the same place"),
            "{}",
            turn.text()
        );
    }
}

#[test]
fn an_edit_lands_after_a_burst_of_three_hundred_changes_elsewhere() {
    let model = Model::edits("a.txt", "bbbb\ncccc", "bbbb");
    let stage = Stage::new(REPEATED);
    let profile = Profile::plain();
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.open("a.txt");
    editor.before_edit(|editor| burst(editor, 300));
    let turn = editor.run("shorten");
    assert_eq!(
        turn.statuses(),
        ["completed", "completed"],
        "{}",
        turn.text()
    );
    assert!(editor.text("a.txt").ends_with("a\nbbbb\ndddd"));
}

/// A change of more than 1 MiB is not recorded, so the outcome of the edit is unknown.
#[test]
fn after_a_change_too_large_to_record_the_outcome_is_unknown() {
    let model = Model::edits("a.txt", "bbbb\ncccc", "bbbb");
    let stage = Stage::new(REPEATED);
    let profile = Profile::plain().conducting(Conduct::Refuses);
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.open("a.txt");
    editor.before_edit(|editor| editor.prepend("a.txt", &"x".repeat(1_200_000)));
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    assert!(turn.text().contains("It is not known"), "{}", turn.text());
}

#[test]
fn a_text_that_occurs_twice_with_an_overlap_is_not_unique() {
    for (text, old) in [("0,\n0,\n0,\n", "0,\n0,\n"), ("}\n}\n}\n", "}\n}\n")] {
        let model = Model::edits("a.txt", old, "-");
        let stage = Stage::new("");
        stage.write("a.txt", text);
        let mut editor = stage.editor(&model);
        editor.open("a.txt");
        let turn = editor.run("go");
        assert_eq!(turn.statuses(), ["completed", "failed"]);
        assert!(turn.text().contains("occurs 2 times"), "{}", turn.text());
        assert_eq!(editor.text("a.txt"), text);
    }
}

#[test]
fn a_digit_typed_beside_the_edited_one_is_a_conflict() {
    let gate = Gate::default();
    let edit = Reply::edit("a.txt", "qty = 5", "qty = 6").after(&gate);
    let model = Model::steps(vec![Reply::read("a.txt"), edit]);
    let stage = Stage::new("//- /a.txt\nqty = 5\n");
    let mut editor = stage.editor(&model);
    let uri = editor.open("a.txt");
    editor.prompt("raise it");
    editor.until_asked(&model, 2);
    let (start, end) = (7, 7);
    let new = "5".into();
    editor.change(&uri, &[Splice { start, end, new }]);
    editor.settle();
    gate.open();
    assert_eq!(editor.wait_ended().statuses(), ["completed", "failed"]);
    assert_eq!(editor.text("a.txt"), "qty = 55\n");
}

#[test]
fn another_sessions_edit_is_not_reported_as_the_users() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| {
        let first = request.user_text().contains("first");
        match (request.step(), first) {
            (0, _) => Reply::read("a.txt"),
            (1, true) => Reply::edit("a.txt", "two", "second").after(&held),
            (1, false) => Reply::edit("a.txt", "two", "2"),
            _ => Reply::text(&format!("done: {}", request.result())),
        }
    });
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let slow = editor.prompt("first");
    editor.until_asked(&model, 2);
    editor.new_session(json!({}));
    assert_eq!(editor.run("other").statuses(), ["completed", "completed"]);
    gate.open();
    let turn = editor.wait_for_turn(&slow, LIMIT);
    let reason = "another agent session changed a.txt in the same place";
    assert!(turn.text().contains(reason), "{}", turn.text());
    assert_eq!(editor.text("a.txt"), "one\n2\n");
}

/// A prompt names the other session that changed a file since this one read it.
#[test]
fn a_prompt_names_another_session_that_changed_a_file() {
    let model = Model::start(|request| match request.n {
        0 | 2 => Reply::read("a.txt"),
        3 => Reply::edit("a.txt", "two", "2"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let first = editor.session();
    editor.run("look");
    editor.new_session(json!({}));
    assert_eq!(editor.run("change").statuses(), ["completed", "completed"]);
    editor.run("more");
    assert!(!model.last().last_user_text().contains("Changed by"));
    editor.resume(&first);
    editor.run("and now?");
    let prompt = model.last().last_user_text();
    assert!(
        prompt.contains("Changed by another agent session:"),
        "{prompt}"
    );
}

/// The client swallows one edit: the next one for the same version goes through.
#[test]
fn an_edit_that_is_never_answered_does_not_block_the_file() {
    let edits = Reply::edit("a.txt", "one", "1");
    let second = Reply::edit("a.txt", "two", "2");
    let model = Model::steps(vec![Reply::read("a.txt"), edits, second]);
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let profile = Profile::plain().conducting(Conduct::Ignores);
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.open("a.txt");
    editor.prompt("digits");
    editor.until("the first edit", |editor| {
        (!editor.script.edits.is_empty()).then_some(())
    });
    editor.profile = Profile::plain();
    let turn = editor.wait_ended_within(Duration::from_secs(30));
    assert_eq!(turn.statuses(), ["completed", "failed", "completed"]);
    assert_eq!(editor.text("a.txt"), "one\n2\n");
}

#[test]
fn an_edit_applied_to_text_that_differs_from_the_disk_is_reverted() {
    for (disk, shown, old, new) in [
        ("OLD TOP\n", "NEW TOP\n", "OLD TOP", "2ND TOP"),
        ("A: 1\n", "A: 10000\n", "A: 1", "A: 2"),
    ] {
        let model = Model::edits("a.txt", old, new);
        let stage = Stage::new("");
        stage.write("a.txt", disk);
        let profile = Profile::plain();
        let mut editor = stage.launch(&model).profile(profile).start();
        let uri = editor.uri("a.txt");
        // The editor had it open with unsaved text and opens it for us only now.
        editor.before_edit(move |editor| editor.open_untitled(&uri, shown));
        let turn = editor.run("go");
        assert_eq!(turn.statuses(), ["completed", "failed"], "{shown}");
        assert!(turn.text().contains("was reverted"), "{}", turn.text());
        assert_eq!(editor.text("a.txt"), shown);
        assert_eq!(stage.read("a.txt"), disk);
    }
}

#[test]
fn an_unknown_status_is_a_refusal_not_a_lock() {
    let model = Model::edits("a.txt", "one", "1");
    let stage = Stage::new("//- /a.txt\none\n");
    let profile = Profile::rich().conducting(Conduct::Odd);
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.open("a.txt");
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    assert!(
        turn.text().contains("unknown status `ok`"),
        "{}",
        turn.text()
    );
    assert_eq!(editor.document("a.txt")["state"], "open");
}

/// protocol.md, Lifecycle. The ledger of the editor checks it in every other story too.
#[test]
fn turn_start_is_answered_before_the_turn_sends_anything_however_busy_the_server_is() {
    let model = Model::start(|_| Reply::text("one two three"));
    let stage = Stage::new("");
    let mut editor = stage.editor(&model);
    let sessions: Vec<String> = (0..6).map(|_| editor.new_session(json!({}))).collect();
    for _ in 0..10 {
        let asked: Vec<i64> = sessions
            .iter()
            .map(|session| {
                let input = json!([{ "type": "text", "text": "go" }]);
                let params = json!({ "sessionId": session, "input": input });
                editor.ask("interline/turn/start", params)
            })
            .collect();
        for id in asked {
            let turn = editor.answer(id).unwrap()["turnId"].clone();
            editor.wait_for_turn(turn.as_str().unwrap(), Duration::from_secs(20));
        }
    }
    let started = |note: &&Value| note["method"] == "interline/turn/started";
    assert_eq!(editor.notes.iter().filter(started).count(), 60);
}

/// docs/client.py is written from protocol.md alone.
#[test]
fn the_example_client_of_the_documentation_edits_an_open_and_a_closed_file() {
    let closed = Reply::edit("b.txt", "old", "new");
    let edit = Reply::edit("a.txt", "two", "zwei é");
    let model = Model::steps(vec![Reply::read("a.txt"), edit, closed]);
    let stage = Stage::new("//- /a.txt\none é\ntwo\n//- /b.txt\nold\n");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/client.py");
    let mut environment = stage.environment(&model.url());
    environment.push(("PYTHONUTF8".into(), "1".into()));
    let output = Command::new("python3")
        .args([script, env!("CARGO_BIN_EXE_interline")])
        .arg(stage.root())
        .args(["a.txt", "in German"])
        .env_clear()
        .envs(environment)
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.ends_with("one é\nzwei é\n"), "{text}");
    assert!(text.contains("asked: Edit a.txt"), "{text}");
    assert!(text.contains("Changed b.txt"), "{text}");
    assert_eq!(stage.read("b.txt"), "old\n");
}
