use std::sync::Arc;

use serde_json::json;

use super::bench::Bench;
use crate::config::{Citations, Config};
use crate::conversation::Mode;
use crate::policy::{Decision, Reason};
use crate::tools::Registry;
use crate::workspace::Uri;

fn tea(scope: &str) -> serde_json::Value {
    json!({"type": "preference", "scope": scope, "text": "likes green tea"})
}

fn configured(bench: &mut Bench, change: impl FnOnce(&mut Config)) {
    let mut config = Config::default();
    change(&mut config);
    bench.cx.config = Arc::new(config);
}

/// OC-17: an answer cites its source.
#[tokio::test]
async fn a_saved_memory_is_found_with_its_file_and_date() {
    let bench = Bench::new();
    let saved = bench.text("save_memory", tea("user")).await;
    let path = bench.cx.env.dirs.config.join("memory/topics/preference.md");
    assert_eq!(
        saved,
        format!(
            "Saved as preference for scope `user` in {}.",
            path.display()
        )
    );
    let again = bench.text("save_memory", tea("user")).await;
    assert!(again.starts_with("Already known"), "{again}");
    let found = bench.text("memory_search", json!({"query": "tea"})).await;
    assert_eq!(
        found,
        format!(
            "1 of 1 memories match, the best first:\n\
             - [preference] likes green tea (user, 2026-01-01, {})",
            path.display()
        )
    );
    let none = bench
        .text("memory_search", json!({"query": "coffee\nbeans"}))
        .await;
    assert_eq!(none, "None of 1 memories contains words of `coffee beans`.");
}

#[tokio::test]
async fn oc17_without_citations_no_file_is_named() {
    let mut bench = Bench::new();
    bench.text("save_memory", tea("project")).await;
    configured(&mut bench, |config| {
        config.memory.citations = Citations::Off
    });
    let found = bench.text("memory_search", json!({"query": "tea"})).await;
    assert!(found.ends_with("tea (project, 2026-01-01)"), "{found}");
}

/// ZE-21, ZE-22.
#[tokio::test]
async fn ze21_ze22_other_types_and_scopes_are_rejected_with_those_that_exist() {
    let bench = Bench::new();
    for (arguments, named) in [
        (
            json!({"type": "mood", "scope": "user", "text": "x"}),
            "`constraint`",
        ),
        (
            json!({"type": "fact", "scope": "world", "text": "x"}),
            "`session`",
        ),
        (
            json!({"type": "Fact", "scope": "user", "text": "x"}),
            "`fact`",
        ),
        (json!({"type": "fact", "text": "x"}), "scope"),
    ] {
        let words = bench.fails("save_memory", arguments.clone()).await;
        assert!(words.contains(named), "{arguments}: {words}");
    }
    assert!(!bench.cx.env.dirs.config.exists());
    let tool = Registry::built_in().get("save_memory").unwrap();
    let schema = tool.schema(&bench.cx.texts);
    for (key, values) in [
        (
            "type",
            json!(["preference", "fact", "skill", "habit", "constraint"]),
        ),
        ("scope", json!(["user", "project", "session"])),
    ] {
        assert_eq!(schema["properties"][key]["enum"], values);
        for value in values.as_array().unwrap() {
            let mut arguments = tea("session");
            arguments[key] = value.clone();
            assert!(
                bench.prepare("save_memory", arguments).await.is_ok(),
                "{value}"
            );
        }
    }
}

#[tokio::test]
async fn inv8_only_mode_agent_remembers_beyond_the_session() {
    let mut bench = Bench::new();
    let allowed = Decision::Allow(Reason::Memory);
    assert_eq!(bench.decision("save_memory", tea("project")).await, allowed);
    let once = Decision::Ask {
        reason: Reason::Everywhere,
        remember: true,
    };
    assert_eq!(bench.decision("save_memory", tea("user")).await, once);
    for mode in [Mode::Ask, Mode::Plan] {
        bench.cx.policy.mode = mode;
        for scope in ["user", "project"] {
            let words = bench.fails("save_memory", tea(scope)).await;
            assert!(words.contains(mode.as_str()), "{words}");
        }
        assert_eq!(bench.decision("save_memory", tea("session")).await, allowed);
        bench.text("memory_search", json!({"query": "tea"})).await;
    }
    assert!(!bench.cx.env.dirs.config.exists());
}

