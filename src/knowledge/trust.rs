//! The trust store: which folders and which active files (by hash) the user trusts. The default is
//! untrusted (INV-9): if anything is wrong with the store, nothing is trusted. One 0600 JSON file
//! in the state folder, replaced atomically and read without a lock; beside it copies of the
//! trusted texts, by hash, to show what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{private_json, trust_bundle};
use crate::conversation::sha256;
use crate::env::{Env, private_folder};
use crate::workspace::canonicalize;

/// Largest text of a trusted file that is copied, in bytes.
const COPY_LIMIT: u64 = 1024 * 1024;

/// The store; reads the file for each question, so that two processes agree.
#[derive(Clone)]
pub struct TrustStore {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    /// Canonical paths.
    #[serde(default)]
    folders: BTreeSet<String>,
    /// Canonical path → hash of the trusted content.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

const VERSION: u32 = 1;

impl TrustStore {
    pub fn new(env: &Env) -> Self {
        Self {
            path: env.dirs.state.join("trust.json"),
        }
    }

    /// The canonical folder, or one that contains it, is trusted.
    pub fn folder(&self, path: &Path) -> bool {
        self.trusted_by(path).is_some()
    }

    /// The trusted folder that contains `path`, if any.
    pub fn trusted_by(&self, path: &Path) -> Option<PathBuf> {
        let path = canonicalize(path).ok()?;
        let stored = self.read().ok()?;
        path.ancestors()
            .find(|folder| {
                let name = folder.to_str();
                name.is_some_and(|name| stored.folders.contains(name))
            })
            .map(Path::to_path_buf)
    }

    /// Grants or withdraws trust. Withdrawing covers everything below the folder, including active
    /// files; it fails when a folder above is trusted, because then nothing would change.
    pub fn set_folder(&self, path: &Path, trusted: bool) -> Result<()> {
        let folder = match std::fs::canonicalize(path) {
            Ok(folder) => folder,
            // Trust in a folder that no longer exists can be withdrawn.
            Err(_) if !trusted && path.is_absolute() => path.to_path_buf(),
            Err(error) => return Err(with_context(&error, &format!("{}: ", path.display()))),
        };
        if trusted && !folder.is_dir() {
            let message = format!("{} is not a folder", folder.display());
            return Err(Error::new(ErrorKind::NotADirectory, message));
        }
        let name = utf8(&folder)?;
        self.change(|stored| {
            if trusted {
                stored.folders.insert(name);
                return Ok(());
            }
            let below = |known: &str| Path::new(known).starts_with(&folder);
            stored.folders.retain(|known| !below(known));
            stored.files.retain(|known, _| !below(known));
            let above = folder.ancestors().find(|above| {
                let name = above.to_str();
                name.is_some_and(|name| stored.folders.contains(name))
            });
            match above {
                None => Ok(()),
                Some(above) => Err(Error::other(format!(
                    "it is trusted through {}; withdraw the trust in that folder",
                    above.display()
                ))),
            }
        })
    }

    /// The active file is trusted with exactly this content.
    pub fn file(&self, path: &Path, hash: &str) -> bool {
        !hash.is_empty() && self.known(path).as_deref() == Some(hash)
    }

    /// The active file is trusted with exactly this text and with its companions in their current
    /// state.
    pub fn trusts(&self, path: &Path, text: &str) -> bool {
        let whole = |path: PathBuf| self.snapshot().companions(&path, text);
        self.file(path, &sha256(text.as_bytes())) && std::fs::canonicalize(path).is_ok_and(whole)
    }

    /// The hash of the content with which the file is trusted, whatever its current content.
    pub fn known(&self, path: &Path) -> Option<String> {
        let path = canonicalize(path).ok()?;
        let mut stored = self.read().ok()?;
        stored.files.remove(path.to_str()?)
    }

