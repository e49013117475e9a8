use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rpc::tests::client::*;

fn pong() -> impl crate::rpc::Service + use<> {
    handler(|method, message: Value| match method.as_str() {
        "never" => Box::pin(std::future::pending()),
        _ => reply(&message, json!("pong")),
    })
}

#[test]
fn d1_exit_ends_the_process_while_the_input_is_open() {
    let mut client = Client::start(|_| pong());
    client.ask(1, "shutdown", json!(null));
    client.send(&notification("exit", json!(null)));
    assert_eq!(client.exit_code(), 0);
}

#[test]
fn d1_shutdown_and_exit_in_one_write_end_with_the_answer_and_zero() {
    let mut client = Client::start(|_| pong());
    let mut both = framed(request(1, "shutdown", json!(null)).to_string().as_bytes());
    both.extend(framed(br#"{"jsonrpc":"2.0","method":"exit"}"#));
    both.extend(framed(
        request(2, "ignored", json!(null)).to_string().as_bytes(),
    ));
    client.send_bytes(&both);
    assert_eq!(client.answer(1)["result"], "pong");
    assert_eq!(client.exit_code(), 0);
}

#[test]
fn e04_leaving_without_shutdown_exits_with_one() {
    let mut client = Client::start(|_| pong());
    client.send(&notification("exit", json!(null)));
    assert_eq!(client.exit_code(), 1);
    let mut client = Client::start(|_| pong());
    client.close();
    assert_eq!(client.exit_code(), 1);
}

#[test]
fn d2_the_end_of_input_drops_running_requests_and_finishes_earlier_messages() {
    let (dropped, dropped_first) = channel();
    let (ended, hook) = channel();
    let mut client = Client::start_with(
        |transport| {
            transport.on_end(move || async move {
                tokio::task::yield_now().await;
                assert!(
                    dropped_first.try_recv().is_ok(),
                    "requests are dropped first"
                );
                let _ = ended.send("hook");
            })
        },
        |peer| {
            let peer = peer.clone();
            handler(move |method, message: Value| {
                if method == "count" {
                    peer.notify("counted", message["params"].clone());
                    return nothing();
                }
                let guard = Dropped(dropped.clone());
                Box::pin(async move {
                    let _guard = guard;
                    std::future::pending().await
                })
            })
        },
    );
    client.send(&request(1, "turn", json!({})));
    for n in 0..100 {
        client.send(&notification("count", json!(n)));
    }
    client.close();
    assert_eq!(client.exit_code(), 1);
    assert_eq!(hook.try_recv(), Ok("hook"));
    for n in 0..100 {
        assert_eq!(client.next()["params"], n, "written before the end");
    }
}

#[test]
fn messages_of_the_end_hook_are_still_written() {
    let mut client = Client::start_with(
        |transport| transport.on_end(|| async { panic!("deliberate: in the hook") }),
        |_| pong(),
    );
    client.close();
    assert_eq!(client.exit_code(), 1, "a panic in it is survived");

    let (peer, transport) = crate::rpc::channel();
    let ender = peer.clone();
    let transport = transport.on_end(move || async move {
        ender.notify("ended", json!({ "stopReason": "cancelled" }));
    });
    let (input, to) = std::io::pipe().unwrap();
    let (mut from, output) = std::io::pipe().unwrap();
    drop(to);
    let code = client
        .runtime
        .block_on(transport.serve(pong(), input, output));
    assert_eq!(code, 1);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut from, &mut text).unwrap();
    assert!(
        text.ends_with(r#""params":{"stopReason":"cancelled"}}"#),
        "{text}"
    );
}

#[test]
fn e05_a_hanging_handler_hook_or_client_does_not_delay_the_end() {
    let mut client = Client::start_deaf(
        |transport| transport.on_end(std::future::pending::<()>),
        |_| pong(),
    );
    // More than the pipe's capacity, so that the writer hangs as well.
    client.peer.notify("big", json!("x".repeat(1_000_000)));
    client.send(&request(1, "never", json!({})));
    client.send(&notification("never", json!({})));
    client.send(&notification("exit", json!(null)));
    assert_eq!(client.exit_code(), 1);
}

#[test]
fn a_broken_output_ends_the_transport() {
    let mut client = Client::start_deaf(|transport| transport, |_| pong());
    client.hang_up();
    client.send(&request(1, "ping", json!({})));
    assert_eq!(client.exit_code(), 1);
}

#[test]
fn d3_the_end_of_the_parent_ends_the_transport_while_the_pipe_is_open() {
    let mut parent = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let mut client = Client::start(|_| pong());
    let pid = parent.id();
    client.ask(1, "initialize", json!({ "processId": pid }));
    client.ask(2, "ping", json!({}));
    drop(parent.stdin.take());
    parent.wait().unwrap();
    assert_eq!(client.exit_code(), 1);
}

#[test]
fn an_unknown_or_invalid_parent_is_ignored() {
    for pid in [
        json!(null),
        json!(-1),
        json!(0),
        json!(i32::MAX),
        json!(1e12),
        json!("x"),
    ] {
        let mut client = Client::start(|_| pong());
        client.ask(1, "initialize", json!({ "processId": pid }));
        client.ask(2, "ping", json!({}));
        assert!(!client.peer.shared.stop.is_cancelled());
        let keeps = crate::rpc::parent_process::ended(pid.as_i64().unwrap_or(0));
        let waited = client
            .runtime
            .block_on(async { tokio::time::timeout(Duration::ZERO, keeps).await });
        assert!(waited.is_err(), "{pid} does not end us");
        client.ask(3, "ping", json!({}));
    }
}
