//! Where a history may be cut, what is dropped first, what is accepted as a summary.

use proptest::prelude::*;
use serde_json::json;

use super::cut::{self, Numbers};
use super::{Size, summary};
use crate::agent::{Conversation, Counted};
use crate::conversation::entry::{Carried, Compaction};
use crate::conversation::{Block, Message, ModelFacts, Usage};
use crate::prompt::{Layout, Texts};

fn numbers(threshold: u64, keep: Option<usize>) -> Numbers {
    Numbers {
        context: threshold + 1_000,
        usable: threshold,
        threshold,
        keep,
    }
}

fn user(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

fn call(id: &str, tool: &str, path: &str) -> Message {
    let block = Block::ToolUse {
        id: id.to_owned(),
        name: tool.to_owned(),
        input: json!({ "path": path }),
    };
    Message::assistant(vec![block], "p/m")
}

fn result(id: &str, content: &str) -> Message {
    Message::user(vec![Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: content.to_owned(),
        is_error: false,
    }])
}

/// Prompts, answers, calls with their results, of many sizes.
fn history() -> impl Strategy<Value = Vec<Message>> {
    let step = (0..3u8, 0..6_000usize).prop_map(|(kind, size)| match kind {
        0 => vec![user(&"p".repeat(size))],
        1 => vec![Message::assistant(
            vec![Block::text("a".repeat(size))],
            "p/m",
        )],
        _ => vec![call("c", "read", "a.rs"), result("c", &"r".repeat(size))],
    });
    proptest::collection::vec(step, 0..24).prop_map(|steps| steps.concat())
}

/// Every result follows its call.
fn paired(messages: &[Message]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    messages.iter().all(|message| {
        let fine = message.content.iter().all(|block| match block {
            Block::ToolResult { tool_use_id, .. } => open.contains(&tool_use_id.as_str()),
            _ => true,
        });
        open = message.tool_uses().map(|(id, _, _)| id).collect();
        fine
    })
}

proptest! {
    /// K15: whatever is kept, no call is separated from its result, and it fits.
    #[test]
    fn a_cut_never_separates_a_call_from_its_result(
        messages in history(),
        total in 1_000..200_000u64,
        keep in proptest::option::of(0..30usize),
    ) {
        let numbers = numbers(40_000, keep);
        let at = cut::first_kept(&messages, &numbers, total, 1.0);
        prop_assert!(at <= messages.len());
        prop_assert!(paired(&messages[at..]));
        prop_assert!(messages.len() - at <= keep.unwrap_or(usize::MAX));
        prop_assert!(cut::weigh(&messages[at..]) <= total / 2);
    }

    /// Pruning changes only the texts of results, and pruning again changes nothing.
    #[test]
    fn pruning_keeps_every_pair_and_is_idempotent(messages in history(), scale in 1..20u32) {
        let numbers = numbers(6_000, None);
        let wire = |name: &str| name.to_owned();
        let mark = |output: &cut::Output<'_>| format!("[{} {} {}]", output.tool, output.what, output.bytes);
        let scale = f64::from(scale) / 10.0;
        let (pruned, saved) = cut::pruned(&messages, &numbers, scale, wire, mark);
        prop_assert!(paired(&pruned));
        prop_assert_eq!(pruned.len(), messages.len());
        prop_assert_eq!(pruned.last(), messages.last());
        prop_assert_eq!(cut::weigh(&messages) - cut::weigh(&pruned), saved);
        let (again, _) = cut::pruned(&pruned, &numbers, scale, wire, mark);
        let marked = |all: &[Message]| all.iter().flat_map(|it| &it.content).filter(|block| matches!(block, Block::ToolResult { content, .. } if content.starts_with('['))).count();
        prop_assert!(marked(&again) >= marked(&pruned));
    }

    #[test]
    fn a_record_is_divided_without_loss(parts in proptest::collection::vec("[a-zé]{0,3000}", 0..12), bytes in 500..4_000usize) {
        let chunks = cut::chunks(&parts, bytes);
        prop_assert!(chunks.iter().all(|chunk| chunk.len() <= bytes.max(1_000)));
        prop_assert_eq!(chunks.concat().replace("\n\n", ""), parts.concat());
    }
}

#[test]
fn old_outputs_are_pruned_first_and_leave_a_marker() {
    let long = "x".repeat(9_000);
    let mut messages = Vec::new();
    for path in ["a.rs", "b.rs", "c.rs"] {
        messages.extend([call("c", "read", path), result("c", &long)]);
    }
    messages.extend([
        call("c", "load_skill", "s"),
        result("c", &long),
        user("go on"),
    ]);
    let mark = |output: &cut::Output<'_>| format!("[{} {}]", output.tool, output.what);
    let wire = |name: &str| name.to_owned();
    let (pruned, saved) = cut::pruned(&messages, &numbers(15_000, None), 1.0, wire, mark);
    assert_eq!(pruned[1], result("c", "[read a.rs]"));
    assert_eq!(pruned[3], result("c", "[read b.rs]"));
    assert_eq!(pruned[5..], messages[5..], "the newest stay");
    assert!(saved > 4_000);
    let (none, _) = cut::pruned(&messages[6..], &numbers(100, None), 1.0, wire, mark);
    assert_eq!(none, messages[6..], "a skill is no output");
}

