use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rpc::tests::client::*;
use crate::rpc::{Answer, Peer, RpcError};

/// For each request, asks the client and answers with the outcome.
fn asking(peer: &Peer, deadline: Option<Duration>) -> impl crate::rpc::Service + use<> {
    let peer = peer.clone();
    handler(move |method, message: Value| {
        if method != "edit" {
            return reply(&message, json!("pong"));
        }
        let waiting = peer.request("workspace/applyEdit", message["params"].clone(), deadline);
        Box::pin(async move {
            let result = match waiting.await.result {
                Ok(value) => value,
                Err(error) => json!(error.to_string()),
            };
            Some(json!({ "id": message["id"], "result": result }))
        })
    })
}

fn applied(ours: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": ours["id"], "result": { "applied": true } })
}

#[test]
fn f1_the_answer_reaches_the_handler_that_asked() {
    let mut client = Client::start(|peer| asking(peer, None));
    client.send(&request("a", "edit", json!({ "label": "x" })));
    let ours = client.find(|message| message["method"] == "workspace/applyEdit");
    assert_eq!(ours["params"], json!({ "label": "x" }));
    client.send(&applied(&ours));
    assert_eq!(client.answer("a")["result"]["applied"], true);
}

#[test]
fn f2_an_unanswered_request_fails_at_its_deadline_and_is_cancelled() {
    let mut client = Client::start(|peer| asking(peer, Some(Duration::from_millis(5))));
    client.send(&request("a", "edit", json!({})));
    let ours = client.find(|message| message["method"] == "workspace/applyEdit");
    assert_eq!(client.answer("a")["result"], "no answer in time");
    let cancel = client.find(|message| message["method"] == "$/cancelRequest");
    assert_eq!(cancel["params"]["id"], ours["id"]);
    assert_eq!(client.peer.shared.requests.waiting(), 0, "nothing leaks");
}

#[test]
fn f3_late_and_unknown_answers_are_ignored() {
    let mut client = Client::start(|peer| asking(peer, Some(Duration::from_millis(5))));
    client.send(&request("a", "edit", json!({})));
    let ours = client.find(|message| message["method"] == "workspace/applyEdit");
    client.answer("a");
    for _ in 0..3 {
        client.send(&applied(&ours));
    }
    for id in [
        json!(999),
        json!("nobody"),
        json!(null),
        json!(1.5),
        json!(-1),
    ] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "result": null }));
        client.send(&json!({ "id": id, "error": { "code": 1, "message": "no" } }));
    }
    assert_eq!(client.ask(2, "ping", json!({}))["result"], "pong");
}

#[test]
fn f3_an_answer_after_the_clients_own_cancel_is_dropped() {
    let mut client = Client::start(|peer| asking(peer, None));
    client.send(&request("a", "edit", json!({})));
    let ours = client.find(|message| message["method"] == "workspace/applyEdit");
    client.send(&notification("$/cancelRequest", json!({ "id": "a" })));
    assert_eq!(client.answer("a")["error"]["code"], -32800);
    client.send(&applied(&ours));
    assert_eq!(client.ask(2, "ping", json!({}))["result"], "pong");
    assert_eq!(client.peer.shared.requests.waiting(), 0, "nothing leaks");
}

