//! Shared by `list`, `glob` and `grep`: searches a place off the async threads, can be cancelled,
//! and shows only what policy allows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Prepared, ToolContext, ToolError, ToolOutput, ToolResult, target};
use crate::env::tasks;
use crate::host::Access;
use crate::policy::{Decision, Policy, Reason, paths};
use crate::workspace::search::{
    self, Bounds, Entries, Found, Matches, Query, SearchError, Visibility,
};
use crate::workspace::{FileKind, Located, Workspace};

pub(super) const PATHS: usize = 500;
pub(super) const LINES: usize = 200;

/// Longest time of one search. It then shows what it has found.
const TIME: Duration = Duration::from_secs(30);

/// Further time in which a search must notice that. One that does not is stuck in the file system.
const GRACE: Duration = Duration::from_secs(5);

/// Longest line of a search result, and most bytes of one.
const LONGEST_LINE: usize = 500;
const BYTES: usize = 50 * 1024;

/// What to search for.
pub(super) enum Job {
    List,
    Glob(String),
    Grep(Query),
}

/// A search that is ready to run.
pub(super) struct Search {
    pub title: String,
    pub place: Located,
    pub job: Job,
}

/// The place to search: the argument, or else the folder that the agent is confined to, or else
/// the session's directory.
pub(super) fn search_root(cx: &ToolContext, argument: Option<&str>) -> Result<Located, ToolError> {
    let confine = cx.policy.confine.as_ref();
    let own = confine.map(|folder| folder.display().to_string());
    let own = own.as_deref().unwrap_or(".");
    target::locate(cx, argument.unwrap_or(own))
}

/// What may be shown: what `read` shows without asking. In an excluded place that the user approved,
/// also what is excluded; in a place of secrets, everything except our own files.
struct SearchVisibility {
    policy: Policy,
    secrets: bool,
    excluded: bool,
}

impl Visibility for SearchVisibility {
    fn visible(&self, path: &Path) -> bool {
        if self.secrets {
            !paths::class(path, &self.policy.own).hidden
        } else {
            self.policy.visible(path)
        }
    }

    fn with_excluded(&self) -> bool {
        self.excluded
    }

    fn inside<'a>(&'a self, folder: &Path) -> Entries<'a> {
        if !self.secrets {
            return self.policy.inside(folder);
        }
        let entries = paths::Entries::new(folder, &self.policy.own);
        Box::new(move |name| !entries.class(name).hidden)
    }
}

enum Answer {
    Paths(Found),
    Lines(Matches),
}

impl Search {
    pub fn prepared(self) -> Prepared {
        let (title, place) = (self.title.clone(), self.place.clone());
        Prepared::reading(title, &place, |cx| self.run(cx).boxed())
    }

    async fn run(self, cx: &ToolContext) -> ToolResult {
        let place = target::display_name(cx, &self.place);
        if self.place.kind == FileKind::Missing && !self.place.open {
            return Err(cx.error("results/folder-missing.md", &[("path", &place)]));
        }
        if !matches!(self.job, Job::Grep(_)) && self.place.kind != FileKind::Directory {
            return Err(cx.error("results/not-a-folder.md", &[("path", &place)]));
        }
        cx.host.refresh_files(&cx.session).await;
        let eyes = SearchVisibility {
            secrets: matches!(
                target::decision(cx, &self.place, Access::Read),
                Decision::Ask {
                    reason: Reason::Secret,
                    ..
                }
            ),
            excluded: self.place.excluded,
            policy: cx.policy.clone(),
        };
        let workspace = Arc::clone(&cx.workspace);
        let result = off_thread(cx, move |cancel| self.run_job(&workspace, &eyes, cancel)).await?;
        Ok(match result {
            Answer::Paths(found) => paths_found(cx, &place, &found),
            Answer::Lines(matches) => lines_found(cx, &place, &matches),
        })
    }

    fn run_job(
        &self,
        workspace: &Workspace,
        eyes: &SearchVisibility,
        cancel: &AtomicBool,
    ) -> Result<Answer, SearchError> {
        let (place, bounds) = (&self.place, &Bounds::new(cancel, TIME));
        match &self.job {
            Job::List => search::list(workspace, place, eyes, PATHS, bounds).map(Answer::Paths),
            Job::Glob(pattern) => {
                search::glob(workspace, place, pattern, eyes, PATHS, bounds).map(Answer::Paths)
            }
            Job::Grep(query) => {
                search::grep(workspace, place, query, eyes, bounds).map(Answer::Lines)
            }
        }
    }
}

