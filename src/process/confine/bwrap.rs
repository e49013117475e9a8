//! Runs bubblewrap instead of the first stage, on machines where bwrap may create user namespaces
//! and other processes may not: it is setuid root, or an AppArmor profile allows it. From its
//! arguments, bwrap creates the same namespaces and mounts as `helper` and `mounts` do, and starts
//! the second stage. The options are those of its manual page, version 0.4 or newer.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use tempfile::TempDir;

use super::{Hidden, Plan, Request, in_memory, mounts};
use crate::env::order;

/// The first bwrap on `PATH` that only root can change.
pub(super) fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let programs = folders.filter_map(|folder| folder.join("bwrap").canonicalize().ok());
    programs
        .into_iter()
        .find(|program| only_root_can_change(program))
}

/// Whether only root can change the program and the folders above it.
fn only_root_can_change(program: &Path) -> bool {
    program.ancestors().all(|path| {
        path.metadata().is_ok_and(|it| {
            // In a folder such as /tmp only the owner can replace a file.
            let others = it.mode() & 0o022 != 0 && !(it.is_dir() && it.mode() & 0o1000 != 0);
            it.uid() == 0 && !others
        })
    })
}

/// Starts the second stage under bwrap and waits until it ends. `words` are the first arguments of the
/// stage; the others are the descriptor of the request, and the device and inode of the folder.
pub(super) fn run(
    request: &Request,
    file: &File,
    (program, mut stage): (&Path, Command),
    words: [&str; 2],
) -> Result<ExitStatus> {
    let plan = &request.plan;
    let writable = plan.writable.iter().chain([&plan.temporary]);
    if writable.clone().any(|folder| program.starts_with(folder)) {
        return Err(Error::other(format!(
            "{} is in a folder that commands write to",
            program.display()
        )));
    }
    let workshop = Workshop::make(&plan.temporary)?;
    let options = options(plan, workshop.0.path())?;
    let here = rustix::fs::stat(".")?;
    let own = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty())?;
    let mut list = Vec::new();
    for word in options {
        list.extend_from_slice(word.as_bytes());
        list.push(0);
    }
    let list = in_memory(&list)?;
    let inherited: [OwnedFd; 3] = [own, list.into(), file.try_clone()?.into()];
    for each in &inherited {
        rustix::io::fcntl_setfd(each, FdFlags::empty())?;
    }
    let [own, list, file] = inherited
        .each_ref()
        .map(|each| each.as_raw_fd().to_string());
    stage
        .arg("--args")
        .arg(list)
        .args(["--", &format!("/proc/self/fd/{own}")])
        .args(words)
        .args([file, here.st_dev.to_string(), here.st_ino.to_string()])
        .status()
}

/// A folder with the files that are mounted over others. The command cannot enter it.
struct Workshop(TempDir);

impl Workshop {
    fn make(temporary: &Path) -> Result<Self> {
        let made = tempfile::Builder::new()
            .prefix(".mounted-")
            .tempdir_in(temporary);
        Ok(Self(made?))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // It cannot be read, and `TempDir` removes only folders that it can read.
        let _ = std::fs::remove_dir(mounts::masks(self.0.path()).1);
    }
}

/// Creates what bwrap mounts, and returns its options.
fn options(plan: &Plan, workshop: &Path) -> Result<Vec<OsString>> {
    let mut words = Words::default();
    for word in [
        "--unshare-user-try",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
    ] {
        words.0.push(word.into());
    }
    if !plan.network {
        words.0.push("--unshare-net".into());
    }
    words.0.push("--as-pid-1".into());
    words.0.push("--die-with-parent".into());
    words.mount("--ro-bind", Path::new("/"), Path::new("/"));
    words.alone("--dev", Path::new("/dev"));
    words.alone("--proc", Path::new("/proc"));
    for Hidden { path, except } in emptied(plan) {
        words.alone("--tmpfs", path);
        for kept in except.iter().filter(|kept| kept.is_dir()) {
            words.mount("--ro-bind", kept, kept);
        }
    }
    folders(plan, &mut words);
    for (number, overlay) in plan.overlays.iter().enumerate() {
        let copy = workshop.join(number.to_string());
        mounts::copy(overlay, &copy)?;
        if overlay.path.exists() && is_shown(plan, &overlay.path) {
            words.mount(bind(overlay.writable), &copy, &overlay.path);
        }
    }
    hide(plan, workshop, &mut words)?;
    words.alone("--tmpfs", workshop);
    words.alone("--remount-ro", workshop);
    Ok(words.0)
}

/// Hidden folders of which a part stays readable. An empty folder is mounted over each, and the
/// readable part in it.
fn emptied(plan: &Plan) -> impl Iterator<Item = &Hidden> {
    let kept = plan
        .hidden
        .iter()
        .filter(|hidden| !hidden.except.is_empty());
    kept.filter(|hidden| hidden.path.is_dir())
}

/// Whether the path is outside those folders, or in a readable part.
fn is_shown(plan: &Plan, path: &Path) -> bool {
    emptied(plan).all(|hidden| {
        !path.starts_with(&hidden.path) || hidden.except.iter().any(|kept| path.starts_with(kept))
    })
}

/// Later mounts cover earlier ones, so deeper folders come later. A path that is both writable and
/// read-only becomes read-only.
fn folders(plan: &Plan, words: &mut Words) {
    let writable = plan
        .writable
        .iter()
        .chain([&plan.temporary])
        .chain(&plan.pinned);
    let mut bound: Vec<(&PathBuf, bool)> = writable
        .map(|path| (path, true))
        .chain(plan.read_only.iter().map(|path| (path, false)))
        .filter(|(path, _)| is_shown(plan, path))
        .collect();
    order::sort_by_key(&mut bound, |(path, writable)| {
        (path.components().count(), !writable)
    });
    for (path, writable) in bound {
        // Removed since it was listed, or below a folder that the command cannot enter either.
        if path.symlink_metadata().is_ok() {
            words.mount(bind(writable), path, path);
        }
    }
}

fn hide(plan: &Plan, workshop: &Path, words: &mut Words) -> Result<()> {
    let (file, folder) = mounts::make_masks(workshop)?;
    for Hidden { path, except } in &plan.hidden {
        match path.symlink_metadata() {
            Ok(kind) if !kind.is_dir() => words.mount("--ro-bind", &file, path),
            Ok(_) if except.is_empty() => words.mount("--ro-bind", &folder, path),
            Ok(_) => words.alone("--remount-ro", path),
            Err(_) => {}
        }
    }
    Ok(())
}

fn bind(writable: bool) -> &'static str {
    match writable {
        true => "--bind",
        false => "--ro-bind",
    }
}

#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn mount(&mut self, option: &str, source: &Path, place: &Path) {
        self.0.push(option.into());
        self.0
            .extend([source, place].map(|path| path.as_os_str().to_owned()));
    }

    fn alone(&mut self, option: &str, place: &Path) {
        self.0.push(option.into());
        self.0.push(place.as_os_str().to_owned());
    }
}
