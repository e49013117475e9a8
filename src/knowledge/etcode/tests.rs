use std::fs;

use super::*;
use crate::workspace::Uri;

/// ET-47, INV-9.
#[test]
fn a_workspaces_file_is_read_safely_and_gives_instructions_only() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let workspace = Workspace::new();
    assert_eq!(instructions(&workspace, &root), (vec![], vec![]));
    let path = root.join(FILE);
    let text =
        r#"{"instructions": ["docs/a.md", "/etc/x"], "provider": [{"id": "p", "apiKey": "k"}]}"#;
    fs::write(&path, text).unwrap();
    let (entries, ignored) = instructions(&workspace, &root);
    assert_eq!(entries, ["docs/a.md"]);
    let keys: Vec<&str> = ignored.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["provider.p", "instructions"]);
    assert!(
        ignored
            .iter()
            .all(|one| one.source.ends_with("/etcode.json"))
    );
    let unsaved = r#"{"instructions": ["docs/b.md"]}"#;
    workspace.did_open(Uri::from_path(&path), "json", 1, unsaved);
    assert_eq!(
        instructions(&workspace, &root),
        (vec!["docs/b.md".into()], vec![])
    );
    workspace.did_close(&Uri::from_path(&path));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    let (entries, ignored) = instructions(&workspace, &root);
    assert_eq!((entries.len(), ignored.len()), (0, 1), "{ignored:?}");
}
