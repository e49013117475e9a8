//! The format of a transcript: a first line with the session, headings for both sides, items in
//! Markdown. Pure. Text of the model or of files can neither forge a heading nor hide anything.

use std::fmt::Write as _;

use crate::conversation::plan::{Todo, TodoStatus};
use crate::conversation::{
    Failure, FileChange, Input, SessionId, Spent, ToolItem, ToolStatus, TurnStop,
};
use crate::edit::{Hunk, lines};
use crate::lsp::bare::messages;
use crate::prompt::fence;

/// The heading above the user's text.
pub const YOU: &str = "## You";
/// The heading above an answer.
pub const AGENT: &str = "## Interline";

const HEADER: (&str, &str) = ("<!-- interline session ", " -->");

/// A new transcript.
pub fn new_transcript(session: &SessionId) -> String {
    format!("{}{session}{}\n\n{YOU}\n\n", HEADER.0, HEADER.1)
}

/// The session that the first line names.
pub fn session(text: &str) -> Option<SessionId> {
    let first = text.lines().next()?.trim_start_matches('\u{feff}').trim();
    let id = first.strip_prefix(HEADER.0)?.strip_suffix(HEADER.1)?;
    let id = SessionId::from(id.trim());
    id.file_name().is_some().then_some(id)
}

/// The last heading of either side: its line number, the byte after the line, and whether it is the
/// user's.
fn last_heading(text: &str) -> Option<(usize, usize, bool)> {
    let mut found = None;
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        start += line.len();
        match line.trim_end() {
            YOU => found = Some((number, start, true)),
            AGENT => found = Some((number, start, false)),
            _ => {}
        }
    }
    found
}

/// The line of the last `## You`, if no answer follows it.
pub fn prompt_line(text: &str) -> Option<usize> {
    last_heading(text)
        .filter(|(.., you)| *you)
        .map(|(line, ..)| line)
}

/// The user's text under the last `## You`, and the byte where it ends.
pub fn prompt(text: &str) -> Option<(&str, usize)> {
    let (_, start, _) = last_heading(text).filter(|(.., you)| *you)?;
    let words = text[start..].trim();
    (!words.is_empty()).then(|| (words, text.trim_end().len()))
}

/// Where an answer goes if nothing else is known about the text: before a prompt that the user is
/// writing, else at the end.
pub fn answer_position(text: &str) -> usize {
    match last_heading(text) {
        Some((_, start, true)) if !text[start..].trim().is_empty() => start,
        _ => text.len(),
    }
}

