//! Converts a prompt's parts into blocks of the user message: texts verbatim, resources with their
//! current text, images if the model reads them, skills that the user starts.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::agent::request::context::RequestContext;
use crate::agent::request::mcp_tools::{self, Picked};
use crate::config::Config;
use crate::conversation::{Block, Input, ModelFacts, PDF};
use crate::env::Env;
use crate::host::Access;
use crate::knowledge::skills::{self, Found, Skill};
use crate::mcp::Content;
use crate::policy::{Decision, Fact, Policy, Reason, decide};
use crate::prompt::{Texts, fence};
use crate::tools::load_skill::{self, Caller};
use crate::tools::{Image, messages};
use crate::workspace::search::{self, Bounds};
use crate::workspace::{
    Encoding, FileError, FileKind, Located, Range, Uri, Workspace, beneath, files, text,
};

/// Bytes of one resource in the message.
const RESOURCE_LIMIT: usize = 64 * 1024;
/// Most names of a folder in the message, and the longest time to list them.
const NAMES: usize = 500;
const LISTING: Duration = Duration::from_secs(5);
/// Bytes of a document: base64 adds a third, and requests end at 32 MB.
const DOCUMENT_LIMIT: u64 = 20 * 1024 * 1024;

/// What the parts are read with, under the same policy as tools.
pub struct Reader<'a> {
    pub workspace: &'a Workspace,
    pub texts: &'a Texts,
    pub facts: &'a ModelFacts,
    pub policy: &'a Policy,
    pub cwd: &'a Path,
    pub env: &'a Env,
    pub config: &'a Config,
    pub encoding: Encoding,
    /// Results for the parts that MCP servers provide.
    pub picked: &'a Picked,
    /// The model's provider accepts PDFs.
    pub documents: bool,
    /// A segment of the prompt shows the picked prompts.
    pub placed: bool,
}

impl<'a> Reader<'a> {
    pub fn new(from: &'a RequestContext, policy: &'a Policy, placed: bool) -> Self {
        Self {
            workspace: &from.shared.workspace,
            texts: &from.shared.texts,
            facts: &from.model.facts,
            policy,
            cwd: &from.cwd,
            env: &from.shared.env,
            config: &from.settings.config,
            encoding: from.encoding,
            picked: &from.picked,
            documents: from.model.provider.documents(),
            placed,
        }
    }
}

/// Blocks of the user message for `input`. A part that cannot be read is replaced by the reason.
pub fn blocks(reader: &Reader<'_>, input: &[Input]) -> Vec<Block> {
    let texts = reader.texts;
    let mut blocks = Vec::new();
    // Pictures come before the text, whatever the order of the parts.
    let mut pictures = Vec::new();
    let skills = Skills::new(reader);
    for (place, part) in input.iter().enumerate() {
        match part {
            Input::Resource { uri, .. } if reader.picked.contains_key(&place) => {
                blocks.extend(served(reader, place, uri));
            }
            Input::Text { text } => match skills.called(text) {
                Some((skill, rest)) => blocks.extend(skills.started(skill, rest)),
                None if text.trim().is_empty() => {}
                None => blocks.push(Block::text(text.clone())),
            },
            Input::Image { mime_type, data }
                if reader.facts.images && valid_image(mime_type, data) =>
            {
                pictures.push(Block::Image {
                    media_type: mime_type.clone(),
                    data: data.clone(),
                })
            }
            Input::Image { mime_type, .. } => {
                let kind = fence::name(mime_type);
                blocks.push(Block::text(
                    texts.render("results/image-unread.md", &[("type", &kind)]),
                ));
            }
            Input::Resource {
                uri, text: None, ..
            } if is_pdf(uri) => attach(document(reader, uri), &mut pictures, &mut blocks),
            Input::Document {
                name,
                mime_type,
                data,
            } => {
                let document = sent_document(reader, name, mime_type, data);
                attach(document, &mut pictures, &mut blocks);
            }
            Input::Resource {
                uri,
                range,
                text,
                label,
                ..
            } => {
                let (text, label) = (text.as_deref(), label.as_deref());
                blocks.push(Block::text(resource(reader, uri, *range, text, label)));
            }
            Input::McpPrompt { server, name, .. } => {
                blocks.extend(prompt(reader, place, server, name));
            }
            Input::Skill { name, arguments } => {
                blocks.extend(skills.start_by_name(name, arguments.as_deref().unwrap_or_default()));
            }
        }
    }
    pictures.extend(blocks);
    if pictures.is_empty() {
        pictures.push(Block::text(texts.render("results/empty-prompt.md", &[])));
    }
    pictures
}

