//! The folder of one scope on disk: read and replaced without following a link out of it or waiting
//! on a FIFO. Everything is bounded; reaching a bound is reported.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::MemoryCache;
use super::bullets::{self, Found};
use super::{Entry, FILE_LIMIT, Kind, MOST, Scope};
use crate::env::private_folder;
use crate::secrets::Detector;
use crate::workspace::beneath::{Folder, bounded, open_beneath};
use crate::workspace::{FileError, FileKind, Stamp, canonicalize, kind_without_links};

pub const TOPICS: &str = "topics";
pub const DAILY: &str = "daily";
pub const INDEX: &str = "INDEX.md";

/// Most topics of one scope, most names that are read, and most bytes of all topics.
const FILES: usize = 200;
const NAMES: usize = 2_000;
const BYTES: usize = 8 * 1024 * 1024;
/// Most problems that one scope reports; the rest is counted.
const PROBLEMS: usize = 20;

/// A scope's folder: `below` is relative to one of our own folders, which alone may be a link.
#[derive(Clone, Debug)]
pub struct Place {
    pub base: PathBuf,
    pub below: PathBuf,
}

/// The canonical path of our own folder, which may be a link.
fn canonical(base: &Path) -> Result<PathBuf, FileError> {
    canonicalize(base).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => FileError::Missing,
        _ => error.into(),
    })
}

impl Place {
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// The text of a file below it; `None` if the file does not exist.
    pub fn text(&self, name: &Path) -> Result<Option<String>, String> {
        let read = canonical(&self.base)
            .and_then(|base| open_beneath(&base, &self.below.join(name)))
            .and_then(|mut file| bounded(&mut file, FILE_LIMIT));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(FileError::Missing) => return Ok(None),
            Err(FileError::Escaped) => return Err("it is behind a link and not read".to_owned()),
            Err(FileError::TooLarge { limit, .. }) => {
                return Err(format!(
                    "it is larger than {limit} bytes and not read: split it"
                ));
            }
            Err(error) => return Err(error.to_string()),
        };
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text and not read")?;
        Ok(Some(text))
    }

    /// Creates the folders, private to the user; a link on the way is an error.
    pub fn create(&self) -> Result<(), String> {
        private_folder(&self.base).map_err(|error| error.to_string())?;
        let make = || {
            let mut folder = Folder::open(&canonical(&self.base)?, Path::new(""))?;
            for part in &self.below {
                folder = folder.private(part)?;
            }
            folder.private(OsStr::new(TOPICS))?;
            folder.private(OsStr::new(DAILY)).map(drop)
        };
        make().map_err(|error| self.refused(Path::new(""), &error))
    }

    /// The folder `name` in it, through no link below our own folder.
    fn open(&self, name: &Path) -> Result<Folder, FileError> {
        let below = self.below.join(name);
        match kind_without_links(&self.base.join(&below)) {
            Some(FileKind::Missing) => Err(FileError::Missing),
            Some(_) => Folder::open(&self.base, &below),
            None => Folder::open(&canonical(&self.base)?, &below),
        }
    }

    fn refused(&self, name: &Path, error: &FileError) -> String {
        match error {
            FileError::Escaped | FileError::Missing => {
                format!(
                    "{} is a link or not a folder",
                    self.path().join(name).display()
                )
            }
            error => error.to_string(),
        }
    }

    /// One writer at a time, also across processes; closing the file releases the lock.
    pub fn lock(&self) -> Result<File, String> {
        let file = self
            .open(Path::new(""))
            .and_then(|folder| folder.lock_file(OsStr::new(".lock")));
        let file = file.map_err(|error| error.to_string())?;
        file.lock().map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// Replaces a file atomically, readable by its owner only.
    pub fn replace(&self, name: &Path, text: &str) -> Result<(), String> {
        if text.len() as u64 > FILE_LIMIT {
            return Err(format!(
                "it would be larger than {FILE_LIMIT} bytes: move part of it to another file in \
                 the folder"
            ));
        }
        let folder = name.parent().unwrap_or(Path::new(""));
        let file = name.file_name().unwrap_or_default();
        self.open(folder)
            .and_then(|folder| folder.replace(file, text.as_bytes()))
            .map_err(|error| self.refused(folder, &error))
    }

    /// The sorted names of the topics, and whether there are more.
    fn topics(&self) -> Result<(Vec<String>, bool), String> {
        let folder = match self.open(Path::new(TOPICS)) {
            Ok(folder) => folder,
            Err(FileError::Missing) => return Ok((Vec::new(), false)),
            Err(error) => return Err(self.refused(Path::new(TOPICS), &error)),
        };
        let entries = folder.entries().map_err(|error| error.to_string())?;
        let mut seen = 0;
        let mut names: Vec<String> = entries
            .take(NAMES)
            .inspect(|_| seen += 1)
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| !name.starts_with('.') && name.to_ascii_lowercase().ends_with(".md"))
            .collect();
        names.sort();
        let more = seen >= NAMES || names.len() > FILES;
        names.truncate(FILES);
        Ok((names, more))
    }
}

