//! Runs one of the user's commands as a filter: bytes in, bytes out, bounded in time and size.
//! No shell. The command gets the user's full environment, so neither the model nor a repository
//! may choose it.

#[cfg(test)]
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
    /// Whether an error quotes what the command wrote to standard error.
    pub quotes: bool,
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
        .stderr(match limits.quotes {
            true => Stdio::piped(),
            false => Stdio::null(),
        })
        .kill_on_drop(true);
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let group = child.id();
    let late = || match limits.time.as_secs() {
        0 => format!("it did not end within {} ms", limits.time.as_millis()),
        seconds => format!("it did not end within {seconds} s"),
    };
    let ended = tokio::time::timeout(limits.time, exchange(&mut child, input, limits)).await;
    let ended = ended.unwrap_or_else(|_| Err(late()));
    // Not yet waited for, so the id is still the group's.
    if ended.is_err() && child.try_wait().is_ok_and(|status| status.is_none()) {
        kill(group);
    }
    ended
}

async fn exchange(
    child: &mut tokio::process::Child,
    input: &[u8],
    limits: Limits,
) -> Result<Vec<u8>, String> {
    let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
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
        let mut limited = (&mut stdout).take(limits.output + 1);
        let read = limited.read_to_end(&mut output).await;
        read.map_err(|error| error.to_string())?;
        if output.len() as u64 > limits.output {
            return Err(format!("its output has more than {} bytes", limits.output));
        }
        Ok(output)
    };
    let quote = async {
        let mut words = Vec::new();
        let Some(mut stderr) = child.stderr.take() else {
            return words;
        };
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

fn kill(group: Option<u32>) {
    let id = group.and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
