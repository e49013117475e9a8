//! A turn as cancellable `$/progress`, and one message at its end. Never waits: reports that must
//! follow the client's answer go through a task of the turn.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::choices::{self, Chosen};
use super::messages::{self, Closing};
use super::transcript::unsaved;
use super::{Severity, show};
use crate::conversation::event::{Envelope, EnvelopeBody, Origin};
use crate::conversation::{Event, SessionId, ToolStatus, TurnId};
use crate::env::tasks::{self, Task};
use crate::rpc::Peer;
use crate::workspace::Workspace;

const TOKEN: &str = "interline/";
/// How long a client may take to accept a progress before the turn continues without it.
const CREATE_LIMIT: Duration = Duration::from_secs(10);

/// Saving may run formatters and ask the user.
const SAVE_LIMIT: Duration = Duration::from_secs(60);

/// The running turns, for a client without `events`.
pub struct Turns {
    peer: Peer,
    workspace: Arc<Workspace>,
    shows: Shows,
    running: Mutex<HashMap<TurnId, Running>>,
}

/// What the client can show during a turn and at its end.
#[derive(Clone, Copy, Debug)]
pub struct Shows {
    pub progress: bool,
    /// Messages with buttons.
    pub questions: bool,
    /// `interline.saveAll` works.
    pub saves: bool,
    /// Only one line of a message.
    pub one_line: bool,
}

struct Running {
    session: SessionId,
    quiet: bool,
    /// The answer is written to a transcript.
    written: bool,
    /// The last completed text.
    answer: String,
    /// Dropping it ends the progress.
    reports: Option<UnboundedSender<String>>,
    progress: Option<Task<()>>,
}

impl Turns {
    pub fn new(peer: Peer, workspace: Arc<Workspace>, shows: Shows) -> Self {
        Self {
            peer,
            workspace,
            shows,
            running: Mutex::default(),
        }
    }

    /// The running turn that a progress token belongs to.
    pub fn turn_of_token(&self, token: &Value) -> Option<(SessionId, TurnId)> {
        let id = TurnId::from(token.as_str()?.strip_prefix(TOKEN)?);
        let session = self.running.lock().get(&id)?.session.clone();
        Some((session, id))
    }

    /// Shows an event, as far as a bare client can.
    pub fn notify(&self, envelope: &Envelope) {
        match &envelope.body {
            EnvelopeBody::Started { origin, .. } => self.start(envelope, *origin),
            EnvelopeBody::Event { event } => self.event(&envelope.turn_id, event),
            EnvelopeBody::Ended { .. } => self.end(envelope),
        }
    }

    fn start(&self, envelope: &Envelope, origin: Origin) {
        let (reports, progress) = self
            .shows
            .progress
            .then(|| {
                let (send, reports) = unbounded_channel();
                let token = format!("{TOKEN}{}", envelope.turn_id);
                (
                    send,
                    tasks::spawn(progress(self.peer.clone(), token, reports)),
                )
            })
            .unzip();
        let running = Running {
            session: envelope.session_id.clone(),
            quiet: origin == Origin::Delegate,
            written: origin == Origin::Transcript,
            answer: String::new(),
            reports,
            progress,
        };
        self.running
            .lock()
            .insert(envelope.turn_id.clone(), running);
    }

    fn event(&self, turn: &TurnId, event: &Event) {
        if let Event::Notice { text } = event {
            show(&self.peer, Severity::Info, text);
        }
        let mut all = self.running.lock();
        let Some(running) = all.get_mut(turn) else {
            return;
        };
        let report = match event {
            Event::Text { text, .. } => {
                running.answer.clone_from(text);
                return;
            }
            Event::ToolCall(item) => match item.status {
                ToolStatus::AwaitingApproval => {
                    format!("waiting for your approval: {}", item.title)
                }
                ToolStatus::AwaitingSave => format!("waiting for a save: {}", item.title),
                ToolStatus::Running => item.title.clone(),
                _ => return,
            },
            Event::Plan { todos, .. } => messages::plan_progress(todos),
            Event::Compaction(item) => item.notice(),
            Event::Retry(item) => item.notice(),
            Event::Step { n, .. } if *n > 1 => format!("step {n}"),
            _ => return,
        };
        if let Some(reports) = &running.reports {
            // Fails only if the client refused the progress.
            let _ = reports.send(report);
        }
    }

    fn end(&self, envelope: &Envelope) {
        let Some(mut running) = self.running.lock().remove(&envelope.turn_id) else {
            return;
        };
        drop(running.reports.take());
        if running.quiet {
            return;
        }
        let EnvelopeBody::Ended {
            stop_reason,
            error,
            files,
            ..
        } = envelope.body.clone()
        else {
            return;
        };
        let (peer, shows) = (self.peer.clone(), self.shows);
        let workspace = Arc::clone(&self.workspace);
        tasks::spawn(async move {
            // Helix clears its status line when a progress ends, so the message comes after it.
            if let Some(progress) = running.progress.take() {
                let _ = tokio::time::timeout(CREATE_LIMIT, progress).await;
            }
            let unsaved = unsaved(&workspace, files.clone()).await;
            let text = messages::closing(&Closing {
                answer: if running.written { "" } else { &running.answer },
                stop: stop_reason,
                error: error.as_ref(),
                files: &files,
                unsaved: &unsaved,
                can_save: shows.saves,
                one_line: shows.one_line,
            });
            if shows.saves && shows.questions && !unsaved.is_empty() {
                offer_to_save(&peer, &text, &unsaved).await;
                return;
            }
            let severity = match error {
                Some(_) => Severity::Error,
                None => Severity::Info,
            };
            if !text.is_empty() {
                show(&peer, severity, &text);
            }
        });
    }
}

/// The closing message with a button that saves.
async fn offer_to_save(peer: &Peer, text: &str, unsaved: &[String]) {
    match choices::ask(peer, Severity::Info, text, &["Save all".to_owned()]).await {
        Chosen::Button(_) => {
            let params = json!({ "uris": unsaved, "reason": "save all" });
            let saved = peer.request("interline/workspace/save", params, Some(SAVE_LIMIT));
            if let Err(error) = saved.await.result {
                show(
                    peer,
                    Severity::Warning,
                    &format!("Interline: nothing was saved: {error}"),
                );
            }
        }
        Chosen::Closed | Chosen::Gone => {}
        Chosen::Impossible => show(peer, Severity::Info, text),
    }
}

/// Runs one progress: begins when the client accepts it, reports, and ends with the channel.
async fn progress(peer: Peer, token: String, mut reports: UnboundedReceiver<String>) {
    let create = peer.request(
        "window/workDoneProgress/create",
        json!({ "token": token }),
        Some(CREATE_LIMIT),
    );
    if create.await.result.is_err() {
        return;
    }
    let send = |value: Value| {
        peer.notify("$/progress", json!({ "token": token, "value": value }));
    };
    send(json!({ "kind": "begin", "title": "Interline", "cancellable": true }));
    while let Some(mut report) = reports.recv().await {
        // A status line needs only the newest.
        while let Ok(newer) = reports.try_recv() {
            report = newer;
        }
        send(json!({ "kind": "report", "message": report, "cancellable": true }));
    }
    send(json!({ "kind": "end" }));
}
