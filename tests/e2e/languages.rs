//! Questions to the editor's language servers: `lookup`, `diagnostics`, and how the tools come and
//! go.

use serde_json::{Value, json};

use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.rs\nfn parse() {}\nparse(parse);\n//- /b.rs\nparse();\n\
                    //- /.env\nparse=1\n//- /gen/c.rs\nparse();\n//- /.gitignore\ngen/\n";

fn opened(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.launch(model).profile(Profile::querying()).start();
    answers_for(&mut editor, &["rust"]);
    editor.open("a.rs");
    editor
}

fn answers_for(editor: &mut Editor, languages: &[&str]) {
    let params = json!({ "languages": languages });
    editor.notify("interline/languages/didChange", params);
}

fn lookup(what: &str, line: u32, symbol: &str) -> Reply {
    let input = json!({ "what": what, "path": "a.rs", "line": line, "symbol": symbol });
    Reply::call("lookup", input)
}

fn at(uri: &str, line: u32) -> Value {
    let from = json!({ "line": line, "character": 0 });
    json!({ "uri": uri, "range": { "start": from, "end": from } })
}

fn found(items: &[Value]) -> Value {
    json!({ "status": "ok", "items": items })
}

#[test]
fn results_are_quoted_from_unsaved_text_without_ignored_and_secret_files() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![lookup("references", 1, "parse")]);
    let mut editor = opened(&stage, &model);
    editor.open("b.rs");
    editor.prepend("b.rs", "// unsaved\n");
    editor.query(|editor, query| {
        assert_eq!(query["position"], json!({ "line": 0, "character": 3 }));
        assert_eq!(query["minVersion"], 1);
        let uris = ["b.rs", "a.rs", ".env", "gen/c.rs"].map(|name| editor.uri(name));
        let lines = [1, 0, 0, 0];
        let items: Vec<Value> = uris.iter().zip(lines).map(|(uri, n)| at(uri, n)).collect();
        Some(found(&items))
    });
    editor.run("who calls it?");
    let result = model.last().result();
    assert!(
        result.starts_with("a.rs:1:fn parse() {}\nb.rs:2:parse();\n[2 more"),
        "{result}"
    );
}

#[test]
fn a_symbol_that_is_not_one_place_is_refused_with_the_places() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![
        lookup("definition", 2, "parse"),
        lookup("definition", 2, "fn"),
        lookup("definition", 1, "gone"),
    ]);
    let mut editor = opened(&stage, &model);
    editor.run("look");
    let result = |n: usize| model.request(n).result();
    assert!(
        result(1).contains("1: column 1, 2: column 7"),
        "{}",
        result(1)
    );
    assert!(result(2).contains("a.rs:1:fn parse() {}"), "{}", result(2));
    assert!(
        result(3).contains("does not occur in a.rs"),
        "{}",
        result(3)
    );
    assert_eq!(editor.script.queries, Vec::<Value>::new());
}

#[test]
fn a_server_that_starts_is_asked_again() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![lookup("hover", 1, "parse")]);
    let mut editor = opened(&stage, &model);
    editor.query(|_, _| Some(json!({ "status": "starting", "retryAfterMs": 1, "items": [] })));
    editor.query(|_, _| Some(found(&[json!({ "contents": "fn parse()" })])));
    editor.run("what is it?");
    let result = model.last().result();
    assert!(result.contains("```text\nfn parse()\n```"), "{result}");
    assert_eq!(editor.script.queries.len(), 2);
}

#[test]
fn an_unsupported_question_and_an_error_say_so() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![
        lookup("hover", 1, "parse"),
        lookup("hover", 1, "parse"),
    ]);
    let mut editor = opened(&stage, &model);
    editor.query(|_, _| Some(json!({ "status": "unsupported", "items": [] })));
    editor.query(|_, _| Some(json!({ "status": "error", "message": "it broke", "items": [] })));
    editor.run("what is it?");
    let first = model.request(1).result();
    assert!(first.contains("answer for: rust"), "{first}");
    assert!(model.last().result().contains("it broke"));
}

#[test]
fn symbols_are_listed_with_kind_and_line() {
    let stage = Stage::new(TEXT);
    let all = json!({ "what": "documentSymbols", "path": "a.rs" });
    let some = json!({ "what": "workspaceSymbols", "path": "a.rs", "symbol": "par" });
    let model = Model::steps(vec![
        Reply::call("lookup", all),
        Reply::call("lookup", some),
    ]);
    let mut editor = opened(&stage, &model);
    for _ in 0..2 {
        editor.query(|editor, _| {
            let mut item = at(&editor.uri("a.rs"), 0);
            item["name"] = "parse".into();
            item["kind"] = 12.into();
            Some(found(&[item]))
        });
    }
    editor.run("list");
    assert_eq!(
        model.request(1).result(),
        "1: function parse: fn parse() {}"
    );
    assert_eq!(
        model.last().result(),
        "a.rs:1: function parse: fn parse() {}"
    );
    assert_eq!(editor.script.queries[1]["query"], "par");
}

