//! `apply_patch`: several files in one call, all of them or none.

use serde_json::{Value, json};

use crate::acp::client::{Answer, Client};
use crate::editor::profile::Conduct;
use crate::editor::{Approval, Editor};
use crate::fixture::{KEY, Stage};
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\none\ntwo\n//- /b.txt\nalpha\nbeta\n//- /c.txt\nred\n";

const THREE: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n\
                     *** Update File: b.txt\n-beta\n+b\n*** Delete File: c.txt\n*** End Patch";

/// A stage where every model is trained on `apply_patch`.
pub fn stage(text: &str) -> Stage {
    let stage = Stage::new(text);
    let models = "[[model]]\nmatch = [\"*\"]\napply_patch = true\n";
    let file = stage.folder("config/interline/models.toml");
    std::fs::write(file, models).expect("models.toml");
    stage
}

fn read_all() -> Reply {
    let read = Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" }));
    read.and_call("read", json!({ "path": "c.txt" }))
}

fn patch(text: &str) -> Reply {
    Reply::call("apply_patch", json!({ "input": text }))
}

fn model(text: &str) -> Model {
    Model::steps(vec![read_all(), patch(text)])
}

fn opened(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.editor(model);
    editor.open("a.txt");
    editor.open("b.txt");
    editor
}

fn revert(editor: &mut Editor, more: Value) -> Value {
    let mut params = more;
    params["sessionId"] = editor.session().into();
    editor.request("interline/turn/revert", params)
}

#[test]
fn gpt_models_get_apply_patch_in_place_of_edit_and_others_do_not() {
    let model = model(THREE);
    let stage = Stage::new(TEXT);
    let launch = stage
        .launch(&model)
        .setting("model", json!("openai/gpt-6.1-sol"));
    let launch = launch.var("OPENAI_BASE_URL", &model.url());
    let mut editor = launch.var("OPENAI_API_KEY", KEY).start();
    editor.open("a.txt");
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    assert_eq!(editor.text("a.txt"), "one\n2\n");
    let tools = model.last().tools();
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    assert!(
        has("apply_patch") && has("write") && !has("edit"),
        "{tools:?}"
    );
    let other = Model::says("hello");
    stage.editor(&other).run("hello");
    let tools = other.last().tools();
    assert!(!tools.contains(&"apply_patch".to_owned()), "{tools:?}");
}

#[test]
fn a_patch_of_several_files_is_approved_as_one_and_lands_in_all() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let launch = stage.launch(&model).setting("approvals", json!("ask"));
    let mut editor = launch.start();
    editor.open("a.txt");
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    let asked = &editor.script.asked[0];
    let uris = ["a.txt", "b.txt", "c.txt"].map(|name| stage.uri(name));
    assert_eq!(asked["subject"]["files"], json!(uris));
    let content = asked["content"].as_str().expect("the content");
    for part in ["a/a.txt", "-two\n+2", "-beta\n+b", "a/c.txt", "-red"] {
        assert!(content.contains(part), "{part}: {content}");
    }
    assert_eq!(asked["title"], "Edit a.txt, edit b.txt, delete c.txt");
    let texts = (editor.text("a.txt"), editor.text("b.txt"));
    assert_eq!(texts, ("one\n2\n", "alpha\nb\n"));
    assert!(!stage.path("c.txt").exists());
    let files = turn.ended["files"].as_array().expect("files");
    assert_eq!((files.len(), &files[2]["deleted"]), (3, &json!(true)));
}

