//! Measured habits of editors that no other story covers. docs/editors.md lists every habit with
//! its test.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::profile::Conduct;
use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\nfour\nfive\n//- /b.txt\nalpha\n";
/// Clients that hold changes back make each edit wait for a quiet gap.
const PATIENT: Duration = Duration::from_secs(40);

fn all() -> [Profile; 7] {
    [
        Profile::plain(),
        Profile::vscode(),
        Profile::neovim(),
        Profile::helix(),
        Profile::eglot(),
        Profile::kakoune(),
        Profile::zed(),
    ]
}

fn ask(editor: &mut Editor, text: &str) {
    let uri = editor.uri("a.txt");
    editor.command("ask", json!({ "text": text, "uri": uri }));
}

/// Versions jump, begin at 0, and are never a lock: our edits name the newest one that was sent,
/// also to Neovim, which does not announce that it checks them.
#[test]
fn an_edit_names_the_newest_version_that_the_client_sent() {
    for profile in all() {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        let mut editor = stage
            .launch(&model)
            .profile(profile.without_plugin())
            .start();
        let name = editor.profile.name;
        editor.open("a.txt");
        editor.prepend("a.txt", "zero\n");
        editor.flush_all();
        let version = editor.buffer("a.txt").version;
        ask(&mut editor, "shorten");
        editor.message("Changed: ");
        let change = &editor.script.edits[0]["edit"]["documentChanges"][0];
        assert_eq!(change["textDocument"]["version"], version, "{name}");
        assert_eq!(
            editor.text("a.txt"),
            "zero\none\n2\nthree\nfour\nfive\n",
            "{name}"
        );
    }
}

#[test]
fn a_client_without_document_changes_gets_plain_changes() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let profile = Profile::bare().capability("workspace", "workspaceEdit", json!({}));
    let mut editor = stage.launch(&model).profile(profile).start();
    let uri = editor.open("a.txt");
    ask(&mut editor, "shorten");
    editor.message("Changed: ");
    let edit = &editor.script.edits[0]["edit"];
    assert!(
        edit["changes"][&uri].is_array() && edit["documentChanges"].is_null(),
        "{edit}"
    );
    assert_eq!(editor.text("a.txt"), "one\n2\nthree\nfour\nfive\n");
}

/// Neovim checks only the first of several documents, eglot and Helix stop midway.
#[test]
fn several_files_get_a_request_each_without_annotations() {
    let second = json!({ "path": "b.txt", "old_string": "alpha", "new_string": "a" });
    let both = Reply::edit("a.txt", "two", "2").and_call("edit", second);
    let reads = Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" }));
    let model = Model::steps(vec![reads, both]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::neovim()).start();
    editor.open("a.txt");
    editor.open("b.txt");
    editor.run("shorten");
    assert_eq!(editor.script.edits.len(), 2);
    for edit in &editor.script.edits {
        assert_eq!(edit["edit"]["documentChanges"].as_array().unwrap().len(), 1);
        let text = edit.to_string();
        assert!(!text.contains("nnotation"), "{text}");
    }
    assert_eq!(editor.text("b.txt"), "a\n");
}

/// Sent one after another's answer, VS Code applies 3 of 5, Neovim 1, claiming all.
#[test]
fn five_edits_of_one_message_land_one_after_another_in_every_client() {
    for profile in all() {
        let mut five = Reply::edit("a.txt", "one", "1");
        for (old, new) in [("two", "2"), ("three", "3"), ("four", "4"), ("five", "5")] {
            let input = json!({ "path": "a.txt", "old_string": old, "new_string": new });
            five = five.and_call("edit", input);
        }
        let model = Model::steps(vec![Reply::read("a.txt"), five]);
        let stage = Stage::new(TEXT);
        let mut editor = stage.launch(&model).profile(profile).start();
        let name = editor.profile.name;
        editor.open("a.txt");
        editor.prompt("shorten");
        let turn = editor.wait_ended_within(PATIENT);
        assert_eq!(turn.statuses(), ["completed"; 6], "{name}");
        assert_eq!(editor.text("a.txt"), "1\n2\n3\n4\n5\n", "{name}");
        assert_eq!(editor.script.edits.len(), 5, "{name}: none is sent twice");
    }
}

