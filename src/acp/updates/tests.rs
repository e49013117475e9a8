//! What a client sees of events.

use super::*;
use crate::conversation::FileChange;

fn context(cwd: &Path) -> Context<'_> {
    Context {
        cwd,
        replayed: false,
        notices: false,
        cost: None,
    }
}

fn call(status: ToolStatus) -> ToolItem {
    ToolItem {
        item_id: ItemId("i1".to_owned()),
        tool: "edit".to_owned(),
        title: "Edit a.rs".to_owned(),
        status,
        input: Some(json!({ "path": "src/../src/a.rs" })),
        output: None,
        truncated: false,
        files: Vec::new(),
        diff: None,
        child: None,
    }
}

const DIFF: &str = "--- a/a.rs\n+++ b/a.rs\n@@ -2,2 +2,3 @@\n one\n-two\n+2\n+3\n\
                    @@ -9 +10 @@\n-end\n\\ No newline at end of file\n+END\n\
                    \\ No newline at end of file\n";

#[test]
fn a_call_is_sent_once_and_then_updated() {
    let cwd = Path::new("/w");
    let mut shown = Shown::default();
    let first = shown.updates(&Event::ToolCall(call(ToolStatus::Pending)), &context(cwd));
    assert_eq!(first[0]["sessionUpdate"], "tool_call");
    assert_eq!(first[0]["kind"], "edit");
    let mut done = call(ToolStatus::Completed);
    done.diff = Some(DIFF.to_owned());
    done.output = Some("for the model".to_owned());
    done.files = vec![FileChange {
        uri: "file:///w/src/a.rs".to_owned(),
        added: 3,
        removed: 2,
        created: false,
        deleted: false,
    }];
    let second = &shown.updates(&Event::ToolCall(done), &context(cwd))[0];
    assert_eq!(second["sessionUpdate"], "tool_call_update");
    assert_eq!(second["status"], "completed");
    assert_eq!(
        second["locations"],
        json!([{ "path": "/w/src/a.rs", "line": 2 }])
    );
    assert_eq!(second["content"].as_array().map(Vec::len), Some(2));
    shown.clear();
    let replayed = shown.updates(&Event::ToolCall(call(ToolStatus::Failed)), &context(cwd));
    assert_eq!(replayed[0]["sessionUpdate"], "tool_call");
    assert_eq!(replayed[0]["status"], "failed");
}

#[test]
fn hunks_keep_their_lines_and_the_missing_line_end() {
    let found = diffs(Path::new("/a"), DIFF);
    assert_eq!(found[0]["oldText"], "one\ntwo\n");
    assert_eq!(found[0]["newText"], "one\n2\n3\n");
    assert_eq!(found[1]["oldText"], "end");
    assert_eq!(found[1]["newText"], "END");
    let made = diffs(Path::new("/a"), "@@ -0,0 +1 @@\n+hello\n");
    assert_eq!(made[0]["oldText"], Value::Null);
    assert_eq!(
        diffs(Path::new("/a"), "no diff at all"),
        Vec::<Value>::new()
    );
}

#[test]
fn a_streamed_text_is_not_sent_twice() {
    let mut shown = Shown::default();
    let cwd = Path::new("/w");
    let id = ItemId("t".to_owned());
    let delta = Event::TextDelta {
        item_id: id.clone(),
        text: "hel".to_owned(),
    };
    let whole = Event::Text {
        item_id: id,
        text: "hello".to_owned(),
        reply_to: None,
        signal: None,
    };
    assert_eq!(shown.updates(&delta, &context(cwd)).len(), 1);
    assert_eq!(shown.updates(&whole, &context(cwd)), Vec::<Value>::new());
    let mut replayed = Shown::default();
    assert_eq!(
        replayed.updates(&whole, &context(cwd))[0]["content"]["text"],
        "hello"
    );
}

#[test]
fn a_notice_is_a_notice_only_for_clients_that_show_them() {
    let cwd = Path::new("/w");
    let event = Event::Notice {
        text: "No one answered.".to_owned(),
    };
    let plain = Shown::default().updates(&event, &context(cwd));
    assert_eq!(plain[0]["sessionUpdate"], "agent_message_chunk");
    let able = Context {
        notices: true,
        ..context(cwd)
    };
    let notice = &Shown::default().updates(&event, &able)[0];
    assert_eq!(notice["sessionUpdate"], "notice");
    assert_eq!(notice["title"], "No one answered.");
}

