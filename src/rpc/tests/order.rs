use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::rpc::tests::client::*;
use crate::rpc::{Peer, Service};

#[test]
fn a2_ten_thousand_changes_stay_in_order_while_their_handlers_await() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut client = Client::start(|_| {
        let seen = Arc::clone(&seen);
        handler(move |method, message: Value| {
            if method != "change" {
                let count = seen.lock().unwrap().len();
                return reply(&message, json!(count));
            }
            let seen = Arc::clone(&seen);
            let n = message["params"].as_u64().unwrap();
            Box::pin(async move {
                for _ in 0..n % 4 {
                    tokio::task::yield_now().await;
                }
                if n.is_multiple_of(97) {
                    tokio::task::spawn_blocking(|| {}).await.unwrap();
                }
                seen.lock().unwrap().push(n);
                None
            })
        })
    });
    let mut burst = Vec::new();
    for n in 0..10_000 {
        burst.extend(framed(
            notification("change", json!(n)).to_string().as_bytes(),
        ));
    }
    client.send_bytes(&burst);
    let answer = client.ask(1, "count", json!({}));
    assert_eq!(
        answer["result"], 10_000,
        "a request sees all that came before"
    );
    assert!(seen.lock().unwrap().iter().copied().eq(0..10_000));
}

#[test]
fn a_request_gets_its_first_poll_before_the_next_message() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut client = Client::start(|_| {
        let log = Arc::clone(&log);
        handler(move |method, message: Value| {
            let log = Arc::clone(&log);
            Box::pin(async move {
                log.lock().unwrap().push(method);
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                message
                    .get("id")
                    .map(|id| json!({ "id": id, "result": null }))
            })
        })
    });
    for n in 0..500 {
        client.send(&request(n, &format!("r{n}"), json!({})));
        client.send(&notification(&format!("n{n}"), json!({})));
    }
    client.ask(1000, "last", json!({}));
    let mut expected: Vec<_> = (0..500)
        .flat_map(|n| [format!("r{n}"), format!("n{n}")])
        .collect();
    expected.push("last".to_owned());
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn b1_slow_requests_starve_neither_cancel_nor_other_requests() {
    let (dropped, drops) = channel();
    let mut client = Client::start(|_| {
        handler(move |method, message: Value| {
            if method == "ping" {
                return reply(&message, json!("pong"));
            }
            let guard = Dropped(dropped.clone());
            Box::pin(async move {
                let _guard = guard;
                std::future::pending().await
            })
        })
    });
    for id in 1..=4 {
        client.send(&request(id, "slow", json!({})));
    }
    assert_eq!(client.ask(5, "ping", json!({}))["result"], "pong");
    for id in 1..=4 {
        client.send(&notification("$/cancelRequest", json!({ "id": id })));
        assert_eq!(client.answer(id)["error"]["code"], -32800);
        drops
            .recv_timeout(PATIENCE)
            .expect("c1: the future is dropped");
    }
    assert_eq!(client.ask(6, "ping", json!({}))["result"], "pong");
    assert_eq!(client.leftovers(), Vec::<Value>::new(), "one answer each");
}

#[test]
fn e07_a_cancel_before_the_start_and_after_the_end_gives_one_answer() {
    let started = Arc::new(AtomicUsize::new(0));
    let (release, gate) = tokio::sync::oneshot::channel::<()>();
    let mut gate = Some(gate);
    let mut client = Client::start(|_| {
        let started = Arc::clone(&started);
        handler(move |method, message: Value| match method.as_str() {
            "hold" => {
                let gate = gate.take().unwrap();
                Box::pin(async move {
                    let _ = gate.await;
                    None
                })
            }
            "work" => {
                started.fetch_add(1, Ordering::SeqCst);
                reply(&message, json!("done"))
            }
            _ => reply(&message, json!("pong")),
        })
    });
    // The lane is blocked by a notification, so the request has not started.
    client.send(&notification("hold", json!({})));
    client.send(&request("early", "work", json!({})));
    client.send(&notification("$/cancelRequest", json!({ "id": "early" })));
    assert_eq!(client.answer("early")["error"]["code"], -32800);
    release.send(()).unwrap();
    assert_eq!(client.ask(1, "work", json!({}))["result"], "done");
    assert_eq!(
        started.load(Ordering::SeqCst),
        1,
        "the cancelled one never ran"
    );
    // Cancels after the end, with unknown or malformed ids, do nothing.
    for id in [json!(1), json!(77), json!("early"), json!(null), json!({})] {
        client.send(&notification("$/cancelRequest", json!({ "id": id })));
    }
    client.send(&notification("$/cancelRequest", json!(null)));
    client.ask(2, "ping", json!({}));
    assert_eq!(client.leftovers(), Vec::<Value>::new());
}

