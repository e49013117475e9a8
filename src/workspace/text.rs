//! Positions and offsets in the three encodings of LSP. Line ends are `\n`, `\r\n` and `\r`.

use ropey::Rope;

use crate::conversation::{WirePosition, WireRange};

pub type Position = WirePosition;
pub type Range = WireRange;

/// The byte order mark that a UTF-8 file may start with.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

/// Why a position is not in the text. A column past the end of the line is not an error: it clamps
/// to the end (LSP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    #[error("line {line} is past the last line {last}")]
    LinePastEnd { line: u32, last: u32 },
    #[error("column {column} of line {line} is inside a character")]
    InsideCharacter { line: u32, column: u32 },
}

/// Byte offset of `position`.
///
/// The position just after the last line (line = number of lines, column 0) is the end of the
/// text: clients send it as the end of a whole-document replacement.
pub fn offset(rope: &Rope, position: Position, encoding: Encoding) -> Result<usize, PositionError> {
    let line = position.line as usize;
    let lines = rope.len_lines();
    if line >= lines {
        if line == lines && position.character == 0 {
            return Ok(rope.len_bytes());
        }
        return Err(PositionError::LinePastEnd {
            line: position.line,
            last: narrow(lines - 1),
        });
    }
    let column = position.character as usize;
    let found = if column <= NEAR {
        along(rope, line, column, encoding)
    } else {
        by_tree(rope, line, column, encoding)
    };
    found.ok_or(PositionError::InsideCharacter {
        line: position.line,
        column: position.character,
    })
}

/// Up to this column the characters of the line are counted: that needs two tree lookups instead of
/// ten.
const NEAR: usize = 1024;

/// `None` if the column is inside a character.
fn along(rope: &Rope, line: usize, column: usize, encoding: Encoding) -> Option<usize> {
    let mut at = rope.line_to_byte(line);
    let (chunks, chunk_start, _, _) = rope.chunks_at_byte(at);
    let mut skip = at - chunk_start;
    let mut units = 0;
    for chunk in chunks {
        for char in chunk[skip..].chars() {
            if units == column || matches!(char, '\n' | '\r') {
                return Some(at);
            }
            units += match encoding {
                Encoding::Utf8 => char.len_utf8(),
                Encoding::Utf16 => char.len_utf16(),
                Encoding::Utf32 => 1,
            };
            if units > column {
                return None;
            }
            at += char.len_utf8();
        }
        skip = 0;
    }
    Some(at)
}

fn by_tree(rope: &Rope, line: usize, column: usize, encoding: Encoding) -> Option<usize> {
    let start = rope.line_to_char(line);
    let end = content_end(rope, line);
    match encoding {
        Encoding::Utf8 => {
            let wanted = rope.char_to_byte(start).saturating_add(column);
            if wanted >= rope.char_to_byte(end) {
                return Some(rope.char_to_byte(end));
            }
            let found = rope.char_to_byte(rope.byte_to_char(wanted));
            (found == wanted).then_some(found)
        }
        Encoding::Utf16 => {
            let wanted = rope.char_to_utf16_cu(start).saturating_add(column);
            if wanted >= rope.char_to_utf16_cu(end) {
                return Some(rope.char_to_byte(end));
            }
            let char = rope.utf16_cu_to_char(wanted);
            (rope.char_to_utf16_cu(char) == wanted).then(|| rope.char_to_byte(char))
        }
        Encoding::Utf32 => Some(rope.char_to_byte(start.saturating_add(column).min(end))),
    }
}

/// Position of byte offset `offset`, rounded down to a character boundary. An offset between `\r`
/// and `\n` has no position of its own and gets that of the line's end; one past the end of the
/// text gets that of the end.
pub fn position(rope: &Rope, offset: usize, encoding: Encoding) -> Position {
    let char = rope.byte_to_char(offset.min(rope.len_bytes()));
    let line = rope.char_to_line(char);
    let start = rope.line_to_char(line);
    let char = char.min(content_end(rope, line));
    let column = match encoding {
        Encoding::Utf8 => rope.char_to_byte(char) - rope.char_to_byte(start),
        Encoding::Utf16 => rope.char_to_utf16_cu(char) - rope.char_to_utf16_cu(start),
        Encoding::Utf32 => char - start,
    };
    Position {
        line: narrow(line),
        character: narrow(column),
    }
}

/// Character index of the end of a line's content, before its line end.
fn content_end(rope: &Rope, line: usize) -> usize {
    if line + 1 >= rope.len_lines() {
        return rope.len_chars();
    }
    let start = rope.line_to_char(line);
    let end = rope.line_to_char(line + 1) - 1;
    if end > start && rope.char(end) == '\n' && rope.char(end - 1) == '\r' {
        end - 1
    } else {
        end
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
