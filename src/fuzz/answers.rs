//! What every decoder must do: with any bytes as an answer, and with answers that a script
//! describes (`script.rs`, rendered by `wire.rs`).

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use crate::conversation::Block;

use crate::provider::decode::{Decode, broken};
use crate::provider::{ModelEvent, ProviderError, sse};
use crate::provider::{anthropic, gemini, openai_chat, openai_responses};

use super::script::{Format, Script};
use super::splits;
use super::wire::render;

/// Longer than any event of a test.
const LIMIT: usize = 1 << 20;

/// Precedes a script; no answer on the wire begins with it.
const MARK: &[u8] = b"#";

/// All events of a stream that arrives in these pieces, and its error: what the transport does,
/// without a network.
pub fn decode_all(
    mut decoder: impl Decode,
    pieces: &[&[u8]],
) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut parser = sse::Parser::with_limit(LIMIT);
    let mut out = Vec::new();
    for piece in pieces {
        let mut events = Vec::new();
        let too_long = parser.push(piece, &mut events).err();
        for event in &events {
            if let Err(error) = decoder.event(event, &mut out) {
                return (out, Some(error));
            }
        }
        if let Some(error) = too_long {
            return (out, Some(broken(&error.to_string())));
        }
    }
    let mut events = Vec::new();
    parser.finish(&mut events);
    for event in &events {
        if decoder.event(event, &mut out).is_err() {
            break;
        }
    }
    let error = decoder.finish(&mut out).err();
    (out, error)
}

/// An answer in the Messages format; see [`check_answer`].
pub fn fuzz_anthropic(data: &[u8]) {
    check_answer::<anthropic::decode::Decoder>(data, Format::Anthropic);
}

/// An answer of Gemini; see [`check_answer`].
pub fn fuzz_gemini(data: &[u8]) {
    check_answer::<gemini::decode::Decoder>(data, Format::Gemini);
}

/// An answer in the Chat Completions format; see [`check_answer`].
pub fn fuzz_openai_chat(data: &[u8]) {
    check_answer::<openai_chat::decode::Decoder>(data, Format::Chat);
}

/// An answer in the Responses format; see [`check_answer`].
pub fn fuzz_openai_responses(data: &[u8]) {
    check_answer::<openai_responses::decode::Decoder>(data, Format::Responses);
}

/// Decodes `data`, or the answer that the script in it describes, in one piece and in many.
///
/// # Panics
/// When the pieces change the events, when there is not exactly one end, when a call has no id of
/// its own or not exactly one block, when more comes out than went in, or when the answer differs
/// from its script.
fn check_answer<D: Decode + Default>(data: &[u8], format: Format) {
    let Some(script) = data.strip_prefix(MARK) else {
        check::<D>(data);
        return;
    };
    let script = Script::read(script);
    let (events, error) = check::<D>(render(&script, format).as_bytes());
    script.compare(&events, error.as_ref(), format);
}

fn check<D: Decode + Default>(data: &[u8]) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let (events, error) = decode_all(D::default(), &[data]);
    let text = |error: &Option<ProviderError>| error.as_ref().map(ToString::to_string);
    for pieces in splits(data) {
        let (other, failed) = decode_all(D::default(), &pieces);
        assert_eq!(events, other, "the pieces changed the events");
        assert_eq!(text(&error), text(&failed), "the pieces changed the error");
    }
    one_end(&events, error.is_some());
    calls(&events);
    bounded(&events, data.len());
    (events, error)
}

/// A stop is the last event, and there is one unless the answer failed.
fn one_end(events: &[ModelEvent], failed: bool) {
    let is_end = |event: &&ModelEvent| matches!(event, ModelEvent::Stop(_));
    let whole = events.last().as_ref().is_some_and(is_end);
    assert_eq!(
        events.iter().filter(is_end).count(),
        usize::from(whole),
        "an end before the end"
    );
    assert_eq!(failed, !whole, "neither an end nor an error, or both");
}

/// Each call has an id of its own from the start, and in a complete answer exactly one block.
fn calls(events: &[ModelEvent]) {
    let (mut begun, mut given) = (HashSet::new(), HashSet::new());
    for event in events {
        match event {
            ModelEvent::ToolStart { id, .. } => {
                assert!(!id.is_empty(), "a call without an id");
                assert!(begun.insert(id.as_str()), "{id} began twice");
            }
            ModelEvent::Block {
                block: Block::ToolUse { id, input, .. },
                invalid,
                ..
            } => {
                assert!(begun.contains(id.as_str()), "{id} never began");
                assert!(given.insert(id.as_str()), "{id} was given out twice");
                assert_eq!(input.is_object(), invalid.is_none(), "{id}");
            }
            _ => {}
        }
    }
    if matches!(events.last(), Some(ModelEvent::Stop(_))) {
        assert_eq!(begun, given, "a call that began was never given out");
    }
}

/// The output is in proportion to the input. Numbers are rewritten, broken bytes become longer
/// ones, and each piece is in its block again.
fn bounded(events: &[ModelEvent], came: usize) {
    let size = |event: &ModelEvent| match event {
        ModelEvent::TextDelta { text, .. }
        | ModelEvent::ThoughtDelta { text, .. }
        | ModelEvent::ToolInputDelta { text, .. } => text.len(),
        ModelEvent::ToolStart { id, name, .. } => id.len() + name.len(),
        ModelEvent::Block { block, .. } => match block {
            Block::Text { text } => text.len(),
            Block::ToolUse { input, .. } => input.to_string().len(),
            Block::Opaque { value } => value.to_string().len(),
            _ => 0,
        },
        ModelEvent::Usage(_) | ModelEvent::Stop(_) | ModelEvent::Unreadable => 0,
    };
    let gone: usize = events.iter().map(size).sum();
    assert!(
        gone <= 32 * came + 1024,
        "{gone} bytes were made of {came} bytes"
    );
    assert!(
        events.len() <= 2 * came + 16,
        "{} events were made of {came} bytes",
        events.len()
    );
}
