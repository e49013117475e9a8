//! A second process of this program that ends the commands a killed server leaves behind. It reads
//! from a pipe which commands are running, and the pipe closes when the server ends, however that
//! happens. It starts with the first command, and only after [`enable`]. Ended commands leave its
//! list.

use std::collections::BTreeMap;
use std::io::{BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use parking_lot::Mutex;

use super::tree::{self, Tree};

#[cfg(test)]
mod tests;

/// The argument that makes this program a warden.
pub const ARGUMENT: &str = "warden";

static WARDEN: Mutex<Warden> = Mutex::new(Warden {
    program: None,
    pipe: None,
    commands: BTreeMap::new(),
});

struct Warden {
    /// The program to start; `None`: not enabled.
    program: Option<PathBuf>,
    pipe: Option<ChildStdin>,
    /// The full list, for a new warden if this one dies.
    commands: Commands,
}

/// Mark → the first process and its start time, once known.
type Commands = BTreeMap<String, Option<(i32, u64)>>;

/// Keeps a command on the warden's list for as long as it lives.
pub(super) struct Registration {
    mark: String,
}

/// From now on, commands do not outlive this process.
pub fn enable() {
    // The program that is running, even if a newer one has replaced it on disk.
    let linux = Path::new("/proc/self/exe");
    let program = match linux.exists() {
        true => Some(linux.to_owned()),
        false => std::env::current_exe().ok(),
    };
    WARDEN.lock().program = program;
}

/// Puts the command with this mark on the list, before it starts.
pub(super) fn watch(mark: &str) -> Registration {
    let mut warden = WARDEN.lock();
    warden.commands.insert(mark.to_owned(), None);
    warden.send(&format!("+ {mark}\n"));
    Registration {
        mark: mark.to_owned(),
    }
}

impl Registration {
    /// Records the process that it was started as.
    pub fn runs_as(&self, tree: &Tree) {
        let (main, started) = tree.main();
        let mut warden = WARDEN.lock();
        let commands = &mut warden.commands;
        commands.insert(self.mark.clone(), Some((main, started)));
        warden.send(&format!("= {} {main} {started}\n", self.mark));
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut warden = WARDEN.lock();
        warden.commands.remove(&self.mark);
        warden.send(&format!("- {}\n", self.mark));
    }
}

impl Warden {
    fn send(&mut self, line: &str) {
        let Some(program) = self.program.clone() else {
            return;
        };
        if let Some(pipe) = &mut self.pipe {
            match pipe.write_all(line.as_bytes()) {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "the process that ends leftover commands is gone")
                }
            }
        }
        // A new one gets the full list.
        self.pipe = None;
        if self.commands.is_empty() {
            return;
        }
        let mut all = String::new();
        for (mark, main) in &self.commands {
            all.push_str(&format!("+ {mark}\n"));
            if let Some((main, started)) = main {
                all.push_str(&format!("= {mark} {main} {started}\n"));
            }
        }
        let started = start(&program).and_then(|mut pipe| {
            pipe.write_all(all.as_bytes())?;
            Ok(pipe)
        });
        match started {
            Ok(pipe) => self.pipe = Some(pipe),
            Err(error) => tracing::warn!(
                %error,
                "cannot start the process that ends leftover commands: they keep running if Interline is killed"
            ),
        }
    }
}

fn start(program: &Path) -> std::io::Result<ChildStdin> {
    let mut child = Command::new(program)
        .arg0("interline")
        .arg(ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal to our group must not end it.
        .process_group(0)
        .spawn()?;
    tree::ignore_child(child.id());
    let pipe = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    // A warden that does not read must not block us.
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}

/// Runs as a warden: reads the list until `input` ends, then ends what is still on it.
pub fn serve(input: impl BufRead) {
    let mut commands = Commands::new();
    for line in input.lines().map_while(Result::ok) {
        apply_line(&mut commands, &line);
    }
    let trees = commands.into_iter().map(|(mark, main)| {
        let (main, started) = main.unwrap_or_default();
        Tree::of_another(main, started, mark)
    });
    tree::end_all(&mut trees.collect::<Vec<_>>());
}

fn apply_line(commands: &mut Commands, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["+", mark] => {
            commands.insert(mark.to_owned(), None);
        }
        ["=", mark, main, started] => {
            if let (Ok(main), Ok(started)) = (main.parse(), started.parse()) {
                commands.insert(mark.to_owned(), Some((main, started)));
            }
        }
        ["-", mark] => {
            commands.remove(mark);
        }
        _ => {}
    }
}
