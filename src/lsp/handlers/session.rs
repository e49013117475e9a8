//! `interline/session/…`.

use std::sync::Arc;

use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::ext::{
    CompactSession, ExportSession, ExportedSession, ForkSession, Nothing, RenameSession, SessionRef,
};
use crate::session::{
    ConfigureSession, ListSessions, NewSession, OpenSession, OpenedSession, SessionInfo,
    SessionList,
};

pub async fn new(door: Arc<Door>, params: NewSession) -> Result<SessionInfo, Failure> {
    door.sessions()?.create(params).await
}

pub async fn configure(door: Arc<Door>, params: ConfigureSession) -> Result<SessionInfo, Failure> {
    door.sessions()?.configure(params).await
}

pub async fn list(door: Arc<Door>, params: ListSessions) -> Result<SessionList, Failure> {
    door.sessions()?.list(params).await
}

pub async fn open(door: Arc<Door>, params: OpenSession) -> Result<OpenedSession, Failure> {
    door.sessions()?.open(params).await
}

pub async fn rename(door: Arc<Door>, params: RenameSession) -> Result<Nothing, Failure> {
    let sessions = door.sessions()?;
    sessions.rename(&params.session_id, params.title).await?;
    Ok(Nothing {})
}

pub async fn delete(door: Arc<Door>, params: SessionRef) -> Result<Nothing, Failure> {
    door.sessions()?.delete(&params.session_id).await?;
    Ok(Nothing {})
}

pub async fn close(door: Arc<Door>, params: SessionRef) -> Result<Nothing, Failure> {
    door.sessions()?.close(&params.session_id).await?;
    Ok(Nothing {})
}

pub async fn compact(door: Arc<Door>, params: CompactSession) -> Result<Nothing, Failure> {
    let sessions = door.sessions()?;
    sessions.compact(&params.session_id, params.focus).await?;
    Ok(Nothing {})
}

pub async fn fork(door: Arc<Door>, params: ForkSession) -> Result<SessionRef, Failure> {
    let sessions = door.sessions()?;
    let session_id = sessions.fork(&params.session_id, params.turn_id).await?;
    Ok(SessionRef { session_id })
}

pub async fn export(door: Arc<Door>, params: ExportSession) -> Result<ExportedSession, Failure> {
    let sessions = door.sessions()?;
    let text = sessions.export(&params.session_id, &params.format).await?;
    Ok(ExportedSession { text })
}
