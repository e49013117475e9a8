//! `interline.mode` and `interline.model`: changes of a session's settings.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sessions;
use crate::conversation::{Failure, Mode, SessionId};
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::session::{ConfigureSession, SessionInfo};

pub async fn mode(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let wanted = args.mode.as_deref().or(args.text.as_deref());
    let mode = wanted.and_then(Mode::parse).ok_or_else(|| {
        let names = Mode::ALL.map(Mode::as_str);
        args.wrong(&format!("modes are {}", names.join(", ")))
    })?;
    let change = |session_id| ConfigureSession {
        mode: Some(mode),
        ..ConfigureSession::new(session_id)
    };
    configure(&door, &args, change).await
}

pub async fn model(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let Some(model) = args.model.clone().or_else(|| args.text.clone()) else {
        let known = door.sessions()?.offers().models;
        let problem = format!("models are {}", known.join(", "));
        return Err(args.wrong(&problem));
    };
    let change = |session_id| ConfigureSession {
        model: Some(model),
        ..ConfigureSession::new(session_id)
    };
    configure(&door, &args, change).await
}

async fn configure(
    door: &Arc<Door>,
    args: &Args,
    change: impl FnOnce(SessionId) -> ConfigureSession,
) -> Result<Value, Failure> {
    let sessions = door.sessions()?;
    let id = match &args.session_id {
        Some(id) => id.clone(),
        None => sessions::current(door, args.uri.as_deref()).await?,
    };
    let info: SessionInfo = sessions.configure(change(id)).await?;
    if !door.client()?.offer.events {
        let model = match info.model.as_str() {
            "" => "none yet",
            name => name,
        };
        let text = format!("Interline: mode {}, model {model}", info.mode.as_str());
        door.host()?.message(&text);
    }
    Ok(json!(info))
}
