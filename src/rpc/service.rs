//! What a door does with the messages that the transport hands it.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// What a door does with the messages of its lane.
pub trait Service: Send + 'static {
    /// A frequent notification in the service's own form.
    type Early: Send;

    /// Parses the text of such a notification on the reading thread: building a JSON tree there and
    /// dropping it on the lane costs more than many handlers. `None`: the text takes the general
    /// path, as it must if anything about it is unusual.
    fn early(text: &str) -> Option<Self::Early>;

    /// Handles it, in order with all other messages. Must not block.
    fn take_early(&mut self, early: Self::Early);

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
