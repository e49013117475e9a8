use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use super::super::tree;
use super::serve;

/// A shell with `mark` that leads its own group and starts another process.
fn command(mark: &str, words: &str) -> Child {
    Command::new("/bin/sh")
        .args(["-c", words])
        .env(tree::MARK, mark)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// The first line of its output.
fn line(child: &mut Child) -> String {
    let mut line = String::new();
    let pipe = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(pipe), &mut line).unwrap();
    line.trim().to_owned()
}

fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A unique mark.
fn mark() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

const TWO: &str = "sleep 300 & echo $!; wait";

/// INV-11: including processes that handle SIGTERM or left the group.
#[test]
fn inv11_listed_commands_are_killed_when_the_pipe_closes() {
    let escaped = "trap '' TERM; setsid sleep 300 & echo $!; while :; do sleep 1; done";
    for words in [TWO, escaped] {
        let mark = mark();
        let mut child = command(&mark, words);
        let inner = line(&mut child);
        let main = child.id();
        let started = tree::start_time(i32::try_from(main).unwrap()).unwrap();
        // Reaped here. The system does this when the server ends.
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        serve(format!("+ {mark}\nnonsense\n= {mark} {main} {started}\n").as_bytes());
        assert!(!alive(&inner), "{words}");
        reaper.join().unwrap();
    }
}

/// The server died before it could report the process.
#[test]
fn a_command_is_found_by_its_mark_alone() {
    let mark = mark();
    let mut child = command(&mark, TWO);
    let inner = line(&mut child);
    let reaper = std::thread::spawn(move || child.wait().unwrap());
    serve(format!("+ {mark}\n").as_bytes());
    assert!(!alive(&inner));
    reaper.join().unwrap();
}

/// A reused process number is not the command.
#[test]
fn removed_commands_and_reused_numbers_are_left_alone() {
    let mut child = command("another", TWO);
    let (inner, main) = (line(&mut child), child.id());
    let started = tree::start_time(i32::try_from(main).unwrap()).unwrap();
    let (gone, reused) = (mark(), mark());
    serve(format!("+ {gone}\n= {gone} {main} {started}\n- {gone}\n").as_bytes());
    serve(format!("= {reused} {main} {}\n", started + 1).as_bytes());
    assert!(alive(&inner));
    child.kill().unwrap();
    child.wait().unwrap();
    let group = rustix::process::Pid::from_raw(i32::try_from(main).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}
