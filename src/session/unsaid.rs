//! Messages for the user that no client can show yet: the next turn begins with them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::host::Host;

pub type Unsaid = Arc<Mutex<Vec<String>>>;

/// Shows the message now, or with the next turn if the client shows nothing outside turns.
pub fn show_or_store(host: &dyn Host, unsaid: &Unsaid, text: String) {
    match host.shows_messages() {
        true => host.message(&text),
        false => unsaid.lock().push(text),
    }
}
