//! What must hold of every decoder, for fuzz targets and property tests: of any bytes as an
//! answer, and of answers whose truth is known because a script wrote them (`fuzz/script.rs`, in
//! the wire formats of `fuzz/wire.rs`). Nothing at run time uses it.

pub mod script;
#[cfg(test)]
mod tests;
pub mod wire;

use std::collections::HashSet;

use crate::conversation::Block;

use super::transport::Decode;
use super::{ModelEvent, ProviderError, sse};
use script::Script;

/// Longer events than any test has.
const LIMIT: usize = 1 << 20;

/// What stands before a script, where an answer as it comes over the wire has no such line.
const MARK: &[u8] = b"#";

/// All events of a stream that comes in these pieces, and how it failed: what the transport
/// does, without a network.
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
            return (out, Some(super::openai::broken(&error.to_string())));
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

/// Decodes `data`, or the answer that it is the script of, whole and in pieces.
///
/// # Panics
/// When the pieces change the events, when there are more or less than one end, when a call has
/// no id of its own or not one block, when more comes out than went in, or when the answer is not
/// what its script says.
pub fn decoder<D: Decode + Default>(data: &[u8], format: wire::Format) {
    let Some(script) = data.strip_prefix(MARK) else {
        check::<D>(data);
        return;
    };
    let script = Script::read(script);
    let (events, error) = check::<D>(wire::render(&script, format).as_bytes());
    script.compare(&events, error.as_ref(), format);
}

fn check<D: Decode + Default>(data: &[u8]) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let (events, error) = decode_all(D::default(), &[data]);
    let said = |error: &Option<ProviderError>| error.as_ref().map(ToString::to_string);
    for pieces in splits(data) {
        let (other, failed) = decode_all(D::default(), &pieces);
        assert_eq!(events, other, "the pieces changed the events");
        assert_eq!(said(&error), said(&failed), "the pieces changed the error");
    }
    one_end(&events, error.is_some());
    calls(&events);
    bounded(&events, data.len());
    (events, error)
}

/// The data in two halves, and in pieces of a size that the data itself decides.
pub fn splits(data: &[u8]) -> [Vec<&[u8]>; 2] {
    let (first, second) = data.split_at(data.len() / 2);
    let sum: usize = data.iter().map(|byte| usize::from(*byte)).sum();
    [vec![first, second], data.chunks(1 + sum % 13).collect()]
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

/// Each call has an id of its own from its beginning, and in a whole answer exactly one block.
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

/// What comes out is in proportion to what went in. Numbers are written anew and broken bytes
/// become longer ones, each piece stands in its block again.
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
