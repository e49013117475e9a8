//! `interline.newSession` and `interline.sessions`: going on with an earlier session; and the one that a prompt without a
//! session goes to, with a word about a turn that was cut off.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use super::show;
use crate::conversation::{Failure, SessionId};
use crate::lsp::bare::choices::Chosen;
use crate::lsp::door::Door;
use crate::prompt::fence;
use crate::session::{ListSessions, NewSession, SessionRow};
use crate::workspace::Uri;

/// Buttons of one message.
const BUTTONS: usize = 5;
/// Rows of a listing.
const ROWS: u32 = 50;
const REOPEN: &str = "Reopen it";

/// The current session of a document's root. A fresh one, in a process that had none there, says
/// once if the one before was cut off.
pub async fn current(door: &Arc<Door>, uri: Option<&str>) -> Result<SessionId, Failure> {
    let sessions = door.sessions()?;
    if let Some(known) = sessions.known(uri)? {
        return Ok(known);
    }
    let id = sessions.current(uri).await?;
    tokio::spawn(tell_of_interrupted(Arc::clone(door), id.clone()));
    Ok(id)
}

async fn tell_of_interrupted(door: Arc<Door>, fresh: SessionId) {
    let (Ok(sessions), Ok(host)) = (door.sessions(), door.host()) else {
        return;
    };
    let Some(row) = sessions.interrupted(&fresh).await else {
        return;
    };
    let text = format!(
        "Interline: the last session here, \"{}\", was cut off in a turn; it is kept up to there.",
        fence::name(&row.title)
    );
    match host.choose(&text, &[REOPEN.to_owned()]).await {
        Chosen::Title(title) if title == REOPEN => go_on(&door, &row.session_id).await,
        Chosen::Title(_) | Chosen::Closed => {}
        Chosen::Impossible => host.tell(&format!("{text} interline.sessions reopens it.")),
    }
}

/// Makes a session the current one of its root.
async fn go_on(door: &Door, id: &SessionId) {
    let (Ok(sessions), Ok(host)) = (door.sessions(), door.host()) else {
        return;
    };
    match sessions.choose(id).await {
        Ok(()) => host.tell(
            "Interline: prompts here go to that session now; interline.chat shows its transcript.",
        ),
        Err(failure) => host.tell(&failure.words()),
    }
}

/// The session of a transcript, opened again if it is not open.
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

/// Offers the newest sessions of a folder, or goes on with the named one.
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
    tokio::spawn(offer(Arc::clone(&door), rows, text.clone()));
    Ok(json!({ "text": text }))
}

async fn offer(door: Arc<Door>, rows: Vec<SessionRow>, text: String) {
    let Ok(host) = door.host() else { return };
    if rows.is_empty() {
        host.tell("Interline: there is no earlier session here.");
        return;
    }
    let titles: Vec<String> = rows.iter().take(BUTTONS).enumerate().map(title).collect();
    match host
        .choose("Interline: go on with which session?", &titles)
        .await
    {
        Chosen::Title(chosen) => {
            let found = titles.iter().position(|title| *title == chosen);
            if let Some(row) = found.and_then(|at| rows.get(at)) {
                go_on(&door, &row.session_id).await;
            }
        }
        Chosen::Closed => {}
        Chosen::Impossible => listing(door.clone(), text).await,
    }
}

/// Numbered, so that no two are alike.
fn title((index, row): (usize, &SessionRow)) -> String {
    format!(
        "{}. {} ({})",
        index + 1,
        fence::name(&named(row)),
        moment(&row.updated_at)
    )
}

fn named(row: &SessionRow) -> String {
    match row.title.trim() {
        "" => "without a title".to_owned(),
        title => title.chars().take(60).collect(),
    }
}

/// To the minute.
fn moment(updated: &str) -> String {
    updated.get(..16).unwrap_or(updated).replace('T', " ")
}

/// The sessions as a document, with what goes on with each.
fn markdown(rows: &[SessionRow]) -> String {
    let mut out = String::from("# Sessions\n\nGo on with one by its command.\n");
    for row in rows {
        let _ = write!(
            out,
            "\n## {}\n\n{}, {}, {} turns, {} tokens\n\n```\ninterline.sessions {}\n```\n",
            fence::name(&named(row)),
            moment(&row.updated_at),
            row.state,
            row.turns,
            row.tokens,
            json!({ "sessionId": row.session_id }),
        );
    }
    out
}

/// Shows the list where no question can be asked.
async fn listing(door: Arc<Door>, text: String) {
    let state = door.env.dirs.state.clone();
    let write = move || show::write_private(&state, "sessions.md", &text);
    match tokio::task::spawn_blocking(write).await {
        Ok(Ok(path)) => {
            let uri = Uri::from_path(&path);
            let words = format!("Interline: the sessions are listed in {}.", path.display());
            show::document(door, uri, &words).await;
        }
        Ok(Err(error)) => tracing::warn!(%error, "the list of sessions was not written"),
        Err(error) => tracing::warn!(%error, "the list of sessions was not written"),
    }
}
