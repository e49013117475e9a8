//! Logs with compactions, cut anywhere or with a line missing: each opens as a conversation that a
//! provider accepts (INV-6).

use proptest::prelude::*;
use serde_json::json;

use crate::agent::Renewal;
use crate::agent::compact::cut::{self, Numbers};
use crate::conversation::entry::{Carried, Compaction};
use crate::conversation::{Block, Entry, Message, Role, SessionId, TurnId};
use crate::provider::anthropic::history::{Target, turns};
use crate::provider::growing::Progress;
use crate::session::resume::{self, Resumed};

#[derive(Clone, Debug)]
enum Step {
    Prompt(usize),
    Answer(usize),
    Call(usize, usize),
    Compact(Option<usize>),
    Fork,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..4_000usize).prop_map(Step::Prompt),
        (0..4_000usize).prop_map(Step::Answer),
        (1..4usize, 0..4_000usize).prop_map(|(calls, size)| Step::Call(calls, size)),
        proptest::option::of(0..8usize).prop_map(Step::Compact),
        Just(Step::Fork),
    ];
    proptest::collection::vec(step, 1..24)
}

fn said(message: Message) -> Entry {
    Entry::Message {
        turn: TurnId::from("t"),
        message,
    }
}

fn calls(count: usize, size: usize) -> [Entry; 2] {
    let id = |n: usize| format!("call_{n}");
    let uses = (0..count).map(|n| Block::ToolUse {
        id: id(n),
        name: "read".to_owned(),
        input: json!({ "path": format!("{n}.rs") }),
    });
    let results = (0..count).map(|n| Block::ToolResult {
        tool_use_id: id(n),
        content: "r".repeat(size),
        is_error: false,
    });
    [
        said(Message::assistant(uses.collect(), "p/m")),
        said(Message::user(results.collect())),
    ]
}

/// The log of a session after `steps`.
fn log(steps: &[Step]) -> Vec<Entry> {
    let mut log = Vec::new();
    for step in steps {
        match step {
            Step::Prompt(size) => {
                log.push(said(Message::user(vec![Block::text("p".repeat(*size))])))
            }
            Step::Answer(size) => {
                log.push(said(Message::assistant(
                    vec![Block::text("a".repeat(*size))],
                    "p/m",
                )));
            }
            Step::Call(count, size) => log.extend(calls(*count, *size)),
            Step::Fork => log.push(Entry::Fork {
                of: SessionId::from("s"),
                turn: None,
            }),
            Step::Compact(keep) => log.extend(compaction(&opened(&log), *keep)),
        }
    }
    log
}

fn compaction(resumed: &Resumed, keep: Option<usize>) -> Option<Entry> {
    let messages = &resumed.conversation.messages;
    let numbers = Numbers {
        context: 12_000,
        usable: 10_000,
        threshold: 10_000,
        keep,
    };
    let first = cut::first_kept(messages, &numbers, cut::weigh(messages), 1.0);
    let mut shorter = vec![Message::user(vec![Block::text(
        "[Previous conversation summary]",
    )])];
    if messages[first..]
        .first()
        .is_none_or(|it| it.role == Role::User)
    {
        shorter.push(Message::assistant(vec![Block::text("heard")], "p/m"));
    }
    shorter.extend_from_slice(&messages[first..]);
    (first > 0).then(|| {
        Entry::Compaction(Box::new(Compaction {
            turn: TurnId::from("t"),
            reason: "threshold".to_owned(),
            first_kept: first,
            summary: Some("s".to_owned()),
            tokens_before: 1,
            tokens_after: 1,
            model: "p/m".to_owned(),
            messages: shorter,
            carried: Carried::default(),
            begun: None,
        }))
    })
}

fn opened(entries: &[Entry]) -> Resumed {
    let json = entries.iter().map(|it| serde_json::to_string(it).unwrap());
    resume::resume(json.map(|it| serde_json::from_str(&it).unwrap()))
}

/// Turns alternate, begin and end with the user; every call has its one result right after it.
fn taken(messages: &[Message]) -> Result<(), TestCaseError> {
    let target = Target {
        model: "p/m",
        images: false,
        prefix_bound: true,
        unreadable: 0,
    };
    let turns = turns(messages, target, &mut Progress::default());
    for (n, turn) in turns.iter().enumerate() {
        let user = n % 2 == 0;
        prop_assert_eq!(turn.role == Role::User, user, "turn {}", n);
        let ids = |wanted: fn(&Block) -> Option<&String>, at: usize| {
            let parts = turns.get(at).into_iter().flat_map(|it| &it.parts);
            let mut ids: Vec<String> = parts.filter_map(|it| wanted(&it.block)).cloned().collect();
            ids.sort();
            ids
        };
        let uses = ids(
            |it| match it {
                Block::ToolUse { id, .. } => Some(id),
                _ => None,
            },
            n,
        );
        let next = ids(
            |it| match it {
                Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                _ => None,
            },
            n + 1,
        );
        prop_assert!(user || uses == next, "turn {}: {:?} {:?}", n, uses, next);
    }
    prop_assert!(messages.is_empty() || turns.len() % 2 == 1);
    Ok(())
}

proptest! {
    #[test]
    fn any_prefix_of_a_log_with_compactions_is_a_valid_conversation_s01(steps in steps()) {
        let log = log(&steps);
        for end in 0..=log.len() {
            taken(&opened(&log[..end]).conversation.messages)?;
        }
    }

    /// A lost record costs only itself: everything after it still opens.
    #[test]
    fn a_lost_line_beside_compactions_costs_itself_s02(steps in steps(), lost in 0..24usize) {
        let mut log = log(&steps);
        if lost < log.len() {
            log.remove(lost);
        }
        taken(&opened(&log).conversation.messages)?;
    }
}

/// Nothing before the record applies any more, and reading it again loses nothing.
#[test]
fn the_history_after_a_compaction_begins_with_it() {
    let mut entries = log(&[
        Step::Prompt(4_000),
        Step::Call(2, 9_000),
        Step::Answer(4_000),
    ]);
    let whole = opened(&entries).conversation.messages;
    entries.extend(compaction(&opened(&entries), Some(1)));
    let short = opened(&entries).conversation;
    assert!(short.messages.len() < whole.len() && short.counted.is_none());
    assert_eq!(short.messages.last(), whole.last());
    assert_eq!(short.renew, Some(Renewal::Compaction));
    entries.push(Entry::Fork {
        of: SessionId::from("s"),
        turn: None,
    });
    assert_eq!(opened(&entries).conversation.renew, Some(Renewal::Fork));
}
