//! All processes that a command started, including those that left its session. On Linux they are
//! found in `/proc` by parent, session and a mark in the environment, since this process adopts
//! orphans as a child subreaper. Elsewhere only the process group is known.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions};

#[cfg(test)]
mod tests;

/// The environment variable that marks a command's processes. Its value is unique to the command.
pub const MARK: &str = "INTERLINE_COMMAND";

/// Time between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(1);

/// In this time no machine starts as many processes as there are numbers for them.
const SHORT: Duration = Duration::from_millis(500);

/// Adopted orphans of ended commands: reaped when they are zombies.
static LEFT: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Commands that run or are about to. Counted before they are spawned, so that a new process is
/// never mistaken for an orphan of another command.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Sessions of long-running servers: orphans that we adopt from them belong to no command.
static SERVING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// One row of the process table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    zombie: bool,
    /// In clock ticks since boot.
    started: u64,
    marked: bool,
}

/// A command that is about to be spawned.
pub struct Starting {
    counted: bool,
}

impl Starting {
    pub fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self { counted: true }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.counted {
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The processes of one command. Dropping it while the command runs kills them.
pub struct Tree {
    main: i32,
    mark: String,
    started: u64,
    /// `None`: it was started by another process.
    since: Option<Instant>,
    done: bool,
    /// Counts the command for as long as its tree exists. `None`: not a command.
    running: Option<Starting>,
}

/// Makes this process the parent of orphans below it, once.
pub fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        if let Err(error) =
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        {
            tracing::warn!(%error, "cannot adopt orphans: daemons of cancelled commands may keep running");
        }
    });
}

impl Tree {
    /// The tree below `main`, a session leader with `mark` in its environment, which was just
    /// started.
    pub fn new(starting: Starting, main: u32, mark: String) -> Self {
        let main = i32::try_from(main).unwrap_or(0);
        Self {
            main,
            mark,
            started: start_time(main).unwrap_or(0),
            since: Some(Instant::now()),
            done: false,
            running: Some(starting),
        }
    }

    /// The tree of a command that another process started. If the number `main` was reused or is
    /// unknown, the mark identifies the command.
    pub fn of_another(main: i32, started: u64, mark: String) -> Self {
        let table = table(&mark, started, 0);
        let is_main = |it: &&Process| it.pid == main && it.started == started;
        let leads = |it: &&Process| it.marked && it.pid == it.session;
        let there = table.iter().any(|it| it.pid == main);
        let found = table.iter().find(is_main);
        let found = found.or_else(|| table.iter().find(leads));
        let main = match found {
            Some(process) => process.pid,
            // It ended, but what it left still has its session number.
            None if !there && main > 0 => main,
            None => 0,
        };
        Self {
            main,
            mark,
            started,
            since: None,
            done: false,
            running: Some(Starting::new()),
        }
    }

    /// The first process and when it started, in clock ticks since boot.
    pub fn main(&self) -> (i32, u64) {
        (self.main, self.started)
    }

    /// The tree is a long-running server and not a command. It no longer counts, so that a single
    /// running command can still be recognised as the owner of orphans.
    pub fn mark_as_server(&mut self) {
        SERVING.lock().insert(self.main);
        self.running = None;
    }

