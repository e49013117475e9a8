//! Runs a short command line with input, and reads its output, its errors and its exit code. What
//! it leaves running is stopped. Hooks run through this function only.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Result;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::command::End;
use super::confine::Confinement;
use super::folder::Folder;
use super::server;

/// Most bytes that are kept of the output, and of the errors.
const KEPT: u64 = 64 * 1024;
/// How long to wait for the pipes of a tree that was stopped.
const DRAIN: Duration = Duration::from_millis(200);

/// A command line for `/bin/sh -c`.
#[derive(Clone, Debug)]
pub struct Script {
    pub command: String,
    pub cwd: Folder,
    pub env: BTreeMap<String, String>,
    pub timeout: Duration,
    /// `None`: it runs with the user's own rights.
    pub confinement: Option<Arc<Confinement>>,
}

/// How it ended and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `script` with `input` on its standard input. On a timeout, on `cancelled` and when this is
/// dropped, everything that it started is killed.
pub async fn run(
    script: Script,
    input: &[u8],
    cancelled: impl Future<Output = ()>,
) -> Result<Ended> {
    let spec = server::Spec {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.command],
        cwd: script.cwd,
        env: script.env,
        confinement: script.confinement,
    };
    let (mut server, mut pipes) = server::start(&spec)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let end;
    {
        let mut exchange = pin!(async {
            let write = async {
                // A command may end without reading its input.
                let _ = pipes.stdin.write_all(input).await;
                drop(pipes.stdin);
            };
            let out = read(&mut pipes.stdout, &mut stdout);
            tokio::join!(write, out, read(&mut pipes.stderr, &mut stderr));
        });
        let (mut late, mut cancelled) = (pin!(tokio::time::sleep(script.timeout)), pin!(cancelled));
        let mut exchanged = false;
        end = loop {
            tokio::select! {
                biased;
                status = server.wait() => break status?.into(),
                () = &mut cancelled => break End::Cancelled,
                () = &mut late => break End::TimedOut,
                () = &mut exchange, if !exchanged => exchanged = true,
            }
        };
        let rest = async {
            if !exchanged {
                let _ = tokio::time::timeout(server::LIMIT + DRAIN, exchange).await;
            }
        };
        tokio::join!(server.end(), rest);
    }
    Ok(Ended {
        end,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

/// Reads to the end and keeps the beginning.
async fn read(mut from: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let _ = (&mut from).take(KEPT).read_to_end(kept).await;
    let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
}
