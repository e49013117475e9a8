use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use super::*;
use crate::knowledge::trust::TrustStore;
use crate::workspace::{Root, Uri};

mod layouts;

struct Place {
    dir: tempfile::TempDir,
    env: Env,
    workspace: Arc<Workspace>,
    config: Config,
}

/// A home, a config folder and one root `repo`, with the files given as `(path, text)`.
fn place(files: &[(&str, &str)]) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    for folder in ["repo", "home", "config", "state"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let canonical = dir.path().canonicalize().unwrap();
    let place = Place {
        env: Env::fixed(&canonical, now, Default::default()),
        workspace: Workspace::new(),
        config: Config::default(),
        dir,
    };
    for (name, text) in files {
        place.write(name, text);
    }
    place.roots(&["repo"]);
    place
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn roots(&self, names: &[&str]) {
        let root = |name: &&str| Root::new(Uri::from_path(&self.path(name)), None).unwrap();
        self.workspace.set_roots(names.iter().map(root).collect());
    }

    fn open(&self, name: &str, text: &str) {
        let uri = Uri::from_path(&self.path(name));
        self.workspace.did_open(uri, "markdown", 1, text);
    }

    fn gather(&self, cwd: &str) -> Gathered {
        gather(&self.workspace, &self.env, &self.config, &self.path(cwd))
    }

    fn gather_by(&self, cwd: &str, search: &Search) -> Gathered {
        let (cwd, urls) = (self.path(cwd), UrlCache::default());
        gather_with(
            &self.workspace,
            &self.env,
            &self.config,
            &cwd,
            search,
            &urls,
            &HeadCache::default(),
        )
    }

    /// `(source, text)` of what is found from `cwd`, when there must be no problem.
    fn found(&self, cwd: &str) -> Vec<(String, String)> {
        let gathered = self.gather(cwd);
        assert_eq!(gathered.problems, []);
        pairs(gathered)
    }
}

fn pairs(gathered: Gathered) -> Vec<(String, String)> {
    gathered
        .found
        .into_iter()
        .map(|one| (one.source, one.text))
        .collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

fn reason_of<'a>(gathered: &'a Gathered, source: &str) -> &'a str {
    let problem = gathered
        .problems
        .iter()
        .find(|(known, _)| known.ends_with(source));
    &problem
        .unwrap_or_else(|| panic!("no problem of {source}: {gathered:?}"))
        .1
}

#[test]
fn global_comes_first_then_root_to_nearest() {
    // K6, K16, ET-22, ET-35
    let place = place(&[
        ("config/AGENTS.md", "global"),
        ("AGENTS.md", "above the root"),
        ("repo/AGENTS.md", "root"),
        ("repo/pkg/AGENTS.md", "pkg"),
        ("repo/pkg/foo/src/AGENTS.md", "src"),
        ("repo/other/AGENTS.md", "beside"),
    ]);
    let global = place.path("config/AGENTS.md").display().to_string();
    assert_eq!(
        place.found("repo/pkg/foo/src"),
        owned(&[
            (&global, "global"),
            ("AGENTS.md", "root"),
            ("pkg/AGENTS.md", "pkg"),
            ("pkg/foo/src/AGENTS.md", "src"),
        ])
    );
    let standings: Vec<Standing> = place
        .gather("repo")
        .found
        .iter()
        .map(|one| one.standing)
        .collect();
    assert_eq!(standings, [Standing::User, Standing::Session]);
}

/// K16.
#[test]
fn the_first_name_of_a_directory_counts() {
    let place = place(&[
        ("repo/AGENTS.md", "agents"),
        ("repo/CLAUDE.md", "claude"),
        ("repo/a/CLAUDE.md", "only claude"),
        ("repo/a/b/AGENTS.override.md", "override"),
        ("repo/a/b/AGENTS.md", "hidden"),
    ]);
    assert_eq!(
        place.found("repo/a/b"),
        owned(&[
            ("AGENTS.md", "agents"),
            ("a/CLAUDE.md", "only claude"),
            ("a/b/AGENTS.override.md", "override"),
        ])
    );
}