#[test]
fn a_patch_with_one_wrong_place_changes_no_file_and_names_all_wrong_places() {
    let wrong = THREE.replace("-beta", "-bete").replace("-two", "-tow");
    let (model, stage) = (model(&wrong), stage(TEXT));
    let mut editor = opened(&stage, &model);
    let turn = editor.run("shorten");
    let text = turn.text();
    assert_eq!(turn.statuses()[3], "failed");
    for part in ["a.txt: the old lines", "b.txt: the old lines", "2\tbeta"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(editor.script.edits.is_empty() && stage.path("c.txt").exists());
}

/// I9: inverse edits keep what the user typed in the meantime.
#[test]
fn when_a_later_file_fails_the_earlier_ones_are_reverted_over_typing() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let mut editor = opened(&stage, &model);
    editor.before_edit(|_| {});
    editor.before_edit(|editor| {
        editor.prepend("a.txt", "mine\n");
        editor.profile.conduct = Conduct::Refuses;
    });
    editor.before_edit(|editor| editor.profile.conduct = Conduct::Honest);
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses()[3], "failed");
    assert_eq!(editor.text("a.txt"), "mine\none\ntwo\n");
    assert_eq!(editor.text("b.txt"), "alpha\nbeta\n");
    let text = turn.text();
    for part in [
        "No file was changed in the end",
        "a.txt: changed, then reverted",
        "refused the edit of b.txt",
        "c.txt: not changed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(turn.ended["files"], json!([]));
}

/// I9: an inverse edit never removes what the user made of the agent's text.
#[test]
fn what_cannot_be_reverted_is_named() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let mut editor = opened(&stage, &model);
    editor.before_edit(|_| {});
    editor.before_edit(|editor| {
        editor.replace("a.txt", "2", "second");
        editor.profile.conduct = Conduct::Refuses;
    });
    let turn = editor.run("shorten");
    assert_eq!(editor.text("a.txt"), "one\nsecond\n");
    let text = turn.text();
    assert!(text.contains("What is known of each file"), "{text}");
    assert!(
        text.contains("a.txt: changed, and this could not be reverted"),
        "{text}"
    );
    assert_eq!(turn.ended["files"][0]["uri"], stage.uri("a.txt"));
}

#[test]
fn a_moved_and_a_deleted_file_come_back_with_a_revert_and_go_with_its_revert() {
    let moves = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: sub/d.txt\n@@\n-two\n+2\n\
                 *** Delete File: c.txt\n*** End Patch";
    let (model, stage) = (model(moves), stage(TEXT));
    let mut editor = stage.editor(&model);
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    let exist = |stage: &Stage| ["a.txt", "sub/d.txt", "c.txt"].map(|it| stage.path(it).exists());
    assert_eq!(exist(&stage), [false, true, false]);
    assert_eq!(editor.text("sub/d.txt"), "one\n2\n");
    let reverted = revert(&mut editor, json!({}));
    assert_eq!(exist(&stage), [true, false, true], "{reverted}");
    assert_eq!(
        (editor.text("a.txt"), editor.text("c.txt")),
        ("one\ntwo\n", "red\n")
    );
    let item = reverted["itemId"].clone();
    let again = revert(&mut editor, json!({ "itemId": item }));
    assert_eq!(exist(&stage), [false, true, false], "{again}");
    assert_eq!(editor.text("sub/d.txt"), "one\n2\n");
}

/// I9: after a crash, user and model learn which files have the change.
#[test]
fn after_a_crash_between_files_the_session_says_which_of_them_changed() {
    let model = Model::start(|request| match request.n {
        0 => read_all(),
        1 => patch(THREE),
        _ => Reply::text("I see"),
    });
    let stage = stage(TEXT);
    let mut editor = opened(&stage, &model);
    let session = editor.session();
    editor.before_edit(|_| {});
    editor.before_edit(|editor| editor.profile.conduct = Conduct::Ignores);
    editor.prompt("shorten");
    editor.until("the second edit", |editor| {
        (editor.script.edits.len() == 2).then_some(())
    });
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let items = editor.resume(&session)["items"].to_string();
    let words = "Not changed: c.txt. Check whether these are changed: b.txt.";
    assert!(items.contains(words), "{items}");
    editor.run("continue");
    let request = model.last().raw_text();
    let words = "made: a.txt; not known: b.txt; not made: c.txt";
    assert!(request.contains(words), "{request}");
}

