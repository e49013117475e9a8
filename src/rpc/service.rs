//! What a door does with the messages that the transport hands it.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// What a door does with the messages of its lane.
pub trait Service: Send + 'static {
    /// A frequent notification in the service's own form.
    type Early: Send;

    /// Reads the text of such a notification, on the reading thread: a tree of values that is
    /// built there and torn down on the lane costs more than many a handler. `None`: the text
    /// goes the general way, also when anything about it is odd.
    fn early(text: &str) -> Option<Self::Early>;

    /// Handles it, in the order of all messages. Nothing here can wait.
    fn take_early(&mut self, early: Self::Early);

    /// Whether the answer to this request is written before whatever is sent while the request
    /// is handled, so that the client knows what it began when it hears of it. The answer must
    /// not depend on what the client does meanwhile: it gets nothing until then.
    fn answers_first(_method: &str) -> bool {
        false
    }

    /// Called in arrival order with the whole message as it came (`id`, `method`, `params`);
    /// the future gets its first poll before the next message is taken. Dropped when the client
    /// cancels. `None` = no answer (a notification, or an answer that was sent already).
    fn call(&mut self, message: Value) -> BoxFuture<'static, Option<Value>>;
}
