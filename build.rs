//! Writes the texts of `prompts/` as a table, of which cargo also notices new files.

use std::env::var;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=prompts");
    let mut files = Vec::new();
    list(Path::new("prompts"), &mut files)?;
    files.sort();
    let here = std::env::current_dir()?;
    let mut table = "&[\n".to_owned();
    for file in files {
        let name = file.strip_prefix("prompts").unwrap_or(&file);
        let name = name.to_string_lossy().replace('\\', "/");
        let path = here.join(&file);
        writeln!(table, "    ({name:?}, include_str!({path:?})),")
            .map_err(std::io::Error::other)?;
    }
    table.push_str("]\n");
    let out = var("OUT_DIR").map_err(std::io::Error::other)?;
    std::fs::write(Path::new(&out).join("prompts.rs"), table)?;
    Ok(())
}

/// All files below a folder, those of a subfolder too.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
