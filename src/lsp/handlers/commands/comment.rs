//! `interline.doComment`: the comment at the cursor is the prompt.

use std::sync::Arc;

use serde_json::Value;

use super::arguments::Args;
use super::prompts::{start, texts};
use crate::conversation::event::Origin;
use crate::conversation::{Failure, WirePosition, WireRange};
use crate::lsp::bare::comments::{self, Comment};
use crate::lsp::door::Door;
use crate::prompt::fence;
use crate::workspace::Uri;

pub async fn run(door: Arc<Door>, mut args: Args) -> Result<Value, Failure> {
    let (uri, range) = args.place()?;
    let uri = Uri::new(uri);
    if door.workspace.document(&uri).is_none() {
        return Err(args.wrong("the document is not open"));
    }
    let comment = comment_at(&door, &uri, range)
        .ok_or_else(|| args.wrong("there is no comment at that place"))?;
    let text = texts(&door).render(
        "commands/do-comment.md",
        &[("comment", &fence::prose(&comment.text))],
    );
    // Complete lines: the comment and what it is about.
    let line = |line| WirePosition { line, character: 0 };
    args.range = Some(WireRange {
        start: line(comment.first),
        end: line(comment.last.saturating_add(1)),
    });
    start(&door, args, text, Origin::Comment).await
}

/// The comment at a place of an open document.
pub fn comment_at(door: &Door, uri: &Uri, range: WireRange) -> Option<Comment> {
    let document = door.workspace.document(uri).filter(|it| it.opened)?;
    let path = uri.path().unwrap_or_default();
    let suffix = path.extension().or_else(|| path.file_name());
    let suffix = suffix.unwrap_or_default().to_string_lossy();
    comments::at(&document.rope, &document.language, &suffix, range)
}