#[test]
fn a_layout_chooses_names_order_and_end() {
    let place = place(&[
        ("repo/AGENTS.md", "root"),
        ("repo/g/.git/HEAD", "ref: refs/heads/main"),
        ("repo/g/RULES.md", "g"),
        ("repo/g/d/RULES.md", "d"),
    ]);
    let check = |order, stop, expected: &[&str]| {
        let names = vec!["RULES.md".to_owned(), "AGENTS.md".to_owned()];
        let search = Search {
            names,
            order,
            stop,
            ..Search::default()
        };
        let found = place.gather_by("repo/g/d", &search).found;
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, expected);
    };
    check(Order::RootFirst, Stop::Root, &["root", "g", "d"]);
    check(Order::NearestFirst, Stop::Root, &["d", "g", "root"]);
    check(Order::NearestFirst, Stop::Git, &["d", "g"]);
    check(Order::RootFirst, Stop::Directory, &["d"]);
}

#[test]
fn without_a_root_only_the_sessions_directory_counts() {
    let place = place(&[("x/AGENTS.md", "x"), ("x/y/AGENTS.md", "y")]);
    place.roots(&[]);
    let gathered = place.gather("x/y");
    assert_eq!(gathered.found.len(), 1);
    assert_eq!(gathered.found[0].standing, Standing::Session);
    assert_eq!(
        (gathered.found[0].source.as_str(), &*gathered.found[0].text),
        ("AGENTS.md", "y")
    );
}

#[test]
fn an_open_buffer_counts_before_its_file_and_without_one() {
    // INV-2
    let place = place(&[("repo/AGENTS.md", "disk"), ("repo/a/.keep", "")]);
    place.open("repo/AGENTS.md", "buffer");
    place.open("repo/a/AGENTS.md", "never saved");
    let gathered = place.gather("repo/a");
    assert!(gathered.found.iter().all(|one| one.unsaved));
    assert_eq!(
        gathered.found[0].hash,
        crate::conversation::sha256(b"buffer")
    );
    assert_eq!(
        pairs(gathered),
        owned(&[("AGENTS.md", "buffer"), ("a/AGENTS.md", "never saved")])
    );
    let uri = Uri::from_path(&place.path("repo/AGENTS.md"));
    place.workspace.did_close(&uri);
    assert_eq!(place.found("repo"), owned(&[("AGENTS.md", "disk")]));
}

/// ET-25.
#[test]
fn the_same_file_is_used_once_and_the_same_text_of_two_files_twice() {
    let mut place = place(&[
        ("repo/AGENTS.md", "one"),
        ("repo/a/AGENTS.md", "one"),
        ("repo/docs/x.md", "x"),
    ]);
    symlink(place.path("repo/docs"), place.path("repo/link")).unwrap();
    place.config.instructions = [
        "AGENTS.md",
        "./docs/../AGENTS.md",
        "docs/x.md",
        "link/x.md",
        "docs/*.md",
    ]
    .map(str::to_owned)
    .to_vec();
    place
        .config
        .instructions
        .push(place.path("repo/docs/x.md").display().to_string());
    let gathered = place.gather("repo");
    assert_eq!(gathered.problems, []);
    assert_eq!(
        pairs(gathered),
        owned(&[("AGENTS.md", "one"), ("docs/x.md", "x")])
    );
    let nested = place.gather("repo/a");
    let texts = nested.found.iter().filter(|one| one.text == "one");
    assert_eq!((texts.count(), nested.found.len()), (2, 3));
}

