//! Lines, secrets, limits.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::scrub::MARK;
use super::*;
use crate::conversation::{Block, Message, ModelFacts, ToolSpec};

fn env(vars: &[(&str, &str)]) -> Env {
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let vars: BTreeMap<String, String> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Env::fixed(Path::new("/nonexistent"), now, vars)
}

fn line(text: &str) -> String {
    frame(Direction::In, text, &Scrubber::new(&env(&[]))).to_string()
}

#[test]
fn a_recording_holds_frames_but_no_secrets() {
    let text = line(r#"{"method":"interline/auth/set","params":{"provider":"x","secret":"sk-1"}}"#);
    assert!(text.contains("interline/auth/set") && text.contains("\"in\""));
    assert!(!text.contains("sk-1"), "{text}");
    let text = line(r#"{"a":[{"headers":{"X":"sk-2"},"Authorization":"sk-3","n":1}]}"#);
    assert!(!text.contains("sk-"), "{text}");
    assert!(text.contains("\"n\":1"));
    assert!(!line("secret sk-1").contains("sk-1"), "no JSON");
}

#[test]
fn pieces_of_a_text_are_only_counted() {
    let event = |kind: &str| {
        line(&format!(
            r#"{{"method":"interline/turn/event","params":{{"event":{{"type":"{kind}","text":"hello"}}}}}}"#
        ))
    };
    assert!(event("textDelta").contains("(5 characters)"));
    assert!(event("text").contains("hello"));
    let chunk = r#"{"params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"hello"}}}}"#;
    assert!(!line(chunk).contains("hello"));
}

#[test]
fn known_values_and_keys_are_removed() {
    let scrubber = Scrubber::new(&env(&[
        ("MY_TOKEN", "hunter2-hunter2"),
        ("EDITOR", "vim-editor"),
    ]));
    scrubber.hide("Bearer abcdefghijklmnop");
    for (text, clean) in [
        ("use hunter2-hunter2 now", "use (removed) now"),
        ("vim-editor stays", "vim-editor stays"),
        ("x=abcdefghijklmnop", "x=(removed)"),
        ("key: sk-ant-api03-abcdefghijkl.", "key: (removed)"),
        ("AKIAIOSFODNN7EXAMPLE1", "(removed)"),
        ("task-force is a word", "task-force is a word"),
        ("sk-short", "sk-short"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- b",
            "a (removed) b",
        ),
        ("a -----BEGIN RSA PRIVATE", "a (removed)"),
    ] {
        let found = scrubber.scrubbed(text).unwrap_or_else(|| text.to_owned());
        assert_eq!(found, clean);
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_full_recording_says_so_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let recording = Recording::with_limit(&path, &env(&[]), 300).unwrap();
    let tap = recording.tap();
    for _ in 0..50 {
        tap(Direction::Out, r#"{"method":"x","params":{}}"#);
    }
    recording.finish();
    let lines = lines(&path);
    assert_eq!(lines[0]["interline"], "replay");
    assert_eq!(lines.last().unwrap()["ended"], "limit");
    assert!(lines.len() < 12, "{}", lines.len());
}

fn request(words: &str) -> Request {
    Request {
        unreadable: 0,
        model: "m".into(),
        facts: std::sync::Arc::new(ModelFacts::default()),
        system: std::sync::Arc::default(),
        tools: std::sync::Arc::new(vec![ToolSpec {
            name: "edit".into(),
            description: String::new(),
            input_schema: json!({}).into(),
        }]),
        messages: vec![Message::user(vec![Block::text(words)])].into(),
    }
}

/// The recorded line of a stream in these pieces; `hidden-value` is secret.
fn recorded(pieces: &[&[u8]]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let recording = Recording::start(&path, &env(&[("API_KEY", "hidden-value")])).unwrap();
    let taking = recording.taking("anthropic", "anthropic", &request("hidden-value and more"));
    taking.sent(b"body");
    let stream = taking.stream();
    pieces.iter().for_each(|piece| stream.chunk(piece));
    stream.end("whole");
    drop(stream);
    recording.finish();
    lines(&path).remove(2)
}

#[test]
fn an_answer_is_recorded_in_the_pieces_in_which_it_arrived() {
    let line = recorded(&[b"data: {\"text\":\"\xc3", b"\xa4\"}\n\n"]);
    let texts: Vec<&str> = line["stream"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|piece| piece[1].as_str())
        .collect();
    assert_eq!(texts, ["data: {\"text\":\"", "ä\"}\n\n"]);
    assert_eq!(line["end"], "whole");
    assert_eq!(line["at"]["answers"], 0);
    assert_eq!(line["expect"]["offers"], json!(["edit"]));
    assert_eq!(
        line["expect"]["lastUserContains"], "",
        "it began with a secret"
    );
}

#[test]
fn a_secret_in_an_answer_is_removed_and_one_in_pieces_drops_the_answer() {
    let line = recorded(&[b"data: {\"text\":\"a hidden-", b"value b\"}\n\n"]);
    assert_eq!(
        line["stream"][0][1],
        format!("data: {{\"text\":\"a {MARK} b\"}}\n\n")
    );
    let line = recorded(&[
        b"data: {\"text\":\"a hidden-\"}\n\n",
        b"data: {\"text\":\"value b\"}\n\n",
    ]);
    assert_eq!(
        (&line["end"], &line["stream"]),
        (&json!("secret"), &json!([]))
    );
}

proptest! {
    /// Whatever surrounds the value, and however it is split, it is in no line.
    #[test]
    fn no_cut_of_an_answer_lets_a_secret_through(before in "[a-z ]{0,12}", after in "[a-z ]{0,12}", cuts in proptest::collection::vec(0usize..60, 0..4)) {
        let text = format!("data: {{\"text\":\"{before}hidden-value{after}\"}}\n\n");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).collect();
        cuts.sort_unstable();
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut start = 0;
        for at in cuts {
            pieces.push(&text.as_bytes()[start..at]);
            start = at;
        }
        pieces.push(&text.as_bytes()[start..]);
        let line = recorded(&pieces).to_string();
        prop_assert!(!line.contains("hidden-value"), "{}", line);
    }
}
