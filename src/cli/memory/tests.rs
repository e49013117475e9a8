use std::collections::BTreeMap;

use super::lines;
use crate::config::Config;
use crate::env::Env;
use crate::knowledge::memory::{Kind, Memory, Scope};

/// ZY-95.
#[test]
fn zy95_doctor_tells_where_memory_lies_how_much_there_is_and_what_memory_md_costs() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let cwd = base.join("repo");
    std::fs::create_dir(&cwd).unwrap();
    let now = "2026-01-01T00:00:00[UTC]".parse().unwrap();
    let env = Env::fixed(&base, now, BTreeMap::new());
    let mut config = Config::default();
    let user = base.join("config/memory");
    let shown = lines(&env, &config, &cwd);
    assert_eq!(
        shown[0],
        format!("memory   user: 0 entries in {}", user.display())
    );
    assert_eq!(shown.len(), 2, "{shown:?}");
    let memory = Memory::new(&env, &cwd, None);
    memory
        .save(Kind::Fact, Scope::User, "is called Jane", |_| false)
        .unwrap();
    std::fs::write(user.join("topics/bad.md"), b"\xff").unwrap();
    std::fs::write(cwd.join("MEMORY.md"), "old notes\n").unwrap();
    let shown = lines(&env, &config, &cwd);
    assert!(shown[0].contains("user: 1 entries"), "{shown:?}");
    assert!(shown[2].contains("bad.md: it is not UTF-8"), "{shown:?}");
    assert!(
        shown[3].contains("10 bytes") && shown[3].contains("turn it into memory/INDEX.md"),
        "{shown:?}"
    );
    assert_eq!(shown.len(), 4, "{shown:?}");
    config.memory.enabled = false;
    let shown = lines(&env, &config, &cwd);
    assert!(shown[0].contains("off") && shown.len() == 2, "{shown:?}");
}