#[test]
fn e07_cancels_racing_with_answers_give_one_answer_each() {
    let mut client = Client::start(|_| {
        handler(move |_, message: Value| {
            Box::pin(async move {
                for _ in 0..message["id"].as_u64().unwrap() % 7 {
                    tokio::task::yield_now().await;
                }
                Some(json!({ "id": message["id"], "result": "done" }))
            })
        })
    });
    for id in 0..2_000 {
        client.send(&request(id, "work", json!({})));
        client.send(&notification("$/cancelRequest", json!({ "id": id })));
    }
    let mut ids: Vec<i64> = (0..2_000)
        .map(|_| client.next()["id"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..2_000));
    client.ask(5_000, "work", json!({}));
    assert_eq!(client.leftovers(), Vec::<Value>::new());
}

#[test]
fn c3_a_duplicate_id_in_flight_is_refused_and_the_first_continues() {
    let (release, gate) = tokio::sync::oneshot::channel::<()>();
    let mut gate = Some(gate);
    let mut client = Client::start(|_| {
        handler(move |_, message: Value| match gate.take() {
            Some(gate) => Box::pin(async move {
                let _ = gate.await;
                Some(json!({ "id": message["id"], "result": "first" }))
            }),
            None => reply(&message, json!("later")),
        })
    });
    client.send(&request("x", "work", json!({})));
    client.send(&request("x", "work", json!({})));
    assert_eq!(client.answer("x")["error"]["code"], -32600);
    release.send(()).unwrap();
    assert_eq!(client.answer("x")["result"], "first");
    client.send(&request("x", "work", json!({})));
    assert_eq!(client.answer("x")["result"], "later", "free again");
}

#[test]
fn a_reused_id_after_a_cancel_gets_only_the_second_answer() {
    let mut client = Client::start(|_| {
        handler(|method, message: Value| match method.as_str() {
            "hang" => Box::pin(std::future::pending()),
            _ => reply(&message, json!("second")),
        })
    });
    for _ in 0..50 {
        client.send(&request(1, "hang", json!({})));
        client.send(&notification("$/cancelRequest", json!({ "id": 1 })));
        client.send(&request(1, "work", json!({})));
        assert_eq!(client.next()["error"]["code"], -32800);
        assert_eq!(client.next()["result"], "second");
    }
}

#[test]
fn g1_a_panic_costs_one_answer_whether_in_the_call_or_after_an_await() {
    let mut client = Client::start(|_| {
        handler(move |method, message: Value| match method.as_str() {
            "in call" => panic!("deliberate: in the call"),
            "in poll" => Box::pin(async { panic!("deliberate: in the first poll") }),
            "after await" => Box::pin(async {
                tokio::task::yield_now().await;
                panic!("deliberate: after an await")
            }),
            _ => reply(&message, json!("pong")),
        })
    });
    for (n, method) in ["in call", "in poll", "after await"].iter().enumerate() {
        let id = n as i64;
        assert_eq!(client.ask(id, method, json!({}))["error"]["code"], -32603);
        client.send(&notification(method, json!({})));
        assert_eq!(
            client.ask(id, "ping", json!({}))["result"],
            "pong",
            "INV-12"
        );
    }
    assert_eq!(client.leftovers(), Vec::<Value>::new());
}

