//! Memories across sessions.

use serde_json::json;

use crate::editor::Approval;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

fn save(scope: &str, text: &str) -> Reply {
    let input = json!({ "type": "preference", "scope": scope, "text": text });
    Reply::call("save_memory", input)
}

/// ZE-23.
#[test]
fn ze23_the_user_s_memory_outlives_the_session_and_the_session_s_does_not() {
    let model = Model::start(|request| match request.n {
        0 => save("user", "likes green tea").and_call(
            "save_memory",
            json!({ "type": "fact", "scope": "session", "text": "tea is brewing" }),
        ),
        2 => Reply::call("memory_search", json!({ "query": "tea" })),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nalpha\n");
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    assert_eq!(editor.run("remember").statuses(), ["completed"; 2]);
    editor.new_session(json!({}));
    editor.run("what do I drink?");
    let found = model.last().result();
    assert!(found.contains("likes green tea (user, "), "{found}");
    assert!(found.contains("topics/preference.md"), "{found}");
    assert!(!found.contains("brewing"), "{found}");
    let file = stage.folder("config/interline/memory/topics/preference.md");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("- [preference] likes green tea ("), "{text}");
}

#[test]
fn mode_ask_remembers_nothing_that_lasts_and_a_key_is_never_remembered() {
    let model = Model::start(|request| match request.n {
        0 => save("user", "likes green tea"),
        2 => save("user", "deploys with ghp_16C7e42F292c6912E7"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nalpha\n");
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("ask"));
    assert_eq!(editor.run("remember").statuses(), ["rejected"]);
    editor.configure("mode", json!("agent"));
    assert_eq!(editor.run("remember").statuses(), ["failed"]);
    assert!(model.last().result().starts_with("Not saved"));
    assert!(!stage.folder("config/interline/memory").exists());
}
