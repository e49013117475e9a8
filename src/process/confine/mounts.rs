//! The file system of a confined command: everything read-only except the writable folders, hidden
//! files masked, and its own `/proc`, `/dev/shm` and terminals.

use std::ffi::{CString, OsString};
use std::fs::{File, Permissions};
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use super::{Hidden, Overlay, Plan, Written, because};
use crate::env::order;

/// Largest text that is read back.
const LARGEST: u64 = 32 * 1024 * 1024;

const NEW: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

pub(super) fn mount(plan: &Plan) -> Result<()> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private)?;
    let writable: Vec<&PathBuf> = plan
        .writable
        .iter()
        .chain([&plan.temporary])
        .chain(&plan.pinned)
        .collect();
    let mut bound: Vec<&PathBuf> = writable.iter().copied().chain(&plan.read_only).collect();
    order::sort_by_key(&mut bound, |path| path.components().count());
    for path in bound {
        match rustix::mount::mount_bind_recursive(path, path) {
            Ok(()) => {}
            // Removed since it was listed, or below a folder that the command cannot enter either.
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(error) => return Err(at(path, error)),
        }
    }
    make_read_only(&writable, &plan.read_only)?;
    // What is mounted over files is made in a file system of our own, which stays as long as
    // something of it is mounted.
    let workshop = &plan.temporary;
    tmpfs(workshop, c"mode=0700")?;
    overlay(plan, workshop)?;
    hide(plan, workshop)?;
    rustix::mount::unmount(workshop, UnmountFlags::DETACH).map_err(|error| at(workshop, error))?;
    new_devices()?;
    let proc = NEW | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", proc, None)
        .map_err(|error| because("/proc", &error.into()))
}

/// Remounts everything read-only that is not below a writable folder.
fn make_read_only(writable: &[&PathBuf], read_only: &[PathBuf]) -> Result<()> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    for line in table.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [_, _, _, _, place, options, ..] = fields[..] else {
            continue;
        };
        let place = unescape(place);
        let above = |paths: &mut dyn Iterator<Item = &PathBuf>| {
            let matching = paths.filter(|path| place.starts_with(path));
            matching.map(|path| path.components().count()).max()
        };
        let written = above(&mut writable.iter().copied());
        if written > above(&mut read_only.iter()) {
            continue;
        }
        let flags = flags(options) | MountFlags::BIND | MountFlags::RDONLY;
        match rustix::mount::mount_remount(&place, flags, c"") {
            Ok(()) => {}
            // Below a folder that the user cannot enter, or covered by another mount.
            Err(Errno::ACCESS | Errno::NOENT | Errno::INVAL) => {}
            Err(error) => return Err(at(&place, error)),
        }
    }
    Ok(())
}

