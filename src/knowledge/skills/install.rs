//! Putting a skill's folder into a folder of skills, and taking it out again. Copies regular
//! files only, bounded, beside the place first and then by one rename; never replaces a skill.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::walk::{Place, Walker, from_disk};
use super::{FILE, Origin, parse};
use crate::workspace::{FileError, Workspace, beneath};

/// Bounds of one skill.
const FILES: usize = 1_000;
const ENTRIES: usize = 10_000;
const BYTES: u64 = 64 * 1024 * 1024;
const DEPTH: usize = 8;

/// What was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    pub folder: PathBuf,
    pub files: usize,
    /// What was left out: links, special files, `.git`.
    pub skipped: Vec<PathBuf>,
    /// What is odd about its `SKILL.md`.
    pub problems: Vec<String>,
}

/// Why nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{} is no skill: {reason}", folder.display())]
    NoSkill { folder: PathBuf, reason: String },
    #[error("{} is there already: uninstall it first", .0.display())]
    Exists(PathBuf),
    #[error("{} contains the folder of skills", .0.display())]
    Contains(PathBuf),
    #[error("a skill may have {FILES} files and {} MiB, and this has more", BYTES >> 20)]
    TooMuch,
    #[error("no skill named {name} lies in {}", folder.display())]
    Unknown { name: String, folder: PathBuf },
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> InstallError + '_ {
    |error| InstallError::Io {
        path: path.to_path_buf(),
        error,
    }
}

/// Copies the skill in the folder `from` into the folder of skills `to`, which is made when it
/// is missing. Blocking.
pub fn install(from: &Path, to: &Path) -> Result<Installed, InstallError> {
    let from = fs::canonicalize(from).map_err(at(from))?;
    let no_skill = |reason: String| InstallError::NoSkill {
        folder: from.clone(),
        reason,
    };
    let text = from_disk(&from, Path::new(FILE))
        .map_err(no_skill)?
        .ok_or_else(|| no_skill(format!("it has no {FILE}")))?;
    let folder = from.file_name().unwrap_or_default().to_string_lossy();
    let parsed = parse::parse(&text, &folder).map_err(no_skill)?;
    fs::create_dir_all(to).map_err(at(to))?;
    let to = fs::canonicalize(to).map_err(at(to))?;
    if to.starts_with(&from) {
        return Err(InstallError::Contains(from));
    }
    let target = to.join(folder_name(&parsed.name));
    if fs::symlink_metadata(&target).is_ok() {
        return Err(InstallError::Exists(target));
    }
    let fresh = tempfile::Builder::new()
        .prefix(".install-")
        .tempdir_in(&to)
        .map_err(at(&to))?;
    let mut copy = Copy {
        from: &from,
        to: fresh.path(),
        files: 0,
        entries: 0,
        bytes: 0,
        skipped: Vec::new(),
    };
    copy.folder(Path::new(""), 1)?;
    let (files, skipped) = (copy.files, copy.skipped);
    fs::rename(fresh.path(), &target).map_err(at(&target))?;
    // Nothing is left at the temporary place.
    let _ = fresh.keep();
    Ok(Installed {
        name: parsed.name,
        folder: target,
        files,
        skipped,
        problems: parsed.problems,
    })
}

/// Removes the skill of that name from a folder of skills; its folder, as it was. Blocking.
pub fn uninstall(name: &str, from: &Path) -> Result<PathBuf, InstallError> {
    let from = fs::canonicalize(from).map_err(at(from))?;
    let place = Place {
        folder: from.clone(),
        origin: Origin::User,
    };
    let workspace = Workspace::new();
    let mut walker = Walker::new(&workspace, std::slice::from_ref(&place));
    let (raws, _) = walker.walk(&place);
    let named = |folder: &&Path, text: &str| {
        let own = folder.file_name().unwrap_or_default().to_string_lossy();
        match parse::parse(text, &own) {
            Ok(parsed) => parsed.name == name,
            Err(_) => own == name,
        }
    };
    let folder = raws
        .iter()
        .filter_map(|raw| Some((raw.path.parent()?, raw.text.as_str())))
        .find(|(folder, text)| named(folder, text))
        .map(|(folder, _)| folder.to_path_buf())
        .ok_or_else(|| InstallError::Unknown {
            name: name.to_owned(),
            folder: from.clone(),
        })?;
    // Moved away first: a skill is there as a whole or not at all.
    let gone = tempfile::Builder::new()
        .prefix(".remove-")
        .tempdir_in(&from)
        .map_err(at(&from))?;
    fs::rename(&folder, gone.path().join("skill")).map_err(at(&folder))?;
    gone.close().map_err(at(&folder))?;
    Ok(folder)
}

/// The skill's name as a folder's: what the standard asks for.
fn folder_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words = name.split(|c| !plain(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

struct Copy<'a> {
    /// Canonical.
    from: &'a Path,
    to: &'a Path,
    files: usize,
    entries: usize,
    bytes: u64,
    skipped: Vec<PathBuf>,
}

impl Copy<'_> {
    fn folder(&mut self, relative: &Path, depth: usize) -> Result<(), InstallError> {
        let path = self.from.join(relative);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            self.entries += 1;
            if self.entries > ENTRIES {
                return Err(InstallError::TooMuch);
            }
            let relative = relative.join(entry.file_name());
            let kind = entry.file_type().map_err(at(&path))?;
            if kind.is_dir() && entry.file_name() != ".git" {
                if depth == DEPTH {
                    return Err(InstallError::TooMuch);
                }
                let made = self.to.join(&relative);
                fs::create_dir(&made).map_err(at(&made))?;
                self.folder(&relative, depth + 1)?;
            } else if kind.is_file() {
                self.file(relative)?;
            } else {
                self.skipped.push(relative);
            }
        }
        Ok(())
    }

    fn file(&mut self, relative: PathBuf) -> Result<(), InstallError> {
        let path = self.from.join(&relative);
        let mut source = match beneath::open_beneath(self.from, &relative, false) {
            Ok(source) => source,
            Err(FileError::Io(error)) => return Err(at(&path)(error)),
            // Swapped for something else since it was listed.
            Err(_) => {
                self.skipped.push(relative);
                return Ok(());
            }
        };
        self.files += 1;
        let left = BYTES - self.bytes;
        let target = self.to.join(&relative);
        let mut file = fs::File::create_new(&target).map_err(at(&target))?;
        let mut limited = source.by_ref().take(left + 1);
        let bytes = std::io::copy(&mut limited, &mut file).map_err(at(&target))?;
        if bytes > left || self.files > FILES {
            return Err(InstallError::TooMuch);
        }
        self.bytes += bytes;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = source.metadata().map_err(at(&path))?.permissions().mode();
            // Scripts stay executable; nothing stays set-user-id or writable for others.
            let mode = fs::Permissions::from_mode((mode & 0o755) | 0o600);
            file.set_permissions(mode).map_err(at(&target))?;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests;
