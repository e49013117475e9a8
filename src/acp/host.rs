//! The ACP client as the core's [`Host`]: sends events as updates, asks for permission, and
//! hands files to `acp/files.rs`. Sends and asks; decides nothing.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use serde_json::{Value, json};

use super::bridge::{Bridge, Elsewhere};
use super::chosen::Chosen;
use super::client::Client;
use super::files::ClientFiles;
use super::turns::{Known, Turns};
use super::updates::{self, Context};
use super::{mirrored, options};
use super::{permission, question};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Event, SessionId, TurnStop};
use crate::env::Dirs;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, Fidelity, Host, QuestionAnswer,
    QuestionRequest, SaveResult, SessionChange,
};
use crate::rpc::Peer;
use crate::session::Sessions;
use crate::session::export::admitted;
use crate::workspace::{Encoding, FileKind, Located, Uri, Workspace, beneath};

/// How many documents of the mirror are read when all are checked.
const TOGETHER: usize = 64;

/// The client of this process.
pub struct AcpHost {
    client: Client,
    peer: Peer,
    files: Option<Arc<ClientFiles>>,
    bridge: Arc<Bridge>,
    workspace: Arc<Workspace>,
    turns: Turns,
    sessions: RwLock<Weak<Sessions>>,
}

impl AcpHost {
    /// Uses the client's file system if it offers one.
    pub fn new(client: Client, peer: Peer, workspace: Arc<Workspace>, dirs: Dirs) -> Self {
        let files = || ClientFiles::new(peer.clone(), Arc::clone(&workspace));
        Self {
            files: client.files.then(files).map(Arc::new),
            client,
            peer,
            bridge: Arc::new(Bridge::new(Arc::clone(&workspace), dirs)),
            workspace,
            turns: Turns::default(),
            sessions: RwLock::default(),
        }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The sessions whose models the options list.
    pub fn connect(&self, sessions: &Arc<Sessions>) {
        *self.sessions.write() = Arc::downgrade(sessions);
    }

    /// Sends an update.
    pub fn update(&self, session: &SessionId, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.peer.notify("session/update", params);
    }

    /// Sends what was held back for this session, and sentences for the start of its next prompt.
    pub fn send_notices(&self, session: &SessionId) {
        let held = self.turns.with(session, |known| {
            let updates = std::mem::take(&mut known.held);
            (updates, std::mem::take(&mut known.notices))
        });
        let (updates, notices) = held.unwrap_or_default();
        for update in updates {
            self.update(session, &update);
        }
        for text in notices {
            self.notice(session, &text);
        }
    }

    /// Brings a file's current text into the mirror. Unsaved text of the client precedes another
    /// editor's buffer, which precedes what the client shows as saved.
    async fn refresh(&self, session: &SessionId, file: &Located) {
        if file.kind == FileKind::Directory {
            return;
        }
        let elsewhere = self.bridge.ask(file).await;
        let own = match &self.files {
            Some(files) => files.unsaved(session, file).await,
            None => None,
        };
        match (elsewhere, own) {
            (Elsewhere::Open(shown), Some(own)) if shown.dirty() && own != shown.text() => {
                let holder = shown.holder();
                let reason = format!("it has other unsaved changes in {holder}: save one of them");
                self.bridge.hide(file, &reason);
            }
            (Elsewhere::Open(shown), None) => self.bridge.show(file, shown),
            (Elsewhere::Open(shown), Some(_)) if shown.dirty() => self.bridge.show(file, shown),
            (Elsewhere::Unknown(reason), _) => self.bridge.hide(file, &reason),
            (Elsewhere::Open(_) | Elsewhere::No, Some(own)) => {
                self.bridge.release(file);
                mirrored::show(&self.workspace, &file.uri, &own);
            }
            (Elsewhere::No, None) => {
                self.bridge.release(file);
                mirrored::close(&self.workspace, &file.uri);
            }
        }
    }

    fn notice(&self, session: &SessionId, text: &str) {
        if self.turns.cwd(session).is_some() {
            let notice = updates::notice(text, "agent_message_chunk", self.client.notices);
            self.update(session, &notice);
        }
    }

    /// Sends stored items. A prompt is sent once: by its message, or, if it was never sent, by
    /// the turn that was to send it.
    pub fn replay(&self, items: &[Envelope]) {
        let admitted = admitted(items);
        for envelope in items {
            let id = &envelope.session_id;
            match &envelope.body {
                EnvelopeBody::Started { .. } if admitted.contains(&envelope.turn_id) => {}
                EnvelopeBody::Started { input, .. } => {
                    for update in updates::replayed_prompt(&envelope.turn_id.0, input) {
                        self.update(id, &update);
                    }
                }
                EnvelopeBody::Event { event } => self.send(id, event, true),
                EnvelopeBody::Ended { .. } => {
                    self.turns.with(id, |known| known.shown.clear());
                }
            }
        }
    }

    fn send(&self, session: &SessionId, event: &Event, replayed: bool) {
        let updates = self.turns.with(session, |known| {
            let context = Context {
                cwd: &known.cwd,
                replayed,
                notices: self.client.notices,
                cost: known.cost,
            };
            known.shown.updates(event, &context)
        });
        for update in updates.unwrap_or_default() {
            self.update(session, &update);
        }
    }

    fn ended(&self, envelope: &Envelope, stop: TurnStop, cost: Option<f64>, empty: bool) {
        let id = &envelope.session_id;
        self.turns.with(id, |known| {
            known.shown.clear();
            known.cancelled = stop == TurnStop::Cancelled;
            known.cost = match (known.cost, cost) {
                (Some(before), Some(now)) => Some(before + now),
                (before, None) if empty => before,
                _ => None,
            };
        });
        self.turns.ended(id, &envelope.turn_id, &envelope.body);
    }
}

#[async_trait]
impl Host for AcpHost {
    fn fidelity(&self) -> Fidelity {
        Fidelity::WholeFile
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf8
    }

