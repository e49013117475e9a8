//! `session/new`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::door::Door;
use super::super::options;
use super::{Answer, Outcome, Place, read, update};
use crate::session::NewSession;

pub async fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let place: Place = read(params)?;
    place.check(true)?;
    let info = open
        .sessions
        .create(NewSession {
            cwd: Some(place.cwd.clone()),
            folders: Some(place.additional_directories.clone()),
            ..NewSession::default()
        })
        .await?;
    let unsaid = place.serve(open, &info.session_id).await?;
    open.enter(&info, PathBuf::from(&place.cwd), unsaid);
    let commands = options::commands(&open.sessions, &open.config, &place.cwd).await;
    let mut result = options::settings(&open.sessions, &info);
    result["sessionId"] = json!(info.session_id);
    Ok(Answer {
        result,
        after: vec![update(&info.session_id, &commands)],
    })
}
