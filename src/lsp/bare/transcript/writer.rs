//! The task that writes one transcript: finished items are collected and written as one edit,
//! at least two seconds after the previous one and not while the user types there. An open
//! document is changed only by the edit driver; a closed one is a file of ours.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::files;
use super::format;
use super::turn_notes::Notes;
use crate::agent::Shared;
use crate::config::ClosedFiles;
use crate::conversation::event::{Envelope, EnvelopeBody, Origin};
use crate::conversation::{Input, ItemId, SessionId, TurnId};
use crate::edit::apply::DEADLINE;
use crate::edit::matching::Strategy;
use crate::edit::{EditJob, Hunk, Outcome, Plan, apply};
use crate::env::tasks;
use crate::host::Host;
use crate::session::store::NoLog;
use crate::workspace::{Change, Document, Located, Revision, Uri};

/// Between two edits, and since the user's last key in the transcript.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest pause after edits that did not land.
const LONGEST: Duration = Duration::from_secs(60);
/// After this many failures in a row the user is warned.
const WARN_AFTER: u32 = 5;

/// A message to a transcript's task.
pub enum Command {
    Turn(Arc<Envelope>),
    /// The user sends `words`, which end before byte `end` of the document at `revision`.
    Sent {
        words: String,
        end: usize,
        revision: Revision,
    },
    /// Quote this for the user's next prompt; answered when it is written or cannot be.
    Quote(String, oneshot::Sender<()>),
    /// The process ends: write what is possible.
    End(oneshot::Sender<()>),
}

pub struct Writer {
    pub session: SessionId,
    pub located: Located,
    pub shared: Arc<Shared>,
    pub host: Weak<dyn Host>,
    state: State,
}

struct State {
    notes: Notes,
    /// Parts of the answer that are not yet written.
    answer: Vec<String>,
    quote: String,
    quoted: Vec<oneshot::Sender<()>>,
    /// Prompts whose turn has not begun: words, end, revision.
    sent: Vec<(String, usize, Revision)>,
    /// Where the answer continues, in the text of a revision.
    anchor: Option<(usize, Revision)>,
    /// The last known revision: any other is the user's.
    seen: Option<Revision>,
    /// The earliest time of the next edit.
    next: Instant,
    failures: u32,
}

