//! An agent over ACP works in the buffers of an editor that has an `interline lsp` on the same
//! folder: two real processes of the program, one user.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::ALLOW;
use super::client::Client;
use crate::editor::{Editor, Profile};
use crate::fixture::{Stage, sha256};
use crate::model::{Model, Reply};

const FILE: &str = "//- /a.txt\none\ntwo\nthree\n";
const FS: &str = r#"{ "fs": { "readTextFile": true, "writeTextFile": true } }"#;

/// An editor with unsaved text in a file, which other processes know.
fn editor(stage: &Stage, model: &Model, profile: Profile, name: &str) -> Editor {
    let mut editor = stage.launch(model).profile(profile).start();
    type_unsaved(&mut editor, stage, name);
    editor
}

fn type_unsaved(editor: &mut Editor, stage: &Stage, name: &str) {
    editor.open(name);
    editor.prepend(name, "unsaved\n");
    editor.settle();
    let path = stage.path(name).display().to_string();
    editor.until("its card", |_| {
        let card = files(stage, "json")
            .first()
            .and_then(|it| std::fs::read(it).ok())?;
        let card: Value = serde_json::from_slice(&card).ok()?;
        let documents = card["documents"].as_array()?;
        let listed = |it: &Value| it["key"] == path.as_str() && it["dirty"] == true;
        documents.iter().any(listed).then_some(())
    });
}

/// The registry's files with this extension.
fn files(stage: &Stage, extension: &str) -> Vec<PathBuf> {
    let folder = stage.folder("run").join("interline/open");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|it| it.extension().is_some_and(|it| it == extension))
        .collect()
}

/// A client without files, initialized.
fn client(stage: &Stage, model: &Model) -> Client {
    let mut client = Client::spawn(stage, model);
    client.initialize(json!({}));
    client
}

/// Runs a prompt while the editor answers too; the agent's text.
fn prompt(client: &mut Client, editor: &mut Editor, session: &str) -> String {
    let id = client.start_prompt(session, "shorten it");
    let reason = editor.until("the end of the prompt", |_| client.poll(id));
    assert_eq!(reason, "end_turn");
    client.agent_text(session)
}

/// Reads and edits in each prompt, and repeats the last result.
fn reads_then_edits() -> Model {
    Model::start(|request| match request.step() {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "two", "2"),
        _ => Reply::text(&request.result()),
    })
}

/// Edits and then writes in the first prompt, and writes in the second one.
fn edits_then_writes() -> Model {
    let write = json!({ "path": "a.txt", "content": "new\n" });
    Model::start(move |request| match request.n {
        0 | 4 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "two", "2"),
        2 | 5 => Reply::call("write", write.clone()),
        _ => Reply::text(&request.result()),
    })
}