/// eglot 1.17 fails on a resource operation that it never announced; others refuse one that they
/// did announce.
#[test]
fn a_refused_new_file_is_reported_and_not_written_to_disk() {
    let model = Model::calls("write", json!({ "path": "new.txt", "content": "hi\n" }));
    let stage = Stage::new(TEXT);
    let profile = Profile::plain().conducting(Conduct::Refuses);
    let mut editor = stage.launch(&model).profile(profile).start();
    let turn = editor.run("make it");
    assert_eq!(turn.statuses(), ["failed"]);
    assert!(!stage.path("new.txt").exists());
    let result_text = model.last().result();
    assert!(result_text.contains("not"), "{result_text}");
}

/// Zed runs a command only if it was advertised and the action has no edit, and knows few kinds.
#[test]
fn every_action_is_an_advertised_command_without_an_edit() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /a.txt\n# do this\n");
    let profile = Profile::zed().without_plugin().showing();
    let mut editor = stage.launch(&model).profile(profile).start();
    let uri = editor.open("a.txt");
    let advertised = editor.server["capabilities"]["executeCommandProvider"]["commands"].clone();
    let chat = editor.command("chat", json!({ "uri": uri }))["uri"].clone();
    editor.until("the transcript", |editor| {
        editor.script.shown.first().cloned()
    });
    let nowhere = json!({ "line": 0, "character": 0 });
    for (uri, least) in [(json!(uri), 3), (chat, 3)] {
        let params = json!({ "textDocument": { "uri": uri },
            "range": { "start": nowhere, "end": nowhere }, "context": { "diagnostics": [] } });
        let actions = editor.request("textDocument/codeAction", params);
        let actions = actions.as_array().unwrap().clone();
        assert!(actions.len() >= least, "{actions:?}");
        for action in actions {
            let command = &action["command"]["command"];
            assert!(advertised.as_array().unwrap().contains(command), "{action}");
            assert!(
                action["edit"].is_null() && action["data"].is_null(),
                "{action}"
            );
            assert!(
                action["kind"].as_str().unwrap().starts_with("refactor"),
                "{action}"
            );
        }
    }
}

/// VS Code, Neovim, Helix and kak-lsp resolve literals with only a command, Neovim 0.10 even bare
/// commands.
#[test]
fn what_needs_no_resolving_comes_back_unchanged() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::neovim()).start();
    editor.open("a.txt");
    let literal = editor.actions("a.txt", 0)[0].clone();
    let bare = json!({ "title": "t", "command": "interline.explain", "arguments": [1] });
    for item in [literal, bare] {
        assert_eq!(editor.request("codeAction/resolve", item.clone()), item);
    }
}

/// The item of the approval that a message names, for clients that answer by command.
fn waiting(editor: &mut Editor) -> Value {
    let shown_message = editor.message("Run the command interline.approve");
    // Some editors show one line of a message, or its end.
    for line in [shown_message.lines().next(), shown_message.lines().last()] {
        let named = line.is_some_and(|line| line.contains("interline.approve"));
        assert!(
            named && line.is_some_and(|line| line.contains("touch made")),
            "{shown_message}"
        );
    }
    let item = shown_message
        .rsplit('(')
        .next()
        .unwrap()
        .trim_end_matches(").");
    json!({ "itemId": item })
}

/// Helix 25.01 answers `window/showMessageRequest` with -32601.
#[test]
fn a_question_that_the_editor_cannot_show_is_answered_by_command() {
    let model = Model::calls("exec", json!({ "command": "touch made" }));
    let stage = Stage::new(TEXT);
    let profile = Profile::helix().captured("helix 25.01").without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.approvals(&[Approval::Error]);
    ask(&mut editor, "make it");
    let item = waiting(&mut editor);
    editor.command("approve", item);
    editor.until_asked(&model, 2);
    assert!(stage.path("made").exists());
    editor.message("done: ");
}

