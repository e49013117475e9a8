//! Logs: checksums, torn tails, locks, prefixes.

use super::*;
use crate::conversation::entry::StoredSettings;
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{Block, Message, TurnId};
use crate::conversation::{Spent, TurnStop, Usage};
use crate::session::resume::resume;

pub fn header() -> Header {
    Header {
        kind: "session".to_owned(),
        version: VERSION,
        session_id: SessionId::from("s_1"),
        created_at: "2026-11-21T10:00:00Z".to_owned(),
        cwd: "/w".to_owned(),
        folders: vec!["file:///w".to_owned()],
        program: "interline test".to_owned(),
        parent: None,
    }
}

fn turn() -> TurnId {
    TurnId::from("turn_1")
}

// tidy: long because it is one list of records
fn story() -> Vec<Entry> {
    let message = |message| Entry::Message {
        turn: turn(),
        message,
    };
    vec![
        Entry::Configure(Box::new(StoredSettings {
            model: "anthropic/x".to_owned(),
            layout: "default".to_owned(),
            routed: true,
            title: Some("Läuft “das”?".to_owned()),
            ..StoredSettings::default()
        })),
        Entry::Item {
            turn: turn(),
            seq: 1,
            body: EnvelopeBody::Started {
                origin: Origin::Client,
                input: Vec::new(),
                parent: None,
            },
        },
        Entry::Journal {
            about: "mode".to_owned(),
            source: "mode".to_owned(),
            hash: "plan".to_owned(),
        },
        Entry::Tail {
            hashes: [("date".to_owned(), "h".to_owned())].into(),
        },
        message(Message::user(vec![Block::text("fix ü 🦀 \u{2028}")])),
        message(Message::assistant(
            vec![
                Block::Thinking {
                    thinking: String::new(),
                    signature: "sig".to_owned(),
                },
                Block::ToolUse {
                    id: "t1".to_owned(),
                    name: "read".to_owned(),
                    input: serde_json::json!({"path": "a"}),
                },
            ],
            "anthropic/x",
        )),
        message(Message::user(vec![Block::ToolResult {
            tool_use_id: "t1".to_owned(),
            content: "1\tx".to_owned(),
            is_error: false,
        }])),
        Entry::Usage {
            turn: turn(),
            model: "anthropic/x".to_owned(),
            usage: Usage {
                input: 5,
                output: 7,
                cache_read: 0,
                cache_write: 0,
            },
            cost: Some(0.25),
            aside: false,
            child: None,
        },
        Entry::Item {
            turn: turn(),
            seq: 2,
            body: EnvelopeBody::Ended {
                stop_reason: TurnStop::EndTurn,
                error: None,
                usage: Spent::default(),
                files: Vec::new(),
            },
        },
    ]
}

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("s_1.jsonl");
    let log = Log::create(&path, &header()).unwrap();
    for entry in story() {
        log.record(entry);
    }
    path
}

/// K10: the typed form.
/// ZY-80.
#[test]
fn recorded_entries_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let loaded = read(&path).unwrap();
    assert_eq!(loaded.header, header());
    assert_eq!(loaded.entries, story());
    assert_eq!(loaded.lost, 0);
}

#[test]
fn the_log_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/s_1.jsonl");
    let _log = Log::create(&path, &header()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

/// INV-6, S01: truncated anywhere, the log opens with every complete record, and appended records
/// are read too.
#[test]
fn any_prefix_of_a_log_opens_and_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in first..=bytes.len() {
        let torn = folder.path().join("torn.jsonl");
        std::fs::write(&torn, &bytes[..cut]).unwrap();
        let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let loaded = read(&torn).unwrap();
        let log = Log::open(&torn).unwrap();
        let expected = whole.saturating_sub(1);
        assert!(
            loaded.entries.len() == expected || loaded.entries.len() == expected + 1,
            "cut at {cut}: {} entries, {whole} lines",
            loaded.entries.len()
        );
        assert_eq!(loaded.entries[..], story()[..loaded.entries.len()]);
        log.unwrap().record(story()[0].clone());
        let again = read(&torn).unwrap();
        assert_eq!(
            again.entries.len(),
            loaded.entries.len() + 1,
            "cut at {cut}"
        );
        let resumed = resume(again.entries);
        let answered = resumed.unanswered.is_empty();
        let calls = resumed.conversation.messages.len() == 2;
        assert_ne!(
            answered, calls,
            "cut at {cut}: a call without its result is named"
        );
    }
}

