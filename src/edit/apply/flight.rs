//! One request in flight: waits for the answer and for the mirror, in either order, and reports
//! how it ended. Sends nothing more; a deadline ends the waiting, not the flight.

use std::ops::Range as Span;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::judge::{Verdict, judge};
use super::opened_by_editor::{Evidence, Opened};
use super::sent_edit::Sent;
use crate::edit::unified_diff::{Unified, unified};
use crate::env::tasks::{self, Task};
use crate::host::{EditAnswer, EditRequest, Host, TextEdit};
use crate::workspace::document::text_before;
use crate::workspace::{Change, Document, Range, Revision, SyncState, Uri, Workspace, text};

/// How long after the answer a closed file's didOpen may come, in addition to the client's delay.
const OPENING: Duration = Duration::from_secs(2);

/// A text that is neither the old nor the edited one may be the result of the first of several
/// notifications; it is judged after this pause.
const SETTLING: Duration = Duration::from_millis(200);

/// How long after the change that shows the edit the answer may come, in addition to the client's
/// delay.
const ANSWERING: Duration = Duration::from_millis(500);

/// How a flight ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Shown {
        from: Revision,
        to: Revision,
        moved: bool,
    },
    /// The text lacks the edit. `again`: the text has changed, so a retry makes sense.
    Refused { reason: String, again: bool },
    /// The user's typing conflicts with the edit, and the client changed nothing.
    Conflict,
    /// Landed differently than planned.
    Elsewhere,
    /// The text does not show it, and never will.
    Unknown,
    /// The document was closed in the meantime.
    Closed,
    /// A closed file that the client did not open for us.
    Unattached,
    /// The limit passed first.
    Open,
}

struct Answered {
    answer: EditAnswer,
    /// The mirror's revision when the answer came.
    revision: Option<Revision>,
    at: Instant,
}

/// A request that was sent.
pub(super) struct Flight {
    pub sent: Sent,
    workspace: Arc<Workspace>,
    uri: Uri,
    delay: Duration,
    drops_stale: bool,
    /// The version that the edit is for, where the client applies it on no other.
    fence: Option<i32>,
    /// For a closed file: the requested edits, and the text that the editor opened.
    opened: Opened,
    answer: Task<Answered>,
    answered: Option<Answered>,
    signals: watch::Receiver<u64>,
    /// The unclear text, and since when it has been the current one.
    unclear: Option<(Revision, Instant)>,
    /// The newest text that was judged without an answer, and when it came.
    unanswered: Option<(Revision, Instant)>,
}

/// The edits of `sent` in the client's positions.
pub(super) fn text_edits(sent: &Sent, encoding: text::Encoding) -> Vec<TextEdit> {
    sent.hunks
        .iter()
        .map(|hunk| TextEdit {
            range: Range {
                start: text::position(&sent.before, hunk.start, encoding),
                end: text::position(&sent.before, hunk.end, encoding),
            },
            new_text: hunk.text.clone(),
        })
        .collect()
}

impl Flight {
    /// Sends the request; from now on it can only be watched.
    pub(super) fn launch(
        host: &dyn Host,
        workspace: &Arc<Workspace>,
        request: EditRequest,
        sent: Sent,
        named: Vec<Span<usize>>,
    ) -> Self {
        let uri = request.uri.clone();
        let signals = workspace.watch(&uri);
        // Neovim ignores version 0, which a buffer has until its first change.
        let versioned = request.version.is_some_and(|version| version > 0);
        let drops_stale = versioned && host.drops_stale();
        let fence = request.version.filter(|_| versioned && host.fences());
        let opened = Opened::new(request.edits.clone(), host.encoding(), named);
        let waiting = host.apply(request);
        let answer = tasks::spawn({
            let (workspace, uri) = (Arc::clone(workspace), uri.clone());
            async move {
                let answer = waiting.await;
                Answered {
                    answer,
                    revision: workspace.document(&uri).map(|document| document.revision),
                    at: Instant::now(),
                }
            }
        });
        Self {
            sent,
            workspace: Arc::clone(workspace),
            uri,
            delay: host.delay(),
            drops_stale,
            fence,
            opened,
            answer,
            answered: None,
            signals,
            unclear: None,
            unanswered: None,
        }
    }

