use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;
use crate::workspace::{FileError, files};

/// A folder with a root `repo` and a file `outside/secret` next to it.
struct Place {
    _dir: TempDir,
    base: PathBuf,
    repo: PathBuf,
    workspace: Arc<Workspace>,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().expect("folder");
        let base = dir.path().canonicalize().expect("canonical");
        let repo = base.join("repo");
        fs::create_dir_all(repo.join("src")).expect("folder");
        fs::create_dir(base.join("outside")).expect("folder");
        fs::write(base.join("outside/secret"), "secret").expect("file");
        fs::write(repo.join("src/a.rs"), "text").expect("file");
        let workspace = Workspace::new();
        workspace.set_roots(vec![root(&repo)]);
        Self {
            _dir: dir,
            base,
            repo,
            workspace,
        }
    }

    fn locate(&self, argument: &str) -> Located {
        self.try_locate(argument).expect(argument)
    }

    fn try_locate(&self, argument: &str) -> Result<Located, LocateError> {
        locate(&self.workspace, &self.repo, argument)
    }
}

fn root(path: &Path) -> Root {
    Root::new(Uri::from_path(path), None).expect("a folder")
}

#[test]
fn every_way_to_name_a_file_finds_it() {
    let place = Place::new();
    let now = jiff::Zoned::now();
    let mut env = crate::env::Env::fixed(&place.base, now, Default::default());
    env.dirs.home = place.repo.clone();
    place.workspace.set_user(&env);
    let path = place.repo.join("src/a.rs");
    for argument in [
        "src/a.rs".to_owned(),
        "./src/../src//a.rs".to_owned(),
        "../repo/src/a.rs".to_owned(),
        "~/src/a.rs".to_owned(),
        path.display().to_string(),
        format!("file://{}", path.display()),
        format!("file://localhost{}", path.display()),
        format!("file://{}/src/%61.rs", place.repo.display()),
        format!("FILE://{}/x/../src/a.rs", place.repo.display()),
    ] {
        let located = place.locate(&argument);
        assert_eq!(located.path, path, "{argument}");
        assert_eq!(located.root, Some((0, "src/a.rs".into())));
        assert_eq!((located.kind, located.links), (FileKind::File, 1));
        assert!(!located.through_link && !located.open);
        assert_eq!(located.uri, Uri::from_path(&path));
        assert_eq!(located.display(&place.workspace), "src/a.rs");
    }
}

#[test]
fn a_name_with_a_colon_or_a_tilde_is_a_name() {
    let place = Place::new();
    for name in ["std:fmt.md", "~user", "a~"] {
        fs::write(place.repo.join(name), "").expect("file");
        assert_eq!(place.locate(name).path, place.repo.join(name));
    }
}

#[test]
fn an_open_document_is_answered_with_its_own_spelling() {
    let place = Place::new();
    let spelled = Uri::new(format!("file://{}/src/%61.rs", place.repo.display()));
    place.workspace.did_open(spelled.clone(), "rust", 1, "text");
    let located = place.locate("src/a.rs");
    assert!(located.open);
    assert_eq!(located.uri, spelled);
    assert_eq!(located.key(), located.uri.key());
    let untitled = Uri::new("untitled:Untitled-1");
    place.workspace.did_open(untitled.clone(), "text", 1, "x");
    let located = place.locate("untitled:Untitled-1");
    assert_eq!((located.uri.clone(), located.open), (untitled, true));
    assert_eq!(located.key(), "untitled:Untitled-1");
    assert_eq!(located.display(&place.workspace), "untitled:Untitled-1");
}

/// A10, A11.
#[test]
fn what_is_no_local_path_is_refused_with_its_reason() {
    let place = Place::new();
    let network = |text: &str| LocateError::Network(text.to_owned());
    let scheme = |text: &str| LocateError::Scheme(text.to_owned());
    for (argument, error) in [
        ("", LocateError::Empty),
        ("  ", LocateError::Empty),
        ("file://", LocateError::Empty),
        ("a\0b", LocateError::Control),
        ("a\nb", LocateError::Control),
        ("a\u{1b}[2Jb", LocateError::Control),
        ("file:///a%00b", LocateError::Control),
        ("file:///a%0Ab", LocateError::Control),
        (r"\\server\share", network(r"\\server\share")),
        (r"\\?\C:\x", network(r"\\?\C:\x")),
        (r"\??\C:\x", network(r"\??\C:\x")),
        ("//?/C:/x", network("//?/C:/x")),
        ("file://server/share", network("file://server/share")),
        ("file:////server/share", network("file:////server/share")),
        ("untitled:gone", scheme("untitled:gone")),
        ("git:/a?x", scheme("git:/a?x")),
        ("https://example.com/", scheme("https://example.com/")),
        ("~/x", LocateError::Home("~/x".to_owned())),
    ] {
        assert_eq!(
            place.try_locate(argument).map(|_| ()),
            Err(error),
            "{argument:?}"
        );
    }
}

