//! Tools that the client offers of its own: the model calls them, the client answers through
//! `interline/tool/call`. What the client says is data; consent and modes are as for MCP servers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Image, Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, words};
use crate::conversation::{Tier, sha256};
use crate::host::{Subject, ToolAnswer, ToolCall, ToolOffer};
use crate::policy::Fact;
use crate::prompt::{Texts, fence};

/// The name under which approvals show who answers.
const CLIENT: &str = "the editor";
/// How long a call takes at most, and where the client says nothing.
const LONGEST: Duration = Duration::from_secs(600);
const USUAL: Duration = Duration::from_secs(120);
/// Bytes of one answer that the model gets.
const TEXT: usize = 32 * 1024;
/// Most images of one answer, and bytes (base64) of one.
const IMAGES: usize = 8;
const IMAGE: usize = 5 * 1024 * 1024;

/// A tool of the client's.
pub struct ClientTool {
    offer: ToolOffer,
    pin: String,
}

impl ClientTool {
    /// `offer` as it was checked, its schema in a form that every provider takes.
    pub fn new(offer: ToolOffer) -> Self {
        let json = serde_json::to_string(&offer).unwrap_or_default();
        let pin = sha256(json.as_bytes());
        Self { offer, pin }
    }
}

#[async_trait]
impl Tool for ClientTool {
    fn name(&self) -> &str {
        &self.offer.name
    }

    fn description(&self, _texts: &Texts) -> String {
        fence::visible(&self.offer.description)
    }

    fn schema(&self) -> Value {
        self.offer.input_schema.clone()
    }

    fn tier(&self) -> Tier {
        Tier::Mcp
    }

    fn changes(&self) -> bool {
        true
    }

    fn escapes(&self) -> bool {
        true
    }

    fn serves(&self) -> Option<&str> {
        self.offer.serves.as_deref()
    }

    fn of_client(&self) -> bool {
        true
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets {
            unnamed: true,
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Value::Object(arguments) = arguments else {
            return Err(words::for_model(
                cx,
                "results/arguments-not-json.md",
                &[("tool", &self.offer.name)],
            ));
        };
        Ok(Box::new(Call {
            tool: self.offer.name.clone(),
            pin: self.pin.clone(),
            limit: self.offer.timeout_ms.map_or(USUAL, Duration::from_millis),
            arguments,
        }))
    }
}

struct Call {
    tool: String,
    pin: String,
    limit: Duration,
    arguments: Map<String, Value>,
}

#[async_trait]
impl Prepared for Call {
    fn title(&self) -> String {
        format!("Call {} of {CLIENT}", fence::name(&self.tool))
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Mcp {
            server: CLIENT.to_owned(),
            tool: self.tool.clone(),
            pin: self.pin.clone(),
            allowed: false,
        }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Mcp {
            server: CLIENT.to_owned(),
            tool: self.tool.clone(),
            arguments: Value::Object(self.arguments.clone()),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let call = ToolCall {
            session_id: cx.session.clone(),
            turn_id: cx.turn.clone(),
            item_id: cx.item.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments,
        };
        let limit = self.limit.min(LONGEST);
        let host = Arc::clone(&cx.host);
        // Dropped, the call is taken back.
        let answer = tokio::select! {
            answer = tokio::time::timeout(limit, host.call_tool(call)) => answer,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let tool = fence::name(&self.tool);
        match answer {
            Ok(Ok(answer)) => Ok(told(cx, &tool, answer)),
            Ok(Err(reason)) => Err(words::for_model(
                cx,
                "results/client-failed.md",
                &[("tool", &tool), ("reason", &fence::name(&reason))],
            )),
            Err(_) => {
                let seconds = limit.as_secs().max(1).to_string();
                Err(words::for_model(
                    cx,
                    "results/client-timeout.md",
                    &[("tool", &tool), ("seconds", &seconds)],
                ))
            }
        }
    }
}

fn told(cx: &ToolContext, tool: &str, answer: ToolAnswer) -> ToolOutput {
    let mut text = fence::visible(&answer.text);
    let whole = text.len();
    text.truncate(text.floor_char_boundary(TEXT));
    let left = whole - text.len();
    let body = fence::block(&text);
    let mut text = match answer.is_error {
        true => cx.texts.render(
            "results/client-error.md",
            &[("tool", tool), ("body", &body)],
        ),
        false => cx.texts.render(
            "results/client-result.md",
            &[("tool", tool), ("body", &body)],
        ),
    };
    if left > 0 {
        let left = left.to_string();
        text.push('\n');
        text.push_str(&cx.texts.render("results/client-cut.md", &[("left", &left)]));
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
