//! Whether a place that is known by name may be shown without asking: [`unasked`] for what the
//! user opened or named, [`Shown`] for what a program names, as a search would find it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::rules::Rules;
use super::types::Visibility;
use crate::workspace::{Located, Workspace};

/// Judges files as a search of their root would. Reads each root's rules once.
pub struct Shown<'a> {
    workspace: &'a Workspace,
    visible: &'a dyn Visibility,
    rules: BTreeMap<PathBuf, Rules>,
}

impl<'a> Shown<'a> {
    pub fn new(workspace: &'a Workspace, visible: &'a dyn Visibility) -> Self {
        Self {
            workspace,
            visible,
            rules: BTreeMap::new(),
        }
    }

    /// Ignore files do not apply outside the roots.
    pub fn shows(&mut self, located: &Located) -> bool {
        let path = &located.path;
        if located.excluded {
            return false;
        }
        let roots = self.workspace.roots();
        let root = located.root.as_ref().and_then(|(at, _)| roots.get(*at));
        let Some(root) = root else {
            return self.visible.visible(path);
        };
        let top = &root.path;
        let rules = self
            .rules
            .entry(top.clone())
            .or_insert_with(|| Rules::new(self.workspace, top, top, false));
        would_visit(self.visible, path, top, (top, rules))
    }
}

/// Whether the text at a canonical path may reach the model without a question to the user: neither
/// its names nor the user keep it from the model.
pub fn unasked(workspace: &Workspace, visible: &dyn Visibility, path: &Path) -> bool {
    let excluded = || workspace.excludes(path, path.is_dir());
    visible.visible(path) && (visible.with_excluded() || !excluded())
}

/// Whether a walk that begins in `base`, which has these rules, would visit the path and each folder
/// on the way to it.
pub(super) fn would_visit(
    visible: &dyn Visibility,
    path: &Path,
    top: &Path,
    (base, rules): (&Path, &Rules),
) -> bool {
    let mut folders: Vec<&Path> = path
        .ancestors()
        .take_while(|above| *above != base)
        .collect();
    folders.reverse();
    let mut rules = rules.clone();
    folders.into_iter().all(|place| {
        let shown = place.file_name() != Some(OsStr::new(".git"))
            && !rules.leave_out(place, place != path)
            && visible.visible(place);
        rules = rules.inside(place, top);
        shown
    })
}
