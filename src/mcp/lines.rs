//! JSON-RPC over a child's pipes, one message a line: lines have an end or the connection has
//! one, what is no message is counted and kept for words, and a server that sends without end is
//! read slowly. Owns the process: when the connection goes, its whole tree goes.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::sync::mpsc;

use crate::process::server::Server;

#[cfg(test)]
mod tests;

/// Longest line.
pub const LINE: usize = 32 * 1024 * 1024;
/// Most lines that are no message.
const GARBAGE: usize = 10_000;
/// Bytes that are kept of what a server prints besides messages.
const KEPT: usize = 2_000;
/// Messages that wait to be handled; the server waits when there are more.
const WAITING: usize = 64;
/// Messages that the server may begin at once, and one more after each [`PAUSE`].
const BURST: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);
/// A server that reads nothing is not written to for longer.
const WRITE: Duration = Duration::from_secs(20);

/// What a server printed besides messages, and why its messages ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The last of standard error.
    pub stderr: String,
    /// The first line on standard output that was no message.
    pub garbage: Option<String>,
    pub ended: Option<String>,
}

/// Shared with whoever explains what went wrong.
pub type Ear = Arc<Mutex<Heard>>;

/// The transport.
pub struct Lines {
    writer: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Dropped, it takes the process along.
    server: Option<Server>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Lines {
    pub fn new(
        server: Server,
        stdin: ChildStdin,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: ChildStderr,
        ear: &Ear,
    ) -> Self {
        let (sender, incoming) = mpsc::channel(WAITING);
        let tasks = vec![
            tokio::spawn(read(stdout, sender, ear.clone())),
            tokio::spawn(overhear(stderr, ear.clone())),
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

    /// Safe to drop between messages.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A server ends by itself when nobody speaks to it any more; if not, it is ended.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.take();
        }
        if let Some(server) = self.server.take() {
            server.end().await;
        }
        Ok(())
    }
}

async fn read(
    stdout: impl AsyncRead + Send + Unpin,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    ear: Ear,
) {
    let ended = pump(BufReader::with_capacity(64 * 1024, stdout), sender, &ear).await;
    heard(&ear, |heard| heard.ended = Some(ended));
}

/// Reads to the end, whatever that is; why it is one.
async fn pump(
    mut stdout: BufReader<impl AsyncRead + Send + Unpin>,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    ear: &Ear,
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
            heard(ear, |heard| {
                heard.garbage.get_or_insert_with(|| head(text));
            });
            if garbage >= GARBAGE {
                return format!("it printed {GARBAGE} lines that are no messages");
            }
            continue;
        };
        // Answers are as many as our requests; what a server begins by itself has no end.
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
            return "nobody listens to it any more".to_owned();
        }
    }
}

/// Reads standard error to its end, or a talkative server would wait for ever.
async fn overhear(mut stderr: ChildStderr, ear: Ear) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(length) = stderr.read(&mut buffer).await {
        if length == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&buffer[..length]);
        heard(&ear, |heard| {
            heard.stderr.push_str(&text);
            let surplus = heard.stderr.len().saturating_sub(KEPT);
            let start = heard.stderr.ceil_char_boundary(surplus);
            heard.stderr.drain(..start);
        });
    }
}

fn heard(ear: &Ear, change: impl FnOnce(&mut Heard)) {
    change(&mut ear.lock().unwrap_or_else(PoisonError::into_inner));
}

fn head(text: &str) -> String {
    text.chars().take(200).collect()
}
