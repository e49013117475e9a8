//! The LSP client as the core's [`Host`]: each operation uses the client's announced capability,
//! or else what every LSP client can do (`bare`). Sends and asks; decides nothing.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::bare::approvals::{self, Approvals};
use super::bare::choices::{self, Chosen};
use super::bare::progress::{Shows, Turns};
use super::bare::transcript::Transcripts;
use super::bare::{Severity, messages, questions, show};
use super::capabilities::Client;
use super::ext::{
    AppliedEdit, ApplyStatus, ApprovalResult, AskApproval, DiskChange, ReviewChange, SavedDocuments,
};
use super::to_proto::{self, Notice};
use crate::config::ApprovalsVia;
use crate::config::load::unclear;
use crate::conversation::event::Envelope;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, EditorAnswer, EditorQuery, Fidelity,
    Host, QuestionAnswer, QuestionRequest, SaveResult, SessionChange, ToolAnswer, ToolCall,
};
use crate::rpc::{Answer, Peer, RpcError};
use crate::workspace::{Encoding, Uri, Workspace};

/// Saving may run formatters and ask the user; deleting may ask too.
const SAVE_LIMIT: Duration = Duration::from_secs(60);

/// How long an editor may take to answer a query. It gives up itself after 10 s.
const QUERY_LIMIT: Duration = Duration::from_secs(12);

/// How long an editor may take to show a document or to open a browser.
const SHOW_LIMIT: Duration = Duration::from_secs(5);

/// The client of this process.
pub struct ClientHost {
    client: Arc<Client>,
    peer: Peer,
    approvals: Approvals,
    turns: Turns,
    transcripts: Transcripts,
    /// The setting `approvalsVia` is `command`.
    via_command: AtomicBool,
    attaches: Mutex<HashMap<String, bool>>,
}

impl ClientHost {
    pub fn new(client: Arc<Client>, peer: Peer, workspace: Arc<Workspace>) -> Self {
        Self {
            turns: Turns::new(
                peer.clone(),
                workspace,
                Shows {
                    progress: client.work_done_progress,
                    questions: client.show_message_request,
                    saves: client.offer.save,
                    one_line: client.one_line,
                },
            ),
            client,
            peer,
            approvals: Approvals::default(),
            transcripts: Transcripts::default(),
            via_command: AtomicBool::new(false),
            attaches: Mutex::default(),
        }
    }

    /// The pending approvals, for the commands.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The transcripts of sessions.
    pub fn transcripts(&self) -> &Transcripts {
        &self.transcripts
    }

