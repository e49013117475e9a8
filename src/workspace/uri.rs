//! URIs as opaque strings, exactly as sent by the client, and their canonical identity.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::resolve::resolve;

/// A document's URI, byte for byte as written by the client. Equality compares the string; the
/// identity of documents is [`Uri::key`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uri(Arc<str>);

impl Uri {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The `file:` URI of an absolute path.
    pub fn from_path(path: &Path) -> Self {
        match url::Url::from_file_path(path) {
            Ok(url) => Self(url.as_str().into()),
            Err(()) => Self(path.to_string_lossy().as_ref().into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// The path of a `file:` URI on this machine; `None` for other schemes, for a URI without a
    /// path (Neovim's `file://` for unnamed buffers) and for another host.
    pub fn path(&self) -> Option<PathBuf> {
        let text: &str = &self.0;
        if text.starts_with('/') {
            return Some(PathBuf::from(text));
        }
        let url = url::Url::parse(text).ok()?;
        if url.scheme() != "file" || url.path().is_empty() || url.path() == "/" {
            return None;
        }
        url.to_file_path().ok()
    }

    /// Canonical identity: one key for every spelling of the same document. For files the
    /// canonical path (links resolved as far as they exist, the rest lexically); for other
    /// schemes the string. Accesses the file system.
    pub fn key(&self) -> String {
        match self.path() {
            Some(path) => path_key(&resolve(&path).path),
            None => self.0.to_string(),
        }
    }

    /// Whether no edit can change the document: output channels, versions from git, the editor's
    /// own views.
    pub fn read_only(&self) -> bool {
        let scheme = self.scheme();
        matches!(
            scheme,
            "git" | "output" | "debug" | "comment" | "chat-editing-text-model"
        ) || (scheme.starts_with("vscode-") && scheme != "vscode-remote")
    }

    /// Whether documents of this URI are mirrored: all but `file:` URIs without a path.
    pub(super) fn mirrored(&self) -> bool {
        let text = self.as_str();
        let Some(rest) = text.strip_prefix("file:") else {
            return !text.is_empty();
        };
        !rest.trim_matches('/').is_empty()
    }
}

/// The key of a canonical path. Names that are not UTF-8 are percent-encoded, so that two of
/// them never share a key.
pub(super) fn path_key(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => Uri::from_path(path).as_str().to_owned(),
    }
}

impl std::fmt::Debug for Uri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Uri({})", self.0)
    }
}

impl std::fmt::Display for Uri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
