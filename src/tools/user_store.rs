//! What the tools share that change how the agent works for the user: one kind of prepared call,
//! its errors, and the targets that keep such calls in order.

use futures_util::FutureExt as _;

use super::{Prepared, Targets, ToolContext, ToolError, ToolOutput};
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::fence;

/// Calls on the stored state (names, variables, projects) run one after the other.
pub(super) fn state_targets() -> Targets {
    Targets::writes(["own:kept".to_owned()])
}

/// The same for the user's folder of skills.
pub(super) fn skill_targets() -> Targets {
    Targets::writes(["own:skills".to_owned()])
}

/// Nothing was changed, and why.
pub(super) fn not_changed(cx: &ToolContext, problem: &dyn std::fmt::Display) -> ToolError {
    cx.error("results/own-not-changed.md", &[("problem", &problem)])
}

/// Characters of a text that a question shows: its head and its tail.
const HEAD: usize = 3_000;
const TAIL: usize = 1_500;

/// A text for a question. It says what it leaves out, and always shows the tail (A40).
pub(super) fn excerpt(text: &str) -> String {
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

/// Like [`ToolContext::blocking`]; an error says that nothing was changed.
pub(super) async fn blocking<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ToolError> {
    let done = cx.blocking(work).await?;
    done.map_err(|error| not_changed(cx, &error))
}

/// A change of what Interline stores for the user; `work` makes it and gives the result's text. It
/// locks files and waits for the disk, so it runs off the async threads.
pub(super) fn store_change(
    title: String,
    facts: Vec<Fact>,
    subject: Subject,
    work: impl FnOnce(&ToolContext) -> Result<String, ToolError> + Send + Sync + 'static,
) -> Prepared {
    Prepared {
        facts,
        subject: Some(subject),
        ..Prepared::new(title, move |cx| {
            let context = cx.clone();
            let work = cx.blocking(move || work(&context));
            async move { work.await?.map(ToolOutput::text) }.boxed()
        })
    }
}

/// A change that lasts beyond the session.
pub(super) fn lasting_change(
    title: String,
    subject: Subject,
    work: impl FnOnce(&ToolContext) -> Result<String, ToolError> + Send + Sync + 'static,
) -> Prepared {
    let facts = vec![Fact::Setting { lasting: true }];
    store_change(title, facts, subject, work)
}
