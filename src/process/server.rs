//! A long-running process that we talk to through pipes, such as an MCP server. Like every child
//! it has its own session and only the environment it is given; it may be confined. Stopping or
//! dropping it kills its whole tree.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::confine::Confinement;
use super::confine::piped::{self, Piped};
use super::folder::Folder;
use super::tree::{self, Starting, Tree};
use super::warden::{self, Registration};

/// What to start: no shell, exactly this environment.
#[derive(Clone, Debug)]
pub struct Spec {
    pub program: String,
    pub arguments: Vec<String>,
    pub cwd: Folder,
    pub env: BTreeMap<String, String>,
    /// `None`: it runs with the user's own rights. It gets a temporary folder of its own.
    pub confinement: Option<Arc<Confinement>>,
}

/// How long to wait for a process that survives SIGKILL.
pub(super) const LIMIT: Duration = Duration::from_millis(2_800);

/// Time between SIGTERM and SIGKILL. Short, because a closing editor does not wait long.
const GRACE: Duration = Duration::from_millis(400);

/// Our ends of its pipes.
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// The running process. Dropping it kills it and everything that it started.
pub struct Server {
    child: Box<dyn ChildWrapper>,
    tree: Tree,
    /// Dropped after the tree.
    _watched: Registration,
    _confined: Option<Box<Piped>>,
}

/// Starts it.
pub fn start(spec: &Spec) -> Result<(Server, Pipes)> {
    let entrance = spec.cwd.entrance()?;
    tree::adopt_orphans();
    let starting = Starting::new();
    let mark = uuid::Uuid::now_v7().simple().to_string();
    let watched = warden::watch(&mark);
    let mut env = spec.env.clone();
    env.insert(tree::MARK.to_owned(), mark.clone());
    let (mut command, confined) = command(spec, env)?;
    let (reader, mut writer) = std::io::pipe()?;
    command
        .command_mut()
        .current_dir(&entrance)
        .env(tree::MARK, &mark)
        .stdin(reader)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.wrap(ProcessSession).wrap(KillOnDrop).spawn()?;
    // Our copy of the pipe's reading end would keep it open forever.
    drop(command);
    let mut child = child.into_inner();
    let mut tree = Tree::new(starting, child.id().unwrap_or(0), mark);
    watched.runs_as(&tree);
    tree.mark_as_server();
    if let Some(confined) = &confined {
        confined.write(&mut writer)?;
    }
    let stdin = std::process::ChildStdin::from(OwnedFd::from(writer));
    let pipes = (child.stdout().take(), child.stderr().take());
    let (Some(stdout), Some(stderr)) = pipes else {
        return Err(Error::other("its pipes are missing"));
    };
    let pipes = Pipes {
        stdin: ChildStdin::from_std(stdin)?,
        stdout,
        stderr,
    };
    let server = Server {
        child,
        tree,
        _watched: watched,
        _confined: confined.map(Box::new),
    };
    Ok((server, pipes))
}

/// What to start: the process itself, or the helper that confines it.
fn command(spec: &Spec, env: BTreeMap<String, String>) -> Result<(CommandWrap, Option<Piped>)> {
    let Some(confinement) = &spec.confinement else {
        let command = CommandWrap::with_new(&spec.program, |command| {
            command.args(&spec.arguments).env_clear().envs(env);
        });
        return Ok((command, None));
    };
    let words = [&spec.program].into_iter().chain(&spec.arguments);
    let words = words.cloned().collect();
    let piped = piped::prepare(confinement, spec.cwd.path(), words, env)?;
    let command = CommandWrap::with_new(piped.program, |command| {
        command.arg0("interline").args(&piped.arguments);
        command.env_clear().envs(&piped.env);
    });
    Ok((command, Some(piped)))
}

impl Server {
    /// Waits for its end. Cancel safe.
    pub(super) async fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits for its end and describes it. Cancel safe.
    pub async fn ended(&mut self) -> String {
        match self.wait().await {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("it ended with exit code {code}"),
                (None, signal) => format!("it was ended by signal {}", signal.unwrap_or(0)),
            },
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }

    /// Ends it and everything that it started: SIGTERM, then SIGKILL.
    pub async fn end(mut self) {
        let ending = async {
            let _ = tokio::join!(self.tree.end(GRACE), self.child.wait());
        };
        let _ = tokio::time::timeout(LIMIT, ending).await;
    }
}
