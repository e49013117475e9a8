//! Converts a page to text for the model: HTML to Markdown, other text unchanged. Pure. Pages may
//! be hostile, so depth, size and time are bounded before the converter sees them.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use htmd::{HtmlToMarkdown, Node};
use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{NodeData, RcDom};
use url::Url;

use crate::http::get::MOST;

/// Most nested elements. The converter and its tree recurse.
const DEPTH: usize = 200;

/// How long parsing may take: the parser needs quadratic time for nested elements.
const TIME: Duration = Duration::from_secs(3);

/// Bytes to parse between two checks of the clock.
const PIECE: usize = 4096;

/// Elements without text.
const MUTE: [&str; 14] = [
    "audio", "canvas", "embed", "head", "iframe", "link", "meta", "noscript", "object", "script",
    "style", "svg", "template", "video",
];

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pub title: String,
    pub text: String,
    /// A part was left out because it is nested too deeply or took too long.
    pub incomplete: bool,
}

/// The page as text; `None` if its type is not text.
pub fn text(content_type: &str, bytes: &[u8], url: &Url) -> Option<Text> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let html = match kind {
        "text/html" | "application/xhtml+xml" => true,
        // The server names no type: look at the content.
        "" | "application/octet-stream" if looks_binary(bytes) => return None,
        "" => looks_html(bytes),
        _ if !is_text(kind) => return None,
        _ => false,
    };
    let source = decode(content_type, bytes, html);
    Some(match html {
        true => markdown(&source, url),
        false => Text {
            text: source.into_owned(),
            ..Text::default()
        },
    })
}

fn is_text(kind: &str) -> bool {
    const WORDS: [&str; 9] = [
        "json",
        "xml",
        "yaml",
        "toml",
        "javascript",
        "ecmascript",
        "markdown",
        "graphql",
        "x-sh",
    ];
    let Some((family, name)) = kind.split_once('/') else {
        return false;
    };
    family == "text"
        || kind == "application/octet-stream"
        || (matches!(family, "application" | "image")
            && WORDS.iter().any(|word| {
                name == *word || name.ends_with(&format!("+{word}")) || name == format!("x-{word}")
            }))
}

fn looks_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}

fn looks_html(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_ascii_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    head.starts_with("<!doctype html") || head.starts_with("<html")
}

/// By the byte order mark, the header, the page's own `charset`, else UTF-8 where it is valid.
fn decode<'a>(content_type: &str, bytes: &'a [u8], html: bool) -> Cow<'a, str> {
    let named = |text: &str| {
        let (_, rest) = text.split_once("charset=")?;
        let name = rest.trim_start_matches(['"', '\'']);
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:".contains(c)));
        Encoding::for_label(&name.as_bytes()[..end.unwrap_or(name.len())])
    };
    let own = || {
        let head = &bytes[..bytes.len().min(1024)];
        named(&String::from_utf8_lossy(head).to_ascii_lowercase())
    };
    let encoding = named(content_type)
        .or_else(|| html.then(own).flatten())
        .unwrap_or_else(|| match std::str::from_utf8(bytes) {
            Ok(_) => UTF_8,
            // A truncated page may end inside a character.
            Err(error) if error.error_len().is_none() && bytes.len() >= MOST => UTF_8,
            Err(_) => WINDOWS_1252,
        });
    encoding.decode(bytes).0
}

/// A page of HTML as Markdown, with absolute addresses.
fn markdown(html: &str, url: &Url) -> Text {
    let (document, mut incomplete) = parse(html);
    let mut title = String::new();
    incomplete |= prune(&document, url, &mut title);
    let converter = HtmlToMarkdown::builder()
        .skip_tags(MUTE.to_vec())
        .scripting_enabled(false)
        .build();
    Text {
        title: title.split_whitespace().collect::<Vec<_>>().join(" "),
        text: converter.tree_to_markdown(&document),
        incomplete,
    }
}

fn parse(html: &str) -> (Rc<Node>, bool) {
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let started = Instant::now();
    let mut rest = html;
    while !rest.is_empty() && started.elapsed() < TIME {
        let (piece, next) = rest.split_at(rest.floor_char_boundary(PIECE));
        parser.process(piece.into());
        rest = next;
    }
    (parser.finish().document, !rest.is_empty())
}

/// Removes what is nested too deeply, makes addresses absolute, finds the title. Returns whether
/// something was removed.
fn prune(document: &Rc<Node>, url: &Url, title: &mut String) -> bool {
    let mut base = url.clone();
    let mut cut = false;
    let mut open = vec![(Rc::clone(document), 0)];
    while let Some((node, depth)) = open.pop() {
        if let NodeData::Element { name, attrs, .. } = &node.data {
            let tag = &*name.local;
            if tag == "title" && title.is_empty() && depth < 5 {
                *title = own_text(&node);
            }
            for attribute in attrs.borrow_mut().iter_mut() {
                let whole = match &*attribute.name.local {
                    "href" if tag == "base" => {
                        base = base.join(&attribute.value).unwrap_or(base);
                        continue;
                    }
                    "href" => absolute_address(&base, &attribute.value),
                    // An inline image is not text.
                    "src" if attribute.value.starts_with("data:") => Some(String::new()),
                    "src" => absolute_address(&base, &attribute.value),
                    _ => None,
                };
                if let Some(whole) = whole {
                    attribute.value = whole.into();
                }
            }
        }
        let mut children = node.children.borrow_mut();
        if depth >= DEPTH {
            cut |= !children.is_empty();
            children.clear();
        }
        // Pushed in reverse, so that they are visited in order: a base applies to what follows.
        open.extend(
            children
                .iter()
                .rev()
                .map(|child| (Rc::clone(child), depth + 1)),
        );
    }
    cut
}

fn absolute_address(base: &Url, value: &str) -> Option<String> {
    // Links within the page stay short.
    (!value.starts_with('#')).then(|| base.join(value).ok().map(String::from))?
}

fn own_text(node: &Node) -> String {
    let children = node.children.borrow();
    let text = children.iter().filter_map(|child| match &child.data {
        NodeData::Text { contents } => Some(contents.borrow().to_string()),
        _ => None,
    });
    text.collect()
}

#[cfg(test)]
mod tests;
