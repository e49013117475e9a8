//! `edits.review = "before"`: a change is listed place by place, and nothing of it is applied until
//! the user keeps it.

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::patches;

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\nfour\nfive\n";
const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "one\nTWO\nthree\nfour\nFIVE\n";

/// One call that changes two places.
fn model() -> Model {
    Model::steps(vec![
        Reply::read("a.txt"),
        Reply::call("write", json!({ "path": "a.txt", "content": AFTER })),
    ])
}

fn careful(stage: &Stage, model: &Model, profile: Profile) -> Editor {
    let before = json!({ "review": "before" });
    let launch = stage.launch(model).profile(profile);
    let mut editor = launch.setting("edits", before).start();
    editor.open("a.txt");
    editor
}

/// A turn whose change waits for its review.
fn proposed(stage: &Stage, model: &Model) -> Editor {
    let mut editor = careful(stage, model, Profile::rich());
    editor.approvals(&[Approval::Never]);
    editor.prompt("shout");
    until_proposed(&mut editor, 2);
    editor
}

/// Waits until so many places are listed and the approval is asked for.
fn until_proposed(editor: &mut Editor, places: usize) {
    editor.until("the approval and the places to review", |editor| {
        let asked = !editor.script.asked.is_empty();
        (asked && list(editor).len() == places).then_some(())
    });
}

fn list(editor: &mut Editor) -> Vec<Value> {
    let params = json!({ "sessionId": editor.session() });
    let listed = editor.request("interline/review/list", params);
    listed["hunks"].as_array().unwrap().clone()
}

/// Decides about the place with this proposed text; the status.
fn decide(editor: &mut Editor, after: &str, decision: &str, text: Option<&str>) -> Value {
    let hunks = list(editor);
    let hunk = hunks.iter().find(|it| it["after"] == after);
    let id = &hunk.expect("a hunk")["hunkId"];
    let decisions = json!([{ "hunkId": id, "decision": decision, "after": text }]);
    let params = json!({ "sessionId": editor.session(), "decisions": decisions });
    editor.request("interline/review/decide", params)["results"][0]["status"].clone()
}

#[test]
fn a_proposed_change_is_listed_and_only_what_is_kept_is_applied() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    assert_eq!(editor.text("a.txt"), BEFORE);
    let hunks = list(&mut editor);
    assert_eq!(hunks[0]["state"], "proposed");
    assert_eq!(
        (&hunks[0]["before"], &hunks[0]["after"]),
        (&json!("two"), &json!("TWO"))
    );
    assert_eq!(
        hunks[0]["range"]["start"],
        json!({ "line": 1, "character": 0 })
    );
    assert_eq!(decide(&mut editor, "TWO", "keep", None), "done");
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(decide(&mut editor, "FIVE", "reject", None), "done");
    let turn = editor.wait_ended();
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    let result = model.last().result();
    assert!(result.contains("kept: a.txt:2."), "{result}");
    assert!(
        result.contains("so they were not changed: a.txt:5."),
        "{result}"
    );
    // It was decided: the review afterwards does not ask again.
    assert_eq!(list(&mut editor), Vec::<Value>::new());
    let reverted = json!({ "sessionId": editor.session() });
    editor.request("interline/turn/revert", reverted);
    assert_eq!(editor.text("a.txt"), BEFORE);
}

#[test]
fn an_amended_place_gets_the_users_text_and_the_model_sees_it() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    decide(&mut editor, "TWO", "amend", Some("2\n2b"));
    decide(&mut editor, "FIVE", "keep", None);
    editor.wait_ended();
    assert_eq!(editor.text("a.txt"), "one\n2\n2b\nthree\nfour\nFIVE\n");
    let result = model.last().result();
    assert!(result.contains("put their own text in these places instead: a.txt:2."));
    assert!(result.contains("2b"), "{result}");
    assert_eq!(list(&mut editor), Vec::<Value>::new());
}

#[test]
fn a_change_that_is_rejected_place_by_place_is_a_rejected_call() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    decide(&mut editor, "TWO", "reject", None);
    decide(&mut editor, "FIVE", "reject", None);
    let turn = editor.wait_ended();
    assert_eq!(turn.statuses(), ["completed", "rejected"]);
    assert_eq!(turn.of("approvalResolved")[0]["choice"], "rejectOnce");
    assert!(model.last().result().contains("Nothing happened"));
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(editor.script.edits.len(), 0);
}

