//! From a path argument to a place and its present text, and file errors in words.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use ropey::Rope;

use super::{ToolContext, ToolError, near, words};
use crate::edit::SeenText;
use crate::host::Access;
use crate::policy::{Decision, Fact, decide};
use crate::workspace::files::rope_hash;
use crate::workspace::search::Visibility as _;
use crate::workspace::{FileError, FileKind, Located, Revision, Source, beneath, files};

pub(super) fn locate(cx: &ToolContext, argument: &str) -> Result<Located, ToolError> {
    beneath::locate(&cx.workspace, &cx.cwd, argument).map_err(|error| {
        words::for_model(
            cx,
            "results/path-wrong.md",
            &[("path", argument), ("problem", &error.to_string())],
        )
    })
}

/// The documents that a call with this path argument touches.
pub(super) fn key_of(cx: &ToolContext, argument: Option<&str>) -> Vec<String> {
    argument
        .and_then(|argument| beneath::locate(&cx.workspace, &cx.cwd, argument).ok())
        .map(|located| located.uri.key())
        .into_iter()
        .collect()
}

/// A path as the model can give it back: relative to the session's directory, else absolute.
pub(super) fn shown(cx: &ToolContext, path: &Path) -> String {
    let shown = path.strip_prefix(&cx.cwd).unwrap_or(path);
    if shown.as_os_str().is_empty() {
        return ".".to_owned();
    }
    shown.display().to_string()
}

/// As [`shown`]; documents without a file by their URI.
pub(super) fn name(cx: &ToolContext, located: &Located) -> String {
    if located.path.is_absolute() {
        shown(cx, &located.path)
    } else {
        located.uri.to_string()
    }
}

/// The text that stands at a place now.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub rope: Rope,
    /// The mirror's revision; `None` from disk.
    pub revision: Option<Revision>,
    /// The editor's text differs from the disk.
    pub unsaved: bool,
    /// Planned, but neither open nor on disk: the editor holds it where we cannot look.
    pub held: bool,
}

impl Present {
    pub fn seen(&self) -> SeenText {
        SeenText {
            hash: rope_hash(&self.rope),
            rope: self.rope.clone(),
            revision: self.revision,
        }
    }
}

/// Reads off the async threads: the disk may be slow, and dirtiness compares with it.
pub(super) async fn present(cx: &ToolContext, located: &Located) -> Result<Present, FileError> {
    cx.host.look(&cx.session, located).await;
    let workspace = Arc::clone(&cx.workspace);
    let lanes = Arc::clone(&cx.lanes);
    let located = located.clone();
    let read = move || {
        if let Some(rope) = lanes.held_text(&located.uri.key()) {
            return Ok(Present {
                rope,
                revision: None,
                unsaved: true,
                held: true,
            });
        }
        let content = files::read(&workspace, &located)?;
        let (revision, unsaved) = match content.source {
            Source::Buffer { dirty, .. } => (Some(content.revision), dirty),
            Source::Disk => (None, false),
        };
        Ok(Present {
            rope: content.rope,
            revision,
            unsaved,
            held: false,
        })
    };
    tokio::task::spawn_blocking(read)
        .await
        .unwrap_or_else(|error| Err(FileError::Io(std::io::Error::other(error))))
}

pub(super) fn seen(cx: &ToolContext, key: &str) -> Option<SeenText> {
    let seen = cx.seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.get(key).cloned()
}

pub(super) fn remember(cx: &ToolContext, key: String, text: SeenText) {
    let mut seen = cx.seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.put(key, text);
}

pub(super) fn decision(cx: &ToolContext, located: &Located, access: Access) -> Decision {
    let located = located.clone();
    decide(&cx.policy, &[Fact::Path { located, access }])
}

/// Why a text could not be had, in words; a missing file with names that were meant perhaps.
pub(super) fn file_error(cx: &ToolContext, located: &Located, error: &FileError) -> ToolError {
    let path = name(cx, located);
    match error {
        FileError::Missing => {
            let near = neighbours(cx, located);
            if near.is_empty() {
                words::for_model(cx, "results/file-missing.md", &[("path", &path)])
            } else {
                words::for_model(
                    cx,
                    "results/file-missing-near.md",
                    &[("path", &path), ("near", &near.join(", "))],
                )
            }
        }
        FileError::Directory => {
            words::for_model(cx, "results/file-directory.md", &[("path", &path)])
        }
        FileError::NotText => words::for_model(cx, "results/file-not-text.md", &[("path", &path)]),
        FileError::TooLarge { bytes, limit } => words::for_model(
            cx,
            "results/file-too-large.md",
            &[
                ("path", &path),
                ("bytes", &bytes.to_string()),
                ("limit", &limit.to_string()),
            ],
        ),
        error => words::for_model(
            cx,
            "results/file-error.md",
            &[("path", &path), ("problem", &error.to_string())],
        ),
    }
}

/// Visible names in the folder of a missing file that are close to its name. Only inside the
/// roots: elsewhere a guess must not list a folder.
fn neighbours(cx: &ToolContext, located: &Located) -> Vec<String> {
    let (Some((index, relative)), Some(folder), Some(name)) = (
        &located.root,
        located.path.parent(),
        located.path.file_name(),
    ) else {
        return Vec::new();
    };
    if located.kind != FileKind::Missing {
        return Vec::new();
    }
    let (roots, below) = (cx.workspace.roots(), relative.parent());
    let opened = roots
        .get(*index)
        .zip(below)
        .and_then(|(root, below)| beneath::Folder::open(&root.path, below).ok());
    let Some(entries) = opened.as_ref().and_then(|folder| folder.entries().ok()) else {
        return Vec::new();
    };
    let names: Vec<String> = entries
        .take(2_000)
        .filter(|(name, _)| cx.policy.visible(&folder.join(name)))
        .filter_map(|(name, _)| name.into_string().ok())
        .collect();
    near::names(&name.to_string_lossy(), names.iter().map(String::as_str))
        .into_iter()
        .map(|name| shown(cx, &folder.join(name)))
        .collect()
}
