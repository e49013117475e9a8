use super::*;

async fn shell(command: &str, input: &[u8], timeout: Duration) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let script = Script {
        command: command.to_owned(),
        cwd: Folder::at(folder.path()).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        timeout,
        confinement: None,
    };
    run(script, input, std::future::pending()).await.unwrap()
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn output_errors_and_exit_code_are_kept_apart() {
    let ended = shell("tr a-z A-Z; echo no >&2; exit 2", b"abc", LONG).await;
    assert_eq!(ended.end, End::Exited(2));
    assert_eq!((ended.stdout.as_str(), ended.stderr.trim()), ("ABC", "no"));
    // Neither pipe fills up and blocks the other, and only a part is kept.
    let large = vec![b'x'; 500_000];
    let ended = shell("yes err | head -c 300000 >&2; cat", &large, LONG).await;
    assert_eq!((ended.end, ended.stdout.len()), (End::Exited(0), 65_536));
    assert_eq!(ended.stderr.len(), 65_536);
    assert_eq!(shell("true", &large, LONG).await.end, End::Exited(0));
}

#[tokio::test]
async fn what_it_leaves_running_and_what_is_late_is_stopped() {
    let ended = shell("sleep 600 & echo $!", b"", LONG).await;
    let pid: i32 = ended.stdout.trim().parse().unwrap();
    assert_eq!(ended.end, End::Exited(0));
    assert!(!crate::process::is_running(pid));
    let ended = shell("sleep 600 & echo $!; wait", b"", Duration::from_millis(300)).await;
    assert_eq!(ended.end, End::TimedOut);
    let pid: i32 = ended.stdout.trim().parse().unwrap();
    assert!(!crate::process::is_running(pid));
}