#[test]
fn configured_files_are_found_relative_absolute_at_home_and_by_glob() {
    // ET-23
    let mut place = place(&[
        ("home/notes.md", "home"),
        ("outside/far.md", "far"),
        ("repo/at-root.md", "at root"),
        ("repo/pkg/near.md", "near"),
        ("repo/pkg/rules/b.md", "b"),
        ("repo/pkg/rules/a.md", "a"),
        ("repo/pkg/rules/a.txt", "text"),
        ("repo/pkg/rules/deep/c.md", "c"),
        ("repo/pkg/rules/node_modules/d.md", "d"),
    ]);
    let far = place.path("outside/far.md").display().to_string();
    place.config.instructions = vec![
        "near.md".to_owned(),
        "at-root.md".to_owned(),
        "~/notes.md".to_owned(),
        far.clone(),
        "rules/*.md".to_owned(),
        "rules/**/*.md".to_owned(),
    ];
    let gathered = place.gather("repo/pkg");
    let own: Vec<Standing> = gathered.found[..5].iter().map(|one| one.standing).collect();
    assert_eq!(
        own,
        [
            Standing::Session,
            Standing::Session,
            Standing::User,
            Standing::User,
            Standing::Session
        ]
    );
    assert_eq!(gathered.problems, []);
    assert_eq!(
        pairs(gathered),
        owned(&[
            ("pkg/near.md", "near"),
            ("at-root.md", "at root"),
            ("~/notes.md", "home"),
            (&far, "far"),
            ("pkg/rules/a.md", "a"),
            ("pkg/rules/b.md", "b"),
            ("pkg/rules/deep/c.md", "c"),
        ])
    );
}

#[test]
fn configured_files_of_another_root_have_that_roots_trust() {
    let mut place = place(&[("lib/rules.md", "lib")]);
    place.roots(&["repo", "lib"]);
    place.config.instructions = vec!["rules.md".to_owned()];
    let standing = |place: &Place| place.gather("repo").found[0].standing;
    assert_eq!(standing(&place), Standing::Folder { trusted: false });
    assert_eq!(place.gather("repo").found[0].source, "lib/rules.md");
    TrustStore::new(&place.env)
        .set_folder(&place.path("lib"), true)
        .unwrap();
    assert_eq!(standing(&place), Standing::Folder { trusted: true });
}

#[test]
fn unusable_entries_are_reported() {
    // ET-30 in the open
    let mut place = place(&[("repo/docs/a.md", "a")]);
    place.config.instructions = [
        "missing.md",
        "none/*.md",
        "https://example.com/rules.md",
        "",
        "[",
        "docs",
    ]
    .map(str::to_owned)
    .to_vec();
    let gathered = place.gather("repo");
    assert_eq!(gathered.found, []);
    assert!(reason_of(&gathered, "missing.md").starts_with("there is no such file"));
    assert!(reason_of(&gathered, "none/*.md").starts_with("there is no such file"));
    assert!(reason_of(&gathered, "rules.md").starts_with("not fetched yet"));
    assert_eq!(reason_of(&gathered, "docs"), "it is a directory");
    assert_eq!(gathered.problems.len(), 6, "{:?}", gathered.problems);
}

#[test]
fn links_out_of_the_workspace_are_not_followed() {
    // A04, A13
    let mut place = place(&[
        ("secret/id_rsa", "KEY"),
        ("secret/AGENTS.md", "SECRET"),
        ("repo/.env", "TOKEN=1"),
        ("repo/docs/agents.md", "inside"),
        ("repo/d/.keep", ""),
        ("repo/e/.keep", ""),
    ]);
    symlink(place.path("secret/id_rsa"), place.path("repo/AGENTS.md")).unwrap();
    symlink(place.path("repo/.env"), place.path("repo/d/AGENTS.md")).unwrap();
    symlink(
        place.path("repo/docs/agents.md"),
        place.path("repo/e/AGENTS.md"),
    )
    .unwrap();
    symlink(place.path("secret"), place.path("repo/linked")).unwrap();
    let gathered = place.gather("repo/d");
    assert_eq!(gathered.found, []);
    assert!(reason_of(&gathered, "d/AGENTS.md").contains("not Markdown or text"));
    assert!(
        gathered.problems[0]
            .1
            .contains("leads out of the workspace")
    );
    let inside = place.gather("repo/e");
    assert_eq!(pairs(inside), owned(&[("e/AGENTS.md", "inside")]));

    let absolute = place.path("repo/linked/AGENTS.md").display().to_string();
    for entry in ["linked/AGENTS.md", "linked/*.md", &absolute] {
        place.config.instructions = vec![entry.to_owned()];
        let gathered = place.gather("repo/d");
        assert_eq!(gathered.found, [], "{entry}");
        assert!(
            gathered.problems.len() > 2,
            "{entry}: {:?}",
            gathered.problems
        );
    }
}

