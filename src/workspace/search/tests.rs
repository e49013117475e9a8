use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::workspace::beneath::locate;
use crate::workspace::{Root, Uri};

struct All;

impl Visibility for All {
    fn visible(&self, _: &Path) -> bool {
        true
    }
}

/// Hides every path with this name, as policy hides secrets.
struct Hides(&'static str);

impl Visibility for Hides {
    fn visible(&self, path: &Path) -> bool {
        path.file_name().is_none_or(|name| name != self.0)
    }
}

struct Place {
    _dir: TempDir,
    base: PathBuf,
    repo: PathBuf,
    workspace: Arc<Workspace>,
    cancel: AtomicBool,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().expect("folder");
        let base = dir.path().canonicalize().expect("canonical");
        let repo = base.join("repo");
        fs::create_dir(&repo).expect("folder");
        for (name, text) in files {
            let path = repo.join(name);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("file");
        }
        let workspace = Workspace::new();
        let root = Root::new(Uri::from_path(&repo), None).expect("a folder");
        workspace.set_roots(vec![root]);
        Self {
            _dir: dir,
            base,
            repo,
            workspace,
            cancel: AtomicBool::new(false),
        }
    }

    fn open(&self, name: &str, text: &str) {
        let uri = Uri::from_path(&self.repo.join(name));
        self.workspace.did_open(uri, "text", 1, text);
    }

    fn locate(&self, name: &str) -> Located {
        locate(&self.workspace, &self.repo, name).expect(name)
    }

    fn names(&self, found: Found) -> Vec<String> {
        let mut names = Vec::new();
        for (path, folder) in found.paths {
            let relative = path.strip_prefix(&self.repo).expect("below");
            names.push(format!(
                "{}{}",
                relative.display(),
                if folder { "/" } else { "" }
            ));
        }
        if found.capped {
            names.push("capped".to_owned());
        }
        names
    }

    fn bounds(&self) -> Bounds<'_> {
        Bounds::new(&self.cancel, Duration::from_secs(60))
    }

    fn list(&self, folder: &str, visible: &dyn Visibility, cap: usize) -> Vec<String> {
        let folder = self.locate(folder);
        let found = list(&self.workspace, &folder, visible, cap, &self.bounds());
        self.names(found.expect("listed"))
    }

    fn glob(&self, pattern: &str, visible: &dyn Visibility, cap: usize) -> Vec<String> {
        let folder = self.locate(".");
        let found = glob(
            &self.workspace,
            &folder,
            pattern,
            visible,
            cap,
            &self.bounds(),
        );
        self.names(found.expect("found"))
    }

    fn try_grep(
        &self,
        place: &str,
        query: &Query,
        visible: &dyn Visibility,
    ) -> Result<Matches, SearchError> {
        grep(
            &self.workspace,
            &self.locate(place),
            query,
            visible,
            &self.bounds(),
        )
    }

    /// `name:number:text`, with `-` for context.
    fn grep(&self, pattern: &str) -> Vec<String> {
        self.show(self.try_grep(".", &query(pattern), &All).expect("searched"))
    }

    fn show(&self, matches: Matches) -> Vec<String> {
        let mut lines = Vec::new();
        for line in matches.lines {
            let name = line.path.strip_prefix(&self.repo).unwrap_or(&line.path);
            let mark = if line.context { '-' } else { ':' };
            lines.push(format!(
                "{}{mark}{}{mark}{}",
                name.display(),
                line.number,
                line.text
            ));
        }
        if matches.capped {
            lines.push("capped".to_owned());
        }
        lines
    }
}

fn query(pattern: &str) -> Query {
    Query {
        pattern: pattern.to_owned(),
        cap: 100,
        ..Query::default()
    }
}

fn sample() -> Place {
    Place::new(&[
        (".git/config", "needle"),
        (".github/ci.yml", "needle"),
        (".gitignore", "target/\n*.log\n"),
        ("a.rs", "one\nneedle a\n"),
        ("a/b.rs", "needle b"),
        ("a/deep/c.rs", "x"),
        ("a-b.rs", "needle a-b"),
        ("debug.log", "needle"),
        ("sub/.ignore", "hidden.rs\n"),
        ("sub/hidden.rs", "needle"),
        ("sub/shown.rs", "needle shown"),
        ("target/out.rs", "needle"),
    ])
}

