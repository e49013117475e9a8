//! Listing, globbing and searching in process, with ignore rules. Open buffers take precedence over
//! files. Results are in path order and capped, and report whether the cap was reached.

mod lines;
mod rules;
mod types;
mod walk;

use std::ops::ControlFlow;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::{FileKind, Located, Workspace};
use lines::Collector;
pub use types::{Bounds, Found, Line, Matches, Query, SearchError, Visibility};
use walk::{Entry, Walk};

/// The entries of one folder (`true` = folder), without ignored ones.
pub fn list(
    workspace: &Workspace,
    folder: &Located,
    visible: &dyn Visibility,
    cap: usize,
    bounds: &Bounds<'_>,
) -> Result<Found, SearchError> {
    let mut found = Found::default();
    existing_folder(folder)?;
    let walk = Walk {
        workspace,
        folder,
        visible,
        bounds,
        shallow: true,
    };
    found.late = walk.run(&mut |entry: Entry<'_>| {
        if entry.link && !link_is_visible(visible, &entry.path) {
            return ControlFlow::Continue(());
        }
        found.add(entry.path, entry.folder, cap)
    })?;
    Ok(found)
}

/// Files below `folder` whose path relative to it matches the glob. A pattern without `/` is
/// matched against file names at any depth.
pub fn glob(
    workspace: &Workspace,
    folder: &Located,
    pattern: &str,
    visible: &dyn Visibility,
    cap: usize,
    bounds: &Bounds<'_>,
) -> Result<Found, SearchError> {
    let matcher = compile_glob(pattern)?;
    let mut found = Found::default();
    let base = existing_folder(folder)?;
    let walk = Walk {
        workspace,
        folder,
        visible,
        bounds,
        shallow: false,
    };
    found.late = walk.run(&mut |entry: Entry<'_>| {
        let relative = entry.path.strip_prefix(base).unwrap_or(&entry.path);
        if entry.folder || entry.link || !matcher.is_match(relative) {
            return ControlFlow::Continue(());
        }
        found.add(entry.path, false, cap)
    })?;
    Ok(found)
}

/// Searches a file or all files below a folder; an open buffer's text replaces its file's.
pub fn grep(
    workspace: &Workspace,
    place: &Located,
    query: &Query,
    visible: &dyn Visibility,
    bounds: &Bounds<'_>,
) -> Result<Matches, SearchError> {
    let mut collector = Collector::new(query)?;
    let matcher = query.glob.as_deref().map(compile_glob).transpose()?;
    if place.kind != FileKind::Directory {
        if place.kind == FileKind::Missing && !place.open {
            return Err(no_such(place).into());
        }
        if place.path.is_absolute() && !visible.visible(&place.path) {
            return Ok(Matches::default());
        }
        collector.search_place(workspace, place)?;
        return Ok(collector.matches);
    }
    let walk = Walk {
        workspace,
        folder: place,
        visible,
        bounds,
        shallow: false,
    };
    let late = walk.run(&mut |entry: Entry<'_>| {
        let relative = entry.path.strip_prefix(&place.path).unwrap_or(&entry.path);
        let wanted = matcher.as_ref().is_none_or(|glob| glob.is_match(relative));
        if entry.folder || entry.link || !wanted {
            return ControlFlow::Continue(());
        }
        collector.search_entry(&entry)
    })?;
    collector.matches.late = late;
    Ok(collector.matches)
}

fn compile_glob(pattern: &str) -> Result<GlobMatcher, SearchError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let anywhere = format!("**/{pattern}");
    let pattern = match pattern.strip_prefix('/') {
        Some(anchored) => anchored,
        None if !pattern.contains('/') => &anywhere,
        None => pattern,
    };
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| SearchError::Pattern(error.to_string()))
}

fn existing_folder(folder: &Located) -> Result<&Path, SearchError> {
    match folder.kind {
        FileKind::Directory => Ok(&folder.path),
        FileKind::Missing => Err(no_such(folder).into()),
        FileKind::File | FileKind::Special => {
            let text = format!("{} is not a directory", folder.path.display());
            Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, text).into())
        }
    }
}

fn no_such(place: &Located) -> std::io::Error {
    let text = format!("{} does not exist", place.path.display());
    std::io::Error::new(std::io::ErrorKind::NotFound, text)
}

/// A link is shown if both it and its target may be shown.
fn link_is_visible(visible: &dyn Visibility, link: &Path) -> bool {
    visible.visible(&super::resolve::resolve(link).path)
}

#[cfg(test)]
mod tests;
