//! What `.interlineignore` excludes reaches the model through no channel, and the same channels show
//! it where nothing excludes it.

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.rs\nfn zebra() {}\n//- /hideaway.md\nx\n\
    //- /hideaway/otter.md\n# notes\nzebra MARKTEXT\n";
const FILE: &str = "hideaway/otter.md";
const LIST: &str = ".interlineignore";

/// One way in which a file reaches the model.
struct Channel {
    name: &'static str,
    /// What the model does.
    reply: Option<Reply>,
    /// It asks, and is rejected, if the file is excluded.
    asks: bool,
    /// What must not arrive.
    mark: &'static str,
    prepare: fn(&Stage, &mut Editor, &mut Value),
}

impl Channel {
    fn tool(name: &'static str, reply: Reply, asks: bool, mark: &'static str) -> Self {
        Self {
            name,
            reply: Some(reply),
            asks,
            mark,
            prepare: |_, _, _| {},
        }
    }

    fn editor(
        name: &'static str,
        mark: &'static str,
        prepare: fn(&Stage, &mut Editor, &mut Value),
    ) -> Self {
        Self {
            name,
            reply: None,
            asks: false,
            mark,
            prepare,
        }
    }

    /// Whether the mark is in a request.
    fn arrives(&self, excluded: bool) -> bool {
        let model = Model::steps(self.reply.iter().cloned().collect());
        let stage = Stage::new(TEXT);
        if excluded {
            stage.write(LIST, "hideaway*\n");
        }
        let mut editor = stage.launch(&model).profile(Profile::querying()).start();
        editor.open("a.rs");
        let mut params = editor.turn_params("look");
        (self.prepare)(&stage, &mut editor, &mut params);
        if excluded && self.asks {
            editor.approvals(&[Approval::Reject]);
        }
        editor.start(params);
        editor.wait_ended();
        let reason = editor
            .script
            .asked
            .first()
            .map(|it| it["reason"].to_string());
        assert!(reason.is_none_or(|it| it.contains(LIST)), "{}", self.name);
        (0..model.count()).any(|n| model.request(n).raw_text().contains(self.mark))
    }
}

fn tools() -> Vec<Channel> {
    let grep = |path: &str| Reply::call("grep", json!({ "pattern": "zebra", "path": path }));
    let lookup = json!({ "what": "references", "path": "a.rs", "line": 1, "symbol": "zebra" });
    let references = Channel {
        prepare: |_, editor, _| editor.query(|editor, _| Some(reference(editor))),
        ..Channel::tool(
            "references",
            Reply::call("lookup", lookup),
            false,
            "MARKTEXT",
        )
    };
    let problems = Channel {
        prepare: |_, editor, _| report(editor),
        ..Channel::tool(
            "problems",
            Reply::call("diagnostics", json!({})),
            false,
            "MARKTEXT",
        )
    };
    vec![
        Channel::tool("read", Reply::read(FILE), true, "MARKTEXT"),
        Channel::tool("grep", grep("."), false, "MARKTEXT"),
        Channel::tool("grep in the folder", grep("hideaway"), true, "MARKTEXT"),
        Channel::tool("grep in the file", grep(FILE), true, "MARKTEXT"),
        Channel::tool(
            "list",
            Reply::call("list", json!({ "path": "." })),
            false,
            "hideaway",
        ),
        Channel::tool(
            "glob",
            Reply::call("glob", json!({ "pattern": "*.md" })),
            false,
            "otter",
        ),
        Channel::tool(
            "a similar name",
            Reply::read("hidaway.md"),
            false,
            "hideaway.md",
        ),
        references,
        problems,
    ]
}

/// The location of an answer: the line with the mark.
fn reference(editor: &Editor) -> Value {
    let at = |character: u32| json!({ "line": 1, "character": character });
    let range = json!({ "start": at(0), "end": at(5) });
    json!({ "status": "ok", "items": [{ "uri": editor.uri(FILE), "range": range }] })
}

fn report(editor: &mut Editor) {
    let at = json!({ "line": 1, "character": 0 });
    let item = json!({ "range": { "start": at, "end": at }, "severity": 1, "message": "MARKTEXT" });
    let params = json!({ "uri": editor.uri(FILE), "diagnostics": [item] });
    editor.notify("interline/diagnostics/didChange", params);
}