#[test]
fn a_list_is_in_path_order_without_ignored_entries_and_git() {
    let place = sample();
    let all = [".github/", ".gitignore", "a/", "a-b.rs", "a.rs", "sub/"];
    assert_eq!(place.list(".", &All, 100), all);
    assert_eq!(
        place.list("sub", &All, 100),
        ["sub/.ignore", "sub/shown.rs"]
    );
    assert_eq!(
        place.list(".", &All, 2),
        [".github/", ".gitignore", "capped"]
    );
    assert_eq!(
        place.list(".", &All, 6),
        all,
        "the cap was reached, not passed"
    );
}

#[test]
fn a_list_of_what_is_no_folder_says_so() {
    let place = sample();
    for (name, kind) in [
        ("missing", std::io::ErrorKind::NotFound),
        ("a.rs", std::io::ErrorKind::NotADirectory),
    ] {
        let result = list(
            &place.workspace,
            &place.locate(name),
            &All,
            9,
            &place.bounds(),
        );
        assert!(matches!(result, Err(SearchError::Io(error)) if error.kind() == kind));
    }
}

#[test]
fn a_glob_is_relative_and_a_bare_name_matches_at_any_depth() {
    let place = sample();
    let rust = ["a/b.rs", "a/deep/c.rs", "a-b.rs", "a.rs", "sub/shown.rs"];
    assert_eq!(place.glob("**/*.rs", &All, 100), rust);
    assert_eq!(place.glob("*.rs", &All, 100), rust);
    assert_eq!(place.glob("a/*.rs", &All, 100), ["a/b.rs"]);
    assert_eq!(place.glob("./a/**", &All, 100), ["a/b.rs", "a/deep/c.rs"]);
    assert_eq!(place.glob("/*.rs", &All, 100), ["a-b.rs", "a.rs"]);
    assert_eq!(place.glob("*.{yml,toml}", &All, 100), [".github/ci.yml"]);
    assert_eq!(
        place.glob("*.rs", &All, 2),
        ["a/b.rs", "a/deep/c.rs", "capped"]
    );
    assert_eq!(place.glob(".git/**", &All, 100), Vec::<String>::new());
    let folder = place.locate(".");
    let result = glob(&place.workspace, &folder, "a{", &All, 9, &place.bounds());
    assert!(matches!(result, Err(SearchError::Pattern(_))));
}

#[test]
fn ignore_files_of_folders_above_count() {
    let place = Place::new(&[("x/y/a.log", "needle"), ("x/y/a.rs", "needle")]);
    fs::write(place.base.join(".ignore"), "*.log\n").expect("file");
    let matches = place.try_grep("x/y", &query("needle"), &All);
    assert_eq!(
        place.show(matches.expect("searched")),
        ["x/y/a.rs:1:needle"]
    );
}

#[test]
fn a_search_gives_lines_in_path_order() {
    let place = sample();
    let all = [
        ".github/ci.yml:1:needle",
        "a/b.rs:1:needle b",
        "a-b.rs:1:needle a-b",
        "a.rs:2:needle a",
        "sub/shown.rs:1:needle shown",
    ];
    assert_eq!(place.grep("needle"), all);
    assert_eq!(
        place.grep("^needle [a-z]$"),
        ["a/b.rs:1:needle b", "a.rs:2:needle a"]
    );
    let found = place.try_grep(
        ".",
        &Query {
            glob: Some("a/**".to_owned()),
            ..query("needle")
        },
        &All,
    );
    assert_eq!(place.show(found.expect("searched")), ["a/b.rs:1:needle b"]);
    let capped = Query {
        cap: 1,
        ..query("needle")
    };
    let found = place.try_grep(".", &capped, &All).expect("searched");
    assert_eq!(place.show(found), [".github/ci.yml:1:needle", "capped"]);
}

