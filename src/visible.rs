//! Making hidden characters visible: the one table of characters that are invisible or reorder
//! text, and the ways to show them. Policy, prompts, the wire, the terminal and both plugins use
//! this table (`tests/tidy/visible.rs` compares the plugins' copies). Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Unicode 16: Default_Ignorable_Code_Point, Cc, Cf, Zl and Zp (UnicodeData.txt and
/// DerivedCoreProperties.txt), and the glyphs that are drawn blank: U+2800, U+FFFC, U+13441,
/// U+13442, U+16FE4, U+1D159. Sorted.
pub const HIDDEN: [(u32, u32); 31] = [
    (0x0000, 0x001f),
    (0x007f, 0x009f),
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffc),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x13441, 0x13442),
    (0x16fe4, 0x16fe4),
    (0x1bca0, 0x1bca3),
    (0x1d159, 0x1d159),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// The characters of [`HIDDEN`] that prose keeps because words and emoji need them: number signs of
/// Arabic, Syriac and Kaithi (they are drawn), Mongolian variants, the joiners U+200C and U+200D,
/// and the variation selectors U+FE0E and U+FE0F.
pub const PROSE: [(u32, u32); 10] = [
    (0x0600, 0x0605),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x180b, 0x180d),
    (0x200c, 0x200d),
    (0xfe0e, 0xfe0f),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
];

/// The longest run of blanks that a command shows unchanged.
const BLANKS: usize = 8;

/// The same for the beginning of a line, where scripts are indented.
const INDENT: usize = 40;

/// The same for other texts than commands: alignment and deep indentation are ordinary there.
const WIDE: usize = 120;

/// Most line ends in a row that are shown unchanged.
const LINES: usize = 8;

fn among(ranges: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    let after = ranges.partition_point(|(_, last)| *last < c);
    ranges.get(after).is_some_and(|(first, _)| *first <= c)
}

/// Whether the character is invisible or reorders the text around it, including tabs and line ends.
pub fn hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c => among(&HIDDEN, c),
    }
}

/// Whether prose shows the character as an escape.
fn hidden_in_prose(c: char) -> bool {
    hidden(c) && !matches!(c, '\n' | '\t') && !among(&PROSE, c)
}

/// Whether the character looks like a space of any width.
pub fn blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{115f}'
                | '\u{1160}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{ffa0}'
                | '\u{fffc}'
                | '\u{13441}'
                | '\u{13442}'
                | '\u{16fe4}'
                | '\u{1d159}'
        )
}

fn escaped(text: &str, hides: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&hides) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match hides(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn line_feeds(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}

/// A name, a path or a title: on one line, with all hidden characters as `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, hidden)
}

/// Text in which each character matters (a diff, arguments, a file): all hidden characters as
/// `\u{…}`, except tabs and line ends.
pub fn exact(text: &str) -> String {
    let kept = |c: char| hidden(c) && !matches!(c, '\n' | '\t');
    escaped(&line_feeds(text), kept).into_owned()
}

/// Text for the user to read: like [`exact`], but with the characters that languages and emoji need.
pub fn prose(text: &str) -> String {
    escaped(&line_feeds(text), hidden_in_prose).into_owned()
}

/// JSON text with all hidden characters as JSON escapes: it means the same.
pub fn json(text: &str) -> Cow<'_, str> {
    // Line ends and tabs occur between values only.
    let hides = |c: char| hidden(c) && !matches!(c, '\n' | '\t' | '\r');
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !hides(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// A command: like [`exact`], and a run of blanks or line ends that could push a part of it out of
/// sight is shown with its length.
pub fn command(text: &str) -> String {
    folded(text, BLANKS, INDENT)
}

/// What else an approval shows, such as a diff, arguments or an address: as [`command`], but only
/// runs that no ordinary text has are shown with their length.
pub fn content(text: &str) -> String {
    folded(text, WIDE, WIDE)
}

/// `inside` and `indent`: the longest run of blanks that is shown unchanged inside a line and at
/// its beginning.
fn folded(text: &str, inside: usize, indent: usize) -> String {
    let text = line_feeds(text);
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut longest) = (&*text, indent);
    loop {
        let end = rest.find(|c| c == '\n' || !blank(c));
        let (blanks, after) = rest.split_at(end.unwrap_or(rest.len()));
        match blanks.chars().count() {
            count if count > longest => out.push_str(&format!(" ⟨{count} blanks⟩ ")),
            _ => out.push_str(&exact(blanks)),
        }
        let Some(c) = after.chars().next() else {
            return out;
        };
        let (empty, count) = empty_lines(after);
        if count > LINES {
            out.push_str(&format!("\n⟨{count} line ends⟩\n"));
            (rest, longest) = (&after[empty..], indent);
            continue;
        }
        longest = if c == '\n' { indent } else { inside };
        match c != '\n' && hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
        rest = &after[c.len_utf8()..];
    }
}

/// The bytes up to the end of the last empty line with which the text begins, and the line ends in
/// them.
fn empty_lines(text: &str) -> (usize, usize) {
    let begins = text.find(|c| !blank(c)).unwrap_or(text.len());
    let end = text[..begins].rfind('\n').map_or(0, |at| at + 1);
    let count = match text.starts_with('\n') {
        true => text[..end].matches('\n').count(),
        false => 0,
    };
    (end, count)
}

/// At most `cap` bytes of `text`: its beginning and its end, and between them the number of omitted
/// bytes. The end is always shown, because that is where a command or a file does its work (A40).
pub fn ends(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(cap / 2);
    let tail = text.ceil_char_boundary(text.len() - cap / 2);
    let left = tail - head;
    format!(
        "{}… ({left} bytes left out) …{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests;