#[test]
fn the_context_is_what_the_last_step_filled_and_the_cost_is_the_session_s() {
    let spent = |input, cost| {
        let mut spent = Spent::default();
        let usage = crate::conversation::Usage {
            input,
            ..Default::default()
        };
        spent.add(usage, Some(cost));
        spent
    };
    let event = |context| Event::Usage {
        usage: spent(900, 0.25),
        step: spent(500, 0.0),
        context,
    };
    let now = ContextUse {
        used: 500,
        window: 1000,
    };
    let cwd = Path::new("/w");
    let known = Context {
        cost: Some(0.5),
        ..context(cwd)
    };
    let update = &Shown::default().updates(&event(Some(now)), &known)[0];
    assert_eq!(
        (&update["used"], &update["size"]),
        (&json!(500), &json!(1000))
    );
    assert_eq!(update["cost"], json!({ "amount": 0.75, "currency": "USD" }));
    let none = event(None);
    assert!(Shown::default().updates(&none, &known).is_empty());
}

#[test]
fn an_image_is_an_image_and_a_file_a_link() {
    let cwd = Path::new("/w");
    let picture = |data: &str| Event::Image {
        item_id: ItemId("p".to_owned()),
        uri: "file:///w/a.png".to_owned(),
        media_type: "image/png".to_owned(),
        caption: Some("A dot".to_owned()),
        data: data.to_owned(),
    };
    let updates = Shown::default().updates(&picture("AAAA"), &context(cwd));
    let content = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA",
        "uri": "file:///w/a.png" });
    assert_eq!(updates[0]["content"], content);
    assert_eq!(updates[1]["content"]["text"], "\n\nA dot\n\n");
    // A log stores no images.
    let replayed = Shown::default().updates(&picture(""), &context(cwd));
    assert_eq!(replayed[0]["content"]["type"], "resource_link");
    let file = Event::File {
        item_id: ItemId("f".to_owned()),
        uri: "file:///w/out.zip".to_owned(),
        name: "out.zip".to_owned(),
        bytes: 3,
        link: false,
    };
    let content = json!({ "type": "resource_link", "uri": "file:///w/out.zip",
        "name": "out.zip", "size": 3 });
    assert_eq!(
        Shown::default().updates(&file, &context(cwd))[0]["content"],
        content
    );
}

#[test]
fn a_prompt_is_replayed_part_by_part() {
    let parts = [
        (
            json!({ "type": "text", "text": "hi" }),
            json!({ "type": "text", "text": "hi" }),
        ),
        (
            json!({ "type": "image", "mimeType": "image/png", "data": "aGk=" }),
            json!({ "type": "image", "mimeType": "image/png", "data": "aGk=" }),
        ),
        (
            json!({ "type": "document", "name": "a.pdf", "mimeType": "application/pdf", "data": "aGk=" }),
            json!({ "type": "resource", "resource": {
                "uri": "a.pdf", "mimeType": "application/pdf", "blob": "aGk=",
            } }),
        ),
        (
            json!({ "type": "resource", "uri": "file:///w/a", "text": "x" }),
            json!({ "type": "resource", "resource": { "uri": "file:///w/a", "text": "x" } }),
        ),
        (
            json!({ "type": "resource", "uri": "file:///w/a", "label": "the a" }),
            json!({ "type": "resource_link", "uri": "file:///w/a", "name": "the a" }),
        ),
        (
            json!({ "type": "resource", "uri": "file:///w/a" }),
            json!({ "type": "resource_link", "uri": "file:///w/a", "name": "file:///w/a" }),
        ),
        (
            json!({ "type": "skill", "name": "pdf", "arguments": "a b" }),
            json!({ "type": "text", "text": "/pdf a b" }),
        ),
        (
            json!({ "type": "skill", "name": "pdf" }),
            json!({ "type": "text", "text": "/pdf" }),
        ),
        (
            json!({ "type": "mcpPrompt", "server": "s", "name": "p" }),
            json!({ "type": "text", "text": "/s:p" }),
        ),
    ];
    let input = parts
        .each_ref()
        .map(|(part, _)| serde_json::from_value(part.clone()).unwrap());
    let chunks = parts.map(|(_, content)| {
        json!({
            "sessionUpdate": "user_message_chunk", "content": content, "messageId": "t-prompt",
        })
    });
    assert_eq!(replayed_prompt("t", &input), chunks);
}

