//! Commands and unsaved text: what a confined command sees in place of files on disk, what has to
//! be saved first, and what the command wrote, as edits of the buffers.

use std::path::Path;
use std::sync::Arc;

use ropey::Rope;

use crate::config::Review;
use crate::edit::plan;
use crate::env::tasks;
use crate::knowledge::open_regular;
use crate::policy::paths;
use crate::process::Finished;
use crate::process::confine::{Grade, Overlay, Plan};
use crate::tools::change::Change;
use crate::tools::{ToolContext, ToolError, ToolOutput, target};
use crate::workspace::file_state::FileState;
use crate::workspace::search::Visibility as _;
use crate::workspace::{
    Document, FileKind, Located, Revision, SyncState, Uri, Workspace, beneath, files,
};

/// Most bytes of all texts that a command sees; those beyond are saved first.
const MOST: usize = 16 * 1024 * 1024;

/// The documents below the roots whose text is not on disk.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    /// The command sees their text in the editor.
    pub seen: Vec<Seen>,
    /// It sees them once they are saved.
    pub unseen: Vec<Uri>,
}

/// A document that a command sees, as it was when the command started.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    located: Located,
    rope: Rope,
    revision: Revision,
    bom: bool,
    mode: u32,
    /// The command may write to it.
    writable: bool,
}

impl Seen {
    pub fn uri(&self) -> String {
        self.located.uri.to_string()
    }

    fn name(&self, cx: &ToolContext) -> String {
        target::display_name(cx, &self.located)
    }
}

/// Finds them. `background`: the command may outlive the texts, so all are saved.
pub(super) async fn find(
    cx: &ToolContext,
    cwd: &Located,
    grade: Grade,
    background: bool,
) -> Unsaved {
    cx.host.refresh_files(&cx.session).await;
    let shows = grade == Grade::Full && !background && cx.config.exec.overlay != Some(false);
    let (cx, cwd) = (cx.clone(), cwd.clone());
    let sort = move || sort(&cx, &cwd, shows);
    tasks::blocking(sort).await.unwrap_or_default()
}

fn sort(cx: &ToolContext, cwd: &Located, shows: bool) -> Unsaved {
    let roots = cx.workspace.roots();
    let root = cwd.root.as_ref().and_then(|(index, _)| roots.get(*index));
    let folder = root.map_or(&cwd.path, |root| &root.path);
    let below = |uri: &Uri| Path::new(&uri.key()).starts_with(folder);
    // No command needs a transcript.
    let transcript = |uri: &Uri| {
        uri.path()
            .is_some_and(|path| paths::transcript(&path, &cx.env.dirs.state))
    };
    let mut found = Unsaved::default();
    let mut size = 0;
    for document in cx.workspace.documents() {
        let state = cx.workspace.file_state(&document);
        if !state.unsaved() || transcript(&document.uri) {
            continue;
        }
        match shows
            .then(|| seen(&cx.workspace, &document, state))
            .flatten()
        {
            // The sandbox hides it, saved or not.
            Some(seen) if seen.located.excluded || !cx.policy.visible(&seen.located.path) => {}
            Some(seen) if size + seen.rope.len_bytes() <= MOST => {
                size += seen.rope.len_bytes();
                found.seen.push(seen);
            }
            _ if below(&document.uri) => found.unseen.push(document.uri),
            _ => {}
        }
    }
    let held = cx.lanes.held().into_iter().map(|(located, _)| located.uri);
    found.unseen.extend(held.filter(|uri| below(uri)));
    found.unseen.sort_unstable();
    found.unseen.dedup();
    found
        .seen
        .sort_by(|a, b| a.located.path.cmp(&b.located.path));
    found
}

/// The document as a command can see it: one whose file is below a root and has text in UTF-8, as
/// the buffer will have when it is saved.
fn seen(workspace: &Workspace, document: &Document, state: FileState) -> Option<Seen> {
    use std::os::unix::fs::PermissionsExt as _;
    let has_file = matches!(
        state,
        FileState::Unsaved | FileState::Different | FileState::Conflicting
    );
    if !has_file || !document.opened || document.sync != SyncState::InSync {
        return None;
    }
    let located = beneath::locate_path(workspace, &document.uri.path()?);
    if located.root.is_none() || located.kind != FileKind::File {
        return None;
    }
    let bom = files::on_disk(workspace, &located).ok()?.bom;
    let mode = located.path.metadata().ok()?.permissions().mode() & 0o777;
    Some(Seen {
        located,
        rope: document.rope.clone(),
        revision: document.revision,
        bom,
        mode,
        writable: true,
    })
}

impl Unsaved {
    /// Lets a command by this plan see the texts. Those that it may not read are left out, and
    /// those that it may not write are read-only.
    pub fn cover(&mut self, cx: &ToolContext, plan: &mut Plan) {
        let hidden = |path: &Path| plan.hidden.iter().any(|it| path.starts_with(&it.path));
        self.seen.retain(|seen| !hidden(&seen.located.path));
        let before = cx.config.edits.review == Review::Before;
        for seen in &mut self.seen {
            let path = &seen.located.path;
            let held = plan.read_only.iter().any(|it| path.starts_with(it));
            seen.writable = !held && !before;
            let since = cx.background.seen_since(path, files::rope_hash(&seen.rope));
            let mark = if seen.bom { "\u{feff}" } else { "" };
            plan.overlays.push(Overlay {
                path: path.clone(),
                text: format!("{mark}{}", seen.rope),
                mode: seen.mode,
                modified: since,
                writable: seen.writable,
            });
        }
    }

