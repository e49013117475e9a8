//! Searches for `SKILL.md` files below a folder of skills: in name order, bounded in depth, folders,
//! entries and bytes, through no link. Open buffers come before the disk.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FILE, FILE_LIMIT, Origin, ParsedFile, SkillCache};
use crate::workspace::{Document, FileError, SyncState, Workspace, beneath};

/// Most folders between a folder of skills and a skill.
const DEPTH: usize = 4;
/// Limits of one folder of skills: folders, entries, skills, bytes.
const FOLDERS: usize = 2_000;
const ENTRIES: usize = 10_000;
const SKILLS: usize = 500;
const BYTES: usize = 16 * 1024 * 1024;

/// A folder of skills.
#[derive(Clone, Debug)]
pub(super) struct SkillFolder {
    /// Canonical.
    pub folder: PathBuf,
    pub origin: Origin,
}

/// One `SKILL.md` that was read.
pub(super) struct SkillFile {
    /// Canonical.
    pub path: PathBuf,
    pub known: Arc<ParsedFile>,
    /// From a buffer whose text is not on disk.
    pub unsaved: bool,
}

type Problems = Vec<(PathBuf, String)>;

pub(super) struct Walker<'a> {
    workspace: &'a Workspace,
    cache: &'a SkillCache,
    /// Open `SKILL.md` documents by key.
    buffers: HashMap<String, Document>,
    /// All folders that are searched: a link into one of them is not reported.
    folders: Vec<PathBuf>,
}

impl<'a> Walker<'a> {
    pub fn new(workspace: &'a Workspace, cache: &'a SkillCache, places: &[SkillFolder]) -> Self {
        let open = workspace.documents().into_iter();
        Self {
            workspace,
            cache,
            buffers: open
                .filter(|document| document.key.ends_with(FILE))
                .map(|document| (document.key.clone(), document))
                .collect(),
            folders: places.iter().map(|place| place.folder.clone()).collect(),
        }
    }

    /// The skills below one folder, and the problems found on the way.
    pub fn walk(&self, place: &SkillFolder) -> (Vec<SkillFile>, Problems) {
        let mut walk = Walk {
            walker: self,
            top: &place.folder,
            folders: 0,
            entries: 0,
            bytes: 0,
            full: false,
            found: Vec::new(),
            problems: Vec::new(),
        };
        walk.folder(Path::new(""), 1);
        (walk.found, walk.problems)
    }
}

struct Walk<'a> {
    walker: &'a Walker<'a>,
    top: &'a Path,
    folders: usize,
    entries: usize,
    bytes: usize,
    /// A limit was reached, which is reported once.
    full: bool,
    found: Vec<SkillFile>,
    problems: Problems,
}

