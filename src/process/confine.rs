//! Confines a command on Linux: this program starts itself as a helper, which builds namespaces, a
//! Landlock domain and a system call filter around it. Commands without input have their request on
//! standard input, others before their input (`piped`). What a command may write and read is data
//! here; which files those are is decided elsewhere. On macOS `sandbox-exec` is the helper.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, Read as _, Result, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod mounts;
pub(super) mod piped;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
pub use helper::main;

/// The argument that makes this program a helper.
pub const ARGUMENT: &str = "confine";

/// How much of a command's reach is restricted. Ordered: later restricts more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing.
    #[default]
    None,
    /// Writes and the network; protected files below the writable folders are not held.
    Partial,
    Full,
}

impl Grade {
    pub fn as_str(self) -> &'static str {
        match self {
            Grade::None => "none",
            Grade::Partial => "partial",
            Grade::Full => "full",
        }
    }
}

/// What a command may do. All paths are canonical.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Folders that it may write to.
    pub writable: Vec<PathBuf>,
    /// Below those: writable, but not to be renamed.
    pub pinned: Vec<PathBuf>,
    /// Below those: never written.
    pub read_only: Vec<PathBuf>,
    /// Never read.
    pub hidden: Vec<Hidden>,
    /// Texts that it sees in place of files; only in [`Grade::Full`].
    pub overlays: Vec<Overlay>,
    /// Its own temporary folder, also writable.
    pub temporary: PathBuf,
    /// It shares the network of this process.
    pub network: bool,
}

/// A file or folder that a command cannot read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    pub path: PathBuf,
    /// Folders below it that stay readable.
    pub except: Vec<PathBuf>,
}

/// A text that a command sees in place of a file's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    pub path: PathBuf,
    pub text: String,
    /// Permission bits.
    pub mode: u32,
    /// Its modification time, by which build tools decide what is out of date.
    pub modified: SystemTime,
    /// The command may write to it. The file does not change: [`Written`] has the new text.
    pub writable: bool,
}

/// What a command wrote to an [`Overlay`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub path: PathBuf,
    /// `None`: it is no UTF-8 text, or too large.
    pub text: Option<String>,
}

/// A grade that was found to work, and the plan to run a command by.
#[derive(Clone, Debug)]
pub struct Confinement {
    pub grade: Grade,
    pub plan: Plan,
    /// Paths that do not exist and must not be created by the command.
    pub absent: Vec<Absent>,
}

/// What holds a path that does not exist while a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// An empty read-only folder.
    Folder(PathBuf),
    /// An empty read-only file.
    File(PathBuf),
    /// Nothing: it is removed when the command has ended.
    Removed(PathBuf),
}

/// What the helper reads.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    grade: Grade,
    plan: Plan,
    cwd: PathBuf,
    /// The program and its arguments.
    words: Vec<String>,
    /// Its environment; `None`: the helper's.
    env: Option<BTreeMap<String, String>>,
    /// The bwrap that creates the namespaces; `None`: the helper does.
    bwrap: Option<PathBuf>,
}

/// What the helper leaves in the place of its request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reply {
    /// The command did not start.
    pub error: Option<String>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Processes that it left and that were stopped.
    pub left: usize,
    pub written: Vec<Written>,
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// From now on, commands can be confined: this process is the program itself.
pub fn enable() {
    if cfg!(target_os = "linux") {
        // The program that is running, even if a newer one has replaced it on disk.
        PROGRAM.get_or_init(|| PathBuf::from("/proc/self/exe"));
    }
    #[cfg(target_os = "macos")]
    PROGRAM.get_or_init(|| PathBuf::from(seatbelt::PROGRAM));
}

/// Whether a confinement of this grade holds protected and hidden paths.
pub fn holds_paths(grade: Grade) -> bool {
    grade == Grade::Full || (grade == Grade::Partial && cfg!(target_os = "macos"))
}

/// How commands are confined on this machine.
#[derive(Debug, Default)]
struct Found {
    grade: Grade,
    /// The bwrap that creates the namespaces, if this program may not.
    bwrap: Option<PathBuf>,
    /// Why the grade is not higher.
    reason: Option<String>,
}

