//! Temporary workspaces from text: `//- /path` begins a file, what follows is its content. Each
//! stage is one machine: home, XDG folders and a workspace that outlive single processes.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::editor::{Editor, Launch};
use crate::model::Model;

/// A key that appears nowhere else, so that a leak is seen.
pub const KEY: &str = "sk-ant-story-5b1f0c9d2e";

/// Folders of one story.
pub struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    pub fn new(fixture: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let stage = Self { dir };
        for name in [
            "home",
            "config/interline",
            "state",
            "data",
            "run",
            "tmp",
            "cache",
        ] {
            std::fs::create_dir_all(stage.dir.path().join(name)).expect("a folder");
        }
        std::fs::create_dir_all(stage.root()).expect("a workspace");
        // What a command does depends on the machine's sandbox, so only the stories about it use it.
        let settings = stage.folder("config/interline/config.toml");
        std::fs::write(settings, "sandbox.mode = \"off\"\n").expect("settings");
        for (path, text) in parse(fixture) {
            stage.write(path, text);
        }
        stage
    }

    /// A connected editor on the workspace: all of our capabilities, folder trusted.
    pub fn editor(&self, model: &Model) -> Editor {
        self.launch(model).start()
    }

    pub fn launch<'a>(&'a self, model: &Model) -> Launch<'a> {
        Launch::new(self, &model.url())
    }

    /// The workspace, without symbolic links in its path.
    pub fn root(&self) -> PathBuf {
        let dir = self.dir.path().canonicalize().expect("the stage");
        dir.join("work")
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn uri(&self, name: &str) -> String {
        uri(&self.path(name))
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file")
    }

    /// The number that a command wrote to a file, once it is there.
    pub fn number(&self, name: &str) -> Option<u32> {
        let text = std::fs::read_to_string(self.path(name)).ok()?;
        text.trim().parse().ok()
    }

    /// Session logs written so far.
    pub fn logs(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.folder("state")];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|ext| ext == "jsonl") {
                    found.push(path);
                }
            }
        }
        found
    }

    /// The environment of a process on this stage: nothing of the machine's except PATH.
    pub fn environment(&self, model_url: &str) -> Vec<(String, String)> {
        let dir = |name: &str| self.folder(name).display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        [
            ("PATH", path),
            ("HOME", dir("home")),
            ("XDG_CONFIG_HOME", dir("config")),
            ("XDG_STATE_HOME", dir("state")),
            ("XDG_DATA_HOME", dir("data")),
            ("XDG_CACHE_HOME", dir("cache")),
            ("XDG_RUNTIME_DIR", dir("run")),
            ("TMPDIR", dir("tmp")),
            ("LANG", "C.UTF-8".into()),
            ("ANTHROPIC_BASE_URL", model_url.into()),
            ("ANTHROPIC_API_KEY", KEY.into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// `file:` URI of an absolute path whose characters need no escape (temporary folders).
/// Copies a program with its mode. Another process writes the copy: a command that another test
/// starts at the same time would inherit this one's descriptor, and then it is "busy".
pub fn copy_program(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").args([from, to]).status();
    assert!(copied.expect("cp").success());
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

pub fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(fixture: &str) -> Vec<(&str, &str)> {
    fixture
        .split("//- /")
        .skip(1)
        .map(|part| part.split_once('\n').unwrap_or((part, "")))
        .map(|(path, text)| (path.trim(), text))
        .collect()
}

#[test]
fn a_fixture_becomes_files_with_exact_content() {
    let stage = Stage::new("//- /src/a.rs\nfn a() {}\n\n//- /b.txt\nlast");
    assert_eq!(stage.read("src/a.rs"), "fn a() {}\n\n");
    assert_eq!(stage.read("b.txt"), "last");
}