#[test]
fn a_plan_has_what_is_not_cancelled_and_a_retry_is_shown() {
    let todo = |status| Todo {
        text: "x".to_owned(),
        status,
    };
    let all = [
        TodoStatus::Pending,
        TodoStatus::InProgress,
        TodoStatus::Cancelled,
        TodoStatus::Completed,
    ];
    let shown = plan(&all.map(todo));
    let status: Vec<_> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(status, ["pending", "in_progress", "completed"]);
    let retry = |in_ms| {
        Event::Retry(crate::conversation::RetryItem {
            reason: "Too many.".to_owned(),
            in_ms,
            attempt: 2,
            attempts: 8,
        })
    };
    for (in_ms, seconds) in [(1, 1), (1_000, 1), (1_001, 2)] {
        let updates = Shown::default().updates(&retry(in_ms), &context(Path::new("/w")));
        let words = format!("\n\nToo many. Retrying in {seconds} s (attempt 2 of 8).\n\n");
        assert_eq!(updates[0]["content"]["text"], words);
        assert_eq!(updates[0]["sessionUpdate"], "agent_thought_chunk");
    }
    let compaction = |status| {
        Event::Compaction(crate::conversation::event::CompactionItem {
            item_id: ItemId("i".to_owned()),
            status,
            reason: "threshold".to_owned(),
            tokens_before: 900,
            tokens_after: Some(90),
            text: None,
        })
    };
    let updates_of =
        |status| Shown::default().updates(&compaction(status), &context(Path::new("/w")));
    assert_eq!(updates_of(CompactionStatus::Running), Vec::<Value>::new());
    let words = updates_of(CompactionStatus::Completed)[0]["content"]["text"].clone();
    assert!(words.as_str().unwrap().contains("900 to 90"), "{words}");
}

#[test]
fn the_place_of_a_call_is_an_absolute_path() {
    let cwd = Path::new("/w");
    for (argument, path) in [
        ("src/../a.rs", Some("/w/src/../a.rs")),
        ("./a.rs", Some("/w/a.rs")),
        ("/etc/x", Some("/etc/x")),
        ("file:///w/a%20b", Some("/w/a b")),
        ("", None),
        ("~/x", None),
        ("https://x.test/a", None),
    ] {
        assert_eq!(
            location_of(argument, cwd).as_deref(),
            path.map(Path::new),
            "{argument}"
        );
    }
    assert_eq!(location_of("a.rs", Path::new("w")), None);
}

/// The texts of each kind of tool and status.
#[test]
fn kinds_and_states_are_the_protocols() {
    for (tool, word) in [
        ("read", "read"),
        ("load_skill", "read"),
        ("project_read", "read"),
        ("edit", "edit"),
        ("write", "edit"),
        ("apply_patch", "edit"),
        ("project_write", "edit"),
        ("list", "search"),
        ("glob", "search"),
        ("grep", "search"),
        ("memory_search", "search"),
        ("project_list", "search"),
        ("project_glob", "search"),
        ("exec", "execute"),
        ("web_fetch", "fetch"),
        ("write_todos", "think"),
        ("mcp__s__t", "other"),
    ] {
        assert_eq!(kind(tool), word, "{tool}");
    }
    for (state, word) in [
        (ToolStatus::Pending, "pending"),
        (ToolStatus::AwaitingApproval, "pending"),
        (ToolStatus::AwaitingSave, "pending"),
        (ToolStatus::Running, "in_progress"),
        (ToolStatus::Completed, "completed"),
        (ToolStatus::Failed, "failed"),
        (ToolStatus::Rejected, "failed"),
        (ToolStatus::Cancelled, "failed"),
    ] {
        assert_eq!(status(state), word);
    }
}
