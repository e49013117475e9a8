//! Lines of any bytes as messages of an ACP client.

use serde_json::Value;

use crate::acp::client::Client;
use crate::acp::content::{Part, input};
use crate::rpc::decode::text_of;
use crate::rpc::frame::{FrameReader, Framing};

/// Reads `data` as lines: each is a message or an error, and the blocks of a prompt become input
/// or a refusal.
///
/// # Panics
/// When a block of a prompt is lost.
pub fn fuzz_messages(data: &[u8]) {
    let mut reader = FrameReader::new(Framing::Lines);
    reader.push(data);
    reader.finish();
    while let Some(frame) = reader.pop() {
        let Ok(body) = frame else { continue };
        let Ok(message) = serde_json::from_str::<Value>(&text_of(body)) else {
            continue;
        };
        Client::new(&message["params"]);
        if let Ok(parts) = serde_json::from_value::<Vec<Part>>(message["params"]["prompt"].clone())
        {
            let count = parts.len();
            if let Ok(input) = input(parts) {
                assert_eq!(input.len(), count, "a block was lost");
            }
        }
    }
}