#[test]
fn an_acp_client_is_asked_with_the_diffs_of_all_files() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Takes("allow_once"));
    let session = client.session(&stage.root());
    assert_eq!(client.prompt(&session, "shorten"), "end_turn");
    let card = &client.permissions[0].1["toolCall"];
    let paths = ["a.txt", "b.txt", "c.txt"].map(|name| stage.path(name));
    for (at, path) in paths.iter().enumerate() {
        assert_eq!(card["content"][at]["type"], "diff", "{card}");
        assert_eq!(card["content"][at]["path"], json!(path));
        assert_eq!(card["locations"][at]["path"], json!(path));
    }
    assert_eq!(
        (stage.read("a.txt"), stage.read("b.txt")),
        ("one\n2\n".into(), "alpha\nb\n".into())
    );
    assert!(!stage.path("c.txt").exists());
}

#[test]
fn without_an_editor_a_patch_creates_moves_and_deletes_files() {
    let text = "*** Add File: n/e.txt\n+new\n*** Update File: a.txt\n*** Move to: d.txt\n\
                *** Delete File: c.txt\n";
    let (model, stage) = (model(text), stage(TEXT));
    let closed = json!({ "closedFiles": "disk" });
    let mut editor = stage.launch(&model).user_setting("edits", closed).start();
    let turn = editor.run("tidy up");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    assert_eq!(
        (stage.read("n/e.txt"), stage.read("d.txt")),
        ("new\n".into(), "one\ntwo\n".into())
    );
    assert!(!stage.path("a.txt").exists() && !stage.path("c.txt").exists());
}

#[test]
fn a_file_with_unsaved_text_is_not_deleted_unasked() {
    let (model, stage) = (model("*** Delete File: a.txt\n"), stage(TEXT));
    let mut editor = opened(&stage, &model);
    editor.replace("a.txt", "one", "mine");
    editor.approvals(&[Approval::Reject]);
    let turn = editor.run("tidy up");
    assert_eq!(turn.statuses().last().copied(), Some("rejected"));
    let words = editor.script.asked[0].to_string();
    assert!(words.contains("has unsaved text in your editor"), "{words}");
    assert!(editor.text("a.txt").contains("mine") && stage.path("a.txt").exists());
}

/// INV-2: which files are open is decided when each is changed, not when the call is planned.
#[test]
fn a_file_that_the_user_opens_while_the_call_runs_is_changed_in_its_buffer() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let closed = json!({ "closedFiles": "disk" });
    let mut editor = stage.launch(&model).user_setting("edits", closed).start();
    editor.open("a.txt");
    editor.before_edit(|editor| {
        editor.open("b.txt");
        editor.prepend("b.txt", "mine\n");
    });
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    assert_eq!(editor.text("b.txt"), "mine\nalpha\nb\n");
    assert_eq!(stage.read("b.txt"), "alpha\nbeta\n");
    assert!(!stage.path("c.txt").exists());
}

/// The same between the approval and the change, where the user typed into the place.
#[test]
fn typing_into_a_file_that_was_opened_meanwhile_is_a_conflict_and_no_file_changes() {
    let (model, stage) = (model(THREE), stage(TEXT));
    let closed = json!({ "closedFiles": "disk" });
    let launch = stage.launch(&model).setting("approvals", json!("ask"));
    let mut editor = launch.user_setting("edits", closed).start();
    editor.approvals(&[Approval::Allow]);
    editor.before_approval(|editor| {
        editor.open("b.txt");
        editor.replace("b.txt", "beta", "gamma");
    });
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses()[3], "failed");
    assert_eq!(editor.text("b.txt"), "alpha\ngamma\n");
    let texts = (stage.read("a.txt"), stage.read("b.txt"));
    assert_eq!(texts, ("one\ntwo\n".into(), "alpha\nbeta\n".into()));
    assert!(stage.path("c.txt").exists());
}
