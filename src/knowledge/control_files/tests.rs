use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::env::Env;
use crate::workspace::{Root, Uri};

struct Repo {
    dir: tempfile::TempDir,
    workspace: std::sync::Arc<Workspace>,
    store: TrustStore,
}

impl Repo {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let store = TrustStore::new(&Env::fixed(dir.path(), now, BTreeMap::new()));
        let workspace = Workspace::new();
        let repo = Self {
            dir,
            workspace,
            store,
        };
        fs::create_dir_all(repo.root()).unwrap();
        let root = Root::new(Uri::from_path(&repo.root()), None).unwrap();
        repo.workspace.set_roots(vec![root]);
        for (name, text) in files {
            repo.write(name, text);
        }
        repo
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn list(&self) -> Listed {
        list(&self.workspace, &self.store, &self.root())
    }

    fn names(&self) -> Vec<String> {
        self.list().files.into_iter().map(|it| it.shown).collect()
    }
}

#[test]
fn every_kind_of_active_file_is_found_and_nothing_else() {
    let repo = Repo::new(&[
        (".interline/config.toml", "mode = 'ask'\n"),
        (".mcp.json", "{}"),
        (".interline/agents/a.md", "a"),
        (".interline/agents/a.txt", "no agent"),
        (".interline/agents/deep/b.md", "no agent"),
        (".claude/agents/c.md", "c"),
        (".interline/prompts/modes/plan.md", "plan"),
        ("SYSTEM_PROMPT.md", "s"),
        (".agents/skills/x/SKILL.md", "x"),
        (".agents/skills/x/notes.md", "no skill"),
        (".interline/skills/y/z/SKILL.md", "z"),
        (".claude/skills/w/SKILL.md", "w"),
        ("docs/SKILL.md", "no skill"),
        ("AGENTS.md", "instructions"),
    ]);
    let expected = [
        ".interline/config.toml",
        ".mcp.json",
        ".claude/agents/c.md",
        ".interline/agents/a.md",
        ".interline/prompts/modes/plan.md",
        "SYSTEM_PROMPT.md",
        ".agents/skills/x/SKILL.md",
        ".claude/skills/w/SKILL.md",
        ".interline/skills/y/z/SKILL.md",
    ];
    assert_eq!(repo.names(), expected);
    for name in expected {
        assert!(kind(&repo.path(name)).is_some(), "{name}");
    }
    for name in ["AGENTS.md", "docs/SKILL.md", ".interline/agents/a.txt"] {
        assert_eq!(kind(&repo.path(name)), None, "{name}");
    }
    assert_eq!(repo.list().problems, []);
}

#[test]
fn trust_holds_for_exactly_the_content_and_a_change_is_reported() {
    // INV-9
    let repo = Repo::new(&[(".interline/agents/a.md", "Be brief.\n")]);
    let path = repo.path(".interline/agents/a.md");
    let file = |repo: &Repo| repo.list().files.remove(0);
    assert!(!file(&repo).trusted && file(&repo).before.is_none());
    let hash = repo.store.trust_text(&path, "Be brief.\n").unwrap();
    assert!(file(&repo).trusted);
    assert_eq!(file(&repo).hash, hash);
    repo.write(".interline/agents/a.md", "Be evil.\n");
    assert!(!file(&repo).trusted);
    assert_eq!(file(&repo).before, Some(hash.clone()));
    assert_eq!(
        repo.store.trusted_copy(&hash).as_deref(),
        Some("Be brief.\n")
    );
    // The same name elsewhere is another file.
    repo.write(".claude/agents/a.md", "Be brief.\n");
    assert!(repo.list().files.iter().all(|file| !file.trusted));
}

#[test]
fn an_unsaved_text_is_not_the_one_that_was_trusted() {
    let repo = Repo::new(&[(".mcp.json", "{}")]);
    let path = repo.path(".mcp.json");
    repo.store.trust_text(&path, "{}").unwrap();
    assert!(repo.list().files[0].trusted);
    let text = "{\"mcpServers\": {}}";
    repo.workspace
        .did_open(Uri::from_path(&path), "json", 1, text);
    assert!(!repo.list().files[0].trusted);
}

