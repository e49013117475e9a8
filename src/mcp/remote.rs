//! Calls one tool of a server: with a time limit and the user's cancellation, answering the
//! server's questions, showing its progress and framing its answer as data.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
    CancelledNotificationParam, ClientRequest, InputRequest, InputRequiredResult, InputResponses,
    RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};

use super::catalog::ToolEntry;
use super::client_handler::RunningCall;
use super::content::Content;
use super::server::{Live, Phase, Server};
use super::settings::{matches_any, redacted_line};
use crate::env::tasks;
use crate::prompt::{Texts, fence};
use crate::tools::mcp_call::RemoteTool;
use crate::tools::{ToolContext, ToolError, ToolOutput, ToolResult};

/// How long a call waits for a server that is not ready.
const THERE: Duration = Duration::from_secs(20);
/// Progress extends a call to at most this many times its limit.
const STRETCH: u32 = 20;
/// How often a server may ask back within one call.
const ROUNDS: usize = 10;

/// A tool as the server described it when it was offered.
pub struct ServerTool {
    pub server: Arc<Server>,
    pub entry: Arc<ToolEntry>,
}

impl ServerTool {
    pub fn shared(server: &Arc<Server>, entry: &Arc<ToolEntry>) -> Arc<dyn RemoteTool> {
        Arc::new(Self {
            server: server.clone(),
            entry: entry.clone(),
        })
    }
}

#[async_trait]
impl RemoteTool for ServerTool {
    fn server(&self) -> &str {
        &self.server.settings.name
    }

    fn tool(&self) -> &str {
        &self.entry.name
    }

    fn native_name(&self) -> &str {
        &self.entry.native
    }

    /// Fenced, because a server can claim anything, also about other tools.
    fn description(&self, texts: &Texts) -> String {
        let tool = fence::name(&self.entry.name);
        let said = fence::block(&self.entry.description);
        texts.render(
            "results/mcp-tool.md",
            &[
                ("server", &self.server_name()),
                ("tool", &tool),
                ("said", &said),
            ],
        )
    }

    fn schema(&self) -> Arc<Value> {
        self.entry.schema.clone()
    }

    fn pin(&self) -> &str {
        &self.entry.pin
    }

    /// A server with the name of a connector is one while it is connected.
    fn connector(&self) -> Option<&str> {
        let ready = self.server.phase() == Phase::Ready;
        ready.then_some(self.server.settings.name.as_str())
    }

    fn allowed(&self) -> bool {
        matches_any(&self.entry.name, &self.server.settings.allow)
    }

    /// Otherwise it was not started.
    fn confined(&self) -> bool {
        self.server.settings.sandbox.is_some()
    }

    async fn call(&self, cx: &ToolContext, arguments: Map<String, Value>) -> ToolResult {
        let live = tokio::select! {
            live = self.server.live(THERE) => live,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let live = live.map_err(|reason| self.unavailable(cx, &reason))?;
        // The user approved the tool as the server described it then (A31).
        let catalog = self.server.catalog();
        match catalog.tool(&self.entry.name) {
            Some(now) if now.pin == self.entry.pin => {}
            now => return Err(self.changed_or_removed(cx, now.is_some())),
        }
        let mut running = live.link.begin_call(cx);
        let mut params = CallToolRequestParams::new(self.entry.name.clone());
        params.arguments = Some(arguments);
        for _ in 0..ROUNDS {
            match self.round(cx, &live, &mut running, params.clone()).await? {
                Round::Done(result) => return Ok(self.result_output(cx, &result)),
                Round::Asked(asked) => {
                    let answers = answers(&live, asked.input_requests.unwrap_or_default()).await;
                    params.input_responses = Some(answers);
                    params.request_state = asked.request_state;
                }
            }
        }
        Err(self.failed(cx, "it kept asking back"))
    }
}

enum Round {
    Done(CallToolResult),
    Asked(InputRequiredResult),
}

impl ServerTool {
    /// One request and its answer.
    async fn round(
        &self,
        cx: &ToolContext,
        live: &Live,
        running: &mut RunningCall,
        params: CallToolRequestParams,
    ) -> Result<Round, ToolError> {
        let limit = self.server.settings.call;
        let mut options = PeerRequestOptions::with_timeout(limit).reset_timeout_on_progress();
        options.max_total_timeout = Some(limit * STRETCH);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = live.peer.send_cancellable_request(request, options);
        let sent = tokio::select! {
            sent = sending => sent,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let handle = sent.map_err(|error| self.service_error(cx, live, &error))?;
        running.follow_progress(handle.progress_token.clone(), cx);
        let id = handle.id.clone();
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            () = cx.cancel.cancelled() => {
                cancel_request(live, id);
                return Err(ToolError::Cancelled);
            }
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(Round::Done(result)),
            Ok(ServerResult::InputRequiredResult(asked)) => Ok(Round::Asked(asked)),
            Ok(_) => Err(self.failed(cx, "its answer is not a result")),
            Err(error) => Err(self.service_error(cx, live, &error)),
        }
    }

