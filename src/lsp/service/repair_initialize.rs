//! Repairs an `initialize` that lsp-types would reject (hazard g9): each value that does not fit its
//! type is removed and logged, so that the connection survives. The backend reads the removed
//! values from the raw params.

use lsp_types::InitializeParams;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

/// No known client needs more than five.
const ROUNDS: usize = 200;

/// Removes the values that cannot be decoded. Params that cannot be repaired are rejected later.
pub fn scrub_initialize(params: &mut Value) {
    if !params.get("capabilities").is_some_and(Value::is_object) && params.is_object() {
        params["capabilities"] = json!({});
    }
    for _ in 0..ROUNDS {
        let read: Result<InitializeParams, _> = serde_path_to_error::deserialize(&*params);
        let Err(error) = read else { return };
        let path: Vec<Segment> = error.path().iter().cloned().collect();
        tracing::warn!(path = %error.path(), error = %error.inner(), "removed an invalid value from initialize");
        if !remove(params, &path) {
            return;
        }
    }
}

/// Removes the value at the path, or at the part of it that can be followed (flattened and untagged
/// types hide the rest).
fn remove(value: &mut Value, path: &[Segment]) -> bool {
    let Some((segment, rest)) = path.split_first() else {
        return false;
    };
    match (segment, value) {
        (Segment::Map { key }, Value::Object(fields)) => {
            let deeper = fields.get_mut(key).is_some_and(|inner| remove(inner, rest));
            deeper || fields.shift_remove(key).is_some()
        }
        (Segment::Seq { index }, Value::Array(items)) => match items.get_mut(*index) {
            Some(inner) => {
                if !remove(inner, rest) {
                    items.remove(*index);
                }
                true
            }
            None => false,
        },
        // The variant of an enum is named by the value that the path already leads to.
        (Segment::Enum { .. }, value) => remove(value, rest),
        _ => false,
    }
}
