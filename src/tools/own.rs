//! What the tools share that change how the agent works for the user: the store, its errors in
//! words, what may not run side by side.

use super::{Targets, ToolContext, ToolError, words};
use crate::prompt::fence;

/// Changes of one store run in order.
pub(super) fn kept_targets() -> Targets {
    Targets {
        writes: vec!["own:kept".to_owned()],
        ..Targets::default()
    }
}

/// As [`kept_targets`], of the user's folder of skills.
pub(super) fn skill_targets() -> Targets {
    Targets {
        writes: vec!["own:skills".to_owned()],
        ..Targets::default()
    }
}

/// Nothing was changed, and why.
pub(super) fn not_changed(cx: &ToolContext, problem: &dyn std::fmt::Display) -> ToolError {
    words::for_model(
        cx,
        "results/own-not-changed.md",
        &[("problem", &problem.to_string())],
    )
}

/// Characters of a text that a question shows: of its head, and of its tail.
const HEAD: usize = 3_000;
const TAIL: usize = 1_500;

/// A text for a question: what is left out is told, and the tail is always there (A40).
pub(super) fn head_and_tail(text: &str) -> String {
    let text = fence::visible(text.trim_end());
    let count = text.chars().count();
    if count <= HEAD + TAIL {
        return text;
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(count - TAIL).collect();
    format!(
        "{head}\n… ({} characters more) …\n{tail}",
        count - HEAD - TAIL
    )
}

/// Does what locks and waits for the disk off the async threads.
pub(super) async fn blocking<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(not_changed(cx, &error)),
        Err(error) => Err(ToolError::Fatal(error.into())),
    }
}
