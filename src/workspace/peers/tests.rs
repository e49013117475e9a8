use super::*;

fn document(key: &str) -> OpenDocument {
    OpenDocument {
        uri: format!("file://{key}"),
        key: key.to_owned(),
        dirty: true,
    }
}

/// Another process of the registry, whose id is that of this test's parent or made up.
fn other(peers: &Peers, process: i32, started: Option<u64>, key: &str) {
    let card = Card {
        process,
        started,
        editor: "Kate 25".to_owned(),
        documents: vec![document(key)],
        roots: Vec::new(),
    };
    crate::env::private_folder(&peers.folder).unwrap();
    std::fs::write(peers.file(process), serde_json::to_vec(&card).unwrap()).unwrap();
}

fn parent() -> i32 {
    i32::try_from(std::os::unix::process::parent_id()).unwrap()
}

#[test]
fn a_process_is_no_peer_of_itself_and_leaves_without_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let peers = Peers::new(dir.path());
    assert!(peers.holder("/w/a").is_none());
    peers
        .publish("Kate 25", Vec::new(), vec![document("/w/a")])
        .unwrap();
    assert!(peers.holder("/w/a").is_none());
    let own: Card =
        serde_json::from_slice(&std::fs::read(peers.file(peers.process)).unwrap()).unwrap();
    assert_eq!(own.documents, [document("/w/a")]);
    peers.publish("Kate 25", Vec::new(), Vec::new()).unwrap();
    assert_eq!(std::fs::read_dir(&peers.folder).unwrap().count(), 0);
}

#[test]
fn others_cannot_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let peers = Peers::new(&dir.path().join("run"));
    peers
        .publish("Kate 25", Vec::new(), vec![document("/w/a")])
        .unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&peers.folder), 0o700);
    assert_eq!(mode(&peers.file(peers.process)), 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn a_living_process_holds_what_it_lists_and_a_dead_one_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let peers = Peers::new(dir.path());
    // Without a parent in this PID namespace the first process takes its place.
    let living = parent().max(1);
    other(&peers, living, process::start_time(living), "/w/a");
    let holder = peers.holder("/w/a").unwrap();
    assert!(holder.holder().contains("Kate 25"), "{}", holder.holder());
    assert!(holder.holder().contains(&living.to_string()));
    assert!(peers.holder("/w/b").is_none());
    // Its id was given to another process in the meantime.
    other(&peers, living, Some(1), "/w/a");
    assert!(peers.holder("/w/a").is_none());
    // No process has this id.
    other(&peers, i32::MAX, None, "/w/a");
    assert!(peers.holder("/w/a").is_none());
    assert_eq!(std::fs::read_dir(&peers.folder).unwrap().count(), 0);
}

#[test]
fn what_is_no_card_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let peers = Peers::new(dir.path());
    crate::env::private_folder(&peers.folder).unwrap();
    for name in ["1.json", "x.json", "readme"] {
        std::fs::write(peers.folder.join(name), "{").unwrap();
    }
    assert!(peers.others().is_empty());
    assert_eq!(std::fs::read_dir(&peers.folder).unwrap().count(), 3);
}
