//! Reviews: each change is listed with what was there before, and kept, rejected or amended in the
//! buffer, beside the user's typing and after a restart.

use serde_json::{Value, json};

use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str =
    "//- /a.txt\nline one\nline two\nline three\nline four\nline five\n//- /b.txt\nalpha\nbeta\n";
const BEFORE: &str = "line one\nline two\nline three\nline four\nline five\n";
const CHANGED: &str = "line one\nline TWO\nline three\nline four\nline FIVE\n";

/// One turn that changes two places of one file and one of another.
fn model() -> Model {
    Model::steps(vec![
        Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" })),
        Reply::edit("a.txt", "two", "TWO"),
        Reply::edit("a.txt", "five", "FIVE"),
        Reply::edit("b.txt", "beta", "BETA"),
    ])
}

fn opened(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.editor(model);
    editor.open("a.txt");
    editor.open("b.txt");
    editor
}

fn list(editor: &mut Editor, more: Value) -> Vec<Value> {
    let mut params = more;
    params["sessionId"] = editor.session().into();
    let listed = editor.request("interline/review/list", params);
    listed["hunks"].as_array().unwrap().clone()
}

/// `(before, after, state)` of the hunks in a file.
fn shown(editor: &mut Editor, name: &str) -> Vec<(String, String, String)> {
    let uri = editor.uri(name);
    let text = |hunk: &Value, key: &str| hunk[key].as_str().unwrap().to_owned();
    list(editor, json!({ "uri": uri }))
        .iter()
        .map(|hunk| {
            (
                text(hunk, "before"),
                text(hunk, "after"),
                text(hunk, "state"),
            )
        })
        .collect()
}

fn row(before: &str, after: &str, state: &str) -> (String, String, String) {
    (before.into(), after.into(), state.into())
}

/// Decides about the hunk that has this text; the result.
fn decide(editor: &mut Editor, after: &str, decision: &str, text: Option<&str>) -> Value {
    let hunks = list(editor, json!({}));
    let hunk = hunks
        .iter()
        .find(|hunk| hunk["after"] == after)
        .expect("a hunk");
    let decisions = json!([{ "hunkId": hunk["hunkId"], "decision": decision, "after": text }]);
    let params = json!({ "sessionId": editor.session(), "decisions": decisions });
    let decided = editor.request("interline/review/decide", params);
    json!({ "status": decided["results"][0]["status"], "reason": decided["results"][0]["reason"],
        "itemId": decided["itemId"] })
}

#[test]
fn each_change_is_listed_where_it_is_with_what_was_there_before() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    editor.prepend("a.txt", "mine\n");
    editor.flush_all();
    let uri = editor.uri("a.txt");
    let hunks = list(&mut editor, json!({ "uri": uri }));
    assert_eq!(hunks.len(), 2);
    let at = |line, character| json!({ "line": line, "character": character });
    assert_eq!(
        hunks[0]["range"],
        json!({ "start": at(2, 5), "end": at(2, 8) })
    );
    assert_eq!(hunks[0]["before"], "two");
    assert_eq!(hunks[0]["author"], "session");
    assert_eq!(hunks[1]["after"], "FIVE");
    let first = list(&mut editor, json!({ "limit": 2 }));
    assert_eq!(first.len(), 2);
    assert_eq!(list(&mut editor, json!({ "cursor": "2" })).len(), 1);
    let turn = hunks[0]["turnId"].clone();
    assert_eq!(list(&mut editor, json!({ "turnId": turn })).len(), 3);
}

#[test]
fn a_rejected_change_is_undone_beside_the_users_typing_and_can_be_restored() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    editor.replace("a.txt", "three", "three and mine");
    editor.flush_all();
    let rejected = decide(&mut editor, "TWO", "reject", None);
    assert_eq!(rejected["status"], "done");
    assert_eq!(
        editor.text("a.txt"),
        "line one\nline two\nline three and mine\nline four\nline FIVE\n"
    );
    assert_eq!(
        shown(&mut editor, "a.txt"),
        [row("five", "FIVE", "applied")]
    );
    let params = json!({ "sessionId": editor.session(), "itemId": rejected["itemId"] });
    editor.request("interline/turn/revert", params);
    assert_eq!(
        editor.text("a.txt"),
        "line one\nline TWO\nline three and mine\nline four\nline FIVE\n"
    );
    assert_eq!(shown(&mut editor, "a.txt").len(), 2);
}

