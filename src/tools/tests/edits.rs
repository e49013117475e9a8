use serde_json::json;

use super::bench::{Bench, Conduct};
use crate::conversation::Mode;
use crate::host::Subject;
use crate::policy::{Decision, Policy, Reason};

#[tokio::test]
async fn inv2_inv3_an_edit_changes_the_buffer_and_shows_the_result() {
    let bench = Bench::new();
    bench.file("a.rs", "disk\n");
    bench.open("a.rs", "one\ntwo\nthree\n");
    bench.text("read", json!({"path": "a.rs"})).await;
    let output = bench
        .call(
            "edit",
            json!({"path": "a.rs", "old_string": "two", "new_string": "2"}),
        )
        .await
        .unwrap();
    assert_eq!(bench.buffer("a.rs"), "one\n2\nthree\n");
    assert_eq!(
        std::fs::read_to_string(bench.root.join("a.rs")).unwrap(),
        "disk\n"
    );
    assert_eq!(
        output.text,
        "Changed a.rs (lines: +1 −1). It now reads:\n1\tone\n2\t2\n3\tthree"
    );
    assert_eq!((output.files[0].added, output.files[0].removed), (1, 1));
    assert!(output.diff.unwrap().contains("-two\n+2\n"));
}

#[tokio::test]
async fn a_closed_file_is_changed_through_the_editor() {
    let bench = Bench::new();
    bench.file("a.rs", "one\ntwo\n");
    let edit = json!({"path": "a.rs", "old_string": "one", "new_string": "1"});
    bench.text("edit", edit).await;
    assert_eq!(bench.buffer("a.rs"), "1\ntwo\n");
    assert_eq!(
        std::fs::read_to_string(bench.root.join("a.rs")).unwrap(),
        "one\ntwo\n"
    );
}

#[tokio::test]
async fn without_buffers_the_file_is_written() {
    let bench = Bench::new();
    *bench.editor.conduct.lock().unwrap() = Conduct::Disk;
    bench.file("a.rs", "one\r\ntwo\r\n");
    let edit = json!({"path": "a.rs", "old_string": "one\ntwo", "new_string": "1\n2"});
    bench.text("edit", edit).await;
    bench
        .text("write", json!({"path": "new/b.rs", "content": "b\n"}))
        .await;
    let read = |name: &str| std::fs::read_to_string(bench.root.join(name)).unwrap();
    assert_eq!(read("a.rs"), "1\r\n2\r\n");
    assert_eq!(read("new/b.rs"), "b\n");
}

#[tokio::test]
async fn two_edits_of_one_message_apply_in_order() {
    let bench = Bench::new();
    bench.open("a.rs", "one\n");
    bench.text("read", json!({"path": "a.rs"})).await;
    for (old, new) in [("one", "two"), ("two", "three")] {
        let edit = json!({"path": "a.rs", "old_string": old, "new_string": new});
        bench.text("edit", edit).await;
    }
    assert_eq!(bench.buffer("a.rs"), "three\n");
}

#[tokio::test]
async fn inv4_the_users_changes_are_kept_or_the_edit_is_a_conflict() {
    let bench = Bench::new();
    bench.open("a.rs", "one\ntwo\nthree\nfour\n");
    bench.text("read", json!({"path": "a.rs"})).await;
    bench.types("a.rs", "zero\none\ntwo\nthree\nfour\n");
    let edit = json!({"path": "a.rs", "old_string": "three", "new_string": "3"});
    let text = bench.text("edit", edit).await;
    assert!(text.contains("those changes are kept"), "{text}");
    assert_eq!(bench.buffer("a.rs"), "zero\none\ntwo\n3\nfour\n");

    bench.types("a.rs", "zero\none\nTWO!\n3\nfour\n");
    let edit = json!({"path": "a.rs", "old_string": "two", "new_string": "2"});
    let words = bench.fails("edit", edit).await;
    assert!(
        words.starts_with("Nothing was changed: the user changed a.rs in the same place"),
        "{words}"
    );
    assert!(words.contains("3\tTWO!"), "{words}");
    assert_eq!(bench.buffer("a.rs"), "zero\none\nTWO!\n3\nfour\n");
    // The new text counts as seen.
    let edit = json!({"path": "a.rs", "old_string": "TWO!", "new_string": "2"});
    bench.text("edit", edit).await;
    assert_eq!(bench.buffer("a.rs"), "zero\none\n2\n3\nfour\n");
}

#[tokio::test]
async fn a_text_that_only_the_user_just_wrote_can_be_edited() {
    let bench = Bench::new();
    bench.open("a.rs", "one\n");
    bench.text("read", json!({"path": "a.rs"})).await;
    bench.types("a.rs", "one\nfresh\n");
    let edit = json!({"path": "a.rs", "old_string": "fresh", "new_string": "stale"});
    bench.text("edit", edit).await;
    assert_eq!(bench.buffer("a.rs"), "one\nstale\n");
}

