//! The scripted editor's own text: positions in three encodings, strict application of edits,
//! and mapping of ranges through later changes. Independent of the server's code on purpose: the
//! two must agree. Strict where the server must be exact: a column past the line's end, a
//! place inside a character and overlapping edits are errors.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    pub fn named(name: &str) -> Self {
        match name {
            "utf-8" => Encoding::Utf8,
            "utf-32" => Encoding::Utf32,
            _ => Encoding::Utf16,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A replacement of the bytes `start..end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    pub start: usize,
    pub end: usize,
    pub new: String,
}

/// Start and end (without the line end) of each line, in bytes.
fn lines(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let width = match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            _ => 0,
        };
        if width > 0 {
            found.push((start, at));
            start = at + width;
        }
        at += width.max(1);
    }
    found.push((start, text.len()));
    found
}

pub fn offset(text: &str, position: &Value, encoding: Encoding) -> Result<usize, String> {
    let line = position["line"].as_u64().ok_or("a position without line")? as usize;
    let wanted = position["character"]
        .as_u64()
        .ok_or("a position without character")? as usize;
    let lines = lines(text);
    let &(start, end) = lines
        .get(line)
        .ok_or_else(|| format!("line {line} is past the last line {}", lines.len() - 1))?;
    let mut column = 0;
    for (at, c) in text[start..end].char_indices() {
        if column == wanted {
            return Ok(start + at);
        }
        column += encoding.width(c);
        if column > wanted {
            return Err(format!("column {wanted} of line {line} is inside {c:?}"));
        }
    }
    if column == wanted {
        Ok(end)
    } else {
        Err(format!(
            "column {wanted} of line {line} is past its end {column}"
        ))
    }
}

pub fn position(text: &str, offset: usize, encoding: Encoding) -> Value {
    let lines = lines(text);
    let line = lines.partition_point(|&(start, _)| start <= offset) - 1;
    let (start, end) = lines[line];
    let column: usize = text[start..offset.min(end)]
        .chars()
        .map(|c| encoding.width(c))
        .sum();
    json!({ "line": line, "character": column })
}

/// The byte splices of LSP text edits, ascending.
pub fn splices(text: &str, edits: &[Value], encoding: Encoding) -> Result<Vec<Splice>, String> {
    let mut found = Vec::new();
    for edit in edits {
        let start = offset(text, &edit["range"]["start"], encoding)?;
        let end = offset(text, &edit["range"]["end"], encoding)?;
        let new = edit["newText"]
            .as_str()
            .ok_or("an edit without newText")?
            .to_owned();
        if end < start {
            return Err("an edit that ends before it starts".into());
        }
        found.push(Splice { start, end, new });
    }
    found.sort_by_key(|splice| (splice.start, splice.end));
    if found.windows(2).any(|pair| pair[1].start < pair[0].end) {
        return Err("edits overlap".into());
    }
    Ok(found)
}

/// The text after `splices` (ascending, not overlapping).
pub fn apply(text: &str, splices: &[Splice]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for splice in splices {
        out.push_str(&text[at..splice.start]);
        out.push_str(&splice.new);
        at = splice.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Where `splice` lies after `later` happened; `None` when they touch the same bytes.
pub fn map(splice: &Splice, later: &[Splice]) -> Option<Splice> {
    let mut shift = 0isize;
    for other in later {
        let before = other.end <= splice.start;
        let after = other.start >= splice.end;
        if before {
            shift += other.new.len() as isize - (other.end - other.start) as isize;
        } else if !after {
            return None;
        }
    }
    Some(Splice {
        start: splice.start.checked_add_signed(shift)?,
        end: splice.end.checked_add_signed(shift)?,
        new: splice.new.clone(),
    })
}

/// `contentChanges` equal to `splices`: last first, so that each range is valid in the text before.
pub fn content_changes(text: &str, splices: &[Splice], encoding: Encoding) -> Vec<Value> {
    let event = |splice: &Splice| {
        json!({
            "range": {
                "start": position(text, splice.start, encoding),
                "end": position(text, splice.end, encoding),
            },
            "text": splice.new,
        })
    };
    splices.iter().rev().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a😀b\r\nzwei\rdrei\n";

    #[test]
    fn positions_of_every_character_come_back_in_each_encoding() {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            for (at, c) in TEXT.char_indices() {
                let inside_line_end = c == '\n' && TEXT[..at].ends_with('\r');
                if !inside_line_end {
                    let place = position(TEXT, at, encoding);
                    assert_eq!(offset(TEXT, &place, encoding), Ok(at), "{encoding:?} {at}");
                }
            }
        }
    }

    #[test]
    fn places_that_do_not_exist_are_errors() {
        let place = |line, character| json!({ "line": line, "character": character });
        assert!(offset(TEXT, &place(0, 2), Encoding::Utf16).is_err());
        assert!(offset(TEXT, &place(0, 9), Encoding::Utf16).is_err());
        assert!(offset(TEXT, &place(4, 0), Encoding::Utf16).is_err());
        assert_eq!(offset(TEXT, &place(3, 0), Encoding::Utf16), Ok(TEXT.len()));
    }

    #[test]
    fn content_changes_say_the_same_as_their_splices() {
        let splice = |start, end, new: &str| Splice {
            start,
            end,
            new: new.into(),
        };
        let edits = [splice(0, 1, "AA"), splice(8, 9, ""), splice(9, 9, "x\n")];
        let mut sent = TEXT.to_owned();
        for change in content_changes(TEXT, &edits, Encoding::Utf16) {
            let edit = json!({ "range": change["range"], "newText": change["text"] });
            let one = splices(&sent, &[edit], Encoding::Utf16).unwrap();
            sent = apply(&sent, &one);
        }
        assert_eq!(sent, apply(TEXT, &edits));
    }

    #[test]
    fn a_range_moves_with_earlier_changes_and_dies_with_overlapping_ones() {
        let splice = |start, end, new: &str| Splice {
            start,
            end,
            new: new.into(),
        };
        let ours = splice(4, 6, "zz");
        assert_eq!(map(&ours, &[splice(0, 1, "abc")]), Some(splice(6, 8, "zz")));
        assert_eq!(map(&ours, &[splice(6, 9, "")]), Some(ours.clone()));
        assert_eq!(map(&ours, &[splice(5, 5, "x")]), None);
    }
}
