//! The session's errors, and the results for calls that a stop left unanswered.

use crate::agent::Shared;
use crate::conversation::{Block, Failure, FailureKind, Input, Message, SessionId};
use crate::session::resume::Unreported;

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

/// A turn is running.
pub(super) fn busy(hint: &str) -> Failure {
    Failure::new(
        FailureKind::Busy,
        "A turn is running in this session.",
        hint,
    )
}

pub(super) fn turn_ended(hint: &str) -> Failure {
    Failure::new(FailureKind::TurnEnded, "That turn is over.", hint)
}

/// Checks that a prompt is not empty.
pub(super) fn readable(input: &[Input]) -> Result<(), Failure> {
    let blank = |part: &Input| part.as_text().is_some_and(|text| text.trim().is_empty());
    if input.iter().all(blank) {
        return Err(Failure::invalid(
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

/// Results for calls whose turn was interrupted, with what is known of their edits: the same text
/// each time, so that a resumed request's bytes are the same. `proposed`: those whose change waited
/// for the user's review; `shown`: the path of a URI.
pub fn interrupted_results(
    shared: &Shared,
    unanswered: Vec<String>,
    proposed: &[&str],
    edits: &Unreported,
    shown: impl Fn(&str) -> String,
) -> Option<Message> {
    if unanswered.is_empty() {
        return None;
    }
    let mut text = shared.texts.render("results/interrupted.md", &[]);
    if !edits.is_empty() {
        let names = |uris: &[String]| match uris {
            [] => "-".to_owned(),
            uris => uris
                .iter()
                .map(|it| shown(it))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let (made, unknown) = (names(&edits.made), names(&edits.unknown));
        let missing = names(&edits.missing);
        text.push('\n');
        text.push_str(&shared.texts.render(
            "results/interrupted-edits.md",
            &[
                ("made", &made),
                ("unknown", &unknown),
                ("missing", &missing),
            ],
        ));
    }
    let waited = shared.texts.render("results/interrupted-proposal.md", &[]);
    let result = |id: String| {
        let text = match proposed.contains(&id.as_str()) {
            true => &waited,
            false => &text,
        };
        Block::failed_call(id, text)
    };
    Some(Message::user(unanswered.into_iter().map(result).collect()))
}
