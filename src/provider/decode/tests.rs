use serde_json::json;

use super::*;

#[test]
fn ids_of_calls_are_unique_p25() {
    let mut ids = CallIds::default();
    let given = ["", "x", "x", "", "x_2", "call_3"];
    let unique = given.map(|id| ids.unique(id));
    assert_eq!(
        unique,
        ["call_0", "x", "x_2", "call_3", "x_2_2", "call_3_2"]
    );
}

#[test]
fn counts_saturate() {
    let counts = [json!(7), json!(-4), json!(1e30), json!("7"), json!(null)];
    let expected = [Some(7), Some(0), Some(u64::MAX), None, None];
    assert_eq!(counts.each_ref().map(count), expected);
}

#[test]
fn pieces_of_one_kind_make_up_one_block() {
    let (mut streaming, mut out) = (Streaming::default(), Vec::new());
    assert!(streaming.is_unused());
    for (piece, thought) in [("h", true), ("", false), ("m", true), ("a", false)] {
        streaming.push(piece, thought, &mut out);
    }
    assert!(streaming.close_signed("s", &mut out));
    assert!(!streaming.close_signed("s", &mut out) && streaming.index() == 2);
    let blocks: Vec<_> = out
        .iter()
        .filter(|event| matches!(event, ModelEvent::Block { .. }))
        .collect();
    let thinking = Block::Thinking {
        thinking: "hm".to_owned(),
        signature: String::new(),
    };
    let text = Block::text("a");
    assert_eq!(
        blocks,
        [&ModelEvent::block(0, thinking), &ModelEvent::block(1, text)]
    );
    assert_eq!(out.len(), 5);
}
