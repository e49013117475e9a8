//! What may lie where memories should be.

use super::{Home, texts};
use crate::knowledge::memory::{Kind, MOST, Scope, Unsaved};

#[test]
fn a_hand_written_secret_reaches_no_one_and_is_reported_without_its_value() {
    let home = Home::new();
    let text = "- likes tea\n- token: ghp_16C7e42F292c6912E7\n- deploys with hunter2\n";
    let path = home.write("topics/notes.md", text);
    let found = home.load("one", "s");
    assert_eq!(texts(&found.entries), ["likes tea"]);
    let places: Vec<&str> = found.problems.iter().map(|(_, why)| &why[..6]).collect();
    assert_eq!(places, ["line 2", "line 3"]);
    assert_eq!(found.problems[0].0, path.display().to_string());
    let all = format!("{:?}", found.problems);
    assert!(!all.contains("ghp_") && !all.contains("hunter2"), "{all}");
    // Nor does it get into the index.
    home.save(Kind::Fact, Scope::User, "is called Jane");
    let index = home.read("INDEX.md");
    assert!(index.contains("notes.md) (1): likes tea"), "{index}");
}

#[test]
fn links_and_pipes_are_neither_read_nor_replaced() {
    let home = Home::new();
    let secret = home.project("one").join("elsewhere.md");
    std::fs::write(&secret, "- from elsewhere\n").unwrap();
    let topic = home.write("topics/fact.md", "");
    std::fs::remove_file(&topic).unwrap();
    std::os::unix::fs::symlink(&secret, &topic).unwrap();
    let pipe = topic.with_file_name("pipe.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    home.write("topics/good.md", "- likes tea\n");
    std::fs::create_dir(topic.with_file_name("folder.md")).unwrap();
    let found = home.load("one", "s");
    assert_eq!(texts(&found.entries), ["likes tea"]);
    assert_eq!(found.problems.len(), 3, "{:?}", found.problems);
    let saved = home
        .memory("one", "s")
        .save(Kind::Fact, Scope::User, "is called Jane", |_| false);
    assert!(matches!(saved, Err(Unsaved::Io { .. })), "{saved:?}");
    assert!(topic.is_symlink());
    assert_eq!(
        std::fs::read_to_string(&secret).unwrap(),
        "- from elsewhere\n"
    );
}

#[test]
fn a_linked_folder_is_not_followed_and_a_pipe_for_a_lock_does_not_wait() {
    let home = Home::new();
    let outside = home.project("one").join("topics");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a.md"), "- from outside\n").unwrap();
    let memory = home.env.dirs.config.join("memory");
    std::fs::create_dir_all(&memory).unwrap();
    std::os::unix::fs::symlink(&outside, memory.join("topics")).unwrap();
    let found = home.load("one", "s");
    assert!(found.entries.is_empty());
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    let save = || {
        let memory = home.memory("one", "s");
        memory.save(Kind::Fact, Scope::User, "is called Jane", |_| false)
    };
    assert!(matches!(save(), Err(Unsaved::Io { .. })));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    std::fs::remove_file(memory.join("topics")).unwrap();
    let lock = memory.join(".lock");
    let made = std::process::Command::new("mkfifo").arg(&lock).status();
    assert!(made.unwrap().success());
    assert!(matches!(save(), Err(Unsaved::Io { .. })));
}

#[test]
fn broken_and_huge_files_cost_themselves_only() {
    let home = Home::new();
    home.write("topics/a.md", b"- bad \xff\xfe\n");
    home.write("topics/b.md", "- x\n".repeat(300_000));
    home.write("topics/c.md", "- likes tea\n");
    home.write("topics/notes.txt", "- not Markdown\n");
    home.write("topics/.hidden.md", "- hidden\n");
    home.write("core/d.md", "- not a topic\n");
    let found = home.load("one", "s");
    assert_eq!(texts(&found.entries), ["likes tea"]);
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
}

#[test]
fn more_than_can_be_read_is_reported() {
    let home = Home::new();
    let many: String = (0..MOST + 7).map(|n| format!("- number {n}\n")).collect();
    home.write("topics/many.md", many);
    let found = home.load("one", "s");
    assert_eq!(found.entries.len(), MOST);
    assert_eq!(found.problems.len(), 1);
    for n in 0..210 {
        home.write(&format!("topics/t{n}.md"), "- x\n");
    }
    std::fs::remove_file(home.env.dirs.config.join("memory/topics/many.md")).unwrap();
    let found = home.load("one", "s");
    assert_eq!((found.entries.len(), found.problems.len()), (200, 1));
    // A file full of unusable lines is reported in a few lines.
    home.write("topics/0.md", "- password=x1\n".repeat(500));
    let found = home.load("one", "s");
    assert!(found.problems.len() < 30, "{}", found.problems.len());
    assert!(
        found
            .problems
            .iter()
            .any(|(_, why)| why.contains("further"))
    );
}

#[test]
fn too_long_and_hidden_lines_are_reported() {
    let home = Home::new();
    let long = "a ".repeat(3_000);
    home.write(
        "topics/a.md",
        format!("- {long}\n- b\u{202e}c\n- likes tea\n"),
    );
    let found = home.load("one", "s");
    assert_eq!(texts(&found.entries), ["likes tea"]);
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
}
