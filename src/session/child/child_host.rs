//! The editor as a sub-agent sees it: its questions and edits appear under the parent's call, and
//! its actions as the call's progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Event, EventSink, ItemId, SessionId, ToolStatus, TurnId};
use crate::host::{
    ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, Fidelity, Host, QuestionAnswer,
    QuestionRequest, SaveResult, SessionChange, ToolAnswer, ToolCall,
};
use crate::workspace::{Encoding, Located, Uri};

pub(super) struct ChildHost {
    pub host: Arc<dyn Host>,
    /// The parent's sink.
    pub sink: Arc<dyn EventSink>,
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
    /// A client opened the sub-agent's session.
    pub followed: Arc<AtomicBool>,
}

impl ChildHost {
    fn progress(&self, text: String) {
        self.sink.emit(Event::ToolOutputDelta {
            item_id: self.item.clone(),
            text,
        });
    }
}

#[async_trait]
impl Host for ChildHost {
    fn fidelity(&self) -> Fidelity {
        self.host.fidelity()
    }

    fn encoding(&self) -> Encoding {
        self.host.encoding()
    }

    fn delay(&self) -> Duration {
        self.host.delay()
    }

    fn attaches(&self, suffix: &str) -> Option<bool> {
        self.host.attaches(suffix)
    }

    fn drops_stale(&self) -> bool {
        self.host.drops_stale()
    }

    fn fences(&self) -> bool {
        self.host.fences()
    }

    /// The client knows the parent's session only.
    async fn refresh_file(&self, _session: &SessionId, file: &Located) {
        self.host.refresh_file(&self.session, file).await;
    }

    async fn refresh_files(&self, _session: &SessionId) {
        self.host.refresh_files(&self.session).await;
    }

    fn takes(&self, file: &Located) -> bool {
        self.host.takes(file)
    }

    fn creates(&self) -> bool {
        self.host.creates()
    }

    fn changed_on_disk(&self, uris: &[Uri]) {
        self.host.changed_on_disk(uris);
    }

    fn deletes(&self) -> bool {
        self.host.deletes()
    }

    async fn delete(&self, file: &Uri, label: &str) -> bool {
        self.host.delete(file, label).await
    }

    fn learn_attach(&self, suffix: &str, attaches: bool) {
        self.host.learn_attach(suffix, attaches);
    }

    fn apply(&self, mut edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        edit.session = self.session.clone();
        edit.turn = self.turn.clone();
        edit.item = self.item.clone();
        self.host.apply(edit)
    }

    async fn approve(&self, mut request: ApprovalRequest) -> ApprovalAnswer {
        request.session_id = self.session.clone();
        request.turn_id = self.turn.clone();
        request.item_id = self.item.clone();
        request.title = format!("Sub-agent: {}", request.title);
        self.host.approve(request).await
    }

    async fn ask(&self, mut request: QuestionRequest) -> Option<QuestionAnswer> {
        request.session_id = self.session.clone();
        request.turn_id = self.turn.clone();
        request.item_id = self.item.clone();
        self.host.ask(request).await
    }

    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolAnswer, String> {
        call.session_id = self.session.clone();
        call.turn_id = self.turn.clone();
        call.item_id = self.item.clone();
        self.host.call_tool(call).await
    }

    fn saves(&self) -> bool {
        self.host.saves()
    }

    fn questions(&self) -> bool {
        self.host.questions()
    }

    async fn save(&self, uris: Vec<Uri>, reason: &str) -> Option<Vec<SaveResult>> {
        self.host.save(uris, reason).await
    }

    /// Only complete items, one line each; the rest goes to clients that opened the child's
    /// session.
    fn notify(&self, envelope: Arc<Envelope>) {
        if self.followed.load(Ordering::Acquire) {
            self.host.notify(envelope.clone());
        }
        let EnvelopeBody::Event { event } = &envelope.body else {
            return;
        };
        match event {
            Event::ToolCall(call) => match call.status {
                ToolStatus::Completed => self.progress(format!("{}\n", call.title)),
                ToolStatus::AwaitingApproval => {
                    self.progress(format!("{}: waits for you\n", call.title));
                }
                ToolStatus::Failed => self.progress(format!("{}: failed\n", call.title)),
                ToolStatus::Rejected => self.progress(format!("{}: not allowed\n", call.title)),
                _ => {}
            },
            Event::Text { text, .. } => self.progress(format!("{}\n", text.trim_end())),
            Event::Notice { text } => self.progress(format!("{text}\n")),
            Event::Retry(item) => self.progress(format!("{}\n", item.reason)),
            _ => {}
        }
    }

    fn trust_changed(&self) {
        self.host.trust_changed();
    }

    /// A sub-agent's changes wait in its parent's session.
    fn proposals_changed(&self, uris: Vec<String>) {
        self.host.review_changed(uris);
    }

    fn lenses_moved(&self) {
        self.host.lenses_moved();
    }

    async fn ready(&self) {
        self.host.ready().await;
    }

    fn message(&self, text: &str) {
        self.host.message(text);
    }

    fn shows_messages(&self) -> bool {
        self.host.shows_messages()
    }

    /// Reports only sessions that the client knows.
    fn session_changed(&self, _change: SessionChange) {}
}
