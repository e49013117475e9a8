//! Replacing a file on platforms without descriptor-relative calls: a temporary file next to it and
//! a rename.

use std::io::Write as _;
use std::path::Path;

use ropey::Rope;

use crate::workspace::FileError;
use crate::workspace::content::{BOM, bytes, decode, rope_hash};
use crate::workspace::leftovers::Leftovers;
use crate::workspace::open::open_beneath;

/// One replacement.
pub(super) struct Job<'a> {
    pub expected: Option<&'a str>,
    pub text: &'a Rope,
    /// Checked again at the last moment.
    pub still_closed: &'a dyn Fn() -> Result<(), FileError>,
    pub leftovers: Option<&'a Leftovers>,
}

impl Job<'_> {
    /// Replaces the file `relative` below `root` with the text.
    pub fn replace(&self, root: &Path, relative: &Path) -> Result<(), FileError> {
        let _ = self.leftovers;
        replace(root, relative, self.expected, self.text, self.still_closed)
    }
}

fn replace(
    root: &Path,
    relative: &Path,
    expected: Option<&str>,
    text: &Rope,
    still_closed: &dyn Fn() -> Result<(), FileError>,
) -> Result<(), FileError> {
    let path = root.join(relative);
    let Some(folder) = path.parent() else {
        return Err(FileError::Directory);
    };
    std::fs::create_dir_all(folder)?;
    let bom = check(root, relative, expected)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    if bom {
        file.write_all(BOM)?;
    }
    for chunk in text.chunks() {
        file.write_all(chunk.as_bytes())?;
    }
    file.as_file().sync_all()?;
    still_closed()?;
    check(root, relative, expected)?;
    let result = match expected {
        Some(_) => file.persist(&path),
        None => file.persist_noclobber(&path),
    };
    result.map(drop).map_err(|error| FileError::Io(error.error))
}

fn check(root: &Path, relative: &Path, expected: Option<&str>) -> Result<bool, FileError> {
    let mut file = match open_beneath(root, relative, false) {
        Err(FileError::Missing) if expected.is_none() => return Ok(false),
        Err(FileError::Missing) => return Err(FileError::Changed),
        result => result?,
    };
    if file.metadata()?.permissions().readonly() {
        return Err(FileError::ReadOnly);
    }
    let (rope, bom) = decode(bytes(&mut file)?)?;
    if expected != Some(rope_hash(&rope).as_str()) {
        return Err(FileError::Changed);
    }
    Ok(bom)
}
