//! Whole sessions compared with a record of all that crossed the wire: what the client is shown and
//! asked, and what the model reads. What differs from run to run is masked. After an intended
//! change: `INSTA_UPDATE=always cargo test --test e2e records`, and review the diff.

mod doors;
mod record;
mod turns;

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::{KEY, Stage};
use crate::model::{Model, Reply, RequestView};
use record::Record;

const TEXT: &str = "//- /AGENTS.md\n# Rules\nUse tabs.\n//- /src/AGENTS.md\nNo jokes in comments.\n\
    //- /src/lib.rs\nmod util;\n\nfn main() {\n\tutil::greet(\"you\");\n}\n\
    //- /src/util.rs\npub fn greet(name: &str) {\n\tprintln!(\"hi {name}\");\n}\n\
    //- /notes.txt\nalpha\nbeta\nalpha\n//- /.gitignore\ntarget/\n//- /target/old.rs\nfn old() {}\n\
    //- /.agents/skills/deploy/SKILL.md\n---\nname: deploy\ndescription: How to deploy.\n---\nRun it.\n";

/// Nearly every tool, failures included; then a turn with a retry and one that is stopped short.
fn script(request: &RequestView) -> Reply {
    let todos = json!({ "todos": [
        { "text": "look", "status": "completed" }, { "text": "change", "status": "in_progress" }] });
    match request.n {
        0 => Reply::call("list", json!({ "path": "." }))
            .and_call("glob", json!({ "pattern": "**/*.rs" }))
            .and_call("grep", json!({ "pattern": "fn \\w+", "path": "src" }))
            .saying("I look around.")
            .thinking("First the files."),
        1 => Reply::read("src/lib.rs")
            .and_call(
                "read",
                json!({ "path": "src/util.rs", "offset": 2, "limit": 1 }),
            )
            .and_call("read", json!({ "path": "missing.rs" }))
            .and_call("read", json!({ "path": 3 }))
            .and_call("reed", json!({ "path": "notes.txt" })),
        2 => Reply::edit("src/lib.rs", "\"you\"", "\"all\"").and_call(
            "write",
            json!({ "path": "new/a.txt", "content": "one\ntwo\n" }),
        ),
        3 => Reply::edit("notes.txt", "alpha", "gamma"),
        4 => Reply::edit("notes.txt", "beta", "delta").and_call("write_todos", todos),
        5 => Reply::call(
            "exec",
            json!({ "command": "printf 'a\\nb\\n'; exit 3", "description": "Prints" }),
        ),
        6 => Reply::call("load_skill", json!({ "name": "deploy" }))
            .and_call("load_skill", json!({ "name": "deplay" }))
            .and_call("memory_search", json!({ "query": "tabs" })),
        7 => Reply::text("All is **done**."),
        8 => Reply::rate_limited("0"),
        9 => Reply::text("Cut short").stopping("max_tokens"),
        _ => Reply::text("Again."),
    }
}

fn context(editor: &Editor, params: &mut Value) {
    let at = |line: u32, character: u32| json!({ "line": line, "character": character });
    params["context"]["editors"] = json!([{
        "uri": editor.uri("src/lib.rs"), "version": 1, "active": true,
        "selections": [{ "start": at(3, 0), "end": at(3, 5) }],
    }]);
}

#[test]
fn the_record_of_a_session_in_an_editor_with_our_plugin() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let mut record = Record::new(&stage);
    let uri = editor.open("src/lib.rs");
    editor.append(&uri, "// unsaved\n");
    editor.flush_all();
    let reported = json!({ "uri": uri, "version": 2, "diagnostics": [{
        "range": { "start": { "line": 3, "character": 1 }, "end": { "line": 3, "character": 5 } },
        "severity": 1, "source": "rustc", "message": "unresolved" }] });
    editor.notify("interline/diagnostics/didChange", reported);
    editor.approvals(&[Approval::Allow]);
    let mut params = editor.turn_params("Tidy it");
    context(&editor, &mut params);
    for (title, text) in [("one", ""), ("two", "and now?"), ("three", "continue")] {
        record.title(title);
        if !text.is_empty() {
            editor.prepend("src/lib.rs", "// mine\n");
            editor.flush_all();
            params = editor.turn_params(text);
        }
        editor.start(params.take());
        editor.wait_ended();
        record.notes(&mut editor);
        record.asked(&mut editor);
    }
    record.title("reverted, listed, opened again");
    let session = json!({ "sessionId": editor.session() });
    let first = editor.request("interline/session/open", session.clone());
    let turn = first["items"][0]["turnId"].clone();
    let mut params = session.clone();
    params["turnId"] = turn;
    let reverted = editor.request("interline/turn/revert", params);
    record.line("reverted", &reverted);
    record.asked(&mut editor);
    for method in ["session/list", "session/open", "session/export"] {
        let mut params = session.clone();
        if method == "session/export" {
            params["format"] = "markdown".into();
        }
        let answer = editor.request(&format!("interline/{method}"), params);
        record.line(method, &answer);
    }
    record.title("the last request");
    record.request(&model.last(), true);
    record.holds("plugin");
}

#[test]
fn the_record_of_a_session_in_an_editor_without_a_plugin() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let mut record = Record::new(&stage);
    let uri = editor.open("src/lib.rs");
    editor.approvals(&[Approval::Allow]);
    let prompts = ["Tidy it", "and now?", "continue"];
    for (text, answer) in prompts.into_iter().zip(["All is", "Cut short", "Again."]) {
        record.title(text);
        let at = json!({ "line": 3, "character": 1 });
        let range = json!({ "start": at, "end": at });
        editor.command("ask", json!({ "text": text, "uri": uri, "range": range }));
        if answer == "All is" {
            editor.message("Save ");
            for uri in editor.buffers.keys().cloned().collect::<Vec<_>>() {
                editor.save_uri(&uri);
            }
        }
        editor.message(answer);
        record.notes(&mut editor);
        record.asked(&mut editor);
    }
    record.title("the last request");
    record.request(&model.last(), false);
    record.holds("plain");
}

/// The same answers in other formats: what the other providers read.
#[test]
fn the_record_of_requests_in_openai_s_formats() {
    for (name, id) in [
        ("responses", "openai/gpt-6.1-sol"),
        ("chat", "openai-chat/deepseek-v4-pro"),
    ] {
        let model = Model::start(script);
        let stage = Stage::new(TEXT);
        let launch = stage.launch(&model).setting("model", json!(id));
        let mut editor = launch
            .var("OPENAI_BASE_URL", &model.url())
            .var("OPENAI_API_KEY", KEY)
            .var("ANTHROPIC_API_KEY", "")
            .start();
        editor.open("src/lib.rs");
        editor.approvals(&[Approval::Allow]);
        editor.run("Tidy it");
        let mut record = Record::new(&stage);
        record.request(&model.last(), false);
        record.holds(name);
    }
}
