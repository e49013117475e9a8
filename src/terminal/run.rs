//! `interline run`: one prompt, the same pipeline as in an editor, edits to files.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::host::TerminalHost;
use crate::config::Approvals;
use crate::config::load::{ClientSettings, load};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Failure, Input, Mode, SessionId, TurnStop};
use crate::env::Env;
use crate::session::{
    ConfigureSession, Leaving, ListSessions, NewSession, OpenSession, Sessions, StartTurn, index,
};

#[derive(clap::Args)]
pub struct RunArgs {
    /// The model: PROVIDER/ID or an alias.
    #[arg(long, short)]
    model: Option<String>,
    /// The mode: agent, ask or plan.
    #[arg(long)]
    mode: Option<String>,
    /// The named agent to use.
    #[arg(long)]
    agent: Option<String>,
    /// The prompt layout.
    #[arg(long)]
    layout: Option<String>,
    /// What runs without asking: ask, edits or auto.
    #[arg(long)]
    approvals: Option<String>,
    /// Trust the current folder for this run.
    #[arg(long)]
    trust: bool,
    /// Continue the last session of this folder.
    #[arg(long = "continue", conflicts_with = "session")]
    resume: bool,
    /// Continue this session: its id, or the end of it that `interline sessions` shows.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print events as JSON lines.
    #[arg(long)]
    json: bool,
    /// What the agent should do.
    prompt: String,
}

/// Runs the prompt to its end; the exit code is 0 for done, 1 for an error, 2 for a limit,
/// 3 if something had to be asked and could not be, 130 for cancelled.
pub fn run(env: Env, args: RunArgs) -> anyhow::Result<i32> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    crate::process::outlive_file_limits(&runtime)?;
    let code = runtime.block_on(start(env, args));
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    code
}

async fn start(env: Env, args: RunArgs) -> anyhow::Result<i32> {
    let cwd = std::fs::canonicalize(".")?;
    let workspace = super::workspace_of(&cwd);
    let mut settings = load(&env, &ClientSettings::default());
    let unclear = settings.unclear();
    anyhow::ensure!(
        unclear.is_empty(),
        "invalid settings, so nothing was started: {}. Correct them in {}",
        unclear.join("; "),
        env.dirs.config.display()
    );
    if let Some(approvals) = &args.approvals {
        settings.config.approvals = match approvals.to_ascii_lowercase().as_str() {
            "ask" => Approvals::Ask,
            "edits" => Approvals::Edits,
            "auto" => Approvals::Auto,
            other => anyhow::bail!("--approvals {other}: use ask, edits or auto"),
        };
    }
    let mode = match args.mode.as_deref() {
        Some(text) => Some(
            Mode::parse(text)
                .ok_or_else(|| anyhow::anyhow!("--mode {text}: use agent, ask or plan"))?,
        ),
        None => None,
    };
    let sessions = Sessions::new(env, workspace, settings);
    if args.trust {
        sessions.shared().trust_for_now(&cwd);
    }
    let (ended, mut ends) = mpsc::unbounded_channel();
    let host = Arc::new(TerminalHost::new(args.json, ended));
    sessions.attach(host.clone());
    let session_id = session(&sessions, &args, &cwd, mode)
        .await
        .map_err(into_error)?;
    // Before the turn starts: until it is listened to, a signal ends the process at once.
    let stop = stop_signal()?;
    let prompt = Input::Text {
        text: args.prompt.clone(),
    };
    let started = sessions
        .start_turn(StartTurn::new(session_id.clone(), vec![prompt]))
        .await;
    if let Err(failure) = started {
        // Nothing was sent: a new session would be empty.
        if !args.resume && args.session.is_none() {
            sessions.delete(&session_id).await.map_err(into_error)?;
        }
        return Err(into_error(failure));
    }
    let end = tokio::select! {
        end = ends.recv() => end,
        () = stop => {
            let _ = sessions.cancel(&session_id, None).await;
            ends.recv().await
        }
    };
    sessions
        .shutdown(Leaving::Bidden, std::time::Duration::from_secs(2))
        .await;
    Ok(exit_code(end, &host))
}

/// Listens at once, and ends with the first Control-C, SIGTERM or SIGHUP, so that a closed terminal
/// kills no command's tree partially and loses no log line.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut term = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = term.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

async fn session(
    sessions: &Sessions,
    args: &RunArgs,
    cwd: &std::path::Path,
    mode: Option<Mode>,
) -> Result<SessionId, Failure> {
    let known = match (&args.session, args.resume) {
        (Some(id), _) => Some(named(sessions, id)),
        (None, true) => sessions
            .list(ListSessions {
                cwd: Some(cwd.display().to_string()),
                limit: Some(1),
                ..ListSessions::default()
            })
            .await?
            .sessions
            .into_iter()
            .next()
            .map(|row| row.session_id),
        (None, false) => None,
    };
    if let Some(session_id) = known {
        sessions
            .open(OpenSession {
                session_id: session_id.clone(),
                before: None,
                limit: Some(0),
                cwd: None,
            })
            .await?;
        sessions
            .configure(ConfigureSession {
                model: args.model.clone(),
                mode,
                layout: args.layout.clone(),
                agent: args.agent.clone(),
                ..ConfigureSession::new(session_id.clone())
            })
            .await?;
        return Ok(session_id);
    }
    if args.resume {
        super::complain("this folder has no stored session; starting a new one.");
    }
    let info = sessions
        .create(NewSession {
            cwd: Some(cwd.display().to_string()),
            model: args.model.clone(),
            mode,
            layout: args.layout.clone(),
            agent: args.agent.clone(),
            ..NewSession::default()
        })
        .await?;
    Ok(info.session_id)
}

/// The session with this id, or the only one whose id ends so.
fn named(sessions: &Sessions, id: &str) -> SessionId {
    let folder = sessions.shared().env.dirs.state.join("sessions");
    match index::ending_in(&folder, id).as_slice() {
        [only] => only.row.session_id.clone(),
        _ => SessionId::from(id),
    }
}

fn into_error(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!(super::failure(&failure))
}

fn exit_code(end: Option<EnvelopeBody>, host: &TerminalHost) -> i32 {
    let rejected = host.rejected();
    if !rejected.is_empty() {
        super::complain(&format!(
            "rejected, because there is no terminal to ask on: {}",
            rejected.join("; ")
        ));
        return 3;
    }
    let Some(EnvelopeBody::Ended {
        stop_reason, error, ..
    }) = end
    else {
        return 1;
    };
    if let Some(error) = error {
        super::complain(&error.sentences());
    } else if let Some(reason) = stop_reason.reason() {
        super::complain(&format!("stopped: {reason}"));
    }
    match stop_reason {
        TurnStop::EndTurn => 0,
        TurnStop::Error | TurnStop::Refusal => 1,
        TurnStop::MaxSteps | TurnStop::MaxTokens | TurnStop::Budget => 2,
        TurnStop::Cancelled => 130,
    }
}
