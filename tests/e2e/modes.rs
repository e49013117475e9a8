//! Modes forbid what they promise to, and no mode is guessed.

use serde_json::{Value, json};

use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\none\n";

/// ZE-32, ZE-34, ZE-35: a forbidden call does nothing and explains why; the tools stay visible.
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
        let turn = editor.run("change it");
        assert_eq!(turn.statuses()[1..], ["rejected"; 3], "{mode}");
        for (tool, text, is_error) in model.last().results() {
            let says = text.contains("switch to mode `agent`");
            assert!(is_error && says, "{tool}: {text}");
            assert!(model.last().tools().contains(&tool), "{tool}");
        }
        assert!(editor.script.edits.is_empty() && editor.script.asked.is_empty());
        assert_eq!(stage.read("a.txt"), "one\n");
        assert!(!stage.path("b.txt").exists() && !stage.path("c.txt").exists());
    }
}

/// Each request that can name a mode.
fn naming(session: &Value, mode: &str) -> [(&'static str, Value); 4] {
    let named = json!({ "sessionId": session, "mode": mode });
    let command = json!({ "command": "interline.mode", "arguments": [{ "mode": mode }] });
    [
        ("interline/session/new", json!({ "mode": mode })),
        ("interline/session/configure", named.clone()),
        ("interline/prompt/preview", named),
        ("workspace/executeCommand", command),
    ]
}

/// ZE-36: an unknown mode is an error that names the modes and changes nothing.
#[test]
fn an_unknown_mode_is_refused_wherever_it_is_named() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("ask"));
    let session = json!(editor.session());
    for unknown in ["yolo", "agents", "", "a gent"] {
        for (method, params) in naming(&session, unknown) {
            let error = editor.refused(method, params);
            assert_eq!(error["data"]["kind"], "invalid", "{method}: {error}");
            let text = error["message"].as_str().unwrap();
            assert!(text.contains("agent") && text.contains("plan"), "{text}");
        }
    }
    let same = json!({ "sessionId": session });
    let same = editor.request("interline/session/configure", same);
    assert_eq!(same["mode"], "ask");
}
