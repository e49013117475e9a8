//! The comment at the cursor as a prompt, in any language, with any client.

use serde_json::{Value, json};

use crate::editor::Profile;
use crate::fixture::Stage;
use crate::model::Model;

const TEXT: &str = "//- /a.py\nimport sys\n\n# Say hello\n# to the world.\ndef f(): pass\n//- /notes.md\n# Heading\n";

fn at(line: u32) -> Value {
    let place = json!({ "line": line, "character": 2 });
    json!({ "start": place, "end": place })
}

#[test]
fn the_comment_at_the_cursor_is_the_prompt() {
    let model = Model::edits(
        "a.py",
        "# Say hello\n# to the world.\n",
        "print('hello world')\n",
    );
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let uri = editor.open("a.py");
    let started = editor.command("doComment", json!({ "uri": uri, "range": at(3) }));
    assert_eq!(started["state"], "running");
    editor.message("Changed: ");
    assert!(editor.text("a.py").contains("print('hello world')"));
    let asked = model.request(0).user_text();
    assert!(asked.contains("Say hello\nto the world."), "{asked}");
    assert!(
        asked.contains("lines 3-5"),
        "the place comes along: {asked}"
    );
}

#[test]
fn the_action_is_offered_only_where_a_comment_is() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.open("a.py");
    editor.open("notes.md");
    let offered = |actions: Vec<Value>| {
        let titles = actions.iter().filter_map(|it| it["title"].as_str());
        titles.filter(|title| title.contains("comment")).count()
    };
    assert_eq!(offered(editor.actions("a.py", 2)), 1);
    assert_eq!(offered(editor.actions("a.py", 4)), 0);
    assert_eq!(
        offered(editor.actions("notes.md", 0)),
        0,
        "a heading is no comment"
    );
    let uri = editor.uri("a.py");
    let arguments = json!([{ "uri": uri, "range": at(4) }]);
    let params = json!({ "command": "interline.doComment", "arguments": arguments });
    let error = editor.refused("workspace/executeCommand", params);
    assert!(
        error["message"].as_str().unwrap().contains("no comment"),
        "{error}"
    );
}