impl Writer {
    pub fn spawn(
        session: SessionId,
        located: Located,
        shared: Arc<Shared>,
        host: Weak<dyn Host>,
    ) -> mpsc::UnboundedSender<Command> {
        let (send, inbox) = mpsc::unbounded_channel();
        let writer = Self {
            session,
            located,
            shared,
            host,
            state: State {
                notes: Notes::default(),
                answer: Vec::new(),
                quote: String::new(),
                quoted: Vec::new(),
                sent: Vec::new(),
                anchor: None,
                seen: None,
                next: Instant::now(),
                failures: 0,
            },
        };
        tasks::spawn(writer.run(inbox));
        send
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        let mut signals = self.shared.workspace.watch(self.uri());
        self.state.seen = self.document().map(|document| document.revision);
        loop {
            let due = self.state.due();
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(command) => self.handle(command).await,
                    None => return,
                },
                changed = signals.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.document_changed();
                }
                () = tokio::time::sleep_until(self.state.next), if due => self.write().await,
            }
        }
    }

    fn uri(&self) -> &Uri {
        &self.located.uri
    }

    fn document(&self) -> Option<Document> {
        self.shared.workspace.document(self.uri())
    }

    /// Why another process's editor, which has it open, must be the only one to change it (INV-2).
    fn open_elsewhere(&self) -> Option<String> {
        let peers = self.shared.workspace.peers()?;
        let holder = peers.holder(&self.located.key())?;
        Some(format!("it is open in {}", holder.holder()))
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Turn(envelope) => self.turn(&envelope).await,
            Command::Sent {
                words,
                end,
                revision,
            } => self.state.sent.push((words, end, revision)),
            Command::Quote(words, done) => {
                self.state.quote = match self.state.quote.is_empty() {
                    true => words,
                    false => format!("{}\n\n{words}", self.state.quote),
                };
                self.state.quoted.push(done);
                if self.document().is_none() {
                    self.write().await;
                }
            }
            Command::End(done) => {
                if self.state.due() && self.document().is_none() {
                    self.write().await;
                }
                let _ = done.send(());
            }
        }
    }

    async fn turn(&mut self, envelope: &Envelope) {
        let (notes, answer) = (&mut self.state.notes, &mut self.state.answer);
        match &envelope.body {
            EnvelopeBody::Started { origin, input, .. } => {
                let here = *origin == Origin::Transcript;
                notes.begin((!here).then(|| format::prompt_text(input)));
                if here {
                    self.state.begins(input);
                }
            }
            EnvelopeBody::Event { event } => answer.extend(notes.event(event)),
            EnvelopeBody::Ended { .. } => {
                let end = notes.end(&self.shared.workspace, &envelope.body).await;
                self.state.answer.extend(end);
                self.state.answer.push(format::YOU.to_owned());
            }
        }
    }

    /// The document changed: if the user typed, wait for a pause.
    fn document_changed(&mut self) {
        let now = self.document().map(|document| document.revision);
        if now != self.state.seen && now.is_some() {
            self.state.next = self.state.next.max(Instant::now() + PAUSE);
        }
        self.state.seen = now;
    }

    /// Writes what is due as one edit.
    async fn write(&mut self) {
        let outcome = match self.document() {
            Some(document) => self.edit(document).await,
            None => self.append().await,
        };
        for done in self.state.quoted.drain(..) {
            // Fails only if the command stopped waiting.
            let _ = done.send(());
        }
        self.state.seen = self.document().map(|document| document.revision);
        match outcome {
            Ok(()) => {
                if let (Some(_), Some(host)) = (self.state.seen, self.host.upgrade()) {
                    host.lenses_moved();
                }
                self.state.failures = 0;
                self.state.next = Instant::now() + PAUSE;
            }
            Err(reason) => self.failed(&reason),
        }
    }

    fn failed(&mut self, reason: &str) {
        tracing::debug!(uri = %self.uri(), "the transcript was not written: {reason}");
        self.state.failures += 1;
        let pause = PAUSE * 2u32.saturating_pow(self.state.failures.min(5));
        self.state.next = Instant::now() + pause.min(LONGEST);
        if self.state.failures == WARN_AFTER
            && let Some(host) = self.host.upgrade()
        {
            host.message(&format!(
                "Interline cannot write the transcript {}: {reason}. Writing resumes once that \
                 clears; close the file to write it to disk.",
                self.located.path.display()
            ));
        }
    }

    async fn edit(&mut self, document: Document) -> Result<(), String> {
        let Some(host) = self.host.upgrade() else {
            return Ok(());
        };
        let text = String::from(&document.rope);
        let at = self.anchor(&text, &document);
        let hunks = self.state.hunks(&text, at);
        let answer = hunks.first().filter(|hunk| hunk.start == at).cloned();
        let job = EditJob {
            session: self.session.clone(),
            turn: TurnId::from("transcript"),
            item: ItemId::from("transcript"),
            label: "Interline: transcript".to_owned(),
            located: self.located.clone(),
            plan: Plan {
                base: document.rope,
                named: hunks.iter().map(|hunk| hunk.start..hunk.end).collect(),
                hunks,
                strategy: Strategy::Exact,
            },
            base_revision: Some(document.revision),
            create: false,
            delete: false,
            strict: false,
            shape: None,
            closed_files: ClosedFiles::Disk,
            deadline: DEADLINE,
            workspace: self.shared.workspace.clone(),
            lanes: self.shared.lanes.clone(),
            host,
            // Edits of a transcript are not changes of the session.
            recorder: Arc::new(NoLog),
            cancel: CancellationToken::new(),
        };
        match apply(job).await {
            Outcome::Applied(landed) | Outcome::Rebased(landed) => {
                let text = landed.text.to_string();
                self.state.anchor = landed.revision.and_then(|revision| {
                    let end = insertion_end(&text, &answer?, at)?;
                    Some((end, revision))
                });
                self.state.written();
                Ok(())
            }
            // It may have been applied: do not repeat it.
            Outcome::Unconfirmed
            | Outcome::Unknown { .. }
            | Outcome::Diverged { .. }
            | Outcome::Held(_) => {
                tracing::warn!(uri = %self.uri(), "an edit of the transcript is uncertain");
                self.state.anchor = None;
                self.state.written();
                Ok(())
            }
            Outcome::Refused { reason } | Outcome::Blocked { reason } => Err(reason),
            Outcome::Conflict { .. } => Err("you are typing in it".to_owned()),
            Outcome::Cancelled => Err("cancelled".to_owned()),
        }
    }

    async fn append(&mut self) -> Result<(), String> {
        if let Some(reason) = self.open_elsewhere() {
            return Err(reason);
        }
        let (answer, quote) = (self.state.answer.join("\n\n"), self.state.quote.clone());
        let (shared, located) = (self.shared.clone(), self.located.clone());
        let (session, ours) = (self.session.clone(), self.state.notes.prompt_is_in_file());
        let write = tasks::blocking(move || {
            let text = files::read(&shared.workspace, &located)?
                .unwrap_or_else(|| format::new_transcript(&session));
            let at = match ours {
                true => text.len(),
                false => format::answer_position(&text),
            };
            let hunks = format::insertion(&text, at, &answer, &quote);
            let new = crate::edit::plan::patch(&ropey::Rope::from_str(&text), &hunks);
            files::write(&shared, &located, &new)
        });
        match write.await {
            Ok(Ok(())) => {
                self.state.anchor = None;
                self.state.written();
                Ok(())
            }
            Ok(Err(reason)) => Err(reason),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Where the answer continues: after what was written last, before what the user wrote since.
    fn anchor(&self, text: &str, document: &Document) -> usize {
        let known = self.state.anchor.and_then(|(at, revision)| {
            let workspace = &self.shared.workspace;
            let changes = workspace.changes_since(&document.uri, revision)?;
            Some(moved_position(at, &changes)).filter(|at| text.is_char_boundary(*at))
        });
        known.unwrap_or_else(|| match self.state.notes.prompt_is_in_file() {
            true => text.trim_end().len(),
            false => format::answer_position(text),
        })
    }
}

impl State {
    fn due(&self) -> bool {
        !self.answer.is_empty() || !self.quote.is_empty()
    }

    /// The turn of a sent prompt begins: its answer is placed below the prompt.
    fn begins(&mut self, input: &[Input]) {
        let asked = input.iter().find_map(|part| match part {
            Input::Text { text } => Some(text),
            _ => None,
        });
        let of = |(words, ..): &(String, usize, Revision)| Some(words) == asked;
        if let Some(found) = self.sent.iter().position(of) {
            let (_, end, revision) = self.sent.remove(found);
            self.anchor = Some((end, revision));
        }
    }

    fn hunks(&self, text: &str, at: usize) -> Vec<Hunk> {
        let mut answer = self.answer.as_slice();
        if let Some((last, before)) = answer.split_last()
            && last == format::YOU
            && format::has_prompt(text, at)
        {
            // The user has already written the next heading.
            answer = before;
        }
        format::insertion(text, at, &answer.join("\n\n"), &self.quote)
    }

    fn written(&mut self) {
        self.answer.clear();
        self.quote.clear();
    }
}

/// Byte `at` after changes of others; text typed exactly there stays behind it.
fn moved_position(at: usize, changes: &[Change]) -> usize {
    changes.iter().fold(at, |at, change| {
        let end = change.start + change.removed.len();
        if change.start >= at {
            at
        } else if end <= at {
            at - change.removed.len() + change.inserted.len()
        } else {
            change.start + change.inserted.len()
        }
    })
}

/// The end of what was inserted near byte `at`.
fn insertion_end(text: &str, hunk: &Hunk, at: usize) -> Option<usize> {
    let places = text
        .match_indices(hunk.text.as_str())
        .map(|(start, _)| start);
    let nearest = places.min_by_key(|start| start.abs_diff(at))?;
    Some(nearest + hunk.text.len())
}

#[cfg(test)]
mod tests {
    use super::{Hunk, insertion_end, moved_position};
    use crate::workspace::{Author, Change, Revision};

    fn change(start: usize, removed: &str, inserted: &str) -> Change {
        Change {
            revision: Revision(1),
            start,
            removed: removed.to_owned(),
            inserted: inserted.to_owned(),
            author: Author::User,
            continues: false,
        }
    }

    #[test]
    fn what_is_typed_at_the_answers_end_stays_behind_it() {
        assert_eq!(moved_position(5, &[change(5, "", "draft")]), 5);
        assert_eq!(moved_position(5, &[change(7, "", "draft")]), 5);
        assert_eq!(moved_position(5, &[change(0, "", "above")]), 10);
        assert_eq!(moved_position(5, &[change(0, "abc", "")]), 2);
        assert_eq!(moved_position(5, &[change(3, "answer", "x")]), 4);
    }

    #[test]
    fn a_moved_answer_is_found_at_the_nearest_place() {
        let hunk = Hunk {
            start: 6,
            end: 6,
            text: "ok\n".to_owned(),
        };
        assert_eq!(insertion_end("ok\n012ok\nok\n", &hunk, 6), Some(9));
        assert_eq!(insertion_end("nothing", &hunk, 6), None);
    }
}