    /// The turns shown as progress.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    pub fn set_approvals_via(&self, via: ApprovalsVia) {
        let command = via == ApprovalsVia::Command;
        self.via_command.store(command, Ordering::Relaxed);
    }

    /// Shows the user a message.
    pub fn show_info(&self, text: &str) {
        show(&self.peer, Severity::Info, text);
    }

    /// Asks the editor to show a document, or to open an address outside of the editor. `false`: it
    /// cannot, or did not.
    pub async fn show_document(&self, uri: &str, external: bool) -> bool {
        if !self.client.show_document {
            return false;
        }
        let params = json!({ "uri": uri, "external": external, "takeFocus": true });
        let request = self
            .peer
            .request("window/showDocument", params, Some(SHOW_LIMIT));
        request.await.result.is_ok_and(|it| it["success"] != false)
    }

    /// Warns the user of settings that are not understood, if any.
    pub fn warn_of_settings(&self, alarms: &[String]) {
        if !alarms.is_empty() {
            show(&self.peer, Severity::Warning, &unclear(alarms));
        }
    }

    /// Notifies the client that the content of `interline/status` changed.
    pub fn status_changed(&self) {
        if self.client.offer.events {
            self.peer.notify("interline/status/didChange", json!({}));
        }
    }

    async fn approve_by_request(&self, request: &ApprovalRequest) -> ApprovalAnswer {
        let params = AskApproval {
            about: messages::about(request),
            content: messages::content(&request.subject),
            request: request.clone(),
        };
        let params = match serde_json::to_value(params) {
            Ok(params) => params,
            Err(error) => return ApprovalAnswer::rejected(&error.to_string()),
        };
        // No deadline: the caller drops us at `expiresAt`, and the turn ends with a notice.
        let answer = self
            .peer
            .question("interline/approval/request", params)
            .await;
        let result: ApprovalResult = match decode(answer.result) {
            Ok(result) => result,
            Err(RpcError::Gone) => return ApprovalAnswer::rejected("client closed"),
            Err(error) => return ApprovalAnswer::rejected(&format!("client error: {error}")),
        };
        if result.hash != request.hash {
            return ApprovalAnswer::rejected("an answer for other content");
        }
        match approvals::choice(request, &result.choice) {
            Some(choice) => approvals::answer_with(request, choice.kind, result.feedback),
            None => ApprovalAnswer::rejected("an answer that was not offered"),
        }
    }

    async fn ask_by_request(&self, request: &QuestionRequest) -> Option<QuestionAnswer> {
        let params = serde_json::to_value(request).unwrap_or_default();
        let method = "interline/question/request";
        match decode(self.peer.question(method, params).await.result) {
            Ok(answer) => Some(answer),
            Err(RpcError::Gone) => Some(QuestionAnswer::cancelled()),
            // The user's next prompt answers it.
            Err(error) => {
                tracing::warn!(%error, "the answer to a question does not follow the protocol");
                None
            }
        }
    }

    /// Shows a message with `titles` as its buttons.
    pub async fn choose(&self, text: &str, titles: &[String]) -> Chosen {
        match self.may_show_messages() {
            true => choices::ask(&self.peer, Severity::Info, text, titles).await,
            false => Chosen::Impossible,
        }
    }

    /// Whether messages with buttons are wanted and do not disturb this client.
    fn may_show_messages(&self) -> bool {
        self.client.show_message_request && !self.via_command.load(Ordering::Relaxed)
    }

    /// Asks by a message, or announces that commands decide; then it never resolves.
    async fn approve_by_message(&self, request: &ApprovalRequest) -> ApprovalAnswer {
        if !self.may_show_messages() {
            approvals::announce(&self.peer, request);
        } else if let Some(answer) = approvals::ask(&self.peer, request).await {
            return answer;
        }
        std::future::pending().await
    }
}

#[async_trait]
impl Host for ClientHost {
    fn fidelity(&self) -> Fidelity {
        match self.client.offer.edit {
            true => Fidelity::Anchored,
            false => Fidelity::Versioned,
        }
    }

    fn encoding(&self) -> Encoding {
        self.client.encoding
    }

    fn delay(&self) -> Duration {
        self.client.delay
    }

    fn attaches(&self, suffix: &str) -> Option<bool> {
        self.attaches.lock().get(suffix).copied()
    }

    fn drops_stale(&self) -> bool {
        self.client.drops_stale
    }

    fn fences(&self) -> bool {
        // A client that maps edits to its current text also applies them late.
        self.client.document_changes && !self.client.offer.edit && !self.client.maps_stale
    }

    fn creates(&self) -> bool {
        self.client.create_files
    }

    fn deletes(&self) -> bool {
        self.client.delete_files
    }

    async fn delete(&self, file: &Uri, label: &str) -> bool {
        if !self.client.delete_files {
            return false;
        }
        let params = to_proto::delete_file(file.as_str(), label);
        let peer = self.peer.clone();
        let answer = peer
            .request("workspace/applyEdit", params, Some(SAVE_LIMIT))
            .await;
        peer.handled(answer.frame).await;
        let claimed = answer.result.is_ok_and(|result| result["applied"] == true);
        claimed && file.path().is_some_and(|path| !path.exists())
    }

