//! Front matter: the fields between two `---` lines at the start of a Markdown file. A lenient
//! subset of YAML, parsed by hand: an invalid field is reported and skipped. Size, depth and number
//! of fields are bounded; anchors, aliases and tags are plain text, so nothing expands. Values are
//! not escaped.

mod block;
mod scalar;

use std::collections::BTreeMap;

/// Most bytes of front matter; a longer block is treated as text.
pub const LIMIT: usize = 32 * 1024;
/// Most keys and list items of one file.
const ENTRIES: usize = 500;
/// Depth of nested maps; the top level is 1.
const DEPTH: usize = 4;
/// Most problems reported for one file.
const PROBLEMS: usize = 10;

/// A Markdown file in two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front<'a> {
    pub fields: BTreeMap<String, Field>,
    /// The text after it; all of the text (without a byte order mark) if there is no front matter.
    pub body: &'a str,
    /// Shown to the user; never fatal.
    pub problems: Vec<String>,
}

/// A value. Numbers and booleans are text, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    Text(String),
    List(Vec<String>),
    Map(BTreeMap<String, Field>),
}

impl Front<'_> {
    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.get(key)
    }

    /// A non-empty text.
    pub fn get_text(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// See [`Field::list`]; `None` when the key is missing or a map.
    pub fn get_list(&self, key: &str) -> Option<Vec<String>> {
        self.get(key)?.list()
    }

    pub fn get_bool(&self, key: &str) -> Option<bool> {
        self.get(key)?.bool()
    }

    pub fn get_map(&self, key: &str) -> Option<&BTreeMap<String, Field>> {
        match self.get(key)? {
            Field::Map(map) => Some(map),
            Field::Text(_) | Field::List(_) => None,
        }
    }
}

impl Field {
    /// The value, if it is a non-empty text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Field::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// A list; a text is split at its commas.
    pub fn list(&self) -> Option<Vec<String>> {
        match self {
            Field::List(items) => Some(items.clone()),
            Field::Text(text) => Some(
                text.split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
            Field::Map(_) => None,
        }
    }

    /// `true`, `yes`, `on` or `false`, `no`, `off`, in any case.
    pub fn bool(&self) -> Option<bool> {
        match self.text()?.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

/// Splits the front matter off `text`. Never fails.
pub fn parse(text: &str) -> Front<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = |problems: Vec<String>| Front {
        fields: BTreeMap::new(),
        body: text,
        problems,
    };
    let mut at = 0;
    let mut lines = Vec::new();
    let mut closed = false;
    for (number, raw) in text.split_inclusive('\n').enumerate() {
        let line = raw.trim_end_matches(['\n', '\r']);
        if number == 0 {
            if line.trim_end() != "---" {
                return whole(Vec::new());
            }
            at += raw.len();
            continue;
        }
        at += raw.len();
        if at > LIMIT {
            return whole(vec![format!(
                "the front matter is not closed within {} KiB and is treated as text",
                LIMIT / 1024
            )]);
        }
        if matches!(line.trim_end(), "---" | "...") {
            closed = true;
            break;
        }
        lines.push(Line::new(line, number + 1));
    }
    if text.is_empty() {
        return whole(Vec::new());
    }
    if !closed {
        let reason = "the front matter is not closed by `---` and is treated as text";
        return whole(vec![reason.to_owned()]);
    }
    let mut parser = Parser {
        lines: &lines,
        next: 0,
        entries: 0,
        problems: Vec::new(),
    };
    Front {
        fields: parser.document(),
        body: &text[at..],
        problems: parser.problems,
    }
}

/// One line of front matter.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    /// Spaces and tabs before the text; a tab counts as one.
    indent: usize,
    /// Without indentation and trailing blanks.
    text: &'a str,
    raw: &'a str,
    /// The line number in the file, from 1.
    number: usize,
}

impl<'a> Line<'a> {
    fn new(raw: &'a str, number: usize) -> Self {
        let text = raw.trim_start_matches([' ', '\t']);
        Self {
            indent: raw.len() - text.len(),
            text: text.trim_end(),
            raw,
            number,
        }
    }

