//! Reading from a checkpoint gives the same as from the beginning; a page gives the same as that
//! part of the whole.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::entry::{Baseline, Carried, Compaction, StoredSettings};
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{
    Block, Entry, EpochId, Event, FileChange, Input, ItemId, Message, Mode, Recorder as _, Spent,
    ToolItem, ToolStatus, TurnId, TurnStop, Usage,
};
use crate::session::resume::{items, resume};
use crate::session::store::tests::header;
use crate::session::store::{Log, read};

fn turn(n: usize) -> TurnId {
    TurnId(format!("turn_{n}"))
}

fn words(size: usize) -> String {
    "wörd ".repeat(size)
}

fn input(size: usize, skill: bool) -> Vec<Input> {
    let mut input = vec![Input::Text { text: words(size) }];
    input.extend(skill.then(|| Input::Skill {
        name: format!("skill_{}", size % 3),
        arguments: None,
    }));
    input
}

fn call(n: usize, size: usize) -> Event {
    Event::ToolCall(ToolItem {
        item_id: ItemId(format!("item_{n}")),
        tool: "write".to_owned(),
        title: r#"says "created":true of itself"#.to_owned(),
        status: ToolStatus::Completed,
        input: Some(json!({"path": "a"})),
        output: Some(words(size)),
        truncated: false,
        files: vec![FileChange {
            uri: format!("file:///w/{}.rs", size % 5),
            added: 1,
            removed: 0,
            created: size.is_multiple_of(2),
            deleted: false,
        }],
        diff: None,
        child: None,
    })
}

fn baseline(n: usize) -> Baseline {
    Baseline {
        epoch: EpochId(format!("e{n}")),
        reason: "start".to_owned(),
        model: "p/m".to_owned(),
        layout: "default".to_owned(),
        agent: None,
        system: Vec::new(),
        tools: Vec::new(),
        tool_code: "1".to_owned(),
        sources: [(format!("source {n}"), "h".to_owned())].into(),
        start: n,
        demands: Vec::new(),
        offered: Vec::new(),
    }
}

fn shown(n: usize, body: EnvelopeBody) -> Entry {
    Entry::Item {
        turn: turn(n / 7),
        seq: n as u64 + 1,
        body,
    }
}

fn event(n: usize, event: Event) -> Entry {
    shown(n, EnvelopeBody::Event { event })
}

/// The record number `n` of a log: of the kind that `kind` says, about as long as `size`.
// tidy: long because it is one list of records
fn record(n: usize, kind: u8, size: usize) -> Entry {
    let item_id = ItemId(format!("item_{n}"));
    let said = |message| Entry::Message {
        turn: turn(n),
        message,
    };
    match kind {
        0 => shown(
            n,
            EnvelopeBody::Started {
                origin: Origin::Client,
                input: input(size, false),
                parent: None,
            },
        ),
        1 => shown(
            n,
            EnvelopeBody::Ended {
                stop_reason: TurnStop::EndTurn,
                error: None,
                usage: Spent::default(),
                files: Vec::new(),
            },
        ),
        2 => event(
            n,
            Event::Text {
                item_id,
                text: words(size),
                reply_to: None,
                signal: None,
            },
        ),
        3 => event(
            n,
            Event::UserMessage {
                item_id,
                input: input(size, size.is_multiple_of(2)),
            },
        ),
        4 => event(n, call(n, size)),
        5 => said(Message::user(vec![Block::text(words(size))])),
        6 => said(Message::assistant(
            vec![Block::ToolUse {
                id: format!("t{n}"),
                name: "read".to_owned(),
                input: json!({"path": words(size)}),
            }],
            "p/m",
        )),
        7 => Entry::Journal {
            about: "mode".to_owned(),
            source: format!("mode {}", size % 3),
            hash: size.to_string(),
        },
        8 => Entry::Tail {
            hashes: [("date".to_owned(), size.to_string())].into(),
        },
        9 => Entry::PromptBaseline(Box::new(baseline(n))),
        10 => Entry::Compaction(Box::new(Compaction {
            turn: turn(n),
            reason: "threshold".to_owned(),
            first_kept: 0,
            summary: Some("s".to_owned()),
            tokens_before: 9,
            tokens_after: 3,
            model: "p/m".to_owned(),
            messages: vec![Message::user(vec![Block::text(words(size % 9))])],
            carried: Carried::default(),
            begun: None,
        })),
        11 => Entry::Usage {
            turn: turn(n),
            model: "p/m".to_owned(),
            usage: Usage {
                input: size as u64,
                output: 2,
                cache_read: 0,
                cache_write: 0,
            },
            cost: (!size.is_multiple_of(5)).then_some(0.25),
            aside: size.is_multiple_of(3),
            child: None,
        },
        12 => Entry::Queued {
            turn: turn(n / 7 + size % 2),
            input: input(1, false),
        },
        13 => Entry::Fork {
            of: SessionId::from("s_0"),
            turn: None,
        },
        14 => Entry::Revert {
            item: ItemId(format!("revert_{}", n % 2)),
            turn: turn(0),
            of: None,
            hunks: Vec::new(),
        },
        15 => Entry::EditIntent {
            item: ItemId(format!("revert_{}", n % 2)),
            uri: format!("file:///w/{size}.rs"),
            version: Some(1),
            before: "b".to_owned(),
            hash: "h".to_owned(),
            hunks: Vec::new(),
            create: false,
            delete: size.is_multiple_of(4),
            shape: None,
        },
        17 => Entry::Partial {
            turn: turn(n / 7),
            item: ItemId(format!("item_{}", n - n % 3)),
            thought: size.is_multiple_of(2),
            text: words(size % 9),
        },
        18 => Entry::ClientTurn {
            client: format!("c{}", size % 4),
            turn: turn(n / 7),
            waits: size.is_multiple_of(2).then(|| turn(n / 7 + 1)),
        },
        _ => Entry::Configure(Box::new(StoredSettings {
            model: ["", "p/m"][size % 2].to_owned(),
            mode: Mode::Plan,
            layout: "default".to_owned(),
            title: (!size.is_multiple_of(3)).then(|| words(1)),
            detail: Some("minimal".to_owned()),
            routed: size.is_multiple_of(2),
            ..StoredSettings::default()
        })),
    }
}

