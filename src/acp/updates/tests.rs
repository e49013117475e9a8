//! What a client sees of events.

use super::*;
use crate::conversation::FileChange;

fn see(cwd: &Path) -> See<'_> {
    See {
        cwd,
        again: false,
        notices: false,
        size: None,
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
    let first = shown.tell(&Event::ToolCall(call(ToolStatus::Pending)), &see(cwd));
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
    }];
    let second = &shown.tell(&Event::ToolCall(done), &see(cwd))[0];
    assert_eq!(second["sessionUpdate"], "tool_call_update");
    assert_eq!(second["status"], "completed");
    assert_eq!(
        second["locations"],
        json!([{ "path": "/w/src/a.rs", "line": 2 }])
    );
    assert_eq!(second["content"].as_array().map(Vec::len), Some(2));
    shown.clear();
    let again = shown.tell(&Event::ToolCall(call(ToolStatus::Failed)), &see(cwd));
    assert_eq!(again[0]["sessionUpdate"], "tool_call");
    assert_eq!(again[0]["status"], "failed");
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
    assert_eq!(shown.tell(&delta, &see(cwd)).len(), 1);
    assert_eq!(shown.tell(&whole, &see(cwd)), Vec::<Value>::new());
    let mut again = Shown::default();
    assert_eq!(again.tell(&whole, &see(cwd))[0]["content"]["text"], "hello");
}

#[test]
fn a_notice_is_a_notice_only_for_clients_that_show_them() {
    let cwd = Path::new("/w");
    let event = Event::Notice {
        text: "No one answered.".to_owned(),
    };
    let plain = Shown::default().tell(&event, &see(cwd));
    assert_eq!(plain[0]["sessionUpdate"], "agent_message_chunk");
    let able = See {
        notices: true,
        ..see(cwd)
    };
    let notice = &Shown::default().tell(&event, &able)[0];
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
    let event = Event::Usage {
        usage: spent(900, 0.25),
        step: spent(500, 0.0),
    };
    let cwd = Path::new("/w");
    let known = See {
        size: Some(1000),
        cost: Some(0.5),
        ..see(cwd)
    };
    let update = &Shown::default().tell(&event, &known)[0];
    assert_eq!(
        (&update["used"], &update["size"]),
        (&json!(500), &json!(1000))
    );
    assert_eq!(update["cost"], json!({ "amount": 0.75, "currency": "USD" }));
    assert!(Shown::default().tell(&event, &see(cwd)).is_empty());
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
    let told = Shown::default().tell(&picture("AAAA"), &see(cwd));
    let content = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA",
        "uri": "file:///w/a.png" });
    assert_eq!(told[0]["content"], content);
    assert_eq!(told[1]["content"]["text"], "\n\nA dot\n\n");
    // A log stores no images.
    let again = Shown::default().tell(&picture(""), &see(cwd));
    assert_eq!(again[0]["content"]["type"], "resource_link");
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
        Shown::default().tell(&file, &see(cwd))[0]["content"],
        content
    );
}
