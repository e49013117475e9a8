//! Deltas on their way to an editor: each is sent as it arrived. While the editor's queue is full,
//! the model's stream waits; what then arrives in one read is sent together, in order and without
//! loss.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::stage::{Listener, Stage};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Event, Input};
use crate::session::{NewSession, StartTurn, WhenBusy};

/// An editor with a queue that can be full.
struct Screen {
    seen: Mutex<Vec<Event>>,
    /// How many events were sent to it, and whether the turn ended.
    count: watch::Sender<(usize, bool)>,
    room: watch::Sender<bool>,
}

impl Screen {
    fn new(room: bool) -> Arc<Self> {
        Arc::new(Self {
            seen: Mutex::default(),
            count: watch::Sender::new((0, false)),
            room: watch::Sender::new(room),
        })
    }

    async fn until(&self, wanted: impl FnMut(&(usize, bool)) -> bool) {
        let mut count = self.count.subscribe();
        let wait = tokio::time::timeout(Duration::from_secs(60), count.wait_for(wanted));
        wait.await.expect("in time").expect("a screen");
    }

    fn hear(&self, envelope: &Envelope) {
        let ended = matches!(envelope.body, EnvelopeBody::Ended { .. });
        if let EnvelopeBody::Event { event } = &envelope.body {
            self.seen.lock().push(event.clone());
        }
        let deltas = self.deltas().len();
        self.count.send_modify(|count| *count = (deltas, ended));
    }

    /// Text, thought and argument deltas in order: kind, item, text.
    fn deltas(&self) -> Vec<(&'static str, String, String)> {
        let seen = self.seen.lock();
        let delta = |event: &Event| {
            let (kind, item, text) = match event {
                Event::TextDelta { item_id, text } => ("text", item_id, text),
                Event::ThoughtDelta { item_id, text } => ("thought", item_id, text),
                Event::ToolInputDelta { item_id, text } => ("input", item_id, text),
                _ => return None,
            };
            Some((kind, item.to_string(), text.clone()))
        };
        seen.iter().filter_map(delta).collect()
    }
}

/// The blocks of an answer, each as its kind and deltas.
type Script = Vec<(&'static str, Vec<String>)>;

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The stream in pieces, one per delta; everything in between precedes the next delta.
fn pieces(script: &Script) -> Vec<String> {
    let mut out = Vec::new();
    let mut open = event(&json!({"type": "message_start", "message": {"usage": {}}}));
    for (index, (kind, deltas)) in script.iter().enumerate() {
        let (block, delta, field) = match *kind {
            "text" => (json!({"type": "text", "text": ""}), "text_delta", "text"),
            "thought" => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                "thinking_delta",
                "thinking",
            ),
            _ => (
                json!({"type": "tool_use", "id": "c", "name": "none", "input": {}}),
                "input_json_delta",
                "partial_json",
            ),
        };
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        open.push_str(&event(&start));
        for text in deltas {
            let delta = json!({"type": delta, field: text});
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            out.push(std::mem::take(&mut open) + &event(&delta));
        }
        open.push_str(&event(
            &json!({"type": "content_block_stop", "index": index}),
        ));
    }
    let delta = json!({"stop_reason": "end_turn"});
    open.push_str(&event(
        &json!({"type": "message_delta", "delta": delta, "usage": {}}),
    ));
    out.push(open + &event(&json!({"type": "message_stop"})));
    out
}

async fn asked(socket: &mut TcpStream) {
    let (mut text, mut buffer) = (String::new(), [0; 1 << 16]);
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then_some(value)
            });
            if body.len() >= length.unwrap_or("0").parse::<usize>().unwrap() {
                return;
            }
        }
        let read = socket.read(&mut buffer).await.unwrap();
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

