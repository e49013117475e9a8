//! Runs one of the user's commands as a filter: bytes in, bytes out, bounded in time and size.
//! No shell. The command gets the user's full environment, so neither the model nor a repository
//! may choose it.

#[cfg(all(test, unix))]
mod tests;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Most bytes of standard error that an error message reads.
const QUOTED: u64 = 2048;

/// The limits of a filter.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of output.
    pub output: u64,
}

/// Runs `argv` in `cwd` with `input` on standard input and returns its standard output. An exit
/// code other than 0, too much output or too much time is an error, and the output is discarded.
/// On a timeout the command's whole group is killed.
pub async fn filter(
    argv: &[String],
    cwd: &Path,
    input: &[u8],
    limits: Limits,
) -> Result<Vec<u8>, String> {
    let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let group = child.id();
    let outcome =
        tokio::time::timeout(limits.time, exchange(&mut child, input, limits.output)).await;
    let ended = match outcome {
        Err(_) => Err(format!(
            "it did not end within {} ms",
            limits.time.as_millis()
        )),
        Ok(ended) => ended,
    };
    // Not yet waited for, so the id is still the group's.
    if ended.is_err() && child.try_wait().is_ok_and(|status| status.is_none()) {
        kill(group);
    }
    ended
}

async fn exchange(
    child: &mut tokio::process::Child,
    input: &[u8],
    limit: u64,
) -> Result<Vec<u8>, String> {
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("its pipes are missing".to_owned());
    };
    let write = async {
        // A command may end without reading everything; its output is still good.
        let _ = stdin.write_all(input).await;
        let _ = stdin.shutdown().await;
        drop(stdin);
    };
    let read = async {
        let mut output = Vec::new();
        let mut limited = (&mut stdout).take(limit + 1);
        let read = limited.read_to_end(&mut output).await;
        read.map_err(|error| error.to_string())?;
        if output.len() as u64 > limit {
            return Err(format!("its output has more than {limit} bytes"));
        }
        Ok(output)
    };
    let quote = async {
        let mut words = Vec::new();
        let mut limited = (&mut stderr).take(QUOTED);
        let _ = limited.read_to_end(&mut words).await;
        // Read to the end, or a command that writes a lot would block forever.
        let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        words
    };
    let both = async { tokio::join!(write, quote).1 };
    let (output, words) = tokio::try_join!(read, async { Ok(both.await) })?;
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&words);
    let line = words.lines().find(|line| !line.trim().is_empty());
    Err(match line {
        Some(line) => format!("it ended with {status}: {}", plain(line)),
        None => format!("it ended with {status}"),
    })
}

/// One short line without control characters.
fn plain(line: &str) -> String {
    let line = line.trim().chars().take(200);
    line.map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(unix)]
fn kill(group: Option<u32>) {
    let id = group.and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_: Option<u32>) {}