/// The skills that the user may start; searched on first use.
struct Skills<'a> {
    reader: &'a Reader<'a>,
    found: OnceCell<Found>,
}

impl<'a> Skills<'a> {
    fn new(reader: &'a Reader<'a>) -> Self {
        Self {
            reader,
            found: OnceCell::new(),
        }
    }

    fn found(&self) -> &Found {
        let reader = self.reader;
        self.found.get_or_init(|| {
            let trusted = reader.policy.trusted;
            skills::find(
                reader.workspace,
                reader.env,
                reader.config,
                reader.cwd,
                trusted,
            )
        })
    }

    fn get(&self, name: &str) -> Option<&Skill> {
        self.found().get(name).filter(|skill| skill.for_user)
    }

    /// The skill of a text that starts with `/name`, and the rest; any other text after a slash is
    /// plain text.
    fn called<'t>(&self, text: &'t str) -> Option<(&Skill, &'t str)> {
        let call = text.strip_prefix('/')?;
        let end = call.find(char::is_whitespace).unwrap_or(call.len());
        let (name, rest) = call.split_at(end);
        // A path costs no search.
        if name.is_empty() || name.contains('/') {
            return None;
        }
        Some((self.get(name)?, rest))
    }

    fn start_by_name(&self, name: &str, arguments: &str) -> Vec<Block> {
        if let Some(skill) = self.get(name) {
            return self.started(skill, arguments);
        }
        let words = load_skill::why_not_loaded(self.reader.texts, self.found(), name, Caller::User);
        with_arguments(words, arguments)
    }

    /// The skill's text, then the user's arguments.
    fn started(&self, skill: &Skill, arguments: &str) -> Vec<Block> {
        let texts = self.reader.texts;
        let text = load_skill::skill_text(texts, self.reader.cwd, skill);
        let text = texts.render("results/skill-started.md", &[("skill", &text)]);
        with_arguments(text, arguments)
    }
}

fn with_arguments(text: String, arguments: &str) -> Vec<Block> {
    let arguments = arguments.trim();
    let arguments = (!arguments.is_empty()).then(|| Block::text(arguments));
    std::iter::once(Block::text(text))
        .chain(arguments)
        .collect()
}

/// An MCP prompt that the user picked.
fn prompt(reader: &Reader<'_>, place: usize, server: &str, name: &str) -> Vec<Block> {
    let texts = reader.texts;
    let (server, name) = (fence::name(server), fence::name(name));
    match reader.picked.get(&place) {
        Some(Ok(brought)) => {
            let text = match reader.placed {
                true => texts.render(
                    "results/mcp-prompt-placed.md",
                    &[("server", &server), ("name", &name)],
                ),
                false => {
                    let text = fence::block(&brought.text);
                    texts.render(
                        "results/mcp-prompt.md",
                        &[("server", &server), ("name", &name), ("text", &text)],
                    )
                }
            };
            with_images(reader, text, brought)
        }
        other => missing(
            reader,
            &format!("{server}/{name}"),
            mcp_tools::reason(other),
        ),
    }
}

/// A server's resource, treated like any attachment.
fn served(reader: &Reader<'_>, place: usize, uri: &str) -> Vec<Block> {
    match reader.picked.get(&place) {
        Some(Ok(brought)) => {
            let text = format!("Resource: {}\n{}", fence::name(uri), brought.text);
            let text = fence::block(&text);
            let text = reader
                .texts
                .render("results/resource.md", &[("text", &text)]);
            with_images(reader, text, brought)
        }
        other => missing(reader, uri, mcp_tools::reason(other)),
    }
}

fn missing(reader: &Reader<'_>, what: &str, reason: &str) -> Vec<Block> {
    let text = format!("{}: {}", fence::name(what), fence::name(reason));
    let text = fence::block(&text);
    let texts = reader.texts;
    vec![Block::text(
        texts.render("results/mcp-missing.md", &[("text", &text)]),
    )]
}

fn with_images(reader: &Reader<'_>, text: String, brought: &Content) -> Vec<Block> {
    let mut blocks = vec![Block::text(text)];
    blocks.extend(images(reader.texts, reader.facts, &brought.images));
    blocks
}