#[test]
fn the_approval_decides_about_all_places_that_are_left() {
    for (answer, text) in [(Approval::Allow, AFTER), (Approval::Reject, BEFORE)] {
        let (model, stage) = (model(), Stage::new(TEXT));
        let mut editor = careful(&stage, &model, Profile::rich());
        editor.approvals(&[answer]);
        editor.run("shout");
        assert_eq!(editor.text("a.txt"), text);
        let asked = &editor.script.asked[0];
        assert!(
            asked["reason"].to_string().contains("edits.review"),
            "{asked}"
        );
        assert_eq!(list(&mut editor), Vec::<Value>::new());
    }
}

/// INV-4: kept places move with the user's typing; a place that the user typed into is a conflict.
#[test]
fn the_user_types_beside_and_into_a_proposed_change() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    editor.prepend("a.txt", "mine\n");
    editor.replace("a.txt", "five", "fi-ve");
    editor.flush_all();
    let hunks = list(&mut editor);
    assert_eq!(hunks[0]["range"]["start"]["line"], 2);
    assert_eq!(decide(&mut editor, "FIVE", "keep", None), "conflict");
    assert_eq!(decide(&mut editor, "FIVE", "reject", None), "done");
    assert_eq!(decide(&mut editor, "TWO", "keep", None), "done");
    editor.wait_ended();
    assert_eq!(editor.text("a.txt"), "mine\none\nTWO\nthree\nfour\nfi-ve\n");
}

#[test]
fn a_cancelled_turn_applies_nothing_that_waited() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    let id = list(&mut editor)[1]["hunkId"].clone();
    decide(&mut editor, "TWO", "keep", None);
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    assert_eq!(editor.text("a.txt"), BEFORE);
    let decisions = json!([{ "hunkId": id, "decision": "keep" }]);
    let params = json!({ "sessionId": editor.session(), "decisions": decisions });
    let decided = editor.request("interline/review/decide", params);
    assert_eq!(decided["results"][0]["status"], "stale");
}

#[test]
fn a_change_that_waited_when_the_process_died_is_reported_as_not_applied() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = proposed(&stage, &model);
    let session = editor.session();
    editor.process.kill();
    drop(editor);
    let mut editor = careful(&stage, &model, Profile::rich());
    let items = editor.resume(&session)["items"].to_string();
    assert!(
        items.contains("waited for your review was not applied"),
        "{items}"
    );
    assert_eq!(list(&mut editor), Vec::<Value>::new());
    editor.run("and now?");
    let request = model.last().raw_text();
    assert!(
        request.contains("while the user was reviewing this change"),
        "{request}"
    );
    assert_eq!(editor.text("a.txt"), BEFORE);
}

/// A folder's settings may ask for a review before; they cannot turn it off.
#[test]
fn the_setting_can_only_be_narrowed_by_a_workspace() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let config = stage.folder("config/interline/config.toml");
    std::fs::write(config, "edits.review = \"before\"\n").unwrap();
    let launch = stage.launch(&model);
    let mut editor = launch
        .setting("edits", json!({ "review": "after" }))
        .start();
    editor.open("a.txt");
    editor.approvals(&[Approval::Reject]);
    editor.run("shout");
    assert_eq!(editor.text("a.txt"), BEFORE);
    let ignored = editor.status()["ignoredSettings"].to_string();
    assert!(ignored.contains("edits.review"), "{ignored}");
}

/// A client without our methods sees lenses and code actions at each proposed place.
#[test]
fn a_bare_client_decides_about_proposed_places_by_code_action() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = careful(&stage, &model, Profile::bare());
    editor.approvals(&[Approval::Never]);
    let uri = editor.uri("a.txt");
    editor.command("ask", json!({ "text": "shout", "uri": uri }));
    let document = json!({ "textDocument": { "uri": uri } });
    let lenses = editor.until("lenses", |editor| {
        let lenses = editor.request("textDocument/codeLens", document.clone());
        lenses.as_array().filter(|it| it.len() == 4).cloned()
    });
    let title = &lenses[0]["command"]["title"];
    assert_eq!(title, "Interline: keep this proposed change (+1 −1)");
    editor.command("keep", lenses[0]["command"]["arguments"][0].clone());
    let reject = editor
        .actions("a.txt", 4)
        .into_iter()
        .nth(1)
        .expect("an action");
    assert_eq!(
        reject["title"],
        "Interline: reject this proposed change (+1 −1)"
    );
    editor.command("rejectHunk", reject["arguments"][0].clone());
    editor.message("Changed: ");
    assert_eq!(editor.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn a_sub_agents_change_waits_in_the_session_of_its_parent() {
    let model = Model::start(|request| {
        let delegates = request.tools().contains(&"delegate".to_owned());
        match (delegates, request.step()) {
            (true, 0) => Reply::call("delegate", json!({ "task": "Shout in a.txt" })),
            (false, 0) => Reply::read("a.txt"),
            (false, 1) => Reply::edit("a.txt", "two", "TWO"),
            _ => Reply::text("done"),
        }
    });
    let stage = Stage::new(TEXT);
    let mut editor = careful(&stage, &model, Profile::rich());
    editor.approvals(&[Approval::Never]);
    editor.prompt("shout");
    until_proposed(&mut editor, 1);
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(decide(&mut editor, "TWO", "keep", None), "done");
    editor.wait_ended();
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "TWO"));
}