#[tokio::test]
async fn an_edit_that_cannot_be_planned_says_where_to_look() {
    let bench = Bench::new();
    bench.file("a.rs", "fn one() {}\nfn two() {}\nx\nx\n");
    bench.text("read", json!({"path": "a.rs"})).await;
    for (old, new, count, part) in [
        ("fn one() { }", "y", None, "the best first:\n1\tfn one() {}"),
        ("zzzzqqq", "y", None, "does not occur in a.rs"),
        ("x", "y", None, "occurs 2 times in a.rs, at lines 3, 4"),
        ("x", "y", Some(3), "occurs 2 times in a.rs, not 3"),
        ("x", "x", None, "the same text"),
        ("", "y", None, "`old_string` is empty"),
        ("x", "y", Some(0), "counts from 1"),
    ] {
        let edit =
            json!({"path": "a.rs", "old_string": old, "new_string": new, "expected_count": count});
        let words = bench.fails("edit", edit).await;
        assert!(words.contains(part), "{old:?}: {words}");
    }
    let edit = json!({"path": "b.rs", "old_string": "x", "new_string": "y"});
    let words = bench.fails("edit", edit).await;
    assert!(words.starts_with("There is no file `b.rs`"), "{words}");
    let edit = json!({"path": "a.rs", "old_string": "x", "new_string": "y", "expected_count": 2});
    bench.text("edit", edit).await;
    assert_eq!(bench.buffer("a.rs"), "fn one() {}\nfn two() {}\ny\ny\n");
}

/// MC-12.
#[tokio::test]
async fn write_creates_files_and_replaces_only_what_was_read() {
    let bench = Bench::new();
    bench.file("a.rs", "one\ntwo\n");
    let write = json!({"path": "a.rs", "content": "one\n2\n"});
    let words = bench.fails("write", write.clone()).await;
    assert!(
        words.starts_with("Nothing was changed: a.rs was not read first"),
        "{words}"
    );
    bench.text("read", json!({"path": "a.rs"})).await;
    let text = bench.text("write", write.clone()).await;
    assert!(text.starts_with("Changed a.rs (lines: +1 −1)."), "{text}");
    let text = bench.text("write", write).await;
    assert!(text.starts_with("Nothing to change"), "{text}");
    let text = bench
        .text("write", json!({"path": "new.rs", "content": "x\n"}))
        .await;
    assert_eq!(text, "Created new.rs (lines: +1 −0). It reads:\n1\tx");
    assert_eq!(bench.buffer("new.rs"), "x\n");
    let edit = json!({"path": "newer.rs", "old_string": "", "new_string": "y\n"});
    let text = bench.text("edit", edit).await;
    assert!(text.starts_with("Created newer.rs"), "{text}");
}

#[tokio::test]
async fn inv3_a_refusal_is_reported_as_one() {
    let bench = Bench::new();
    bench.open("a.rs", "one\n");
    *bench.editor.conduct.lock().unwrap() = Conduct::Refuses;
    let edit = json!({"path": "a.rs", "old_string": "one", "new_string": "1"});
    let words = bench.fails("edit", edit).await;
    assert!(
        words.starts_with("Nothing was changed: the editor refused the edit of a.rs"),
        "{words}"
    );
    assert!(words.contains("read-only"), "{words}");
    assert_eq!(bench.buffer("a.rs"), "one\n");
}

#[tokio::test]
async fn inv8_the_approval_shows_exactly_the_change() {
    let bench = Bench::new();
    bench.file("a.rs", "one\n");
    let edit = json!({"path": "a.rs", "old_string": "one", "new_string": "1"});
    let prepared = bench.prepare("edit", edit).await.unwrap();
    let Some(Subject::Edit {
        uri, diff, after, ..
    }) = prepared.subject
    else {
        panic!("no subject");
    };
    assert_eq!(uri, bench.uri("a.rs").as_str());
    assert_eq!(after, crate::conversation::sha256(b"1\n"));
    assert_eq!(prepared.diff, Some(diff));
}

#[tokio::test]
async fn a_file_that_policy_denies_is_not_even_read() {
    let bench = Bench::new();
    bench.file(".git/config", "[core]\n");
    bench.file("a.rs", "one\n");
    let edit = json!({"path": ".git/config", "old_string": "nope", "new_string": "x"});
    assert_eq!(
        bench.decision("edit", edit.clone()).await,
        Decision::Deny(Reason::Git)
    );
    let words = bench.fails("edit", edit).await;
    assert!(words.contains(".git"), "{words}");
    for name in [
        ".git/hooks/pre-commit",
        "../state/trust.json",
        ".interline/config.toml",
    ] {
        let write = json!({"path": name, "content": "x"});
        let words = bench.fails("write", write).await;
        assert!(words.starts_with("Not done"), "{words}");
        assert!(!bench.root.join(name).exists(), "{name}");
    }
    let mut planning = Bench::new();
    planning.cx.policy = Policy {
        mode: Mode::Plan,
        ..planning.cx.policy
    };
    let write = json!({"path": "x", "content": "x"});
    let words = planning.fails("write", write).await;
    assert!(words.contains("mode `plan`"), "{words}");
}

#[tokio::test]
async fn a37_a_failed_match_reveals_nothing_about_a_secret() {
    let bench = Bench::new();
    bench.file(".env", "KEY=hunter2\n");
    for old in ["KEY=hunter2", "KEY=wrong"] {
        let edit = json!({"path": ".env", "old_string": old, "new_string": "x"});
        let words = bench.prepare("edit", edit).await.err().unwrap();
        assert_eq!(
            words,
            "Nothing was changed: read .env first, then call again."
        );
    }
    // After the user approved reading it, an edit can be planned, and asks.
    bench.text("read", json!({"path": ".env"})).await;
    let edit = json!({"path": ".env", "old_string": "hunter2", "new_string": "x"});
    assert_eq!(
        bench.decision("edit", edit).await,
        Decision::Ask {
            reason: Reason::Secret,
            remember: false
        }
    );
}