    fn result_output(&self, cx: &ToolContext, result: &CallToolResult) -> ToolOutput {
        let content = Content::from_parts(&result.content, result.structured_content.as_ref());
        let is_error = result.is_error == Some(true);
        let text = match is_error {
            true => self.error_text(cx, &content.text),
            false => {
                let (server, body) = (self.server_name(), fence::block(&content.text));
                cx.text(
                    "results/mcp-result.md",
                    &[("server", &server), ("body", &body)],
                )
            }
        };
        ToolOutput {
            text,
            is_error,
            truncated: content.truncated,
            images: content.images,
            ..ToolOutput::default()
        }
    }

    fn error_text(&self, cx: &ToolContext, error: &str) -> String {
        let (server, body) = (self.server_name(), fence::block(error));
        cx.text(
            "results/mcp-error.md",
            &[("server", &server), ("body", &body)],
        )
    }

    fn server_name(&self) -> String {
        fence::name(&self.server.settings.name)
    }

    fn service_error(&self, cx: &ToolContext, live: &Live, error: &ServiceError) -> ToolError {
        match error {
            ServiceError::McpError(error) => {
                let error = redacted_line(&error.message, &self.server.settings.secrets);
                ToolError::ForModel(self.error_text(cx, &error))
            }
            ServiceError::Timeout { timeout } => {
                let (server, seconds) = (self.server_name(), timeout.as_secs().max(1));
                let words = cx.text(
                    "results/mcp-timeout.md",
                    &[("server", &server), ("seconds", &seconds)],
                );
                broken(words, "it does not answer in time")
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                live.link.broken.notify_one();
                self.failed(cx, "the connection ended before it answered")
            }
            _ => self.failed(cx, "its answer cannot be read"),
        }
    }

    /// An error after which it is unknown whether the call took effect.
    fn failed(&self, cx: &ToolContext, reason: &str) -> ToolError {
        let words = cx.text(
            "results/mcp-failed.md",
            &[("server", &self.server_name()), ("reason", &reason)],
        );
        broken(words, reason)
    }

    fn unavailable(&self, cx: &ToolContext, reason: &str) -> ToolError {
        let reason = fence::name(reason);
        let words = cx.text(
            "results/mcp-down.md",
            &[("server", &self.server_name()), ("reason", &reason)],
        );
        broken(words, "its server is unavailable")
    }

    fn changed_or_removed(&self, cx: &ToolContext, exists: bool) -> ToolError {
        let (server, tool) = (self.server_name(), fence::name(&self.entry.name));
        match exists {
            true => cx.error(
                "results/mcp-changed.md",
                &[("server", &server), ("tool", &tool)],
            ),
            false => cx.error(
                "results/mcp-gone.md",
                &[("server", &server), ("tool", &tool)],
            ),
        }
    }
}

fn broken(words: String, reason: &str) -> ToolError {
    ToolError::Broken {
        words,
        reason: reason.to_owned(),
    }
}

/// Tells the server that the call was cancelled, without waiting for it.
fn cancel_request(live: &Live, id: RequestId) {
    let peer = live.peer.clone();
    tasks::spawn(async move {
        let reason = Some("the user cancelled".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let telling = peer.send_notification(CancelledNotification::new(params).into());
        let _ = tokio::time::timeout(Duration::from_secs(2), telling).await;
    });
}

/// Answers to what the server asked. Refused requests have none.
async fn answers(
    live: &Live,
    asked: std::collections::BTreeMap<String, InputRequest>,
) -> InputResponses {
    let mut answers = InputResponses::new();
    for (key, request) in asked {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(live.link.elicit(&request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(live.link.roots()),
            _ => continue,
        };
        if let Ok(answer) = answer {
            answers.insert(key, answer);
        }
    }
    answers
}
