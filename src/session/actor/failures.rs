//! The session's errors, its title, and the results for calls that a stop left unanswered.

use crate::agent::Shared;
use crate::conversation::{Block, Failure, FailureKind, Input, Message, SessionId};
use crate::prompt::Layout;
use crate::session::sessions::layouts;

pub(super) fn closed(session: &SessionId) -> Failure {
    Failure::new(
        FailureKind::UnknownSession,
        format!("The session {session} is closed."),
        "Open it again.",
    )
}

/// Another process writes the session's log.
pub fn read_only() -> Failure {
    Failure::new(
        FailureKind::ReadOnly,
        "Another process has this session open, or a newer Interline wrote it.",
        "Close it there, fork it, or start a new session.",
    )
}

pub(super) fn turn_ended(hint: &str) -> Failure {
    Failure::new(FailureKind::TurnEnded, "That turn is over.", hint)
}

/// Checks that a prompt is not empty.
pub(super) fn readable(input: &[Input]) -> Result<(), Failure> {
    let empty = input.iter().all(|part| match part {
        Input::Text { text } => text.trim().is_empty(),
        _ => false,
    });
    if empty {
        return Err(Failure::new(
            FailureKind::Invalid,
            "The prompt is empty.",
            "Send at least one input part with content.",
        ));
    }
    Ok(())
}

pub(super) fn unknown_turn() -> Failure {
    Failure::new(
        FailureKind::UnknownTurn,
        "There is no such turn in this session.",
        "Name a turn of this session.",
    )
}

/// Loads a layout, or lists the known ones.
pub fn load_layout(shared: &Shared, name: &str) -> Result<Layout, Failure> {
    Layout::load(&shared.texts, name).map_err(|reason| {
        Failure::new(
            FailureKind::Invalid,
            format!("The layout {name} cannot be used: {reason}"),
            format!("Layouts: {}.", layouts(&shared.texts).join(", ")),
        )
    })
}

/// The first text of a prompt, truncated to 60 characters.
pub fn title_of(input: &[Input]) -> Option<String> {
    let text = input.iter().find_map(|part| match part {
        Input::Text { text } => text.lines().find(|line| !line.trim().is_empty()),
        _ => None,
    })?;
    let text = text.trim();
    let mut title: String = text.chars().take(60).collect();
    if title.len() < text.len() {
        title.push('…');
    }
    Some(title)
}

/// Results for calls whose turn was interrupted: the same text each time, so that a resumed
/// request's bytes are the same.
pub fn interrupted_results(shared: &Shared, unanswered: Vec<String>) -> Option<Message> {
    if unanswered.is_empty() {
        return None;
    }
    let text = shared.texts.render("results/interrupted.md", &[]);
    Some(Message::user(
        unanswered
            .into_iter()
            .map(|id| Block::ToolResult {
                tool_use_id: id,
                content: text.clone(),
                is_error: true,
            })
            .collect(),
    ))
}