#[test]
fn a_kept_change_is_still_listed_with_its_place_among_all_changes() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    decide(&mut editor, "FIVE", "keep", None);
    editor.prepend("a.txt", "mine\n");
    editor.flush_all();
    let uri = editor.uri("a.txt");
    let all = list(&mut editor, json!({ "all": true, "uri": uri }));
    assert_eq!(all.len(), 2);
    assert_eq!(all[1]["state"], "kept");
    let at = |character| json!({ "line": 5, "character": character });
    assert_eq!(all[1]["range"], json!({ "start": at(5), "end": at(9) }));
    assert_eq!(shown(&mut editor, "a.txt"), [row("two", "TWO", "applied")]);
}

#[test]
fn the_editors_undo_brings_a_rejected_change_back_to_review() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    for _ in 0..2 {
        assert_eq!(decide(&mut editor, "TWO", "reject", None)["status"], "done");
        editor.undo("a.txt");
        editor.flush_all();
        assert_eq!(editor.text("a.txt"), CHANGED);
        let rows = [row("two", "TWO", "applied"), row("five", "FIVE", "applied")];
        assert_eq!(shown(&mut editor, "a.txt"), rows);
    }
    decide(&mut editor, "TWO", "keep", None);
    assert_eq!(
        shown(&mut editor, "a.txt"),
        [row("five", "FIVE", "applied")]
    );
    let params = json!({ "sessionId": editor.session() });
    editor.request("interline/turn/revert", params);
    assert_eq!(editor.text("a.txt"), BEFORE);
}

/// INV-4: what the user typed into a change is never overwritten.
#[test]
fn a_change_that_the_user_amended_is_shown_as_such_and_not_rejected() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    editor.replace("a.txt", "TWO", "Two!");
    editor.flush_all();
    let rows = [
        row("two", "Two!", "amended"),
        row("five", "FIVE", "applied"),
    ];
    assert_eq!(shown(&mut editor, "a.txt"), rows);
    let rejected = decide(&mut editor, "Two!", "reject", None);
    assert_eq!(rejected["status"], "conflict");
    assert_eq!(rejected["reason"], "the text has changed since");
    assert_eq!(editor.text("a.txt"), CHANGED.replace("TWO", "Two!"));
    assert_eq!(decide(&mut editor, "Two!", "keep", None)["status"], "done");
    assert_eq!(
        shown(&mut editor, "a.txt"),
        [row("five", "FIVE", "applied")]
    );
}

#[test]
fn an_amendment_replaces_the_change_with_the_users_text() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    let amended = decide(&mut editor, "FIVE", "amend", Some("5\n6"));
    assert_eq!(amended["status"], "done");
    assert_eq!(
        editor.text("a.txt"),
        "line one\nline TWO\nline three\nline four\nline 5\n6\n"
    );
    assert_eq!(shown(&mut editor, "a.txt"), [row("two", "TWO", "applied")]);
}

/// INV-4: what the user typed into the place since it was listed is not replaced.
#[test]
fn an_amendment_of_text_that_was_not_listed_is_a_conflict() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    let hunks = list(&mut editor, json!({}));
    let hunk = hunks
        .iter()
        .find(|it| it["after"] == "TWO")
        .expect("a hunk");
    editor.replace("a.txt", "TWO", "Two!");
    editor.flush_all();
    for (listed, status) in [
        (None, "conflict"),
        (Some("TWO"), "conflict"),
        (Some("Two!"), "done"),
    ] {
        let decision = json!({ "hunkId": hunk["hunkId"], "decision": "amend", "after": "2", "listed": listed });
        let params = json!({ "sessionId": editor.session(), "decisions": [decision] });
        let decided = editor.request("interline/review/decide", params);
        assert_eq!(
            decided["results"][0]["status"], status,
            "{listed:?}: {decided}"
        );
    }
    assert_eq!(editor.text("a.txt"), CHANGED.replace("TWO", "2"));
}

