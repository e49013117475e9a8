//! What a door does with the messages that the transport hands it.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// Handles a notification that was parsed on the reading thread. Must not block.
pub type Early<S> = Box<dyn FnOnce(&mut S) + Send>;

/// What a door does with the messages of its lane.
pub trait Service: Send + Sized + 'static {
    /// Parses the text of a frequent notification on the reading thread: building a JSON tree there
    /// and dropping it on the lane costs more than many handlers. `None`: the text takes the general
    /// path, as it must if anything about it is unusual. The result runs in order with all other
    /// messages.
    fn early(_text: &str) -> Option<Early<Self>> {
        None
    }

    /// Whether the answer to this request is written before everything that is sent while the
    /// request is handled. The handler must not wait for the client, which receives nothing until
    /// the answer.
    fn answers_first(_method: &str) -> bool {
        false
    }

    /// Called in arrival order with the complete message (`id`, `method`, `params`). The future is
    /// polled once before the next message is handled, and dropped when the client cancels. `None`
    /// means no answer: the message is a notification or was already answered.
    fn call(&mut self, message: Value) -> BoxFuture<'static, Option<Value>>;
}
