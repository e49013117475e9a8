//! Confined processes with their own standard input, such as hooks and MCP servers: the request is
//! written to their pipe before their input. No file could be changed in between, and no argument
//! shows it to other users.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;

use tempfile::TempDir;

use super::{Confinement, PROGRAM, Placeholders, Request, bubblewrap, placeholders};

#[cfg(test)]
mod tests;

/// The helper's second argument.
pub const ARGUMENT: &str = "piped";

/// Longest request.
const LONGEST: u64 = 64 << 20;

/// A process that is about to be confined, and what it holds while it runs.
pub struct Piped {
    /// The helper's.
    pub program: &'static OsStr,
    pub arguments: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Empty: all is in the arguments.
    request: Vec<u8>,
    _held: Placeholders,
    /// Its own temporary folder, removed at its end.
    _temporary: TempDir,
}

/// A process that gets exactly this environment. The helper does not get it on Linux, as it may
/// name libraries to load. `words`: program and arguments.
pub fn prepare(
    confinement: &Confinement,
    cwd: &Path,
    words: Vec<String>,
    env: BTreeMap<String, String>,
) -> Result<Piped> {
    let program = PROGRAM.get().ok_or(ErrorKind::Unsupported)?;
    let temporary = tempfile::Builder::new().prefix("interline-").tempdir()?;
    let held = placeholders(confinement);
    let mut plan = confinement.plan.clone();
    plan.temporary = temporary.path().canonicalize()?;
    plan.read_only.extend(held.paths().cloned());
    let request = Request {
        grade: confinement.grade,
        plan,
        cwd: cwd.to_owned(),
        words,
        env: Some(env),
        bwrap: bubblewrap().map(Path::to_owned),
    };
    let (arguments, env, request) = started(request, confinement)?;
    Ok(Piped {
        program: program.as_os_str(),
        arguments,
        env,
        request,
        _held: held,
        _temporary: temporary,
    })
}

type Started = (Vec<String>, BTreeMap<String, String>, Vec<u8>);

/// The helper's arguments and environment, and what it reads.
#[cfg(not(target_os = "macos"))]
fn started(request: Request, _confinement: &Confinement) -> Result<Started> {
    let words = [super::ARGUMENT, ARGUMENT].map(str::to_owned);
    Ok((words.into(), BTreeMap::new(), serde_json::to_vec(&request)?))
}

#[cfg(target_os = "macos")]
fn started(request: Request, confinement: &Confinement) -> Result<Started> {
    let words = super::arguments(&request, &confinement.absent)?;
    Ok((words, request.env.unwrap_or_default(), Vec::new()))
}

impl Piped {
    /// Writes the request. The helper reads it at once.
    pub fn write(&self, pipe: &mut impl Write) -> Result<()> {
        if self.request.is_empty() {
            return Ok(());
        }
        pipe.write_all(&(self.request.len() as u64).to_be_bytes())?;
        pipe.write_all(&self.request)
    }
}

/// Reads what [`Piped::write`] wrote and no byte of the input after it.
pub fn read(pipe: &mut impl Read) -> Result<Vec<u8>> {
    let mut length = [0; 8];
    pipe.read_exact(&mut length)?;
    let length = u64::from_be_bytes(length);
    if length > LONGEST {
        return Err(Error::other("the request is too long"));
    }
    let mut request = Vec::new();
    pipe.take(length).read_to_end(&mut request)?;
    match request.len() as u64 == length {
        true => Ok(request),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}
