//! From a tool call to minimal hunks in the text that the model saw. Pure: only [`super::apply`]
//! sends a plan.

use std::ops::Range;

use ropey::Rope;

use super::lines;
use super::unified_diff::{Unified, unified};
use super::{Hunk, matching};

/// Hunks in `base`, ascending and not overlapping, minimal.
#[derive(Clone, Debug)]
pub struct Plan {
    pub base: Rope,
    pub hunks: Vec<Hunk>,
    /// The ranges that the model asked to replace, ascending: larger than the hunks.
    pub named: Vec<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the text to replace is empty")]
    EmptyOld,
    #[error("old and new text are the same")]
    Same,
    /// With up to three 1-based numbers of the most similar lines.
    #[error("the text to replace does not occur")]
    NotFound { similar: Vec<usize> },
    /// 1-based lines of all matches.
    #[error("the text to replace occurs more than once")]
    Ambiguous { lines: Vec<usize> },
    #[error("the text to replace occurs {found} times, not {expected}")]
    Count {
        found: usize,
        expected: usize,
        lines: Vec<usize>,
    },
}

/// `edit`: replaces `old` by `new`, exactly once, or exactly `expected` times. Once means that
/// there is no other occurrence, not even one that overlaps; several are counted from the top
/// without overlaps.
pub fn replace(
    base: &Rope,
    old: &str,
    new: &str,
    expected: Option<usize>,
) -> Result<Plan, PlanError> {
    if old.is_empty() {
        return Err(PlanError::EmptyOld);
    }
    if old == new {
        return Err(PlanError::Same);
    }
    let text = String::from(base);
    let mut matches = matching::find(&text, old);
    if expected.is_some_and(|count| count > 1) {
        // It is unclear which of two overlapping matches is meant: the first, as is usual.
        let mut free = 0;
        matches.retain(|range| {
            let apart = range.start >= free;
            free = if apart { range.end } else { free };
            apart
        });
    }
    if matches.is_empty() {
        let similar = matching::similar_lines(&text, old);
        return Err(PlanError::NotFound { similar });
    }
    if matches.len() != expected.unwrap_or(1) {
        let lines = matches
            .iter()
            .map(|range| base.byte_to_line(range.start) + 1)
            .collect();
        return Err(match expected {
            None => PlanError::Ambiguous { lines },
            Some(expected) => PlanError::Count {
                found: matches.len(),
                expected,
                lines,
            },
        });
    }
    let mut hunks = Vec::new();
    let named = matches.clone();
    for range in matches {
        // The carriage returns of `old` are not in the document and were matched loosely, so those
        // of `new` mean line ends too.
        let loose = old.contains('\r') && text[range.clone()] != *old;
        let more = if loose {
            lines::hunks(&text, range, &matching::line_feeds(new))
        } else {
            lines::hunks(&text, range, new)
        };
        join(&mut hunks, more);
    }
    if hunks.is_empty() {
        return Err(PlanError::Same);
    }
    Ok(Plan {
        base: base.clone(),
        hunks,
        named,
    })
}

/// `write`: the whole new content, reduced to minimal hunks, with the file's line ends.
pub fn write(base: &Rope, content: &str) -> Plan {
    let text = String::from(base);
    Plan {
        base: base.clone(),
        hunks: lines::hunks(&text, 0..text.len(), content),
        named: std::iter::once(0..text.len()).collect(),
    }
}

impl Plan {
    /// The text after the plan.
    pub fn result(&self) -> Rope {
        patch(&self.base, &self.hunks)
    }

    /// Unified diff with three lines of context and `path` in the header.
    pub fn diff(&self, path: &str) -> String {
        self.unified(path).text
    }

    /// The diff with the numbers of added and removed lines.
    pub fn unified(&self, path: &str) -> Unified {
        let (old, new) = (String::from(&self.base), String::from(self.result()));
        unified(&old, &new, path)
    }
}

/// `text` with `hunks` (ascending, not overlapping, on character boundaries) applied.
pub fn patch(text: &Rope, hunks: &[Hunk]) -> Rope {
    let mut out = text.clone();
    for hunk in hunks.iter().rev() {
        let start = out.byte_to_char(hunk.start);
        let end = out.byte_to_char(hunk.end);
        out.remove(start..end);
        out.insert(start, &hunk.text);
    }
    out
}

/// Appends later hunks; those that touch the last one are merged into it, so that no two hunks of
/// a plan share an edge.
fn join(hunks: &mut Vec<Hunk>, more: Vec<Hunk>) {
    for hunk in more {
        match hunks.last_mut() {
            Some(last) if last.end == hunk.start => {
                last.end = hunk.end;
                last.text.push_str(&hunk.text);
            }
            _ => hunks.push(hunk),
        }
    }
}

#[cfg(test)]
mod tests;