    /// Trusts the file with exactly `text` and stores a private copy, so that a later change can be
    /// shown. Returns the text's hash.
    pub fn trust_text(&self, path: &Path, text: &str) -> Result<String> {
        let hash = sha256(text.as_bytes());
        if text.len() as u64 > COPY_LIMIT {
            let message = format!("it has more than {COPY_LIMIT} bytes and cannot be trusted");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let path = std::fs::canonicalize(path)
            .map_err(|error| with_context(&error, &format!("{}: ", path.display())))?;
        let name = utf8(&path)?;
        self.change(|stored| {
            private_folder(&self.copies())?;
            let mut file = tempfile::NamedTempFile::new_in(self.copies())?;
            file.write_all(text.as_bytes())?;
            file.persist(self.copies().join(&hash))
                .map_err(|error| error.error)?;
            match trust_bundle::digest(&path, text) {
                Some(digest) => stored.files.insert(companions_key(&name), digest),
                None => stored.files.remove(&companions_key(&name)),
            };
            stored.files.insert(name, hash.clone());
            Ok(())
        })?;
        Ok(hash)
    }

    /// The stored copy of a trusted text, by hash.
    pub fn trusted_copy(&self, hash: &str) -> Option<String> {
        if !sound_hash(hash) {
            return None;
        }
        let file = super::open_regular(&self.copies().join(hash)).ok()?;
        let mut text = String::new();
        file.take(COPY_LIMIT).read_to_string(&mut text).ok()?;
        (sha256(text.as_bytes()) == hash).then_some(text)
    }

    /// The folder with the copies of trusted texts.
    fn copies(&self) -> PathBuf {
        self.path.with_file_name("trusted")
    }

    /// Removes the copies that no trusted file needs. One that cannot be removed grants nothing.
    fn prune(&self, stored: &Stored) {
        for entry in std::fs::read_dir(self.copies()).into_iter().flatten() {
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let used = |hash: &String| name.to_str() == Some(hash);
            if !stored.files.values().any(used) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Withdraws the trust in a file, whatever its content; the file need not exist.
    pub fn forget_file(&self, path: &Path) -> Result<()> {
        let file = match std::fs::canonicalize(path) {
            Ok(file) => file,
            Err(_) if path.is_absolute() => path.to_path_buf(),
            Err(error) => return Err(with_context(&error, &format!("{}: ", path.display()))),
        };
        let name = utf8(&file)?;
        self.change(|stored| {
            stored.files.remove(&companions_key(&name));
            stored.files.remove(&name);
            Ok(())
        })
    }

    /// The store's contents; empty if it does not exist. On an error nothing is trusted.
    fn read(&self) -> Result<Stored> {
        let Some(text) = private_json::read(&self.path, |why| self.refused(why))? else {
            return Ok(Stored::default());
        };
        let stored: Stored = serde_json::from_str(&text).map_err(|error| {
            let message = format!("{}: {error}", self.path.display());
            Error::new(ErrorKind::InvalidData, message)
        })?;
        if stored.version > VERSION {
            let message = "was written by a newer version";
            return Err(self.refused(message));
        }
        Ok(stored)
    }

    /// Reads, changes and replaces the store under a lock, so that two processes do not lose each
    /// other's changes.
    fn change(&self, change: impl FnOnce(&mut Stored) -> Result<()>) -> Result<()> {
        let _lock = private_json::lock(&self.path)?;
        let mut stored = match self.read() {
            Ok(stored) => stored,
            // Renamed for the user to inspect; never read again.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                std::fs::rename(&self.path, self.path.with_extension("json.bad"))?;
                Stored::default()
            }
            Err(error) => return Err(error),
        };
        stored.version = VERSION;
        change(&mut stored)?;
        private_json::replace(&self.path, &stored)?;
        self.prune(&stored);
        Ok(())
    }

    /// The current contents, read once for many questions.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.read().unwrap_or_default())
    }

    fn refused(&self, why: &str) -> Error {
        let message = format!(
            "the trust store {} {why}; nothing is trusted until that is fixed",
            self.path.display()
        );
        Error::new(ErrorKind::PermissionDenied, message)
    }
}

/// The store's contents at one moment; paths are canonical.
#[derive(Default)]
pub struct Snapshot(Stored);

impl Snapshot {
    /// The folder, or one that contains it, is trusted.
    pub fn folder(&self, path: &Path) -> bool {
        path.ancestors().any(|folder| {
            let name = folder.to_str();
            name.is_some_and(|name| self.0.folders.contains(name))
        })
    }

    /// The hash of the content with which the active file is trusted.
    pub fn hash(&self, path: &Path) -> Option<&str> {
        self.0.files.get(path.to_str()?).map(String::as_str)
    }

    /// The active file's companions are unchanged since the user trusted the file.
    pub fn companions(&self, path: &Path, text: &str) -> bool {
        if !trust_bundle::any(path, text) {
            return true;
        }
        let known = path
            .to_str()
            .and_then(|name| self.0.files.get(&companions_key(name)));
        known.is_some() && trust_bundle::digest(path, text).as_ref() == known
    }
}

/// The key of the digest of a file's companions. It is below the same folders as the file.
fn companions_key(name: &str) -> String {
    format!("{name}#with")
}

fn sound_hash(hash: &str) -> bool {
    hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!(
            "{}: a path that is not UTF-8 cannot be trusted",
            path.display()
        );
        Error::new(ErrorKind::InvalidInput, message)
    })
}

fn with_context(error: &Error, before: &str) -> Error {
    Error::new(error.kind(), format!("{before}{error}"))
}

#[cfg(test)]
mod tests;
