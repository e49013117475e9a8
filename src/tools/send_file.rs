//! `send_file`: hands a file of the workspace to the user, for clients that declared `fileSend`.
//! The client gets its address; above the limit it is told to link it and not to load it.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, target};
use crate::conversation::{Event, Tier};
use crate::host::{Access, Subject};
use crate::policy::Fact;
use crate::workspace::{Located, files};

/// Bytes above which a file is a link.
const MOST: u64 = 50 * 1024 * 1024;

pub struct SendFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

struct Sending {
    located: Located,
    display: String,
}

#[async_trait]
impl Tool for SendFile {
    fn name(&self) -> &'static str {
        "send_file"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "The file"},
            }),
            &["path"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    fn needs(&self) -> Option<&'static str> {
        Some("fileSend")
    }

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            reads: target::key_of(cx, arguments["path"].as_str()),
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { path } = schema::check(cx, "send_file", arguments)?;
        let located = target::locate(cx, &path)?;
        Ok(Box::new(Sending {
            display: located.display(&cx.workspace),
            located,
        }))
    }
}

#[async_trait]
impl Prepared for Sending {
    fn title(&self) -> String {
        format!("Send {}", self.display)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Path {
            located: self.located.clone(),
            access: Access::Read,
        }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Path {
            path: self.located.path.display().to_string(),
            access: Access::Read,
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (workspace, located) = (cx.workspace.clone(), self.located.clone());
        let bytes = tokio::task::spawn_blocking(move || files::size(&workspace, &located))
            .await
            .map_err(|error| ToolError::Fatal(error.into()))?
            .map_err(|error| target::file_error(cx, &self.located, &error))?;
        let name = self.located.path.file_name();
        cx.sink.emit(Event::File {
            item_id: cx.item.clone(),
            uri: self.located.uri.to_string(),
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            bytes,
            link: bytes > MOST,
        });
        Ok(ToolOutput::text(match bytes > MOST {
            true => cx
                .texts
                .render("results/file-linked.md", &[("path", &self.display)]),
            false => cx
                .texts
                .render("results/file-sent.md", &[("path", &self.display)]),
        }))
    }
}
