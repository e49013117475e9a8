//! One memory as a line of Markdown, `- [preference] likes short answers (2026-11-21)`, and lines
//! of Markdown as memories. Reading is lenient: any list item or paragraph counts; type and
//! date are optional. Pure.

use jiff::civil::Date;

use super::{Kind, LONGEST};

/// A memory in a file, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// From 1.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
    pub date: Option<Date>,
}

/// Why a text cannot be a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it is empty")]
    Empty,
    #[error("it has {0} characters, more than {LONGEST}: shorten it, or save several memories")]
    TooLong(usize),
    #[error("it has control, invisible or text-reordering characters: write it plainly")]
    Hidden,
}

/// The text as it is stored: one paragraph, with single blanks.
pub fn normalized(text: &str) -> Result<String, Unfit> {
    // The usual line: printable, with single blanks, short.
    if text.len() <= LONGEST && is_joined(text) {
        return Ok(text.to_owned());
    }
    let folded = joined(text);
    if folded.is_empty() {
        return Err(Unfit::Empty);
    }
    if folded.chars().any(hides) {
        return Err(Unfit::Hidden);
    }
    // Never more characters than bytes.
    if folded.len() > LONGEST {
        let count = folded.chars().count();
        if count > LONGEST {
            return Err(Unfit::TooLong(count));
        }
    }
    Ok(folded)
}

/// The words with one blank between them.
fn joined(text: &str) -> String {
    if is_joined(text) {
        return text.to_owned();
    }
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

/// The usual line is joined already and needs no copy.
fn is_joined(text: &str) -> bool {
    let mut before = b' ';
    let fine = text.bytes().all(|byte| {
        let fine = byte.is_ascii_graphic() || (byte == b' ' && before != b' ');
        before = byte;
        fine
    });
    fine && before != b' '
}

/// A character that is invisible in a file. Does not include the joiners and selectors that scripts
/// and emoji need.
fn hides(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The line of a memory; `text` is one paragraph.
pub fn line(kind: Kind, text: &str, date: Date) -> String {
    format!("- [{}] {text} ({date})", kind.as_str())
}

/// The memories in a file; `topic` is the type of an item without one.
pub fn parse(text: &str, topic: Kind) -> Vec<Found> {
    let mut reader = Reader {
        topic,
        found: Vec::new(),
        open: None,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut hidden = front_matter(text);
    for (index, line) in text.lines().enumerate() {
        if let Some(end) = hidden {
            if end.closes(index, line) {
                hidden = None;
            }
            continue;
        }
        hidden = Hidden::begins(line);
        if hidden.is_some() {
            reader.close();
            continue;
        }
        reader.line(index + 1, line);
    }
    reader.close();
    reader.found
}

/// A part of the file that contains no memories.
#[derive(Clone, Copy)]
enum Hidden {
    /// Up to this line.
    Until(usize),
    Comment,
    Fence(char),
}

impl Hidden {
    fn begins(line: &str) -> Option<Self> {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("<!--") {
            return (!rest.contains("-->")).then_some(Self::Comment);
        }
        let fence = [('`', "```"), ('~', "~~~")].into_iter();
        let mut fence = fence.filter(|(_, mark)| line.starts_with(mark));
        fence.next().map(|(mark, _)| Self::Fence(mark))
    }

    fn closes(self, index: usize, line: &str) -> bool {
        match self {
            Self::Until(last) => index >= last,
            Self::Comment => line.contains("-->"),
            Self::Fence(mark) => line.trim_start().starts_with(&mark.to_string().repeat(3)),
        }
    }
}

fn front_matter(text: &str) -> Option<Hidden> {
    let mut lines = text.lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let end = lines.position(|line| line.trim_end() == "---")?;
    Some(Hidden::Until(end + 1))
}

struct Reader {
    topic: Kind,
    found: Vec<Found>,
    /// The item or paragraph that the next line may continue.
    open: Option<Found>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let indented = line.starts_with("  ") || line.starts_with('\t');
        let text = line.trim();
        if text.is_empty() || heading(text) || rule(text) || text.starts_with("<!--") {
            self.close();
            return;
        }
        let item = item(text);
        match (&mut self.open, item) {
            // An item below an item adds to it.
            (Some(open), Some(rest)) if indented => join(&mut open.text, "; ", rest),
            (_, Some(rest)) => {
                self.close();
                self.open = Some(begin(number, self.topic, rest));
            }
            (Some(open), None) => join(&mut open.text, " ", text),
            (None, None) => self.open = Some(begin(number, self.topic, text)),
        }
    }

    fn close(&mut self) {
        let Some(mut found) = self.open.take() else {
            return;
        };
        if found.date.is_none() {
            (found.text, found.date) = dated(&found.text);
        }
        if !is_joined(&found.text) {
            found.text = joined(&found.text);
        }
        if !found.text.is_empty() {
            self.found.push(found);
        }
    }
}

fn begin(line: usize, topic: Kind, text: &str) -> Found {
    let tag = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let tagged = tag.and_then(|(tag, rest)| Some((Kind::parse(tag)?, rest)));
    let (kind, text) = tagged.unwrap_or((topic, text));
    let (text, date) = dated(text.trim());
    Found {
        line,
        kind,
        text,
        date,
    }
}

fn join(text: &mut String, between: &str, more: &str) {
    // A text far over the limit is refused anyway.
    if text.len() <= 8 * LONGEST {
        text.push_str(between);
        text.push_str(more);
    }
}

/// The text without the date at its end.
fn dated(text: &str) -> (String, Option<Date>) {
    let end = || {
        let (before, date) = text.strip_suffix(')')?.rsplit_once('(')?;
        let date = (date.len() == 10).then(|| date.parse::<Date>().ok())??;
        let before = before.trim_end();
        (!before.is_empty()).then(|| (before.to_owned(), Some(date)))
    };
    end().unwrap_or_else(|| (text.to_owned(), None))
}

/// The text of a list item.
fn item(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=3).contains(&digits) {
                return None;
            }
            text[digits..].strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

fn heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn rule(text: &str) -> bool {
    let same = |mark: char| text.chars().all(|c| c == mark || c.is_whitespace());
    let marks = || text.chars().filter(|c| !c.is_whitespace());
    ['-', '*', '_', '='].into_iter().any(same) && marks().count() >= 3
}