    /// Lines of their own: the files whose unsaved text the command saw, and did not see.
    pub fn note(&self, cx: &ToolContext) -> String {
        let mut lines = String::new();
        let seen: Vec<String> = self.seen.iter().map(|seen| seen.name(cx)).collect();
        let unseen: Vec<String> = self
            .unseen
            .iter()
            .filter(|uri| !cx.workspace.excludes(Path::new(&uri.key()), false))
            .map(|uri| match uri.path() {
                Some(path) => target::relative_path(cx, &path),
                None => uri.to_string(),
            })
            .collect();
        if !seen.is_empty() {
            lines.push('\n');
            let files = seen.join(", ");
            lines.push_str(&cx.text("results/exec-saw-unsaved.md", &[("files", &files)]));
        }
        if !unseen.is_empty() {
            lines.push('\n');
            let files = unseen.join(", ");
            lines.push_str(&cx.text("results/exec-unsaved.md", &[("files", &files)]));
        }
        lines
    }
}

/// Files that commands saw with a text that is gone get a new modification time. Otherwise build
/// tools would not notice that what they made of that text is out of date.
pub(super) async fn touch_discarded(cx: &ToolContext, unsaved: &Unsaved) {
    let unseen: Vec<_> = unsaved.unseen.iter().filter_map(Uri::path).collect();
    let kept = |path: &Path| {
        unsaved.seen.iter().any(|seen| seen.located.path == path)
            || unseen.iter().any(|it| it == path)
    };
    let discarded = cx.background.take_seen(kept);
    if discarded.is_empty() {
        return;
    }
    let workspace = Arc::clone(&cx.workspace);
    let touch = move || {
        for (path, since) in discarded {
            let located = beneath::locate_path(&workspace, &path);
            if located.root.is_none() || located.path != path {
                continue;
            }
            let older = |file: &std::fs::File| {
                let modified = file.metadata().and_then(|it| it.modified());
                modified.is_ok_and(|modified| modified < since)
            };
            if let Ok(file) = open_regular(&path)
                && older(&file)
                && let Err(error) = file.set_modified(std::time::SystemTime::now())
            {
                tracing::warn!(%error, path = %path.display(), "its time stays old");
            }
        }
    };
    let _ = tasks::blocking(touch).await;
}

/// Completes the output of a command: what it wrote becomes edits of the buffers, and notes say
/// what it saw. `refused`: it failed, maybe because the sandbox refused something.
pub(super) async fn finish(
    cx: &ToolContext,
    unsaved: &Unsaved,
    (finished, refused): (&Finished, bool),
    output: &mut ToolOutput,
) {
    output.text.push_str(&unsaved.note(cx));
    if !unsaved.seen.is_empty() && refused {
        let held = unsaved.seen.iter().filter(|seen| !seen.writable);
        let held: Vec<String> = held.map(|seen| seen.name(cx)).collect();
        output.text.push('\n');
        output.text.push_str(&match held.is_empty() {
            true => cx.text("results/exec-not-replaced.md", &[]),
            false => cx.text(
                "results/exec-not-written.md",
                &[("files", &held.join(", "))],
            ),
        });
    }
    for written in &finished.written {
        let of = |seen: &&Seen| seen.located.path == written.path;
        let Some(seen) = unsaved.seen.iter().find(of) else {
            continue;
        };
        let made = bring_back(cx, seen, written.text.as_deref()).await;
        output.text.push('\n');
        output.text.push_str(&made.text);
        output.is_error |= made.is_error;
        output.files.extend(made.files);
        if let Some(diff) = made.diff {
            output.diff.get_or_insert_default().push_str(&diff);
        }
    }
}

/// Makes what the command wrote to a file an edit of its buffer, beside everything typed since.
async fn bring_back(cx: &ToolContext, seen: &Seen, text: Option<&str>) -> ToolOutput {
    let path = seen.name(cx);
    let failed = |text: String| ToolOutput {
        text,
        is_error: true,
        ..ToolOutput::default()
    };
    let Some(text) = text else {
        return failed(cx.text("results/exec-not-text.md", &[("path", &path)]));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plan = plan::write(&seen.rope, text);
    if plan.hunks.is_empty() {
        return ToolOutput::text(cx.text("results/exec-line-ends.md", &[("path", &path)]));
    }
    let change = Change::of_command(cx, seen.located.clone(), plan, seen.revision);
    match change.run(cx).await {
        Ok(mut output) => {
            let result = std::mem::take(&mut output.text);
            output.text = match output.is_error {
                true => cx.text(
                    "results/exec-not-edited.md",
                    &[("path", &path), ("result", &result)],
                ),
                false => cx.text(
                    "results/exec-edited.md",
                    &[("path", &path), ("result", &result)],
                ),
            };
            output
        }
        Err(ToolError::Cancelled) => failed(cx.text("results/cancelled.md", &[])),
        Err(error) => failed(error.to_string()),
    }
}