/// The grade of this machine, found by running a confined command once, and why it is not higher.
pub fn grade() -> (Grade, Option<&'static str>) {
    if PROGRAM.get().is_none() {
        return (Grade::None, Some("this system has none"));
    }
    let found = found();
    (found.grade, found.reason.as_deref())
}

/// The bwrap that creates the namespaces, if this program may not.
pub fn bubblewrap() -> Option<&'static Path> {
    PROGRAM.get().and_then(|_| found().bwrap.as_deref())
}

fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| probe().unwrap_or_else(|reason| partial(reason.to_string())))
}

fn probe() -> Result<Found> {
    let full = |bwrap| Found {
        grade: Grade::Full,
        bwrap,
        reason: None,
    };
    let Err(error) = attempt(Grade::Full, None) else {
        return Ok(full(None));
    };
    #[cfg(target_os = "linux")]
    if let Some(program) = bwrap::installed() {
        return match attempt(Grade::Full, Some(program.clone())) {
            Ok(()) => Ok(full(Some(program))),
            Err(worse) => Err(Error::other(format!("{error}; {worse}"))),
        };
    }
    Err(error)
}

fn partial(reason: String) -> Found {
    match attempt(Grade::Partial, None) {
        Ok(()) => Found {
            grade: Grade::Partial,
            reason: Some(reason),
            bwrap: None,
        },
        Err(worse) => Found {
            reason: Some(format!("{reason}; {worse}")),
            ..Found::default()
        },
    }
}

/// A command that must be able to write to its temporary folder and to no other.
fn attempt(grade: Grade, bwrap: Option<PathBuf>) -> Result<()> {
    if cfg!(target_os = "macos") && grade == Grade::Full {
        return Err(Error::other("the sandbox of macOS is not tested"));
    }
    let (inside, outside) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let plan = Plan {
        temporary: inside.path().canonicalize()?,
        ..Plan::default()
    };
    let request = Request {
        grade,
        cwd: plan.temporary.clone(),
        plan,
        words: shell(": > inside && ! echo 2>&- > \"$OUTSIDE/outside\""),
        env: None,
        bwrap,
    };
    let arguments = arguments(&request, &[])?;
    let (mut memory, input) = request.into_memory()?;
    let program = PROGRAM.get().ok_or(std::io::ErrorKind::Unsupported)?;
    let output = std::process::Command::new(program)
        .args(arguments)
        .current_dir(inside.path())
        .env_clear()
        .env("OUTSIDE", outside.path())
        .stdin(input)
        .output()?;
    if let Some(error) = Reply::read(&mut memory)?.error {
        // bwrap gives its reason on standard error.
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let separator = if said.is_empty() { "" } else { ": " };
        return Err(Error::other(format!("{error}{separator}{said}")));
    }
    match output.status.success() && !outside.path().join("outside").exists() {
        true => Ok(()),
        false => Err(Error::other(format!(
            "the command that tries it ended with {}",
            output.status
        ))),
    }
}

/// A confined command's request, and what it holds while it runs.
pub(super) struct Prepared {
    pub arguments: Vec<String>,
    memory: File,
    _held: Placeholders,
}

/// Prepares the helper's standard input.
pub(super) fn prepare(
    confinement: &Confinement,
    cwd: &Path,
    command: &str,
) -> Result<(PathBuf, File, Prepared)> {
    let program = PROGRAM.get().ok_or(std::io::ErrorKind::Unsupported)?;
    let held = placeholders(confinement);
    let mut plan = confinement.plan.clone();
    plan.read_only.extend(held.paths().cloned());
    let request = Request {
        grade: confinement.grade,
        plan,
        cwd: cwd.to_owned(),
        words: shell(command),
        env: None,
        bwrap: bubblewrap().map(Path::to_owned),
    };
    let arguments = arguments(&request, &confinement.absent)?;
    let (memory, input) = request.into_memory()?;
    let prepared = Prepared {
        arguments,
        memory,
        _held: held,
    };
    Ok((program.clone(), input, prepared))
}

