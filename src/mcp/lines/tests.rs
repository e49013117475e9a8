use tokio::io::BufReader;
use tokio::sync::mpsc;

use super::{LINE, SharedOutput, read_messages};

/// The messages in `bytes`, and how they ended.
async fn pumped(bytes: &[u8]) -> (usize, String, Option<String>) {
    let (sender, mut messages) = mpsc::channel(64);
    let ear = SharedOutput::default();
    let reading = read_messages(BufReader::new(bytes), sender, &ear);
    let counting = async {
        let mut count = 0;
        while messages.recv().await.is_some() {
            count += 1;
        }
        count
    };
    let (ended, count) = tokio::join!(reading, counting);
    let garbage = ear.lock().garbage.clone();
    (count, ended, garbage)
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

/// M02.
#[tokio::test]
async fn lines_that_are_not_messages_are_skipped_and_kept_for_the_error() {
    let mut bytes = b"Starting up...\n\n\xff\xfe\n{\"broken\n".to_vec();
    bytes.extend_from_slice(PING.as_bytes());
    bytes.extend_from_slice(PING.trim_end().as_bytes());
    let (count, ended, garbage) = pumped(&bytes).await;
    assert_eq!(count, 2);
    assert_eq!(ended, "it closed its standard output");
    assert_eq!(garbage.as_deref(), Some("Starting up..."));
}

#[tokio::test]
async fn an_endless_message_and_endless_garbage_end_the_connection() {
    let (count, ended, _) = pumped(&vec![b'x'; LINE + 10]).await;
    assert_eq!(count, 0);
    assert!(ended.contains("more than"), "{ended}");
    let (_, ended, _) = pumped(&b"no\n".repeat(20_000)).await;
    assert!(ended.contains("not messages"), "{ended}");
}
