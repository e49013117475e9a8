//! Shared by the tools that ask language servers: the place that a call names, the question, and
//! answers in words for the model.

use std::ops::Range;

use ropey::Rope;

use super::{ToolContext, ToolError, snippet, target};
use crate::env::order;
use crate::host::{Access, QueryStatus};
use crate::languages::{Answer, Asker, Question};
use crate::policy::Decision;
use crate::prompt::fence;
use crate::workspace::Located;

/// Lines that are named where a symbol is not on its line.
const CANDIDATES: usize = 5;
/// Characters of a quoted line.
pub(super) const WIDTH: usize = 300;

/// A symbol as a call names it.
pub(super) struct Symbol<'a> {
    /// 1-based.
    pub line: u32,
    pub name: &'a str,
    /// 1-based.
    pub occurrence: Option<u32>,
}

/// The current text of a place that the model may read without asking.
pub(super) async fn readable_text(cx: &ToolContext, located: &Located) -> Result<Rope, ToolError> {
    match target::decision(cx, located, Access::Read) {
        Decision::Allow(_) => current_text(cx, located).await,
        _ => {
            let path = target::display_name(cx, located);
            Err(cx.error("results/read-first.md", &[("path", &path)]))
        }
    }
}

pub(super) async fn current_text(cx: &ToolContext, located: &Located) -> Result<Rope, ToolError> {
    let present = target::read_current(cx, located).await;
    let present = present.map_err(|error| target::file_error(cx, located, &error))?;
    Ok(present.rope)
}

/// The bytes of a symbol, or an error that lists where it may be meant.
pub(super) fn find(
    cx: &ToolContext,
    located: &Located,
    rope: &Rope,
    symbol: &Symbol<'_>,
) -> Result<Range<usize>, ToolError> {
    let index = symbol.line.saturating_sub(1) as usize;
    let path = target::display_name(cx, located);
    let text = line(rope, index).unwrap_or_default();
    let there = occurrences(&text, symbol.name);
    let wanted = match (symbol.occurrence, there.len()) {
        (_, 0) => return Err(not_there(cx, &path, rope, symbol)),
        (None, 1) => 0,
        (Some(number), count) if (1..=count).contains(&(number as usize)) => number as usize - 1,
        _ => {
            let columns: Vec<String> = (1..)
                .zip(&there)
                .map(|(number, at)| format!("{number}: column {}", text[..*at].chars().count() + 1))
                .collect();
            return Err(cx.error(
                "results/symbol-twice.md",
                &[
                    ("symbol", &fence::name(symbol.name)),
                    ("path", &path),
                    ("line", &symbol.line),
                    ("text", &shortened(&text)),
                    ("places", &columns.join(", ")),
                ],
            ));
        }
    };
    let start = rope.line_to_byte(index) + there[wanted];
    Ok(start..start + symbol.name.len())
}

fn not_there(cx: &ToolContext, path: &str, rope: &Rope, symbol: &Symbol<'_>) -> ToolError {
    let name = fence::name(symbol.name);
    let mut near: Vec<(u32, String)> = (1..)
        .zip(rope.lines())
        .map(|(number, line)| (number, line.to_string()))
        .filter(|(_, line)| !occurrences(line, symbol.name).is_empty())
        .collect();
    order::sort_by_key(&mut near, |(number, _)| number.abs_diff(symbol.line));
    near.truncate(CANDIDATES);
    order::sort_by_key(&mut near, |(number, _)| *number);
    let lines = near.iter();
    let lines: Vec<String> = lines
        .map(|(number, line)| format!("{path}:{number}:{}", shortened(line)))
        .collect();
    match lines.is_empty() {
        true => cx.error(
            "results/symbol-nowhere.md",
            &[("symbol", &name), ("path", &path)],
        ),
        false => cx.error(
            "results/symbol-not-there.md",
            &[
                ("symbol", &name),
                ("path", &path),
                ("line", &symbol.line),
                ("places", &lines.join("\n")),
            ],
        ),
    }
}

/// The bytes of a line without its indentation and its line end.
pub(super) fn whole_line(
    cx: &ToolContext,
    rope: &Rope,
    number: u32,
) -> Result<Range<usize>, ToolError> {
    let index = number.saturating_sub(1) as usize;
    let Some(text) = line(rope, index) else {
        let total = snippet::line_count(rope);
        return Err(cx.error(
            "results/read-past-end.md",
            &[("offset", &number), ("total", &total)],
        ));
    };
    let start = rope.line_to_byte(index);
    let indent = text.len() - text.trim_start().len();
    Ok(start + indent..start + text.len())
}

/// A line without its line end.
pub(super) fn line(rope: &Rope, index: usize) -> Option<String> {
    let line = rope.get_line(index)?.to_string();
    Some(line.trim_end_matches(['\n', '\r']).to_owned())
}

pub(super) fn shortened(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let mut text: String = line.chars().take(WIDTH).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}

/// Where a name occurs in a line as a whole word, in bytes.
fn occurrences(line: &str, name: &str) -> Vec<usize> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let first = name.starts_with(word);
    let last = name.ends_with(word);
    let whole = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let behind = line[at + name.len()..].chars().next();
        !(first && before.is_some_and(word) || last && behind.is_some_and(word))
    };
    match name.is_empty() {
        true => Vec::new(),
        false => line
            .match_indices(name)
            .map(|(at, _)| at)
            .filter(whole)
            .collect(),
    }
}

/// Asks, until the turn is cancelled.
pub(super) async fn asked(cx: &ToolContext, question: &Question) -> Result<Answer, ToolError> {
    let asker = Asker {
        host: &*cx.host,
        workspace: &cx.workspace,
        env: &cx.env,
        settings: &cx.config.language_servers,
        cwd: &cx.cwd,
    };
    tokio::select! {
        answer = cx.languages.ask(asker, question) => Ok(answer),
        () = cx.cancel.cancelled() => Err(ToolError::Cancelled),
    }
}

/// Asks, and turns everything but an answer into words.
pub(super) async fn ask(cx: &ToolContext, question: &Question) -> Result<Answer, ToolError> {
    let answer = asked(cx, question).await?;
    let located = question.located.as_ref();
    let path = located.map_or_else(String::new, |located| target::display_name(cx, located));
    let said = answer.answer.message.as_deref().unwrap_or_default();
    let said = fence::name(said);
    match answer.answer.status {
        QueryStatus::Ok => Ok(answer),
        QueryStatus::Starting => Err(cx.error("results/lookup-starting.md", &[("path", &path)])),
        QueryStatus::Unsupported => {
            let known = fence::name(&cx.languages.names(&cx.config.language_servers));
            Err(cx.error(
                "results/lookup-unsupported.md",
                &[("path", &path), ("languages", &known)],
            ))
        }
        QueryStatus::Error => Err(cx.error("results/lookup-failed.md", &[("reason", &said)])),
    }
}

#[cfg(test)]
mod tests {
    use super::occurrences;

    #[test]
    fn a_symbol_is_found_as_a_whole_word_only() {
        assert_eq!(occurrences("parse(parse_line, a.parse)", "parse"), [0, 20]);
        assert_eq!(occurrences("a + b", "+"), [2]);
        assert_eq!(occurrences("größe größen", "größe"), [0]);
        assert_eq!(occurrences("x", ""), [0_usize; 0]);
    }
}
