use serde_json::json;

use super::*;

#[test]
fn a_cancelled_request_cannot_answer_for_a_later_one_with_its_id() {
    let inflight = Inflight::default();
    let old = inflight.admit(json!(1), 1).unwrap();
    assert!(inflight.cancel(&json!(1)));
    let new = inflight.admit(json!(1), 2).unwrap();
    assert!(!inflight.settle(&old), "it was answered by the cancel");
    assert!(inflight.settle(&new));
    assert!(!inflight.settle(&new), "once");
    assert!(!inflight.cancel(&json!(1)), "over");
}

#[test]
fn a_number_and_its_text_are_different_ids() {
    let inflight = Inflight::default();
    let number = inflight.admit(json!(1), 1).unwrap();
    assert!(inflight.admit(json!("1"), 2).is_some());
    assert!(inflight.admit(json!(1), 3).is_none());
    assert!(inflight.cancel(&json!("1")));
    assert!(!number.is_cancelled());
}
