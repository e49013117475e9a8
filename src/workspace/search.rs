//! Listing, globbing and searching in process, with ignore rules. Open buffers take precedence over
//! files. Results are in path order and capped, and report whether the cap was reached.

mod crew;
mod hits;
mod lines;
mod rules;
mod shown;
mod tour;
mod types;
mod walk;

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::{FileKind, Located, Workspace};
use hits::{Hit, Hits};
use lines::Pattern;
pub use shown::{Shown, unasked};
pub use types::{Bounds, Entries, Found, Line, Matches, Query, SearchError, Visibility};
use walk::Walk;

/// The entries of one folder (`true` = folder), without ignored ones.
pub fn list(
    workspace: &Workspace,
    folder: &Located,
    visible: &dyn Visibility,
    cap: usize,
    bounds: &Bounds<'_>,
) -> Result<Found, SearchError> {
    existing_folder(folder)?;
    let hits = Hits::new(cap);
    let walk = Walk {
        workspace,
        folder,
        visible,
        bounds,
        shallow: true,
        wanted: &|_| true,
        visit: &|| {
            Box::new(|entry| {
                let shown = !entry.link || link_is_visible(workspace, visible, entry.path);
                shown.then_some(Hit::Path(entry.folder))
            })
        },
        hits: &hits,
    };
    let late = crew::run(&walk)?;
    Ok(paths(hits, cap, late))
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
    existing_folder(folder)?;
    let hits = Hits::new(cap);
    let walk = Walk {
        workspace,
        folder,
        visible,
        bounds,
        shallow: false,
        wanted: &|relative| matcher.is_match(relative),
        visit: &|| Box::new(|_| Some(Hit::Path(false))),
        hits: &hits,
    };
    let late = crew::run(&walk)?;
    Ok(paths(hits, cap, late))
}

/// Searches a file or all files below a folder; an open buffer's text replaces its file's.
pub fn grep(
    workspace: &Workspace,
    place: &Located,
    query: &Query,
    visible: &dyn Visibility,
    bounds: &Bounds<'_>,
) -> Result<Matches, SearchError> {
    let pattern = Pattern::new(query)?;
    let hits = Hits::new(query.cap);
    let matcher = query.glob.as_deref().map(compile_glob).transpose()?;
    if place.kind != FileKind::Directory {
        if place.kind == FileKind::Missing && !place.open {
            return Err(no_such(place).into());
        }
        if place.path.is_absolute() && !unasked(workspace, visible, &place.path) {
            return Ok(Matches::default());
        }
        if let Some(hit) = pattern.collector().search_place(workspace, place)? {
            hits.add(place.path.clone(), hit);
        }
        return Ok(lines(hits, query.cap, false));
    }
    let walk = Walk {
        workspace,
        folder: place,
        visible,
        bounds,
        shallow: false,
        wanted: &|relative| matcher.as_ref().is_none_or(|glob| glob.is_match(relative)),
        visit: &|| {
            let mut collector = pattern.collector();
            Box::new(move |entry| collector.search_entry(&entry))
        },
        hits: &hits,
    };
    let late = crew::run(&walk)?;
    Ok(lines(hits, query.cap, late))
}

/// The first `cap` paths.
fn paths(hits: Hits, cap: usize, late: bool) -> Found {
    let mut found = Found {
        late,
        ..Found::default()
    };
    for (path, hit) in hits.in_order() {
        if found.paths.len() == cap {
            found.capped = true;
            break;
        }
        found.paths.push((path, matches!(hit, Hit::Path(true))));
    }
    found
}

/// The first `cap` lines.
fn lines(hits: Hits, cap: usize, late: bool) -> Matches {
    let mut matches = Matches {
        late,
        ..Matches::default()
    };
    for (_, hit) in hits.in_order() {
        match hit {
            Hit::Lines(lines) => matches.lines.extend(lines),
            Hit::Skipped => matches.skipped += 1,
            Hit::Path(_) => {}
        }
        if matches.lines.len() > cap {
            matches.lines.truncate(cap);
            matches.capped = true;
            break;
        }
    }
    matches
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
fn link_is_visible(workspace: &Workspace, visible: &dyn Visibility, link: &Path) -> bool {
    unasked(workspace, visible, &super::resolve::resolve(link).path)
}

#[cfg(test)]
mod tests;