#[tokio::test]
async fn a_secret_is_refused_with_what_to_do_and_without_its_value() {
    let bench = Bench::new();
    for text in ["the token is hunter2", "AKIAIOSFODNN7EXAMPLE is the key"] {
        let arguments = json!({"type": "fact", "scope": "user", "text": text});
        let words = bench.fails("save_memory", arguments).await;
        assert!(words.contains("where the secret is kept"), "{words}");
        assert!(
            !words.contains("hunter2") && !words.contains("AKIA"),
            "{words}"
        );
    }
    assert!(!bench.cx.env.dirs.config.exists());
}

#[tokio::test]
async fn disabled_memory_is_neither_written_nor_searched() {
    let mut bench = Bench::new();
    bench.text("save_memory", tea("user")).await;
    configured(&mut bench, |config| config.memory.enabled = false);
    for (tool, arguments) in [
        ("save_memory", tea("project")),
        ("memory_search", json!({"query": "tea"})),
    ] {
        let words = bench.fails(tool, arguments).await;
        assert!(words.contains("memory.enabled"), "{words}");
    }
}

#[tokio::test]
async fn inv2_a_topic_that_is_open_in_the_editor_is_not_written_on_disk() {
    let bench = Bench::new();
    bench.text("save_memory", tea("user")).await;
    let path = bench.cx.env.dirs.config.join("memory/topics/preference.md");
    let before = std::fs::read_to_string(&path).unwrap();
    bench
        .cx
        .workspace
        .did_open(Uri::from_path(&path), "markdown", 1, "typing\n");
    let more = json!({"type": "preference", "scope": "user", "text": "likes cake"});
    let words = bench.fails("save_memory", more).await;
    assert!(words.contains("open in the editor"), "{words}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[tokio::test]
async fn unusable_files_are_reported() {
    let bench = Bench::new();
    bench.text("save_memory", tea("user")).await;
    let topics = bench.cx.env.dirs.config.join("memory/topics");
    std::fs::write(topics.join("bad.md"), b"\xff").unwrap();
    let found = bench.text("memory_search", json!({"query": "tea"})).await;
    assert!(found.contains("bad.md: it is not UTF-8 text"), "{found}");
}

#[tokio::test]
async fn a_long_answer_is_truncated_between_memories_and_says_so() {
    let bench = Bench::new();
    let topics = bench.cx.env.dirs.config.join("memory/topics");
    std::fs::create_dir_all(&topics).unwrap();
    let long: String = (0..30)
        .map(|n| format!("- tea {n} {}\n", "word ".repeat(380)))
        .collect();
    std::fs::write(topics.join("long.md"), long).unwrap();
    let output = bench
        .call("memory_search", json!({"query": "tea"}))
        .await
        .unwrap();
    assert!(output.truncated);
    assert!(output.text.len() < 21 * 1024, "{}", output.text.len());
    assert!(
        output.text.starts_with("10 of 30"),
        "{}",
        &output.text[..40]
    );
    assert!(
        !bench
            .fails("memory_search", json!({"query": " ?"}))
            .await
            .is_empty()
    );
}

/// Two memories in one message go into one file in order, and a search waits for both.
#[test]
fn calls_on_one_scope_run_in_order() {
    let bench = Bench::new();
    let registry = Registry::built_in();
    let targets = |tool: &str, arguments: serde_json::Value| {
        registry.get(tool).unwrap().targets(&bench.cx, &arguments)
    };
    let saving = targets("save_memory", tea("user"));
    assert_eq!(saving.writes.len(), 1);
    assert_ne!(saving, targets("save_memory", tea("project")));
    let search = targets("memory_search", json!({"query": "x"}));
    assert!(search.reads.contains(&saving.writes[0]));
}
