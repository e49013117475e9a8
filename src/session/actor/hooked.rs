//! The hooks of a session's end.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Actor;
use crate::agent::hooks::{self, Occasion, Place};
use crate::knowledge::hooks::Event;

/// How long all of them may take: the process of a closed editor ends within two seconds.
const LIMIT: Duration = Duration::from_secs(1);

impl Actor {
    /// Runs the hooks of the end of a session that had a turn. Nothing can be shown any more, so
    /// the log has their failures.
    pub(super) async fn end_hooks(&self) {
        let settings = self.settings();
        let place = Place {
            shared: &self.parts.shared,
            config: &settings.config,
            hooks: &self.state.hooks,
            session: &self.parts.id,
            cwd: &self.parts.cwd,
            mode: settings.mode,
        };
        let occasion = Occasion {
            event: Event::SessionEnd,
            names: &["other"],
            fields: json!({ "reason": "other" }),
        };
        if !self.state.hooks.has_begun() {
            return;
        }
        let cancel = CancellationToken::new();
        let running = hooks::run(&place, occasion, &cancel);
        match tokio::time::timeout(LIMIT, running).await {
            Ok(outcome) => outcome.notices.iter().for_each(|it| tracing::warn!("{it}")),
            Err(_) => tracing::warn!("the hooks of the session's end took too long"),
        }
    }
}
