//! A second process of this program that ends the commands which a killed server leaves: it reads
//! from a pipe which commands run, and the pipe ends with the server, however that ends. Started
//! with the first command; without [`employ`] there is none. What runs no more is struck off.

use std::collections::BTreeMap;
use std::io::{BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::tree::{self, Tree};

#[cfg(test)]
mod tests;

/// The argument with which this program is a warden.
pub const ARGUMENT: &str = "warden";

static WARDEN: Mutex<Warden> = Mutex::new(Warden {
    program: None,
    pipe: None,
    commands: BTreeMap::new(),
});

struct Warden {
    /// Who can be one; `None`: nobody is employed.
    program: Option<PathBuf>,
    pipe: Option<ChildStdin>,
    /// What it must know, for another one if it dies.
    commands: Commands,
}

/// Mark → the first process and when that started, once that is known.
type Commands = BTreeMap<String, Option<(i32, u64)>>;

/// A command that is on the warden's list for as long as this lives.
pub(super) struct Watched {
    mark: String,
}

/// Commands that start from now on do not outlive this process.
pub fn employ() {
    // The program as it was started, also where a newer one lies in its place by now.
    let linux = Path::new("/proc/self/exe");
    let program = match linux.exists() {
        true => Some(linux.to_owned()),
        false => std::env::current_exe().ok(),
    };
    lock().program = program;
}

/// Puts the command with this mark on the list, before it is started.
pub(super) fn watch(mark: &str) -> Watched {
    let mut warden = lock();
    warden.commands.insert(mark.to_owned(), None);
    warden.tell(&format!("+ {mark}\n"));
    Watched {
        mark: mark.to_owned(),
    }
}

impl Watched {
    /// It was started as this process.
    pub fn runs_as(&self, main: i32, started: u64) {
        let mut warden = lock();
        warden
            .commands
            .insert(self.mark.clone(), Some((main, started)));
        warden.tell(&format!("= {} {main} {started}\n", self.mark));
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut warden = lock();
        warden.commands.remove(&self.mark);
        warden.tell(&format!("- {}\n", self.mark));
    }
}

impl Warden {
    fn tell(&mut self, line: &str) {
        let Some(program) = self.program.clone() else {
            return;
        };
        if let Some(pipe) = &mut self.pipe {
            match pipe.write_all(line.as_bytes()) {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "the warden of commands is gone"),
            }
        }
        // Another one is told all of it.
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
                "no warden of commands: those that run when Interline is killed go on"
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
        // What is sent to our group must not end it.
        .process_group(0)
        .spawn()?;
    tree::not_a_commands(child.id());
    let pipe = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    // A warden that does not read costs itself, never us.
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}

/// The life of a warden: reads its list until `input` ends, then ends what is still on it.
pub fn serve(input: impl BufRead) {
    let mut commands = Commands::new();
    for line in input.lines().map_while(Result::ok) {
        note(&mut commands, &line);
    }
    let trees = commands.into_iter().map(|(mark, main)| {
        let (main, started) = main.unwrap_or_default();
        Tree::of_another(main, started, mark)
    });
    tree::end_all(&mut trees.collect::<Vec<_>>());
}

fn note(commands: &mut Commands, line: &str) {
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

fn lock() -> MutexGuard<'static, Warden> {
    WARDEN.lock().unwrap_or_else(PoisonError::into_inner)
}
