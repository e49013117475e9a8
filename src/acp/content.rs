//! Blocks of a prompt as the core's input. What was not announced is refused, with a hint on
//! what to send instead; unknown fields are ignored.

use serde::Deserialize;

use crate::conversation::{Failure, FailureKind, Input, PDF};

/// A content block.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    ResourceLink {
        uri: String,
        #[serde(default)]
        name: Option<String>,
    },
    Resource {
        resource: Contents,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        mime_type: String,
        data: String,
    },
    Audio {},
}

/// An embedded resource: text, or base64 bytes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    uri: String,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    blob: Option<String>,
}

/// The prompt's parts, in order.
pub fn input(parts: Vec<Part>) -> Result<Vec<Input>, Failure> {
    parts.into_iter().map(input_of).collect()
}

fn input_of(part: Part) -> Result<Input, Failure> {
    match part {
        Part::Text { text } => Ok(Input::Text { text }),
        Part::ResourceLink { uri, name } => Ok(Input::Resource {
            uri,
            range: None,
            version: None,
            text: None,
            label: name,
        }),
        Part::Image { mime_type, data } => Ok(Input::Image { mime_type, data }),
        Part::Resource { resource } => embedded(resource),
        Part::Audio {} => Err(unsupported("audio", "send a transcript as text")),
    }
}

fn embedded(resource: Contents) -> Result<Input, Failure> {
    let Contents {
        uri,
        mime_type,
        text,
        blob,
    } = resource;
    match (text, blob, mime_type) {
        (Some(text), ..) => Ok(Input::Resource {
            uri,
            range: None,
            version: None,
            text: Some(text),
            label: None,
        }),
        (None, Some(data), Some(mime_type)) if mime_type.starts_with("image/") => {
            Ok(Input::Image { mime_type, data })
        }
        (None, Some(data), Some(mime_type)) if mime_type == PDF => {
            let name = uri.rsplit('/').next().unwrap_or(&uri).to_owned();
            Ok(Input::Document {
                name,
                mime_type,
                data,
            })
        }
        _ => Err(unsupported(
            "an embedded resource without text",
            "embed text, an image or a PDF, or send a resource_link",
        )),
    }
}

fn unsupported(what: &str, hint: &str) -> Failure {
    Failure::new(
        FailureKind::Unsupported,
        format!("{what} is not accepted in prompts"),
        hint,
    )
}