    /// Sends SIGTERM to all, then SIGKILL to what is left after `grace`, repeated until nothing is
    /// left or a second has passed. The owner must wait for `main` at the same time.
    pub async fn end(&mut self, grace: Duration) {
        self.signal(Signal::TERM);
        let term = Instant::now();
        let mut pause = Duration::from_millis(5);
        while !self.alive().is_empty() {
            if term.elapsed() > grace {
                self.signal(Signal::KILL);
                if term.elapsed() > grace + GRACE {
                    break;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(40));
        }
        self.finish();
    }

    /// The command ended by itself. What it left keeps running; returns how many processes.
    pub fn release(&mut self) -> usize {
        let table = self.table();
        let left = self.alive_in(&table);
        self.finish_by(&table);
        left.len()
    }

    /// How many processes exist besides the first.
    pub fn left(&self) -> usize {
        let alive = self.alive();
        alive.iter().filter(|pid| **pid != self.main).count()
    }

    fn finish(&mut self) {
        if self.done {
            reap();
        } else {
            self.finish_by(&self.table());
        }
    }

    fn finish_by(&mut self, table: &[Process]) {
        if !self.done {
            self.done = true;
            let members = self.select(table);
            LEFT.lock()
                .extend(members.into_iter().filter(|pid| *pid != self.main));
            SERVING.lock().remove(&self.main);
        }
        reap();
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.main) {
            // An error means that the group is gone.
            let _ = rustix::process::kill_process_group(group, signal);
        }
        for pid in self.alive().into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn table(&self) -> Vec<Process> {
        table(&self.mark, self.started, self.below())
    }

    /// All processes that the command started have higher numbers than this. The kernel assigns
    /// numbers in ascending order until it begins again, so after a short command the hundreds of
    /// older processes need not be read.
    fn below(&self) -> i32 {
        match self.since {
            Some(since) if since.elapsed() < SHORT && last_number() >= self.main => self.main - 1,
            _ => 0,
        }
    }

    fn alive(&self) -> BTreeSet<i32> {
        self.alive_in(&self.table())
    }

    fn alive_in(&self, table: &[Process]) -> BTreeSet<i32> {
        let mut members = self.select(table);
        for process in table {
            if process.zombie {
                members.remove(&process.pid);
            }
        }
        if table.is_empty() {
            // No /proc: only the group is known.
            if let Some(group) = Pid::from_raw(self.main)
                && rustix::process::test_kill_process_group(group).is_ok()
            {
                members.insert(self.main);
            }
        }
        members
    }

    fn select(&self, table: &[Process]) -> BTreeSet<i32> {
        // Read after the table, so every command in the table has been counted.
        let alone = self.running.is_some() && RUNNING.load(Ordering::SeqCst) == 1;
        let (left, serving) = (LEFT.lock(), SERVING.lock());
        let of_server = |pid| {
            let mut rows = table.iter();
            rows.any(|row| row.pid == pid && serving.contains(&row.session))
        };
        select(table, self, current_process(table), |pid| {
            alone && !left.contains(&pid) && !of_server(pid)
        })
    }
}

/// Ends all of them, like [`Tree::end`] ends one.
pub fn end_all(trees: &mut [Tree]) {
    for signal in [Signal::TERM, Signal::KILL] {
        trees.iter().for_each(|tree| tree.signal(signal));
        let began = Instant::now();
        while trees.iter().any(|tree| !tree.alive().is_empty()) && began.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    trees.iter_mut().for_each(Tree::finish);
}

/// Marks a child of ours as belonging to no command.
pub fn ignore_child(child: u32) {
    LEFT.lock().extend(i32::try_from(child));
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.done {
            self.signal(Signal::KILL);
            self.finish();
        }
    }
}

struct Own {
    pid: i32,
    session: i32,
}

/// Reads the session from the table. It is 0, which is not a valid `Pid`, in a container whose
/// session leader runs outside.
fn current_process(table: &[Process]) -> Own {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let session = table
        .iter()
        .find(|process| process.pid == pid)
        .map_or(0, |process| process.session);
    Own { pid, session }
}

/// The command's processes: those of its session or group, those with its mark, orphans of other
/// sessions adopted since it began (only while it runs alone, as they could be another command's),
/// and everything below these.
fn select(
    table: &[Process],
    tree: &Tree,
    own: Own,
    adoptable: impl Fn(i32) -> bool,
) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut todo = Vec::new();
    // 0 means unknown, and system processes have session 0.
    let is_main = |id: i32| id > 0 && id == tree.main;
    for process in table {
        children
            .entry(process.parent)
            .or_default()
            .push(process.pid);
        let adopted = adoptable(process.pid)
            && process.parent == own.pid
            && process.session != own.session
            && process.started >= tree.started;
        if is_main(process.pid)
            || is_main(process.session)
            || is_main(process.group)
            || process.marked
            || adopted
        {
            todo.push(process.pid);
        }
    }
    let mut members = BTreeSet::new();
    while let Some(pid) = todo.pop() {
        if pid > 1 && pid != own.pid && members.insert(pid) {
            todo.extend(children.get(&pid).into_iter().flatten());
        }
    }
    members
}

/// Reaps adopted orphans, so that no zombie stays. Only processes that a command left behind:
/// others belong to whoever spawned them.
pub fn reap() {
    LEFT.lock().retain(|pid| {
        let Some(pid) = Pid::from_raw(*pid) else {
            return false;
        };
        match rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(Some(_)) => false,
            Ok(None) => true,
            // Not our child yet: its parent may die later.
            Err(_) => rustix::process::test_kill_process(pid).is_ok(),
        }
    });
}

/// When a process started, in clock ticks since boot; `None` if unknown.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid).map(|process| process.started)
}

/// Whether a process with that number exists, of any user.
pub fn is_running(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        return false;
    };
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// The number of the process that was started last, in our namespace; 0 if unknown.
fn last_number() -> i32 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = load.split_whitespace().last();
    last.and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// This process and those with numbers above `below`. Empty without `/proc`. A command's processes
/// are no older than the command itself, which started at `since`: the marks of others are not
/// read.
fn table(mark: &str, since: u64, below: i32) -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| *pid > below || *pid == own)
        .filter_map(|pid| {
            let mut process = stat(pid)?;
            process.marked = !process.zombie && process.started >= since && marked(pid, mark);
            Some(process)
        })
        .collect()
}

fn stat(pid: i32) -> Option<Process> {
    // Longer than any such line. Every row costs a few system calls, so it is read with one.
    let mut line = [0; 2048];
    let mut file = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = file.read(&mut line).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&line[..length]))
}

fn marked(pid: i32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| {
        env.split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes())
    })
}

/// Parses `/proc/<pid>/stat` after the name, which is in parentheses and may contain anything:
/// state, parent, group, session, …, start time (22nd field).
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        started: fields.get(19)?.parse().ok()?,
        marked: false,
    })
}
