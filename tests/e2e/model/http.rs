//! Just enough HTTP/1.1: keep-alive, bodies with a length or in chunks, answers in chunks that
//! are flushed one by one.

use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Shared;
use super::reply::{Cut, Reply};

/// Request line and headers (names in lower case).
pub struct Head {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Serves one connection until it ends. An error means that the client hung up during an answer.
pub fn serve(stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (head, body) = match read_request(&mut reader) {
            Ok(Some(request)) => request,
            Ok(None) | Err(_) => return Ok(()),
        };
        let reply = shared.answer(&head, body);
        write_reply(&mut writer, &reply, shared)?;
        if reply.cut != Cut::Never {
            return Ok(());
        }
    }
}

pub fn read_request(reader: &mut impl BufRead) -> Result<Option<(Head, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let mut head = Head {
        method: word(),
        path: word(),
        headers: Vec::new(),
    };
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let name = name.to_ascii_lowercase();
        head.headers.push((name, value.trim().to_owned()));
    }
    let mut body = Vec::new();
    if head.header("transfer-encoding") == Some("chunked") {
        read_chunks(reader, &mut body)?;
    } else if let Some(length) = head.header("content-length") {
        body.resize(length.parse().map_err(Error::other)?, 0);
        reader.read_exact(&mut body)?;
    }
    Ok(Some((head, body)))
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn write_reply(writer: &mut TcpStream, reply: &Reply, shared: &Shared) -> Result<()> {
    if let Some(gate) = &reply.before {
        wait(gate, writer, shared)?;
    }
    if reply.cut == Cut::BeforeHead {
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    writer.write_all(head.as_bytes())?;
    let body = reply.body();
    let end = match reply.cut {
        Cut::After(bytes) => bytes.min(body.len()),
        _ => body.len(),
    };
    let mut gate = reply.midway.as_ref();
    let piece = reply.piece.unwrap_or(usize::MAX);
    let mut at = 0;
    while at < end {
        let stop = gate.map_or(end, |(place, _)| (*place).min(end));
        if at >= stop
            && let Some((_, waited)) = gate.take()
        {
            wait(waited, writer, shared)?;
            continue;
        }
        let next = at.saturating_add(piece).min(stop);
        writer.write_all(format!("{:x}\r\n", next - at).as_bytes())?;
        writer.write_all(&body[at..next])?;
        writer.write_all(b"\r\n")?;
        writer.flush()?;
        at = next;
    }
    if reply.cut == Cut::Never {
        shared.answered(reply);
        writer.write_all(b"0\r\n\r\n")?;
        writer.flush()?;
    }
    Ok(())
}

/// Waits for the story to open the gate, and notices a client that hangs up meanwhile.
fn wait(gate: &super::Gate, stream: &TcpStream, shared: &Shared) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(5)))?;
    let mut byte = [0];
    while !gate.is_open() {
        match stream.peek(&mut byte) {
            Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => return Err(error),
            Ok(_) => std::thread::yield_now(),
        }
        if shared.stopped() {
            return Ok(());
        }
    }
    stream.set_read_timeout(None)
}
