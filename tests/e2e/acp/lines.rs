//! What the program writes over ACP, kept as JSON lines for `tests/acp-schema`: it checks them
//! against the published types of the protocol, which need more features of shared crates than
//! the program does.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

/// Emptied by the first client of a run. It is named after the program, because a copy of this
/// tree can have another.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(env!("CARGO_BIN_EXE_interline"));
    let name = program.file_name().expect("a name");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("acp-lines")
        .join(name);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => fs::create_dir_all(&folder).expect("a folder"),
    }
    let built = program.metadata().and_then(|facts| facts.modified());
    let built = built.expect("the program").duration_since(UNIX_EPOCH);
    let about =
        json!({ "program": program, "built": built.expect("a time").as_nanos().to_string() });
    fs::write(folder.join("program.json"), about.to_string()).expect("a file");
    folder
});

/// The lines that one client received.
pub struct Lines(File);

impl Lines {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let thread = std::thread::current();
        let story = thread.name().unwrap_or("story").replace("::", ".");
        let path = FOLDER.join(format!("{story}-{number}.jsonl"));
        Self(File::create(path).expect("a file"))
    }

    /// `request`: the method that an answer is for.
    pub fn add(&mut self, request: Option<&str>, message: &Value) {
        let line = json!({ "request": request, "message": message });
        writeln!(self.0, "{line}").expect("a line");
    }
}