    fn learn_attach(&self, suffix: &str, attach: bool) {
        self.attaches.lock().insert(suffix.to_owned(), attach);
    }

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        if edit.create && !self.client.create_files {
            let reason = "the client does not announce that it can create files";
            return Box::pin(std::future::ready(EditAnswer::Gone {
                reason: reason.to_owned(),
            }));
        }
        // A new file is a resource operation even for clients that map edits themselves.
        let anchored = self.client.offer.edit && !edit.create;
        let (method, params) = if anchored {
            let params = serde_json::to_value(to_proto::anchored_edit(edit));
            ("interline/edit/apply", params.unwrap_or_default())
        } else {
            let params = to_proto::apply_edit(&edit, &self.client);
            ("workspace/applyEdit", params)
        };
        let peer = self.peer.clone();
        // Queued now, not at the first poll.
        let asked = peer.request(method, params, None);
        Box::pin(async move {
            let answer = asked.await;
            peer.handled(answer.frame).await;
            match anchored {
                true => anchored_answer(answer),
                false => plain_answer(answer),
            }
        })
    }

    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer {
        let mut ticket = self.approvals.wait_for(request.clone());
        let asked = async {
            match self.client.offer.approvals {
                true => self.approve_by_request(&request).await,
                false => self.approve_by_message(&request).await,
            }
        };
        tokio::select! {
            // An answered command wins over the client's own answer of the same moment.
            biased;
            answer = ticket.answered() => answer,
            answer = asked => answer,
        }
    }

    async fn ask(&self, request: QuestionRequest) -> Option<QuestionAnswer> {
        if self.client.offer.questions {
            self.ask_by_request(&request).await
        } else if self.may_show_messages() && !request.options.is_empty() {
            questions::ask(&self.peer, &request).await
        } else {
            None
        }
    }

    async fn call_tool(&self, call: ToolCall) -> Result<ToolAnswer, String> {
        let params = serde_json::to_value(call).map_err(|error| error.to_string())?;
        let answer = self.peer.question("interline/tool/call", params).await;
        // When we return, the mirror has everything that the client changed before it answered.
        self.peer.handled(answer.frame).await;
        decode(answer.result).map_err(|error| error.to_string())
    }

    fn questions(&self) -> bool {
        self.client.offer.questions
    }

    fn queries(&self) -> bool {
        self.client.offer.query
    }

    async fn query(&self, query: EditorQuery) -> EditorAnswer {
        let params = serde_json::to_value(query).unwrap_or_default();
        let asked = self
            .peer
            .request("interline/editor/query", params, Some(QUERY_LIMIT));
        let answer = asked.await;
        // When we return, the mirror has the text that the answer is about.
        self.peer.handled(answer.frame).await;
        match decode(answer.result) {
            Ok(answer) => answer,
            Err(RpcError::Deadline) => EditorAnswer::error(&format!(
                "the editor did not answer within {} s",
                QUERY_LIMIT.as_secs()
            )),
            Err(error) => EditorAnswer::error(&error.to_string()),
        }
    }

    async fn save(&self, uris: Vec<Uri>, reason: &str) -> Option<Vec<SaveResult>> {
        if !self.client.offer.save {
            return None;
        }
        let names: Vec<&str> = uris.iter().map(Uri::as_str).collect();
        let params = json!({ "uris": names, "reason": reason });
        let answer = self
            .peer
            .request("interline/workspace/save", params, Some(SAVE_LIMIT))
            .await;
        // When we return, the mirror has the didSave and the changes before it.
        self.peer.handled(answer.frame).await;
        Some(save_results(uris, decode(answer.result)))
    }

    fn notify(&self, envelope: Arc<Envelope>) {
        self.transcripts.notify(&envelope);
        if !self.client.offer.events {
            self.turns.notify(&envelope);
            return;
        }
        match to_proto::notice(&envelope) {
            Notice::Started(params) => self.peer.notify_with("interline/turn/started", &params),
            Notice::Event(params) => self.peer.notify_with("interline/turn/event", &params),
            Notice::Ended(params) => self.peer.notify_with("interline/turn/ended", &params),
        }
    }

    async fn ready(&self) {
        self.peer.ready().await;
    }

    fn message(&self, text: &str) {
        self.show_info(text);
    }

    fn offer(&self, text: &str, yes: &str) -> Option<BoxFuture<'static, bool>> {
        if !self.may_show_messages() {
            return None;
        }
        let (peer, text) = (self.peer.clone(), text.to_owned());
        let titles = [yes.to_owned(), "Not now".to_owned()];
        Some(Box::pin(async move {
            choices::ask(&peer, Severity::Info, &text, &titles).await == Chosen::Button(0)
        }))
    }

    fn trust_changed(&self) {
        self.status_changed();
    }

    fn changed_on_disk(&self, uris: &[Uri]) {
        if self.client.offer.save {
            let uris = uris.iter().map(Uri::to_string).collect();
            let changed = DiskChange { uris };
            self.peer
                .notify_with("interline/workspace/didChangeOnDisk", &changed);
        }
    }

    fn review_changed(&self, uris: Vec<String>) {
        if uris.is_empty() {
            return;
        }
        match self.client.offer.review {
            true => {
                let changed = ReviewChange { uris };
                self.peer
                    .notify_with("interline/review/didChange", &changed);
            }
            false => self.lenses_moved(),
        }
    }

    fn lenses_moved(&self) {
        if self.client.refreshes_lenses {
            let asked = self
                .peer
                .request("workspace/codeLens/refresh", Value::Null, None);
            // The editor decides when it refreshes.
            drop(asked);
        }
    }

    fn session_changed(&self, change: SessionChange) {
        if self.client.offer.events {
            self.peer
                .notify_with("interline/session/didChange", &change);
        }
    }
}

