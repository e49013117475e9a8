//! `show_image`: shows an image of the workspace in the conversation, for clients that declared
//! `images`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    caption: Option<String>,
}

struct Picture {
    located: Located,
    display: String,
    caption: Option<String>,
}

#[async_trait]
impl BuiltIn for ShowImage {
    const NAME: &'static str = "show_image";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).needs("images");
    type Arguments = Arguments;

    fn schema() -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "A PNG, JPEG, GIF or WebP file"},
                "caption": {"type": "string", "description": "One line below it"},
            }),
            &["path"],
        )
    }

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        Arguments { path, caption }: Arguments,
    ) -> Preparation {
        let located = target::locate(cx, &path)?;
        Ok(Box::new(Picture {
            display: located.display(&cx.workspace),
            located,
            caption,
        }))
    }
}

#[async_trait]
impl Prepared for Picture {
    fn title(&self) -> String {
        format!("Show {}", self.display)
    }

    fn facts(&self) -> Vec<Fact> {
        target::read_facts(&self.located)
    }

    fn subject(&self) -> Option<Subject> {
        Some(target::read_subject(&self.located))
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (workspace, located) = (cx.workspace.clone(), self.located.clone());
        let read = move || files::read_bytes(&workspace, &located, MOST);
        let bytes = cx.blocking(read).await?;
        let bytes = bytes.map_err(|error| target::file_error(cx, &self.located, &error))?;
        let format = FORMATS.iter().find(|(_, magic)| bytes.starts_with(magic));
        let Some((media_type, _)) = format else {
            return Err(cx.error("results/image-format.md", &[("path", &self.display)]));
        };
        cx.sink.emit(Event::Image {
            item_id: cx.item.clone(),
            uri: self.located.uri.to_string(),
            media_type: (*media_type).to_owned(),
            caption: self.caption,
            data: STANDARD.encode(&bytes),
        });
        Ok(ToolOutput::text(cx.text(
            "results/image-shown.md",
            &[("path", &self.display)],
        )))
    }
}