#[test]
fn anything_but_a_plain_file_inside_is_reported_and_not_opened() {
    let repo = Repo::new(&[("real.md", "inside"), (".env", "KEY=1")]);
    let outside = repo.dir.path().join("outside.md");
    fs::write(&outside, "outside").unwrap();
    fs::create_dir_all(repo.path(".interline/agents/folder.md")).unwrap();
    let agents = repo.path(".interline/agents");
    symlink(&outside, agents.join("out.md")).unwrap();
    symlink("../../real.md", agents.join("in.md")).unwrap();
    symlink("../../.env", agents.join("secret.md")).unwrap();
    symlink("gone", agents.join("gone.md")).unwrap();
    symlink("loop.md", agents.join("loop.md")).unwrap();
    fs::write(agents.join("binary.md"), b"\xff\x00").unwrap();
    fs::write(agents.join("huge.md"), vec![b'x'; LIMIT as usize + 1]).unwrap();
    let fifo = agents.join("fifo.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let listed = repo.list();
    let files: Vec<&str> = listed.files.iter().map(|it| it.shown.as_str()).collect();
    assert_eq!(files, [".interline/agents/in.md"]);
    assert_eq!(listed.files[0].path, repo.path("real.md"));
    let names: Vec<&str> = listed
        .problems
        .iter()
        .map(|(path, _)| path.trim_start_matches(".interline/agents/"))
        .collect();
    let expected = [
        "binary.md",
        "fifo.md",
        "gone.md",
        "huge.md",
        "loop.md",
        "out.md",
        "secret.md",
    ];
    assert_eq!(names, expected, "{:?}", listed.problems);
}

#[test]
fn folders_behind_links_are_reported_and_not_entered() {
    let repo = Repo::new(&[(".claude/skills/real/SKILL.md", "real")]);
    let outside = repo.dir.path().join("outside");
    fs::create_dir_all(outside.join("agents")).unwrap();
    fs::write(outside.join("agents/a.md"), "evil").unwrap();
    symlink(&outside, repo.path(".interline")).unwrap();
    symlink(repo.root(), repo.path(".claude/skills/cycle")).unwrap();
    assert_eq!(repo.names(), [".claude/skills/real/SKILL.md"]);
    let problems = repo.list().problems;
    let is_reported = |name: &str| problems.iter().any(|(path, _)| path == name);
    assert!(
        is_reported(".claude/skills/cycle") && is_reported(".interline/agents"),
        "{problems:?}"
    );
}

#[test]
fn a_huge_folder_is_read_in_part() {
    let repo = Repo::new(&[]);
    let folder = repo.path(".interline/prompts");
    fs::create_dir_all(&folder).unwrap();
    for n in 0..FILES + 1 {
        fs::write(folder.join(format!("{n:04}.md")), format!("{n}")).unwrap();
    }
    let listed = repo.list();
    assert_eq!(listed.files.len(), FILES);
    assert!(listed.problems[0].1.contains("more than 500"), "{listed:?}");
    let (_, problems) = walk(&repo.root(), ".interline/prompts", 0, &mut 7, &|_| true);
    assert!(problems[0].1.contains("entries"), "{problems:?}");
}

#[test]
fn a_file_that_the_user_names_is_read_from_disk_as_the_editor_would_carry_it() {
    let repo = Repo::new(&[("a.md", "\u{feff}one\r\n")]);
    let text = read_disk(&repo.path("a.md")).unwrap();
    assert_eq!(text.text, "one\r\n");
    assert_eq!(text.hash, sha256(b"one\r\n"));
    assert!(read_disk(&repo.root()).is_err() && read_disk(&repo.path("none")).is_err());
    repo.write("nul.md", "a\0b");
    assert!(
        read_disk(&repo.path("nul.md"))
            .unwrap_err()
            .contains("UTF-8")
    );
}
