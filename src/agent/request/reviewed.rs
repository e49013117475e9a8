//! What the user reverted, kept, changed and rejected since the last message, for the model. The
//! texts themselves are among the recent changes of documents.

use std::path::Path;

use super::attachments::shown_path;
use crate::agent::Conversation;
use crate::conversation::entry::Verdict;
use crate::prompt::{Texts, fence};
use crate::workspace::Workspace;

/// Most places that are named; the rest is counted.
const PLACES: usize = 20;

/// One block, or nothing if nothing was decided.
pub fn hint(
    texts: &Texts,
    workspace: &Workspace,
    cwd: &Path,
    conversation: &Conversation,
) -> Option<String> {
    let name = |uri: &str| fence::name(&shown_path(workspace, uri, cwd));
    let mut parts = Vec::new();
    let files: Vec<String> = conversation.reverted.iter().map(|uri| name(uri)).collect();
    if !files.is_empty() {
        parts.push(texts.render("hints/reverted.md", &[("files", &files.join(", "))]));
    }
    for (verdict, text) in [
        (Verdict::Kept, "hints/review-kept.md"),
        (Verdict::Amended, "hints/review-amended.md"),
        (Verdict::Rejected, "hints/review-rejected.md"),
    ] {
        let of = conversation
            .reviewed
            .iter()
            .filter(|it| it.verdict == verdict);
        let mut places: Vec<String> = of
            .map(|it| format!("{}:{}", name(&it.uri), it.line))
            .collect();
        places.dedup();
        let more = places.len().saturating_sub(PLACES);
        places.truncate(PLACES);
        if more > 0 {
            places.push(format!("+{more}"));
        }
        if !places.is_empty() {
            parts.push(texts.render(text, &[("places", &places.join(", "))]));
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}