    /// Blank or a comment, outside of a text block.
    fn empty(&self) -> bool {
        self.text.is_empty() || self.text.starts_with('#')
    }

    /// The text after the dash of a list item.
    fn item(&self) -> Option<&'a str> {
        match self.text.strip_prefix('-')? {
            "" => Some(""),
            rest => rest.starts_with([' ', '\t']).then(|| rest.trim_start()),
        }
    }
}

struct Parser<'a> {
    lines: &'a [Line<'a>],
    next: usize,
    entries: usize,
    problems: Vec<String>,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> BTreeMap<String, Field> {
        let indent = self.peek().map_or(0, |line| line.indent);
        let fields = self.map(indent, 1);
        // Keys indented less than the first one are top-level fields, too.
        let mut all = fields;
        while let Some(line) = self.peek() {
            if self.full() {
                break;
            }
            all.extend(self.map(line.indent, 1));
        }
        all
    }

    /// The next line that is neither blank nor a comment.
    fn peek(&mut self) -> Option<Line<'a>> {
        while let Some(line) = self.lines.get(self.next) {
            if !line.empty() {
                return Some(*line);
            }
            self.next += 1;
        }
        None
    }

    /// The next line if it belongs to the value of a key at `indent`; blank lines do.
    fn deeper(&mut self, indent: usize) -> Option<Line<'a>> {
        let line = self.lines.get(self.next)?;
        let belongs = line.text.is_empty() || line.indent > indent;
        belongs.then(|| {
            self.next += 1;
            *line
        })
    }

    fn problem(&mut self, line: usize, what: &str) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(format!("line {line}: {what}"));
        }
    }

    /// Counts an entry; `false` when there are too many.
    fn count(&mut self, line: usize) -> bool {
        self.entries += 1;
        if self.entries == ENTRIES + 1 {
            let what = format!("more than {ENTRIES} fields; the rest is ignored");
            self.problem(line, &what);
        }
        !self.full()
    }

    fn full(&self) -> bool {
        self.entries > ENTRIES
    }

    /// The keys at `indent`.
    fn map(&mut self, indent: usize, depth: usize) -> BTreeMap<String, Field> {
        let mut fields = BTreeMap::new();
        while let Some(line) = self.peek() {
            if line.indent < indent {
                break;
            }
            self.next += 1;
            if line.indent > indent {
                self.problem(line.number, "unexpected indentation; the line is ignored");
                continue;
            }
            let Some((key, value)) = scalar::key(line.text) else {
                self.problem(line.number, "not a `key: value`; the line is ignored");
                continue;
            };
            if !self.count(line.number) {
                break;
            }
            let Some(value) = self.value(value, line, depth) else {
                continue;
            };
            if fields.insert(key, value).is_some() {
                self.problem(line.number, "the key occurs twice; the last one is used");
            }
        }
        fields
    }

    /// The value that begins with `text` on the key's `line`; `None` if it was skipped.
    fn value(&mut self, text: &'a str, line: Line<'a>, depth: usize) -> Option<Field> {
        if scalar::comment(text) {
            return self.below(line, depth);
        }
        if let Some(style) = block::style(text) {
            return Some(Field::Text(self.block(style, line.indent)));
        }
        match text.as_bytes()[0] {
            b'[' => Some(self.flow(text, line, ']')),
            b'{' => Some(self.flow(text, line, '}')),
            _ => Some(Field::Text(self.scalar(text, line))),
        }
    }

    /// The value of a key with nothing after its colon.
    fn below(&mut self, key: Line<'a>, depth: usize) -> Option<Field> {
        let empty = Some(Field::Text(String::new()));
        let Some(line) = self.peek() else {
            return empty;
        };
        // A list may have the same indentation as its key.
        if line.item().is_some() && line.indent >= key.indent {
            return Some(Field::List(self.list(line.indent)));
        }
        if line.indent <= key.indent {
            return empty;
        }
        if scalar::key(line.text).is_none() {
            self.next += 1;
            return Some(Field::Text(self.scalar(line.text, key)));
        }
        if depth < DEPTH {
            return Some(Field::Map(self.map(line.indent, depth + 1)));
        }
        self.problem(
            line.number,
            "maps are nested too deeply; this one is ignored",
        );
        while self.peek().is_some_and(|line| line.indent > key.indent) {
            self.next += 1;
        }
        None
    }

    /// The items whose dashes are at `indent`.
    fn list(&mut self, indent: usize) -> Vec<String> {
        let mut items = Vec::new();
        while let Some(line) = self.peek() {
            let Some(text) = line.item().filter(|_| line.indent == indent) else {
                break;
            };
            self.next += 1;
            if !self.count(line.number) {
                break;
            }
            let item = match block::style(text) {
                Some(style) => self.block(style, indent),
                None => self.scalar(text, line),
            };
            if !item.is_empty() {
                items.push(item);
            }
        }
        items
    }

    /// A text, quoted or plain, with its continuation lines folded into one line.
    fn scalar(&mut self, text: &str, line: Line<'a>) -> String {
        let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
        let mut all = text.to_owned();
        let mut plain = scalar::without_comment(text).to_owned();
        let mut closed = quote.is_none_or(|quote| scalar::closes(text, quote));
        let quoted = quote.is_some();
        while !(quoted && closed) {
            let Some(more) = self.deeper(line.indent) else {
                break;
            };
            if !quoted && more.empty() {
                continue;
            }
            for (text, more) in [
                (&mut all, more.text),
                (&mut plain, scalar::without_comment(more.text)),
            ] {
                if !(text.is_empty() || more.is_empty()) {
                    text.push(' ');
                }
                text.push_str(more);
            }
            closed = quote.is_some_and(|quote| scalar::ends_quote(more.text, quote));
        }
        match scalar::unquoted(&all) {
            Some(text) => text,
            None => {
                if quoted {
                    self.problem(
                        line.number,
                        "the quotes do not match; they are treated as text",
                    );
                }
                let text = plain.trim();
                let null = matches!(text, "~" | "null");
                if null { String::new() } else { text.to_owned() }
            }
        }
    }

    /// `[a, b]` or `{a: b}`, possibly over several lines; anything malformed is text.
    fn flow(&mut self, text: &'a str, line: Line<'a>, end: char) -> Field {
        let mut all = scalar::without_comment(text).to_owned();
        while !all.ends_with(end) {
            let closing = self
                .lines
                .get(self.next)
                .filter(|line| line.text.starts_with(end))
                .copied();
            let more = match closing {
                Some(line) => {
                    self.next += 1;
                    Some(line)
                }
                None => self.deeper(line.indent),
            };
            let Some(more) = more else { break };
            all.push(' ');
            all.push_str(scalar::without_comment(more.text));
        }
        let inner = all
            .strip_prefix(['[', '{'])
            .and_then(|text| text.strip_suffix(end));
        let Some(parts) = inner.and_then(scalar::split) else {
            return Field::Text(all);
        };
        let parts = parts.into_iter().map(str::trim).filter(|it| !it.is_empty());
        let mut items = Vec::new();
        let mut fields = BTreeMap::new();
        for part in parts {
            if !self.count(line.number) {
                break;
            }
            if end == ']' {
                items.push(scalar::bare(part));
                continue;
            }
            match scalar::key(part) {
                Some((key, value)) => {
                    fields.insert(key, Field::Text(scalar::bare(value)));
                }
                None => self.problem(line.number, "a part is not a `key: value` and is ignored"),
            }
        }
        match end {
            ']' => Field::List(items),
            _ => Field::Map(fields),
        }
    }

    /// The lines of a block of text below a key or dash at `indent`.
    fn block(&mut self, style: block::Style, indent: usize) -> String {
        let start = self.next;
        while self.deeper(indent).is_some() {}
        let raw: Vec<&str> = self.lines[start..self.next]
            .iter()
            .map(|line| line.raw)
            .collect();
        block::text(style, &raw)
    }
}

#[cfg(test)]
mod tests;