/// Images from a tool or a server, if the model reads them.
pub fn images(texts: &Texts, facts: &ModelFacts, images: &[Image]) -> Vec<Block> {
    let block = |image: &Image| match facts.images {
        true => Block::Image {
            media_type: image.media_type.clone(),
            data: image.data.clone(),
        },
        false => {
            let kind = fence::name(&image.media_type);
            Block::text(texts.render("results/image-unread.md", &[("type", &kind)]))
        }
    };
    images.iter().map(block).collect()
}

/// The formats that every vision model accepts. Any other would be rejected with each later
/// request, because it stays in the history (P34).
fn valid_image(mime_type: &str, data: &str) -> bool {
    let base64 = data.trim_end_matches('=').bytes();
    matches!(
        mime_type,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    ) && !data.is_empty()
        && base64
            .into_iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Judged by its name; the first bytes decide later.
pub fn is_pdf(uri: &str) -> bool {
    uri.to_ascii_lowercase().ends_with(".pdf")
}

/// The words about an attached document, and the block that holds it if the model reads it.
type Attached = (Block, Option<Block>);

fn attach((words, document): Attached, documents: &mut Vec<Block>, blocks: &mut Vec<Block>) {
    documents.extend(document);
    blocks.push(words);
}

/// A PDF of the workspace as a block of its own where the model reads PDFs, else the reason and
/// what to do. We parse no PDF.
fn document(reader: &Reader<'_>, uri: &str) -> Attached {
    let located = beneath::locate(reader.workspace, reader.cwd, uri);
    let shown = located.as_ref().map_or_else(
        |_| uri.to_owned(),
        |located| located.display(reader.workspace),
    );
    let bytes = located
        .map_err(|error| error.to_string())
        .and_then(|located| {
            if let Some(reason) = allowed(reader, &located) {
                return Err(in_words(reason));
            }
            readable(reader)?;
            files::read_bytes(reader.workspace, &located, DOCUMENT_LIMIT)
                .map_err(|error| error.to_string())
        });
    attached(reader, &shown, bytes)
}

/// As [`document`], for one whose bytes the client sent.
fn sent_document(reader: &Reader<'_>, name: &str, mime_type: &str, data: &str) -> Attached {
    let bytes = match mime_type {
        PDF => readable(reader).and_then(|()| {
            let bytes = STANDARD.decode(data);
            let bytes = bytes.map_err(|_| "its data is not Base64".to_owned())?;
            let length = bytes.len() as u64;
            let too_large = FileError::TooLarge {
                bytes: length,
                limit: DOCUMENT_LIMIT,
            };
            match length <= DOCUMENT_LIMIT {
                true => Ok(bytes),
                false => Err(too_large.to_string()),
            }
        }),
        other => Err(format!(
            "{other} is not a type of document that models read"
        )),
    };
    attached(reader, name, bytes)
}

/// Why the model cannot read PDFs.
fn readable(reader: &Reader<'_>) -> Result<(), String> {
    match reader.documents && reader.facts.images {
        true => Ok(()),
        false => Err("this model does not read PDFs".to_owned()),
    }
}

fn attached(reader: &Reader<'_>, shown: &str, bytes: Result<Vec<u8>, String>) -> Attached {
    let name = fence::name(shown);
    let bytes = bytes.and_then(|bytes| match bytes.starts_with(b"%PDF-") {
        true => Ok(bytes),
        false => Err("it is not a PDF".to_owned()),
    });
    match bytes {
        Ok(bytes) => {
            let words = reader
                .texts
                .render("results/document.md", &[("name", &name)]);
            let file = name.rsplit('/').next().unwrap_or(&name);
            let document = Block::Document {
                media_type: PDF.to_owned(),
                name: file.to_owned(),
                data: STANDARD.encode(&bytes),
            };
            (Block::text(words), Some(document))
        }
        Err(reason) => {
            let reason = fence::name(&reason);
            let words = reader.texts.render(
                "results/document-unread.md",
                &[("name", &name), ("reason", &reason)],
            );
            (Block::text(words), None)
        }
    }
}

/// Why `read` could not read the file without asking; `None`: it could.
fn allowed(reader: &Reader<'_>, located: &Located) -> Option<Reason> {
    let fact = Fact::Path {
        located: located.clone(),
        access: Access::Read,
    };
    match decide(reader.policy, &[fact]) {
        Decision::Allow(_) => None,
        Decision::Ask { reason, .. } | Decision::Deny(reason) => Some(reason),
    }
}

/// Why the file's text does not go to the model even if the client sent it; `None`: it does.
fn kept_back(reader: &Reader<'_>, located: &Located) -> Option<String> {
    let reason = allowed(reader, located)?;
    matches!(reason, Reason::Secret | Reason::Excluded | Reason::OwnFiles).then(|| in_words(reason))
}

/// A reason inside a sentence.
fn in_words(reason: Reason) -> String {
    messages::explain(reason).trim_end_matches('.').to_owned()
}

/// A resource's text inside a fence that cannot occur in it.
fn resource(
    reader: &Reader<'_>,
    uri: &str,
    range: Option<Range>,
    text: Option<&str>,
    label: Option<&str>,
) -> String {
    let located = beneath::locate(reader.workspace, reader.cwd, uri);
    let place = located
        .as_ref()
        .map_or_else(|_| uri.to_owned(), |it| it.display(reader.workspace));
    // Tools take the path; a label that only repeats its end adds nothing.
    let shown = match label {
        Some(label) if !place.ends_with(label) => fence::name(&format!("{place} ({label})")),
        _ => fence::name(&place),
    };
    let is_folder =
        text.is_none() && matches!(&located, Ok(it) if it.kind == FileKind::Directory && !it.open);
    let kept = located.as_ref().ok().and_then(|it| kept_back(reader, it));
    let body = match text {
        Some(text) => kept.map_or_else(|| Ok(text.to_owned()), Err),
        None => located
            .map_err(|error| error.to_string())
            .and_then(|located| match is_folder {
                true => names(reader, &located),
                false => current_text(reader, &located, range),
            }),
    };
    let what = if is_folder { "Folder" } else { "File" };
    let lines = range.map_or_else(String::new, |range| {
        let number = |line: u32| line.saturating_add(1);
        format!(
            ", lines {}-{}",
            number(range.start.line),
            number(range.end.line)
        )
    });
    match body {
        Ok(mut body) => {
            if body.len() > RESOURCE_LIMIT {
                body.truncate(body.floor_char_boundary(RESOURCE_LIMIT));
                body.push_str("\n[…]");
            }
            // The name is fenced too: a file can have any name.
            let text = fence::block(&format!("{what}: {shown}{lines}\n{body}"));
            reader
                .texts
                .render("results/resource.md", &[("text", &text)])
        }
        Err(reason) => {
            let text = fence::block(&format!("{what}: {shown}\n{}", fence::name(&reason)));
            reader
                .texts
                .render("results/resource-missing.md", &[("text", &text)])
        }
    }
}

/// The names in a folder, if `list` could list it without asking, and without those it leaves out.
fn names(reader: &Reader<'_>, located: &Located) -> Result<String, String> {
    if let Some(reason) = allowed(reader, located) {
        return Err(in_words(reason));
    }
    let never = AtomicBool::new(false);
    let bounds = Bounds::new(&never, LISTING);
    let found = search::list(reader.workspace, located, reader.policy, NAMES, &bounds)
        .map_err(|error| error.to_string())?;
    let mut lines: Vec<String> = found
        .paths
        .iter()
        .map(|(path, folder)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{}{}", fence::name(&name), if *folder { "/" } else { "" })
        })
        .collect();
    if found.capped || found.late {
        lines.push("[…]".to_owned());
    }
    Ok(lines.join("\n"))
}

