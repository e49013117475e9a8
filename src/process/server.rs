//! A process that runs beside us for as long as it is wanted and is spoken to through pipes.
//! Like every child it has a session of its own and the environment that it is given; when it is
//! ended or dropped, its whole tree goes.

#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;

use super::folder::Folder;

/// What is started: no shell, exactly this environment.
#[derive(Clone, Debug)]
pub struct Spec {
    pub program: String,
    pub arguments: Vec<String>,
    pub cwd: Folder,
    pub env: BTreeMap<String, String>,
}

#[cfg(not(unix))]
pub use other::{Pipes, Server, start};
#[cfg(unix)]
pub use unix::{Pipes, Server, start};

#[cfg(not(unix))]
mod other {
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

    use super::Spec;

    /// Its ends that we hold.
    pub struct Pipes {
        pub stdin: ChildStdin,
        pub stdout: ChildStdout,
        pub stderr: ChildStderr,
    }

    /// The running process.
    pub struct Server(());

    impl Server {
        /// Waits for its end; how it ended, in words.
        pub async fn ended(&mut self) -> String {
            String::new()
        }

        /// Ends it and all that it started.
        pub async fn end(self) {}
    }

    /// Starts it.
    pub fn start(_: &Spec) -> std::io::Result<(Server, Pipes)> {
        Err(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "servers are not started on this platform yet",
        ))
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{Error, Result};
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;
    use std::time::Duration;

    use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

    use super::super::tree::{self, Starting, Tree};
    use super::super::warden;
    use super::Spec;

    /// A process that even SIGKILL does not end is not waited for longer.
    const LIMIT: Duration = Duration::from_millis(2_800);

    /// Time between SIGTERM and SIGKILL: an editor that is closed waits for no more.
    const GRACE: Duration = Duration::from_millis(400);

    /// Its ends that we hold.
    pub struct Pipes {
        pub stdin: ChildStdin,
        pub stdout: ChildStdout,
        pub stderr: ChildStderr,
    }

    /// The running process. Dropped, it is killed with all that it started.
    pub struct Server {
        child: Box<dyn ChildWrapper>,
        tree: Tree,
    }

    /// Starts it.
    pub fn start(spec: &Spec) -> Result<(Server, Pipes)> {
        let entrance = spec.cwd.entrance()?;
        tree::adopt_orphans();
        let starting = Starting::new();
        let mark = uuid::Uuid::now_v7().simple().to_string();
        let watched = warden::watch(&mark);
        let mut command = CommandWrap::with_new(&spec.program, |command| {
            command
                .args(&spec.arguments)
                .current_dir(&entrance)
                .env_clear()
                .envs(&spec.env)
                .env(tree::MARK, &mark)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        let child = command.wrap(ProcessSession).wrap(KillOnDrop).spawn()?;
        let mut child = child.into_inner();
        let mut tree = Tree::new(starting, child.id().unwrap_or(0), mark, watched);
        tree.serving();
        let pipes = (
            child.stdin().take(),
            child.stdout().take(),
            child.stderr().take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(Error::other("its pipes are missing"));
        };
        let pipes = Pipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((Server { child, tree }, pipes))
    }

    impl Server {
        /// Waits for its end; how it ended, in words. Safe to drop and call again.
        pub async fn ended(&mut self) -> String {
            match self.child.wait().await {
                Ok(status) => match (status.code(), status.signal()) {
                    (Some(code), _) => format!("it ended with exit code {code}"),
                    (None, signal) => format!("it was ended by signal {}", signal.unwrap_or(0)),
                },
                Err(error) => format!("it cannot be waited for: {error}"),
            }
        }

        /// Ends it and all that it started: SIGTERM, then SIGKILL.
        pub async fn end(mut self) {
            let ending = async {
                let _ = tokio::join!(self.tree.end(GRACE), self.child.wait());
            };
            let _ = tokio::time::timeout(LIMIT, ending).await;
        }
    }
}
