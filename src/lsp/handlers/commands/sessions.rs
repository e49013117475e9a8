//! `interline.newSession` and `interline.sessions`, and the session of a prompt that names none.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::show;
use crate::conversation::{Failure, SessionId};
use crate::env::tasks;
use crate::lsp::bare::choices::Chosen;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::prompt::fence;
use crate::session::{ListSessions, NewSession, SessionRow};
use crate::workspace::Uri;

/// Buttons of one message.
const BUTTONS: usize = 5;
/// Rows of a list.
const ROWS: u32 = 50;

/// The current session of a document's root. When the process creates its first session there, the
/// user learns whether the previous one was interrupted.
pub async fn current(door: &Arc<Door>, uri: Option<&str>) -> Result<SessionId, Failure> {
    let sessions = door.sessions()?;
    if let Some(known) = sessions.known(uri)? {
        return Ok(known);
    }
    let id = sessions.current(uri).await?;
    tasks::spawn(offer_interrupted(Arc::clone(door), id.clone()));
    Ok(id)
}

async fn offer_interrupted(door: Arc<Door>, fresh: SessionId) {
    let (Ok(sessions), Ok(host)) = (door.sessions(), door.host()) else {
        return;
    };
    let Some(row) = sessions.interrupted(&fresh).await else {
        return;
    };
    let text = format!(
        "Interline: your last session here (\"{}\") was interrupted. Everything up to that point is \
         saved.",
        fence::name(&row.title)
    );
    match host.choose(&text, &["Reopen".to_owned()]).await {
        Chosen::Button(_) => make_current(&door, &row.session_id).await,
        Chosen::Closed | Chosen::Gone => {}
        Chosen::Impossible => host.show_info(&format!("{text} interline.sessions reopens it.")),
    }
}

/// Makes a session the current one of its root.
async fn make_current(door: &Door, id: &SessionId) {
    let (Ok(sessions), Ok(host)) = (door.sessions(), door.host()) else {
        return;
    };
    match sessions.choose(id).await {
        Ok(()) => host.show_info(
            "Interline: prompts here now go to that session. interline.chat shows its transcript.",
        ),
        Err(failure) => host.show_info(&failure.sentences()),
    }
}

/// The session of a transcript, reopened if it is not open.
pub async fn reopened(door: &Door, id: SessionId) -> Result<SessionId, Failure> {
    door.sessions()?.choose(&id).await?;
    Ok(id)
}

/// `interline.newSession`.
pub async fn new(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let uri = args.uri.map(Uri::new);
    let path = uri.as_ref().and_then(Uri::path);
    let root = path.and_then(|path| door.workspace.root_for(&path));
    let new = NewSession {
        cwd: root.map(|root| root.path.to_string_lossy().into_owned()),
        ..NewSession::default()
    };
    let info = door.sessions()?.create(new).await?;
    Ok(json!(info))
}

/// Offers the newest sessions of a folder, or continues the named one.
pub async fn list(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let named = args.session_id.or_else(|| args.text.map(SessionId::from));
    if let Some(id) = named {
        door.sessions()?.choose(&id).await?;
        return Ok(json!({ "sessionId": id }));
    }
    let path = args.uri.map(Uri::new).and_then(|uri| uri.path());
    let root = path.and_then(|path| door.workspace.root_for(&path));
    let root = root.or_else(|| door.workspace.roots().into_iter().next());
    let listed = door.sessions()?.list(ListSessions {
        cwd: root.map(|root| root.uri.as_str().to_owned()),
        limit: Some(ROWS),
        ..ListSessions::default()
    });
    let mut rows = listed.await?.sessions;
    rows.retain(|row| row.turns > 0);
    let text = markdown(&rows);
    tasks::spawn(offer(Arc::clone(&door), rows, text.clone()));
    Ok(json!({ "text": text }))
}

async fn offer(door: Arc<Door>, rows: Vec<SessionRow>, text: String) {
    let Ok(host) = door.host() else { return };
    if rows.is_empty() {
        host.show_info("Interline: there are no earlier sessions here.");
        return;
    }
    let titles: Vec<String> = rows.iter().take(BUTTONS).enumerate().map(title).collect();
    match host
        .choose("Interline: which session do you want to continue?", &titles)
        .await
    {
        Chosen::Button(at) => make_current(&door, &rows[at].session_id).await,
        Chosen::Closed | Chosen::Gone => {}
        Chosen::Impossible => show_list(door.clone(), text).await,
    }
}

/// Numbered, so that titles are unique.
fn title((index, row): (usize, &SessionRow)) -> String {
    format!(
        "{}. {} ({})",
        index + 1,
        fence::name(&title_of(row)),
        moment(&row.updated_at)
    )
}

fn title_of(row: &SessionRow) -> String {
    match row.title.trim() {
        "" => "untitled".to_owned(),
        title => title.chars().take(60).collect(),
    }
}

/// To the minute.
fn moment(updated: &str) -> String {
    updated.get(..16).unwrap_or(updated).replace('T', " ")
}

/// The sessions as a document, each with the command that continues it.
fn markdown(rows: &[SessionRow]) -> String {
    let mut out = String::from("# Sessions\n\nRun a session's command to continue it.\n");
    for row in rows {
        let _ = write!(
            out,
            "\n## {}\n\n{}, {}, {} turn{}, {} tokens\n\n```\ninterline.sessions {}\n```\n",
            fence::name(&title_of(row)),
            moment(&row.updated_at),
            row.state,
            row.turns,
            if row.turns == 1 { "" } else { "s" },
            row.tokens,
            json!({ "sessionId": row.session_id }),
        );
    }
    out
}

/// Shows the list of sessions as a document, where no message with buttons can be shown.
async fn show_list(door: Arc<Door>, text: String) {
    let state = &door.env.dirs.state;
    if let Some(path) = show::write_private(state, "sessions.md", text).await {
        let uri = Uri::from_path(&path);
        let words = format!("Interline: the sessions are listed in {}.", path.display());
        show::document(door, uri, &words).await;
    }
}
