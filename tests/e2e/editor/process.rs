//! A running program with its pipes: frames out and in, its log, its end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::LIMIT;

/// Longest piece of a frame that a report shows.
const SHOWN: usize = 600;

pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Result<Value, String>>,
    stderr: Arc<Mutex<String>>,
    /// The newest frames both ways, for a report.
    trace: VecDeque<String>,
    hung_up: bool,
    over: bool,
}

impl Process {
    /// `under`: another program that starts ours, with its arguments.
    pub fn start(
        under: &[String],
        args: &[&str],
        environment: &[(String, String)],
        dir: &Path,
    ) -> Self {
        Self::start_with(under, args, environment, dir, read_frame)
    }

    /// Speaks JSON lines instead of frames.
    pub fn start_lines(args: &[&str], environment: &[(String, String)], dir: &Path) -> Self {
        Self::start_with(&[], args, environment, dir, read_line)
    }

    fn start_with(
        under: &[String],
        args: &[&str],
        environment: &[(String, String)],
        dir: &Path,
        read: fn(&mut BufReader<ChildStdout>) -> Result<Option<Value>, String>,
    ) -> Self {
        let program = env!("CARGO_BIN_EXE_interline").to_owned();
        let words: Vec<&String> = under.iter().chain([&program]).collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args(args)
            .env_clear()
            .envs(environment.iter().cloned())
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (sender, frames) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || read_all(stdout, &sender, read));
        let stderr = Arc::new(Mutex::new(String::new()));
        let log = stderr.clone();
        let mut pipe = child.stderr.take().expect("a pipe");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..n]);
                log.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_str(&text);
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            frames,
            stderr,
            trace: VecDeque::new(),
            hung_up: false,
            over: false,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.note("->", &body);
        self.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn send_line(&mut self, message: &Value) {
        let body = message.to_string();
        self.note("->", &body);
        self.send_raw(format!("{body}\n").as_bytes());
    }

    /// Writes bytes as they are. A server that is gone shows at the next receive.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn receive(&mut self, wait: Duration) -> Option<Value> {
        match self.frames.recv_timeout(wait) {
            Ok(Ok(message)) => {
                self.note("<-", &message.to_string());
                Some(message)
            }
            Ok(Err(wrong)) => panic!("stdout is not a frame: {wrong}\n{}", self.report()),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.hung_up = true;
                None
            }
        }
    }

    /// Whether its output ended.
    pub fn ended(&self) -> bool {
        self.hung_up
    }

    /// Whether the story already waited for its end.
    pub fn over(&self) -> bool {
        self.over
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.over = true;
    }

    /// Waits for the end; the exit code (-1 for a signal).
    pub fn wait(&mut self, limit: Duration) -> i32 {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.over = true;
                return status.code().unwrap_or(-1);
            }
            let alive = Instant::now() < deadline;
            assert!(alive, "still alive after {limit:?}\n{}", self.report());
            // Output is still read, so that the process never hangs on a full pipe.
            if self.receive(Duration::from_millis(5)).is_none() && self.hung_up {
                std::thread::yield_now();
            }
        }
    }

    /// Ids of the living processes below this one, except the one that would end the others.
    pub fn children(&self) -> Vec<u32> {
        let warden = |id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line == b"interline\0warden\0"
        };
        let mut found = descendants(self.id());
        found.retain(|id| !warden(id));
        found
    }

    /// The most memory that the process had, in kilobytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("a living process");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = peak.and_then(|rest| rest.split_whitespace().next());
        number.expect("a peak").parse().expect("a number")
    }

    pub fn report(&self) -> String {
        let log = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let trace: Vec<&str> = self.trace.iter().map(String::as_str).collect();
        format!("--- frames\n{}\n--- stderr\n{log}", trace.join("\n"))
    }

    fn note(&mut self, way: &str, body: &str) {
        let shown: String = body.chars().take(SHOWN).collect();
        self.trace.push_back(format!("{way} {shown}"));
        if self.trace.len() > 60 {
            self.trace.pop_front();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(
    mut stdout: BufReader<ChildStdout>,
    sender: &Sender<Result<Value, String>>,
    read: fn(&mut BufReader<ChildStdout>) -> Result<Option<Value>, String>,
) {
    loop {
        match read(&mut stdout) {
            Ok(None) => return,
            Ok(Some(message)) => {
                if sender.send(Ok(message)).is_err() {
                    return;
                }
            }
            Err(wrong) => {
                let _ = sender.send(Err(wrong));
                return;
            }
        }
    }
}

fn read_line(stdout: &mut BufReader<ChildStdout>) -> Result<Option<Value>, String> {
    let mut line = String::new();
    if stdout.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line)
        .map(Some)
        .map_err(|e| format!("{e}: {line:?}"))
}

fn read_frame(stdout: &mut BufReader<ChildStdout>) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if stdout.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        match line.split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse::<usize>().ok(),
            Some(_) => {}
            None if line.is_empty() => break,
            None => return Err(format!("{line:?} between the frames")),
        }
    }
    let mut body = vec![0; length.ok_or("a frame without Content-Length")?];
    stdout.read_exact(&mut body).map_err(|e| e.to_string())?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|e| e.to_string())
}

/// All living processes below `root`.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // The fields after the name in parentheses: state, parent.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let rest = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest)
            .unwrap_or_default();
        let mut fields = rest.split_whitespace();
        let state = fields.next().unwrap_or_default();
        let parent = fields.next().and_then(|field| field.parse().ok());
        if let (false, Some(parent)) = (state == "Z", parent) {
            parents.push((id, parent));
        }
    }
    let mut found = vec![root];
    loop {
        let grown: Vec<u32> = parents
            .iter()
            .filter(|(id, parent)| found.contains(parent) && !found.contains(id))
            .map(|(id, _)| *id)
            .collect();
        if grown.is_empty() {
            break;
        }
        found.extend(grown);
    }
    found.remove(0);
    found
}

/// Whether a process lives (a zombie does not).
pub fn lives(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| !rest.starts_with('Z'))
}

/// Waits for the end of a process that is not our child.
pub fn until_dead(id: u32) {
    let deadline = Instant::now() + LIMIT;
    while lives(id) {
        assert!(Instant::now() < deadline, "{id} lives after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
