//! What formatters changed in files that the agent had changed: the log says so, because these
//! changes are no conflict with a review or a revert.

use crate::conversation::{Entry, Recorder as _};
use crate::edit::{lines, places};
use crate::session::revert::From;
use crate::workspace::Formatted;
use crate::workspace::files::rope_hash;

/// Logs a formatter's change, if the session changed this file before.
pub async fn record(from: &From, formatted: &Formatted) {
    let Ok(journal) = from.journal().await else {
        return;
    };
    let (uri, hash) = (formatted.uri.to_string(), rope_hash(&formatted.after));
    if !journal.changed(&uri, &hash) {
        return;
    }
    let (before, after) = (
        String::from(&formatted.before),
        String::from(&formatted.after),
    );
    let hunks = lines::between_words(&before, &after);
    let hunks = hunks.unwrap_or_else(|| lines::difference(&before, &after));
    from.log.record(Entry::Formatted {
        hunks: places::logged(&formatted.before, &formatted.after, &hunks),
        hash,
        uri: uri.clone(),
    });
    from.host.review_changed(vec![uri]);
}
