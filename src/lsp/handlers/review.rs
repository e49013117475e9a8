//! `interline/review/…`, and the same for clients that do not know our methods: lenses and code
//! actions at changed lines, and the commands behind them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind, SessionId, WireRange};
use crate::env::tasks;
use crate::lsp::bare::messages;
use crate::lsp::door::Door;
use crate::lsp::ext::{Hunk, HunkList};
use crate::lsp::handlers::arguments::Args;
use crate::lsp::params::Command;
use crate::session::review::{ReviewedFile, ReviewedHunk};
use crate::session::{DecideHunks, DecidedHunks, Decision, HunkDecision, HunkState, ListHunks};
use crate::workspace::text;

/// Hunks on a page if the client names no limit.
const PAGE: usize = 1_000;

pub async fn list(door: Arc<Door>, params: ListHunks) -> Result<HunkList, Failure> {
    let skipped = match params.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| {
            Failure::invalid(
                "That cursor is not from a list.",
                "Pass `nextCursor` unchanged.",
            )
        })?,
        None => 0usize,
    };
    let limit = params.limit.map_or(PAGE, |limit| limit.max(1) as usize);
    let files = door.sessions()?.review(params).await?;
    let mut hunks = files
        .iter()
        .flat_map(|file| wire(&door, file))
        .skip(skipped);
    let page: Vec<Hunk> = hunks.by_ref().take(limit).collect();
    let end = skipped + page.len();
    Ok(HunkList {
        hunks: page,
        next_cursor: hunks.next().map(|_| end.to_string()),
    })
}

pub async fn decide(door: Arc<Door>, params: DecideHunks) -> Result<DecidedHunks, Failure> {
    door.sessions()?.decide(params).await
}

fn range_of(door: &Door, file: &ReviewedFile, hunk: &ReviewedHunk) -> WireRange {
    let at = |offset| text::position(&file.rope, offset, door.encoding());
    WireRange {
        start: at(hunk.range.start),
        end: at(hunk.range.end),
    }
}

fn wire(door: &Door, file: &ReviewedFile) -> Vec<Hunk> {
    let hunk = |hunk: &ReviewedHunk| Hunk {
        hunk_id: hunk.id.clone(),
        uri: file.uri.clone(),
        version: file.version,
        item_id: hunk.item.clone(),
        turn_id: hunk.turn.clone(),
        range: range_of(door, file, hunk),
        before: hunk.before.clone(),
        after: hunk.after.clone(),
        author: match hunk.state {
            HunkState::Amended => "user",
            _ if hunk.formatted => "formatter",
            _ => "session",
        }
        .to_owned(),
        state: hunk.state,
    };
    file.hunks.iter().map(hunk).collect()
}

/// The changes of the current session in a document that this client does not show by itself.
async fn shown(door: &Door, uri: &str) -> Option<(SessionId, ReviewedFile)> {
    let off = door.sessions().ok()?.config().code_actions == Some(false);
    if off || door.client().ok()?.offer.review {
        return None;
    }
    changes(door, uri).await.ok()?
}

async fn changes(door: &Door, uri: &str) -> Result<Option<(SessionId, ReviewedFile)>, Failure> {
    let sessions = door.sessions()?;
    let Some(session_id) = sessions.known(Some(uri))? else {
        return Ok(None);
    };
    let ask = ListHunks {
        session_id: session_id.clone(),
        turn_id: None,
        uri: Some(uri.to_owned()),
        cursor: None,
        limit: None,
        all: false,
    };
    let mut files = sessions.review(ask).await?;
    Ok(files.pop().map(|file| (session_id, file)))
}

/// The commands at a changed place.
fn commands(uri: &str, hunk: &ReviewedHunk, range: WireRange) -> [Command; 2] {
    let lines = format!("+{} −{}", line_count(&hunk.after), line_count(&hunk.before));
    let argument = json!({ "uri": uri, "range": range });
    let (what, undo) = match hunk.state {
        HunkState::Proposed => ("proposed change", "reject"),
        _ => ("change", "undo"),
    };
    [("keep", "interline.keep"), (undo, "interline.rejectHunk")].map(|(title, command)| Command {
        title: format!("Interline: {title} this {what} ({lines})"),
        command: command.to_owned(),
        arguments: [argument.clone()],
    })
}