    fn attaches(&self, _suffix: &str) -> Option<bool> {
        Some(self.files.is_some())
    }

    async fn refresh_file(&self, session: &SessionId, file: &Located) {
        self.refresh(session, file).await;
    }

    async fn refresh_files(&self, session: &SessionId) {
        let mirrored = self.workspace.documents().into_iter().take(TOGETHER);
        let mut files: Vec<Located> = mirrored
            .filter_map(|document| document.uri.path())
            .map(|path| beneath::locate_path(&self.workspace, &path))
            .collect();
        for file in self.bridge.files().await {
            if !files.iter().any(|known| known.path == file.path) {
                files.push(file);
            }
        }
        let reads = files.iter().map(|file| self.refresh(session, file));
        futures_util::future::join_all(reads).await;
    }

    fn takes(&self, file: &Located) -> bool {
        self.files.as_ref().is_some_and(|files| files.takes(file))
    }

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        let document = self.workspace.document(&edit.uri);
        let bridged = document.is_some_and(|document| self.bridge.has(&document.key));
        match &self.files {
            _ if bridged => Box::pin(Arc::clone(&self.bridge).apply(edit)),
            Some(files) => Box::pin(Arc::clone(files).apply(edit)),
            None => Box::pin(std::future::ready(EditAnswer::Gone {
                reason: "the client has no file system".to_owned(),
            })),
        }
    }

    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer {
        let cwd = self.turns.cwd(&request.session_id).unwrap_or_default();
        let params = permission::params(&request, &cwd);
        let answer = self.peer.question("session/request_permission", params);
        permission::answer(&request, answer.await.result)
    }

    async fn ask(&self, request: QuestionRequest) -> Option<QuestionAnswer> {
        if !self.client.forms {
            return None;
        }
        let item = &request.item_id;
        let in_call = |known: &mut Known| known.shown.has(item);
        let in_call = self.turns.with(&request.session_id, in_call);
        let params = question::params(&request, in_call.unwrap_or_default());
        let answer = self.peer.question("elicitation/create", params).await;
        match answer.result {
            Ok(result) => question::answer(&request, &result),
            Err(error) => {
                tracing::warn!(?error, "the client did not answer a question");
                None
            }
        }
    }

    fn questions(&self) -> bool {
        self.client.forms
    }

    fn saves(&self) -> bool {
        false
    }

    async fn save(&self, uris: Vec<Uri>, _reason: &str) -> Option<Vec<SaveResult>> {
        let unsaved = |uri| SaveResult {
            uri,
            saved: false,
            reason: Some("this editor cannot save files for the agent".to_owned()),
        };
        Some(uris.into_iter().map(unsaved).collect())
    }

    fn notify(&self, envelope: Arc<Envelope>) {
        match &envelope.body {
            EnvelopeBody::Started { .. } => {}
            EnvelopeBody::Event { event } => self.send(&envelope.session_id, event, false),
            EnvelopeBody::Ended {
                stop_reason, usage, ..
            } => self.ended(&envelope, *stop_reason, usage.cost, usage.total() == 0),
        }
    }

    async fn ready(&self) {
        self.peer.ready().await;
    }

    fn message(&self, text: &str) {
        tracing::info!("{text}");
        // It names no session, so it goes to those with a running turn.
        for session in self.turns.running() {
            self.notice(&session, text);
        }
    }

    fn shows_messages(&self) -> bool {
        false
    }

    fn session_changed(&self, change: SessionChange) {
        let id = &change.session_id;
        let sessions = self.sessions.read().upgrade();
        let changed = self.turns.with(id, |known| {
            let mut news = Vec::new();
            if change.title.is_some() && known.title != change.title {
                known.title.clone_from(&change.title);
                news.push(json!({
                    "sessionUpdate": "session_info_update",
                    "title": change.title,
                }));
            }
            let chosen = Chosen::from(&change);
            if known.chosen.mode != chosen.mode {
                news.push(updates::mode(chosen.mode));
            }
            if let Some(sessions) = &sessions
                && known.chosen != chosen
            {
                news.push(json!({
                    "sessionUpdate": "config_option_update",
                    "configOptions": options::list(sessions, &chosen, &known.agents),
                }));
            }
            known.chosen = chosen;
            // Nothing follows the answer of a cancelled prompt.
            match known.cancelled {
                true => {
                    known.held.append(&mut news);
                    Vec::new()
                }
                false => news,
            }
        });
        for update in changed.unwrap_or_default() {
            self.update(id, &update);
        }
    }
}
