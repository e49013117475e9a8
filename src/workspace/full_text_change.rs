//! Minimal differences between the mirrored text and a full text from the client, so that only the
//! actual changes of a whole-document notification are recorded. The work is bounded.

use std::collections::HashMap;
use std::time::Duration;

use ropey::Rope;
use similar::{DiffOp, DiffableStr as _};

use super::diff;

/// One replacement. `start` counts bytes of the text after all earlier pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: usize,
    pub removed: String,
    pub inserted: String,
    /// The next piece is of the same replacement.
    pub continues: bool,
}

/// If there are more pieces, one large piece replaces them all: many small ones would push older
/// changes out of the ring.
const MOST_PIECES: usize = 128;

/// After this time the line diff stops refining: its result is correct, but coarser.
const DEADLINE: Duration = Duration::from_millis(40);

/// Pieces in ascending order that turn `old` into `new`; none if they are equal.
pub(super) fn differences(old: &Rope, new: &str) -> Vec<Piece> {
    differences_within(old, new, DEADLINE)
}

fn differences_within(old: &Rope, new: &str, budget: Duration) -> Vec<Piece> {
    let prefix = common_prefix(old, new);
    let suffix = common_suffix(old, new, prefix);
    let old_middle = slice(old, prefix, old.len_bytes() - suffix);
    let new_middle = &new[prefix..new.len() - suffix];
    if old_middle.is_empty() && new_middle.is_empty() {
        return Vec::new();
    }
    let whole = |removed: String| {
        vec![Piece {
            start: prefix,
            removed,
            inserted: new_middle.to_owned(),
            continues: false,
        }]
    };
    if old_middle.is_empty() || new_middle.is_empty() {
        return whole(old_middle);
    }
    let old_lines = old_middle.tokenize_lines();
    let new_lines = new_middle.tokenize_lines();
    if old_lines.len() == 1 && new_lines.len() == 1 {
        return whole(old_middle);
    }
    let mut known = HashMap::new();
    let old_numbers = diff::numbered(old_lines.iter(), &mut known);
    let new_numbers = diff::numbered(new_lines.iter(), &mut known);
    let ops = diff::operations(&old_numbers, &new_numbers, budget);
    let changed = |op: &&DiffOp| !matches!(op, DiffOp::Equal { .. });
    if ops.iter().filter(changed).count() > MOST_PIECES {
        return whole(old_middle);
    }
    let mut pieces: Vec<Piece> = ops
        .iter()
        .filter(changed)
        .map(|op| {
            let removed = old_lines[op.old_range()].concat();
            let inserted = new_lines[op.new_range()].concat();
            let before = &new_lines[..op.new_range().start];
            let start = prefix + before.iter().map(|line| line.len()).sum::<usize>();
            trimmed(start, removed, inserted)
        })
        .collect();
    if let Some(last) = pieces.last_mut() {
        last.continues = false;
    }
    pieces
}

/// Text of a byte range of a rope.
pub(super) fn slice(rope: &Rope, start: usize, end: usize) -> String {
    rope.byte_slice(start..end).to_string()
}

/// Drops the common prefix and suffix of both sides.
fn trimmed(start: usize, removed: String, inserted: String) -> Piece {
    let rope = Rope::from_str(&removed);
    let prefix = common_prefix(&rope, &inserted);
    let suffix = common_suffix(&rope, &inserted, prefix);
    Piece {
        start: start + prefix,
        removed: removed[prefix..removed.len() - suffix].to_owned(),
        inserted: inserted[prefix..inserted.len() - suffix].to_owned(),
        continues: true,
    }
}

/// Length of the common prefix of both texts, ending on a character boundary and never inside a
/// line end of either text.
fn common_prefix(old: &Rope, new: &str) -> usize {
    let bytes = new.as_bytes();
    let mut same = 0;
    for chunk in old.chunks() {
        let chunk = chunk.as_bytes();
        let rest = &bytes[same..];
        let length = chunk.len().min(rest.len());
        let equal = equal_start(&chunk[..length], &rest[..length]);
        same += equal;
        if equal < chunk.len() {
            break;
        }
    }
    while !new.is_char_boundary(same) || splits(old, bytes, same, same) {
        same -= 1;
    }
    same
}

/// Length of the common suffix of both texts, not counting the first `prefix` bytes.
fn common_suffix(old: &Rope, new: &str, prefix: usize) -> usize {
    let bytes = new.as_bytes();
    let most = old.len_bytes().min(bytes.len()) - prefix;
    let mut same = 0;
    let (mut chunks, _, _, _) = old.chunks_at_byte(old.len_bytes());
    while let Some(chunk) = chunks.prev() {
        let chunk = chunk.as_bytes();
        let rest = &bytes[..bytes.len() - same];
        let length = chunk.len().min(rest.len());
        let equal = equal_end(&chunk[chunk.len() - length..], &rest[rest.len() - length..]);
        same += equal;
        if equal < chunk.len() || same >= most {
            break;
        }
    }
    same = same.min(most);
    while same > 0
        && (!new.is_char_boundary(bytes.len() - same)
            || splits(old, bytes, old.len_bytes() - same, bytes.len() - same))
    {
        same -= 1;
    }
    same
}

/// Whether either text has a `\r\n` around its offset.
fn splits(old: &Rope, new: &[u8], in_old: usize, in_new: usize) -> bool {
    let old_splits = in_old > 0
        && in_old < old.len_bytes()
        && old.byte(in_old) == b'\n'
        && old.byte(in_old - 1) == b'\r';
    let new_splits =
        in_new > 0 && in_new < new.len() && new[in_new] == b'\n' && new[in_new - 1] == b'\r';
    old_splits || new_splits
}

/// Block size: comparing slices is many times faster than comparing single bytes.
const BLOCK: usize = 4096;

fn equal_start(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        if a == b {
            same += a.len();
            continue;
        }
        same += a.iter().zip(b).take_while(|(a, b)| a == b).count();
        break;
    }
    same
}

fn equal_end(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in a.rchunks(BLOCK).zip(b.rchunks(BLOCK)) {
        if a == b {
            same += a.len();
            continue;
        }
        same += a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        break;
    }
    same
}

#[cfg(test)]
mod tests;
