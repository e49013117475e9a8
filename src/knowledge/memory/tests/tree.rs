use super::Home;
use crate::knowledge::memory::tree::{Tree, tree};
use crate::workspace::{Root, Uri, Workspace};

fn look(home: &Home, files: &[(&str, &str)]) -> Tree {
    let root = home.project("one");
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let workspace = Workspace::new();
    workspace.set_roots(vec![Root::new(Uri::from_path(&root), None).unwrap()]);
    tree(&workspace, &home.env, &root)
}

fn page(tree: &Tree) -> (&str, &str) {
    let page = tree.page.as_ref();
    page.map_or(("", ""), |page| (page.label, &page.text))
}

/// ZY-07, ZY-08.
#[test]
fn zy07_zy08_the_index_represents_the_tree_and_memory_md_a_missing_index() {
    let home = Home::new();
    assert_eq!(look(&home, &[]), Tree::default());
    let found = look(
        &home,
        &[
            ("memory/topics/a.md", "secret plans"),
            ("MEMORY.md", "old\n"),
        ],
    );
    assert_eq!((page(&found), found.exists), (("MEMORY.md", "old\n"), true));
    let found = look(&home, &[("memory/INDEX.md", " \n")]);
    assert_eq!(page(&found), ("MEMORY.md", "old\n"));
    let found = look(&home, &[("memory/INDEX.md", "# Index\n")]);
    assert_eq!(page(&found), ("memory/INDEX.md", "# Index\n"));
    assert_eq!((found.advice(), found.problems), (None, vec![]));
}

/// ZY-09: the hint of a layout that shows it only where there is a tree.
#[test]
fn zy09_a_tree_is_a_folder_or_an_index_of_it() {
    let home = Home::new();
    assert!(!look(&home, &[("MEMORY.md", "x"), ("memory/other.md", "x")]).exists);
    assert!(look(&home, &[("memory/daily/2026-01-01.md", "x")]).exists);
}

/// ZY-95.
#[test]
fn zy95_a_memory_md_without_an_index_should_be_moved_and_its_size_is_reported() {
    let home = Home::new();
    let advice = look(&home, &[("MEMORY.md", "äb\n")]).advice().unwrap();
    assert!(
        advice.contains("4 bytes") && advice.contains("memory/INDEX.md"),
        "{advice}"
    );
}

#[test]
fn a_page_is_read_from_the_buffer_and_without_its_secrets() {
    let home = Home::new();
    let root = home.project("one");
    std::fs::write(root.join("MEMORY.md"), "saved").unwrap();
    let workspace = Workspace::new();
    workspace.set_roots(vec![Root::new(Uri::from_path(&root), None).unwrap()]);
    let text = "a\npassword=swordfish\nb\n";
    workspace.did_open(Uri::from_path(&root.join("MEMORY.md")), "markdown", 1, text);
    let found = tree(&workspace, &home.env, &root);
    assert_eq!(page(&found), ("MEMORY.md", "a\nb\n"));
    assert_eq!(found.problems.len(), 1);
    assert!(!found.problems[0].1.contains("swordfish"));
}

#[test]
fn links_pipes_and_huge_files_are_reported_and_not_read() {
    let home = Home::new();
    let root = home.project("one");
    std::fs::write(home.project("two").join("other.md"), "of another").unwrap();
    std::os::unix::fs::symlink(home.project("two").join("other.md"), root.join("MEMORY.md"))
        .unwrap();
    let found = look(&home, &[]);
    assert_eq!((page(&found), found.problems.len()), (("", ""), 1));
    std::fs::remove_file(root.join("MEMORY.md")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("MEMORY.md"))
        .status();
    assert!(made.unwrap().success());
    let huge = "x".repeat(1024 * 1024 + 1);
    let found = look(&home, &[("memory/INDEX.md", &huge)]);
    assert_eq!((page(&found), found.problems.len()), (("", ""), 2));
}