/// K15, MC-26-C, ZY-50-C: the layout's numbers, within the model's limits, decide when compaction
/// is due and what stays.
#[test]
fn the_layout_decides_when_and_how_much() {
    let texts = Texts::load(None);
    let facts = ModelFacts {
        context: 1_000_000,
        max_output: 128_000,
        ..ModelFacts::default()
    };
    let of = |layout: &str, facts: &ModelFacts| {
        Numbers::of(&Layout::load(&texts, layout).unwrap(), facts)
    };
    let team = of("zyhive", &facts);
    assert_eq!((team.threshold, team.keep), (80_000, Some(20)));
    let seconds = |name: &str| Layout::load(&texts, name).unwrap().head.compaction.seconds;
    assert_eq!((seconds("zyhive"), seconds("default")), (Some(90), None));
    let default = of("default", &facts);
    assert_eq!((default.threshold, default.keep), (980_000, None));
    let small = ModelFacts {
        context: 32_000,
        max_output: 64_000,
        ..facts
    };
    assert_eq!(of("zyhive", &small).threshold, 24_000);
}

/// MC-26-C: the size is the provider's count plus an estimate of everything since.
#[test]
fn the_size_is_the_count_plus_an_estimate_of_the_rest() {
    let mut conversation = Conversation {
        messages: vec![user(&"a".repeat(4_000))].into(),
        ..Conversation::default()
    };
    assert_eq!(Size::of(&conversation).total, 1_004);
    conversation.counted = Some(Counted {
        tokens: 3_012,
        messages: 1,
    });
    conversation.push(user(&"b".repeat(400)));
    let size = Size::of(&conversation);
    assert_eq!(size.total, 3_012 + 104);
    assert!((size.scale - 3.0).abs() < 0.01);
}

/// P26: if a server reports no counts, the estimate stays in force.
#[test]
fn an_answer_without_counts_leaves_the_estimate() {
    let mut conversation = Conversation {
        messages: vec![user(&"a".repeat(4_000))].into(),
        ..Conversation::default()
    };
    conversation.spend(Usage::default(), None, false);
    assert_eq!(Size::of(&conversation).total, 1_004);
    assert_eq!(conversation.usage.cost, None);
    let counted = Usage {
        input: 3_000,
        output: 12,
        ..Usage::default()
    };
    conversation.spend(counted, Some(0.5), false);
    assert_eq!(conversation.counted.unwrap().tokens, 3_012);
    assert_eq!(
        conversation.usage.cost, None,
        "one request has no known price"
    );
}

#[test]
fn a_summary_has_the_requested_headings() {
    let asked = "Use these.\n## Task\nx\n## State\n## Files\n## Next\n";
    for fine in [
        "## Task\nfix it\n## Next\ngo",
        "# task:\n**State**\nhalf",
        "### Files\n## Task",
    ] {
        assert!(summary::has_headings(asked, fine), "{fine}");
    }
    for bad in [
        "",
        "Task and state",
        "## Task\nonly",
        "I will now call a tool.",
    ] {
        assert!(!summary::has_headings(asked, bad), "{bad}");
    }
    assert!(summary::has_headings("no headings wanted", "a text"));
}

/// One on request, without a summary.
fn compaction(first_kept: usize, messages: Vec<Message>) -> Compaction {
    Compaction {
        turn: "t".into(),
        reason: "request".to_owned(),
        first_kept,
        summary: None,
        tokens_before: 0,
        tokens_after: 0,
        model: "p/m".to_owned(),
        messages,
        carried: Carried::default(),
        begun: None,
    }
}

/// The body of the last request may be as large as the conversation.
#[test]
fn a_compaction_frees_what_was_kept_for_the_next_request() {
    let mut conversation = Conversation {
        messages: vec![user("a"); 2].into(),
        ..Conversation::default()
    };
    let copy = conversation.messages.clone();
    copy.memo().put("a body");
    conversation.compact(compaction(2, vec![user("s")]));
    assert_eq!(copy.memo().take::<&str>(), None);
}

/// P33: reasoning that a model cannot read stays left out while its messages are kept; once all of
/// them are gone, new reasoning is sent again.
#[test]
fn unreadable_reasoning_is_remembered_as_long_as_its_messages() {
    let shortened = |first_kept: usize| {
        let mut conversation = Conversation {
            messages: vec![user("a"); 6].into(),
            ..Conversation::default()
        };
        conversation.note_update("unreadable:p/m".to_owned(), "4".to_owned());
        assert!(conversation.sent_updates.is_empty() && conversation.known_sources.is_empty());
        assert_eq!(
            (
                conversation.unreadable("p/m"),
                conversation.unreadable("p/n")
            ),
            (4, 0)
        );
        conversation.compact(compaction(first_kept, vec![user("s"); 7 - first_kept]));
        conversation.unreadable("p/m")
    };
    assert_eq!((shortened(0), shortened(3)), (7, 4));
    assert_eq!((shortened(4), shortened(6)), (0, 0));
}