/// A11, A12.
#[test]
fn places_outside_the_roots_are_outside() {
    let place = Place::new();
    fs::create_dir(place.base.join("repo-evil")).expect("folder");
    for argument in [
        "..",
        "../outside/secret",
        "../repo-evil/x",
        "src/../../outside/secret",
        "missing/../../outside/secret",
        "/",
        "/etc/passwd",
        "/dev/null",
    ] {
        let located = place.locate(argument);
        assert_eq!(located.root, None, "{argument}");
        assert_eq!(
            located.display(&place.workspace),
            located.path.display().to_string()
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn links_of_the_kernel_resolve_to_what_they_are() {
    let place = Place::new();
    let secret = place.base.join("outside/secret");
    let through = format!("/proc/self/root{}", secret.display());
    let located = place.locate(&through);
    assert_eq!((located.path, located.root), (secret.clone(), None));
    assert!(located.through_link);
    let inside = format!("/proc/self/root{}/src/a.rs", place.repo.display());
    assert_eq!(place.locate(&inside).root, Some((0, "src/a.rs".into())));
    use std::os::fd::AsRawFd as _;
    let file = fs::File::open(&secret).expect("open");
    let located = place.locate(&format!("/dev/fd/{}", file.as_raw_fd()));
    assert_eq!((located.path, located.root), (secret, None));
    assert_eq!(place.locate("/dev/stdin").root, None);
}

/// A13, B11.
#[test]
fn a_link_is_judged_by_its_target() {
    let place = Place::new();
    symlink(place.base.join("outside"), place.repo.join("out")).expect("link");
    symlink("src", place.repo.join("in")).expect("link");
    symlink(place.base.join("outside/new"), place.repo.join("dangling")).expect("link");
    symlink("loop", place.repo.join("loop")).expect("link");
    symlink(&place.repo, place.base.join("to-repo")).expect("link");

    let out = place.locate("out/secret");
    assert_eq!(out.path, place.base.join("outside/secret"));
    assert!(out.root.is_none() && out.through_link);
    let up = place.locate("out/../repo/src/a.rs");
    assert!(up.root.is_some() && up.through_link);
    let dangling = place.locate("dangling");
    assert!(dangling.root.is_none() && dangling.through_link);
    assert_eq!(dangling.kind, FileKind::Missing);
    assert_eq!(place.locate("loop").kind, FileKind::Special);
    let above = place.base.join("to-repo/src/a.rs").display().to_string();
    assert!(
        !place.locate(&above).through_link,
        "a link that leads into the root"
    );

    let inside = place.locate("in/a.rs");
    assert_eq!(inside.path, place.repo.join("src/a.rs"));
    assert!(inside.root.is_some() && inside.through_link);
    let content = files::read(&place.workspace, &inside).expect("readable");
    assert_eq!(content.rope, "text");
}

/// A15, B05.
#[test]
fn kinds_and_hard_links_are_facts() {
    let place = Place::new();
    fs::hard_link(place.base.join("outside/secret"), place.repo.join("hard")).expect("link");
    fifo(&place.repo.join("pipe"));
    assert_eq!(place.locate("hard").links, 2);
    assert_eq!(place.locate("pipe").kind, FileKind::Special);
    assert_eq!(place.locate("src").kind, FileKind::Directory);
    assert_eq!(place.locate("src/a.rs/x").kind, FileKind::Missing);
    let missing = place.locate("src/new/deep.rs");
    assert_eq!((missing.kind, missing.links), (FileKind::Missing, 0));
    assert_eq!(missing.root, Some((0, "src/new/deep.rs".into())));
}

#[test]
fn with_several_roots_the_name_of_the_root_is_shown() {
    let place = Place::new();
    let outside = root(&place.base.join("outside"));
    assert_eq!(place.locate(".").display(&place.workspace), ".");
    place.workspace.set_roots(vec![root(&place.repo), outside]);
    assert_eq!(
        place.locate("src/a.rs").display(&place.workspace),
        "repo/src/a.rs"
    );
    let located = place.locate("../outside/secret");
    assert_eq!(located.display(&place.workspace), "outside/secret");
    assert_eq!(place.locate(".").display(&place.workspace), "repo");
}

/// E13: a removed root is no longer accessible.
#[test]
fn a_root_that_was_removed_is_not_opened() {
    let place = Place::new();
    let located = place.locate("src/a.rs");
    place.workspace.set_roots(Vec::new());
    let result = files::read(&place.workspace, &located);
    assert!(matches!(result, Err(FileError::Escaped)));
}

type Open = fn(&Path, &Path) -> Result<fs::File, FileError>;
const WAYS: [Open; 2] = [open_beneath, crate::workspace::open::walk_beneath];

/// A13, A15, B05: with `openat2` and without.
#[test]
fn only_regular_files_below_the_root_are_opened() {
    let place = Place::new();
    symlink(place.base.join("outside"), place.repo.join("out")).expect("link");
    symlink("src", place.repo.join("in")).expect("link");
    symlink("src/a.rs", place.repo.join("link")).expect("link");
    fifo(&place.repo.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(place.repo.join("socket"));
    for open in WAYS {
        let try_open = |path: &str| open(&place.repo, Path::new(path)).map(drop);
        assert!(try_open("src/a.rs").is_ok());
        for path in [
            "out/secret",
            "in/a.rs",
            "link",
            "../outside/secret",
            "/etc/passwd",
        ] {
            let result = try_open(path);
            assert!(
                matches!(result, Err(FileError::Escaped)),
                "{path}: {result:?}"
            );
        }
        for path in ["missing", "src/a.rs/x", "missing/x"] {
            let result = try_open(path);
            assert!(
                matches!(result, Err(FileError::Missing)),
                "{path}: {result:?}"
            );
        }
        for path in ["pipe", "socket"] {
            let result = try_open(path);
            assert!(
                matches!(result, Err(FileError::Special)),
                "{path}: {result:?}"
            );
        }
        for path in ["src", ""] {
            let result = try_open(path);
            assert!(
                matches!(result, Err(FileError::Directory)),
                "{path}: {result:?}"
            );
        }
    }
}

/// A14: a folder is replaced by a link all the time; nothing outside is ever read.
#[test]
fn ten_thousand_races_never_escape() {
    let place = Place::new();
    fs::create_dir(place.repo.join("real")).expect("folder");
    fs::write(place.repo.join("real/secret"), "own").expect("file");
    symlink(place.base.join("outside"), place.repo.join("evil")).expect("link");
    let stop = AtomicBool::new(false);
    let mut own = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = |name: &str| place.repo.join(name);
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("real", "x"), ("x", "real"), ("evil", "x"), ("x", "evil")] {
                    let _ = fs::rename(path(from), path(to));
                }
            }
        });
        for turn in 0..10_000 {
            let open = WAYS[turn % 2];
            let Ok(mut file) = open(&place.repo, Path::new("x/secret")) else {
                continue;
            };
            let mut text = String::new();
            file.read_to_string(&mut text).expect("read");
            if text != "own" {
                stop.store(true, Ordering::Relaxed);
            }
            assert_eq!(text, "own");
            own += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("opened {own} of 10000");
}

/// An entry of a canonical folder is found without resolving links above it, with the same result.
#[test]
fn an_entry_of_a_canonical_folder_is_what_its_path_is() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "a").unwrap();
    symlink("a", place.repo.join("link")).unwrap();
    symlink("../outside/secret", place.repo.join("out")).unwrap();
    symlink("loop", place.repo.join("loop")).unwrap();
    fs::hard_link(place.repo.join("a"), place.repo.join("twice")).unwrap();
    fifo(&place.repo.join("pipe"));
    let buffer = Uri::from_path(&place.repo.join("unsaved"));
    place.workspace.did_open(buffer, "text", 1, "");
    for name in [
        "a", "link", "out", "loop", "twice", "pipe", "src", "none", "unsaved",
    ] {
        let entry = locate_entry(&place.workspace, &place.repo, name);
        let path = locate_existing(&place.workspace, &place.repo.join(name));
        assert_eq!(format!("{entry:?}"), format!("{path:?}"), "{name}");
        assert_eq!(entry.is_none(), name == "none", "{name}");
    }
}

pub(in crate::workspace) fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}
