//! Servers' answers as text and images for the model: bounded, without invisible characters, and
//! with a note in place of anything that is not shown.

use rmcp::model::{ContentBlock, GetPromptResult, ResourceContents};
use serde_json::Value;

use crate::prompt::fence;
use crate::tools::Image;

#[cfg(test)]
mod tests;

/// Most bytes of one answer.
const TEXT: usize = 32 * 1024;
/// Most images of one answer, and bytes (base64) of one.
const IMAGES: usize = 8;
const IMAGE: usize = 5 * 1024 * 1024;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub text: String,
    pub images: Vec<Image>,
    pub truncated: bool,
}

impl Content {
    /// The parts in order, or `structured` if there is no other content.
    pub fn from_parts(parts: &[ContentBlock], structured: Option<&Value>) -> Self {
        let mut content = Self::default();
        let mut texts = Vec::new();
        for part in parts {
            texts.push(content.part(part));
        }
        if let (true, Some(value)) = (texts.is_empty(), structured) {
            texts.push(format!("{value:#}"));
        }
        content.set(&texts.join("\n"));
        content
    }

    /// The texts of a resource.
    pub fn from_resource(contents: &[ResourceContents]) -> Self {
        let mut content = Self::default();
        let texts: Vec<String> = contents.iter().map(|it| content.resource(it)).collect();
        content.set(&texts.join("\n"));
        content
    }

    /// A prompt's messages, each with its role.
    pub fn from_prompt(prompt: &GetPromptResult) -> Self {
        let mut content = Self::default();
        let mut texts = Vec::new();
        for message in &prompt.messages {
            let said = content.part(&message.content);
            texts.push(match message.role {
                rmcp::model::Role::Assistant => format!("(as the assistant) {said}"),
                _ => said,
            });
        }
        content.set(&texts.join("\n\n"));
        content
    }

    fn set(&mut self, text: &str) {
        let visible = fence::prose(text);
        self.truncated = visible.len() > TEXT;
        self.text = shorten(&visible);
    }

    fn part(&mut self, part: &ContentBlock) -> String {
        match part {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Image(image) => self.image(&image.mime_type, &image.data),
            ContentBlock::Audio(audio) => format!(
                "[audio, {}, {} bytes: not shown]",
                fence::name(&audio.mime_type),
                audio.data.len()
            ),
            ContentBlock::Resource(resource) => self.resource(&resource.resource),
            ContentBlock::ResourceLink(link) => format!(
                "[a resource of the server: {} ({})]",
                fence::name(&link.uri),
                fence::name(&link.name)
            ),
            _ => "[unknown kind of content]".to_owned(),
        }
    }

    fn resource(&mut self, resource: &ResourceContents) -> String {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("{}:\n{text}", fence::name(uri))
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                let shown = match kind.starts_with("image/") {
                    true => self.image(kind, blob),
                    false => format!("[{}, {} bytes: not shown]", fence::name(kind), blob.len()),
                };
                format!("{}: {shown}", fence::name(uri))
            }
            _ => "[unknown kind of resource]".to_owned(),
        }
    }

    fn image(&mut self, kind: &str, data: &str) -> String {
        let shown = fence::name(kind);
        if !supported_image(kind, data) {
            return format!("[an image, {shown}: cannot be shown]");
        }
        if data.len() > IMAGE || self.images.len() >= IMAGES {
            return format!("[an image, {shown}: too large, or too many images]");
        }
        self.images.push(Image {
            media_type: kind.to_owned(),
            data: data.to_owned(),
        });
        format!("[image {}, {shown}: below]", self.images.len())
    }
}

/// Whether every model with vision accepts it. Anything else would make each later request fail,
/// because it stays in the history (P34).
fn supported_image(kind: &str, data: &str) -> bool {
    let kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let digits = data.trim_end_matches('=');
    kinds.contains(&kind) && !digits.is_empty() && digits.bytes().all(legal)
}

/// Keeps head and tail of a text that is too long.
fn shorten(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(TEXT * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - TEXT / 3);
    let left = tail - head;
    format!(
        "{}\n[… {left} bytes left out …]\n{}",
        &text[..head],
        &text[tail..]
    )
}
