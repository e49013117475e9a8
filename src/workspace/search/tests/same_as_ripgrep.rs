//! The walk shows what the `ignore` crate's own walk shows, on trees of ordinary files.

use std::collections::BTreeMap;

use ignore::WalkBuilder;
use proptest::prelude::*;

use super::*;

const NAMES: &[&str] = &["a", "b", "c.log", "d.rs", ".hidden", "build"];

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a", "b", "build", "*", "**", "*.log", "?", "[ab]", "[!a]", ".*", "c.log", "\\!a", "{a,b}",
        "", "a ", "#", "[", "é",
    ]);
    let parts = prop::collection::vec(part, 1..4);
    (any::<bool>(), any::<bool>(), parts, any::<bool>()).prop_map(|(not, root, parts, folder)| {
        let mark = |on: bool, mark: &'static str| if on { mark } else { "" };
        let path = parts.join("/");
        format!(
            "{}{}{path}{}\n",
            mark(not, "!"),
            mark(root, "/"),
            mark(folder, "/")
        )
    })
}

/// Path and text of each file.
pub(super) fn tree() -> impl Strategy<Value = BTreeMap<String, String>> {
    let folder = || prop::collection::vec(prop::sample::select(NAMES), 0..4);
    let file = (folder(), prop::sample::select(NAMES));
    let files = prop::collection::vec(file, 1..25);
    let names = vec![".ignore", ".gitignore", ".git/info/exclude"];
    let lines = prop::collection::vec(pattern(), 1..5);
    let rules = (folder(), prop::sample::select(names), any::<bool>(), lines);
    (files, prop::collection::vec(rules, 0..6)).prop_map(|(files, rules)| {
        let files = files.into_iter().map(|(mut folder, name)| {
            folder.push(name);
            (folder.join("/"), String::new())
        });
        let rules = rules.into_iter().map(|(mut folder, name, mark, lines)| {
            folder.push(name);
            let mark = if mark { "\u{feff}" } else { "" };
            (folder.join("/"), format!("{mark}{}", lines.concat()))
        });
        files.chain(rules).collect()
    })
}

fn theirs(folder: &Path) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(folder);
    walk.hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Path::cmp);
    let entries = walk.build().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.map(|entry| entry.path().to_owned()).collect()
}

proptest! {
    #[test]
    fn the_same_files_in_the_same_order(tree in tree(), below in prop::sample::select(NAMES)) {
        let place = Place::new(&[]);
        for (name, text) in &tree {
            let path = place.repo.join(name);
            // A name may be a file's and a folder's; the first one stays.
            if fs::create_dir_all(path.parent().expect("parent")).is_ok() {
                let _ = fs::write(path, text);
            }
        }
        for folder in [".", below] {
            let located = place.locate(folder);
            if located.kind != FileKind::Directory {
                continue;
            }
            let bounds = place.bounds();
            let found = glob(&place.workspace, &located, "**", &All, 999, &bounds).expect("found");
            let ours: Vec<PathBuf> = found.paths.into_iter().map(|(path, _)| path).collect();
            prop_assert_eq!(ours, theirs(&located.path), "{}", folder);
        }
    }
}
