//! `interline.chat` and `interline.send`: the transcript of a session as a chat.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{prompts, sessions, show};
use crate::conversation::event::Origin;
use crate::conversation::{EditorContext, Failure, FailureKind, Input, SessionId};
use crate::env::tasks;
use crate::lsp::bare::transcript::{complete, format};
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::policy::Policy;
use crate::session::NewSession;
use crate::workspace::{Document, Range, Uri, beneath, search, text as positions};

/// The answer to `/help`.
const HELP: &str = "Interline: write under the last \"## You\" and run interline.send. /reset \
    begins a new chat without this history, /exit closes the session, @ attaches files, / starts a \
    skill. Commands: interline.mode, interline.model, interline.cancel, interline.revert, \
    interline.sessions.";

/// Longest quote.
const QUOTE: usize = 32 * 1024;

/// Opens the transcript: of the session, of the place's root, or without either of the current
/// session; the range quoted under a fresh heading.
pub async fn open(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let host = door.host()?;
    let uri = args.uri.clone().map(Uri::new);
    let id = match (&args.session_id, &uri) {
        (Some(id), _) => id.clone(),
        (None, Some(uri)) => match host.transcripts().document(uri) {
            Some((_, id)) => sessions::reopened(&door, id).await?,
            None => sessions::current(&door, Some(uri.as_str())).await?,
        },
        (None, None) => sessions::current(&door, None).await?,
    };
    let quote = uri
        .zip(args.range)
        .and_then(|(uri, range)| quote(&door, &uri, range));
    let path = host.transcripts().open(&id, quote).await?;
    let words = format!(
        "Interline: open {}. Write under the last heading \"{}\", then run interline.send.",
        path.display(),
        format::YOU
    );
    let shown = show_chat(&door, &path, words);
    Ok(json!({ "sessionId": id, "uri": shown.as_str() }))
}

/// Shows a transcript, or else the message `words`, without waiting for the editor.
fn show_chat(door: &Arc<Door>, path: &Path, words: String) -> Uri {
    let shown = Uri::from_path(path);
    let (door, uri) = (Arc::clone(door), shown.clone());
    tasks::spawn(async move { show::document(door, uri, &words).await });
    shown
}

/// The lines of the range, unless nothing is selected or the file is protected. One character is not
/// a selection: some editors select the character at the cursor.
fn quote(door: &Door, uri: &Uri, range: Range) -> Option<String> {
    let document = door.workspace.document(uri).filter(|it| it.opened)?;
    let place = beneath::locate(&door.workspace, Path::new("/"), uri.as_str()).ok()?;
    let policy = Policy::of_names(&door.env.dirs);
    let shown = !place.excluded && search::unasked(&door.workspace, &policy, &place.path);
    if range.start == range.end || !shown {
        return None;
    }
    let offset = |at| positions::offset(&document.rope, at, door.encoding()).ok();
    let (start, end) = (offset(range.start)?, offset(range.end)?);
    let (start, end) = (start.min(end), start.max(end).min(start.min(end) + QUOTE));
    let rope = &document.rope;
    if rope.byte_to_char(end) - rope.byte_to_char(start) <= 1 {
        return None;
    }
    let first = rope.byte_to_line(start);
    let body = rope.slice(rope.line_to_char(first)..rope.byte_to_char(end));
    let shown = place.display(&door.workspace);
    Some(format::quote(&shown, first + 1, &body.to_string()))
}

/// Sends the text under the last heading of the transcript.
pub async fn send(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let host = door.host()?;
    let transcripts = host.transcripts();
    let found = match &args.uri {
        Some(uri) => transcripts.document(&Uri::new(uri.as_str())),
        None => transcripts.newest(),
    };
    let (document, id) = found.ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            "no transcript is open there",
            "interline.chat opens one; its first line must name the session",
        )
    })?;
    let body = String::from(&document.rope);
    let (words, end) = format::prompt(&body).ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            "there is nothing to send",
            format!("write your prompt under a last line `{}`", format::YOU),
        )
    })?;
    let id = sessions::reopened(&door, id).await?;
    if let Some(command) = SlashCommand::parse(words) {
        return run(&door, id, command).await;
    }
    if !transcripts.send(&id, &document, words, end) {
        return Err(Failure::new(
            FailureKind::Busy,
            "this prompt is already being answered",
            "wait for the answer, or change the prompt",
        ));
    }
    let started = start(&door, &id, &document, words).await;
    if started.is_err() {
        transcripts.unsent(&id);
    }
    started
}

/// A command that the chat runs itself instead of asking the model.
#[derive(Clone, Copy)]
enum SlashCommand {
    Exit,
    Help,
    Reset,
}

impl SlashCommand {
    /// The command on the last line of a prompt, if that line holds nothing else.
    fn parse(words: &str) -> Option<Self> {
        match words.trim_end().lines().next_back()?.trim() {
            "/exit" => Some(Self::Exit),
            "/help" => Some(Self::Help),
            "/reset" => Some(Self::Reset),
            _ => None,
        }
    }
}

/// Runs the command. `/reset` begins a new session with its own chat; the old one keeps its history.
async fn run(door: &Arc<Door>, id: SessionId, command: SlashCommand) -> Result<Value, Failure> {
    let (host, sessions) = (door.host()?, door.sessions()?);
    match command {
        SlashCommand::Help => {
            host.show_info(HELP);
            Ok(json!({ "sessionId": id, "command": "help" }))
        }
        SlashCommand::Exit => {
            sessions.close(&id).await?;
            host.show_info("Interline: the session is closed. interline.send reopens it.");
            Ok(json!({ "sessionId": id, "command": "exit" }))
        }
        SlashCommand::Reset => {
            let cwd = sessions.root(&id)?.to_string_lossy().into_owned();
            let new = NewSession {
                cwd: Some(cwd),
                ..NewSession::default()
            };
            let made = sessions.create(new).await?;
            let path = host.transcripts().open(&made.session_id, None).await?;
            let words = format!("Interline: the new chat is {}.", path.display());
            let shown = show_chat(door, &path, words);
            let id = made.session_id;
            Ok(json!({ "sessionId": id, "command": "reset", "uri": shown.as_str() }))
        }
    }
}

async fn start(
    door: &Door,
    id: &SessionId,
    document: &Document,
    words: &str,
) -> Result<Value, Failure> {
    let sessions = door.sessions()?;
    let mut input = vec![Input::Text {
        text: words.to_owned(),
    }];
    let root = sessions.root(id)?;
    input.extend(complete::mentioned(sessions.shared(), &root, words));
    // The transcript itself is not context; a plugin reports what else the editor shows.
    let context = match door.client()?.offer.context {
        true => None,
        false => Some(EditorContext::default()),
    };
    let mut started = prompts::begin(door, id.clone(), input, context, Origin::Transcript).await?;
    started["uri"] = json!(document.uri.as_str());
    Ok(started)
}
