//! Untrusted text in a prompt: fenced so that it cannot close its own fence, names on one line
//! without characters that could forge structure, truncation with a visible mark.

use super::texts::Texts;
use super::types::{Budget, Keep};
use crate::knowledge::persona;
use crate::visible;
pub use crate::visible::{exact as visible, prose};

/// Longest name that is shown, in characters.
const NAME_LIMIT: usize = 300;

/// `text` between two lines of backticks or tildes that are longer than any such run in it.
/// A final newline of the text is the fence's own.
pub fn block(text: &str) -> String {
    let (ticks, tildes) = (longest_run(text, '`'), longest_run(text, '~'));
    let (mark, run) = if ticks <= tildes {
        ('`', ticks)
    } else {
        ('~', tildes)
    };
    let fence: String = std::iter::repeat_n(mark, (run + 1).max(3)).collect();
    let body = text.strip_suffix('\n').unwrap_or(text);
    format!("{fence}text\n{body}\n{fence}")
}

fn longest_run(text: &str, mark: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for found in text.chars() {
        run = if found == mark { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// A file or branch name on one line: control, direction, invisible and line-separating
/// characters as `\u{…}`, truncated when very long.
pub fn name(text: &str) -> String {
    match text.char_indices().nth(NAME_LIMIT) {
        Some((end, _)) => format!("{}…", visible::line(&text[..end])),
        None => line(text),
    }
}

/// Like [`name`], for a text of any length.
pub fn line(text: &str) -> String {
    visible::line(text).into_owned()
}

/// `text` truncated to `budget`, with the mark of `hints/cut.md` where text was omitted. The
/// mark itself may exceed the budget.
pub fn cut(texts: &Texts, text: &str, budget: Budget) -> String {
    let total = text.chars().count();
    if total <= budget.chars {
        return text.to_owned();
    }
    let (head, tail) = match budget.keep {
        Keep::Head => (budget.chars, 0),
        Keep::Tail => (0, budget.chars),
        Keep::Ends => (budget.chars * 7 / 10, budget.chars * 2 / 10),
    };
    let left_out = total - head - tail;
    let mark = texts.render(
        "hints/cut.md",
        &[
            ("left", &left_out.to_string()),
            ("total", &total.to_string()),
        ],
    );
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let parts: Vec<&str> = [start.as_str(), mark.as_str(), end.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// A file's `text` truncated to `chars` characters, with the mark of `hints/cut-file.md` in the
/// middle, which names the file and its size.
pub fn cut_file(texts: &Texts, text: &str, chars: usize, file: &str) -> String {
    let mark = |total: usize| {
        let (file, total) = (name(file), total.to_string());
        let values = [("file", file.as_str()), ("total", total.as_str())];
        format!("\n{}\n", texts.render("hints/cut-file.md", &values))
    };
    persona::truncate_middle(text, chars, mark).into_owned()
}

#[cfg(test)]
pub(crate) mod tests;