#[test]
fn an_open_buffer_stands_for_its_file() {
    let place = sample();
    place.open("a.rs", "unsaved needle");
    place.open("a/b.rs", "nothing");
    place.open("a/new.rs", "fresh needle");
    place.open("zz/new.rs", "last needle");
    place.open("target/new.rs", "ignored needle");
    place.open("sub/hidden.rs", "ignored needle");
    assert_eq!(
        place.grep("needle"),
        [
            ".github/ci.yml:1:needle",
            "a/new.rs:1:fresh needle",
            "a-b.rs:1:needle a-b",
            "a.rs:1:unsaved needle",
            "sub/shown.rs:1:needle shown",
            "zz/new.rs:1:last needle",
        ]
    );
    assert_eq!(place.glob("new.rs", &All, 9), ["a/new.rs", "zz/new.rs"]);
    assert_eq!(place.list("a", &All, 9), ["a/b.rs", "a/deep/", "a/new.rs"]);
    assert_eq!(place.list(".", &All, 9).len(), 6, "not those deeper down");
}

#[test]
fn one_file_or_document_is_searched_by_name() {
    let place = sample();
    let show = |name: &str| place.show(place.try_grep(name, &query("needle"), &All).expect(name));
    assert_eq!(show("a.rs"), ["a.rs:2:needle a"]);
    assert_eq!(
        show("target/out.rs"),
        ["target/out.rs:1:needle"],
        "asked for by name"
    );
    place.open("a.rs", "x\r\nunsaved needle\r\n");
    assert_eq!(show("a.rs"), ["a.rs:2:unsaved needle"]);
    let untitled = Uri::new("untitled:1");
    place.workspace.did_open(untitled, "text", 1, "a needle");
    assert_eq!(show("untitled:1"), ["untitled:1:1:a needle"]);
    let missing = place.try_grep("missing", &query("needle"), &All);
    assert!(matches!(missing, Err(SearchError::Io(_))));
}

/// No result contains what policy hides: files, folders, new documents, links, files by name.
#[test]
fn what_must_not_be_seen_is_never_shown() {
    let place = Place::new(&[
        (".env", "needle"),
        ("a/.env", "needle"),
        ("a/x", "needle"),
        ("private/deep/x", "needle"),
    ]);
    symlink(".env", place.repo.join("link")).expect("link");
    place.open("b/.env", "needle");
    place.open("private/new/x", "needle");
    for visible in [Hides(".env"), Hides("private")] {
        let secret = visible.0;
        let mut shown = place.list(".", &visible, 99);
        shown.extend(place.list("a", &visible, 99));
        shown.extend(place.glob("**", &visible, 99));
        let found = place.try_grep(".", &query("needle"), &visible);
        shown.extend(place.show(found.expect("searched")));
        assert!(
            shown.iter().any(|line| line.starts_with("a/x")),
            "{shown:?}"
        );
        assert!(!shown.iter().any(|line| line.contains(secret)), "{shown:?}");
        assert_eq!(secret == ".env", !shown.contains(&"link".to_owned()));
    }
    let found = place.try_grep(".env", &query("needle"), &Hides(".env"));
    assert_eq!(found.expect("searched"), Matches::default());
}

/// A13.
#[test]
fn links_are_not_followed() {
    let place = Place::new(&[("a", "needle")]);
    fs::create_dir(place.base.join("outside")).expect("folder");
    fs::write(place.base.join("outside/x"), "needle").expect("file");
    symlink(place.base.join("outside"), place.repo.join("folder")).expect("link");
    symlink(place.base.join("outside/x"), place.repo.join("file")).expect("link");
    assert_eq!(place.grep("needle"), ["a:1:needle"]);
    assert_eq!(place.glob("**", &All, 99), ["a"]);
    assert_eq!(place.list(".", &All, 99), ["a", "file", "folder"]);
}

/// Line numbers are the same as in the mirror and in `read`.
#[test]
fn every_line_end_counts() {
    let place = Place::new(&[("a", "1\r2 x\r\n3\n4 x\r5 x\r\r7 x")]);
    assert_eq!(
        place.grep("x$"),
        ["a:2:2 x", "a:4:4 x", "a:5:5 x", "a:7:7 x"]
    );
}

#[test]
fn context_lines_are_marked() {
    let place = Place::new(&[("a", "1\n2\nneedle\n4\n5\n")]);
    let query = Query {
        context: 1,
        ..query("needle")
    };
    let found = place.try_grep(".", &query, &All).expect("searched");
    assert_eq!(place.show(found), ["a-2-2", "a:3:needle", "a-4-4"]);
}