#[test]
fn the_model_hears_once_what_was_kept_changed_and_rejected() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    decide(&mut editor, "TWO", "keep", None);
    decide(&mut editor, "FIVE", "amend", Some("5"));
    decide(&mut editor, "BETA", "reject", None);
    editor.run("and now?");
    let prompt = model.request(5).user_text();
    for words in [
        "kept these changes of yours: a.txt:2.",
        "after changing them: a.txt:5.",
        "rejected these changes of yours: b.txt:2.",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert!(!prompt.contains("The user reverted"), "{prompt}");
    editor.run("and then?");
    let all = model.last().user_text();
    assert_eq!(all.matches("rejected these changes").count(), 1);
}

#[test]
fn a_review_works_during_a_turn_and_the_next_step_hears_of_it() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "two", "TWO"),
        2 => Reply::read("a.txt").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model);
    editor.prompt("shout");
    editor.until_asked(&model, 3);
    assert_eq!(decide(&mut editor, "TWO", "reject", None)["status"], "done");
    assert_eq!(editor.text("a.txt"), BEFORE);
    gate.open();
    editor.wait_ended();
    let request = model.last().raw_text();
    assert!(
        request.contains("rejected these changes of yours: a.txt:2."),
        "{request}"
    );
}

#[test]
fn a_review_continues_after_a_restart() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    let session = editor.session();
    editor.run("shout");
    decide(&mut editor, "TWO", "keep", None);
    editor.save("a.txt");
    editor.save("b.txt");
    drop(editor);
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    // Closed files have no version.
    assert_eq!(
        shown(&mut editor, "a.txt"),
        [row("five", "FIVE", "applied")]
    );
    assert_eq!(list(&mut editor, json!({}))[0]["version"], Value::Null);
    editor.open("a.txt");
    editor.prepend("a.txt", "mine\n");
    editor.flush_all();
    decide(&mut editor, "FIVE", "reject", None);
    assert_eq!(
        editor.text("a.txt"),
        "mine\nline one\nline TWO\nline three\nline four\nline five\n"
    );
    editor.run("and now?");
    let prompt = model.last().user_text();
    assert!(
        prompt.contains("kept these changes of yours: a.txt:2."),
        "{prompt}"
    );
    assert!(
        prompt.contains("rejected these changes of yours: a.txt:6."),
        "{prompt}"
    );
}

#[test]
fn a_revert_of_the_turn_leaves_out_what_was_rejected_before() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    decide(&mut editor, "TWO", "reject", None);
    let params = json!({ "sessionId": editor.session() });
    let reverted = editor.request("interline/turn/revert", params);
    for file in reverted["files"].as_array().unwrap() {
        assert_eq!(file["conflicts"], json!([]), "{reverted}");
    }
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(editor.text("b.txt"), "alpha\nbeta\n");
    assert_eq!(list(&mut editor, json!({})), Vec::<Value>::new());
    let uri = editor.uri("a.txt");
    let all = list(&mut editor, json!({ "all": true, "uri": uri }));
    let states: Vec<&Value> = all.iter().map(|hunk| &hunk["state"]).collect();
    assert_eq!(states, ["rejected", "superseded"]);
}

#[test]
fn a_change_that_was_kept_and_then_rejected_is_rejected() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    let uri = editor.uri("a.txt");
    let id = list(&mut editor, json!({ "uri": uri }))[0]["hunkId"].clone();
    decide(&mut editor, "TWO", "keep", None);
    let reject = |editor: &mut Editor| {
        let decisions = json!([{ "hunkId": id, "decision": "reject" }]);
        let params = json!({ "sessionId": editor.session(), "decisions": decisions });
        editor.request("interline/review/decide", params)["results"][0]["status"].clone()
    };
    assert_eq!(reject(&mut editor), "done");
    assert_eq!(editor.text("a.txt"), CHANGED.replace("TWO", "two"));
    let all = list(&mut editor, json!({ "all": true, "uri": uri }));
    assert_eq!(all[0]["state"], "rejected");
    assert_eq!(reject(&mut editor), "stale");
}