fn decode<T: DeserializeOwned>(result: Result<Value, RpcError>) -> Result<T, RpcError> {
    serde_json::from_value(result?).map_err(|error| RpcError::Answered {
        code: -32603,
        message: format!("the client's answer does not follow the protocol: {error}"),
    })
}

/// The answer to `workspace/applyEdit`.
fn plain_answer(answer: Answer) -> EditAnswer {
    match answer.result {
        Ok(result) if result["applied"] == false => EditAnswer::Refused {
            reason: result["failureReason"]
                .as_str()
                .unwrap_or("the client did not apply the edit")
                .to_owned(),
        },
        // Also an answer without `applied`. It proves nothing: the mirror decides (INV-3).
        Ok(_) => EditAnswer::Claimed,
        Err(error) => failed(error),
    }
}

/// The answer to `interline/edit/apply`.
fn anchored_answer(answer: Answer) -> EditAnswer {
    let value = match answer.result {
        Ok(value) => value,
        Err(error) => return failed(error),
    };
    let status = value["status"].as_str().map(str::to_owned);
    let result = match (serde_json::from_value::<AppliedEdit>(value), status) {
        (Ok(result), _) => result,
        // The mirror decides here too, but with an unknown status there is nothing to wait for.
        (Err(_), Some(status)) if serde_json::from_value::<ApplyStatus>(json!(status)).is_err() => {
            return EditAnswer::Refused {
                reason: format!("the client answered with the unknown status `{status}`"),
            };
        }
        // A malformed answer: the edit may have been applied.
        (Err(_), _) => return EditAnswer::Claimed,
    };
    let reason = result.reason.unwrap_or_default();
    match result.status {
        ApplyStatus::Applied | ApplyStatus::Rebased => EditAnswer::Mapped {
            rebased: result.status == ApplyStatus::Rebased,
            version: result.version,
            hash: result.hash,
        },
        ApplyStatus::Conflict => EditAnswer::Conflict { reason },
        ApplyStatus::Refused => EditAnswer::Refused { reason },
    }
}

fn failed(error: RpcError) -> EditAnswer {
    match error {
        RpcError::Answered { .. } => EditAnswer::Refused {
            reason: error.to_string(),
        },
        RpcError::Deadline | RpcError::Gone => EditAnswer::Gone {
            reason: error.to_string(),
        },
    }
}

/// One result for each requested URI, whatever the client's answer lacks.
fn save_results(uris: Vec<Uri>, answer: Result<SavedDocuments, RpcError>) -> Vec<SaveResult> {
    let (rows, missing) = match answer {
        Ok(answer) => (
            answer.results,
            "the client did not answer for it".to_owned(),
        ),
        Err(error) => (Vec::new(), error.to_string()),
    };
    uris.into_iter()
        .map(|uri| {
            let row = rows.iter().find(|row| row.uri == uri.as_str());
            let saved = row.is_some_and(|row| row.status == "saved");
            let reason = match row {
                _ if saved => None,
                Some(row) => Some(row.reason.clone().unwrap_or_else(|| row.status.clone())),
                None => Some(missing.clone()),
            };
            SaveResult { uri, saved, reason }
        })
        .collect()
}