fn records() -> impl Strategy<Value = Vec<Entry>> {
    let one = (0..19u8, prop_oneof![9 => 0..200usize, 1 => 0..20_000usize]);
    proptest::collection::vec(one, 1..60).prop_map(|rows| {
        let rows = rows.into_iter().enumerate();
        rows.map(|(n, (kind, size))| record(n, kind, size))
            .collect()
    })
}

struct Stored {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn stored(entries: &[Entry]) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s_1.jsonl");
    let log = Log::create(&path, &header()).unwrap();
    entries.iter().for_each(|entry| log.record(entry.clone()));
    Stored {
        _folder: folder,
        path,
    }
}

fn add(path: &Path, entries: &[Entry]) {
    let log = Log::open(path).unwrap().unwrap();
    entries.iter().for_each(|entry| log.record(entry.clone()));
}

/// Continues from the checkpoint, if there is one, and makes a new one.
fn recalled(path: &Path) -> Resumed {
    let recalled = recall_worth(path, 1).unwrap();
    assert_eq!(recalled.header, header());
    recalled.resumed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// INV-6: whatever is skipped, and wherever a process stopped and left a checkpoint.
    #[test]
    fn a_log_reads_the_same_from_a_checkpoint(
        entries in records(), cuts in proptest::collection::vec(0..60usize, 0..4),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(entries.len())).collect();
        cuts.sort_unstable();
        let log = stored(&[]);
        let mut done = 0;
        for cut in cuts.into_iter().chain([entries.len()]) {
            add(&log.path, &entries[done..cut]);
            done = cut;
            let whole = resume(read(&log.path).unwrap().entries);
            prop_assert_eq!(&recalled(&log.path), &whole);
            prop_assert!(path_beside(&log.path).exists());
            // And with nothing in between.
            prop_assert_eq!(&recalled(&log.path), &whole);
        }
        prop_assert_eq!(resume(entries), recalled(&log.path));
    }

    /// Pages from the end to the beginning contain every shown item once.
    #[test]
    fn the_pages_of_a_log_contain_every_item(entries in records(), limit in 1..9usize) {
        let log = stored(&entries);
        let session = SessionId::from("s_1");
        let whole = items(&session, entries);
        let (mut before, mut collected) = (None, Vec::new());
        loop {
            let part = page(&log.path, &session, before, limit).unwrap();
            prop_assert!(part.items.len() <= limit);
            prop_assert_eq!(part.before.is_some(), collected.len() + part.items.len() < whole.len());
            collected.splice(0..0, part.items);
            before = part.before;
            if before.is_none() {
                break;
            }
        }
        prop_assert_eq!(collected, whole);
    }

    /// An incomplete line is recognised, and read once it has its end.
    #[test]
    fn a_checkpoint_never_covers_half_a_line(entries in records(), back in 1..400u64) {
        let log = stored(&entries);
        let bytes = std::fs::read(&log.path).unwrap();
        let head = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let cut = (bytes.len() - back as usize % bytes.len()).max(head);
        std::fs::write(&log.path, &bytes[..cut]).unwrap();
        recalled(&log.path);
        std::fs::write(&log.path, &bytes).unwrap();
        prop_assert_eq!(recalled(&log.path), resume(entries));
    }
}