#[test]
fn initialize_and_shutdown_are_finished_before_the_next_message() {
    let ready = Arc::new(AtomicUsize::new(0));
    let mut client = Client::start(|_| {
        let ready = Arc::clone(&ready);
        handler(move |method, message: Value| {
            let ready = Arc::clone(&ready);
            if matches!(method.as_str(), "initialize" | "shutdown") {
                return Box::pin(async move {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                    ready.fetch_add(1, Ordering::SeqCst);
                    Some(json!({ "id": message["id"], "result": null }))
                });
            }
            reply(&message, json!(ready.load(Ordering::SeqCst)))
        })
    });
    client.send(&request(1, "initialize", json!({})));
    client.send(&request(2, "count", json!({})));
    client.send(&request(3, "shutdown", json!(null)));
    client.send(&request(4, "count", json!({})));
    assert_eq!(client.answer(2)["result"], 1);
    assert_eq!(client.answer(4)["result"], 2);
}

/// A service whose requests notify `event` while they run. Answers to `first …` come first.
fn eventful(peer: &Peer) -> impl Service + use<> {
    let peer = peer.clone();
    handler(move |method, message: Value| {
        peer.notify("event", message["id"].clone());
        let peer = peer.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            peer.notify("event", message["id"].clone());
            match method.as_str() {
                "first hang" => std::future::pending().await,
                "first panic" => panic!("deliberate: after an await"),
                _ => Some(json!({ "id": message["id"], "result": "done" })),
            }
        })
    })
}

#[test]
fn an_answer_that_comes_first_precedes_what_its_request_sends() {
    let mut client = Client::start(eventful);
    for id in 0..200 {
        client.send(&request(id, "first", json!({})));
        client.send(&request(id + 1_000, "first begin", json!({})));
    }
    let mut answered = std::collections::HashSet::new();
    for _ in 0..200 * 6 {
        let message = client.next();
        let id = message["id"].as_i64().or(message["params"].as_i64());
        let id = id.expect("an id");
        if message.get("method").is_none() {
            answered.insert(id);
        } else if id >= 1_000 {
            assert!(
                answered.contains(&id),
                "an event came before the answer to {id}"
            );
        }
    }
    assert_eq!(answered.len(), 400);
}

#[test]
fn a_cancelled_or_panicking_request_frees_the_messages_behind_its_answer() {
    let mut client = Client::start(eventful);
    client.send(&request(1, "first hang", json!({})));
    client.until(|| client.peer.waiting() == 2);
    client.send(&notification("$/cancelRequest", json!({ "id": 1 })));
    assert_eq!(client.answer(1)["error"]["code"], -32800);
    client.send(&request(2, "first panic", json!({})));
    assert_eq!(client.answer(2)["error"]["code"], -32603);
    assert_eq!(client.ask(3, "ping", json!({}))["result"], "done");
    let events = client.leftovers();
    let of = |id: i64| events.iter().filter(|event| event["params"] == id).count();
    assert_eq!((of(1), of(2), of(3)), (2, 2, 2), "{events:?}");
}

/// The lane stops while a request that answers first still hangs.
#[test]
fn the_end_writes_what_waits_behind_an_answer_that_never_comes() {
    let mut client = Client::start(eventful);
    client.send(&request(1, "first hang", json!({})));
    client.send(&request(2, "ping", json!({})));
    client.close();
    let event = client.find(|message| message["params"] == 2);
    assert_eq!(event["method"], "event");
    assert_eq!(client.exit_code(), 1);
}

#[test]
fn lines_work_like_frames() {
    let mut client = Client::start(|peer| {
        let peer = peer.clone();
        handler(move |_, message: Value| {
            peer.notify_raw("{\"jsonrpc\":\"2.0\",\n \"method\":\"raw\"}".to_owned());
            reply(&message, json!("pong"))
        })
    });
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(
        client.next()["method"],
        "raw",
        "a line, though it had line ends"
    );
    assert_eq!(client.next()["result"], "pong");
    client.send_bytes(b"{nonsense\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    assert_eq!(client.answer(json!(null))["error"]["code"], -32700);
    assert_eq!(client.answer(2)["result"], "pong");
    client.close();
    assert_eq!(client.exit_code(), 0, "lines know no shutdown");
}
