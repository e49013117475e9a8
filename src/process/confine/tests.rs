use super::{Absent, Placeholders};

/// Two commands at the same time: the first to end leaves the placeholder to the other.
#[test]
fn a_placeholder_stays_until_the_last_command_that_needs_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".vscode");
    let wanted = [Absent::Folder(path.clone())];
    let first = Placeholders::make(&wanted);
    let second = Placeholders::make(&wanted);
    drop(first);
    assert!(path.is_dir());
    drop(second);
    assert!(!path.exists());
}

/// What exists is no placeholder and stays.
#[test]
fn a_folder_of_the_user_is_no_placeholder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".vscode");
    std::fs::create_dir(&path).unwrap();
    drop(Placeholders::make(&[Absent::Folder(path.clone())]));
    assert!(path.is_dir());
}

#[test]
fn what_a_command_must_not_create_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commondir");
    let held = Placeholders::make(&[Absent::Removed(path.clone())]);
    std::fs::write(&path, "../evil").unwrap();
    drop(held);
    assert!(!path.exists());
}