/// The bytes of the sent prefix stay, as with MCP tools that come late.
#[test]
fn tools_that_come_late_are_announced_and_called_through_mcp_call() {
    let stage = Stage::new(TEXT);
    let arguments = json!({ "what": "hover", "path": "a.rs", "line": 1, "symbol": "parse" });
    let late = json!({ "server": "editor", "tool": "lookup", "arguments": arguments });
    let mut calls = vec![Reply::text("ok"), Reply::call("mcp_call", late)].into_iter();
    let model = Model::start(move |request| {
        let next = calls.next();
        next.unwrap_or_else(|| Reply::text(&request.result()))
    });
    let mut editor = stage.launch(&model).profile(Profile::querying()).start();
    editor.open("a.rs");
    editor.run("hello");
    assert!(!model.request(0).tools().contains(&"lookup".to_owned()));
    answers_for(&mut editor, &["rust"]);
    editor.query(|_, _| Some(found(&[json!({ "contents": "a function" })])));
    let turn = editor.run("now");
    assert!(turn.text().contains("a function"), "{}", turn.text());
    assert_eq!(turn.calls()[0]["tool"], "lookup");
    let prompt = model.request(1).last_user_text();
    assert!(prompt.contains("server `editor`"), "{prompt}");
    assert_eq!(
        model.request(0).body()["tools"],
        model.last().body()["tools"]
    );
}

#[test]
fn tools_without_a_server_are_withdrawn_and_say_so() {
    let stage = Stage::new(TEXT);
    let mut calls = vec![Reply::text("ok"), lookup("hover", 1, "parse")].into_iter();
    let model = Model::start(move |request| {
        let next = calls.next();
        next.unwrap_or_else(|| Reply::text(&request.result()))
    });
    let mut editor = opened(&stage, &model);
    editor.run("hello");
    assert!(model.request(0).tools().contains(&"lookup".to_owned()));
    answers_for(&mut editor, &[]);
    editor.query(|_, _| Some(json!({ "status": "unsupported", "items": [] })));
    editor.run("now");
    let prompt = model.request(1).last_user_text();
    assert!(prompt.contains("no language server runs"), "{prompt}");
    assert!(model.last().result().contains("answer for: no language"));
    assert_eq!(
        model.request(0).body()["tools"],
        model.last().body()["tools"]
    );
}

#[test]
fn a_client_that_does_not_answer_queries_has_no_such_tools() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    answers_for(&mut editor, &["rust"]);
    editor.run("hello");
    let tools = model.last().tools();
    assert!(!tools.contains(&"lookup".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"diagnostics".to_owned()), "{tools:?}");
}

#[test]
fn the_tool_diagnostics_lists_what_is_reported_now() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![
        Reply::call("diagnostics", json!({ "path": "a.rs" })),
        Reply::call("diagnostics", json!({})),
    ]);
    let mut editor = opened(&stage, &model);
    let problem = |line: u32, severity: u32, message: &str| {
        let mut it = at("", line);
        it["severity"] = severity.into();
        it["message"] = message.into();
        it
    };
    let (soft, hard) = (problem(0, 2, "unused"), problem(1, 1, "no such thing"));
    let uri = editor.uri("a.rs");
    let params = json!({ "uri": uri, "version": 1, "diagnostics": [soft, hard] });
    editor.notify("interline/diagnostics/didChange", params.clone());
    let now = json!({ "uri": uri, "version": 1, "diagnostics": [hard] });
    editor.query(move |_, _| Some(found(&[now])));
    editor.run("check");
    let asked = model.request(1).result();
    assert!(
        asked.contains("```text\na.rs:2: error: no such thing\n```"),
        "{asked}"
    );
    let all = model.last().result();
    let lines = "a.rs:2: error: no such thing\na.rs:1: warning: unused\n";
    assert!(all.contains(lines), "{all}");
}

/// A report about an older text is left out and said to be.
#[test]
fn diagnostics_of_an_older_text_are_not_listed() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![Reply::call("diagnostics", json!({}))]);
    let mut editor = opened(&stage, &model);
    let mut problem = at("", 0);
    problem["message"] = "an old problem".into();
    let uri = editor.uri("a.rs");
    let params = json!({ "uri": uri, "version": 1, "diagnostics": [problem] });
    editor.notify("interline/diagnostics/didChange", params);
    editor.prepend("a.rs", "// new\n");
    editor.run("check");
    let result = model.last().result();
    assert!(result.contains("older text and left out: a.rs"), "{result}");
    assert!(!result.contains("an old problem"), "{result}");
}
