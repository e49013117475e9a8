use std::collections::BTreeMap;
use std::path::Path;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio_util::sync::CancellationToken;

use super::{Spec, start};
use crate::process;

fn spec(script: &str, cwd: &Path) -> Spec {
    Spec {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        cwd: process::Folder::at(cwd).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        confinement: None,
    }
}

async fn line(out: &mut BufReader<tokio::process::ChildStdout>) -> String {
    let mut text = String::new();
    out.read_line(&mut text).await.unwrap();
    text.trim().to_owned()
}

#[tokio::test]
async fn it_gets_exactly_its_environment_and_its_end_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, pipes) = start(&spec("env; exit 3", dir.path())).unwrap();
    let mut out = BufReader::new(pipes.stdout).lines();
    let mut names = Vec::new();
    while let Some(line) = out.next_line().await.unwrap() {
        names.push(line.split('=').next().unwrap_or_default().to_owned());
    }
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["INTERLINE_COMMAND", "PATH"]);
    assert_eq!(server.ended().await, "it ended with exit code 3");
}

#[tokio::test]
async fn everything_it_started_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait";
    let (server, pipes) = start(&spec(script, dir.path())).unwrap();
    let mut out = BufReader::new(pipes.stdout);
    let below: i32 = line(&mut out).await.parse().unwrap();
    assert!(process::is_running(below));
    server.end().await;
    assert!(!running(below));
}

#[tokio::test]
async fn a_cancelled_command_leaves_a_server_alone() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let command = process::Spec {
        command: "echo begun; sleep 60".to_owned(),
        cwd: process::Folder::at(dir.path()).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        timeout: std::time::Duration::from_secs(60),
        keep: 1000,
        spill: dir.path().to_owned(),
        confinement: None,
    };
    let (begun, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let running_command = tokio::spawn(process::run(command, cancel.clone(), move |_| {
        let _ = begun.send(());
    }));
    seen.recv().await.unwrap();
    let (_server, pipes) = start(&spec("echo $$; read line; echo $line", dir.path())).unwrap();
    let mut out = BufReader::new(pipes.stdout);
    let main: i32 = line(&mut out).await.parse().unwrap();
    cancel.cancel();
    running_command.await.unwrap().unwrap();
    assert!(running(main));
}

/// Running, and not a zombie.
fn running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}
