use serde_json::json;

use super::bench::Bench;
use crate::policy::{Decision, Reason};

/// MC-21.
/// MC-11: a range by offset and limit.
#[tokio::test]
async fn read_numbers_lines_and_says_how_to_continue() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\nthree\n");
    assert_eq!(
        bench.text("read", json!({"path": "a.txt"})).await,
        "1\tone\n2\ttwo\n3\tthree"
    );
    assert_eq!(
        bench
            .text("read", json!({"path": "a.txt", "offset": 2, "limit": 1}))
            .await,
        "2\ttwo\n[Lines 2 to 2 of 3. Read on with offset 3.]"
    );
    let words = bench
        .fails("read", json!({"path": "a.txt", "offset": 4}))
        .await;
    assert!(words.contains("has 3 lines"), "{words}");
    bench.file("empty", "");
    let text = bench.text("read", json!({"path": "empty"})).await;
    assert_eq!(text, "[The file is empty.]");
}

/// MC-20, MC-21: a truncated result says so, and how to continue.
/// MC-11, MC-28-C.
#[tokio::test]
async fn read_stops_at_2000_lines_and_at_50_kb() {
    let bench = Bench::new();
    bench.file("lines", &"x\n".repeat(2_500));
    let text = bench.text("read", json!({"path": "lines"})).await;
    assert!(text.ends_with("[Lines 1 to 2000 of 2500. Read on with offset 2001.]"));
    bench.file("wide", &format!("{}\n", "y".repeat(1_000)).repeat(100));
    let output = bench.call("read", json!({"path": "wide"})).await.unwrap();
    assert!(output.truncated && output.text.len() < 51_300);
    assert!(
        output.text.contains("Read on with offset 52."),
        "{}",
        &output.text[output.text.len() - 80..]
    );
}

#[tokio::test]
async fn inv2_read_shows_the_unsaved_buffer_and_says_so() {
    let bench = Bench::new();
    bench.file("a.txt", "disk\n");
    bench.open("a.txt", "buffer\n");
    let text = bench.text("read", json!({"path": "a.txt"})).await;
    assert!(
        text.starts_with("1\tbuffer\n[This is the editor's text"),
        "{text}"
    );
    // By its URI too. A clean buffer has no note.
    bench.types("a.txt", "disk\n");
    let uri = bench.uri("a.txt");
    let text = bench.text("read", json!({"path": uri.as_str()})).await;
    assert_eq!(text, "1\tdisk");
}

#[tokio::test]
async fn read_says_what_to_do_about_folders_missing_and_binary_files() {
    let bench = Bench::new();
    bench.file("src/main.rs", "");
    bench.file("src/.env", "");
    std::fs::write(bench.root.join("bin"), b"\xff\xfe\x00").unwrap();
    let words = bench.fails("read", json!({"path": "src"})).await;
    assert!(words.contains("`list`"), "{words}");
    let words = bench.fails("read", json!({"path": "src/mian.rs"})).await;
    assert!(words.contains("src/main.rs"), "{words}");
    let words = bench.fails("read", json!({"path": "src/.enw"})).await;
    assert!(
        !words.contains(".env,") && !words.contains(".env."),
        "{words}"
    );
    let words = bench.fails("read", json!({"path": "bin"})).await;
    assert!(words.contains("not UTF-8"), "{words}");
}

#[tokio::test]
async fn a13_a37_policy_decides_on_facts_when_read_asks() {
    let bench = Bench::new();
    bench.file(".env", "KEY=1");
    let outside = bench.dir.path().join("outside.txt");
    std::fs::write(&outside, "secret").unwrap();
    let ask = |reason| Decision::Ask {
        reason,
        remember: false,
    };
    let env = bench
        .decision("read", json!({"path": "./src/../.env"}))
        .await;
    assert_eq!(env, ask(Reason::Secret));
    let path = outside.canonicalize().unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        bench.decision("read", json!({"path": path})).await,
        ask(Reason::OutsideRoots)
    );
    assert_eq!(
        bench
            .decision("read", json!({"path": "../outside.txt"}))
            .await,
        ask(Reason::OutsideRoots)
    );
    assert_eq!(
        bench
            .decision("read", json!({"path": "../state/trust.json"}))
            .await,
        Decision::Deny(Reason::OwnFiles)
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, bench.root.join("link")).unwrap();
        assert_eq!(
            bench.decision("read", json!({"path": "link"})).await,
            ask(Reason::ThroughLink)
        );
        let words = bench
            .fails("write", json!({"path": "link", "content": "x"}))
            .await;
        assert!(words.contains("symbolic link"), "{words}");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret");
    }
    // After the user's approval it is read.
    assert_eq!(bench.text("read", json!({"path": path})).await, "1\tsecret");
}