    /// Waits for the end, at most until `limit`. Can be called again after [`End::Open`].
    pub(super) async fn land(&mut self, limit: Option<Instant>) -> End {
        loop {
            self.signals.mark_unchanged();
            let document = self.workspace.document(&self.uri);
            let (end, look_again) = self.conclude(document.as_ref());
            if let Some(end) = end {
                return end;
            }
            let wake = [look_again, limit].into_iter().flatten().min();
            tokio::select! {
                answered = &mut self.answer, if self.answered.is_none() => {
                    self.answered = Some(answered.unwrap_or_else(|_| Answered {
                        answer: EditAnswer::Gone { reason: "the request failed".to_owned() },
                        revision: None,
                        at: Instant::now(),
                    }));
                }
                changed = self.signals.changed() => {
                    if changed.is_err() {
                        return End::Open;
                    }
                }
                () = sleep_until(wake) => {}
            }
            if limit.is_some_and(|limit| limit <= Instant::now()) {
                return self.end_at_limit();
            }
        }
    }

    /// At the limit only the mirror decides, and only for success.
    fn end_at_limit(&mut self) -> End {
        let document = self.workspace.document(&self.uri);
        if let (Some(end), _) = self.conclude(document.as_ref()) {
            return end;
        }
        if let Some(end) = self.shown_now() {
            return end;
        }
        match self.refuted() {
            true => End::Refused {
                reason: "the editor did not answer, and its text has changed without the edit"
                    .to_owned(),
                again: false,
            },
            false => End::Open,
        }
    }

    /// The end if there is one, else when to check again without a signal.
    fn conclude(&mut self, document: Option<&Document>) -> (Option<End>, Option<Instant>) {
        if let Some(document) = document {
            self.adopt(document);
        }
        if self.answered.is_none() {
            return self.unanswered(document);
        }
        let verdict = document.map(|document| self.verdict(document));
        let Some(answered) = &self.answered else {
            return (None, None);
        };
        let (Some(document), Some(verdict)) = (document, verdict) else {
            return self.without_document(answered);
        };
        let settled = self.settled(document);
        // Text that was undone in the same change may only look as if the edit were missing.
        let verdict = match (&answered.answer, verdict) {
            (EditAnswer::Mapped { .. }, Verdict::Absent) => Verdict::Unknown,
            (_, verdict) => verdict,
        };
        let unknown = verdict == Verdict::Unknown;
        let end = match (&answered.answer, verdict) {
            (_, Verdict::Shown { from, to, moved }) => End::Shown { from, to, moved },
            (_, Verdict::Undone) => End::Refused {
                reason: "the edit was undone at once".to_owned(),
                again: false,
            },
            (EditAnswer::Mapped { version, .. }, _) if document.version < *version => {
                return (None, None);
            }
            (
                EditAnswer::Claimed | EditAnswer::Mapped { .. },
                Verdict::Elsewhere { .. } | Verdict::Unknown,
            )
            | (_, Verdict::Elsewhere { sure: true }) => match settled {
                Some(at) if at <= Instant::now() && unknown => End::Unknown,
                Some(at) if at <= Instant::now() => {
                    if let Some(landed) = self.opened.landed.take() {
                        self.sent = landed;
                    }
                    End::Elsewhere
                }
                Some(at) => return (None, Some(at)),
                None => {
                    let now = Instant::now();
                    self.unclear = Some((document.revision, now));
                    return (None, Some(now + self.delay.max(SETTLING)));
                }
            },
            (EditAnswer::Claimed | EditAnswer::Mapped { .. }, Verdict::Pending) => {
                return (None, None);
            }
            (EditAnswer::Claimed, Verdict::Absent) => {
                // A change after the answer proves that the edit was dropped. So does one before
                // it, if the client drops edits for other versions: the edit met a newer text, or
                // the change would show it.
                let before = |then| document.revision <= then;
                if !self.drops_stale && answered.revision.is_some_and(before) {
                    return (None, None);
                }
                End::Refused {
                    reason: "the editor reported success, but its text lacks the edit".to_owned(),
                    again: true,
                }
            }
            (answer, _) => refusal(answer),
        };
        (Some(end), None)
    }

    fn without_document(&self, answered: &Answered) -> (Option<End>, Option<Instant>) {
        let end = match &answered.answer {
            EditAnswer::Claimed | EditAnswer::Mapped { .. } if self.sent.revision.is_some() => {
                End::Closed
            }
            EditAnswer::Claimed | EditAnswer::Mapped { .. } => {
                let until = answered.at + self.delay + OPENING;
                if Instant::now() < until {
                    return (None, Some(until));
                }
                End::Unattached
            }
            answer => refusal(answer),
        };
        (Some(end), None)
    }

