//! `workspace/executeCommand`: what every client can do without a plugin. Commands start work
//! and return; the work reports through progress, messages and events.

mod chat;
mod comment;
mod mcp;
mod revert;
mod sessions;

pub use comment::comment_at;

use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt;
use crate::conversation::event::Origin;
use crate::conversation::{
    EditorContext, EditorView, Failure, FailureKind, Input, ItemId, Mode, SessionId, TurnId,
    WireRange,
};
use crate::host::{ChoiceKind, Host as _};
use crate::lsp::door::Door;
use crate::lsp::from_proto;
use crate::prompt::{Texts, fence};
use crate::session::{
    ConfigureSession, NewSession, PreviewPrompt, SessionInfo, SetTrust, StartTurn, TrustDecision,
    WhenBusy,
};
use crate::workspace::{Range, Uri};

/// A command of ours.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub name: &'static str,
    /// False: answered with kind `unsupported`, and not advertised.
    pub built: bool,
    /// What its argument looks like.
    pub usage: &'static str,
}

const fn command(name: &'static str, built: bool, usage: &'static str) -> Command {
    Command { name, built, usage }
}

const PLACE: &str = "[{uri, range}]";
const ITEM: &str = "[{itemId?}]";

/// Every command, in the order of protocol.md.
pub const COMMANDS: [Command; 22] = [
    command("interline.ask", true, "[{text, uri?, range?, sessionId?}]"),
    command("interline.explain", true, PLACE),
    command("interline.fix", true, "[{uri, range, diagnostics?}]"),
    command("interline.doComment", true, PLACE),
    command("interline.chat", true, PLACE),
    command("interline.send", true, "[{uri?}]"),
    command("interline.cancel", true, "[{sessionId?, turnId?}]"),
    command("interline.approve", true, ITEM),
    command("interline.reject", true, ITEM),
    command("interline.keep", false, PLACE),
    command("interline.rejectHunk", false, PLACE),
    command(
        "interline.revert",
        true,
        "[{sessionId?, turnId?, itemId?, uri?}]",
    ),
    command("interline.mode", true, "[{mode}]"),
    command("interline.model", true, "[{model}]"),
    command("interline.showPrompt", true, "[{uri?}]"),
    command("interline.newSession", true, "[{uri?}]"),
    command("interline.sessions", true, "[{sessionId?, uri?}]"),
    command("interline.saveAll", true, "[]"),
    command("interline.trust", true, "[{folder?}]"),
    command("interline.untrust", true, "[{folder?}]"),
    command("interline.mcpLogin", true, "[{server?, uri?}]"),
    command("interline.mcpLogout", true, "[{server, uri?}]"),
];

/// Names of the commands that work.
pub fn built() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .filter(|command| command.built)
        .map(|command| command.name)
}

/// The argument of all commands: an object, or bare words (Helix passes what was typed).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Args {
    text: Option<String>,
    uri: Option<String>,
    range: Option<WireRange>,
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    item_id: Option<ItemId>,
    mode: Option<String>,
    model: Option<String>,
    folder: Option<String>,
    server: Option<String>,
    diagnostics: Option<Vec<Value>>,
}

impl Args {
    fn read(arguments: Vec<Value>, command: &Command) -> Result<Self, Failure> {
        let words: Vec<&str> = arguments.iter().filter_map(Value::as_str).collect();
        if !words.is_empty() && words.len() == arguments.len() {
            return Ok(Self {
                text: Some(words.join(" ")),
                ..Self::default()
            });
        }
        let Some(first) = arguments.into_iter().find(|value| !value.is_null()) else {
            return Ok(Self::default());
        };
        serde_json::from_value(first).map_err(|error| usage(command, &error.to_string()))
    }

    /// Without a place of its own a command is about where the editor's cursor is, if it tells.
    fn here(mut self, door: &Door) -> Result<Self, Failure> {
        if self.uri.is_some() || !door.client()?.offer.context {
            return Ok(self);
        }
        let views = door.sessions()?.context().editors;
        if let Some(view) = views.into_iter().find(|view| view.active) {
            self.range = self.range.or(view.selections.first().copied());
            self.uri = Some(view.uri);
        }
        Ok(self)
    }

