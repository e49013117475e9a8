//! `rpc::Service` of the door: a message's method to its function, outcomes to answers with the
//! protocol's codes. Knows no session.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::door::Door;
use super::methods::{self, Answer};
use crate::conversation::{Failure, FailureKind};
use crate::rpc::{Service, decode};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const AUTH_REQUIRED: i64 = -32000;
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The ACP door's service.
pub struct AcpService {
    door: Arc<Door>,
}

impl AcpService {
    pub fn new(door: Arc<Door>) -> Self {
        Self { door }
    }
}

impl Service for AcpService {
    fn call(&mut self, mut message: Value) -> BoxFuture<'static, Option<Value>> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let params = message.get_mut("params").map(Value::take);
        let params = params.unwrap_or_default();
        let Some(id) = message.get("id").cloned() else {
            methods::notified(&self.door, &method, params);
            return Box::pin(std::future::ready(None));
        };
        let door = Arc::clone(&self.door);
        Box::pin(async move {
            match methods::call(&door, &method, params).await {
                Ok(None) => Some(unknown(id, &method)),
                Ok(Some(Answer { result, after })) if after.is_empty() => {
                    Some(answer(&id, &result))
                }
                Ok(Some(Answer { result, after })) => {
                    // In this order: the client knows a session from its answer on.
                    door.peer.notify_raw(answer(&id, &result).to_string());
                    for update in after {
                        door.peer.notify("session/update", update);
                    }
                    None
                }
                Err(failure) => Some(refusal(id, &failure, door.has_key())),
            }
        })
    }
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn unknown(id: Value, method: &str) -> Value {
    let message = format!("unknown method {method:?}");
    decode::error_answer(id, METHOD_NOT_FOUND, &message, None)
}

/// The error answer; `data` says what to branch on and what to do. Clients answer -32000 with a
/// login, which helps against a missing key only, not against a model that does not exist.
fn refusal(id: Value, failure: &Failure, has_key: bool) -> Value {
    let code = match failure.kind {
        FailureKind::Auth => AUTH_REQUIRED,
        FailureKind::NoModel if !has_key => AUTH_REQUIRED,
        FailureKind::NoModel => INVALID_PARAMS,
        FailureKind::UnknownSession => RESOURCE_NOT_FOUND,
        FailureKind::Invalid | FailureKind::Unsupported => INVALID_PARAMS,
        FailureKind::Busy => decode::INVALID_REQUEST,
        _ => decode::INTERNAL_ERROR,
    };
    let data = json!({ "kind": failure.kind, "hint": failure.hint });
    decode::error_answer(id, code, &failure.sentences(), Some(data))
}
