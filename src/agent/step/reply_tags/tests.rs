use proptest::prelude::*;

use super::*;

fn demands() -> Vec<Demand> {
    let two = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
    vec![
        Demand::Thoughts(two("<think>", "</think>")),
        Demand::Answer(two("<final>", "</final>")),
        Demand::Reply(two("[[reply_to", "]]")),
        Demand::Silent("__SILENT__".to_owned()),
        Demand::Heartbeat("HEARTBEAT_OK".to_owned()),
    ]
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Shown {
    thought: String,
    text: String,
    reply: Option<String>,
    signal: Option<Signal>,
}

/// The answer shown when it arrives in pieces of `size` characters.
fn shown(demands: &[Demand], answer: &str, size: usize) -> Shown {
    let mut filter = TagFilter::new(demands).unwrap();
    let mut out = Shown::default();
    let characters: Vec<char> = answer.chars().collect();
    let mut said: Vec<Piece> = Vec::new();
    for piece in characters.chunks(size) {
        said.extend(filter.push(&piece.iter().collect::<String>()));
    }
    said.extend(filter.finish());
    for part in said {
        match part {
            Piece::Text(text) => out.text.push_str(&text),
            Piece::Thought(text) => out.thought.push_str(&text),
        }
    }
    out.reply.clone_from(&filter.reply);
    out.signal = filter.signal();
    out
}

fn check(answer: &str, thought: &str, text: &str, reply: Option<&str>, signal: Option<Signal>) {
    let expected = Shown {
        thought: thought.to_owned(),
        text: text.to_owned(),
        reply: reply.map(str::to_owned),
        signal,
    };
    for size in 1..=answer.chars().count().max(1) {
        assert_eq!(
            shown(&demands(), answer, size),
            expected,
            "{answer:?} by {size}"
        );
    }
}

#[test]
fn demanded_marks_are_removed_however_the_answer_is_split_oc55() {
    let silent = Some(Signal::Silent);
    check(
        "<think>why</think>\n<final>the answer</final>\n",
        "why",
        "the answer",
        None,
        None,
    );
    check(
        "<think>why</think>\n\nthe answer",
        "why",
        "the answer",
        None,
        None,
    );
    check(
        "<final>\nx </final> y</final>",
        "",
        "x </final> y",
        None,
        None,
    );
    check("[[reply_to_current]] yes", "", "yes", Some("current"), None);
    check(
        "<final>[[reply_to: m7]]yes</final>",
        "",
        "yes",
        Some("m7"),
        None,
    );
    check("__SILENT__", "", "", None, silent);
    check(" __SILENT__\n", "", "", None, silent);
    check(
        "<think>no</think><final>__SILENT__</final>",
        "no",
        "",
        None,
        silent,
    );
    check("All is done.\n\n__SILENT__", "", "All is done.", None, None);
    check("HEARTBEAT_OK", "", "", None, Some(Signal::Heartbeat));
    check(
        "HEARTBEAT_OK\n\nBut the disk is full.",
        "",
        "But the disk is full.",
        None,
        None,
    );
    let twice = "<think>a</think><final>b</final><think>c</think><final>d</final>";
    check(twice, "ac", "bd", None, None);
    check("<think>never closed", "never closed", "", None, None);
}

#[test]
fn the_models_own_text_stays_oc55() {
    for answer in [
        "plain",
        "  two blanks before, two after  ",
        "The tag <think> opens and </final> closes.",
        "Write `__SILENT__` in the middle of it.",
        "[[reply_to_current",
        "[[link]] to a page",
        "[[reply_to]] and [[reply_to_current]]",
        "<thin",
        "a < b",
        "__SILENT",
        "ends with </final>",
        "",
    ] {
        check(answer, "", answer, None, None);
    }
}

#[test]
fn a_blank_answer_shows_nothing() {
    check(" \n ", "", "", None, None);
}

#[test]
fn only_demanded_marks_are_removed() {
    assert!(TagFilter::new(&[]).is_none());
    let answer = "<think>x</think>__SILENT__";
    let only = [Demand::Heartbeat("HEARTBEAT_OK".to_owned())];
    assert_eq!(shown(&only, answer, 3).text, answer);
}

fn pieces() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "<think>",
        "</think>",
        "<final>",
        "</final>",
        "[[reply_to",
        "_current]]",
        "]]",
        "__SILENT__",
        "HEARTBEAT_OK",
        " ",
        "\n",
        "word",
        "\u{e4}\u{1f600}",
        "<",
        "_",
        "[",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_oc55(answer in pieces(), size in 1usize..9) {
        let whole = shown(&demands(), &answer, usize::MAX);
        prop_assert_eq!(shown(&demands(), &answer, size), whole);
    }

    /// The shown text is the answer without marks and blanks.
    #[test]
    fn no_text_is_lost_or_added(answer in pieces()) {
        let out = shown(&demands(), &answer, 4);
        let words = |text: &str| text.matches("word").count();
        // The id of the message that is answered is not part of the answer.
        let (mut rest, mut named) = (answer.as_str(), 0);
        while let Some((_, tag)) = rest.split_once("[[reply_to")
            && let Some((id, after)) = tag.split_once("]]")
        {
            named += words(id);
            rest = after;
        }
        let shown = words(&out.thought) + words(&out.text);
        prop_assert!(shown <= words(&answer) && words(&answer) <= shown + named);
        prop_assert!(out.text.len() + out.thought.len() <= answer.len());
    }
}
