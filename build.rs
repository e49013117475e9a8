//! What cargo cannot say: the texts of `prompts/` as a table, how the linker stores relocations, which
//! depends on the machine's C library, and in which order it puts the functions.

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
    // Another linker may not know the options.
    if knows_linker() {
        pack_relocations();
        order_functions(&here);
    }
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

/// Whether the program is built for this machine, with Rust's own linker.
fn knows_linker() -> bool {
    let target = var("TARGET").unwrap_or_default();
    let here = var("HOST").is_ok_and(|host| host == target);
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let other = var("RUSTC_LINKER").is_ok() || flags.contains("-fuse-ld");
    here && target == "x86_64-unknown-linux-gnu" && !other
}

/// A megabyte less to read and to touch at each start. An older C library refuses such a program
/// and names the reason, so it is for programs that run where they are built.
fn pack_relocations() {
    if glibc().is_some_and(|version| version >= PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Four megabytes less to map. The script is added to the linker's own.
fn order_functions(here: &Path) {
    println!("cargo::rerun-if-changed=early.ld");
    if var("PROFILE").is_ok_and(|profile| profile == "release") {
        let script = here.join("early.ld");
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
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