/// ZY-82, S02.
#[test]
fn a_flipped_bit_costs_that_record_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 30;
    bytes[second] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let loaded = read(&path).unwrap();
    assert_eq!(loaded.lost, 1);
    assert_eq!(loaded.entries[..], story()[1..]);
}

/// S03: a second writer opens it read-only.
#[test]
fn a_second_writer_opens_it_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let first = Log::open(&path).unwrap();
    assert!(first.is_some());
    assert!(Log::open(&path).unwrap().is_none());
    assert_eq!(read(&path).unwrap().entries.len(), story().len());
    drop(first);
    assert!(Log::open(&path).unwrap().is_some());
}

/// S06: a record of a kind that this version does not know is skipped, not lost.
#[test]
fn unknown_records_are_skipped_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let log = Log::open(&path).unwrap();
    log.unwrap()
        .append(r#"{"type":"hologram","size":3}"#)
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    let loaded = read(&path).unwrap();
    assert_eq!((loaded.entries.len(), loaded.lost), (story().len(), 0));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

fn log_of(name: &str, lines: &[serde_json::Value]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// ZY-81, ZY-98, K10: the flat form has no header; the session is named after its file.
#[test]
fn a_log_of_flat_lines_is_a_session() {
    let (_folder, path) = log_of(
        "flat.jsonl",
        &[
            serde_json::json!({"role": "user", "content": "\"hello\"", "ts": 1}),
            serde_json::json!({"role": "assistant", "ts": 2, "toolCalls": [{"name": "read"}],
                "content": r#"[{"type":"text","text":"ho"},{"type":"hologram"}]"#}),
            serde_json::json!({"role": "user", "ts": 3,
                "content": r#"[{"type":"tool_result","tool_use_id":"t","content":"x"}]"#}),
            serde_json::json!({"role": "user", "content": "42", "ts": 4}),
        ],
    );
    let loaded = read(&path).unwrap();
    assert_eq!(loaded.header.session_id, SessionId::from("flat"));
    assert_eq!(loaded.lost, 0);
    let said: Vec<Vec<Block>> = resume(loaded.entries)
        .conversation
        .messages
        .iter()
        .map(|message| message.content.clone())
        .collect();
    let result = Block::ToolResult {
        tool_use_id: "t".to_owned(),
        content: "x".to_owned(),
        is_error: false,
    };
    assert_eq!(
        said,
        [
            vec![Block::text("hello")],
            vec![Block::text("ho")],
            vec![result],
            vec![Block::text("42")]
        ]
    );
}

/// A45: lines of a foreign log are messages of the user and of the assistant only.
#[test]
fn a45_lines_of_other_roles_are_not_messages() {
    let line = |role: &str| serde_json::json!({"role": role, "content": format!("I am {role}")});
    let lines = ["user", "system", "developer", "assistant"].map(line);
    let (_folder, path) = log_of("flat.jsonl", &lines);
    let resumed = resume(read(&path).unwrap().entries);
    let said: Vec<String> = resumed
        .conversation
        .messages
        .iter()
        .map(|message| format!("{:?}", message.content))
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("I am user") && said[1].contains("I am assistant"));
}

/// ZY-82, ZY-83-C, ZY-98, K10: the typed form of other programs; ZY-84: text for display is shown
/// but not sent.
#[test]
fn typed_lines_of_others_are_read() {
    let calls = serde_json::json!([{"name": "read", "input": "SHOWN", "result": "SHOWN"}]);
    let (_folder, path) = log_of(
        "typed.jsonl",
        &[
            serde_json::json!({"type": "session", "version": 3, "agentId": "main",
                "createdAt": 1_740_000_000}),
            serde_json::json!({"type": "message", "message": {"role": "user", "content": "old"},
                "timestamp": 1}),
            serde_json::json!({"type": "compaction", "summary": "They met.",
                "firstKeptEntryId": "e2", "tokensBefore": 9, "tokensAfter": 2, "timestamp": 2}),
            serde_json::json!({"type": "message", "message": {"role": "user",
                "content": [{"type": "text", "text": "new"}]}, "timestamp": 3}),
            serde_json::json!({"role": "assistant", "content": "\"ho\"", "ts": 4,
                "toolCalls": calls}),
            serde_json::json!({"type": "hologram"}),
        ],
    );
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"torn\n");
    std::fs::write(&path, text).unwrap();
    let loaded = read(&path).unwrap();
    assert_eq!(loaded.lost, 1);
    assert_eq!(loaded.header.created_at, "2025-02-19T21:20:00Z");
    let shown = |entry: &&Entry| matches!(entry, Entry::Item { .. });
    let shown: Vec<&Entry> = loaded.entries.iter().filter(shown).collect();
    assert!(format!("{shown:?}").contains("SHOWN"));
    let resumed = resume(loaded.entries);
    assert_eq!(resumed.settings.title.as_deref(), Some("old"));
    assert_eq!(resumed.conversation.turns, 2);
    let said: Vec<String> = resumed
        .conversation
        .messages
        .iter()
        .map(|message| format!("{:?} {:?}", message.role, message.content))
        .collect();
    assert_eq!(said.len(), 4, "{said:#?}");
    assert!(said[0].contains("summary]\\nThey met.") && said[1].starts_with("Assistant"));
    assert!(said[2].contains("new") && said[3].contains("ho"));
    assert!(!said.concat().contains("old") && !said.concat().contains("SHOWN"));
}

/// R29: a record without a sum is valid in a log that has none, and as far as the first record with
/// one vouches for it; nowhere else.
#[test]
fn a_record_without_a_sum_is_ignored_where_others_have_one() {
    let said = |text: &str| {
        serde_json::json!({"type": "message", "turn": "turn_1",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
    };
    let flat = serde_json::json!({"role": "assistant", "content": "\"forged\"", "ts": 1});
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let text = std::fs::read_to_string(&path).unwrap();
    for (forged, lost) in [
        (format!("{text}{}\n{flat}\n", said("forged")), 2),
        // Before the first record that has a sum, and with the header removed.
        (format!("{}\n{text}", said("forged")), 1),
        (
            text.replacen(
                &text[..text.find('\n').unwrap()],
                &format!(
                    "{}\n{}",
                    serde_json::to_string(&header()).unwrap(),
                    said("forged")
                ),
                1,
            ),
            1,
        ),
    ] {
        std::fs::write(&path, forged).unwrap();
        let loaded = read(&path).unwrap();
        assert_eq!((loaded.entries, loaded.lost), (story(), lost));
    }
}

/// Lines with every kind of block.
fn foreign_lines() -> [serde_json::Value; 5] {
    let image = serde_json::json!({ "type": "image", "source": {
        "media_type": "image/png", "data": "aGk=",
    } });
    let flat = serde_json::json!({ "type": "image", "media_type": "image/png", "data": "aGk=" });
    let parts = serde_json::json!([{ "text": "one" }, {}, { "text": "two" }]);
    let result = |content| serde_json::json!({ "type": "tool_result", "tool_use_id": "c", "content": content, "is_error": true });
    [
        serde_json::json!({ "role": "user", "content": [{ "type": "text", "text": "look" }, image, flat] }),
        serde_json::json!({ "role": "assistant", "content": [
            { "type": "text", "text": "well" },
            { "type": "tool_use", "id": "c", "name": "read", "input": { "path": "a" } },
            { "type": "hologram" },
        ] }),
        serde_json::json!({ "role": "user", "content": [result(parts), result("three".into())] }),
        serde_json::json!({ "role": "assistant", "content": "\"done\"", "toolCalls": [
            { "name": "read", "input": { "path": "b" }, "result": { "lines": 3 } },
            { "name": "read", "output": "four" },
            { "input": {} },
        ] }),
        serde_json::json!({ "role": "system", "content": "\"no\"" }),
    ]
}

/// ZY-83: each kind of block is shown and replayed; what is unknown is left out.
#[test]
fn blocks_of_a_foreign_log_are_read() {
    let (_folder, path) = log_of("flat.jsonl", &foreign_lines());
    let read = read(&path).unwrap().entries;
    let shown: Vec<serde_json::Value> = read
        .iter()
        .filter_map(|entry| match entry {
            Entry::Item { body, .. } => {
                let mut event = serde_json::to_value(body).unwrap()["event"].take();
                event.as_object_mut().unwrap().remove("itemId");
                Some(event)
            }
            _ => None,
        })
        .collect();
    let image = serde_json::json!({ "type": "image", "mimeType": "image/png", "data": "aGk=" });
    assert_eq!(
        shown[0]["input"],
        serde_json::json!([{ "type": "text", "text": "look" }, image, image])
    );
    let rest: Vec<_> = shown[1..]
        .iter()
        .map(|it| {
            (
                it["text"].as_str(),
                &it["input"]["path"],
                it["output"].as_str(),
            )
        })
        .collect();
    let none = serde_json::Value::Null;
    let (a, b) = (serde_json::json!("a"), serde_json::json!("b"));
    assert_eq!(
        rest,
        [
            (Some("well"), &none, None),
            (None, &a, None),
            (Some("done"), &none, None),
            (None, &b, Some("{\"lines\":3}")),
            (None, &none, Some("four")),
        ]
    );
    let said: Vec<_> = read
        .iter()
        .filter_map(|entry| match entry {
            Entry::Message { message, .. } => Some(message.content.clone()),
            _ => None,
        })
        .collect();
    let result = |content: &str| Block::ToolResult {
        tool_use_id: "c".to_owned(),
        content: content.to_owned(),
        is_error: true,
    };
    assert_eq!(said[2], [result("one\ntwo"), result("three")]);
    assert_eq!(said.len(), 4);
}

/// R29: a log of another program that continues as ours keeps its lines, as long as they are
/// unchanged.
#[test]
fn a_foreign_log_continues_with_its_lines() {
    let lines = [
        serde_json::json!({"role": "user", "content": "\"hello\"", "ts": 1}),
        serde_json::json!({"role": "assistant", "content": "\"ho\"", "ts": 2}),
    ];
    let (_folder, path) = log_of("flat.jsonl", &lines);
    let torn = std::fs::read_to_string(&path).unwrap() + "{\"torn";
    std::fs::write(&path, &torn).unwrap();
    let before = read(&path).unwrap().entries;
    drop(Log::open(&path).unwrap());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        torn,
        "only looked at"
    );
    Log::open(&path)
        .unwrap()
        .unwrap()
        .record(story()[0].clone());
    Log::open(&path)
        .unwrap()
        .unwrap()
        .record(story()[1].clone());
    let after = read(&path).unwrap();
    assert_eq!(after.entries[..before.len()], before);
    assert!(matches!(after.entries[before.len()], Entry::Vouched { .. }));
    assert_eq!(after.entries[before.len() + 1..], story()[..2]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("hello", "jello", 1)).unwrap();
    let forged = read(&path).unwrap();
    assert_eq!(forged.entries[1..], story()[..2]);
    assert_eq!(forged.lost, 3, "the flat lines, and the torn one");
}

/// R27: a log deleted while open is written again, in full, and that is reported once.
#[test]
fn a_deleted_log_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/s_1.jsonl");
    let log = Log::create(&path, &header()).unwrap();
    let (sender, reports) = std::sync::mpsc::channel();
    log.report_to(move |text| sender.send(text).unwrap());
    log.record(story()[0].clone());
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    log.record(story()[1].clone());
    log.record(story()[2].clone());
    assert_eq!(read(&path).unwrap().entries, story()[..3]);
    assert!(Log::open(&path).unwrap().is_none(), "it is locked");
    let text: Vec<String> = reports.try_iter().collect();
    assert!(
        matches!(&text[..], [one] if one.contains("was deleted")),
        "{text:?}"
    );
}

/// R27: a record that the disk rejects is reported once, held, and written when possible.
#[test]
fn records_that_the_disk_rejects_are_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/s_1.jsonl");
    let log = Log::create(&path, &header()).unwrap();
    let (sender, reports) = std::sync::mpsc::channel();
    log.report_to(move |text| sender.send(text).unwrap());
    // Deleted, and a file in place of its folder prevents writing it again.
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path.parent().unwrap(), "").unwrap();
    log.record(story()[0].clone());
    log.record(story()[1].clone());
    let text: Vec<String> = reports.try_iter().collect();
    assert!(
        matches!(&text[..], [one] if one.contains("cannot be saved")),
        "{text:?}"
    );
    std::fs::remove_file(path.parent().unwrap()).unwrap();
    log.record(story()[2].clone());
    assert_eq!(read(&path).unwrap().entries, story()[..3]);
    assert_eq!(reports.try_iter().count(), 1);
}

/// Journal and tail apply only once their message follows.
#[test]
fn updates_that_no_message_carried_are_sent_again() {
    let resumed = resume(story());
    assert_eq!(
        resumed.conversation.known_sources.get("mode").unwrap(),
        "plan"
    );
    let cut = resume(story()[..4].to_vec());
    assert!(cut.conversation.known_sources.is_empty());
    assert!(cut.conversation.tail.is_empty());
    assert_eq!(cut.interrupted, Some(turn()));
}

#[test]
fn an_id_never_leaves_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("w")).unwrap();
    std::fs::write(folder.path().join("x.jsonl"), "").unwrap();
    for id in ["../x", "", "w/../../x", "a b"] {
        assert_eq!(find(folder.path(), &SessionId::from(id)), None, "{id}");
    }
}