#[test]
fn an_agent_over_acp_reads_and_edits_the_unsaved_buffer_of_the_editor() {
    let model = reads_then_edits();
    let stage = Stage::new(FILE);
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    let mut client = client(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    prompt(&mut client, &mut editor, &session);
    assert!(model.request(1).result().contains("1\tunsaved"));
    assert_eq!(editor.text("a.txt"), "unsaved\none\n2\nthree\n");
    assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(client.leave(), 0);
}

/// Neovim reports typing late, and drops an edit for another version.
#[test]
fn the_edit_is_placed_around_what_the_user_types_in_the_editor() {
    for profile in [Profile::rich(), Profile::neovim()] {
        let model = reads_then_edits();
        let stage = Stage::new(FILE);
        let mut editor = editor(&stage, &model, profile, "a.txt");
        editor.before_edit(|editor| editor.replace("a.txt", "one", "ONE, typed"));
        let mut client = client(&stage, &model);
        client.user.push_back(ALLOW);
        let session = client.session(&stage.root());
        prompt(&mut client, &mut editor, &session);
        let expected = "unsaved\nONE, typed\n2\nthree\n";
        assert_eq!(editor.text("a.txt"), expected);
        assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
        assert_eq!(client.leave(), 0);
    }
}

/// INV-4: the model gets the current text.
#[test]
fn typing_in_the_same_place_is_a_conflict_and_changes_nothing() {
    let model = reads_then_edits();
    let stage = Stage::new(FILE);
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    editor.before_edit(|editor| editor.replace("a.txt", "two", "typed"));
    let mut client = client(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    let text = prompt(&mut client, &mut editor, &session);
    assert_eq!(editor.text("a.txt"), "unsaved\none\ntyped\nthree\n");
    assert!(text.contains("typed"), "{text}");
    assert_eq!(client.leave(), 0);
}

/// The client's own unsaved text precedes the editor's saved buffer; a file with different unsaved
/// text in both is neither read nor written.
#[test]
fn the_editor_with_the_unsaved_text_is_asked() {
    let model = reads_then_edits();
    let stage = Stage::new(FILE);
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    let mut client = Client::spawn(&stage, &model);
    client.initialize(serde_json::from_str(FS).expect("JSON"));
    client.user.push_back(ALLOW);
    let session = client.session(&stage.root());
    prompt(&mut client, &mut editor, &session);
    assert_eq!(editor.text("a.txt"), "unsaved\none\n2\nthree\n");
    assert!(client.files.iter().all(|(what, _)| what == "read"));
    let path = stage.path("a.txt").display().to_string();
    client
        .buffers
        .insert(path.clone(), "mine\ntwo\n".to_owned());
    let both = prompt(&mut client, &mut editor, &session);
    assert!(both.contains("save one of them"), "{both}");
    editor.save("a.txt");
    editor.settle();
    client.saves = false;
    client.user.push_back(ALLOW);
    prompt(&mut client, &mut editor, &session);
    assert_eq!(client.buffers[&path], "mine\n2\n");
}

/// The program of the editor dies with an edit under way: what became of it is unknown, and the
/// file is not written until the user has saved it.
#[test]
fn a_file_of_an_editor_whose_program_was_killed_is_not_written() {
    let model = edits_then_writes();
    let stage = Stage::new(FILE);
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    let mut client = client(&stage, &model);
    client.user.extend([ALLOW, ALLOW]);
    let session = client.session(&stage.root());
    let id = client.start_prompt(&session, "shorten it");
    editor.before_edit(|editor| editor.process.kill());
    editor.until("the edit", |editor| {
        client.poll(id);
        editor.process.over().then_some(())
    });
    client.wait(id).expect("an end");
    for (n, words) in [(2, "It is not known"), (3, "reopen it in the")] {
        let result = model.request(n).result();
        assert!(result.contains(words), "{result}");
    }
    assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
    stage.write("a.txt", "saved\n");
    client.prompt(&session, "again");
    assert_eq!(stage.read("a.txt"), "new\n");
}

/// What the editor closed is a file like any other, however the editor ended.
#[test]
fn a_closed_file_is_edited_on_disk() {
    let model = reads_then_edits();
    let stage = Stage::new(FILE);
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    let mut client = client(&stage, &model);
    client.user.extend([ALLOW, ALLOW, ALLOW]);
    let session = client.session(&stage.root());
    prompt(&mut client, &mut editor, &session);
    editor.close("a.txt");
    editor.until("no card", |_| {
        files(&stage, "json").is_empty().then_some(())
    });
    prompt(&mut client, &mut editor, &session);
    assert_eq!(stage.read("a.txt"), "one\n2\nthree\n");
    stage.write("a.txt", "two\n");
    type_unsaved(&mut editor, &stage, "a.txt");
    prompt(&mut client, &mut editor, &session);
    assert_eq!(editor.text("a.txt"), "unsaved\n2\n");
    assert_eq!(editor.quit(), 0);
    client.user.push_back(ALLOW);
    client.prompt(&session, "once more");
    assert_eq!(stage.read("a.txt"), "2\n");
}

/// A file below another root is not asked for, and not written behind its editor's back.
#[test]
fn an_editor_with_another_folder_is_not_asked() {
    let model = reads_then_edits();
    let stage = Stage::new("//- /mine/a.txt\none\ntwo\n//- /other/b.txt\nx\n");
    let mut editor = stage.launch(&model).opening("other/").start();
    let uri = stage.uri("mine/a.txt");
    editor.open_uri(&uri);
    editor.append(&uri, "unsaved\n");
    editor.settle();
    editor.until("its socket", |_| {
        (!files(&stage, "json").is_empty()).then_some(())
    });
    let mut client = client(&stage, &model);
    client.user.push_back(ALLOW);
    let session = client.session(&stage.path("mine"));
    let text = prompt(&mut client, &mut editor, &session);
    assert!(!model.request(1).result().contains("unsaved"));
    assert!(text.contains("save and close it there"), "{text}");
    assert_eq!(stage.read("mine/a.txt"), "one\ntwo\n");
    editor.save_uri(&uri);
}

/// Only the user can connect, and protected files are refused to everyone, whoever connects.
#[test]
fn the_socket_is_private_and_refuses_protected_files() {
    let model = Model::says("hi");
    let stage = Stage::new("//- /a.txt\none\n//- /.env\nKEY=1\n//- /.git/config\nx\n");
    let mut editor = editor(&stage, &model, Profile::rich(), "a.txt");
    for name in [".env", ".git/config"] {
        editor.open(name);
    }
    editor.settle();
    let socket = files(&stage, "sock").remove(0);
    let mode = |path: &std::path::Path| {
        let facts = std::fs::metadata(path).expect("a file");
        facts.permissions().mode() & 0o777
    };
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().expect("a folder")), 0o700);
    let read = |name: &str| ask(&socket, "buffer/read", json!({ "path": stage.path(name) }));
    assert_eq!(read("a.txt")["result"]["text"], "unsaved\none\n");
    for name in [".env", "../state/interline/sessions"] {
        let refused = read(name)["error"]["message"].to_string();
        assert!(refused.contains("protected"), "{name}: {refused}");
    }
    let edit = json!({ "path": stage.path(".git/config"), "revision": 0, "hash": sha256("x\n"),
        "edits": [], "label": "", "session": "s", "turn": "t", "item": "i" });
    let refused = ask(&socket, "buffer/edit", edit)["error"]["message"].to_string();
    assert!(refused.contains("protected"), "{refused}");
}

/// The answer to one request on the socket.
fn ask(socket: &std::path::Path, method: &str, params: Value) -> Value {
    let mut stream = UnixStream::connect(socket).expect("a connection");
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    writeln!(stream, "{line}").expect("a line");
    let mut answer = String::new();
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut answer).expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}
