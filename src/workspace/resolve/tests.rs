use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn base() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    (dir, base)
}

#[test]
fn up_from_a_link_leads_to_the_targets_folder() {
    let (_dir, base) = base();
    std::fs::create_dir_all(base.join("far/deep")).expect("folder");
    std::fs::create_dir(base.join("near")).expect("folder");
    symlink(base.join("far/deep"), base.join("near/link")).expect("link");
    let found = resolve(&base.join("near/link/../x"));
    assert_eq!(found.path, base.join("far/x"));
    assert_eq!(found.links, [base.join("near/link")]);
}

#[test]
fn a_missing_component_does_not_hide_a_link_behind_it() {
    let (_dir, base) = base();
    std::fs::create_dir(base.join("out")).expect("folder");
    symlink("out", base.join("link")).expect("link");
    let found = resolve(&base.join("missing/../link/x/./y"));
    assert_eq!(found.path, base.join("out/x/y"));
}

#[test]
fn a_dangling_link_leads_to_where_its_target_would_be() {
    let (_dir, base) = base();
    symlink("../elsewhere/new", base.join("link")).expect("link");
    let found = resolve(&base.join("link"));
    assert_eq!(
        found.path,
        base.parent().expect("parent").join("elsewhere/new")
    );
}

#[test]
fn a_loop_of_links_ends() {
    let (_dir, base) = base();
    symlink("b", base.join("a")).expect("link");
    symlink("a", base.join("b")).expect("link");
    assert!(resolve(&base.join("a/x")).looped);
    symlink("self/x", base.join("self")).expect("link");
    assert!(resolve(&base.join("self")).looped);
}

#[test]
fn up_from_the_top_stays_there() {
    assert_eq!(
        resolve(Path::new("/../../x-missing")).path,
        Path::new("/x-missing")
    );
}

/// One of a few names, so that paths meet links, files and missing entries.
fn path() -> impl Strategy<Value = PathBuf> {
    let part = prop::sample::select(vec!["a", "b", "link", "file", "none", "..", "."]);
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// What one call finds is what following every component finds.
    #[test]
    fn one_call_finds_what_following_every_component_finds(
        paths in prop::collection::vec(path(), 1..20),
        targets in prop::collection::vec(path(), 4),
    ) {
        let (_dir, base) = base();
        for folder in ["", "a", "a/b", "b"] {
            let folder = base.join(folder);
            std::fs::create_dir_all(folder.join("a")).expect("folder");
            std::fs::write(folder.join("file"), "x").expect("file");
        }
        for (folder, target) in ["", "a", "b", "a/b"].into_iter().zip(targets) {
            let link = base.join(folder).join("link");
            symlink(base.join(target), link).expect("link");
        }
        for path in paths {
            let path = base.join(path);
            prop_assert_eq!(Resolved { facts: None, ..resolve(&path) }, by_component(&path), "{}", path.display());
        }
    }
}