fn some() -> Vec<Entry> {
    (0..40).map(|n| record(n, (n % 17) as u8, n)).collect()
}

/// A checkpoint of another log, incomplete, or of another version is ignored.
#[test]
fn a_checkpoint_that_does_not_fit_is_ignored() {
    let log = stored(&some());
    let whole = recalled(&log.path);
    let there = std::fs::read(path_beside(&log.path)).unwrap();
    let text = String::from_utf8(there.clone()).unwrap();
    let mut flipped = there.clone();
    flipped[there.len() / 2] ^= 1;
    let body = format!("{}}}", &text[..text.len() - 19]);
    let other_form = body.replace(FORM, "interline-0-0");
    let lies = body.replacen(r#""turns":"#, r#""turns":9"#, 1);
    assert_ne!(lies, body);
    for bad in [
        Vec::new(),
        there[..there.len() / 2].to_vec(),
        flipped,
        store::summed(&other_form).into_bytes(),
        // Its sum does not match its content.
        lies.into_bytes(),
    ] {
        std::fs::write(path_beside(&log.path), &bad).unwrap();
        assert_eq!(recall(&log.path).unwrap().resumed, whole);
    }
    // The checkpoint of a longer log, or of another one.
    std::fs::write(path_beside(&log.path), &there).unwrap();
    let other = stored(&some()[..20]);
    std::fs::copy(&other.path, &log.path).unwrap();
    assert_eq!(
        recall(&log.path).unwrap().resumed,
        resume(some()[..20].to_vec())
    );
    let mut different = some();
    different[39] = record(39, 4, 39);
    std::fs::copy(stored(&different).path, &log.path).unwrap();
    assert_eq!(recall(&log.path).unwrap().resumed, resume(different));
}

/// R28: a log that was changed anywhere is read again, even if its length and the sums of its
/// records are right.
#[test]
fn a_checkpoint_of_a_changed_log_is_not_used() {
    let long: Vec<Entry> = (0..40).map(|n| record(n, 5, 200)).collect();
    let log = stored(&long);
    recalled(&log.path);
    let mut changed = long.clone();
    let text = serde_json::to_string(&changed[0]).unwrap();
    changed[0] = serde_json::from_str(&text.replacen("wörd", "fäke", 1)).unwrap();
    assert_ne!(changed, long);
    let other = stored(&changed);
    let length = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert_eq!(length(&other.path), length(&log.path));
    std::fs::copy(&other.path, &log.path).unwrap();
    assert_eq!(recall(&log.path).unwrap().resumed, resume(changed));
}

/// R35: a FIFO as a checkpoint or a log blocks nothing.
#[test]
fn a_fifo_in_place_of_a_file_is_skipped() {
    let log = stored(&some());
    let fifo = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    fifo(&path_beside(&log.path));
    assert_eq!(recall(&log.path).unwrap().resumed, resume(some()));
    let sessions = log.path.parent().unwrap();
    fifo(&sessions.join("x.jsonl"));
    fifo(&sessions.join("sessions.json"));
    let listed = crate::session::index::list(sessions);
    assert_eq!(listed.len(), 1);
    assert!(store::children(&log.path, &SessionId::from("s_1")).is_empty());
}

/// A small log is read completely each time and has no checkpoint.
#[test]
fn a_small_log_has_no_checkpoint() {
    let log = stored(&some());
    recall(&log.path).unwrap();
    assert!(!path_beside(&log.path).exists());
    let long: Vec<Entry> = (0..80).map(|n| record(n, 2, 1_000)).collect();
    add(&log.path, &long);
    recall(&log.path).unwrap();
    assert!(path_beside(&log.path).exists());
    remove(&log.path);
    assert!(!path_beside(&log.path).exists());
}

/// The checkpoint has the same permissions as the log.
#[test]
fn a_checkpoint_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let log = stored(&some());
    recalled(&log.path);
    let mode = std::fs::metadata(path_beside(&log.path))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A cursor that points anywhere gives complete items before it.
#[test]
fn a_cursor_of_another_log_gives_no_partial_items() {
    let log = stored(&some());
    let session = SessionId::from("s_1");
    let whole = items(&session, some());
    let length = std::fs::metadata(&log.path).unwrap().len();
    for byte in (0..length + 50).step_by(37) {
        let part = page(&log.path, &session, Some(byte), 5).unwrap().items;
        assert!(part.iter().all(|item| whole.contains(item)), "byte {byte}");
    }
    assert_eq!(
        page(&log.path, &session, None, 0).unwrap().before,
        Some(length)
    );
}
