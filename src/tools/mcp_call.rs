//! Tools of MCP servers as the model calls them: under a name of their own, or, those that came
//! after the conversation's tools were told, through the constant `mcp_call`. Who speaks with the
//! servers is behind [`RemoteTools`]; what they say of a tool is never more than data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, words};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::{Texts, fence};

/// One tool of a server, as the server described it last.
#[async_trait]
pub trait RemoteTool: Send + Sync {
    /// The server's name in the settings.
    fn server(&self) -> &str;

    /// What the server calls it.
    fn tool(&self) -> &str;

    /// Its name as a tool of its own.
    fn native(&self) -> &str;

    /// What the server says of it, bounded.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments, in a form that every provider takes.
    fn schema(&self) -> &Value;

    /// Hash of all that the server said of it.
    fn pin(&self) -> &str;

    /// The server is there now.
    fn connected(&self) -> bool;

    /// The user's settings let it run unasked.
    fn allowed(&self) -> bool;

    /// Calls it. Ends with its time limit and with `cx.cancel`.
    async fn call(
        &self,
        cx: &ToolContext,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError>;
}

/// Why a tool is not there, for words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No such server; those that there are.
    Server(Vec<String>),
    /// The server is not there (yet); why.
    Down(String),
    /// The server has no such tool; those that it has.
    Tool(Vec<String>),
}

/// The tools of the servers that count in a folder.
pub trait RemoteTools: Send + Sync {
    fn find(&self, root: &Path, server: &str, tool: &str) -> Result<Arc<dyn RemoteTool>, Missing>;
}

/// A server's tool under a name of its own.
pub struct Remote(pub Arc<dyn RemoteTool>);

#[async_trait]
impl Tool for Remote {
    fn name(&self) -> &str {
        self.0.native()
    }

    /// Behind a fence: a server can say anything, also of other tools.
    fn description(&self, texts: &Texts) -> String {
        let (server, tool) = (fence::name(self.0.server()), fence::name(self.0.tool()));
        let said = fence::block(self.0.description());
        texts.render(
            "results/mcp-tool.md",
            &[("server", &server), ("tool", &tool), ("said", &said)],
        )
    }

    fn schema(&self) -> Value {
        self.0.schema().clone()
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

    /// A server of the name of a connector is one, as long as it is there.
    fn serves(&self) -> Option<&str> {
        self.0.connected().then(|| self.0.server())
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        unnamed()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        match arguments {
            Value::Object(arguments) => Ok(Box::new(Call {
                remote: self.0.clone(),
                arguments,
            })),
            _ => Err(words::for_model(
                cx,
                "results/arguments-not-json.md",
                &[("tool", self.0.native())],
            )),
        }
    }
}

/// `mcp_call`: a tool of a server by the server's name and its own.
pub struct McpCall {
    pub remote: Arc<dyn RemoteTools>,
    /// The folder whose servers count.
    pub root: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    server: String,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[async_trait]
impl Tool for McpCall {
    fn name(&self) -> &str {
        "mcp_call"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "server": {"type": "string", "description": "Name of the server"},
                "tool": {"type": "string", "description": "What the server calls the tool"},
                "arguments": {
                    "type": "object",
                    "description": "Arguments as the tool's schema wants them",
                },
            }),
            &["server", "tool"],
        )
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

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        unnamed()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "mcp_call", arguments)?;
        let found = self
            .remote
            .find(&self.root, &arguments.server, &arguments.tool);
        let remote =
            found.map_err(|missing| ToolError::ForModel(said(cx, &arguments, &missing)))?;
        Ok(Box::new(Call {
            remote,
            arguments: arguments.arguments,
        }))
    }
}

fn said(cx: &ToolContext, arguments: &Arguments, missing: &Missing) -> String {
    let (server, tool) = (
        &fence::name(&arguments.server),
        fence::name(&arguments.tool),
    );
    let names = |known: &[String]| match known.is_empty() {
        true => "none".to_owned(),
        false => fence::line(&known.join(", ")),
    };
    match missing {
        Missing::Server(known) => cx.texts.render(
            "results/mcp-no-server.md",
            &[("server", server), ("known", &names(known))],
        ),
        Missing::Down(reason) => cx.texts.render(
            "results/mcp-down.md",
            &[("server", server), ("reason", &fence::name(reason))],
        ),
        Missing::Tool(known) => cx.texts.render(
            "results/mcp-no-tool.md",
            &[
                ("server", server),
                ("tool", &tool),
                ("known", &names(known)),
            ],
        ),
    }
}

/// Nobody knows what a server touches: its calls run beside commands and each other only.
fn unnamed() -> Targets {
    Targets {
        unnamed: true,
        ..Targets::default()
    }
}

struct Call {
    remote: Arc<dyn RemoteTool>,
    arguments: Map<String, Value>,
}

#[async_trait]
impl Prepared for Call {
    fn title(&self) -> String {
        let (server, tool) = (self.remote.server(), self.remote.tool());
        format!("Call {} of {}", fence::name(tool), fence::name(server))
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Mcp {
            server: self.remote.server().to_owned(),
            tool: self.remote.tool().to_owned(),
            pin: self.remote.pin().to_owned(),
            allowed: self.remote.allowed(),
        }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Mcp {
            server: self.remote.server().to_owned(),
            tool: self.remote.tool().to_owned(),
            arguments: Value::Object(self.arguments.clone()),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.remote.call(cx, self.arguments).await
    }
}