impl Place {
    /// The stamps of all topics; `None` if one cannot be read or was written a moment ago.
    pub fn stamps(&self, cache: &MemoryCache) -> Option<Vec<(PathBuf, Stamp)>> {
        let (names, more) = self.topics().ok()?;
        if more {
            return None;
        }
        let folder = self.path().join(TOPICS);
        let stamped = names.into_iter().map(|name| {
            let path = folder.join(name);
            let stamp = cache.stamp(&path)?;
            Some((path, stamp))
        });
        stamped.collect()
    }
}

/// The memories of a scope, in the order of its files.
pub fn read(
    place: &Place,
    scope: Scope,
    detector: &Detector,
    problems: &mut Vec<(String, String)>,
) -> Vec<Entry> {
    let mut reader = Reader {
        scope,
        detector,
        found: Vec::new(),
        problems: Vec::new(),
        dropped: 0,
    };
    let folder = place.path().join(TOPICS);
    match place.topics() {
        Ok((names, more)) => {
            if more {
                reader.problem(
                    &folder,
                    format!("more than {FILES} topics: not all are read"),
                );
            }
            reader.files(place, &names);
        }
        Err(reason) => reader.problem(&folder, reason),
    }
    let Reader {
        found,
        problems: mut own,
        dropped,
        ..
    } = reader;
    if dropped > 0 {
        let reason = format!("{dropped} further problems");
        own.push((folder.display().to_string(), reason));
    }
    problems.append(&mut own);
    found
}

struct Reader<'a> {
    scope: Scope,
    detector: &'a Detector,
    found: Vec<Entry>,
    problems: Vec<(String, String)>,
    dropped: usize,
}

impl Reader<'_> {
    fn problem(&mut self, path: &Path, reason: impl Into<String>) {
        if self.problems.len() < PROBLEMS {
            let source = path.display().to_string();
            self.problems.push((source, reason.into()));
        } else {
            self.dropped += 1;
        }
    }

    fn files(&mut self, place: &Place, names: &[String]) {
        let mut bytes = 0;
        for name in names {
            let relative = Path::new(TOPICS).join(name);
            let path = place.path().join(&relative);
            let text = match place.text(&relative) {
                Ok(text) => text.unwrap_or_default(),
                Err(reason) => {
                    self.problem(&path, reason);
                    continue;
                }
            };
            bytes += text.len();
            if bytes > BYTES {
                self.problem(
                    &path,
                    format!("more than {BYTES} bytes: not read from here on"),
                );
                return;
            }
            for found in bullets::parse(&text, topic(name)) {
                if self.found.len() >= MOST {
                    let reason = format!("more than {MOST} memories: not read from here on");
                    self.problem(&path, reason);
                    return;
                }
                self.take(&path, found);
            }
        }
    }

    fn take(&mut self, path: &Path, found: Found) {
        let text = match bullets::normalized(&found.text) {
            Ok(text) => text,
            Err(unfit) => {
                let reason = format!("line {} is not used: {unfit}", found.line);
                return self.problem(path, reason);
            }
        };
        if let Some(secret) = self.detector.find(&text) {
            let reason = format!(
                "line {} is not used: it looks like {secret}; take it out of the file",
                found.line
            );
            return self.problem(path, reason);
        }
        self.found.push(Entry {
            kind: found.kind,
            scope: self.scope,
            text,
            date: found.date,
            path: path.to_path_buf(),
        });
    }
}

/// The type of a line without one in the topic of this name.
pub fn topic(name: &str) -> Kind {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Kind::parse(stem).unwrap_or(Kind::Fact)
}
