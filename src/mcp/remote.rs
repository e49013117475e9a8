//! One tool of a server, called: behind its time limit and the user's cancel, with the server's
//! questions answered, its progress shown and its answer framed as data.

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
use super::content::Content;
use super::link::Running;
use super::server::{Live, Phase, Server};
use super::settings::{among, shown};
use crate::prompt::fence;
use crate::tools::mcp_call::RemoteTool;
use crate::tools::{ToolContext, ToolError, ToolOutput};

/// How long a call waits for a server that is not there.
const THERE: Duration = Duration::from_secs(20);
/// Progress keeps a call alive at most so many times its limit.
const STRETCH: u32 = 20;
/// How often a server may ask back within one call.
const ROUNDS: usize = 10;

/// A tool as the server described it when it was offered.
pub struct Offered {
    pub server: Arc<Server>,
    pub entry: Arc<ToolEntry>,
}

#[async_trait]
impl RemoteTool for Offered {
    fn server(&self) -> &str {
        &self.server.settings.name
    }

    fn tool(&self) -> &str {
        &self.entry.name
    }

    fn native(&self) -> &str {
        &self.entry.native
    }

    fn description(&self) -> &str {
        &self.entry.description
    }

    fn schema(&self) -> &Value {
        &self.entry.schema
    }

    fn pin(&self) -> &str {
        &self.entry.pin
    }

    fn connected(&self) -> bool {
        matches!(self.server.phase(), Phase::Ready)
    }

    fn allowed(&self) -> bool {
        among(&self.entry.name, &self.server.settings.allow)
    }

    async fn call(
        &self,
        cx: &ToolContext,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let live = tokio::select! {
            live = self.server.live(THERE) => live,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let live = live.map_err(|reason| self.down(cx, &reason))?;
        // What the user said yes to is what the server described then (A31).
        let catalog = self.server.catalog();
        match catalog.tool(&self.entry.name) {
            Some(now) if now.pin == self.entry.pin => {}
            now => return Err(self.another(cx, now.is_some())),
        }
        let mut running = live.link.begin(cx);
        let mut params = CallToolRequestParams::new(self.entry.name.clone());
        params.arguments = Some(arguments);
        for _ in 0..ROUNDS {
            match self.round(cx, &live, &mut running, params.clone()).await? {
                Round::Done(result) => return Ok(self.told(cx, &result)),
                Round::Asked(asked) => {
                    let answers = answers(&live, asked.input_requests.unwrap_or_default()).await;
                    params.input_responses = Some(answers);
                    params.request_state = asked.request_state;
                }
            }
        }
        Err(self.failed(cx, "it asked back without end"))
    }
}

enum Round {
    Done(CallToolResult),
    Asked(InputRequiredResult),
}

impl Offered {
    /// One request and its answer.
    async fn round(
        &self,
        cx: &ToolContext,
        live: &Live,
        running: &mut Running,
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
        let handle = sent.map_err(|error| self.service(cx, live, &error))?;
        running.follow(handle.progress_token.clone(), cx);
        let id = handle.id.clone();
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            () = cx.cancel.cancelled() => {
                take_back(live, id);
                return Err(ToolError::Cancelled);
            }
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(Round::Done(result)),
            Ok(ServerResult::InputRequiredResult(asked)) => Ok(Round::Asked(asked)),
            Ok(_) => Err(self.failed(cx, "it answered something else than a result")),
            Err(error) => Err(self.service(cx, live, &error)),
        }
    }

    fn told(&self, cx: &ToolContext, result: &CallToolResult) -> ToolOutput {
        let content = Content::of(&result.content, result.structured_content.as_ref());
        let (server, body) = (self.name_of(), fence::block(&content.text));
        let is_error = result.is_error == Some(true);
        let text = match is_error {
            true => cx.texts.render(
                "results/mcp-error.md",
                &[("server", &server), ("body", &body)],
            ),
            false => cx.texts.render(
                "results/mcp-result.md",
                &[("server", &server), ("body", &body)],
            ),
        };
        ToolOutput {
            text,
            is_error,
            truncated: content.truncated,
            images: content.images,
            ..ToolOutput::default()
        }
    }

    fn name_of(&self) -> String {
        fence::name(&self.server.settings.name)
    }

    fn service(&self, cx: &ToolContext, live: &Live, error: &ServiceError) -> ToolError {
        match error {
            ServiceError::McpError(error) => {
                let said = shown(&error.message, &self.server.settings.secrets);
                let (server, body) = (self.name_of(), fence::block(&said));
                ToolError::ForModel(cx.texts.render(
                    "results/mcp-error.md",
                    &[("server", &server), ("body", &body)],
                ))
            }
            ServiceError::Timeout { timeout } => {
                let (server, seconds) = (self.name_of(), timeout.as_secs().max(1).to_string());
                ToolError::Broken {
                    words: cx.texts.render(
                        "results/mcp-timeout.md",
                        &[("server", &server), ("seconds", &seconds)],
                    ),
                    reason: "it does not answer in time".to_owned(),
                }
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                live.link.broken.notify_one();
                self.failed(cx, "the connection ended before it answered")
            }
            _ => self.failed(cx, "its answer cannot be read"),
        }
    }

    /// Whether the call took effect is not known.
    fn failed(&self, cx: &ToolContext, reason: &str) -> ToolError {
        ToolError::Broken {
            words: cx.texts.render(
                "results/mcp-failed.md",
                &[("server", &self.name_of()), ("reason", reason)],
            ),
            reason: reason.to_owned(),
        }
    }

    fn down(&self, cx: &ToolContext, reason: &str) -> ToolError {
        let reason = fence::name(reason);
        ToolError::Broken {
            words: cx.texts.render(
                "results/mcp-down.md",
                &[("server", &self.name_of()), ("reason", &reason)],
            ),
            reason: "its server is not there".to_owned(),
        }
    }

    fn another(&self, cx: &ToolContext, there: bool) -> ToolError {
        let (server, tool) = (self.name_of(), fence::name(&self.entry.name));
        ToolError::ForModel(match there {
            true => cx.texts.render(
                "results/mcp-changed.md",
                &[("server", &server), ("tool", &tool)],
            ),
            false => cx.texts.render(
                "results/mcp-gone.md",
                &[("server", &server), ("tool", &tool)],
            ),
        })
    }
}

/// Tells the server that nobody waits any more; nobody waits for that either.
fn take_back(live: &Live, id: RequestId) {
    let peer = live.peer.clone();
    tokio::spawn(async move {
        let reason = Some("the user cancelled".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let telling = peer.send_notification(CancelledNotification::new(params).into());
        let _ = tokio::time::timeout(Duration::from_secs(2), telling).await;
    });
}

/// What the server asked back, answered; what is refused has no answer.
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
