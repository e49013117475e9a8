//! Resolves a path argument to a place and its current text, and puts file errors into words.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ropey::Rope;

use super::{ToolContext, ToolError, suggestions};
use crate::edit::SeenText;
use crate::env::tasks;
use crate::host::Access;
use crate::policy::{Decision, Fact, decide};
use crate::workspace::file_state::FileState;
use crate::workspace::files::rope_hash;
use crate::workspace::search;
use crate::workspace::{FileError, FileKind, Located, Revision, Source, beneath, files};

pub(super) fn locate(cx: &ToolContext, argument: &str) -> Result<Located, ToolError> {
    beneath::locate(&cx.workspace, &cx.cwd, argument).map_err(|error| {
        cx.error(
            "results/path-wrong.md",
            &[("path", &argument), ("problem", &error)],
        )
    })
}

/// The documents that a call with this path argument touches.
pub(super) fn document_keys(cx: &ToolContext, argument: Option<&str>) -> Vec<String> {
    argument
        .and_then(|argument| beneath::locate(&cx.workspace, &cx.cwd, argument).ok())
        .map(|located| located.key())
        .into_iter()
        .collect()
}

/// A path in the form that the model can pass back: relative to the session's directory if
/// possible, else absolute.
pub(super) fn relative_path(cx: &ToolContext, path: &Path) -> String {
    let shown = path.strip_prefix(&cx.cwd).unwrap_or(path);
    if shown.as_os_str().is_empty() {
        return ".".to_owned();
    }
    shown.display().to_string()
}

/// Like [`relative_path`], but a document without a file is named by its URI.
pub(super) fn display_name(cx: &ToolContext, located: &Located) -> String {
    if located.path.is_absolute() {
        relative_path(cx, &located.path)
    } else {
        located.uri.to_string()
    }
}

/// The current text at a place.
#[derive(Clone, Debug)]
pub(super) struct CurrentText {
    pub rope: Rope,
    /// The mirror's revision. `None`: read from disk.
    pub revision: Option<Revision>,
    /// The editor's text differs from the disk.
    pub unsaved: bool,
    /// The editor still shows the text that the disk had before another program changed it.
    pub outdated: bool,
    /// The editor holds a planned text that is neither open nor on disk.
    pub held: bool,
}

impl CurrentText {
    pub fn seen(&self) -> SeenText {
        SeenText {
            hash: rope_hash(&self.rope),
            rope: self.rope.clone(),
            revision: self.revision,
        }
    }
}

/// Reads the current text. Off the async threads, because it may read a slow disk.
pub(super) async fn read_current(
    cx: &ToolContext,
    located: &Located,
) -> Result<CurrentText, FileError> {
    cx.host.refresh_file(&cx.session, located).await;
    let workspace = Arc::clone(&cx.workspace);
    let lanes = Arc::clone(&cx.lanes);
    let located = located.clone();
    let read = move || {
        if let Some(rope) = lanes.held_text(&located.key()) {
            return Ok(CurrentText {
                rope,
                revision: None,
                unsaved: true,
                outdated: false,
                held: true,
            });
        }
        let content = files::read(&workspace, &located)?;
        let (revision, unsaved) = match content.source {
            Source::Buffer { dirty, .. } => (Some(content.revision), dirty),
            Source::Disk => (None, false),
        };
        let document = unsaved
            .then(|| workspace.document_by_key(&located.key()))
            .flatten();
        Ok(CurrentText {
            rope: content.rope,
            revision,
            unsaved,
            outdated: document
                .is_some_and(|document| workspace.file_state(&document) == FileState::Outdated),
            held: false,
        })
    };
    tasks::blocking(read)
        .await
        .unwrap_or_else(|error| Err(FileError::Io(std::io::Error::other(error))))
}

/// How long an editor may take to load a file that changed on disk.
const LOADING: Duration = Duration::from_secs(2);

/// Waits until the editor has loaded a file that changed on disk. An older text is never edited: the
/// user could not save it without losing what is on disk.
pub(super) async fn loaded(cx: &ToolContext, located: &Located) -> Result<(), ToolError> {
    let key = located.key();
    let mut watch = cx.workspace.watch(&located.uri);
    let current = async || {
        let Some(document) = cx.workspace.document_by_key(&key) else {
            return true;
        };
        let workspace = Arc::clone(&cx.workspace);
        let state = tasks::blocking(move || workspace.file_state(&document));
        state.await.is_ok_and(FileState::current)
    };
    let loading = async {
        if !current().await {
            cx.host.changed_on_disk(std::slice::from_ref(&located.uri));
        }
        while !current().await {
            if watch.changed().await.is_err() {
                return;
            }
        }
    };
    match tokio::time::timeout(LOADING, loading).await {
        Ok(()) => Ok(()),
        Err(_) => {
            let path = display_name(cx, located);
            Err(cx.error("results/edit-outdated.md", &[("path", &path)]))
        }
    }
}

pub(super) fn last_seen(cx: &ToolContext, key: &str) -> Option<SeenText> {
    let seen = cx.seen.lock();
    seen.get(key).cloned()
}

pub(super) fn remember(cx: &ToolContext, key: String, text: SeenText) {
    let mut seen = cx.seen.lock();
    seen.put(key, text);
}

/// The facts of a call that reads this place.
pub(super) fn read_facts(located: &Located) -> Vec<Fact> {
    vec![Fact::Path {
        located: located.clone(),
        access: Access::Read,
    }]
}

pub(super) fn decision(cx: &ToolContext, located: &Located, access: Access) -> Decision {
    let located = located.clone();
    decide(&cx.policy, &[Fact::Path { located, access }])
}

/// Why a text could not be read. For a missing file, with similar names.
pub(super) fn file_error(cx: &ToolContext, located: &Located, error: &FileError) -> ToolError {
    let path = display_name(cx, located);
    match error {
        FileError::Missing => {
            let near = similar_names(cx, located);
            if near.is_empty() {
                cx.error("results/file-missing.md", &[("path", &path)])
            } else {
                cx.error(
                    "results/file-missing-near.md",
                    &[("path", &path), ("near", &near.join(", "))],
                )
            }
        }
        FileError::Directory => cx.error("results/file-directory.md", &[("path", &path)]),
        FileError::NotText => cx.error("results/file-not-text.md", &[("path", &path)]),
        FileError::TooLarge { bytes, limit } => cx.error(
            "results/file-too-large.md",
            &[("path", &path), ("bytes", &bytes), ("limit", &limit)],
        ),
        error => cx.error(
            "results/file-error.md",
            &[("path", &path), ("problem", &error)],
        ),
    }
}

/// Visible names similar to a missing file's name, in its folder. Only inside the roots: elsewhere
/// a guess must not list a folder.
fn similar_names(cx: &ToolContext, located: &Located) -> Vec<String> {
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
        .filter(|(name, _)| search::unasked(&cx.workspace, &cx.policy, &folder.join(name)))
        .filter_map(|(name, _)| name.into_string().ok())
        .collect();
    suggestions::closest(&name.to_string_lossy(), names.iter().map(String::as_str))
        .into_iter()
        .map(|name| relative_path(cx, &folder.join(name)))
        .collect()
}
