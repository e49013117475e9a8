//! `session/list`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::door::Door;
use super::{Outcome, absolute, read};
use crate::session::ListSessions;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct List {
    cwd: Option<String>,
    cursor: Option<String>,
}

pub async fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let asked: Option<List> = read(params)?;
    let asked = asked.unwrap_or_default();
    if let Some(cwd) = &asked.cwd {
        absolute("cwd", cwd)?;
    }
    let (placed, next) = open
        .sessions
        .list_with_folders(ListSessions {
            cwd: asked.cwd,
            cursor: asked.cursor,
            ..ListSessions::default()
        })
        .await?;
    let sessions: Vec<Value> = placed
        .into_iter()
        .map(|(row, cwd)| {
            let mut one = json!({
                "sessionId": row.session_id,
                "cwd": cwd,
                "updatedAt": row.updated_at,
            });
            if !row.title.is_empty() {
                one["title"] = row.title.into();
            }
            one
        })
        .collect();
    let mut result = json!({ "sessions": sessions });
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    Ok(result.into())
}