/// Sets the flag when the caller is dropped, so that the search thread ends.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&AtomicBool) -> Result<T, SearchError> + Send + 'static,
) -> Result<T, ToolError> {
    let flag = CancelOnDrop(Arc::new(AtomicBool::new(false)));
    let shared = Arc::clone(&flag.0);
    let mut thread = tasks::blocking(move || work(&shared));
    let joined = tokio::select! {
        joined = tokio::time::timeout(TIME + GRACE, &mut thread) => joined,
        () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
    };
    let result = match joined {
        Ok(joined) => joined.unwrap_or_else(|error| Err(std::io::Error::other(error).into())),
        Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
    };
    result.map_err(|error| match error {
        SearchError::Cancelled => ToolError::Cancelled,
        SearchError::Pattern(problem) => {
            cx.error("results/search-pattern.md", &[("problem", &problem)])
        }
        SearchError::Io(error) => cx.error("results/search-error.md", &[("problem", &error)]),
    })
}

fn paths_found(cx: &ToolContext, place: &str, found: &Found) -> ToolOutput {
    let late = time_limit_note(cx, found.late);
    if found.paths.is_empty() {
        let nothing = cx.text("results/search-nothing.md", &[("path", &place)]);
        return with_notes(ToolOutput::text(nothing), [late]);
    }
    let lines = found.paths.iter().map(|(path, folder)| {
        let mut line = target::relative_path(cx, path);
        if *folder {
            line.push('/');
        }
        line
    });
    with_notes(capped(cx, lines, found.capped), [late])
}

/// The note that the time limit was reached.
fn time_limit_note(cx: &ToolContext, late: bool) -> Option<String> {
    late.then(|| cx.text("results/search-late.md", &[("seconds", &TIME.as_secs())]))
}

/// Notes below a result, each on a line of its own.
fn with_notes(
    mut output: ToolOutput,
    notes: impl IntoIterator<Item = Option<String>>,
) -> ToolOutput {
    for note in notes.into_iter().flatten() {
        output.text.push('\n');
        output.text.push_str(&note);
    }
    output
}

fn lines_found(cx: &ToolContext, place: &str, matches: &Matches) -> ToolOutput {
    let skipped = (matches.skipped > 0)
        .then(|| cx.text("results/search-skipped.md", &[("count", &matches.skipped)]));
    let notes = [skipped, time_limit_note(cx, matches.late)];
    if matches.lines.is_empty() {
        let nothing = cx.text("results/search-nothing.md", &[("path", &place)]);
        return with_notes(ToolOutput::text(nothing), notes);
    }
    let mut lines = Vec::new();
    let mut long = false;
    let mut last: Option<(&Path, u64)> = None;
    let grouped = matches.lines.iter().any(|line| line.context);
    for line in &matches.lines {
        let follows = last == Some((&line.path, line.number.saturating_sub(1)));
        if grouped && last.is_some() && !follows {
            lines.push("--".to_owned());
        }
        last = Some((&line.path, line.number));
        let mark = if line.context { '-' } else { ':' };
        let path = target::relative_path(cx, &line.path);
        let mut text: String = line.text.chars().take(LONGEST_LINE).collect();
        if text.len() < line.text.len() {
            text.push('…');
            long = true;
        }
        lines.push(format!("{path}{mark}{}{mark}{text}", line.number));
    }
    let long = long.then(|| cx.text("results/search-long.md", &[("most", &LONGEST_LINE)]));
    let notes = [long].into_iter().chain(notes);
    with_notes(capped(cx, lines.into_iter(), matches.capped), notes)
}

/// The lines up to [`BYTES`], with a note if there were more.
fn capped(cx: &ToolContext, lines: impl Iterator<Item = String>, capped: bool) -> ToolOutput {
    let mut text = String::new();
    let mut truncated = capped;
    let mut count = 0_usize;
    for line in lines {
        if text.len() + line.len() > BYTES {
            truncated = true;
            break;
        }
        text.push_str(&line);
        text.push('\n');
        count += 1;
    }
    if truncated {
        text.push_str(&cx.text("results/search-capped.md", &[("count", &count)]));
    } else {
        text.pop();
    }
    ToolOutput {
        text,
        truncated,
        ..ToolOutput::default()
    }
}
