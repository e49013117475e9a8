//! Lines of an instruction file that consist of the name of a file: that file follows as an item
//! of its own. One level deep, bounded, and never outside the workspace, because a repository wrote
//! these lines.

use std::path::PathBuf;

use super::configured::lexical;
use super::{Gatherer, Origin};
use crate::workspace::FileKind;

/// Most lines that are checked, most files that are added, most bytes of a name.
const LINES: usize = 2_000;
const FILES: usize = 50;
const LONGEST: usize = 1_024;

impl Gatherer<'_> {
    /// Adds the files named by the lines of `found[at]`, in order.
    pub(super) fn references(&mut self, at: usize) {
        let Some(one) = self.found.get(at) else {
            return;
        };
        let (source, text) = (one.source.clone(), one.text.clone());
        let names = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '-']));
        let mut tried = 0;
        for (looked, line) in names.enumerate() {
            let named = self.named(line);
            if looked >= LINES || (named.is_some() && tried >= FILES) {
                let reason = format!(
                    "only the first {FILES} files that it names within {LINES} lines are used"
                );
                self.problems.push((source, reason));
                return;
            }
            let Some(path) = named else {
                continue;
            };
            tried += 1;
            let used = self.found.iter().any(|one| one.source == line);
            let label = match used {
                // The label is also a key; two files must not share it.
                true => self.texts.shown(&path),
                false => line.to_owned(),
            };
            self.add_file(&path, label, Origin::Reference);
        }
    }

    /// The file that a line names, if it is a regular file in the workspace.
    fn named(&self, line: &str) -> Option<PathBuf> {
        if line.len() > LONGEST || line.chars().any(char::is_control) {
            return None;
        }
        let texts = &self.texts;
        let roots = texts.roots.iter().map(|root| &root.path);
        let bases = [&texts.cwd, &texts.top].into_iter().chain(roots);
        bases
            .map(|base| lexical(&base.join(line)))
            .filter(|path| texts.in_workspace(path))
            .find(|path| {
                let located = texts.locate(path).ok().flatten();
                located.is_some_and(|located| {
                    let regular = located.kind == FileKind::File
                        || (located.kind == FileKind::Missing && located.open);
                    regular && texts.in_workspace(&located.path)
                })
            })
    }
}
