//! JSON-RPC over a child's pipes, one message per line. Overlong lines end the connection, lines
//! that are not messages are counted and kept for error messages, and a flooding server is read
//! slowly. Owns the process: it ends with the connection, with its whole tree.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::sync::mpsc;

use crate::env::tasks;
use crate::process::server::Server;

#[cfg(test)]
mod tests;

/// Longest line.
pub const LINE: usize = 32 * 1024 * 1024;
/// Most lines that are not messages.
const GARBAGE: usize = 10_000;
/// Bytes to keep of what a server prints on standard error.
const KEPT: usize = 2_000;
/// Messages that may wait to be handled. The server blocks when there are more.
const WAITING: usize = 64;
/// Messages that a server may send on its own at once, and one more after each [`PAUSE`].
const BURST: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// How long a write may take when the server does not read.
const WRITE: Duration = Duration::from_secs(20);

/// What a server printed apart from messages, and why its messages ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOutput {
    /// The end of standard error.
    pub stderr: String,
    /// The first line on standard output that was not a message.
    pub garbage: Option<String>,
    pub ended: Option<String>,
}

/// Shared with the code that explains failures.
pub type SharedOutput = Arc<Mutex<ServerOutput>>;

/// The transport.
pub struct Lines {
    writer: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Dropping it kills the process.
    server: Option<Server>,
    tasks: Vec<tasks::Task<()>>,
}

impl Lines {
    pub fn new(
        server: Server,
        stdin: ChildStdin,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: ChildStderr,
        ear: &SharedOutput,
    ) -> Self {
        let (sender, incoming) = mpsc::channel(WAITING);
        let tasks = vec![
            tasks::spawn(read_stdout(stdout, sender, ear.clone())),
            tasks::spawn(read_stderr(stderr, ear.clone())),
        ];
        Self {
            writer: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
            incoming,
            server: Some(server),
            tasks,
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let writer = self.writer.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let write = async {
                let mut writer = writer.lock().await;
                let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
                let pipe = writer.as_mut().ok_or_else(closed)?;
                pipe.write_all(&line).await?;
                pipe.flush().await
            };
            tokio::time::timeout(WRITE, write)
                .await
                .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        }
    }

    /// Cancel safe.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A server should exit when its input closes. Otherwise it is killed.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.take();
        }
        if let Some(server) = self.server.take() {
            server.end().await;
        }
        Ok(())
    }
}

async fn read_stdout(
    stdout: impl AsyncRead + Send + Unpin,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    ear: SharedOutput,
) {
    let ended = read_messages(BufReader::with_capacity(64 * 1024, stdout), sender, &ear).await;
    update_output(&ear, |heard| heard.ended = Some(ended));
}

/// Reads messages to the end. Returns why they ended.
async fn read_messages(
    mut stdout: BufReader<impl AsyncRead + Send + Unpin>,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    ear: &SharedOutput,
) -> String {
    let (mut garbage, mut begun, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let mut limited = (&mut stdout).take(LINE as u64 + 1);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) => return "it closed its standard output".to_owned(),
            Ok(_) if line.len() > LINE => {
                return format!("it sent a message of more than {LINE} bytes");
            }
            Ok(_) => {}
            Err(error) => return format!("its standard output cannot be read: {error}"),
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(text) else {
            garbage += 1;
            update_output(ear, |heard| {
                heard.garbage.get_or_insert_with(|| beginning(text));
            });
            if garbage >= GARBAGE {
                return format!("it printed {GARBAGE} lines that are not messages");
            }
            continue;
        };
        // Our requests bound the answers. What a server sends on its own is unbounded.
        if !matches!(
            message,
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
        ) {
            begun += 1;
            if begun > BURST {
                tokio::time::sleep(PAUSE).await;
            }
        }
        if sender.send(message).await.is_err() {
            return "the connection was closed".to_owned();
        }
    }
}

/// Reads standard error to its end, or a server that writes a lot would block forever.
async fn read_stderr(mut stderr: ChildStderr, ear: SharedOutput) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(length) = stderr.read(&mut buffer).await {
        if length == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&buffer[..length]);
        update_output(&ear, |heard| {
            heard.stderr.push_str(&text);
            let surplus = heard.stderr.len().saturating_sub(KEPT);
            let start = heard.stderr.ceil_char_boundary(surplus);
            heard.stderr.drain(..start);
        });
    }
}

fn update_output(ear: &SharedOutput, change: impl FnOnce(&mut ServerOutput)) {
    change(&mut ear.lock());
}

fn beginning(text: &str) -> String {
    text.chars().take(200).collect()
}
