//! A hook for tests of its outcomes.

use std::time::Duration;

use super::{Author, Event, Hook, Matcher};

/// A hook of the user's on every occasion of `event`.
pub fn hook(event: Event) -> Hook {
    Hook {
        event,
        matcher: Matcher::All,
        on: String::new(),
        command: "x".to_owned(),
        timeout: Duration::from_secs(1),
        apart: false,
        source: "hooks.json".to_owned(),
        author: Author::User,
    }
}
