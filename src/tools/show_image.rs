//! `show_image`: a picture of the workspace in the conversation, for clients that declared
//! `images`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, target, words};
use crate::conversation::{Event, Tier};
use crate::host::{Access, Subject};
use crate::policy::Fact;
use crate::workspace::{Located, files};

/// Bytes of a picture.
const MOST: u64 = 5 * 1024 * 1024;

/// How the files of the formats that clients can show begin. No SVG: it can hold scripts.
const FORMATS: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

pub struct ShowImage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    caption: Option<String>,
}

struct Picture {
    located: Located,
    display: String,
    caption: Option<String>,
}

#[async_trait]
impl Tool for ShowImage {
    fn name(&self) -> &'static str {
        "show_image"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "A PNG, JPEG, GIF or WebP file"},
                "caption": {"type": "string", "description": "One line below it"},
            }),
            &["path"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    fn needs(&self) -> Option<&'static str> {
        Some("images")
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
        let Arguments { path, caption } = schema::check(cx, "show_image", arguments)?;
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
        let read = tokio::task::spawn_blocking(move || files::raw(&workspace, &located, MOST));
        let bytes = read
            .await
            .map_err(|error| ToolError::Fatal(error.into()))?
            .map_err(|error| target::file_error(cx, &self.located, &error))?;
        let format = FORMATS.iter().find(|(_, magic)| bytes.starts_with(magic));
        let Some((media_type, _)) = format else {
            return Err(words::for_model(
                cx,
                "results/image-format.md",
                &[("path", &self.display)],
            ));
        };
        cx.sink.emit(Event::Image {
            item_id: cx.item.clone(),
            uri: self.located.uri.to_string(),
            media_type: (*media_type).to_owned(),
            caption: self.caption,
            data: STANDARD.encode(&bytes),
        });
        Ok(ToolOutput::text(cx.texts.render(
            "results/image-shown.md",
            &[("path", &self.display)],
        )))
    }
}