/// The flags that an unprivileged remount has to repeat.
fn flags(options: &[u8]) -> MountFlags {
    let mut flags = MountFlags::empty();
    for option in options.split(|byte| *byte == b',') {
        flags |= match option {
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    flags
}

/// A path of the mount table: blanks and the like are octal numbers there.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Mounts each text over its file.
fn overlay(plan: &Plan, workshop: &Path) -> Result<()> {
    for (number, overlay) in plan.overlays.iter().enumerate() {
        let (place, path) = (workshop.join(number.to_string()), &overlay.path);
        copy(overlay, &place)?;
        match rustix::mount::mount_bind(&place, path) {
            Ok(()) if overlay.writable => {}
            Ok(()) => seal(path)?,
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(error) => return Err(at(path, error)),
        }
    }
    Ok(())
}

/// Creates the file that is mounted over the overlay's path.
pub(super) fn copy(overlay: &Overlay, place: &Path) -> Result<()> {
    std::fs::write(place, &overlay.text)?;
    let file = File::options().write(true).open(place)?;
    file.set_modified(overlay.modified)?;
    file.set_permissions(Permissions::from_mode(overlay.mode & 0o777))
}

/// Overlays that no longer have their text.
pub(super) fn written(plan: &Plan) -> Vec<Written> {
    let writable = plan.overlays.iter().filter(|overlay| overlay.writable);
    let changed = writable.filter_map(|overlay| {
        let length = overlay.path.metadata().ok()?.len();
        let bytes = (length <= LARGEST).then(|| std::fs::read(&overlay.path).ok());
        let bytes = bytes.flatten();
        if bytes.as_deref() == Some(overlay.text.as_bytes()) {
            return None;
        }
        Some(Written {
            path: overlay.path.clone(),
            text: bytes.and_then(|bytes| String::from_utf8(bytes).ok()),
        })
    });
    changed.collect()
}

/// Mounts something that cannot be read over each hidden file and folder.
fn hide(plan: &Plan, workshop: &Path) -> Result<()> {
    let (file, folder) = make_masks(workshop)?;
    for hidden in &plan.hidden {
        let path = &hidden.path;
        let Ok(kind) = path.symlink_metadata() else {
            continue;
        };
        if kind.is_dir() && !hidden.except.is_empty() {
            hide_except(hidden)?;
            continue;
        }
        let mask = if kind.is_dir() { &folder } else { &file };
        match rustix::mount::mount_bind(mask, path) {
            Ok(()) => seal(path)?,
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(error) => return Err(at(path, error)),
        }
    }
    Ok(())
}

/// The paths of the file and of the folder that are mounted over hidden ones.
pub(super) fn masks(workshop: &Path) -> (PathBuf, PathBuf) {
    (workshop.join("file"), workshop.join("folder"))
}

/// Creates both, unreadable.
pub(super) fn make_masks(workshop: &Path) -> Result<(PathBuf, PathBuf)> {
    let (file, folder) = masks(workshop);
    std::fs::write(&file, "")?;
    std::fs::create_dir(&folder)?;
    for mask in [&file, &folder] {
        std::fs::set_permissions(mask, Permissions::from_mode(0o000))?;
    }
    Ok((file, folder))
}

/// Mounts an empty folder over a hidden one, and in it what stays readable.
fn hide_except(hidden: &Hidden) -> Result<()> {
    let mut kept: Vec<(&PathBuf, OwnedFd)> = Vec::new();
    for path in hidden.except.iter().filter(|path| path.is_dir()) {
        let how = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let tree = rustix::mount::open_tree(CWD, path, how).map_err(|error| at(path, error))?;
        kept.push((path, tree));
    }
    tmpfs(&hidden.path, c"mode=0755")?;
    for (path, tree) in kept {
        std::fs::create_dir_all(path)?;
        let here = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(tree, "", CWD, path, here).map_err(|error| at(path, error))?;
    }
    seal(&hidden.path)
}

fn tmpfs(path: &Path, options: &std::ffi::CStr) -> Result<()> {
    rustix::mount::mount("tmpfs", path, "tmpfs", NEW, options).map_err(|error| at(path, error))
}

fn seal(path: &Path) -> Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | NEW;
    rustix::mount::mount_remount(path, flags, c"").map_err(|error| at(path, error))
}

/// Shared memory and terminals that no process outside has.
fn new_devices() -> Result<()> {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() {
        tmpfs(shared, c"mode=1777")?;
    }
    let terminals = Path::new("/dev/pts");
    if terminals.is_dir() {
        let options = CString::from(c"newinstance,ptmxmode=0666,mode=0620");
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        rustix::mount::mount("devpts", terminals, "devpts", flags, options.as_c_str())
            .map_err(|error| at(terminals, error))?;
        rustix::mount::mount_bind("/dev/pts/ptmx", "/dev/ptmx")
            .map_err(|error| at(Path::new("/dev/ptmx"), error))?;
    }
    Ok(())
}

fn at(path: &Path, error: Errno) -> Error {
    let shown = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
    because(&shown, &error.into())
}
