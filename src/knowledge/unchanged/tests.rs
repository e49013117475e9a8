use super::*;

#[test]
fn only_what_was_made_of_the_same_is_had_again() {
    let made: Made<u32, &str, String> = Made::default();
    assert_eq!(made.get(&1, &"a"), None);
    made.put(1, "a", Arc::new("of a".to_owned()));
    assert_eq!(made.get(&1, &"a").unwrap().as_str(), "of a");
    assert_eq!(made.get(&1, &"b"), None);
    for key in 2..=u32::try_from(MOST).unwrap() + 1 {
        made.put(key, "a", Arc::default());
    }
    assert_eq!(made.get(&1, &"a"), None, "it is bounded");
}

#[test]
fn a_file_that_was_just_written_has_no_stamp() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let (now, later) = (Unchanged::default(), Unchanged::later());
    assert_eq!(later.stamp(&path), None);
    std::fs::write(&path, "a").unwrap();
    assert_eq!(now.stamp(&path), None);
    let first = later.stamp(&path);
    assert!(first.is_some() && first == later.stamp(&path));
    std::fs::write(&path, "ab").unwrap();
    assert_ne!(first, later.stamp(&path));
    assert_eq!(later.stamp(dir.path()), None);
    std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
    assert_eq!(later.stamp(&dir.path().join("link")), None);
}
