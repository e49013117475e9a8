//! A model server on loopback that speaks real HTTP/1.1 and can break it anywhere.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What happens on one request.
#[derive(Clone)]
pub enum Answer {
    /// Status line and headers, then the body with its length; the connection stays open.
    Whole(&'static str, String),
    /// Event stream, one HTTP chunk per piece; `true` ends it properly, `false` drops the
    /// connection.
    Chunks(Vec<Vec<u8>>, bool),
    /// Event stream without a length: ends with the connection (a clean EOF).
    UntilClose(Vec<u8>),
    /// Event stream that sends this and then nothing, with the connection open.
    Silence(Vec<u8>),
    /// These bytes, whatever they are.
    Raw(Vec<u8>),
}

pub struct Server {
    pub url: String,
    /// Head and body of each request.
    pub requests: Arc<Mutex<Vec<String>>>,
    pub connections: Arc<Mutex<usize>>,
}

impl Server {
    /// Answers the nth request with `answer(n)`.
    pub async fn start(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let (seen, count) = (Arc::clone(&requests), Arc::clone(&connections));
        let answer: Arc<dyn Fn(usize) -> Answer + Send + Sync> = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(serve(socket, Arc::clone(&seen), Arc::clone(&answer)));
            }
        });
        Self {
            url,
            requests,
            connections,
        }
    }

    pub fn request(&self, n: usize) -> String {
        self.requests.lock().unwrap()[n].clone()
    }

    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn serve(
    mut socket: TcpStream,
    seen: Arc<Mutex<Vec<String>>>,
    answer: Arc<dyn Fn(usize) -> Answer + Send + Sync>,
) {
    while let Some(request) = read_request(&mut socket).await {
        let n = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            seen.len() - 1
        };
        if !respond(&mut socket, answer(n)).await {
            return;
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name.eq_ignore_ascii_case("content-length")).then(|| value.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

/// Whether the connection stays open.
async fn respond(socket: &mut TcpStream, answer: Answer) -> bool {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let mut send = async |bytes: &[u8]| socket.write_all(bytes).await.is_ok();
    match answer {
        Answer::Whole(head, body) => {
            let text = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            send(text.as_bytes()).await
        }
        Answer::Chunks(pieces, ends) => {
            send(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").as_bytes()).await;
            for piece in pieces {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend_from_slice(&piece);
                chunk.extend_from_slice(b"\r\n");
                if !send(&chunk).await {
                    return false;
                }
            }
            ends && send(b"0\r\n\r\n").await
        }
        Answer::UntilClose(bytes) => {
            send(format!("{HEAD}connection: close\r\n\r\n").as_bytes()).await;
            send(&bytes).await;
            false
        }
        Answer::Silence(bytes) => {
            send(format!("{HEAD}connection: close\r\n\r\n").as_bytes()).await;
            send(&bytes).await;
            // Until the client hangs up.
            let _ = socket.read(&mut [0; 16]).await;
            false
        }
        Answer::Raw(bytes) => {
            send(&bytes).await;
            false
        }
    }
}