/// B08.
#[test]
fn binary_files_are_passed_over_and_large_ones_counted() {
    let place = Place::new(&[("nul", "needle\0"), ("text", "\u{feff}needle")]);
    fs::write(place.repo.join("latin"), b"caf\xe9 needle").expect("file");
    let large = fs::File::create(place.repo.join("large")).expect("file");
    large.set_len(files_limit() + 1).expect("sparse");
    crate::workspace::beneath::tests::fifo(&place.repo.join("pipe"));
    let found = place
        .try_grep(".", &query("needle"), &All)
        .expect("searched");
    assert_eq!(found.skipped, 1);
    assert_eq!(
        place.show(found),
        ["latin:1:caf\u{fffd} needle", "text:1:needle"]
    );
    assert_eq!(place.grep("^needle"), ["text:1:needle"]);
}

fn files_limit() -> u64 {
    crate::workspace::files::LIMIT
}

#[test]
fn a_long_line_is_cut_around_the_match() {
    let early = format!("needle{}", "é".repeat(1000));
    let late = format!("{}needle{}", "é".repeat(1000), "x".repeat(1000));
    let end = format!("{}needle", "é".repeat(1000));
    let place = Place::new(&[("a", &early), ("b", &late), ("c", &end)]);
    let lines = place
        .try_grep(".", &query("needle"), &All)
        .expect("searched")
        .lines;
    for line in &lines {
        assert!(line.text.contains("needle"));
        assert_eq!(line.text.replace("[…]", "").chars().count(), 500);
    }
    let cuts = |at: usize| {
        (
            lines[at].text.starts_with("[…]"),
            lines[at].text.ends_with("[…]"),
        )
    };
    assert_eq!(
        [cuts(0), cuts(1), cuts(2)],
        [(false, true), (true, true), (true, false)]
    );
}

#[test]
fn a_pattern_that_does_not_parse_says_why() {
    let place = sample();
    for pattern in ["(", "a\\nb", "[z-a]"] {
        let result = place.try_grep(".", &query(pattern), &All);
        assert!(matches!(result, Err(SearchError::Pattern(_))), "{pattern}");
    }
}

#[test]
fn a_cancelled_search_ends() {
    let place = sample();
    place.cancel.store(true, Ordering::Relaxed);
    let result = place.try_grep(".", &query("needle"), &All);
    assert!(matches!(result, Err(SearchError::Cancelled)));
    let folder = place.locate(".");
    let result = glob(&place.workspace, &folder, "*", &All, 9, &place.bounds());
    assert!(matches!(result, Err(SearchError::Cancelled)));
}

/// The time has run out before the first entry.
#[test]
fn a_search_whose_time_is_over_says_so() {
    let place = sample();
    let bounds = Bounds::new(&place.cancel, Duration::ZERO);
    let folder = place.locate(".");
    let listed = list(&place.workspace, &folder, &All, 9, &bounds).expect("listed");
    let globbed = glob(&place.workspace, &folder, "*", &All, 9, &bounds).expect("found");
    let searched = grep(&place.workspace, &folder, &query("e"), &All, &bounds).expect("searched");
    assert!(listed.late && globbed.late && searched.late);
    assert!(
        !list(&place.workspace, &folder, &All, 9, &place.bounds())
            .expect("listed")
            .late
    );
}

/// R01, R02, R03: anything may be where an ignore file is expected.
#[test]
fn an_ignore_file_that_is_no_file_is_passed_over() {
    for name in [
        ".gitignore",
        ".ignore",
        "sub/.gitignore",
        ".git/info/exclude",
    ] {
        for target in ["/dev/zero", "/dev/stdin", "/proc/self/fd/0", "fifo"] {
            let place = Place::new(&[("a", ""), ("sub/b", ""), (".git/info/x", "")]);
            let at = place.repo.join(name);
            match target {
                "fifo" => crate::workspace::beneath::tests::fifo(&at),
                target => symlink(target, &at).expect("link"),
            }
            assert_eq!(place.glob("?", &All, 9), ["a", "sub/b"], "{name} {target}");
        }
    }
}