    /// When the current unclear text will have been there for long enough.
    fn settled(&self, document: &Document) -> Option<Instant> {
        self.unclear
            .filter(|(revision, _)| *revision == document.revision)
            .map(|(_, since)| since + self.delay.max(SETTLING))
    }

    /// Without an answer only the mirror decides, and only for success: a moment after it changed,
    /// because the client may undo the edit, or be about to answer.
    fn unanswered(&mut self, document: Option<&Document>) -> (Option<End>, Option<Instant>) {
        let Some(document) = document.filter(|it| self.sent.revision != Some(it.revision)) else {
            return (None, None);
        };
        let now = Instant::now();
        let since = match self.unanswered {
            Some((revision, since)) if revision == document.revision => since,
            _ => now,
        };
        self.unanswered = Some((document.revision, since));
        let at = since + self.delay + ANSWERING;
        match now < at {
            true => (None, Some(at)),
            false => (self.shown_now(), None),
        }
    }

    /// A closed file that was opened with the text before the edit is from now on an open document
    /// like any other.
    fn adopt(&mut self, document: &Document) {
        if self.sent.revision.is_some() || document.sync != SyncState::InSync {
            return;
        }
        let Some((at, changes)) = self.workspace.changes_since_open(&self.uri) else {
            return;
        };
        let changes: Vec<Change> = changes
            .into_iter()
            .filter(|change| change.revision <= document.revision)
            .collect();
        let text = text_before(&document.rope, &changes);
        if text == self.sent.before && self.sent.before != self.sent.expected {
            self.sent.revision = Some(at);
        } else {
            self.opened.text = Some((at, text, changes));
        }
    }

    fn verdict(&mut self, document: &Document) -> Verdict {
        if document.sync != SyncState::InSync {
            return Verdict::Pending;
        }
        let Some(revision) = self.sent.revision else {
            let settled = self
                .settled(document)
                .is_some_and(|at| at <= Instant::now());
            return match self.opened.evidence(&self.sent, document) {
                Evidence::Verdict(verdict) => verdict,
                // The edit may still be in flight to a text that already looks like it.
                Evidence::Likely if settled => Verdict::Shown {
                    from: document.revision,
                    to: document.revision,
                    moved: true,
                },
                Evidence::Likely => Verdict::Elsewhere { sure: true },
            };
        };
        let changes = self.workspace.changes_since(&self.uri, revision);
        judge(
            &self.sent,
            &document.rope,
            document.revision,
            changes.as_deref(),
        )
    }

    /// The end if the mirror shows the edit, whether or not an answer ever comes.
    pub(super) fn shown_now(&mut self) -> Option<End> {
        let document = self.workspace.document(&self.uri)?;
        match self.verdict(&document) {
            Verdict::Shown { from, to, moved } => Some(End::Shown { from, to, moved }),
            _ => None,
        }
    }

    /// Whether the edit can no longer land: there is no answer, and the text has changed without
    /// the edit, which the client applies to its own version only.
    pub(super) fn refuted(&mut self) -> bool {
        let Some(document) = self.workspace.document(&self.uri) else {
            return false;
        };
        self.answered.is_none()
            && self.fence.is_some_and(|version| document.version > version)
            && self.verdict(&document) == Verdict::Absent
    }

    /// The version that prevents this edit and another one from both landing.
    pub(super) fn fence(&self) -> Option<i32> {
        self.fence.filter(|_| self.answered.is_none())
    }

    /// Whether the edit's target is gone: the document was closed or reopened since the edit was
    /// sent.
    pub(super) fn target_gone(&self) -> bool {
        match (self.sent.revision, self.workspace.document(&self.uri)) {
            (Some(revision), Some(_)) => {
                self.workspace.changes_since(&self.uri, revision).is_none()
            }
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

fn refusal(answer: &EditAnswer) -> End {
    match answer {
        EditAnswer::Conflict { .. } => End::Conflict,
        EditAnswer::Refused { reason } => End::Refused {
            reason: reason.clone(),
            again: true,
        },
        EditAnswer::Gone { reason } => End::Refused {
            reason: reason.clone(),
            again: false,
        },
        EditAnswer::Claimed | EditAnswer::Mapped { .. } => End::Open,
    }
}

/// Never resolves without an instant.
pub(super) async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Unified diff of a sent edit.
pub(super) fn diff(sent: &Sent, path: &str) -> Unified {
    unified(
        &String::from(&sent.before),
        &String::from(&sent.expected),
        path,
    )
}