#[tokio::test]
async fn a11_network_paths_and_control_characters_are_refused() {
    let bench = Bench::new();
    for path in ["file://host/share/x", "a\u{0}b", "", "unknown://x"] {
        let words = bench
            .prepare("read", json!({"path": path}))
            .await
            .err()
            .unwrap();
        assert!(words.starts_with("The call was not run"), "{words}");
    }
}

#[tokio::test]
async fn p23_wrong_arguments_are_named_and_never_converted() {
    let bench = Bench::new();
    for (tool, arguments, part) in [
        (
            "read",
            json!({"path": 3}),
            "`path`: invalid type: integer `3`",
        ),
        ("read", json!({}), "missing field `path`"),
        (
            "read",
            json!({"path": "a", "line": 1}),
            "unknown field `line`",
        ),
        (
            "read",
            json!({"path": "a", "offset": "1"}),
            "`offset`: invalid type: string \"1\"",
        ),
        (
            "read",
            json!({"path": "a", "offset": 1.5}),
            "`offset`: invalid type: floating point",
        ),
        ("read", json!({"path": "a", "offset": 0}), "count from 1"),
        (
            "exec",
            json!({"command": ["ls"]}),
            "`command`: invalid type: sequence",
        ),
        (
            "exec",
            json!({"command": "ls", "timeout_ms": 600_001}),
            "1 to 600000",
        ),
        (
            "exec",
            json!({"command": "ls", "stop": "x"}),
            "one of `command`, `read` and `stop`",
        ),
        ("exec", json!({}), "one of `command`, `read` and `stop`"),
        (
            "exec",
            json!({"stop": "x", "timeout_ms": 5}),
            "one of `command`, `read` and `stop`",
        ),
        ("exec", json!({"read": "x\ny"}), "no background command"),
        ("exec", json!({"command": " "}), "empty"),
        (
            "edit",
            json!({"path": "a", "old_string": "x"}),
            "missing field `new_string`",
        ),
        ("edit", json!("{\"path\": \"a"), "not a valid JSON"),
        ("grep", json!(null), "not a valid JSON object"),
        ("list", json!(["."]), "not a valid JSON object"),
    ] {
        let words = bench.prepare(tool, arguments.clone()).await.err();
        let words = words.unwrap_or_else(|| panic!("{tool} {arguments} was taken"));
        assert!(words.contains(part), "{tool} {arguments}: {words}");
    }
}

