//! The limit of what the messages of one turn may come to, through a real log.

use super::stage::Stage;
use crate::conversation::{Input, TurnStop};

/// R10: a turn whose messages have 128 MiB ends before its next request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_128_mib_ends_before_its_next_request() {
    let mut stage = Stage::new().await;
    let session = stage.session("default").await;
    let picture = Input::Image {
        mime_type: "image/png".to_owned(),
        data: "A".repeat(128 << 20),
    };
    let stop = stage.turn(&session, &[picture]).await;
    assert_eq!(stop, TurnStop::Budget);
    assert!(stage.model.taken().is_empty());
}