/// A profile of macOS holds what does not exist by its name.
fn placeholders(confinement: &Confinement) -> Placeholders {
    match cfg!(target_os = "macos") {
        true => Placeholders::make(&[]),
        false => Placeholders::make(&confinement.absent),
    }
}

/// The arguments of the helper of a command without input.
#[cfg(not(target_os = "macos"))]
#[expect(clippy::unnecessary_wraps, reason = "as on macOS")]
fn arguments(_request: &Request, _absent: &[Absent]) -> Result<Vec<String>> {
    Ok(vec![ARGUMENT.to_owned()])
}

/// The arguments of `sandbox-exec`.
#[cfg(target_os = "macos")]
fn arguments(request: &Request, absent: &[Absent]) -> Result<Vec<String>> {
    seatbelt::arguments(&request.plan, absent, &request.words).map_err(Error::other)
}

fn shell(command: &str) -> Vec<String> {
    ["/bin/sh", "-c", command].map(str::to_owned).into()
}

impl Prepared {
    /// What the helper left when it ended.
    pub fn reply(&mut self) -> Reply {
        Reply::read(&mut self.memory).unwrap_or_default()
    }
}

impl Request {
    /// The file for the request and the reply, and the helper's standard input.
    fn into_memory(self) -> Result<(File, File)> {
        let memory = in_memory(&serde_json::to_vec(&self)?)?;
        let input = match cfg!(target_os = "macos") {
            true => File::open("/dev/null")?,
            false => memory.try_clone()?,
        };
        Ok((memory, input))
    }
}

/// A file without a name.
fn in_memory(content: &[u8]) -> Result<File> {
    #[cfg(target_os = "linux")]
    let mut file = File::from(rustix::fs::memfd_create(
        "confine",
        rustix::fs::MemfdFlags::CLOEXEC,
    )?);
    #[cfg(not(target_os = "linux"))]
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

impl Reply {
    /// The reply; the default if the helper ended without one.
    fn read(file: &mut File) -> Result<Self> {
        let mut text = String::new();
        file.rewind()?;
        file.read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }
}

/// An error that says which step failed.
#[cfg(target_os = "linux")]
fn because(what: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{what}: {error}"))
}

/// Placeholders that commands of this process use, with the number of those commands.
static HELD: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// Empty files and folders that keep a command from creating them. The last command that uses them
/// removes them.
struct Placeholders {
    paths: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

impl Placeholders {
    fn make(absent: &[Absent]) -> Self {
        let mut held = HELD.lock();
        let (mut paths, mut removed) = (Vec::new(), Vec::new());
        for wanted in absent {
            let (path, made) = match wanted {
                Absent::Removed(path) => {
                    if path.symlink_metadata().is_err() {
                        removed.push(path.clone());
                    }
                    continue;
                }
                Absent::Folder(path) if held.contains_key(path) => (path, true),
                Absent::File(path) if held.contains_key(path) => (path, true),
                Absent::Folder(path) => (path, std::fs::create_dir(path).is_ok()),
                Absent::File(path) => (path, File::create_new(path).is_ok()),
            };
            if made {
                *held.entry(path.clone()).or_default() += 1;
                paths.push(path.clone());
            }
        }
        Self { paths, removed }
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter()
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        for path in &self.paths {
            let users = held.get_mut(path).map(|users| {
                *users -= 1;
                *users
            });
            if users == Some(0) {
                held.remove(path);
                let empty = path
                    .metadata()
                    .is_ok_and(|it| it.is_file() && it.len() == 0);
                let gone = match empty {
                    true => std::fs::remove_file(path),
                    false => std::fs::remove_dir(path),
                };
                if let Err(error) = gone {
                    tracing::warn!(%error, path = %path.display(), "a placeholder stays");
                }
            }
        }
        for path in &self.removed {
            if path.symlink_metadata().is_ok() {
                let _ = std::fs::remove_file(path);
                tracing::warn!(path = %path.display(), "removed what a command must not create");
            }
        }
    }
}
