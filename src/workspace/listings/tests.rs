use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn base() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    std::fs::create_dir_all(base.join("a/b/c")).expect("folders");
    (dir, base)
}

fn write(path: &Path) {
    std::fs::write(path, "x").expect("a file");
}

#[test]
fn a_name_that_is_in_no_folder_is_known_to_be_missing_until_it_appears() {
    let (_dir, base) = base();
    let (all, deep) = (Listings::default(), base.join("a/b/c"));
    write(&base.join("a/agents.MD"));
    for _ in 0..2 {
        let known = all.look(&base, &deep);
        assert!(known.may_have(&base.join("a"), "AGENTS.md"));
        assert!(!known.may_have(&deep, "AGENTS.md"));
        assert!(!known.may_have(&base, "AGENTS.md"));
        assert!(known.may_have(&base.join("elsewhere"), "AGENTS.md"));
        assert!(known.may_have(&deep, "Größe.md"));
    }
    write(&deep.join("AGENTS.md"));
    write(&base.join("AGENTS.md"));
    let known = all.look(&base, &deep);
    assert!(known.may_have(&deep, "AGENTS.md") && known.may_have(&base, "AGENTS.md"));
}

#[test]
fn a_folder_that_another_one_replaced_is_listed_again() {
    let (_dir, base) = base();
    let (all, deep) = (Listings::default(), base.join("a/b/c"));
    all.look(&base, &deep);
    std::fs::create_dir_all(base.join("new")).expect("a folder");
    write(&base.join("new/AGENTS.md"));
    std::fs::rename(base.join("a/b/c"), base.join("new/c")).expect("moved");
    std::fs::rename(base.join("a/b"), base.join("old")).expect("moved");
    std::fs::rename(base.join("new"), base.join("a/b")).expect("moved");
    // The deepest folder is the same, the one above it is not.
    assert!(
        all.look(&base, &deep)
            .may_have(&base.join("a/b"), "AGENTS.md")
    );
}

#[test]
fn nothing_is_known_behind_a_link_and_of_a_large_folder() {
    let (_dir, base) = base();
    let all = Listings::default();
    symlink("a", base.join("link")).expect("a link");
    let known = all.look(&base, &base.join("link/b"));
    assert!(known.may_have(&base.join("link/b"), "x") && known.may_have(&base.join("link"), "x"));
    for n in 0..=ENTRIES {
        write(&base.join(format!("a/{n}")));
    }
    let known = all.look(&base, &base.join("a/b"));
    assert!(known.may_have(&base.join("a"), "x"));
    assert!(!known.may_have(&base.join("a/b"), "x") && !known.may_have(&base, "x"));
}

#[test]
fn a_bounded_number_of_descriptors_is_kept() {
    let (_dir, base) = base();
    let all = Listings::default();
    for n in 0..2 * MOST {
        std::fs::create_dir_all(base.join(format!("{n}/x"))).expect("folders");
        all.look(&base, &base.join(format!("{n}/x")));
    }
    let long: PathBuf = std::iter::repeat_n("d", 2 * MOST).collect();
    std::fs::create_dir_all(base.join(&long)).expect("folders");
    let known = all.look(&base, &base.join(&long));
    assert!(!known.may_have(&base, "x") && !known.may_have(&base.join(long), "x"));
    assert!(all.0.lock().len() <= MOST);
}

const PLACES: [&str; 7] = ["", "a", "a/b", "a/b/c", "z", "z/b", "z/b/c"];

proptest! {
    /// Whatever happens between two looks, a file that exists is never taken for missing.
    #[test]
    fn what_exists_may_exist(steps in proptest::collection::vec((0..4, 0..7usize, 0..7usize), 1..20)) {
        let (_dir, base) = base();
        let all = Listings::default();
        for (step, from, to) in steps {
            let (from, to) = (base.join(PLACES[from]), base.join(PLACES[to]));
            // Most fail, as they may.
            let _ = match step {
                0 => std::fs::write(from.join("f"), "x"),
                1 => std::fs::remove_file(from.join("f")),
                2 => std::fs::create_dir_all(&to),
                _ => std::fs::rename(&from, &to),
            };
            for place in PLACES {
                let deep = base.join(place);
                let known = all.look(&base, &deep);
                for folder in deep.ancestors().take_while(|it| it.starts_with(&base)) {
                    prop_assert!(!folder.join("f").exists() || known.may_have(folder, "f"));
                }
            }
        }
    }
}
