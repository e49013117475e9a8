use super::*;

/// R12: the programs that servers start, by command and by argument; nothing outside.
#[test]
fn r12_programs_of_the_workspace_belong_to_their_servers_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("bin")).unwrap();
    for name in ["srv.sh", "bin/tool.py", "conf.json"] {
        std::fs::write(root.join(name), "1\n").unwrap();
    }
    let path = root.join(".mcp.json");
    let text = r#"{"mcpServers": {"a": {"command": "./srv.sh", "args": ["--conf=conf.json", "x"]},
        "b": {"command": "python3", "args": ["tool.py"], "cwd": "bin"},
        "c": {"command": "/bin/sh"}, "d": {"url": "https://e.example"}}}"#;
    let found: Vec<PathBuf> = files(&path, text).into_iter().collect();
    assert_eq!(
        found,
        ["bin/tool.py", "conf.json", "srv.sh"].map(|it| root.join(it))
    );
    let before = digest(&path, text);
    assert!(before.is_some() && digest(&path, text) == before);
    std::fs::write(root.join("srv.sh"), "2\n").unwrap();
    assert_ne!(digest(&path, text), before);
    assert_eq!(digest(&path, r#"{"mcpServers": {}}"#), None);
}

/// R30: the files beside a SKILL.md; a FIFO there prevents trust and never blocks.
#[test]
fn a_skill_comes_with_the_files_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let skill = dir.path().join("SKILL.md");
    std::fs::write(&skill, "x").unwrap();
    assert!(!any(&skill, "x"));
    std::fs::create_dir(dir.path().join("scripts")).unwrap();
    std::fs::write(dir.path().join("scripts/run.sh"), "echo 1\n").unwrap();
    let before = digest(&skill, "x");
    std::fs::write(dir.path().join("scripts/run.sh"), "echo 2\n").unwrap();
    assert!(before.is_some() && digest(&skill, "x") != before);
    let pipe = dir.path().join("scripts/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert!(any(&skill, "x") && digest(&skill, "x").is_none());
}

/// INV-9: the scripts that hooks name, however the project's folder is written.
#[test]
fn scripts_of_the_workspace_belong_to_their_hooks_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join(".claude/hooks")).unwrap();
    for name in ["a.sh", "b.py", ".claude/hooks/c.sh", "d.json", "unused"] {
        std::fs::write(root.join(name), "1\n").unwrap();
    }
    let text = r#"{"hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "sh ./a.sh && python3 b.py"},
        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/c.sh --conf=${CLAUDE_PROJECT_DIR}/d.json"}]}]}}"#;
    for name in [".interline/hooks.json", ".claude/settings.json"] {
        let found: Vec<PathBuf> = files(&root.join(name), text).into_iter().collect();
        let names = [".claude/hooks/c.sh", "a.sh", "b.py", "d.json"];
        assert_eq!(found, names.map(|it| root.join(it)), "{name}");
    }
}
