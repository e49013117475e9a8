//! Files planted in place of our own.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.unwrap().success());
}

type Open = fn(&Path) -> Result<File>;

const OPENERS: [Open; 5] = [
    read_file,
    log_file,
    lock_file,
    |path| Place::of(path)?.read(),
    |path| Place::of(path)?.append(),
];

/// R11, R34, R35: links are not followed and FIFOs do not block.
#[test]
fn a_link_or_fifo_in_place_of_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    std::fs::write(at("victim"), "untouched").unwrap();
    std::os::unix::fs::symlink(at("victim"), at("link")).unwrap();
    std::os::unix::fs::symlink(at("missing"), at("dangling")).unwrap();
    fifo(&at("fifo"));
    std::fs::create_dir(at("folder")).unwrap();
    for open in OPENERS {
        for (name, why) in [
            ("link", "is a symbolic link"),
            ("dangling", "is a symbolic link"),
            ("fifo", "is not a regular file"),
            ("folder", "is not a regular file"),
        ] {
            let error = open(&at(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
    assert_eq!(std::fs::read(at("victim")).unwrap(), b"untouched");
    assert!(!at("missing").exists());
}

/// R11: others lose their access.
#[test]
fn open_modes_are_tightened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for open in OPENERS {
        std::fs::write(&file, "x").unwrap();
        set(&file, 0o666);
        open(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
    }
    for (before, written) in [(0o777, true), (0o755, false), (0o770, true), (0o700, false)] {
        set(folder.path(), before);
        assert_eq!(own_folder(folder.path()).unwrap(), written, "{before:o}");
        assert_eq!(mode(folder.path()), 0o700);
    }
    let made = folder.path().join("deep/er");
    assert!(!own_folder(&made).unwrap());
    assert_eq!(mode(&made), 0o700);
}

/// Users may link such a folder to another disk. The link's target must be theirs too.
#[test]
fn a_link_owned_by_the_user_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::create_dir(&target).unwrap();
    set(&target, 0o777);
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(own_folder(&link).unwrap());
    assert_eq!(mode(&target), 0o700);
    std::fs::write(folder.path().join("file"), "").unwrap();
    own_folder(&folder.path().join("file")).unwrap_err();
}

/// R11. Only root can create a file of another user.
#[test]
fn files_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let owner = Some(rustix::fs::Uid::from_raw(65534));
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    std::fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    for path in [file.as_path(), &link, folder.path()] {
        rustix::fs::chownat(rustix::fs::CWD, path, owner, None, flags).unwrap();
    }
    let errors = [
        read_file(&file).unwrap_err(),
        Place::of(&file).unwrap_err(),
        own_folder(&link).unwrap_err(),
        own_folder(folder.path()).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("belongs to another user"));
    }
}

/// R11: neither the folder of a log nor the one above it may be a link, and no link leads a write
/// elsewhere.
#[test]
fn a_place_is_reached_through_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    Place::made(&at("sessions/project/a"))
        .unwrap()
        .create()
        .unwrap();
    std::os::unix::fs::symlink(at("sessions"), at("link")).unwrap();
    std::os::unix::fs::symlink(at("sessions/project"), at("sessions/link")).unwrap();
    for name in ["link/project/a", "sessions/link/a"] {
        for place in [Place::of(&at(name)), Place::made(&at(name))] {
            let error = place.unwrap_err().to_string();
            assert!(error.ends_with("link is a symbolic link"), "{error}");
        }
    }
    std::fs::write(at("victim"), "untouched").unwrap();
    std::os::unix::fs::symlink(at("victim"), at("sessions/project/b")).unwrap();
    let place = Place::of(&at("sessions/project/b")).unwrap();
    place.create().unwrap_err();
    place.replace(b"ours").unwrap();
    assert_eq!(std::fs::read(at("sessions/project/b")).unwrap(), b"ours");
    assert_eq!(std::fs::read(at("victim")).unwrap(), b"untouched");
    place.remove().unwrap();
    assert_eq!(
        std::fs::read_dir(at("sessions/project")).unwrap().count(),
        1
    );
}