    /// The place that the command is about.
    fn place(&self, command: &Command) -> Result<(String, WireRange), Failure> {
        match (&self.uri, self.range) {
            (Some(uri), Some(range)) => Ok((uri.clone(), range)),
            _ => Err(usage(
                command,
                "it needs a place: put the cursor into a file",
            )),
        }
    }
}

fn usage(command: &Command, problem: &str) -> Failure {
    Failure::new(
        FailureKind::Invalid,
        format!("{}: {problem}", command.name),
        format!("usage: {} {}", command.name, command.usage),
    )
}

/// Runs a command.
pub async fn execute(door: Arc<Door>, name: &str, arguments: Vec<Value>) -> Result<Value, Failure> {
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        let known: Vec<&str> = built().collect();
        return Err(Failure::new(
            FailureKind::Invalid,
            format!("there is no command {name}"),
            format!("commands: {}", known.join(", ")),
        ));
    };
    if !command.built {
        return Err(Failure::new(
            FailureKind::Unsupported,
            format!("{name} is not built yet"),
            "interline.ask starts a prompt from any place",
        ));
    }
    let args = Args::read(arguments, command)?;
    match name {
        "interline.ask" => ask(&door, args, command).await,
        "interline.explain" => explain(&door, args, command).await,
        "interline.fix" => fix(&door, args, command).await,
        "interline.doComment" => comment::run(&door, args, command).await,
        "interline.chat" => chat::open(&door, args, command).await,
        "interline.send" => chat::send(&door, args).await,
        "interline.cancel" => cancel(&door, args).await,
        "interline.approve" => decide(&door, &args, ChoiceKind::AllowOnce),
        "interline.reject" => decide(&door, &args, ChoiceKind::RejectOnce),
        "interline.revert" => revert::run(&door, args).await,
        "interline.newSession" => new_session(&door, args).await,
        "interline.sessions" => sessions::list(&door, args).await,
        "interline.mode" => mode(&door, args, command).await,
        "interline.model" => model(&door, args, command).await,
        "interline.mcpLogin" => mcp::login(&door, args),
        "interline.mcpLogout" => mcp::logout(&door, args, command).await,
        "interline.trust" => trust(&door, args, TrustDecision::Trust),
        "interline.untrust" => trust(&door, args, TrustDecision::Untrust),
        "interline.showPrompt" => show_prompt(&door, args).await,
        _ => save_all(&door).await,
    }
}

async fn ask(door: &Arc<Door>, mut args: Args, command: &Command) -> Result<Value, Failure> {
    let text = args.text.take().filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| usage(command, "it needs a text"))?;
    start(door, args, text, Origin::Command).await
}

async fn explain(door: &Arc<Door>, args: Args, command: &Command) -> Result<Value, Failure> {
    let args = args.here(door)?;
    args.place(command)?;
    let text = texts(door).render("commands/explain.md", &[]);
    start(door, args, text, Origin::Command).await
}

async fn fix(door: &Arc<Door>, args: Args, command: &Command) -> Result<Value, Failure> {
    let args = args.here(door)?;
    let (uri, range) = args.place(command)?;
    let reported = match &args.diagnostics {
        Some(given) => given.clone(),
        None => reported(door, &uri, range),
    };
    if reported.is_empty() {
        return Err(usage(command, "nothing is reported at that place"));
    }
    let rows: Vec<String> = reported.iter().map(row).collect();
    let text = texts(door).render(
        "commands/fix.md",
        &[("diagnostics", &fence::block(&rows.join("\n")))],
    );
    start(door, args, text, Origin::Command).await
}

fn texts(door: &Door) -> Texts {
    Texts::load(Some(&door.env.dirs.config.join("prompts")))
}

/// What a plugin told of the range's lines.
fn reported(door: &Door, uri: &str, range: WireRange) -> Vec<Value> {
    let all = door.diagnostics();
    let Some(known) = all.get(&Uri::new(uri).key()) else {
        return Vec::new();
    };
    let overlaps = |diagnostic: &&Value| {
        let line = |end: &str| diagnostic["range"][end]["line"].as_u64();
        line("start").is_some_and(|line| line <= u64::from(range.end.line))
            && line("end").is_some_and(|line| line >= u64::from(range.start.line))
    };
    known.diagnostics.iter().filter(overlaps).cloned().collect()
}

