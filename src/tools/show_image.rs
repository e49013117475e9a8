//! `show_image`: shows an image of the workspace in the conversation, for clients that declared
//! `images`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolOutput, ToolResult, ToolSpec, target,
};
use crate::conversation::{Event, Tier};
use crate::workspace::{Located, files};

/// Most bytes of an image.
const MOST: u64 = 5 * 1024 * 1024;

/// The formats that clients can show, and how their files begin. SVG can contain scripts.
const FORMATS: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

pub struct ShowImage;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A PNG, JPEG, GIF or WebP file
    path: String,
    /// One line below it
    caption: Option<String>,
}

#[async_trait]
impl BuiltIn for ShowImage {
    const NAME: &'static str = "show_image";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).needs("images");
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        Arguments { path, caption }: Arguments,
    ) -> Preparation {
        let located = target::locate(cx, &path)?;
        let title = format!("Show {}", located.display(&cx.workspace));
        let place = located.clone();
        Ok(Prepared::reading(title, &place, |cx| {
            show(cx, located, caption).boxed()
        }))
    }
}

async fn show(cx: &ToolContext, located: Located, caption: Option<String>) -> ToolResult {
    let (workspace, place) = (cx.workspace.clone(), located.clone());
    let read = move || files::read_bytes(&workspace, &place, MOST);
    let bytes = cx.blocking(read).await?;
    let bytes = bytes.map_err(|error| target::file_error(cx, &located, &error))?;
    let path = located.display(&cx.workspace);
    let format = FORMATS.iter().find(|(_, magic)| bytes.starts_with(magic));
    let Some((media_type, _)) = format else {
        return Err(cx.error("results/image-format.md", &[("path", &path)]));
    };
    cx.sink.emit(Event::Image {
        item_id: cx.item.clone(),
        uri: located.uri.to_string(),
        media_type: (*media_type).to_owned(),
        caption,
        data: STANDARD.encode(&bytes),
    });
    let text = cx.text("results/image-shown.md", &[("path", &path)]);
    Ok(ToolOutput::text(text))
}
