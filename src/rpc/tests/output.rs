use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::rpc::Direction;
use crate::rpc::tests::client::*;

#[test]
fn e06_a_client_that_stops_reading_holds_producers_but_not_its_own_cancels() {
    let (dropped, drops) = channel();
    let (begun, begins) = channel();
    let mut client = Client::start_deaf(
        |transport| transport,
        |_| {
            handler(move |_, message: Value| {
                if message["method"] == "ping" {
                    return reply(&message, json!("pong"));
                }
                let guard = Dropped(dropped.clone());
                begun.send(()).unwrap();
                Box::pin(async move {
                    let _guard = guard;
                    std::future::pending().await
                })
            })
        },
    );
    let stop = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicU64::new(0));
    let producer = {
        let (peer, stop, sent) = (client.peer.clone(), Arc::clone(&stop), Arc::clone(&sent));
        client.runtime.spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                peer.ready().await;
                let n = sent.fetch_add(1, Ordering::SeqCst);
                peer.notify_with("delta", &json!({ "n": n, "text": "x".repeat(4096) }));
                tokio::task::yield_now().await;
            }
        })
    };
    client.send(&request(1, "turn", json!({})));
    // A request that is cancelled before the lane handles it never starts.
    begins.recv_timeout(PATIENCE).expect("the turn begins");
    client.until(|| client.peer.waiting() == 256);
    client.send(&notification("$/cancelRequest", json!({ "id": 1 })));
    drops.recv_timeout(PATIENCE).expect("the cancel is read");
    stop.store(true, Ordering::SeqCst);
    assert!(client.peer.waiting() <= 258, "memory is bounded");
    client.listen();
    assert_eq!(client.answer(1)["error"]["code"], -32800);
    client.runtime.block_on(producer).unwrap();
    assert_eq!(client.ask(2, "ping", json!({}))["result"], "pong");
    let numbers = client.leftovers();
    let numbers = numbers
        .iter()
        .map(|message| message["params"]["n"].as_u64().unwrap());
    assert!(
        numbers.eq(0..sent.load(Ordering::SeqCst)),
        "in order, none lost"
    );
}

#[test]
fn an_answer_never_overtakes_what_was_queued_before_it() {
    let mut client = Client::start(|peer| {
        let peer = peer.clone();
        handler(move |_, message: Value| {
            for n in 0..1_000 {
                peer.notify_with("event", &n);
            }
            reply(&message, json!("after"))
        })
    });
    client.send(&request(1, "flood", json!({})));
    for n in 0..1_000 {
        assert_eq!(client.next()["params"], n);
    }
    assert_eq!(client.next()["result"], "after");
}

#[test]
fn the_ways_to_notify_give_the_same_message() {
    #[derive(serde::Serialize)]
    struct Params<'a> {
        text: &'a str,
    }
    let mut client = Client::start(|_| handler(|_, _| nothing()));
    let raw = r#"{"jsonrpc":"2.0","method":"m","params":{"text":"é\n"}}"#;
    client.peer.notify_raw(raw.to_owned());
    client.peer.notify("m", json!({ "text": "é\n" }));
    client.peer.notify_with("m", &Params { text: "é\n" });
    let expected: Value = serde_json::from_str(raw).unwrap();
    for _ in 0..3 {
        assert_eq!(client.next(), expected);
    }
}

#[test]
fn the_tap_sees_every_frame_as_text_and_may_panic() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mut client = Client::start_with(
        |transport| {
            transport.tap(move |direction, text| {
                log.lock().unwrap().push((direction, text.to_owned()));
                assert!(!text.contains("boom"), "deliberate: in the tap");
            })
        },
        |_| handler(|_, message: Value| reply(&message, json!("pong"))),
    );
    client.ask(1, "boom", json!({}));
    client.send_bytes(&framed(b"{broken"));
    client.answer(json!(null));
    assert_eq!(client.ask(2, "ping", json!({}))["result"], "pong");
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(|lock| lock.into_inner()));
    let ins: Vec<_> = seen.iter().filter(|one| one.0 == Direction::In).collect();
    assert_eq!(ins.len(), 3);
    assert_eq!(ins[1].1, "{broken");
    assert_eq!(seen.iter().filter(|one| one.0 == Direction::Out).count(), 3);
}