/// One turn whose answer is `script`. `paced`: each delta waits until the one before was shown;
/// else the editor has no room for more until all was sent.
async fn show(script: Script, paced: bool) -> Arc<Screen> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = format!(
        "model = \"mine/m\"\n[providers.mine]\napi = \"anthropic\"\n\
         baseUrl = \"http://{address}\"\napiKeyFile = \"other.key\"\n"
    );
    let stage = Stage::with(&[("config/config.toml", &config)]).await;
    let screen = Screen::new(paced);
    let hears = screen.clone();
    let editor = Listener::new(screen.room.clone(), move |envelope| hears.hear(envelope));
    stage.sessions.attach(editor);
    let session = stage.sessions.create(NewSession::default()).await.unwrap();
    let start = StartTurn {
        session_id: session.session_id,
        client_turn_id: None,
        input: vec![Input::Text {
            text: "go".to_owned(),
        }],
        context: None,
        segments: None,
        when_busy: WhenBusy::Reject,
        origin: None,
    };
    stage.sessions.start_turn(start).await.unwrap();
    let (mut socket, _) = listener.accept().await.unwrap();
    asked(&mut socket).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    for (n, piece) in pieces(&script).into_iter().enumerate() {
        if paced {
            screen.until(|(shown, _)| *shown >= n).await;
        }
        socket.write_all(piece.as_bytes()).await.unwrap();
    }
    drop(socket);
    tokio::spawn(async move {
        // The answer to the call's result.
        while let Ok((mut socket, _)) = listener.accept().await {
            asked(&mut socket).await;
            let text = head.to_owned() + &pieces(&Vec::new()).concat();
            let _ = socket.write_all(text.as_bytes()).await;
        }
    });
    screen.room.send_replace(true);
    screen.until(|(_, ended)| *ended).await;
    screen
}

fn numbered(word: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{word}\u{e9} {n}, ")).collect()
}

fn script() -> Script {
    vec![
        ("thought", numbered("hm", 150)),
        ("text", numbered("one", 300)),
        ("text", numbered("two", 300)),
        ("input", vec!["{\"a\":".into(), " 1".into(), "}".into()]),
    ]
}

/// The shown text of each item, with the number of its deltas.
fn items(screen: &Screen) -> Vec<(&'static str, String, usize)> {
    let mut items: Vec<(&'static str, String, String, usize)> = Vec::new();
    for (kind, item, text) in screen.deltas() {
        match items.last_mut().filter(|last| last.1 == item) {
            Some(last) => {
                last.2.push_str(&text);
                last.3 += 1;
            }
            None => items.push((kind, item, text, 1)),
        }
    }
    let shown = items.into_iter();
    shown.map(|(kind, _, text, n)| (kind, text, n)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_merges_deltas_and_loses_nothing() {
    let screen = show(script(), false).await;
    let items = items(&screen);
    let expected: Vec<(&str, String)> = script()
        .into_iter()
        .map(|(kind, deltas)| (kind, deltas.concat()))
        .collect();
    let shown: Vec<(&str, String)> = items.iter().map(|it| (it.0, it.1.clone())).collect();
    assert_eq!(
        shown, expected,
        "each item's deltas are its whole text, in order"
    );
    let joined: usize = items[..3].iter().map(|it| it.2).sum();
    assert!(
        joined < 750 / 4,
        "{joined} deltas of 750: nothing was joined"
    );
    assert_eq!(items[3].2, 3, "arguments are not joined");
    let seen = screen.seen.lock();
    let whole = |event: &Event| match event {
        Event::Text { text, .. } | Event::Thought { text, .. } => Some(text.clone()),
        _ => None,
    };
    let whole: Vec<String> = seen.iter().filter_map(whole).collect();
    assert!(expected[..3].iter().all(|(_, text)| whole.contains(text)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_deltas_are_shown_one_by_one() {
    let script = vec![
        ("thought", numbered("hm", 10)),
        ("text", numbered("one", 30)),
    ];
    let screen = show(script.clone(), true).await;
    let expected: Vec<(&str, String)> = script
        .iter()
        .flat_map(|(kind, deltas)| deltas.iter().map(|text| (*kind, text.clone())))
        .collect();
    let shown: Vec<(&str, String)> = screen
        .deltas()
        .into_iter()
        .map(|(kind, _, text)| (kind, text))
        .collect();
    assert_eq!(shown, expected);
}
