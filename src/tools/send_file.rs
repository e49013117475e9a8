//! `send_file`: sends a file of the workspace to the user, for clients that declared `fileSend`.
//! The client gets its address, and for a large file the advice to link instead of loading it.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolSpec, schema,
    target,
};
use crate::conversation::{Event, Tier};
use crate::host::Subject;
use crate::policy::Fact;
use crate::workspace::{Located, files};

/// Bytes above which a file is a link.
const MOST: u64 = 50 * 1024 * 1024;

pub struct SendFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
}

struct Sending {
    located: Located,
    display: String,
}

#[async_trait]
impl BuiltIn for SendFile {
    const NAME: &'static str = "send_file";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).needs("fileSend");
    type Arguments = Arguments;

    fn schema() -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "The file"},
            }),
            &["path"],
        )
    }

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(&self, cx: &ToolContext, Arguments { path }: Arguments) -> Preparation {
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
        target::read_facts(&self.located)
    }

    fn subject(&self) -> Option<Subject> {
        Some(target::read_subject(&self.located))
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (workspace, located) = (cx.workspace.clone(), self.located.clone());
        let size = move || files::size(&workspace, &located);
        let bytes = cx.blocking(size).await?;
        let bytes = bytes.map_err(|error| target::file_error(cx, &self.located, &error))?;
        let name = self.located.path.file_name();
        cx.sink.emit(Event::File {
            item_id: cx.item.clone(),
            uri: self.located.uri.to_string(),
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            bytes,
            link: bytes > MOST,
        });
        Ok(ToolOutput::text(match bytes > MOST {
            true => cx.text("results/file-linked.md", &[("path", &self.display)]),
            false => cx.text("results/file-sent.md", &[("path", &self.display)]),
        }))
    }
}