/// The current text, if `read` could read it without asking, or if the user has it open outside the
/// folders (naming it counts as consent, but never for a secret).
fn current_text(
    reader: &Reader<'_>,
    located: &Located,
    range: Option<Range>,
) -> Result<String, String> {
    match allowed(reader, located) {
        None => {}
        Some(Reason::OutsideRoots) if located.open => {}
        Some(reason) => return Err(in_words(reason)),
    }
    let content = files::read(reader.workspace, located).map_err(|error| error.to_string())?;
    Ok(match range {
        Some(range) => slice(&content.rope, range, reader.encoding),
        None => content.rope.to_string(),
    })
}

fn slice(rope: &ropey::Rope, range: Range, encoding: Encoding) -> String {
    let start = text::offset(rope, range.start, encoding).unwrap_or(0);
    let end = text::offset(rope, range.end, encoding).unwrap_or(rope.len_bytes());
    rope.byte_slice(start.min(end)..end.max(start)).to_string()
}

/// A document's path as tools show it, else its URI.
pub fn shown_path(workspace: &Workspace, uri: &str, cwd: &Path) -> String {
    beneath::locate(workspace, cwd, uri)
        .map_or_else(|_| Uri::new(uri).to_string(), |it| it.display(workspace))
}

#[cfg(test)]
mod tests;