/// The file is open, with unsaved text, and a part of it is selected.
fn look_at(editor: &mut Editor, params: &mut Value, active: bool) {
    editor.open(FILE);
    editor.append(&editor.uri(FILE), "unsaved MARKTEXT\n");
    editor.flush_all();
    let at = |line: u32| json!({ "line": line, "character": 0 });
    *params = editor.turn_params("look");
    params["context"]["editors"] = json!([{
        "uri": editor.uri(FILE), "version": editor.buffer(FILE).version, "active": active,
        "selections": [{ "start": at(0), "end": at(2) }],
        "visibleRange": { "start": at(0), "end": at(2) },
    }]);
}

fn attach(editor: &Editor, params: &mut Value, text: Option<&str>) {
    let part = json!({ "type": "resource", "uri": editor.uri(FILE), "text": text });
    params["input"].as_array_mut().expect("parts").push(part);
}

fn contexts() -> Vec<Channel> {
    let problems: fn(&Stage, &mut Editor, &mut Value) = |_, editor, params| {
        look_at(editor, params, true);
        report(editor);
    };
    vec![
        Channel::editor("the active editor", "MARKTEXT", |_, editor, params| {
            look_at(editor, params, true);
        }),
        Channel::editor("its name", "otter", |_, editor, params| {
            look_at(editor, params, true)
        }),
        Channel::editor("a visible editor", "otter", |_, editor, params| {
            look_at(editor, params, false);
        }),
        Channel::editor("an open buffer", "otter", |_, editor, params| {
            editor.open(FILE);
            *params = editor.turn_params("look");
        }),
        Channel::editor("its problems", "MARKTEXT", problems),
        Channel::editor("an attachment", "MARKTEXT", |_, editor, params| {
            attach(editor, params, None);
        }),
        Channel::editor(
            "an attachment with text",
            "MARKTEXT",
            |_, editor, params| {
                attach(editor, params, Some("MARKTEXT"));
            },
        ),
    ]
}

/// A39: neither the model nor the editor brings it in, and what asks says why.
#[test]
fn a39_what_is_excluded_reaches_the_model_through_no_channel() {
    for channel in tools().iter().chain(&contexts()) {
        assert!(!channel.arrives(true), "{}", channel.name);
        assert!(channel.arrives(false), "{}: proves nothing", channel.name);
    }
}

/// A39: naming it in settings does not make it an instruction.
#[test]
fn a39_an_excluded_file_is_no_instruction() {
    for (list, shown) in [("", true), ("hideaway*\n", false)] {
        let model = Model::says("ok");
        let stage = Stage::new(TEXT);
        stage.write(LIST, list);
        let launch = stage.launch(&model).setting("instructions", json!([FILE]));
        launch.start().run("hi");
        let sent = model.last().raw_text();
        assert_eq!(sent.contains("MARKTEXT"), shown, "{sent}");
    }
}

/// The user may show one, and the list applies from the moment it is written.
#[test]
fn an_excluded_file_is_read_when_the_user_allows_it() {
    let model = Model::steps(vec![Reply::read(FILE)]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("before");
    assert!(editor.script.asked.is_empty());
    stage.write(LIST, "hideaway/\n!hideaway/\n*.md\n");
    editor.approvals(&[Approval::Allow]);
    editor.run("after");
    let asked = &editor.script.asked;
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0]["remember"].is_null(), "{asked:?}");
    assert!(model.last().result().contains("MARKTEXT"));
}

/// INV-9: the agent cannot change a list.
#[test]
fn inv9_the_agent_writes_no_ignore_list() {
    let new = json!({ "path": "sub/.interlineignore", "content": "!*\n" });
    let model = Model::steps(vec![
        Reply::edit(LIST, "hideaway", "nothing"),
        Reply::call("write", new),
    ]);
    let stage = Stage::new(TEXT);
    stage.write(LIST, "hideaway/\n");
    let mut editor = stage.editor(&model);
    assert_eq!(editor.run("show it").statuses(), ["rejected"; 2]);
    assert_eq!(stage.read(LIST), "hideaway/\n");
    assert!(!stage.path("sub").exists());
}

/// What a completion offers is what a prompt may name.
#[test]
fn a_mention_is_not_completed_to_what_is_excluded() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    for (list, offered) in [("", true), ("hideaway*\n", false)] {
        stage.write(LIST, list);
        let params = json!({ "sessionId": session, "text": "@hid", "offset": 4 });
        let rows = editor.request("interline/input/complete", params);
        assert_eq!(rows.to_string().contains("hideaway"), offered, "{rows}");
    }
}
