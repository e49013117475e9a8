//! What cargo cannot say: the texts of `prompts/` as a table, and how the linker stores relocations,
//! which depends on the machine's C library.

use std::collections::BTreeMap;
use std::env::var;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first glibc that reads packed relocations.
const PACKED: (u32, u32) = (2, 36);

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=prompts");
    let mut files = Vec::new();
    list(Path::new("prompts"), &mut files)?;
    let here = std::env::current_dir()?;
    let named = files.into_iter().map(|file| {
        let name = file.strip_prefix("prompts").unwrap_or(&file);
        (name.to_string_lossy().replace('\\', "/"), file)
    });
    // Sorted by the whole name, because the table is searched.
    let named: BTreeMap<String, PathBuf> = named.collect();
    let mut table = "&[\n".to_owned();
    for (name, file) in named {
        let path = here.join(&file);
        writeln!(table, "    ({name:?}, include_str!({path:?})),")
            .map_err(std::io::Error::other)?;
    }
    table.push_str("]\n");
    let out = var("OUT_DIR").map_err(std::io::Error::other)?;
    std::fs::write(Path::new(&out).join("prompts.rs"), table)?;
    pack_relocations();
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

/// A megabyte less to read and to touch at each start. An older C library refuses such a program
/// and names the reason, so it is for programs that run where they are built; and elsewhere than on
/// this processor, Rust's default linker may not know the option.
fn pack_relocations() {
    let target = var("TARGET").unwrap_or_default();
    let here = var("HOST").is_ok_and(|host| host == target);
    let known = here && target == "x86_64-unknown-linux-gnu";
    if known && glibc().is_some_and(|version| version >= PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
