//! Tools of MCP servers as the model calls them: under names of their own, or through `mcp_call` if
//! they appeared after the conversation's tools were sent. [`RemoteTools`] talks to the servers;
//! their descriptions of tools are only data. `mcp_call` is offered as soon as there is a server, or a
//! workspace file with servers, trusted or not, so that servers trusted in mid-session are reached;
//! without any it would only cost tokens.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    BuiltIn, Preparation, Prepared, Targets, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
    schema,
};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::{Texts, fence};

/// One tool that someone else runs: an MCP server, as it last described the tool, or the client.
#[async_trait]
pub trait RemoteTool: Send + Sync {
    /// The server's name, as approvals show it.
    fn server(&self) -> &str;

    /// The server's name for the tool.
    fn tool(&self) -> &str;

    /// Its name as a tool of its own.
    fn native_name(&self) -> &str;

    /// The description for the model.
    fn description(&self, texts: &Texts) -> String;

    /// JSON Schema of its arguments, in a form that every provider accepts.
    fn schema(&self) -> Arc<Value>;

    /// Hash of the server's full description of it.
    fn pin(&self) -> &str;

    /// The connector that it belongs to, while it is connected.
    fn connector(&self) -> Option<&str>;

    /// Whether the client runs it.
    fn of_client(&self) -> bool {
        false
    }

    /// Whether the user's settings allow it without asking.
    fn allowed(&self) -> bool {
        false
    }

    /// Whether its server runs in the sandbox.
    fn confined(&self) -> bool {
        false
    }

    /// Calls it, until its time limit or `cx.cancel`.
    async fn call(&self, cx: &ToolContext, arguments: Map<String, Value>) -> ToolResult;
}

/// Why a tool is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No such server; the known ones.
    Server(Vec<String>),
    /// The server is not ready; why.
    Down(String),
    /// The server has no such tool; the ones it has.
    Tool(Vec<String>),
}

/// The tools of a folder's servers.
pub trait RemoteTools: Send + Sync {
    fn find(&self, root: &Path, server: &str, tool: &str) -> Result<Arc<dyn RemoteTool>, Missing>;
}

const SPEC: ToolSpec = ToolSpec::new(Tier::Mcp).changes().escapes();

/// A remote tool under a name of its own.
pub struct NativeTool(pub Arc<dyn RemoteTool>);

#[async_trait]
impl Tool for NativeTool {
    fn name(&self) -> &str {
        self.0.native_name()
    }

    fn spec(&self) -> ToolSpec {
        SPEC
    }

    fn description(&self, texts: &Texts) -> String {
        self.0.description(texts)
    }

    fn schema(&self, _texts: &Texts) -> Arc<Value> {
        self.0.schema()
    }

    fn serves(&self) -> Option<&str> {
        self.0.connector()
    }

    fn of_client(&self) -> bool {
        self.0.of_client()
    }

    /// What a server touches is unknown: its calls run in parallel only with commands and each
    /// other.
    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::unnamed()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Value) -> Preparation {
        let arguments = schema::check_object(cx, self.name(), arguments)?;
        Ok(prepared(self.0.clone(), arguments))
    }
}

/// `mcp_call`: calls a tool by its server's name and its own.
pub struct McpCall {
    pub remote: Arc<dyn RemoteTools>,
    /// The folder whose servers are used.
    pub root: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the server
    server: String,
    /// What the server calls the tool
    tool: String,
    #[serde(default)]
    /// Arguments as the tool's schema wants them
    arguments: Map<String, Value>,
}

#[async_trait]
impl BuiltIn for McpCall {
    const NAME: &'static str = "mcp_call";
    const SPEC: ToolSpec = SPEC;
    type Arguments = Arguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::unnamed()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let found = self
            .remote
            .find(&self.root, &arguments.server, &arguments.tool);
        let remote =
            found.map_err(|missing| ToolError::ForModel(why_missing(cx, &arguments, &missing)))?;
        Ok(prepared(remote, arguments.arguments))
    }
}

fn why_missing(cx: &ToolContext, arguments: &Arguments, missing: &Missing) -> String {
    let (server, tool) = (
        &fence::name(&arguments.server),
        fence::name(&arguments.tool),
    );
    let names = |known: &[String]| match known.is_empty() {
        true => "none".to_owned(),
        false => fence::line(&known.join(", ")),
    };
    match missing {
        Missing::Server(known) => cx.text(
            "results/mcp-no-server.md",
            &[("server", &server), ("known", &names(known))],
        ),
        Missing::Down(reason) => cx.text(
            "results/mcp-down.md",
            &[("server", &server), ("reason", &fence::name(reason))],
        ),
        Missing::Tool(known) => cx.text(
            "results/mcp-no-tool.md",
            &[
                ("server", &server),
                ("tool", &tool),
                ("known", &names(known)),
            ],
        ),
    }
}

/// A call of a remote tool.
fn prepared(remote: Arc<dyn RemoteTool>, arguments: Map<String, Value>) -> Prepared {
    let (server, tool) = (remote.server().to_owned(), remote.tool().to_owned());
    let title = format!("Call {} of {}", fence::name(&tool), fence::name(&server));
    Prepared {
        facts: vec![Fact::Mcp {
            server: server.clone(),
            tool: tool.clone(),
            pin: remote.pin().to_owned(),
            allowed: remote.allowed(),
            confined: remote.confined(),
        }],
        subject: Some(Subject::Mcp {
            server,
            tool,
            arguments: Value::Object(arguments.clone()),
        }),
        ..Prepared::new(title, |cx| {
            async move { remote.call(cx, arguments).await }.boxed()
        })
    }
}
