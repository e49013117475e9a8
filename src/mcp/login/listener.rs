//! The local listener that the browser returns to after a login. It accepts one answer to one
//! login; any other request gets an error page.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

use crate::prompt::fence;

/// Most connections at once, bytes of a request's head, and time until it has arrived.
const OPEN: usize = 16;
const HEAD: usize = 16 * 1024;
const SPEAK: Duration = Duration::from_secs(5);
const PATH: &str = "/callback";

/// Listens on 127.0.0.1 until it is dropped.
pub struct Listener {
    socket: TcpListener,
    port: u16,
}

/// The browser's answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Callback {
    pub code: String,
    /// The issuer that claims to have sent it (RFC 9207).
    pub issuer: Option<String>,
}

struct Expected {
    port: u16,
    state: String,
}

/// The meaning of one request.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Answer(Result<Callback, String>),
    Other,
}

impl Listener {
    pub async fn bind(port: Option<u16>) -> Result<Self, String> {
        let failed = |error: std::io::Error| {
            let at = port.map(|port| format!(" on port {port}"));
            let at = at.unwrap_or_default();
            format!("cannot listen for the browser's answer{at}: {error}")
        };
        let socket = TcpListener::bind(("127.0.0.1", port.unwrap_or(0)));
        let socket = socket.await.map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        Ok(Self { socket, port })
    }

    /// The address that the login server sends the browser to.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer with `state`. The error says why the login failed.
    pub async fn wait_for_callback(self, state: &str) -> Result<Callback, String> {
        let expected = Arc::new(Expected {
            port: self.port,
            state: state.to_owned(),
        });
        let (sender, mut answers) = mpsc::channel(1);
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                Some(answer) = answers.recv() => return answer,
                Some(_) = open.join_next(), if !open.is_empty() => {}
                accepted = self.socket.accept(), if open.len() < OPEN => {
                    let (stream, _) = accepted.map_err(|error| error.to_string())?;
                    let (expected, sender) = (Arc::clone(&expected), sender.clone());
                    open.spawn(async move {
                        let served = tokio::time::timeout(SPEAK, serve(stream, &expected)).await;
                        if let Ok(Ok(Request::Answer(answer))) = served {
                            let _ = sender.send(answer).await;
                        }
                    });
                }
            }
        }
    }
}

async fn serve(mut stream: TcpStream, expected: &Expected) -> std::io::Result<Request> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < HEAD {
        match stream.read(&mut piece).await? {
            0 => break,
            read => head.extend_from_slice(&piece[..read]),
        }
    }
    let request = parse_request(&String::from_utf8_lossy(&head), expected);
    let (status, words) = match &request {
        Request::Answer(Ok(_)) => ("200 OK", "Interline has your answer. Close this window."),
        Request::Answer(Err(_)) => ("200 OK", "You are not logged in. Close this window."),
        Request::Other => ("404 Not Found", "Nothing here."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Interline</title><p>{words}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    let _ = stream.shutdown().await;
    Ok(request)
}

/// Parses a request. One from another website has another host or does not know the state.
fn parse_request(head: &str, expected: &Expected) -> Request {
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next(), first.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", expected.port));
    if method != Some("GET") || !own.iter().any(|own| Some(own.as_str()) == host) {
        return Request::Other;
    }
    let Ok(url) = Url::parse(&format!("http://127.0.0.1{target}")) else {
        return Request::Other;
    };
    let one = |name: &str| {
        let mut values = url.query_pairs().filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value.into_owned());
        first.filter(|_| values.next().is_none())
    };
    if url.path() != PATH || one("state").as_deref() != Some(expected.state.as_str()) {
        return Request::Other;
    }
    if let Some(error) = one("error") {
        let said = one("error_description").map(|said| format!(" ({said})"));
        let words = format!("the login was refused: {error}{}", said.unwrap_or_default());
        return Request::Answer(Err(fence::name(&words)));
    }
    match one("code") {
        Some(code) => Request::Answer(Ok(Callback {
            code,
            issuer: one("iss"),
        })),
        None => Request::Other,
    }
}

#[cfg(test)]
mod tests;
