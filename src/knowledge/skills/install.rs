//! Installs a skill's folder into a folder of skills, and removes it. Copies regular files only,
//! bounded, into a temporary folder that is then renamed; never replaces a skill.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::walk::{SkillFolder, Walker, from_disk};
use super::{FILE, Origin, SkillCache, parse, slashes};
use crate::conversation::sha256;
use crate::workspace::{FileError, Workspace, beneath};

/// Limits of one skill: files, folder entries, bytes, depth.
const FILES: usize = 1_000;
const ENTRIES: usize = 10_000;
const BYTES: u64 = 64 * 1024 * 1024;
const DEPTH: usize = 8;

/// The installed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    pub folder: PathBuf,
    pub files: usize,
    /// What was not copied: links, special files, `.git`.
    pub skipped: Vec<PathBuf>,
    /// Problems in its `SKILL.md`.
    pub problems: Vec<String>,
}

/// The contents of a skill's folder as they would be copied; shown in the approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub name: String,
    pub description: String,
    /// Its SKILL.md, which sessions follow.
    pub text: String,
    /// Path below the folder, with `/`, and size in bytes; sorted.
    pub files: Vec<(String, u64)>,
    /// Of all names, contents and executable bits.
    pub hash: String,
}

/// Why nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{} is not a skill: {reason}", folder.display())]
    NoSkill { folder: PathBuf, reason: String },
    #[error("{} already exists: uninstall it first", .0.display())]
    Exists(PathBuf),
    #[error("{} contains the folder of skills", .0.display())]
    Contains(PathBuf),
    #[error("it is larger than the limit of {FILES} files and {} MiB", BYTES >> 20)]
    TooMuch,
    #[error("{} changed after it was reviewed: review it again", .0.display())]
    Changed(PathBuf),
    #[error("there is no skill named {name} in {}", folder.display())]
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

/// Copies the skill in the folder `from` into the folder of skills `to`, which is created if it
/// does not exist. Blocking.
pub fn install(from: &Path, to: &Path) -> Result<Installed, InstallError> {
    copy(from, to, None)
}

/// Like [`install`], if the folder's contents still equal `seen`.
pub fn install_exact(from: &Path, to: &Path, seen: &Outline) -> Result<Installed, InstallError> {
    copy(from, to, Some(seen))
}

/// The contents that [`install`] would copy. Blocking; reads every file, changes nothing.
pub fn outline(from: &Path) -> Result<Outline, InstallError> {
    let from = fs::canonicalize(from).map_err(at(from))?;
    let (parsed, text) = parsed(&from)?;
    let mut copy = Copy::new(&from, None);
    copy.folder(Path::new(""), 1)?;
    Ok(copy.outline(&parsed, text))
}

/// The folder's parsed SKILL.md and its text.
fn parsed(from: &Path) -> Result<(parse::Parsed, String), InstallError> {
    let no_skill = |reason: String| InstallError::NoSkill {
        folder: from.to_path_buf(),
        reason,
    };
    let text = from_disk(from, Path::new(FILE))
        .map_err(no_skill)?
        .ok_or_else(|| no_skill(format!("it has no {FILE}")))?;
    let folder = from.file_name().unwrap_or_default().to_string_lossy();
    let parsed = parse::parse(&text, &folder).map_err(no_skill)?;
    Ok((parsed, text))
}

fn copy(from: &Path, to: &Path, seen: Option<&Outline>) -> Result<Installed, InstallError> {
    let from = fs::canonicalize(from).map_err(at(from))?;
    let (parsed, text) = parsed(&from)?;
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
    let mut copy = Copy::new(&from, Some(fresh.path()));
    copy.folder(Path::new(""), 1)?;
    let skipped = std::mem::take(&mut copy.skipped);
    let outline = copy.outline(&parsed, text);
    if seen.is_some_and(|seen| *seen != outline) {
        return Err(InstallError::Changed(from));
    }
    fs::rename(fresh.path(), &target).map_err(at(&target))?;
    // The temporary folder no longer exists under its old name.
    let _ = fresh.keep();
    Ok(Installed {
        name: parsed.name,
        folder: target,
        files: outline.files.len(),
        skipped,
        problems: parsed.problems,
    })
}

