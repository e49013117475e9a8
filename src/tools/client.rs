//! Tools that the client offers: the model calls them and the client answers through
//! `interline/tool/call`. Its answers are data; consent and modes work as for MCP servers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::mcp_call::RemoteTool;
use super::{Image, ToolContext, ToolError, ToolOutput, ToolResult};
use crate::conversation::sha256;
use crate::host::{ToolAnswer, ToolCall, ToolOffer};
use crate::prompt::{Texts, fence};

/// The server's name that approvals show.
const CLIENT: &str = "the editor";
/// The longest time limit of a call, and the default.
const LONGEST: Duration = Duration::from_secs(600);
const DEFAULT: Duration = Duration::from_secs(120);
/// Most bytes of one answer's text.
const TEXT: usize = 32 * 1024;
/// Most images of one answer, and bytes (base64) of one.
const IMAGES: usize = 8;
const IMAGE: usize = 5 * 1024 * 1024;

/// A tool of the client.
pub struct ClientTool {
    offer: ToolOffer,
    pin: String,
}

impl ClientTool {
    /// `offer` after its check, with a schema that every provider accepts.
    pub fn new(offer: ToolOffer) -> Self {
        let json = serde_json::to_string(&offer).unwrap_or_default();
        let pin = sha256(json.as_bytes());
        Self { offer, pin }
    }
}

#[async_trait]
impl RemoteTool for ClientTool {
    fn server(&self) -> &str {
        CLIENT
    }

    fn tool(&self) -> &str {
        &self.offer.name
    }

    fn native_name(&self) -> &str {
        &self.offer.name
    }

    fn description(&self, _texts: &Texts) -> String {
        fence::visible(&self.offer.description)
    }

    fn schema(&self) -> Arc<Value> {
        self.offer.input_schema.clone()
    }

    fn pin(&self) -> &str {
        &self.pin
    }

    fn connector(&self) -> Option<&str> {
        self.offer.serves.as_deref()
    }

    fn of_client(&self) -> bool {
        true
    }

    async fn call(&self, cx: &ToolContext, arguments: Map<String, Value>) -> ToolResult {
        let call = ToolCall {
            session_id: cx.session.clone(),
            turn_id: cx.turn.clone(),
            item_id: cx.item.clone(),
            tool: self.offer.name.clone(),
            arguments,
        };
        let limit = self.offer.timeout_ms.map_or(DEFAULT, Duration::from_millis);
        let limit = limit.min(LONGEST);
        // Dropping the call withdraws it.
        let answer = tokio::select! {
            answer = tokio::time::timeout(limit, cx.host.call_tool(call)) => answer,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let tool = fence::name(&self.offer.name);
        match answer {
            Ok(Ok(answer)) => Ok(answer_output(cx, &tool, answer)),
            Ok(Err(reason)) => Err(cx.error(
                "results/client-failed.md",
                &[("tool", &tool), ("reason", &fence::name(&reason))],
            )),
            Err(_) => Err(cx.error(
                "results/client-timeout.md",
                &[("tool", &tool), ("seconds", &limit.as_secs().max(1))],
            )),
        }
    }
}

fn answer_output(cx: &ToolContext, tool: &str, answer: ToolAnswer) -> ToolOutput {
    let mut text = fence::visible(&answer.text);
    let whole = text.len();
    text.truncate(text.floor_char_boundary(TEXT));
    let left = whole - text.len();
    let body = fence::block(&text);
    let mut text = match answer.is_error {
        true => cx.text(
            "results/client-error.md",
            &[("tool", &tool), ("body", &body)],
        ),
        false => cx.text(
            "results/client-result.md",
            &[("tool", &tool), ("body", &body)],
        ),
    };
    if left > 0 {
        text.push('\n');
        text.push_str(&cx.text("results/client-cut.md", &[("left", &left)]));
    }
    let images = answer.images.into_iter();
    let images = images
        .filter(|image| image.data.len() <= IMAGE)
        .take(IMAGES);
    ToolOutput {
        text,
        is_error: answer.is_error,
        truncated: left > 0,
        images: images
            .map(|image| Image {
                media_type: image.mime_type,
                data: image.data,
            })
            .collect(),
        ..ToolOutput::default()
    }
}