/// A call of `apply_patch` whose changes in these files wait for the user.
fn proposed_patch(stage: &Stage, model: &Model, places: usize) -> Editor {
    let mut editor = careful(stage, model, Profile::rich());
    editor.approvals(&[Approval::Never]);
    editor.prompt("tidy up");
    until_proposed(&mut editor, places);
    editor
}

fn patching(text: &str) -> Model {
    let read = |reply: Reply, path: &str| reply.and_call("read", json!({ "path": path }));
    let all = read(read(Reply::read("a.txt"), "b.txt"), "c.txt");
    let text = format!("*** Begin Patch\n{text}*** End Patch");
    let patch = Reply::call("apply_patch", json!({ "input": text }));
    Model::steps(vec![all, patch])
}

const THREE: &str = "//- /a.txt\none\ntwo\nthree\n//- /b.txt\nalpha\nbeta\n//- /c.txt\nred\n";

#[test]
fn each_place_of_a_patch_of_several_files_is_decided_before_any_file_changes() {
    let model = patching(
        "*** Update File: a.txt\n-one\n+1\n two\n-three\n+3\n*** Update File: b.txt\n-beta\n+2\n\
         *** Delete File: c.txt\n",
    );
    let stage = patches::stage(THREE);
    let mut editor = proposed_patch(&stage, &model, 4);
    for (place, decision) in [("1", "keep"), ("3", "reject"), ("2", "reject")] {
        assert_eq!(decide(&mut editor, place, decision, None), "done");
        let texts = (editor.text("a.txt"), stage.read("b.txt"));
        assert_eq!(texts, ("one\ntwo\nthree\n", "alpha\nbeta\n".into()));
        assert!(editor.script.edits.is_empty());
    }
    assert_eq!(decide(&mut editor, "", "keep", None), "done");
    let turn = editor.wait_ended();
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    let texts = (editor.text("a.txt"), stage.read("b.txt"));
    assert_eq!(texts, ("1\ntwo\nthree\n", "alpha\nbeta\n".into()));
    assert!(!stage.path("c.txt").exists());
    let result = model.last().result();
    assert!(result.contains("kept: a.txt:1, c.txt:1."), "{result}");
    let rejected = "so they were not changed: a.txt:3, b.txt:2.";
    assert!(result.contains(rejected), "{result}");
}

/// A move is decided about at the new place; else its text could be rejected there and deleted.
#[test]
fn a_rejected_move_leaves_the_file_where_it_is() {
    let model = patching(
        "*** Update File: a.txt\n*** Move to: d.txt\n-one\n+1\n*** Update File: b.txt\n-beta\n+2\n",
    );
    let stage = patches::stage(THREE);
    let mut editor = proposed_patch(&stage, &model, 2);
    assert_eq!(
        decide(&mut editor, "1\ntwo\nthree\n", "reject", None),
        "done"
    );
    assert_eq!(decide(&mut editor, "2", "keep", None), "done");
    editor.wait_ended();
    assert_eq!(editor.text("b.txt"), "alpha\n2\n");
    assert!(stage.path("a.txt").exists() && !stage.path("d.txt").exists());
    let result = model.last().result();
    assert!(
        result.contains("so they were not changed: d.txt:1."),
        "{result}"
    );
}

/// It has no line to decide about: it is deleted with what is kept of the call.
#[test]
fn an_empty_file_is_deleted_with_the_kept_places_of_its_call() {
    let model = patching("*** Update File: b.txt\n-beta\n+2\n*** Delete File: c.txt\n");
    let stage = patches::stage(THREE);
    std::fs::write(stage.path("c.txt"), "").expect("an empty file");
    let mut editor = proposed_patch(&stage, &model, 1);
    assert_eq!(decide(&mut editor, "2", "keep", None), "done");
    editor.wait_ended();
    assert_eq!(editor.text("b.txt"), "alpha\n2\n");
    assert!(!stage.path("c.txt").exists());
}
