use std::fs;
use std::path::Path;

use super::Head;
use crate::knowledge::git::HeadCache;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

fn head(path: &Path) -> Option<Head> {
    super::head(path, &HeadCache::default())
}

/// A folder with the files given as `(path, text)`.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// `(branch, commit)` seen from `from`.
fn check(files: &[(&str, &str)], from: &str, branch: Option<&str>, commit: Option<&str>) {
    let dir = tree(files);
    fs::create_dir_all(dir.path().join(from)).unwrap();
    let head = head(&dir.path().join(from)).expect("a work tree");
    assert_eq!(
        (head.branch.as_deref(), head.commit.as_deref()),
        (branch, commit)
    );
}

#[test]
fn a_branch_with_a_loose_ref_is_read_from_a_folder_below() {
    let files = [
        ("r/.git/HEAD", "ref: refs/heads/feat/x\n"),
        ("r/.git/refs/heads/feat/x", &format!("{ID}\n")),
    ];
    check(&files, "r/src/deep", Some("feat/x"), Some("0123456789ab"));
}

#[test]
fn packed_refs_are_read() {
    let packed = format!("# pack-refs with: peeled\n{ID} refs/heads/main\n^{ID}\n");
    let files = [
        ("r/.git/HEAD", "ref: refs/heads/main"),
        ("r/.git/packed-refs", &packed),
    ];
    check(&files, "r", Some("main"), Some("0123456789ab"));
}

#[test]
fn a_detached_head_has_a_commit_and_no_branch() {
    check(&[("r/.git/HEAD", ID)], "r", None, Some("0123456789ab"));
}

#[test]
fn a_fresh_repository_has_a_branch_and_no_commit() {
    check(
        &[("r/.git/HEAD", "ref: refs/heads/main\n")],
        "r",
        Some("main"),
        None,
    );
}

#[test]
fn a_linked_work_tree_reads_its_own_head_and_the_common_refs() {
    let files = [
        ("r/.git/HEAD", "ref: refs/heads/main"),
        ("r/.git/refs/heads/side", ID),
        ("r/.git/worktrees/w/HEAD", "ref: refs/heads/side"),
        ("r/.git/worktrees/w/commondir", "../..\n"),
        ("r/.git/worktrees/w/gitdir", "../../../../w/.git\n"),
        ("w/.git", "gitdir: ../r/.git/worktrees/w\n"),
    ];
    check(&files, "w", Some("side"), Some("0123456789ab"));
}

/// A `.git` file must not bring another repository's branch into the prompt.
#[test]
fn a_git_file_that_names_another_repository_has_no_head() {
    let dir = tree(&[
        ("r/.git/HEAD", "ref: refs/heads/of-another-repository"),
        ("w/.git", "gitdir: ../r/.git\n"),
    ]);
    assert_eq!(head(&dir.path().join("w")), None);
}

#[test]
fn nothing_is_found_outside_a_repository_and_in_a_broken_one() {
    let dir = tree(&[
        ("a/x", ""),
        ("b/.git", "gitdir: nowhere"),
        ("c/.git/config", ""),
    ]);
    for name in ["a", "b", "c", "missing"] {
        assert_eq!(head(&dir.path().join(name)), None, "{name}");
    }
}

#[test]
fn a_hostile_head_leads_nowhere() {
    // A25: names that leave `.git`, loops, junk.
    for text in [
        "ref: refs/heads/../../../etc/passwd",
        "ref: /etc/passwd",
        "ref: refs/heads/a\u{1b}[2J",
        "not a head",
        "ref: refs/heads/.invalid",
    ] {
        check(&[("r/.git/HEAD", text)], "r", None, None);
    }
    let looped = [
        ("r/.git/HEAD", "ref: refs/heads/a"),
        ("r/.git/refs/heads/a", "ref: refs/heads/a"),
    ];
    check(&looped, "r", Some("a"), None);
}

#[test]
fn a_fifo_in_place_of_head_is_never_waited_for() {
    let dir = tree(&[("r/.git/config", "")]);
    let path = dir.path().join("r/.git/HEAD");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(head(&dir.path().join("r")), None);
}

/// ET-13: a repository that later appears nearer is not searched for; branches are read again.
#[test]
fn where_the_repository_is_is_found_once_et_13() {
    let dir = tree(&[(".git/HEAD", "ref: refs/heads/one\n"), ("a/b/file", "")]);
    let (below, held) = (dir.path().join("a/b"), HeadCache::default());
    let branch = |held: &HeadCache| super::head(&below, held).and_then(|head| head.branch);
    assert_eq!(branch(&held).as_deref(), Some("one"));
    fs::create_dir_all(dir.path().join("a/.git")).unwrap();
    fs::write(dir.path().join("a/.git/HEAD"), "ref: refs/heads/two\n").unwrap();
    assert_eq!(branch(&held).as_deref(), Some("one"));
    assert_eq!(branch(&HeadCache::default()).as_deref(), Some("two"));
    fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/three\n").unwrap();
    assert_eq!(branch(&held).as_deref(), Some("three"));
    // Gone: looked for again.
    fs::remove_dir_all(dir.path().join(".git")).unwrap();
    assert_eq!(branch(&held).as_deref(), Some("two"));
}

/// ET-13, ET-15: a second look opens nothing below `.git`; a change there is seen.
#[cfg(target_os = "linux")]
#[test]
fn an_unchanged_repository_is_not_opened_again() {
    use rustix::fs::inotify;
    let dir = tree(&[
        ("r/.git/HEAD", "ref: refs/heads/main\n"),
        ("r/.git/refs/heads/main", ID),
        ("r/src/a", ""),
    ]);
    let (cache, from) = (HeadCache::later(), dir.path().join("r/src"));
    let first = super::head(&from, &cache).unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    for folder in ["r/.git", "r/.git/refs/heads"] {
        let path = dir.path().join(folder);
        inotify::add_watch(&watch, path, inotify::WatchFlags::OPEN).unwrap();
    }
    let opened = || rustix::io::read(&watch, &mut [0; 4096]).is_ok();
    assert_eq!(super::head(&from, &cache), Some(first.clone()));
    assert!(!opened());
    fs::write(
        dir.path().join("r/.git/refs/heads/main"),
        ID.replace('0', "f"),
    )
    .unwrap();
    while opened() {}
    assert_ne!(super::head(&from, &cache), Some(first));
    assert!(opened());
}