#[tokio::test]
async fn list_glob_and_grep_answer_in_path_order_and_see_buffers() {
    let bench = Bench::new();
    bench.file("b.rs", "fn b() {}\n");
    bench.file("src/a.rs", "fn a() {}\nlet x = 1;\nend\n");
    bench.file(".env", "fn secret\n");
    bench.file(".gitignore", "target\n");
    bench.file("target/out.rs", "fn out\n");
    bench.open("b.rs", "fn buffer() {}\n");
    let text = bench.text("list", json!({})).await;
    assert_eq!(text, ".gitignore\nb.rs\nsrc/");
    let text = bench.text("glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(text, "b.rs\nsrc/a.rs");
    let text = bench.text("grep", json!({"pattern": "^fn"})).await;
    assert_eq!(text, "b.rs:1:fn buffer() {}\nsrc/a.rs:1:fn a() {}");
    let text = bench
        .text(
            "grep",
            json!({"pattern": "let", "path": "src", "context": 1}),
        )
        .await;
    assert_eq!(
        text,
        "src/a.rs-1-fn a() {}\nsrc/a.rs:2:let x = 1;\nsrc/a.rs-3-end"
    );
    let text = bench
        .text("grep", json!({"pattern": "fn", "glob": "b.*"}))
        .await;
    assert_eq!(text, "b.rs:1:fn buffer() {}");
    let text = bench.text("grep", json!({"pattern": "nowhere"})).await;
    assert!(text.starts_with("Nothing found in `.`"), "{text}");
    let words = bench.fails("grep", json!({"pattern": "("})).await;
    assert!(words.contains("does not parse"), "{words}");
    let words = bench.fails("list", json!({"path": "b.rs"})).await;
    assert!(words.contains("not a folder"), "{words}");
    let words = bench
        .fails("glob", json!({"pattern": "*", "path": "no"}))
        .await;
    assert!(words.contains("There is no"), "{words}");
}

#[tokio::test]
async fn long_lines_are_cut_and_groups_are_separated() {
    let bench = Bench::new();
    bench.file(
        "long",
        &format!("{}\n{}\n", "é".repeat(500), "é".repeat(501)),
    );
    let text = bench.text("grep", json!({"pattern": "é"})).await;
    let (fits, rest) = text.split_once('\n').unwrap();
    assert_eq!(fits, format!("long:1:{}", "é".repeat(500)));
    let (cut, note) = rest.split_once('\n').unwrap();
    assert_eq!(cut, format!("long:2:{}…", "é".repeat(500)));
    assert!(note.contains("500"), "{note}");
    bench.file("groups", "a\nhit\nb\nc\nd\nhit\nhit\n");
    let arguments = json!({"pattern": "hit", "path": "groups", "context": 1});
    let text = bench.text("grep", arguments).await;
    let (lines, group) = text.split_once("\n--\n").unwrap();
    assert_eq!(lines, "groups-1-a\ngroups:2:hit\ngroups-3-b");
    assert_eq!(group, "groups-5-d\ngroups:6:hit\ngroups:7:hit");
    let text = bench
        .text("grep", json!({"pattern": "hit", "path": "groups"}))
        .await;
    assert_eq!(text, "groups:2:hit\ngroups:6:hit\ngroups:7:hit");
}

/// MC-20, MC-21.
#[tokio::test]
async fn caps_are_noted() {
    let bench = Bench::new();
    bench.file("many", &"hit\n".repeat(300));
    let output = bench.call("grep", json!({"pattern": "hit"})).await.unwrap();
    assert!(output.truncated);
    assert!(
        output
            .text
            .contains("many:200:hit\n[Only the first 200 lines"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn inv11_a_cancelled_search_says_so() {
    let bench = Bench::new();
    bench.file("a", "x");
    bench.cx.cancel.cancel();
    // Either the search was faster or it was cancelled. It never hangs.
    let result = bench.call("grep", json!({"pattern": "x"})).await;
    assert!(result.is_ok() || result == Err("cancelled".to_owned()));
}

#[tokio::test]
async fn titles_are_readable() {
    let bench = Bench::new();
    bench.file("src/a.rs", "x");
    for (tool, arguments, title) in [
        ("read", json!({"path": "src/a.rs"}), "Read src/a.rs"),
        ("list", json!({}), "List ."),
        (
            "glob",
            json!({"pattern": "*.rs", "path": "src"}),
            "Find *.rs in src",
        ),
        ("grep", json!({"pattern": "x"}), "Search x in ."),
        (
            "write",
            json!({"path": "src/b.rs", "content": "y"}),
            "Create src/b.rs",
        ),
        (
            "edit",
            json!({"path": "src/a.rs", "old_string": "x", "new_string": "y"}),
            "Edit src/a.rs",
        ),
        (
            "exec",
            json!({"command": "cargo check\n"}),
            "Run cargo check",
        ),
    ] {
        let prepared = bench.prepare(tool, arguments).await.unwrap();
        assert_eq!(prepared.title, title);
    }
}