#[test]
fn f4_four_edits_and_two_thousand_queued_notifications_do_not_deadlock() {
    let seen = Arc::new(AtomicU64::new(0));
    let mut client = Client::start(|peer| {
        let mut inner = asking(peer, None);
        let peer = peer.clone();
        let seen = Arc::clone(&seen);
        handler(move |method, message: Value| {
            let seen = Arc::clone(&seen);
            match method.as_str() {
                "change" => {
                    seen.fetch_add(1, Ordering::SeqCst);
                    nothing()
                }
                // Breaks INV-1 on purpose: the lane blocks until the client answers.
                "bad" => {
                    let waiting = peer.request("ours/blocking", json!({}), None);
                    Box::pin(async move {
                        waiting.await.result.unwrap();
                        seen.fetch_add(10_000, Ordering::SeqCst);
                        None
                    })
                }
                _ => crate::rpc::Service::call(&mut inner, message),
            }
        })
    });
    for id in 1..=4 {
        client.send(&request(id, "edit", json!({})));
    }
    client.send(&notification("bad", json!({})));
    for n in 0..2_000 {
        client.send(&notification(
            "change",
            json!({ "n": n, "text": "x".repeat(200) }),
        ));
    }
    let blocking = client.find(|message| message["method"] == "ours/blocking");
    for _ in 0..4 {
        let ours = client.find(|message| message["method"] == "workspace/applyEdit");
        client.send(&applied(&ours));
    }
    for id in 1..=4 {
        assert_eq!(client.answer(id)["result"]["applied"], true);
    }
    assert_eq!(
        seen.load(Ordering::SeqCst),
        0,
        "all of it waits in the lane"
    );
    client.send(&applied(&blocking));
    client.ask(9, "ping", json!({}));
    assert_eq!(seen.load(Ordering::SeqCst), 12_000);
}

#[test]
fn inv1_an_answer_names_the_frame_that_its_reader_has_to_await() {
    let (release, gate) = tokio::sync::oneshot::channel::<()>();
    let mut gate = Some(gate);
    let mirror = Arc::new(AtomicU64::new(0));
    let mut client = Client::start(|_| {
        let mirror = Arc::clone(&mirror);
        handler(move |_, _| {
            let gate = gate.take();
            let mirror = Arc::clone(&mirror);
            Box::pin(async move {
                if let Some(gate) = gate {
                    let _ = gate.await;
                }
                mirror.fetch_add(1, Ordering::SeqCst);
                None
            })
        })
    });
    let peer = client.peer.clone();
    let waiting = peer.request("ours", json!({}), None);
    let ours = client.find(|message| message["method"] == "ours");
    for _ in 0..3 {
        client.send(&notification("change", json!({})));
    }
    client.send(&applied(&ours));
    client.send(&notification("change", json!({})));
    let answer = client.runtime.block_on(waiting);
    assert_eq!(answer.frame, 3);
    assert_eq!(
        mirror.load(Ordering::SeqCst),
        0,
        "the answer skipped the lane"
    );
    release.send(()).unwrap();
    client.runtime.block_on(peer.handled(answer.frame));
    assert!(mirror.load(Ordering::SeqCst) >= 3);
}

#[test]
fn error_answers_and_unusual_ids_are_decoded() {
    let mut client = Client::start(|_| handler(|_, _| nothing()));
    let peer = client.peer.clone();
    for (answer, expected) in [
        (
            json!({ "error": { "code": -32601, "message": "no" } }),
            Err(RpcError::Answered {
                code: -32601,
                message: "no".to_owned(),
            }),
        ),
        (json!({ "result": null }), Ok(json!(null))),
    ] {
        for shape in ["1", "1.0", "\"1\""] {
            let waiting = peer.request("ours", json!({}), Some(PATIENCE));
            let ours = client.find(|message| message["method"] == "ours");
            let mut answer = answer.clone();
            let id = ours["id"].to_string();
            answer["id"] = serde_json::from_str(&shape.replace('1', &id)).unwrap();
            client.send(&answer);
            let got = client.runtime.block_on(waiting);
            assert_eq!(got.result, expected);
        }
    }
}

#[test]
fn requests_fail_once_the_client_is_gone() {
    let mut client = Client::start(|_| handler(|_, _| nothing()));
    let peer = client.peer.clone();
    let waiting = peer.request("ours", json!({}), None);
    let dropped = peer.request("ours", json!({}), None);
    drop(dropped);
    client.close();
    client.runtime.block_on(peer.closed());
    client.exit_code();
    let gone = |answer: Answer| assert_eq!(answer.result, Err(RpcError::Gone));
    gone(client.runtime.block_on(waiting));
    gone(
        client
            .runtime
            .block_on(peer.request("ours", json!({}), None)),
    );
    client.runtime.block_on(peer.handled(1_000));
    client.runtime.block_on(peer.ready());
}