/// One diagnostic as a line, 1-based as people and the model count.
fn row(diagnostic: &Value) -> String {
    let it = from_proto::reported(diagnostic);
    let line = it.line.saturating_add(1);
    format!(
        "- line {line}: {}: {}",
        it.severity,
        it.message.replace('\n', " ")
    )
}

async fn start(
    door: &Arc<Door>,
    mut args: Args,
    text: String,
    origin: Origin,
) -> Result<Value, Failure> {
    let sessions = door.sessions()?;
    let uri = args.uri.as_deref().map(Uri::new);
    if let Some((_, id)) = uri.and_then(|uri| door.host().ok()?.transcripts().document(&uri)) {
        // A transcript is its session's, and never context.
        let id = chat::reopened(door, id).await?;
        (args.uri, args.session_id) = (None, args.session_id.or(Some(id)));
    }
    let session_id = match args.session_id {
        Some(id) => id,
        None => sessions::current(door, args.uri.as_deref()).await?,
    };
    let mut input = vec![Input::Text { text }];
    let mut context = None;
    if let Some(uri) = args.uri {
        let version = door
            .workspace
            .document(&Uri::new(uri.as_str()))
            .map(|document| document.version);
        // A plugin that sends the context knows better than one place does.
        if !door.client()?.offer.context {
            context = Some(view(&uri, version, args.range));
        }
        let range = args.range.filter(|range| range.start != range.end);
        if range.is_some() {
            input.push(Input::Resource {
                uri,
                range,
                version,
                text: None,
                label: None,
            });
        }
    }
    let started = sessions
        .start_turn(StartTurn {
            session_id: session_id.clone(),
            client_turn_id: None,
            input,
            context,
            segments: None,
            when_busy: WhenBusy::Queue,
            origin: Some(origin),
        })
        .await?;
    Ok(json!({
        "sessionId": session_id,
        "turnId": started.turn_id,
        "state": started.state,
    }))
}

fn view(uri: &str, version: Option<i32>, range: Option<Range>) -> EditorContext {
    EditorContext {
        editors: vec![EditorView {
            uri: uri.to_owned(),
            version,
            active: true,
            selections: range.into_iter().collect(),
            visible_range: None,
        }],
        ..EditorContext::default()
    }
}

/// The named session's turn, else all that run.
async fn cancel(door: &Door, args: Args) -> Result<Value, Failure> {
    let sessions = door.sessions()?;
    let named = args.session_id.is_some();
    let ids = match args.session_id {
        Some(id) => vec![id],
        None => {
            let rows = sessions.status().await.sessions;
            rows.into_iter()
                .filter(|row| row.state == "running")
                .map(|row| row.session_id)
                .collect()
        }
    };
    let mut cancelled = Vec::new();
    for id in ids {
        match sessions.cancel(&id, args.turn_id.clone()).await {
            Ok(turns) => cancelled.extend(turns),
            // Without a session the turn is looked for in each.
            Err(failure) if !named && failure.kind == FailureKind::UnknownTurn => {}
            Err(failure) => return Err(failure),
        }
    }
    if cancelled.is_empty() {
        door.host()?.message("Interline: nothing is running.");
    }
    Ok(json!({ "cancelled": cancelled }))
}

fn decide(door: &Door, args: &Args, kind: ChoiceKind) -> Result<Value, Failure> {
    let named = args.item_id.clone();
    let named = named.or_else(|| args.text.as_deref().map(ItemId::from));
    let item = door
        .host()?
        .approvals()
        .decide(named.as_ref(), kind, Instant::now())?;
    Ok(json!({ "itemId": item }))
}

