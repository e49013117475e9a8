//! The commands `/revert` and `/redo`: the protocol has no method for them. They take no turn, and no
//! model reads them; the next prompt tells it what was reverted.

use std::path::Path;

use serde_json::{Value, json};

use super::super::door::Open;
use super::super::updates::{diffs, line_in};
use super::{Outcome, said};
use crate::conversation::{ItemId, SessionId};
use crate::host::Host as _;
use crate::prompt::fence;
use crate::session::{RevertTurn, RevertedFile};
use crate::workspace::Uri;

/// Reverts what `named` says (nothing: the last turn's changes), or restores what the last revert
/// reverted.
pub async fn run(open: &Open, id: &SessionId, reverts: bool, named: Option<String>) -> Outcome {
    // Another prompt must not run at the same time.
    let _running = open.turns().begin(&open.sessions, id)?;
    open.host.send_notices(id);
    let known = open.turns().with(id, |known| {
        let last = known.reverted.take().filter(|_| !reverts);
        (known.cwd.clone(), last)
    });
    let (cwd, last) = known.unwrap_or_default();
    let mut ask = RevertTurn {
        session_id: id.clone(),
        turn_id: None,
        item_id: last,
        uris: None,
        hunk_ids: None,
        preview: false,
    };
    match named {
        None if !reverts && ask.item_id.is_none() => {
            return Ok(said(open, id, "Nothing was reverted before."));
        }
        Some(item) if item.starts_with("item_") => ask.item_id = Some(item.into()),
        Some(file) => {
            ask.uris = Some(vec![Uri::from_path(&cwd.join(file)).to_string()]);
        }
        None => {}
    }
    open.host.refresh_files(id).await;
    let reverted = match open.sessions.revert(ask).await {
        Ok(reverted) => reverted,
        Err(failure) => return Ok(said(open, id, &failure.sentences())),
    };
    if reverts {
        let item = reverted.item_id.clone();
        open.turns().with(id, |known| known.reverted = Some(item));
    }
    let title = if reverts { "Revert" } else { "Redo" };
    open.host
        .update(id, &card(&reverted.item_id, title, &reverted.files));
    let problem = |file| problem(file, &cwd);
    let problems: Vec<String> = reverted.files.iter().filter_map(problem).collect();
    let outcome = match (problems.is_empty(), reverts) {
        (true, true) => "Reverted. `/redo` restores it.".to_owned(),
        (true, false) => "Restored.".to_owned(),
        (false, _) => format!("Not everything was changed:\n{}", problems.join("\n")),
    };
    Ok(said(open, id, &outcome))
}

fn problem(file: &RevertedFile, cwd: &Path) -> Option<String> {
    let conflicts = file.conflicts.join("; ");
    let path = Uri::new(file.uri.as_str()).path().unwrap_or_default();
    let path = path.strip_prefix(cwd).unwrap_or(&path).to_string_lossy();
    (!conflicts.is_empty()).then(|| format!("{}: {conflicts}", fence::name(&path)))
}

/// What was changed, as a tool call with diffs and locations.
fn card(item: &ItemId, title: &str, files: &[RevertedFile]) -> Value {
    let mut content = Vec::new();
    let mut locations = Vec::new();
    for file in files {
        let Some(path) = Uri::new(file.uri.as_str()).path() else {
            continue;
        };
        content.extend(diffs(&path, &file.diff));
        locations.push(location(&path, &file.diff));
    }
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": item,
        "title": title,
        "kind": "edit",
        "status": "completed",
        "content": content,
        "locations": locations,
    })
}

fn location(path: &Path, diff: &str) -> Value {
    match line_in(diff) {
        Some(line) => json!({ "path": path, "line": line }),
        None => json!({ "path": path }),
    }
}