#[test]
fn a_relative_entry_stays_in_the_workspace() {
    // A04: client settings can come from a repository.
    let mut place = place(&[("secret/x.md", "SECRET")]);
    for entry in ["../secret/x.md", "../secret/*.md", "./a/../../secret/x.md"] {
        place.config.instructions = vec![entry.to_owned()];
        let gathered = place.gather("repo");
        assert_eq!(gathered.found, [], "{entry}");
        assert_eq!(gathered.problems.len(), 1, "{entry}");
    }
}

#[test]
fn special_files_are_never_opened() {
    let mut place = place(&[("repo/.keep", "")]);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    for name in ["repo/AGENTS.md", "repo/rules.md", "config/AGENTS.md"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, place.path(name), mode).unwrap();
    }
    place.config.instructions = vec!["rules.md".to_owned()];
    let gathered = place.gather("repo");
    assert_eq!(gathered.found, []);
    assert_eq!(gathered.problems.len(), 3, "{:?}", gathered.problems);
    assert!(
        gathered
            .problems
            .iter()
            .all(|(_, why)| why.contains("not a regular file"))
    );
}

#[test]
fn a_file_of_50_mb_and_one_that_is_no_text_are_refused_in_words() {
    // A04
    let place = place(&[("repo/a/AGENTS.md", "fine")]);
    let large = fs::File::create(place.path("repo/AGENTS.md")).unwrap();
    large.set_len(50 * 1024 * 1024).unwrap();
    place.write("repo/a/b/AGENTS.md", [b'a', 0xff, 0xfe]);
    let gathered = place.gather("repo/a/b");
    assert!(
        gathered.problems[0]
            .1
            .starts_with("it has 52428800 bytes, more than")
    );
    assert_eq!(
        reason_of(&gathered, "a/b/AGENTS.md"),
        "it is not UTF-8 text"
    );
    assert_eq!(pairs(gathered), owned(&[("a/AGENTS.md", "fine")]));
}

/// K16.
#[test]
fn an_unusable_file_is_not_replaced_by_the_next_name() {
    let place = place(&[("repo/CLAUDE.md", "claude")]);
    place.write("repo/AGENTS.md", [0xff]);
    let gathered = place.gather("repo");
    assert_eq!((gathered.found.len(), gathered.problems.len()), (0, 1));
}

#[test]
fn the_budget_cuts_the_long_files_and_says_so() {
    let long = "ä".repeat(40_000);
    let place = place(&[("repo/AGENTS.md", &long), ("repo/a/AGENTS.md", "near")]);
    let gathered = place.gather("repo/a");
    let (cut, near) = (&gathered.found[0], &gathered.found[1]);
    assert_eq!(near.text, "near");
    let kept = BUDGET - 4;
    assert!(cut.text.starts_with('ä') && cut.text.len() < BUDGET + 200);
    let mark = format!("\n[… cut here: AGENTS.md has 80000 bytes, the first {kept} are shown;");
    assert!(cut.text.contains(&mark), "{}", &cut.text[kept..]);
    assert_eq!(cut.hash, crate::conversation::sha256(long.as_bytes()));
    assert_eq!(
        reason_of(&gathered, "AGENTS.md"),
        format!("cut to {kept} of 80000 bytes: all instruction files together may have {BUDGET}")
    );
}