async fn new_session(door: &Door, args: Args) -> Result<Value, Failure> {
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

async fn mode(door: &Arc<Door>, args: Args, command: &Command) -> Result<Value, Failure> {
    let wanted = args.mode.as_deref().or(args.text.as_deref());
    let mode = wanted.and_then(Mode::parse).ok_or_else(|| {
        let names = Mode::ALL.map(Mode::as_str);
        usage(command, &format!("modes are {}", names.join(", ")))
    })?;
    let change = |session_id| ConfigureSession {
        mode: Some(mode),
        ..unchanged(session_id)
    };
    configure(door, &args, change).await
}

async fn model(door: &Arc<Door>, args: Args, command: &Command) -> Result<Value, Failure> {
    let Some(model) = args.model.clone().or_else(|| args.text.clone()) else {
        let known = door.sessions()?.offers().models;
        let problem = format!("models are {}", known.join(", "));
        return Err(usage(command, &problem));
    };
    let change = |session_id| ConfigureSession {
        model: Some(model),
        ..unchanged(session_id)
    };
    configure(door, &args, change).await
}

fn unchanged(session_id: SessionId) -> ConfigureSession {
    ConfigureSession {
        session_id,
        model: None,
        mode: None,
        layout: None,
        agent: None,
        thinking: None,
        segments: None,
    }
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

fn trust(door: &Door, args: Args, decision: TrustDecision) -> Result<Value, Failure> {
    let named = args.folder.or(args.text);
    let first = || {
        let roots = door.workspace.roots();
        roots.first().map(|root| root.path.display().to_string())
    };
    let folder = named.or_else(first).ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            "no folder is open",
            "pass {\"folder\": …}, or open a folder in the editor",
        )
    })?;
    door.sessions()?.set_trust(SetTrust {
        folder: Some(folder.clone()),
        file: None,
        hash: None,
        decision,
    })?;
    let host = door.host()?;
    host.message(&match decision {
        TrustDecision::Trust => format!("Interline trusts {folder} from now on."),
        TrustDecision::Untrust => format!("Interline does not trust {folder} any more."),
    });
    host.status_changed();
    Ok(json!({ "folder": folder }))
}

async fn show_prompt(door: &Door, args: Args) -> Result<Value, Failure> {
    let preview = PreviewPrompt {
        session_id: args.session_id,
        uri: args.uri,
        ..PreviewPrompt::default()
    };
    let text = prompt::markdown(&door.sessions()?.preview(preview).await?);
    // A client that runs our commands itself has a better place for it than a file.
    let client = door.client()?;
    if client.offer.commands || !client.show_document {
        return Ok(json!({ "text": text }));
    }
    let state = door.env.dirs.state.clone();
    let written = {
        let text = text.clone();
        tokio::task::spawn_blocking(move || write_private(&state, "prompt.md", &text)).await
    };
    let path = match written {
        Ok(Ok(path)) => path,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the preview was not written");
            return Ok(json!({ "text": text }));
        }
        Err(_) => return Ok(json!({ "text": text })),
    };
    let uri = Uri::from_path(&path);
    let params = json!({ "uri": uri.as_str(), "takeFocus": true });
    // The command returns at once; whether it is shown is the editor's matter.
    drop(door.peer.request("window/showDocument", params, None));
    Ok(json!({ "uri": uri.as_str() }))
}

/// A file for its owner only: a preview holds what is in open buffers.
fn write_private(
    state: &std::path::Path,
    name: &str,
    text: &str,
) -> std::io::Result<std::path::PathBuf> {
    use std::io::Write as _;
    std::fs::create_dir_all(state)?;
    let path = state.join(name);
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    file.write_all(text.as_bytes())?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

async fn save_all(door: &Door) -> Result<Value, Failure> {
    let workspace = Arc::clone(&door.workspace);
    // Comparing with the disk reads files.
    let dirty = tokio::task::spawn_blocking(move || {
        let mut dirty = workspace.documents();
        dirty.retain(|document| document.uri.path().is_some() && workspace.dirty(document));
        dirty.into_iter().map(|document| document.uri).collect()
    });
    let dirty: Vec<Uri> = dirty.await.unwrap_or_default();
    let Some(results) = door.host()?.save(dirty, "save all").await else {
        return Err(Failure::new(
            FailureKind::Unsupported,
            "this client cannot be asked to save",
            "save the files in the editor",
        ));
    };
    let rows: Vec<Value> = results
        .into_iter()
        .map(|row| json!({ "uri": row.uri.as_str(), "saved": row.saved, "reason": row.reason }))
        .collect();
    Ok(json!({ "results": rows }))
}

#[cfg(test)]
mod tests;
