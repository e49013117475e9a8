//! Background commands: approved like any other, read and stopped by item.

use serde_json::{Value, json};

use super::bench::Bench;
use crate::conversation::Mode;
use crate::host::Subject;
use crate::policy::{Decision, Reason, Rule};
use crate::tools::exec::background_results::ended_notices;

fn server(command: &str) -> Value {
    json!({"command": command, "background": true})
}

#[tokio::test]
async fn a_server_is_started_read_and_stopped_by_item() {
    let bench = Bench::new();
    let text = bench.text("exec", server("echo up; sleep 300")).await;
    assert!(
        text.starts_with("Running in the background as item i."),
        "{text}"
    );
    let read = json!({"read": "i", "timeout_ms": 60_000});
    assert_eq!(bench.text("exec", read).await, "Still running.\nup");
    let read = json!({"read": "i"});
    let text = bench.text("exec", read.clone()).await;
    assert_eq!(text, "Still running.\n[No new output.]");
    let text = bench.text("exec", json!({"stop": "i"})).await;
    let stopped = "Stopped, with everything it started.\n[No new output.]";
    assert_eq!(text, stopped);
    assert_eq!(bench.text("exec", read).await, stopped);
    let words = bench.fails("exec", json!({"read": "j"})).await;
    assert!(words.contains("Running now: none"), "{words}");
}

/// INV-8: approvals, rules and modes are the same as for any command.
#[tokio::test]
async fn inv8_a_background_command_is_judged_as_any_other() {
    let mut bench = Bench::new();
    let ask = Decision::Ask {
        reason: Reason::Command,
        remember: true,
    };
    assert_eq!(bench.decision("exec", server("make serve")).await, ask);
    let prepared = bench.prepare("exec", server("make serve")).await.unwrap();
    assert_eq!(prepared.title, "Run in the background: make serve");
    let subject = prepared.subject.unwrap();
    let foreground = json!({"command": "make serve"});
    let other = bench.prepare("exec", foreground).await.unwrap();
    assert_ne!(subject.hash(), other.subject.unwrap().hash());
    assert!(matches!(
        subject,
        Subject::Command {
            background: true,
            timeout_ms: 0,
            ..
        }
    ));
    bench.cx.policy.rules.push(Rule::Command {
        command: "make serve".into(),
        cwd: bench.root.clone(),
        runs: Vec::new(),
    });
    let allowed = Decision::Allow(Reason::SessionRule);
    assert_eq!(bench.decision("exec", server("make serve")).await, allowed);
    bench.cx.policy.mode = Mode::Plan;
    let denied = Decision::Deny(Reason::Mode(Mode::Plan));
    assert_eq!(bench.decision("exec", server("make serve")).await, denied);
}

/// In every mode, because the command itself was allowed.
#[tokio::test]
async fn running_commands_are_read_and_stopped_without_asking_in_every_mode() {
    let mut bench = Bench::new();
    bench.text("exec", server("sleep 300")).await;
    bench.cx.policy.mode = Mode::Ask;
    for arguments in [json!({"read": "i"}), json!({"stop": "i"})] {
        let decision = bench.decision("exec", arguments.clone()).await;
        assert_eq!(decision, Decision::Allow(Reason::InsideRoots));
        bench.text("exec", arguments).await;
    }
}

#[tokio::test]
async fn the_model_learns_once_that_a_command_ended() {
    let bench = Bench::new();
    bench.text("exec", server("echo x; exit 3")).await;
    let notice = loop {
        let mut notice = ended_notices(&bench.cx.background, &bench.cx.texts);
        if let Some(notice) = notice.pop() {
            break notice;
        }
        tokio::task::yield_now().await;
    };
    let line = "The background command i ended (echo x; exit 3): Exit code 3. ";
    assert!(notice.1.starts_with(line), "{}", notice.1);
    notice.0.mark_reported();
    assert!(ended_notices(&bench.cx.background, &bench.cx.texts).is_empty());
    let text = bench.text("exec", json!({"read": "i"})).await;
    assert_eq!(text, "Exit code 3.\nx");
}

/// X02, A37.
#[tokio::test]
async fn x02_a_flood_in_the_background_names_a_file_that_read_opens() {
    let bench = Bench::new();
    let flood = server("env; seq 1 20000; echo end");
    bench.text("exec", flood).await;
    bench.cx.background.get("i").unwrap();
    while !bench.cx.background.running().is_empty() {
        tokio::task::yield_now().await;
    }
    let output = bench.call("exec", json!({"read": "i"})).await.unwrap();
    assert!(output.truncated && output.text.len() < 31_000 && output.text.ends_with("\nend"));
    let (_, path) = output.text.split_once("the output is in ").unwrap();
    let (path, _) = path.split_once(']').unwrap();
    let text = bench.text("read", json!({"path": path, "limit": 50})).await;
    assert!(
        text.contains("PAGER=cat") && !text.contains("hunter2"),
        "{text}"
    );
}

#[tokio::test]
async fn too_many_at_once_are_refused_with_their_items() {
    let mut bench = Bench::new();
    for n in 0..crate::process::background::MOST {
        bench.cx.item = format!("i{n}").as_str().into();
        bench.text("exec", server("sleep 300")).await;
    }
    bench.cx.item = "more".into();
    let words = bench.fails("exec", server("sleep 300")).await;
    assert!(words.contains("i0, i1, i2"), "{words}");
}

/// A wrong item is answered with the running commands.
#[tokio::test]
async fn a_wrong_item_is_answered_with_the_running_ones() {
    let mut bench = Bench::new();
    for (n, known) in [
        "Running now: none",
        "Running now: i0",
        "Running now: i0, i1",
    ]
    .iter()
    .enumerate()
    {
        let words = bench.fails("exec", json!({"read": "wrong"})).await;
        assert!(words.contains("wrong") && words.contains(known), "{words}");
        assert_eq!(words.contains("none"), n == 0, "{words}");
        bench.cx.item = format!("i{n}").as_str().into();
        bench.text("exec", server("sleep 300")).await;
    }
}
