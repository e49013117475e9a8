//! Where a plan's hunks are in a text that has changed since. Pure.

use ropey::Rope;

use crate::edit::rebase::{Conflict, rebase_words};
use crate::edit::{Hunk, Plan, line_ends};
use crate::workspace::{Author, Change};

/// The plan's hunks in `now`, and whether `now` differs from the plan's base.
pub(super) fn rebased_hunks(
    plan: &Plan,
    now: &Rope,
    changes: Option<&[Change]>,
) -> Result<(Vec<Hunk>, bool), Conflict> {
    if *now == plan.base {
        return Ok((plan.hunks.clone(), false));
    }
    let changes = changes.ok_or(Conflict::Forgotten)?;
    let hunks = rebase_words(&plan.base, &plan.hunks, changes)?;
    for (index, (then, here)) in plan.hunks.iter().zip(&hunks).enumerate() {
        let same = now
            .get_byte_slice(here.start..here.end)
            .is_some_and(|text| text == plan.base.byte_slice(then.start..then.end));
        if !same || splits(now, here.start) || splits(now, here.end) {
            let by = changes.last().map_or(Author::User, |it| it.author.clone());
            return Err(Conflict::Overlap { hunk: index, by });
        }
    }
    Ok((hunks, true))
}

/// Whether `offset` is inside a character or a CRLF, where a user's change can move a hunk's edge.
fn splits(text: &Rope, offset: usize) -> bool {
    if text.char_to_byte(text.byte_to_char(offset)) != offset {
        return true;
    }
    let around = offset.saturating_sub(1)..(offset + 1).min(text.len_bytes());
    offset > 0
        && text
            .get_byte_slice(around)
            .is_some_and(|pair| line_ends::splits_crlf(&pair.to_string(), 1))
}

#[cfg(test)]
mod tests;
