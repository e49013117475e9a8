use std::collections::BTreeMap;
use std::fs;

use super::*;

/// ZE-84: documents are listed by name and found by their words; links and hidden files are
/// left alone, a missing folder is reported.
#[test]
fn ze84_documents_are_listed_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let env = Env::fixed(dir.path(), now, BTreeMap::new());
    let kb = env.dirs.config.join("kb");
    fs::create_dir_all(kb.join("deep")).unwrap();
    fs::write(
        kb.join("a.md"),
        "# Deploy\nPush the tag.\n# Lunch\nAt noon.\n",
    )
    .unwrap();
    fs::write(kb.join("deep/b.txt"), "The proxy listens on 8443.\n").unwrap();
    fs::write(kb.join(".hidden.md"), "tag").unwrap();
    fs::write(kb.join("c.bin"), "tag").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", kb.join("d.md")).unwrap();
    let library = Library::list(&env, &["kb".to_owned(), "none".to_owned()]);
    let names: Vec<&str> = library
        .documents
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["a.md", "deep/b.txt"]);
    assert_eq!(library.problems[0].0, "none");
    let found = library.search("how do we deploy a tag?", 5);
    assert_eq!((found[0].document.as_str(), found[0].line), ("a.md", 1));
    assert_eq!(found[0].text, "# Deploy\nPush the tag.\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(library.search("quantum", 5).is_empty());
}