/// S03: a lock released a moment later, as by a child that is just starting, is not another writer.
#[test]
fn a_lock_that_only_lingers_does_not_make_a_log_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let copy = std::fs::File::open(&path).unwrap();
    copy.lock().unwrap();
    let (begun, begins) = std::sync::mpsc::channel();
    let opening = std::thread::spawn(move || {
        begun.send(()).unwrap();
        Log::open(&path).unwrap().is_some()
    });
    begins.recv().unwrap();
    drop(copy);
    assert!(opening.join().unwrap());
}

/// ZE-63: a resumed session knows the files that it created, each once, in order.
#[test]
fn ze63_created_files_survive_a_restart() {
    use crate::conversation::{Event, FileChange, ToolItem, ToolStatus};
    let call = |seq, files: &[(&str, bool)]| Entry::Item {
        turn: turn(),
        seq,
        body: EnvelopeBody::Event {
            event: Event::ToolCall(ToolItem {
                item_id: "i".into(),
                tool: "write".to_owned(),
                title: String::new(),
                status: ToolStatus::Completed,
                input: None,
                output: None,
                truncated: false,
                files: files
                    .iter()
                    .map(|(uri, created)| FileChange {
                        uri: (*uri).to_owned(),
                        added: 1,
                        removed: 0,
                        created: *created,
                        deleted: false,
                    })
                    .collect(),
                diff: None,
                child: None,
            }),
        },
    };
    let mut entries = story();
    entries.extend([
        call(3, &[("file:///w/b.rs", true)]),
        call(4, &[("file:///w/old.rs", false), ("file:///w/a.rs", true)]),
        call(5, &[("file:///w/b.rs", true)]),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s_1.jsonl");
    let log = Log::create(&path, &header()).unwrap();
    for entry in entries {
        log.record(entry);
    }
    let resumed = resume(read(&path).unwrap().entries);
    let created = resumed.conversation.created;
    assert_eq!(created, ["file:///w/b.rs", "file:///w/a.rs"]);
}

/// P26: a failed attempt is charged and says nothing about the conversation's size; entries of an
/// older version have no cost, so the sum has none either.
#[test]
fn a_log_restores_the_cost_of_the_session() {
    let entry = |cost: Option<f64>, failed: bool| {
        let mut entry = serde_json::json!({"type": "usage", "turn": "turn_1", "model": "a/b",
            "usage": {"input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0}});
        if let Some(cost) = cost {
            entry["cost"] = cost.into();
        }
        if failed {
            entry["aside"] = true.into();
        }
        serde_json::from_value::<Entry>(entry).unwrap()
    };
    let of = |entries: Vec<Entry>| resume(entries).conversation;
    let all = of(vec![entry(Some(0.5), false), entry(Some(0.25), true)]);
    assert_eq!((all.usage.total(), all.usage.cost), (22, Some(0.75)));
    assert_eq!(all.counted.unwrap().tokens, 11);
    assert_eq!(of(vec![entry(Some(0.5), true)]).counted, None);
    let old = of(vec![entry(None, false), entry(Some(0.5), false)]);
    assert_eq!((old.usage.total(), old.usage.cost), (22, None));
    assert_eq!(
        serde_json::to_value(entry(None, false))
            .unwrap()
            .get("cost"),
        None
    );
}
