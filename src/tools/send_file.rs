//! `send_file`: sends a file of the workspace to the user, for clients that declared `fileSend`.
//! The client gets its address, and for a large file the advice to link instead of loading it.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolOutput, ToolResult, ToolSpec, target,
};
use crate::conversation::{Event, Tier};
use crate::workspace::{Located, files};

/// Bytes above which a file is a link.
const MOST: u64 = 50 * 1024 * 1024;

pub struct SendFile;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file
    path: String,
}

#[async_trait]
impl BuiltIn for SendFile {
    const NAME: &'static str = "send_file";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).needs("fileSend");
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(&self, cx: &ToolContext, Arguments { path }: Arguments) -> Preparation {
        let located = target::locate(cx, &path)?;
        let title = format!("Send {}", located.display(&cx.workspace));
        let place = located.clone();
        Ok(Prepared::reading(title, &place, |cx| {
            send(cx, located).boxed()
        }))
    }
}

async fn send(cx: &ToolContext, located: Located) -> ToolResult {
    let (workspace, place) = (cx.workspace.clone(), located.clone());
    let bytes = cx.blocking(move || files::size(&workspace, &place)).await?;
    let bytes = bytes.map_err(|error| target::file_error(cx, &located, &error))?;
    let name = located.path.file_name();
    cx.sink.emit(Event::File {
        item_id: cx.item.clone(),
        uri: located.uri.to_string(),
        name: name.unwrap_or_default().to_string_lossy().into_owned(),
        bytes,
        link: bytes > MOST,
    });
    let path = located.display(&cx.workspace);
    Ok(ToolOutput::text(match bytes > MOST {
        true => cx.text("results/file-linked.md", &[("path", &path)]),
        false => cx.text("results/file-sent.md", &[("path", &path)]),
    }))
}
