//! Our side of one connection: what a server may request from us. It gets the roots, its questions
//! go to the user of the running call, sampling is refused, and its notifications are bounded.

#![expect(
    deprecated,
    reason = "roots are deprecated, but servers of the older era request them"
)]

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProgressToken, Root, RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::Notify;

use super::elicit;
use crate::conversation::{Event, EventSink, ItemId};
use crate::prompt::fence;
use crate::tools::ToolContext;
use crate::workspace::Uri;

/// Most progress notifications shown for one call.
const SIGNS: u32 = 200;
/// Most questions during one call.
const QUESTIONS: u32 = 20;

/// The folders that servers may know: `(uri, name)`.
pub type Roots = Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>;

/// Handles one connection's requests and notifications.
pub struct Handler {
    server: String,
    roots: Roots,
    calls: Mutex<Calls>,
    next: AtomicU64,
    /// The server said that a list changed.
    pub changed: Notify,
    /// A call found the connection broken.
    pub broken: Notify,
}

#[derive(Default)]
struct Calls {
    running: BTreeMap<u64, (ToolContext, u32)>,
    progress: HashMap<ProgressToken, Shown>,
}

struct Shown {
    sink: Arc<dyn EventSink>,
    item: ItemId,
    left: u32,
}

/// A running call. Dropping it ends it.
pub struct RunningCall {
    link: Arc<Handler>,
    number: u64,
    tokens: Vec<ProgressToken>,
}

impl Handler {
    pub fn new(server: &str, roots: Roots) -> Self {
        Self {
            server: server.to_owned(),
            roots,
            calls: Mutex::default(),
            next: AtomicU64::new(0),
            changed: Notify::new(),
            broken: Notify::new(),
        }
    }

    /// Begins a call. Until it ends, the server's questions go to its user.
    pub fn begin_call(self: &Arc<Self>, cx: &ToolContext) -> RunningCall {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.calls.lock().running.insert(number, (cx.clone(), 0));
        RunningCall {
            link: self.clone(),
            number,
            tokens: Vec::new(),
        }
    }

    /// The roots in the form of the protocol.
    pub fn roots(&self) -> ListRootsResult {
        let roots = (self.roots)().into_iter();
        let roots = roots.map(|(uri, name)| Root::new(uri).with_name(name));
        ListRootsResult::new(roots.collect())
    }

    /// The roots as folders.
    pub fn folders(&self) -> Vec<PathBuf> {
        let roots = (self.roots)().into_iter();
        roots.filter_map(|(uri, _)| Uri::new(uri).path()).collect()
    }

    /// The call whose user is asked: the newest, because the protocol does not say which one.
    fn call_to_ask(&self) -> Option<ToolContext> {
        let mut calls = self.calls.lock();
        let (cx, asked) = calls.running.values_mut().next_back()?;
        *asked += 1;
        (*asked <= QUESTIONS).then(|| cx.clone())
    }

    /// Asks the user the server's question.
    pub async fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        match self.call_to_ask() {
            Some(cx) => elicit::ask(&cx, &self.server, request).await,
            None => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

impl RunningCall {
    /// Shows progress with this token under the call.
    pub fn follow_progress(&mut self, token: ProgressToken, cx: &ToolContext) {
        let shown = Shown {
            sink: cx.sink.clone(),
            item: cx.item.clone(),
            left: SIGNS,
        };
        self.link.calls.lock().progress.insert(token.clone(), shown);
        self.tokens.push(token);
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut calls = self.link.calls.lock();
        calls.running.remove(&self.number);
        for token in &self.tokens {
            calls.progress.remove(token);
        }
    }
}

impl ClientHandler for Handler {
    fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ListRootsResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(self.roots()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            answer = self.elicit(&request) => Ok(answer),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut calls = self.calls.lock();
        let Some(shown) = calls.progress.get_mut(&params.progress_token) else {
            return;
        };
        if shown.left == 0 {
            return;
        }
        shown.left -= 1;
        let total = params.total.map(|total| format!("/{total}"));
        let words = params.message.as_deref().map(fence::name);
        let text = format!(
            "{}{} {}\n",
            params.progress,
            total.unwrap_or_default(),
            words.unwrap_or_default()
        );
        shown.sink.emit(Event::ToolOutputDelta {
            item_id: shown.item.clone(),
            text,
        });
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(
            capabilities,
            Implementation::new("interline", env!("CARGO_PKG_VERSION")),
        )
    }
}
