use super::*;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(10),
    output: 1000,
    quotes: true,
};

async fn shell(script: &str, input: &[u8], limits: Limits) -> Result<String, String> {
    let argv = ["sh", "-c", script].map(str::to_owned);
    let folder = tempfile::tempdir().unwrap();
    let output = filter(&argv, folder.path(), input, limits).await?;
    Ok(String::from_utf8(output).unwrap())
}

#[tokio::test]
async fn bytes_go_in_and_come_out() {
    assert_eq!(shell("tr a-z A-Z", b"abc", LIMITS).await.unwrap(), "ABC");
    // Neither pipe fills up and blocks the other.
    let large = vec![b'x'; 500_000];
    let count = shell("yes err | head -c 300000 >&2; wc -c", &large, LIMITS).await;
    assert_eq!(count.unwrap().trim(), "500000");
    assert_eq!(
        shell("echo early", &large, LIMITS).await.unwrap(),
        "early\n"
    );
}

#[tokio::test]
async fn a_failing_exit_code_says_why() {
    let failed = shell(
        "echo half; echo 'no \u{1b}[1mluck' >&2; exit 3",
        b"",
        LIMITS,
    )
    .await;
    let reason = failed.unwrap_err();
    assert!(reason.contains("3: no ?[1mluck"), "{reason}");
    let missing = ["/no/such/program".to_owned()];
    let folder = tempfile::tempdir().unwrap();
    assert!(filter(&missing, folder.path(), b"", LIMITS).await.is_err());
    assert!(filter(&[], folder.path(), b"", LIMITS).await.is_err());
}

#[tokio::test]
async fn too_much_output_is_an_error_and_is_discarded() {
    let reason = shell("yes | head -c 1001; cat >/dev/null", b"", LIMITS).await;
    assert!(reason.unwrap_err().contains("more than 1000 bytes"));
    let endless = shell("yes", b"", LIMITS).await;
    assert!(endless.unwrap_err().contains("more than 1000 bytes"));
}

/// INV-11: processes that the command started are gone too.
#[tokio::test]
async fn an_early_end_kills_the_whole_group() {
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("alive");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut options = std::fs::File::options();
    let mut reader = options.read(true).custom_flags(flags).open(&fifo).unwrap();
    // The grandchild holds the pipe's writing end as long as it lives, and writes too much.
    let script = "(exec 3>alive; echo alive >&3; yes | head -c 2000; sleep 600) & wait";
    let argv = ["sh", "-c", script].map(str::to_owned);
    let ended = filter(&argv, folder.path(), b"", LIMITS).await;
    assert!(ended.unwrap_err().contains("more than 1000 bytes"));
    let mut seen = Vec::new();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let mut buffer = [0; 64];
        match reader.read(&mut buffer) {
            // No one holds the other end any longer.
            Ok(0) => break,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        assert!(std::time::Instant::now() < deadline, "the group is alive");
        tokio::task::yield_now().await;
    }
    assert_eq!(seen, b"alive\n");
}

#[tokio::test]
async fn the_time_limit_is_enforced() {
    let limits = Limits {
        time: Duration::from_millis(50),
        ..LIMITS
    };
    let reason = shell("sleep 600", b"", limits).await.unwrap_err();
    assert!(reason.contains("50 ms"), "{reason}");
}