/// A dismissed toast answers null: the item stays, and a command decides.
#[test]
fn a_closed_question_waits_for_a_command() {
    let model = Model::calls("exec", json!({ "command": "touch made" }));
    let stage = Stage::new(TEXT);
    let profile = Profile::vscode().without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.approvals(&[Approval::Close]);
    editor.open("a.txt");
    ask(&mut editor, "make it");
    editor.until("the question", |editor| {
        editor.script.asked.first().cloned()
    });
    let reject = editor.until("the action", |editor| {
        let actions = editor.actions("a.txt", 0);
        actions
            .into_iter()
            .find(|it| it["title"].to_string().contains("reject"))
    });
    let command = reject["command"].clone();
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    editor.request("workspace/executeCommand", params);
    editor.until_asked(&model, 2);
    assert!(!stage.path("made").exists());
    editor.message("done: ");
}

/// eglot's question blocks all of Emacs, kak-lsp's menu hides behind typing.
#[test]
fn emacs_and_kakoune_are_asked_by_command_from_the_start() {
    let old = Profile::eglot().captured("eglot 1.9");
    for profile in [Profile::eglot(), old, Profile::kakoune()] {
        let model = Model::calls("exec", json!({ "command": "touch made" }));
        let stage = Stage::new(TEXT);
        let mut editor = stage
            .launch(&model)
            .profile(profile.without_plugin())
            .start();
        ask(&mut editor, "make it");
        let item = waiting(&mut editor);
        assert!(editor.script.asked.is_empty(), "no message with buttons");
        editor.command("approve", item);
        editor.until_asked(&model, 2);
        editor.message("done: ");
    }
}

/// eglot 1.9 knows no progress, so none is started.
#[test]
fn a_client_without_progress_gets_none() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let profile = Profile::eglot().captured("eglot 1.9").without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    ask(&mut editor, "hello");
    editor.message("ok");
    assert_eq!(editor.note("$/progress", |_| true), None);
}

#[test]
fn the_cancel_button_of_a_progress_ends_the_turn() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("never").after(&held));
    let stage = Stage::new(TEXT);
    let profile = Profile::vscode().without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    ask(&mut editor, "wait");
    let begun = editor.until("the progress", |editor| {
        editor.note("$/progress", |params| params["value"]["kind"] == "begin")
    });
    assert_eq!(begun["value"]["cancellable"], true);
    let token = json!({ "token": begun["token"] });
    editor.notify("window/workDoneProgress/cancel", token);
    editor.message("cancelled");
    assert!(!gate.is_open());
}

/// All unnamed buffers of Neovim have the URI `file://`: none is mirrored or confused with another.
#[test]
fn unnamed_buffers_with_one_uri_are_no_documents() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::neovim()).start();
    for (version, text) in [(0, "first"), (4, "second")] {
        let document = json!({ "uri": "file://", "languageId": "text", "version": version,
            "text": text });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }
    let change = json!({ "textDocument": { "uri": "file://", "version": 9 },
        "contentChanges": [{ "text": "third" }] });
    editor.notify("textDocument/didChange", change);
    editor.open("a.txt");
    assert_eq!(editor.status()["documents"].as_array().unwrap().len(), 1);
    assert_eq!(editor.run("shorten").statuses(), ["completed", "completed"]);
}

/// Helix passes what was typed after a command as words, 25.01 nothing at all.
#[test]
fn text_after_a_command_is_its_argument_and_a_missing_one_gets_the_usage() {
    let model = Model::says("hello");
    let stage = Stage::new(TEXT);
    let profile = Profile::helix().without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    let params = json!({ "command": "interline.ask", "arguments": ["say", "hello"] });
    editor.request("workspace/executeCommand", params);
    editor.message("hello");
    assert!(model.request(0).user_text().contains("say hello"));
    let params = json!({ "command": "interline.ask" });
    let error = editor.refused("workspace/executeCommand", params);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("usage: interline.ask"),
        "{error}"
    );
}

/// Helix with `roots = []` names no folder: the file's own folder is the only root.
#[test]
fn without_a_folder_the_folder_of_the_file_is_used() {
    let model = Model::says("hello");
    let stage = Stage::new(TEXT);
    let profile = Profile::helix().without_plugin();
    let mut params = profile.initialize();
    params["processId"] = Value::Null;
    params["rootUri"] = Value::Null;
    params["workspaceFolders"] = json!([]);
    let mut editor = stage.launch(&model).profile(profile).silent();
    editor.handshake(params);
    editor.open("a.txt");
    ask(&mut editor, "hi");
    editor.message("hello");
    let listed = editor.request("interline/session/list", json!({ "cwd": stage.root() }));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
}
