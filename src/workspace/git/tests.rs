use std::fs;

use super::*;

/// A folder with the files given as `(path, text)`; `{top}` is replaced by its path.
fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for (name, text) in files {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("{top}", top.to_str().unwrap())).unwrap();
    }
    (dir, top)
}

/// The `own` and `common` folders of the work tree `at`.
fn find(files: &[(&str, &str)], at: &str) -> Option<(PathBuf, PathBuf)> {
    let (_dir, top) = tree(files);
    let found = GitFolder::find(&top.join(at))?;
    let below = |path: &Path| path.strip_prefix(&top).unwrap().to_path_buf();
    Some((below(&found.own), below(&found.common)))
}

fn both(own: &str, common: &str) -> Option<(PathBuf, PathBuf)> {
    Some((own.into(), common.into()))
}

const HEAD: (&str, &str) = ("r/.git/HEAD", "ref: refs/heads/main\n");

#[test]
fn a_linked_work_tree_and_a_submodule_have_their_repository() {
    let tree = [
        HEAD,
        ("w/.git", "gitdir: {top}/r/.git/worktrees/w\n"),
        ("r/.git/worktrees/w/gitdir", "{top}/w/.git\n"),
        ("r/.git/worktrees/w/commondir", "../..\n"),
    ];
    assert_eq!(find(&tree, "w"), both("r/.git/worktrees/w", "r/.git"));
    let module = [
        HEAD,
        ("r/sub/.git", "gitdir: ../.git/modules/sub\n"),
        (
            "r/.git/modules/sub/config",
            "[core]\n\tworktree = ../../../sub\n",
        ),
    ];
    let own = "r/.git/modules/sub";
    assert_eq!(find(&module, "r/sub"), both(own, own));
}

#[test]
fn another_repository_is_not_taken_because_a_git_file_names_it() {
    let named = [HEAD, ("w/.git", "gitdir: {top}/r/.git\n")];
    assert_eq!(find(&named, "w"), None);
    let others = [
        HEAD,
        ("w/.git", "gitdir: {top}/r/.git/worktrees/x\n"),
        ("x/.git", "gitdir: {top}/r/.git/worktrees/x\n"),
        ("r/.git/worktrees/x/gitdir", "{top}/x/.git\n"),
        ("r/.git/config", "[core]\n\tworktree = {top}/x\n"),
    ];
    assert_eq!(find(&others, "w"), None);
}

#[test]
fn the_shared_folder_contains_the_own_folder() {
    let common = [
        HEAD,
        ("w/.git/HEAD", "ref: refs/heads/main\n"),
        ("w/.git/commondir", "{top}/r/.git\n"),
    ];
    assert_eq!(find(&common, "w"), both("w/.git", "w/.git"));
}

#[test]
fn a_link_to_another_repository_is_not_followed() {
    let (_dir, top) = tree(&[HEAD, ("w/x", "")]);
    std::os::unix::fs::symlink(top.join("r/.git"), top.join("w/.git")).unwrap();
    assert_eq!(GitFolder::find(&top.join("w")), None);
}

fn ignores(files: &[(&str, &str)], vars: &[(&str, &str)]) -> Option<String> {
    let (_dir, top) = tree(files);
    let vars = vars.iter().map(|(name, value)| {
        let value = value.replace("{top}", top.to_str().unwrap());
        ((*name).to_owned(), value)
    });
    let env = Env::fixed(&top, jiff::Zoned::now(), vars.collect());
    let bytes = UserGit::new(&env).ignores(100)?;
    Some(String::from_utf8(bytes).unwrap())
}

#[test]
fn the_users_ignore_file_is_the_one_that_git_would_use() {
    let default = ("home/.config/git/ignore", "default");
    let named = ("home/mine", "named");
    let config = ("home/.gitconfig", "[core]\n\texcludesFile = \"~/mine\"\n");
    assert_eq!(ignores(&[default], &[]).as_deref(), Some("default"));
    let all = [default, named, config];
    assert_eq!(ignores(&all, &[]).as_deref(), Some("named"));
    let moved = [("GIT_CONFIG_GLOBAL", "{top}/none")];
    assert_eq!(ignores(&all, &moved).as_deref(), Some("default"));
    let xdg = [("XDG_CONFIG_HOME", "{top}/xdg")];
    let there = [("xdg/git/ignore", "xdg"), default];
    assert_eq!(ignores(&there, &xdg).as_deref(), Some("xdg"));
    // A relative path would depend on where we were started.
    let relative = [
        default,
        ("home/.gitconfig", "[core]\nexcludesfile = mine\n"),
    ];
    assert_eq!(ignores(&relative, &[]), None);
    assert_eq!(
        ignores(&[("home/.config/git/ignore", &"x".repeat(101))], &[]),
        None
    );
}
