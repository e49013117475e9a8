use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{End, Finished, Spec, run};

fn spec(command: &str, folder: &Path) -> Spec {
    Spec {
        command: command.to_owned(),
        cwd: crate::process::Folder::at(folder).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
        timeout: Duration::from_secs(60),
        keep: 30_000,
        spill: folder.join("spill"),
        confinement: None,
    }
}

async fn finished(command: &str) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    run(
        spec(command, folder.path()),
        CancellationToken::new(),
        |_| {},
    )
    .await
    .unwrap()
}

/// Cancels once the command has printed `ready`. Returns its output and outcome.
async fn cancelled(command: &str) -> (String, Finished) {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let mut heard = String::new();
    let token = cancel.clone();
    let finished = run(spec(command, folder.path()), cancel, |piece| {
        heard.push_str(piece);
        if heard.contains("ready\n") {
            token.cancel();
        }
    })
    .await
    .unwrap();
    (heard, finished)
}

fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let done = finished("echo one; echo two >&2; echo three").await;
    assert_eq!(done.output.text, "one\ntwo\nthree\n");
    assert_eq!(
        (done.end, done.output.omitted, done.left),
        (End::Exited(0), 0, 0)
    );
}

#[tokio::test]
async fn x04_ends_are_reported_exactly() {
    for (command, end) in [
        ("exit 3", End::Exited(3)),
        ("kill -9 $$", End::Signalled(9)),
        ("kill -15 $$", End::Signalled(15)),
        ("/nowhere/nothing", End::Exited(127)),
        ("./plain", End::Exited(126)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plain"), "").unwrap();
        let done = run(
            spec(command, folder.path()),
            CancellationToken::new(),
            |_| {},
        )
        .await
        .unwrap();
        assert_eq!(done.end, end, "{command}");
    }
}

/// R23: whatever replaces the folder after the check.
#[tokio::test]
async fn a_command_runs_in_the_folder_that_was_opened() {
    let top = tempfile::tempdir().unwrap();
    let (checked, other) = (top.path().join("checked"), top.path().join("other"));
    for folder in [&checked, &other] {
        std::fs::create_dir(folder).unwrap();
    }
    std::fs::write(checked.join("here"), "").unwrap();
    let spec = spec("ls; pwd -P", &checked);
    std::fs::rename(&checked, top.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&other, &checked).unwrap();
    let done = run(spec, CancellationToken::new(), |_| {}).await.unwrap();
    let moved = top.path().canonicalize().unwrap().join("moved");
    assert_eq!(done.output.text, format!("here\n{}\n", moved.display()));
}

#[tokio::test]
async fn x03_stdin_is_empty_and_there_is_no_terminal() {
    let done = finished("cat; (: </dev/tty) 2>/dev/null || echo no terminal").await;
    assert_eq!(done.output.text, "no terminal\n");
}

#[tokio::test]
async fn the_environment_is_exactly_the_given_one() {
    let done = finished("env | cut -d= -f1 | grep -v -e '^_$' -e PWD -e SHLVL | sort").await;
    assert_eq!(done.output.text, "INTERLINE_COMMAND\nPATH\n");
}

#[tokio::test]
async fn x01_a_command_that_ignores_sigterm_is_killed() {
    let began = std::time::Instant::now();
    let (heard, done) =
        cancelled("trap '' TERM; echo $$; echo ready; while :; do sleep 0.1; done").await;
    assert_eq!(done.end, End::Cancelled);
    assert!(!alive(heard.lines().next().unwrap()));
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn x01_daemons_in_sessions_of_their_own_are_killed_too() {
    let (heard, done) = cancelled(
        "setsid sh -c 'trap \"\" TERM; (setsid sh -c \"echo \\$\\$; while :; do sleep 0.1; done\" &) ; echo $$; while :; do sleep 0.1; done' & \
         sleep 0.3; echo ready; sleep 100",
    )
    .await;
    assert_eq!(done.end, End::Cancelled);
    let pids: Vec<&str> = heard.lines().filter(|line| *line != "ready").collect();
    assert_eq!(pids.len(), 2, "{heard}");
    for pid in pids {
        assert!(!alive(pid), "{pid} lives");
    }
}

#[tokio::test]
async fn x01_a_job_that_holds_the_pipe_does_not_block_the_call() {
    let began = Instant::now();
    let done = finished("sleep 30 & echo $!; echo out").await;
    assert_eq!(done.end, End::Exited(0));
    assert!(done.output.text.ends_with("out\n"));
    #[cfg(target_os = "linux")]
    assert_eq!(done.left, 1);
    assert!(began.elapsed() < Duration::from_secs(20));
    let pid = done.output.text.lines().next().unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_time_limit_ends_the_command_and_keeps_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(
        "trap 'echo last words; exit 0' TERM; echo first; while :; do sleep 0.05; done",
        folder.path(),
    );
    spec.timeout = Duration::from_millis(300);
    let done = run(spec, CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!(done.end, End::TimedOut);
    // The shell may report the interrupted sleep in between.
    assert!(
        done.output.text.starts_with("first\n") && done.output.text.ends_with("last words\n"),
        "{}",
        done.output.text
    );
}

#[tokio::test]
async fn x05_a_command_that_ended_is_not_cancelled_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let done = run(spec("exit 7", folder.path()), cancel.clone(), |_| {})
        .await
        .unwrap();
    cancel.cancel();
    assert_eq!(done.end, End::Exited(7));
}

#[tokio::test]
async fn inv11_a_dropped_call_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let (send, receive) = tokio::sync::oneshot::channel();
    let mut send = Some(send);
    let mut heard = String::new();
    let command = "echo $$; sleep 100";
    let call = run(
        spec(command, folder.path()),
        CancellationToken::new(),
        |piece| {
            heard.push_str(piece);
            if heard.ends_with('\n')
                && let Some(send) = send.take()
            {
                send.send(heard.clone()).unwrap();
            }
        },
    );
    let pid = tokio::select! {
        pid = receive => pid.unwrap(),
        _ = call => panic!("the command ended"),
    };
    while alive(&pid) {
        tokio::task::yield_now().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn x02_a_flood_keeps_head_and_tail_only() {
    let done = finished("head -c 200000000 /dev/zero | tr '\\0' 'x'").await;
    assert_eq!(done.end, End::Exited(0));
    assert_eq!(
        done.output.text.len() as u64 + done.output.omitted,
        200_000_000
    );
    assert_eq!(done.output.text.len(), 30_000);
}