/// Hunks that insert `answer` at byte `at` and `quote` at the end, each separated from its
/// surroundings by a blank line. The answer comes first.
pub fn insertion(text: &str, at: usize, answer: &str, quote: &str) -> Vec<Hunk> {
    let end = lines::end_at(text, at);
    let mut hunks = Vec::new();
    let merged = at == text.len() && !answer.is_empty() && !quote.is_empty();
    let mut put = |at: usize, words: &str| {
        if words.is_empty() {
            return;
        }
        let before = text[..at].replace("\r\n", "\n");
        let gap = match before.as_str() {
            "" => "",
            text if text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let behind = match text[at..].replace("\r\n", "\n").as_str() {
            text if text.starts_with("\n\n") => "",
            text if text.starts_with('\n') => "\n",
            _ => "\n\n",
        };
        let words = format!("{gap}{}{behind}", words.trim_end());
        hunks.push(Hunk {
            start: at,
            end: at,
            text: words.replace('\n', end),
        });
    };
    if merged {
        put(at, &format!("{}\n\n{quote}", answer.trim_end()));
    } else {
        put(at, answer);
        put(text.len(), quote);
    }
    hunks
}

/// Whether the user has written a heading after byte `at`.
pub fn has_prompt(text: &str, at: usize) -> bool {
    text[at..].lines().any(|line| line.trim_end() == YOU)
}

/// Escapes text of others: no line is a heading of ours, and nothing is hidden.
pub fn escaped(words: &str) -> String {
    let shown = fence::prose(words);
    let lines = shown.trim_end().lines().map(|line| {
        let heading = matches!(line.trim_end(), YOU | AGENT);
        format!("{}{line}", if heading { " " } else { "" })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A prompt that was sent another way, as the user would have written it.
pub fn prompt_text(input: &[Input]) -> String {
    let mut parts = Vec::new();
    for part in input {
        match part {
            Input::Text { text } => parts.push(escaped(text)),
            Input::Resource { uri, range, .. } => {
                let line = range.map_or_else(String::new, |it| format!(":{}", it.start.line + 1));
                parts.push(format!(
                    "({}{line})",
                    fence::name(&messages::display_path(uri))
                ));
            }
            Input::Skill { name, arguments } => {
                let arguments = arguments.as_deref().unwrap_or_default();
                parts.push(escaped(&format!("/{name} {arguments}")));
            }
            Input::Image { .. } => parts.push("(an image)".to_owned()),
            Input::Document { name, .. } => parts.push(fence::name(&format!("({name})"))),
            Input::McpPrompt { server, name, .. } => {
                parts.push(fence::name(&format!("({server}/{name})")));
            }
        }
    }
    parts.join("\n\n")
}

/// The line of a finished call; `None` while it runs.
pub fn call_line(item: &ToolItem) -> Option<String> {
    let how = match item.status {
        ToolStatus::Completed => "",
        ToolStatus::Failed => ": failed",
        ToolStatus::Rejected => ": rejected",
        ToolStatus::Cancelled => ": cancelled",
        _ => return None,
    };
    let mut line = format!("- {}{how}", fence::line(&item.title));
    for file in &item.files {
        let _ = write!(line, " (+{} −{})", file.added, file.removed);
    }
    Some(line)
}

/// A plan as a checklist.
pub fn checklist(todos: &[Todo]) -> String {
    let rows = todos.iter().map(|todo| {
        let mark = match todo.status {
            TodoStatus::Completed => "x",
            _ => " ",
        };
        format!("- [{mark}] {}", fence::line(&todo.text))
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// The outcome of a turn.
pub struct Closing<'a> {
    pub stop: TurnStop,
    pub error: Option<&'a Failure>,
    /// Each with its first changed line, if known.
    pub files: &'a [(FileChange, Option<usize>)],
    pub unsaved: &'a [String],
    pub usage: Spent,
}

/// The text at the end of an answer.
pub fn closing(turn: &Closing<'_>) -> String {
    let mut rows = Vec::new();
    if let Some(why) = messages::why_stopped(turn.stop, turn.error) {
        rows.push(escaped(&why));
    }
    if !turn.files.is_empty() {
        let files = turn.files.iter().map(|(file, line)| {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            let place = fence::name(&messages::display_path(&file.uri));
            format!("{place}{line} (+{} −{})", file.added, file.removed)
        });
        rows.push(format!("Changed: {}", files.collect::<Vec<_>>().join(", ")));
    }
    if !turn.unsaved.is_empty() {
        let names = turn
            .unsaved
            .iter()
            .map(|uri| fence::name(&messages::display_path(uri)));
        rows.push(format!("Unsaved: {}", names.collect::<Vec<_>>().join(", ")));
    }
    let usage = turn.usage.usage();
    if usage.total() > 0 {
        let cost = turn.usage.cost.map(messages::dollars);
        rows.push(format!(
            "{} tokens in ({} from the cache), {} out{}",
            usage.prompt(),
            usage.cache_read,
            usage.output,
            cost.map_or_else(String::new, |cost| format!("; {cost}"))
        ));
    }
    let rows = rows
        .iter()
        .map(|row| format!("> {}", row.replace('\n', "\n> ")));
    rows.collect::<Vec<_>>().join("\n>\n")
}

/// Lines of a document, quoted in a prompt.
pub fn quote(place: &str, first: usize, body: &str) -> String {
    let last = first + body.trim_end_matches('\n').lines().count().max(1) - 1;
    let lines = match last > first {
        true => format!("{first}-{last}"),
        false => first.to_string(),
    };
    let block = fence::block(&escaped(body)).replacen("text\n", "\n", 1);
    format!("{}:{lines}\n\n{block}", fence::name(place))
}

/// The first line that a unified diff changes, as a line number of the new text.
pub fn first_line(diff: &str) -> Option<usize> {
    let mut line = None;
    for row in diff.lines() {
        if let Some(head) = row.strip_prefix("@@ ") {
            let new = head.split_whitespace().nth(1)?.strip_prefix('+')?;
            let start: usize = new.split(',').next()?.parse().ok()?;
            line = Some(start);
            continue;
        }
        let Some(at) = line.as_mut() else { continue };
        match row.as_bytes().first() {
            Some(b'+' | b'-') => return Some((*at).max(1)),
            _ => *at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests;
