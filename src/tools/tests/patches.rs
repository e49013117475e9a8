use serde_json::{Value, json};

use super::bench::{Bench, Conduct};
use crate::policy::{Decision, Reason};

fn patch(body: &str) -> Value {
    json!({ "input": format!("*** Begin Patch\n{body}*** End Patch\n") })
}

async fn read(bench: &Bench, name: &str) {
    bench.text("read", json!({ "path": name })).await;
}

#[tokio::test]
async fn a_patch_changes_creates_moves_and_deletes_and_says_what_it_did() {
    let bench = Bench::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        bench.file(name, "one\ntwo\n");
        read(&bench, name).await;
    }
    let body = "*** Update File: a.txt\n-one\n+1\n*** Add File: n.txt\n+new\n\
                *** Update File: b.txt\n*** Move to: m.txt\n two\n+three\n*** Delete File: c.txt\n";
    let prepared = bench.prepare("apply_patch", patch(body)).await.unwrap();
    let title = "Edit a.txt, create n.txt, move b.txt to m.txt, delete c.txt";
    assert_eq!(prepared.title, title);
    let output = prepared.run(&bench.cx).await.unwrap();
    assert!(!output.is_error, "{}", output.text);
    for part in [
        "Changed a.txt (lines: +1 −1)",
        "Created n.txt",
        "Created m.txt",
        "Deleted b.txt (lines: −2).",
        "Deleted c.txt (lines: −2).",
    ] {
        assert!(output.text.contains(part), "{part}: {}", output.text);
    }
    let files = bench.files();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.txt", "m.txt", "n.txt"]);
    assert_eq!(files["m.txt"], "one\ntwo\nthree\n");
    let deleted: Vec<bool> = output.files.iter().map(|file| file.deleted).collect();
    assert_eq!(deleted, [false, false, false, true, true]);
    let words = bench.fails(
        "edit",
        json!({"path": "c.txt", "old_string": "a", "new_string": "b"}),
    );
    assert!(words.await.contains("There is no file `c.txt`"));
}

#[tokio::test]
async fn on_disk_a_deleted_file_is_gone_and_a_changed_one_stays() {
    let bench = Bench::new();
    *bench.editor.conduct.lock().unwrap() = Conduct::Disk;
    let path = bench.file("a.txt", "one\n");
    read(&bench, "a.txt").await;
    std::fs::write(&path, "another\n").unwrap();
    let words = bench
        .fails("apply_patch", patch("*** Delete File: a.txt\n"))
        .await;
    assert!(
        words.contains("a.txt changed since you last saw it"),
        "{words}"
    );
    bench
        .text("apply_patch", patch("*** Delete File: a.txt\n"))
        .await;
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_that_is_deleted_and_added_is_rewritten() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\n");
    read(&bench, "a.txt").await;
    let body = "*** Delete File: a.txt\n*** Add File: a.txt\n+one\n+2\n";
    let text = bench.text("apply_patch", patch(body)).await;
    assert!(text.contains("(lines: +1 −1)"), "{text}");
    assert_eq!(bench.buffer("a.txt"), "one\n2\n");
}

#[tokio::test]
async fn several_sections_of_one_file_are_one_change() {
    let bench = Bench::new();
    bench.open("a.txt", "one\ntwo\nthree\n");
    read(&bench, "a.txt").await;
    let body = "*** Update File: a.txt\n-one\n+1\n*** Update File: a.txt\n-three\n+3\n";
    bench.text("apply_patch", patch(body)).await;
    assert_eq!(bench.buffer("a.txt"), "1\ntwo\n3\n");
}

/// A48: the policy on paths applies to every path of a patch, and the call is refused as a whole.
#[tokio::test]
async fn one_forbidden_path_refuses_the_whole_patch() {
    let bench = Bench::new();
    bench.file("a.txt", "one\n");
    read(&bench, "a.txt").await;
    for path in ["../../x", "/etc/x", ".git/config"] {
        for section in [
            format!("*** Add File: {path}\n+x\n"),
            format!("*** Update File: a.txt\n*** Move to: {path}\n-one\n+1\n"),
        ] {
            let body = format!("*** Add File: new.txt\n+x\n{section}");
            let decision = bench.decision("apply_patch", patch(&body)).await;
            assert!(
                !matches!(decision, Decision::Allow(_)),
                "{path}: {decision:?}"
            );
        }
    }
    let git = patch("*** Update File: a.txt\n-one\n+1\n*** Add File: .git/hooks/x\n+x\n");
    let decision = bench.decision("apply_patch", git.clone()).await;
    assert_eq!(decision, Decision::Deny(Reason::Git));
    bench.fails("apply_patch", git).await;
    assert_eq!(bench.files().len(), 1);
}

#[tokio::test]
async fn the_users_typing_elsewhere_is_kept_and_in_the_same_place_nothing_is_changed_i1_i3() {
    let bench = Bench::new();
    bench.open("a.txt", "one\ntwo\nthree\n");
    bench.open("b.txt", "x\n");
    read(&bench, "a.txt").await;
    read(&bench, "b.txt").await;
    bench.types("a.txt", "zero\none\ntwo\nthree\n");
    let body = "*** Update File: b.txt\n-x\n+y\n*** Update File: a.txt\n-three\n+3\n";
    let text = bench.text("apply_patch", patch(body)).await;
    assert!(text.contains("those changes are kept"), "{text}");
    assert_eq!(bench.buffer("a.txt"), "zero\none\ntwo\n3\n");
    bench.types("a.txt", "zero\nONE!\ntwo\n3\n");
    let body = "*** Update File: b.txt\n-y\n+z\n*** Update File: a.txt\n-one\n+1\n";
    let words = bench.fails("apply_patch", patch(body)).await;
    assert!(
        words.contains("the user changed a.txt in the same place"),
        "{words}"
    );
    assert!(words.contains("b.txt: not changed."), "{words}");
    assert_eq!(
        (bench.buffer("a.txt"), bench.buffer("b.txt")),
        ("zero\nONE!\ntwo\n3\n".into(), "y\n".into())
    );
}

#[tokio::test]
async fn a_refused_patch_leaves_what_the_model_saw_as_it_was() {
    let bench = Bench::new();
    bench.file("a.txt", "one\n");
    let words = bench
        .fails("apply_patch", patch("*** Delete File: a.txt\n"))
        .await;
    assert!(words.contains("1\tone"), "{words}");
    bench
        .text("apply_patch", patch("*** Delete File: a.txt\n"))
        .await;
    assert!(bench.files().is_empty());
}

#[tokio::test]
async fn a_file_that_was_never_read_is_shown_with_the_refusal() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\n");
    for (tool, arguments) in [
        ("write", json!({"path": "a.txt", "content": "x\n"})),
        (
            "edit",
            json!({"path": "a.txt", "old_string": "three", "new_string": "3"}),
        ),
        ("apply_patch", patch("*** Update File: a.txt\n-three\n+3\n")),
        ("apply_patch", patch("*** Delete File: a.txt\n")),
    ] {
        *bench.cx.seen.lock() = Default::default();
        let words = bench.fails(tool, arguments).await;
        let shown = "a.txt reads:\n1\tone\n2\ttwo";
        assert!(words.contains(shown), "{tool}: {words}");
    }
    // Now it has been read.
    bench
        .text("write", json!({"path": "a.txt", "content": "x\n"}))
        .await;
}
