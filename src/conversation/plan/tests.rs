use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Todo, TodoStatus, lists_steps, written};
use crate::conversation::{Block, Message};

fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
    }
}

fn result(id: &str, is_error: bool) -> Block {
    Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: "said".to_owned(),
        is_error,
    }
}

fn plan(texts: &[&str]) -> Value {
    let todos: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "text": text, "status": "pending" }))
        .collect();
    json!({ "todos": todos })
}

fn step(id: &str, texts: &[&str], is_error: bool) -> [Message; 2] {
    let call = call(id, "write_todos", plan(texts));
    [
        Message::assistant(vec![call], "m"),
        Message::user(vec![result(id, is_error)]),
    ]
}

/// The plan after `messages`, unless it is empty.
fn latest(messages: &[Message]) -> Option<Vec<Todo>> {
    written(messages).filter(|todos| !todos.is_empty())
}

fn texts(messages: &[Message]) -> Option<Vec<String>> {
    latest(messages).map(|todos| todos.into_iter().map(|todo| todo.text).collect())
}

/// ZE-11: the plan belongs to the session, and the last call replaces all of it.
#[test]
fn ze11_the_last_successful_call_decides_the_plan() {
    let mut messages = vec![Message::user(vec![Block::text("do it")])];
    assert_eq!(latest(&messages), None);
    messages.extend(step("call", &["a", "b"], false));
    assert_eq!(texts(&messages), Some(vec!["a".into(), "b".into()]));
    // The same id again, as some providers send it, and a rejected call.
    messages.extend(step("call", &["c"], true));
    assert_eq!(texts(&messages), Some(vec!["a".into(), "b".into()]));
    messages.extend(step("call", &["d"], false));
    messages.push(Message::user(vec![Block::text("go on")]));
    assert_eq!(texts(&messages), Some(vec!["d".into()]));
    // The process ended before this one had a result.
    messages.push(step("x", &["e"], false)[0].clone());
    assert_eq!(texts(&messages), Some(vec!["d".into()]));
}

#[test]
fn the_second_of_two_calls_decides_the_plan_and_other_tools_do_not() {
    let calls = vec![
        call("1", "write_todos", plan(&["a"])),
        call("2", "write_todos", plan(&["b"])),
        call("3", "read", plan(&["c"])),
    ];
    let results = ["1", "2", "3"].map(|id| result(id, false)).to_vec();
    let messages = [Message::assistant(calls, "m"), Message::user(results)];
    assert_eq!(texts(&messages), Some(vec!["b".into()]));
}

#[test]
fn an_emptied_plan_is_no_plan_but_was_written() {
    let mut messages = step("1", &["a"], false).to_vec();
    messages.extend(step("2", &[], false));
    assert_eq!(latest(&messages), None);
    assert_eq!(written(&messages), Some(Vec::new()));
}

#[test]
fn a_todo_has_the_same_form_everywhere() {
    let todo = Todo {
        text: "a".to_owned(),
        status: TodoStatus::InProgress,
    };
    assert_eq!(json!(todo), json!({"text": "a", "status": "in_progress"}));
}

/// ZE-33: the end of a turn in plan mode is distinguished from a plain answer.
#[test]
fn ze33_a_text_with_numbered_steps_is_a_plan_and_prose_is_not() {
    for plan in [
        "Plan:\n1. Read it\n2. Change it",
        "## 1) One\ntext\n## 2) Two",
        "- **Step 1: look**\n- **Step 2: act**",
        "- [ ] one\n- [ ] two",
        "  10. **ten**\n  11. **eleven**",
    ] {
        assert!(lists_steps(plan), "{plan}");
    }
    for prose in [
        "It reads the file.",
        "1. Only one step",
        "3.14 is pi\n2.71 is e",
        "- one\n- two",
        "Stepping on\nstep by step",
        "2026: a year\n",
    ] {
        assert!(!lists_steps(prose), "{prose}");
    }
}

proptest! {
    /// Whatever the messages contain, searching for a plan never panics.
    #[test]
    fn any_text_and_any_arguments_are_accepted(text in any::<String>(), key in ".*") {
        lists_steps(&text);
        let odd = call("1", "write_todos", json!({ "todos": [key] }));
        let messages = [Message::assistant(vec![odd], "m"), Message::user(vec![result("1", false)])];
        prop_assert_eq!(latest(&messages), None);
    }
}