#[test]
fn a_document_weighs_by_its_size() {
    let of = |bytes: usize| {
        cut::weight(&Message::user(vec![Block::Document {
            media_type: "application/pdf".to_owned(),
            name: "a.pdf".to_owned(),
            data: "A".repeat(bytes),
        }]))
    };
    let (small, large) = (of(100_000), of(1_000_000));
    assert!(large > 8 * small && large < 12 * small, "{small} {large}");
}

/// What each kind of block weighs, in tokens of four bytes.
#[test]
fn blocks_weigh_as_much_as_is_sent() {
    let long = || "x".repeat(4_000);
    let of = |block| cut::weight(&Message::user(vec![block]));
    let none = of(Block::text(""));
    for (block, tokens) in [
        (Block::text(long()), 1_000),
        (
            Block::Thinking {
                thinking: long(),
                signature: long(),
            },
            2_000,
        ),
        (Block::RedactedThinking { data: long() }, 1_000),
        (
            Block::Opaque {
                value: json!(long()),
            },
            1_000,
        ),
        (
            Block::ToolUse {
                id: "c".to_owned(),
                name: long(),
                input: json!({ "path": long() }),
            },
            2_000,
        ),
        (
            Block::ToolResult {
                tool_use_id: "c".to_owned(),
                content: long(),
                is_error: false,
            },
            1_000,
        ),
    ] {
        let weight = of(block.clone()) - none;
        assert!(
            (tokens..tokens + 20).contains(&weight),
            "{weight}: {block:?}"
        );
    }
    assert_eq!(cut::weigh(&[]), 0);
}

#[test]
fn a_record_has_all_but_thinking_and_long_outputs_are_cut() {
    let image = Block::Image {
        media_type: "image/png".to_owned(),
        data: "x".to_owned(),
    };
    let document = Block::Document {
        media_type: "application/pdf".to_owned(),
        name: "a.pdf".to_owned(),
        data: "x".to_owned(),
    };
    let thinking = Block::RedactedThinking {
        data: "x".to_owned(),
    };
    let mut record = cut::transcript(&[
        Message::user(vec![Block::text("do it"), image, document]),
        Message::assistant(vec![thinking, Block::text("well")], "p/m"),
        call("c", "read", "a.rs"),
        result("c", &"r".repeat(2_000)),
        result("c", &format!("{}{}", "a".repeat(1_001), "b".repeat(1_000))),
    ]);
    let cut = record.pop().unwrap();
    let whole = format!("[result]\n{}", "r".repeat(2_000));
    assert_eq!(
        record,
        [
            "[user]\ndo it",
            "[image]",
            "[document a.pdf]",
            "[assistant]\nwell",
            "[call of read]\n{\"path\":\"a.rs\"}",
            &whole,
        ]
    );
    let (head, tail) = ("a".repeat(1_000), "b".repeat(1_000));
    assert_eq!(cut, format!("[result]\n{head}\n[1 bytes left out]\n{tail}"));
}

/// The kept part begins with a prompt; the end of a prompt's work keeps its beginning.
#[test]
fn an_answer_is_kept_with_its_prompt() {
    let answer = || Message::assistant(vec![Block::text("done")], "p/m");
    let history = [
        user(&"p".repeat(1_001)),
        answer(),
        user("next"),
        call("c", "read", "a.rs"),
        result("c", "r"),
        answer(),
    ];
    for (first, from) in [(0, 0), (1, 2), (2, 2), (3, 3), (4, 6), (5, 6), (6, 6)] {
        assert_eq!(cut::from_a_prompt(&history, first), from, "{first}");
    }
    let text = |at| {
        let Block::Text { text } = &cut::answered_prompt(&history, at)?.content[0] else {
            return None;
        };
        Some(text.clone())
    };
    assert_eq!(text(1), Some(format!("{}…", "p".repeat(1_000))));
    assert_eq!(text(3).as_deref(), Some("next"));
    assert_eq!(
        (text(0), text(2), text(4), text(6)),
        (None, None, None, None)
    );
    assert_eq!(cut::answered_prompt(&history[1..2], 0), None);
}

#[test]
fn the_main_argument_names_a_call() {
    for (input, named) in [
        (json!({ "command": "make", "path": "a.rs" }), "a.rs"),
        (json!({ "timeout": 1, "command": "make" }), "make"),
        (json!({ "path": 3, "uri": "x:y" }), "x:y"),
        (json!({}), ""),
    ] {
        assert_eq!(cut::main_argument(&input), named);
    }
}