fn line_count(text: &str) -> usize {
    text.lines().count()
}

/// Lenses over each change of the document.
pub async fn lenses(door: &Door, uri: &str) -> Vec<Value> {
    let Some((_, file)) = shown(door, uri).await else {
        return Vec::new();
    };
    let hunks = file.hunks.iter().flat_map(|hunk| {
        let range = range_of(door, &file, hunk);
        let at = json!({ "start": range.start, "end": range.start });
        commands(uri, hunk, range).map(|command| json!({ "range": at, "command": command }))
    });
    hunks.collect()
}

/// The commands for the changes that a range of lines touches.
pub async fn actions(door: &Door, uri: &str, range: WireRange) -> Vec<Command> {
    let Some((_, file)) = shown(door, uri).await else {
        return Vec::new();
    };
    let hunks = file
        .hunks
        .iter()
        .map(|hunk| (hunk, range_of(door, &file, hunk)));
    let here = hunks.filter(|(_, own)| touches(own, &range));
    here.flat_map(|(hunk, own)| commands(uri, hunk, own))
        .collect()
}

/// Whether both ranges have a line in common. The end of a range at the start of a line belongs to
/// the line before.
fn touches(own: &WireRange, other: &WireRange) -> bool {
    let last = |range: &WireRange| match range.end.character {
        0 => range.end.line.saturating_sub(1).max(range.start.line),
        _ => range.end.line,
    };
    own.start.line <= last(other) && other.start.line <= last(own)
}

pub async fn keep_command(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide_here(door, args, Decision::Keep).await
}

pub async fn reject_command(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide_here(door, args, Decision::Reject).await
}

/// Decides about the changes at a place. A message reports what could not be done, because an
/// editor may take long to apply an edit.
async fn decide_here(door: Arc<Door>, args: Args, decision: Decision) -> Result<Value, Failure> {
    let args = args.here(&door)?;
    let (uri, range) = args.place()?;
    let changed = changes(&door, &uri).await?;
    let (session_id, decisions) = changed.map_or_else(Default::default, |(session, file)| {
        let here = file
            .hunks
            .iter()
            .filter(|hunk| touches(&range_of(&door, &file, hunk), &range));
        let decisions = here.map(|hunk| HunkDecision {
            hunk_id: hunk.id.clone(),
            decision,
            after: None,
            listed: None,
        });
        (Some(session), decisions.collect::<Vec<_>>())
    });
    let Some(session_id) = session_id.filter(|_| !decisions.is_empty()) else {
        return Err(Failure::new(
            FailureKind::Invalid,
            "No change of the agent is at this place.",
            "Put the cursor on a changed line.",
        ));
    };
    let (sessions, host) = (Arc::clone(door.sessions()?), Arc::clone(door.host()?));
    let hunks: Vec<String> = decisions.iter().map(|it| it.hunk_id.clone()).collect();
    tasks::spawn(async move {
        let ask = DecideHunks {
            session_id,
            decisions,
        };
        match sessions.decide(ask).await {
            Ok(decided) => {
                if let Some(text) = messages::undecided(&decided) {
                    host.show_info(&text);
                }
            }
            Err(failure) => host.show_info(&failure.sentences()),
        }
    });
    Ok(json!({ "hunkIds": hunks }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::WirePosition;

    fn range(start: (u32, u32), end: (u32, u32)) -> WireRange {
        let at = |(line, character)| WirePosition { line, character };
        WireRange {
            start: at(start),
            end: at(end),
        }
    }

    #[test]
    fn a_change_is_at_the_cursor_if_they_share_a_line() {
        let two_lines = range((3, 0), (5, 0));
        for (line, shared) in [(2, false), (3, true), (4, true), (5, false)] {
            let cursor = range((line, 7), (line, 7));
            assert_eq!(touches(&two_lines, &cursor), shared, "{line}");
            assert_eq!(touches(&cursor, &two_lines), shared, "{line}");
        }
        let removed = range((3, 0), (3, 0));
        assert!(touches(&removed, &range((3, 4), (3, 4))));
        assert!(!touches(&removed, &range((2, 4), (2, 4))));
    }
}