#[test]
fn a_tool_call_and_single_hunks_are_reverted_too() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    let hunks = list(&mut editor, json!({}));
    let session = editor.session();
    let call = json!({ "sessionId": session, "itemId": hunks[1]["itemId"] });
    editor.request("interline/turn/revert", call);
    assert_eq!(
        editor.text("a.txt"),
        "line one\nline TWO\nline three\nline four\nline five\n"
    );
    let hunk = json!({ "sessionId": session, "hunkIds": [hunks[0]["hunkId"]] });
    editor.request("interline/turn/revert", hunk);
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(editor.text("b.txt"), "alpha\nBETA\n");
    editor.request("interline/turn/revert", json!({ "sessionId": session }));
    assert_eq!(editor.text("b.txt"), "alpha\nbeta\n");
}

#[test]
fn unknown_and_rejected_hunks_are_stale_and_nothing_changes() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("shout");
    let id = list(&mut editor, json!({}))[0]["hunkId"].clone();
    decide(&mut editor, "TWO", "reject", None);
    let one = |id: Value| json!({ "hunkId": id, "decision": "reject" });
    let decisions = json!([one(id), one("99.0".into()), one("what".into())]);
    let params = json!({ "sessionId": editor.session(), "decisions": decisions });
    let decided = editor.request("interline/review/decide", params);
    for result in decided["results"].as_array().unwrap() {
        assert_eq!(result["status"], "stale", "{decided}");
    }
    assert_eq!(editor.text("a.txt"), CHANGED.replace("TWO", "two"));
}

/// A client without our methods sees lenses and code actions at each change.
#[test]
fn a_bare_client_keeps_and_undoes_a_change_by_code_action() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let uri = editor.open("a.txt");
    editor.open("b.txt");
    editor.command("ask", json!({ "text": "shout", "uri": uri }));
    editor.message("Changed: ");
    let document = json!({ "textDocument": { "uri": uri } });
    let lenses = editor.request("textDocument/codeLens", document);
    assert_eq!(lenses.as_array().unwrap().len(), 4, "{lenses}");
    assert_eq!(
        lenses[0]["command"]["title"],
        "Interline: keep this change (+1 −1)"
    );
    let at = json!({ "line": 1, "character": 2 });
    let params = json!({ "textDocument": { "uri": uri },
        "range": { "start": at, "end": at }, "context": { "diagnostics": [], "triggerKind": 1 } });
    let actions = editor.request("textDocument/codeAction", params);
    let undo = &actions[1];
    assert_eq!(undo["title"], "Interline: undo this change (+1 −1)");
    editor.command("rejectHunk", undo["arguments"][0].clone());
    editor.until("the change to be undone", |editor| {
        (editor.text("a.txt") == CHANGED.replace("TWO", "two")).then_some(())
    });
    let kept = editor.command("keep", lenses[2]["command"]["arguments"][0].clone());
    assert_eq!(kept["hunkIds"].as_array().unwrap().len(), 1);
}

/// The user types behind a deletion, on its line: it is still a change to review, and rejecting it
/// leaves what was typed.
#[test]
fn a_deletion_stays_in_the_review_when_the_user_types_on_its_line() {
    let text = "struct QuotedChar(char);\n\nfn quoted(c: char) {\n    show(c)\n}\n";
    let model = Model::edits("a.rs", "struct QuotedChar", "struct Quoted");
    let stage = Stage::new(&format!("//- /a.rs\n{text}"));
    let mut editor = stage.editor(&model);
    editor.open("a.rs");
    editor.run("shorten");
    editor.replace("a.rs", "(char);", "(char); // mine");
    editor.flush_all();
    editor.settle();
    assert_eq!(shown(&mut editor, "a.rs"), [row("Char", "", "applied")]);
    assert_eq!(decide(&mut editor, "", "reject", None)["status"], "done");
    assert_eq!(
        editor.text("a.rs"),
        text.replace("(char);", "(char); // mine")
    );
}