/// Removes the skill with that name from a folder of skills; returns its former folder. Blocking.
pub fn uninstall(name: &str, from: &Path) -> Result<PathBuf, InstallError> {
    let folder = installed(name, from)?;
    let from = fs::canonicalize(from).map_err(at(from))?;
    // Renamed first: a skill exists completely or not at all.
    let gone = tempfile::Builder::new()
        .prefix(".remove-")
        .tempdir_in(&from)
        .map_err(at(&from))?;
    fs::rename(&folder, gone.path().join("skill")).map_err(at(&folder))?;
    gone.close().map_err(at(&folder))?;
    Ok(folder)
}

/// The folder of the skill with that name in a folder of skills. Blocking.
pub fn installed(name: &str, from: &Path) -> Result<PathBuf, InstallError> {
    let unknown = || InstallError::Unknown {
        name: name.to_owned(),
        folder: from.to_path_buf(),
    };
    let from = match fs::canonicalize(from) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(unknown()),
        other => other.map_err(at(from))?,
    };
    let folder = SkillFolder {
        folder: from,
        origin: Origin::User,
    };
    let (workspace, cache) = (Workspace::new(), SkillCache::default());
    let walker = Walker::new(&workspace, &cache, std::slice::from_ref(&folder));
    let mut folders = walker.walk(&folder).0.into_iter().filter_map(|found| {
        let folder = found.path.parent()?.to_path_buf();
        Some((folder, found.known))
    });
    let named = folders.find(|(folder, known)| match &known.parsed {
        Ok(parsed) => parsed.name == name,
        Err(_) => folder.file_name().is_some_and(|own| own == name),
    });
    named.map(|(folder, _)| folder).ok_or_else(unknown)
}

/// The folder's name for a skill, as the standard asks.
fn folder_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words = name.split(|c| !plain(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

struct Copy<'a> {
    /// Canonical.
    from: &'a Path,
    /// `None`: the files are only read.
    to: Option<&'a Path>,
    /// Name, bytes, and the hash of content and mode.
    files: Vec<(String, u64, String)>,
    entries: usize,
    bytes: u64,
    skipped: Vec<PathBuf>,
}

impl<'a> Copy<'a> {
    fn new(from: &'a Path, to: Option<&'a Path>) -> Self {
        Self {
            from,
            to,
            files: Vec::new(),
            entries: 0,
            bytes: 0,
            skipped: Vec::new(),
        }
    }

    fn outline(mut self, parsed: &parse::Parsed, text: String) -> Outline {
        self.files.sort();
        let lines = self.files.iter();
        let lines: String = lines
            .map(|(name, bytes, hash)| format!("{hash} {bytes} {name:?}\n"))
            .collect();
        Outline {
            name: parsed.name.clone(),
            description: parsed.description.clone(),
            text,
            hash: sha256(lines.as_bytes()),
            files: self
                .files
                .into_iter()
                .map(|(name, bytes, _)| (name, bytes))
                .collect(),
        }
    }

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
                if let Some(to) = self.to {
                    let made = to.join(&relative);
                    fs::create_dir(&made).map_err(at(&made))?;
                }
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
        let mut source = match beneath::open_beneath(self.from, &relative) {
            Ok(source) => source,
            Err(FileError::Io(error)) => return Err(at(&path)(error)),
            // Replaced by something else since it was listed.
            Err(_) => {
                self.skipped.push(relative);
                return Ok(());
            }
        };
        if self.files.len() == FILES {
            return Err(InstallError::TooMuch);
        }
        let mut target = match self.to {
            Some(to) => {
                let target = to.join(&relative);
                Some((fs::File::create_new(&target).map_err(at(&target))?, target))
            }
            None => None,
        };
        let mut hash = Sha256::new();
        let (left, mut bytes) = (BYTES - self.bytes, 0);
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = source.read(&mut chunk).map_err(at(&path))?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            if bytes > left {
                return Err(InstallError::TooMuch);
            }
            hash.update(&chunk[..read]);
            if let Some((file, target)) = &mut target {
                file.write_all(&chunk[..read]).map_err(at(target))?;
            }
        }
        self.bytes += bytes;
        let mode = source.metadata().map_err(at(&path))?.permissions().mode();
        // Scripts stay executable; nothing stays set-user-id or writable for others.
        let mode = (mode & 0o755) | 0o600;
        hash.update([u8::from(mode & 0o111 != 0)]);
        if let Some((file, target)) = &target {
            let mode = fs::Permissions::from_mode(mode);
            file.set_permissions(mode).map_err(at(target))?;
        }
        let hash: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.files.push((slashes(&relative), bytes, hash));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
