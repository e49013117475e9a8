//! Memories on real folders, with a fixed clock.

mod bullets;
mod cached;
mod hostile;
mod profile;
mod rank;
mod save;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Entry, Kind, Loaded, Memory, Scope, Unsaved};
use crate::conversation::SessionId;
use crate::env::Env;

/// A machine with two projects.
struct Home {
    dir: tempfile::TempDir,
    env: Env,
}

impl Home {
    fn new() -> Self {
        Self::on("2026-11-21")
    }

    fn on(day: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["one", "two"] {
            std::fs::create_dir(base.join(name)).unwrap();
        }
        let now = format!("{day}T10:00:00[UTC]").parse().unwrap();
        let vars = BTreeMap::from([
            ("DEPLOY_TOKEN".to_owned(), "hunter2".to_owned()),
            ("SSH_AUTH_SOCK".to_owned(), "/tmp/agent.1".to_owned()),
            ("EDITOR".to_owned(), "kakoune".to_owned()),
        ]);
        Self {
            env: Env::fixed(&base, now, vars),
            dir,
        }
    }

    fn project(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn memory(&self, project: &str, session: &str) -> Memory {
        let id = SessionId::from(session);
        Memory::new(&self.env, &self.project(project), Some(&id))
    }

    fn load(&self, project: &str, session: &str) -> Loaded {
        let id = SessionId::from(session);
        Memory::load(&self.env, &self.project(project), Some(&id))
    }

    fn save(&self, kind: Kind, scope: Scope, text: &str) {
        let saved = self.memory("one", "s").save(kind, scope, text, |_| false);
        assert!(!saved.unwrap().known, "{text}");
    }

    /// A file in the user's memory, as a person writes it.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.env.dirs.config.join("memory").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.env.dirs.config.join("memory").join(name)).unwrap()
    }
}

fn texts(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.text.as_str()).collect()
}

fn texts_of(loaded: &Loaded, scope: Scope) -> Vec<&str> {
    let entries = loaded.entries.iter().filter(|entry| entry.scope == scope);
    entries.map(|entry| entry.text.as_str()).collect()
}

/// A memory without a file.
fn entry(kind: Kind, scope: Scope, text: &str, date: &str) -> Entry {
    Entry {
        kind,
        scope,
        text: text.to_owned(),
        date: date.parse().ok(),
        path: Path::new("/m").join(format!("{}.md", kind.as_str())),
    }
}

fn loaded(mut entries: Vec<Entry>) -> Loaded {
    entries.sort_by_key(|entry| entry.scope);
    Loaded {
        entries,
        problems: Vec::new(),
    }
}

/// Any folder on the way to the file, exchanged for a link after the memory was made.
#[test]
fn a_folder_of_memories_that_became_a_link_is_not_written_through() {
    for name in ["memory", "memory/topics"] {
        let home = Home::new();
        home.save(Kind::Fact, Scope::User, "first");
        let folder = home.env.dirs.config.join(name);
        let outside = home.project("two");
        std::fs::rename(&folder, home.project("one").join("kept")).unwrap();
        std::os::unix::fs::symlink(&outside, &folder).unwrap();
        let memory = home.memory("one", "s");
        let saved = memory.save(Kind::Fact, Scope::User, "second", |_| false);
        assert!(
            matches!(saved, Err(Unsaved::Io { .. })),
            "{name}: {saved:?}"
        );
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "{name}");
    }
}