/// R01.
#[test]
fn a_link_to_an_ignore_file_counts_inside_the_root_only() {
    let place = Place::new(&[
        ("a.log", ""),
        ("b.tmp", ""),
        ("rules", "*.log\n"),
        ("sub/c.tmp", ""),
    ]);
    fs::write(place.base.join("outside"), "*.tmp\n").expect("file");
    symlink("rules", place.repo.join(".gitignore")).expect("link");
    symlink("../../outside", place.repo.join("sub/.gitignore")).expect("link");
    assert_eq!(place.glob("*.{log,tmp}", &All, 9), ["b.tmp", "sub/c.tmp"]);
}

#[test]
fn an_ignore_file_that_is_too_large_is_not_used() {
    let place = Place::new(&[("a.log", "")]);
    fs::write(
        place.repo.join(".ignore"),
        format!("*.log\n{}", " ".repeat(256 * 1024)),
    )
    .expect("file");
    assert_eq!(place.glob("*.log", &All, 9), ["a.log"]);
}

/// R31: a folder that was replaced by a link since it was located lists no outside names.
#[test]
fn a_folder_exchanged_for_a_link_gives_no_names() {
    let place = Place::new(&[("sub/deep/a", "needle")]);
    fs::create_dir_all(place.base.join("outside/deep")).expect("folder");
    fs::write(place.base.join("outside/deep/secret"), "needle").expect("file");
    for name in ["sub", "sub/deep"] {
        let folder = place.locate(name);
        fs::rename(place.repo.join("sub"), place.base.join("kept")).expect("moved");
        symlink("../outside", place.repo.join("sub")).expect("link");
        let (workspace, bounds) = (&place.workspace, place.bounds());
        assert!(
            list(workspace, &folder, &All, 9, &bounds).is_err(),
            "{name}"
        );
        assert!(
            glob(workspace, &folder, "*", &All, 9, &bounds).is_err(),
            "{name}"
        );
        assert!(
            grep(workspace, &folder, &query("needle"), &All, &bounds).is_err(),
            "{name}"
        );
        fs::remove_file(place.repo.join("sub")).expect("unlinked");
        fs::rename(place.base.join("kept"), place.repo.join("sub")).expect("moved back");
    }
}

/// Deeper than the number of folders that stay open, with an entry to return to at each depth.
#[test]
fn a_deep_tree_is_walked_to_its_end() {
    let place = Place::new(&[]);
    let mut path = place.repo.clone();
    for _ in 0..100 {
        path.push("d");
        fs::create_dir(&path).expect("folder");
        fs::write(path.join("e"), "").expect("file");
    }
    let found = place.glob("e", &All, 500);
    assert_eq!(found.len(), 100);
    assert_eq!(found.last().map(String::as_str), Some("d/e"));
}

#[test]
fn the_users_own_ignore_file_counts_last() {
    let place = Place::new(&[("a.log", ""), ("b.log", ""), (".gitignore", "!b.log\n")]);
    let env = crate::env::Env::fixed(&place.base, jiff::Zoned::now(), Default::default());
    let file = env.dirs.home.join(".config/git/ignore");
    fs::create_dir_all(file.parent().expect("folder")).expect("folder");
    fs::write(file, "*.log\n").expect("file");
    place.workspace.set_user(&env);
    assert_eq!(place.glob("*.log", &All, 9), ["b.log"]);
}

mod same_as_ripgrep;
mod sizes;
mod threads;

/// A39: whatever the other lists say, and also for a file that is only open.
#[test]
fn a39_a_search_leaves_out_what_is_excluded() {
    let place = Place::new(&[
        (".interlineignore", "*.csv\nkept/\n"),
        (".ignore", "!*.csv\n!kept/\n"),
        ("a.csv", "needle"),
        ("b.txt", "needle b"),
        ("kept/c.txt", "needle"),
        ("sub/.interlineignore", "!*\nd.txt\n"),
        ("sub/d.txt", "needle"),
        ("sub/e.csv", "needle"),
    ]);
    place.open("new.csv", "needle");
    place.open("kept/new.txt", "needle");
    assert_eq!(place.grep("needle"), ["b.txt:1:needle b"]);
    let shown = [".ignore", ".interlineignore", "b.txt", "sub/"];
    assert_eq!(place.list(".", &All, 100), shown);
    assert_eq!(place.glob("*.txt", &All, 100), ["b.txt"]);
    let one = place.try_grep("a.csv", &query("needle"), &All);
    assert_eq!(place.show(one.expect("searched")), Vec::<String>::new());
}
