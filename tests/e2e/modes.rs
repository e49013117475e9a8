//! What a mode forbids does not happen, and no mode is guessed.

use serde_json::json;

use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\none\n";

/// ZE-32, ZE-34, ZE-35: the tools stay visible; a forged call explains and does nothing.
#[test]
fn forged_calls_in_ask_and_plan_mode_fail_and_name_the_mode_to_switch_to() {
    for mode in ["ask", "plan"] {
        let forged = Reply::edit("a.txt", "one", "two")
            .and_call("write", json!({ "path": "b.txt", "content": "b" }))
            .and_call("exec", json!({ "command": "touch c.txt" }));
        let model = Model::steps(vec![Reply::read("a.txt"), forged]);
        let stage = Stage::new(TEXT);
        let mut editor = stage.editor(&model);
        editor.configure("mode", json!(mode));
        editor.open("a.txt");
        let turn = editor.run("change it");
        let refused = ["completed", "rejected", "rejected", "rejected"];
        assert_eq!(turn.statuses(), refused, "{mode}");
        for (tool, text, is_error) in model.last().results() {
            assert!(
                is_error && text.contains("switch to mode `agent`"),
                "{tool}: {text}"
            );
        }
        assert!(editor.script.edits.is_empty() && editor.script.asked.is_empty());
        assert!(!stage.path("b.txt").exists() && !stage.path("c.txt").exists());
        let tools = model.last().tools();
        let visible = ["edit", "exec", "write"].map(|name| tools.iter().any(|it| it == name));
        assert_eq!(visible, [true; 3], "{mode}");
    }
}

/// ZE-36: an unknown mode is an error that names the modes, and nothing is changed by it.
#[test]
fn an_unknown_mode_is_refused_wherever_it_is_named() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("ask"));
    let session = editor.session();
    let named = |error: &serde_json::Value| {
        let text = error.to_string();
        assert!(text.contains("agent") && text.contains("plan"), "{text}");
        assert_eq!(error["data"]["kind"], "invalid", "{text}");
    };
    for unknown in ["yolo", "Agent", "", "agent "] {
        let new = json!({ "mode": unknown });
        named(&editor.refused("interline/session/new", new));
        let configure = json!({ "sessionId": session, "mode": unknown });
        named(&editor.refused("interline/session/configure", configure));
        let command = json!({ "command": "interline.mode", "arguments": [{ "mode": unknown }] });
        named(&editor.refused("workspace/executeCommand", command));
        let preview = json!({ "sessionId": session, "mode": unknown });
        named(&editor.refused("interline/prompt/preview", preview));
    }
    let kept = json!({ "sessionId": session });
    assert_eq!(
        editor.request("interline/session/configure", kept)["mode"],
        "ask"
    );
}
