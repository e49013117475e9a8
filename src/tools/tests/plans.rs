//! The plan and the clock.

use std::sync::Arc;

use serde_json::{Value, json};

use super::bench::Bench;
use crate::config::Config;
use crate::conversation::plan::TodoStatus;
use crate::conversation::{Event, Mode};
use crate::policy::{Decision, Policy, Reason};

fn todos(rows: &[(&str, &str)]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(text, status)| json!({ "text": text, "status": status }))
        .collect();
    json!({ "todos": rows })
}

/// ZE-11: each call replaces the whole plan, and the client gets all of it.
#[tokio::test]
async fn ze11_todos_are_replaced_shown_and_counted() {
    let bench = Bench::new();
    let first = todos(&[
        ("look", "completed"),
        ("cut", "in_progress"),
        ("sew", "pending"),
    ]);
    let said = bench.text("write_todos", first).await;
    assert_eq!(
        said,
        "The plan is written: 3 items, 1 completed, 1 in progress, 1 pending, 0 cancelled."
    );
    let said = bench.text("write_todos", todos(&[])).await;
    assert_eq!(said, "The plan is removed.");
    let events = bench.log.events.lock().unwrap();
    let [
        Event::Plan { todos: first, .. },
        Event::Plan { todos: last, .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((first[1].text.as_str(), last.len()), ("cut", 0));
    assert_eq!(first[1].status, TodoStatus::InProgress);
}

#[tokio::test]
async fn an_invalid_plan_changes_nothing_and_says_what_to_correct() {
    let bench = Bench::new();
    let many: Vec<(&str, &str)> = vec![("x", "pending"); 51];
    let long = "ü".repeat(301);
    for (arguments, part) in [
        (todos(&many), "51 items"),
        (
            todos(&[("a", "pending"), (" \n", "pending")]),
            "item 2 has 0",
        ),
        (todos(&[(long.as_str(), "pending")]), "item 1 has 301"),
        (
            todos(&[("a", "in_progress"), ("b", "pending"), ("c", "in_progress")]),
            "items 1, 3",
        ),
        (todos(&[("a", "done")]), "todos[0].status"),
        (
            json!({ "todos": [{ "text": "a" }] }),
            "missing field `status`",
        ),
        (
            json!({ "todos": [{ "text": "a", "status": "pending", "id": 1 }] }),
            "unknown field `id`",
        ),
    ] {
        let words = bench.fails("write_todos", arguments).await;
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(bench.log.events.lock().unwrap().is_empty());
    let most: Vec<(&str, &str)> = vec![("x", "pending"); 50];
    bench.text("write_todos", todos(&most)).await;
    let longest = "ü".repeat(300);
    bench
        .text("write_todos", todos(&[(&longest, "pending")]))
        .await;
}

/// K1, ZE-40: the prompt has only the date; the tool has seconds, offset and zone.
#[tokio::test]
async fn ze40_k1_the_exact_time_comes_with_weekday_offset_and_zone() {
    let mut bench = Bench::new();
    let now = "2026-07-01T23:59:58.9[Asia/Kolkata]".parse().unwrap();
    bench.cx.env = crate::env::Env::fixed(bench.dir.path(), now, Default::default());
    let said = bench.text("current_time", json!({})).await;
    assert_eq!(said, "Wednesday, 2026-07-01T23:59:58+05:30 (Asia/Kolkata)");
    for (zone, start, end) in [
        (
            "America/New_York",
            "Wednesday, 2026-07-01T14:29:58-04:00 (America/New_York)",
            "",
        ),
        (
            "Europe/Atlantis",
            "Wednesday, 2026-07-01T23:59:58+05:30 (Asia/Kolkata)",
            "names Europe/Atlantis, which is not a known time zone: this is the time in the system's zone.]",
        ),
    ] {
        let mut config = Config::default();
        config.prompt.timezone = Some(zone.to_owned());
        bench.cx.config = Arc::new(config);
        let said = bench.text("current_time", json!({})).await;
        assert!(said.starts_with(start) && said.ends_with(end), "{said}");
    }
    assert!(
        bench
            .fails("current_time", json!({"zone": "UTC"}))
            .await
            .contains("zone")
    );
}

/// They change nothing, so they never ask, whatever the mode and the folder's trust.
#[tokio::test]
async fn plans_and_the_clock_need_no_approval_in_any_mode() {
    for mode in Mode::ALL {
        let mut bench = Bench::new();
        bench.cx.policy = Policy {
            mode,
            trusted: false,
            ..bench.cx.policy
        };
        for (tool, arguments) in [
            ("write_todos", todos(&[("a", "pending")])),
            ("current_time", json!({})),
        ] {
            let decision = bench.decision(tool, arguments).await;
            assert_eq!(decision, Decision::Allow(Reason::InsideRoots), "{tool}");
        }
    }
}