impl Walk<'_> {
    /// Searches the folders in `relative`, which are `depth` below the top.
    fn folder(&mut self, relative: &Path, depth: usize) {
        for (name, link) in self.names(relative) {
            if self.full {
                return;
            }
            let child = relative.join(&name);
            let path = self.top.join(&child);
            if link {
                self.link(path);
                continue;
            }
            self.folders += 1;
            if self.folders > FOLDERS {
                return self.stop(format!("more than {FOLDERS} folders"));
            }
            // A skill's path is shown.
            if name
                .to_str()
                .is_none_or(|name| name.contains(char::is_control))
            {
                let reason = "the folder's name is not UTF-8 or has control characters";
                self.problems.push((path, reason.to_owned()));
                continue;
            }
            match self.read(&child) {
                Ok(Some(raw)) => self.keep(raw),
                Ok(None) if depth < DEPTH => self.folder(&child, depth + 1),
                Ok(None) => {}
                Err(reason) => self.problems.push((path.join(FILE), reason)),
            }
        }
    }

    /// The sorted names of folders and links in `relative`; `true` for links.
    fn names(&mut self, relative: &Path) -> Vec<(OsString, bool)> {
        let path = self.top.join(relative);
        let listing = match std::fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) => {
                self.problems.push((path, error.to_string()));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in listing.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES {
                self.stop(format!("more than {ENTRIES} entries"));
                return Vec::new();
            }
            let name = entry.file_name();
            // Repositories, and skills being installed.
            if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
                continue;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() || kind.is_symlink() {
                names.push((name, kind.is_symlink()));
            }
        }
        names.sort();
        names
    }

    fn stop(&mut self, what: String) {
        if !self.full {
            self.full = true;
            let reason = format!("{what}: the rest was not read");
            self.problems.push((self.top.to_path_buf(), reason));
        }
    }

    /// Reports a link to a folder that is not searched anyway.
    fn link(&mut self, path: PathBuf) {
        let reason = match std::fs::canonicalize(&path) {
            Ok(target) if !target.is_dir() => return,
            Ok(target) if self.walker.folders.iter().any(|it| target.starts_with(it)) => return,
            Ok(_) => {
                "it is a link out of the folder of skills and was not followed: put a copy here, \
                 or name the folder that it leads to in `skills.folders`"
            }
            Err(_) => "it is a link that leads nowhere",
        };
        self.problems.push((path, reason.to_owned()));
    }

    fn keep(&mut self, raw: SkillFile) {
        self.bytes += raw.known.bytes;
        if self.bytes > BYTES {
            return self.stop(format!("more than {} MiB of {FILE}", BYTES >> 20));
        }
        if self.found.len() == SKILLS {
            return self.stop(format!("more than {SKILLS} skills"));
        }
        self.found.push(raw);
    }

    /// The `SKILL.md` in the folder `relative`, if it exists.
    fn read(&self, relative: &Path) -> Result<Option<SkillFile>, String> {
        let relative = relative.join(FILE);
        let path = self.top.join(&relative);
        let buffer = path.to_str().and_then(|key| self.walker.buffers.get(key));
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.unwrap_or_default().to_string_lossy();
        let (known, unsaved) = match buffer {
            Some(document) => {
                if let (false, SyncState::OutOfSync(reason)) = (document.opened, &document.sync) {
                    return Err(FileError::OutOfSync(reason.clone()).to_string());
                }
                let bytes = document.rope.len_bytes() as u64;
                if bytes > FILE_LIMIT {
                    return Err(too_large(bytes));
                }
                let known = ParsedFile::parse(&document.rope.to_string(), &folder);
                (Arc::new(known), self.walker.workspace.dirty(document))
            }
            None => match self.closed(&path, &relative, &folder)? {
                Some(known) => (known, false),
                None => return Ok(None),
            },
        };
        Ok(Some(SkillFile {
            path,
            known,
            unsaved,
        }))
    }

    /// The parsed file, read again only when it changed.
    fn closed(
        &self,
        path: &PathBuf,
        relative: &Path,
        folder: &str,
    ) -> Result<Option<Arc<ParsedFile>>, String> {
        // Taken before the file is read, so that a concurrent change is seen the next time.
        let stamp = self.walker.cache.stamp(path);
        let cache = self.walker.cache;
        if let Some(known) = stamp.as_ref().and_then(|stamp| cache.get(path, stamp)) {
            return Ok(Some(known));
        }
        let Some(text) = from_disk(self.top, relative)? else {
            return Ok(None);
        };
        let known = Arc::new(ParsedFile::parse(&text, folder));
        if let Some(stamp) = stamp {
            cache.put(path.clone(), stamp, known.clone());
        }
        Ok(Some(known))
    }
}

/// The text of the regular file `relative` below the canonical `top`, without a byte order mark.
pub(super) fn from_disk(top: &Path, relative: &Path) -> Result<Option<String>, String> {
    let file = match beneath::open_beneath(top, relative) {
        Ok(file) => file,
        Err(FileError::Missing) => return Ok(None),
        Err(FileError::Escaped) => return Err("it is a link and was not followed".to_owned()),
        Err(FileError::Special) => {
            return Err("it is not a regular file and was not opened".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    // Most files are shorter: two reads instead of one for each doubling.
    let mut bytes = Vec::with_capacity(8 * 1024);
    // Some file systems report length 0; the limit applies to what is read.
    file.take(FILE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(too_large(bytes.len() as u64));
    }
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText.to_string())?;
    if text.contains('\0') {
        return Err(FileError::NotText.to_string());
    }
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(Some(rest.to_owned())),
        None => Ok(Some(text)),
    }
}

fn too_large(bytes: u64) -> String {
    format!(
        "it has {bytes} bytes or more, over the limit of {FILE_LIMIT}: move long parts into files \
         beside it"
    )
}
