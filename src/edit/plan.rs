//! From a tool call to minimal hunks in the text that the model saw. Pure: only [`super::apply`]
//! sends a plan.

use std::ops::Range;

use ropey::Rope;

use super::matching::similar::{self, Difference};
use super::matching::{Place, Strategy, Wanted};
use super::unified_diff::{Unified, unified};
use super::{Hunk, lines, matching};

/// Hunks in `base`, ascending and not overlapping, minimal.
#[derive(Clone, Debug)]
pub struct Plan {
    pub base: Rope,
    pub hunks: Vec<Hunk>,
    /// The ranges that the model asked to replace, ascending: larger than the hunks.
    pub named: Vec<Range<usize>>,
    /// How they were found.
    pub strategy: Strategy,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the text to replace is empty")]
    EmptyOld,
    #[error("old and new text are the same")]
    Same,
    #[error("the text to replace does not occur")]
    NotFound {
        /// Up to three 1-based numbers of the most similar lines.
        similar: Vec<usize>,
        /// The first difference at the first of them.
        differs: Option<Difference>,
    },
    #[error("the text to replace occurs more than once")]
    Ambiguous {
        /// 1-based lines of all matches.
        lines: Vec<usize>,
        strategy: Strategy,
    },
    #[error("the text to replace occurs {found} times, not {expected}")]
    Count {
        found: usize,
        expected: usize,
        lines: Vec<usize>,
        strategy: Strategy,
    },
}

/// `edit`: replaces `old` by `new`, exactly once, or exactly `expected` times. Once means that
/// there is no other occurrence, not even one that overlaps; several are counted from the top
/// without overlaps. An `old` that does not occur is searched as [`Strategy`] says.
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
    let wanted = Wanted {
        old,
        new,
        whole_lines: false,
    };
    let (strategy, mut places) = matching::locate(&text, wanted);
    if expected.is_some_and(|count| count > 1) {
        // It is unclear which of two overlapping matches is meant: the first, as is usual.
        let mut free = 0;
        places.retain(|place| {
            let apart = place.range.start >= free;
            free = if apart { place.range.end } else { free };
            apart
        });
    }
    if places.is_empty() {
        return Err(not_found(&text, old));
    }
    if places.len() != expected.unwrap_or(1) {
        let lines = places
            .iter()
            .map(|place| base.byte_to_line(place.range.start) + 1)
            .collect();
        return Err(match expected {
            None => PlanError::Ambiguous { lines, strategy },
            Some(expected) => PlanError::Count {
                found: places.len(),
                expected,
                lines,
                strategy,
            },
        });
    }
    at(base, &text, &places, strategy)
}

/// The plan for places that are ascending and do not overlap.
pub(super) fn at(
    base: &Rope,
    text: &str,
    places: &[Place],
    strategy: Strategy,
) -> Result<Plan, PlanError> {
    let mut hunks = Vec::new();
    for place in places {
        join(
            &mut hunks,
            lines::hunks(text, place.range.clone(), &place.new),
        );
    }
    if hunks.is_empty() {
        return Err(PlanError::Same);
    }
    Ok(Plan {
        base: base.clone(),
        hunks,
        named: places.iter().map(|place| place.range.clone()).collect(),
        strategy,
    })
}

/// That `old` does not occur, and where something similar does.
pub(super) fn not_found(text: &str, old: &str) -> PlanError {
    let (similar, differs) = similar::places(text, old);
    PlanError::NotFound { similar, differs }
}

/// Replaces ranges, which are ascending and do not overlap, as a language server says.
pub fn ranges(base: &Rope, changes: Vec<(Range<usize>, String)>) -> Plan {
    let text = String::from(base);
    let mut hunks = Vec::new();
    for (range, new) in &changes {
        join(&mut hunks, lines::hunks(&text, range.clone(), new));
    }
    Plan {
        base: base.clone(),
        hunks,
        named: changes.into_iter().map(|(range, _)| range).collect(),
        strategy: Strategy::Exact,
    }
}

/// `write`: the whole new content, reduced to minimal hunks, with the file's line ends.
pub fn write(base: &Rope, content: &str) -> Plan {
    let text = String::from(base);
    Plan {
        base: base.clone(),
        hunks: lines::hunks(&text, 0..text.len(), content),
        named: std::iter::once(0..text.len()).collect(),
        strategy: Strategy::Exact,
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
