use std::os::unix::fs::symlink;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::env::Env;
use crate::workspace::{Root, Uri, Workspace, beneath};

struct Place {
    _dir: TempDir,
    base: PathBuf,
    workspace: Arc<Workspace>,
}

/// `base/up/repo` is the root, `base/config` the config folder.
fn place(files: &[(&str, &str)]) -> Place {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    std::fs::create_dir_all(base.join("up/repo")).expect("folder");
    let place = Place {
        workspace: Workspace::new(),
        base,
        _dir: dir,
    };
    for (name, text) in files {
        place.write(name, text);
    }
    let mut env = Env::fixed(&place.base, jiff::Zoned::now(), Default::default());
    env.dirs.config = place.base.join("config");
    place.workspace.set_user(&env);
    let root = Root::new(Uri::from_path(&place.base.join("up/repo")), None).expect("a root");
    place.workspace.set_roots(vec![root]);
    place
}

impl Place {
    fn write(&self, name: &str, text: &str) {
        let path = self.base.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    fn excludes(&self, name: &str) -> bool {
        let located = beneath::locate_path(&self.workspace, &self.base.join(name));
        located.excluded
    }
}

#[test]
fn patterns_are_those_of_gitignore_in_any_folder_of_a_root() {
    let place = place(&[
        (
            "up/repo/.interlineignore",
            "*.csv\n!open.csv\n/top.txt\nprivate/\n# a.rs\n",
        ),
        ("up/repo/src/.interlineignore", "only-here\n"),
        ("up/repo/private/a.rs", ""),
    ]);
    for (name, excluded) in [
        ("up/repo/a.csv", true),
        ("up/repo/deep/er/b.csv", true),
        ("up/repo/open.csv", false),
        ("up/repo/top.txt", true),
        ("up/repo/src/top.txt", false),
        ("up/repo/private", true),
        ("up/repo/private/a.rs", true),
        ("up/repo/private/open.csv", true),
        ("up/repo/src/only-here", true),
        ("up/repo/only-here", false),
        ("up/repo/src/a.rs", false),
        ("up/repo", false),
    ] {
        assert_eq!(place.excludes(name), excluded, "{name}");
    }
}

/// INV-9: whatever a repository carries or a command creates, it only adds.
#[test]
fn inv9_no_list_takes_out_what_another_excludes() {
    let place = place(&[
        ("config/ignore", "*.csv\n"),
        ("up/.interlineignore", "*.dat\n"),
        ("up/repo/.interlineignore", "!*.csv\n!*.dat\n*.log\n"),
        ("up/repo/sub/.interlineignore", "!*\n"),
    ]);
    for name in [
        "a.csv",
        "sub/b.csv",
        "c.dat",
        "sub/d.dat",
        "e.log",
        "sub/f.log",
    ] {
        assert!(place.excludes(&format!("up/repo/{name}")), "{name}");
    }
    assert!(!place.excludes("up/repo/sub/g.txt"));
}

#[test]
fn the_users_own_list_applies_to_each_root_and_outside() {
    let place = place(&[("config/ignore", "/notes\ndrafts\n*.csv\n")]);
    for (name, excluded) in [
        ("up/repo/notes", true),
        ("up/repo/sub/notes", false),
        ("elsewhere/a.csv", true),
        ("elsewhere/drafts/a", true),
        ("elsewhere/a.txt", false),
    ] {
        assert_eq!(place.excludes(name), excluded, "{name}");
    }
}

/// A pattern that matches a folder above a root does not exclude the root.
#[test]
fn a_root_and_what_is_above_it_are_never_excluded() {
    let place = place(&[
        ("config/ignore", "up\nrepo\n"),
        ("up/.interlineignore", "repo\n"),
    ]);
    assert!(!place.excludes("up/repo"));
    assert!(!place.excludes("up/repo/a.txt"));
    assert!(place.excludes("up/repo/repo/a.txt"));
}

#[test]
fn a_list_applies_as_soon_as_it_is_written_and_until_it_is_removed() {
    let place = place(&[("up/repo/a.txt", ""), ("up/repo/sub/b.txt", "")]);
    for name in [
        "up/repo/.interlineignore",
        "up/repo/sub/.interlineignore",
        "config/ignore",
    ] {
        assert!(!place.excludes("up/repo/sub/b.txt"), "{name}");
        place.write(name, "b.txt\n");
        assert!(place.excludes("up/repo/sub/b.txt"), "{name}");
        place.write(name, "a.txt\n");
        assert!(!place.excludes("up/repo/sub/b.txt"), "{name}");
        place.write(name, "b.txt\n");
        std::fs::remove_file(place.base.join(name)).expect("removed");
    }
    assert!(!place.excludes("up/repo/sub/b.txt"));
}

/// What a list that cannot be read would keep from the model is unknown.
#[test]
fn a_list_that_cannot_be_read_excludes_everything_in_its_folder() {
    let long = "x".repeat(300 * 1024);
    let place = place(&[("up/repo/long/.interlineignore", &long), ("outside", "")]);
    for name in ["folder", "link"] {
        std::fs::create_dir_all(place.base.join("up/repo").join(name)).expect("folder");
    }
    let list = |name: &str| place.base.join("up/repo").join(name).join(NAME);
    std::fs::create_dir(list("folder")).expect("folder");
    symlink(place.base.join("outside"), list("link")).expect("link");
    for name in ["long", "folder", "link"] {
        assert!(place.excludes(&format!("up/repo/{name}/a.txt")), "{name}");
        assert!(!place.excludes(&format!("up/repo/{name}")), "{name}");
    }
    assert!(!place.excludes("up/repo/a.txt"));
}

/// A13: neither a link to an excluded file nor an excluded link shows its target.
#[test]
fn a13_links_are_judged_by_their_names_and_their_targets() {
    let place = place(&[
        ("up/repo/.interlineignore", "secret.txt\nhidden\n"),
        ("up/repo/secret.txt", ""),
        ("up/repo/plain.txt", ""),
    ]);
    let repo = place.base.join("up/repo");
    symlink("secret.txt", repo.join("other.txt")).expect("link");
    symlink("plain.txt", repo.join("hidden")).expect("link");
    assert!(place.excludes("up/repo/other.txt"));
    assert!(place.excludes("up/repo/hidden"));
    assert!(!place.excludes("up/repo/plain.txt"));
}