#[test]
fn two_long_files_share_the_budget() {
    let (a, b) = ("a".repeat(BUDGET), "b".repeat(BUDGET * 2));
    let place = place(&[("repo/AGENTS.md", &a), ("repo/x/AGENTS.md", &b)]);
    let gathered = place.gather("repo/x");
    let kept = |one: &Instruction, text: char| one.text.chars().filter(|c| *c == text).count();
    assert!(kept(&gathered.found[0], 'a') >= BUDGET / 2);
    assert!(kept(&gathered.found[1], 'b') >= BUDGET / 2);
    let total: usize = gathered.found.iter().map(|one| one.text.len()).sum();
    assert!(total < BUDGET + 400);
}

#[test]
fn files_in_vendored_ignored_and_submodule_folders_do_not_count() {
    // A03
    let place = place(&[
        ("repo/AGENTS.md", "root"),
        ("repo/.gitignore", "/build/\n*.tmp/\n!keep.tmp/\n"),
        ("repo/node_modules/evil/AGENTS.md", "EVIL"),
        ("repo/build/out/AGENTS.md", "EVIL"),
        ("repo/x.tmp/AGENTS.md", "EVIL"),
        ("repo/keep.tmp/AGENTS.md", "kept"),
        ("repo/sub/.git", "gitdir: ../.git/modules/sub\n"),
        ("repo/sub/AGENTS.md", "EVIL"),
        ("repo/tree/.git", "gitdir: /elsewhere/.git/worktrees/tree\n"),
        ("repo/tree/AGENTS.md", "own"),
    ]);
    for (cwd, words) in [
        ("repo/node_modules/evil", "vendored folder node_modules"),
        ("repo/build/out", "ignored by .gitignore"),
        ("repo/x.tmp", "ignored by .gitignore"),
        ("repo/sub", "sub is a submodule"),
    ] {
        let gathered = place.gather(cwd);
        assert!(
            gathered.problems[0].1.contains(words),
            "{cwd}: {:?}",
            gathered.problems
        );
        assert_eq!(pairs(gathered), owned(&[("AGENTS.md", "root")]), "{cwd}");
    }
    assert_eq!(place.found("repo/keep.tmp").len(), 2);
    assert_eq!(place.found("repo/tree").len(), 2);
    // A root that is vendored was opened by the user as such.
    place.roots(&["repo/node_modules/evil"]);
    assert_eq!(place.found("repo/node_modules/evil").len(), 1);
}

#[test]
fn an_ignore_file_that_is_a_fifo_is_never_waited_for() {
    let place = place(&[("repo/a/AGENTS.md", "a")]);
    let path = place.path("repo/.gitignore");
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(place.found("repo/a").len(), 1);
}

#[test]
fn a_glob_is_bounded() {
    // A49
    let mut place = place(&[]);
    for number in 0..150 {
        place.write(&format!("repo/r/{number:03}.md"), format!("{number}"));
    }
    place.config.instructions = vec!["r/*.md".to_owned()];
    let gathered = place.gather("repo");
    assert_eq!(gathered.found.len(), 100);
    assert!(reason_of(&gathered, "r/*.md").contains("reaches too far"));
}

#[test]
fn empty_files_and_a_missing_directory_give_nothing() {
    let place = place(&[("repo/AGENTS.md", " \n"), ("config/AGENTS.md", "")]);
    assert_eq!(place.found("repo"), []);
    assert_eq!(place.found("repo/not/there"), []);
}

#[test]
fn gathering_is_repeatable() {
    // INV-5
    let place = place(&[("repo/AGENTS.md", "a"), ("repo/b/AGENTS.md", "b")]);
    assert_eq!(place.gather("repo/b"), place.gather("repo/b"));
}

/// INV-10: the setting can come from a repository; what it names goes to the model unasked.
#[test]
fn secrets_are_no_instructions() {
    let mut place = place(&[("repo/.env", "TOKEN=1"), ("repo/rules.md", "be brief")]);
    place.config.instructions = vec![".env".into(), "*.md".into()];
    let gathered = place.gather("repo");
    assert!(reason_of(&gathered, ".env").contains("secrets"));
    assert_eq!(pairs(gathered), owned(&[("rules.md", "be brief")]));
}
