//! Runs the user's hooks (`knowledge::hooks`) on the events of a session. A hook may refuse, ask
//! the user, or add context; it never allows or changes anything. Every command starts in
//! [`script`], which decides its folder, its environment, and that a workspace's is confined.

pub mod events;
mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub use outcome::Outcome;

use super::Shared;
use crate::config::{Config, SandboxConfig};
use crate::conversation::{Mode, SessionId};
use crate::env::tasks;
use crate::knowledge::hooks::{self, Author, Event, Found, Hook};
use crate::process::confine::{Confinement, Grade};
use crate::process::script::{self, Script};
use crate::process::{Folder, environment};
use crate::prompt::fence;
use crate::tools::exec::sandbox;

/// Longest notice, in characters.
const NOTICE: usize = 500;

/// What a session knows of its hooks.
#[derive(Debug, Default)]
pub struct Hooks {
    /// As last found; `None` before the first turn.
    found: Mutex<Option<Arc<Found>>>,
    /// Notices that the user has seen.
    said: Mutex<BTreeSet<String>>,
    /// `SessionStart` has run.
    started: AtomicBool,
    /// Context that the next message carries.
    pending: Mutex<Vec<String>>,
}

impl Hooks {
    /// The hooks as last found.
    pub fn found(&self) -> Arc<Found> {
        self.found.lock().clone().unwrap_or_default()
    }

    /// `true` once: the session's first turn in this process begins.
    fn begin(&self) -> bool {
        !self.started.swap(true, Ordering::Relaxed)
    }

    /// The session had a turn in this process.
    pub fn has_begun(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Takes the context that waits for the next message.
    pub fn take_pending(&self) -> Vec<String> {
        std::mem::take(&mut *self.pending.lock())
    }

    /// Keeps context for the next message.
    pub fn add_pending(&self, texts: Vec<String>) {
        self.pending.lock().extend(texts);
    }

    /// Whether the user has not seen this notice.
    fn is_news(&self, text: &str) -> bool {
        self.said.lock().insert(text.to_owned())
    }
}

/// The session in which a hook runs.
pub struct Place<'a> {
    pub shared: &'a Arc<Shared>,
    pub config: &'a Config,
    pub hooks: &'a Hooks,
    pub session: &'a SessionId,
    pub cwd: &'a Path,
    pub mode: Mode,
}

/// One event. `names`: what matchers are compared with; `fields`: of the input.
pub struct Occasion<'a> {
    pub event: Event,
    pub names: &'a [&'a str],
    pub fields: Value,
}

/// Reads the session's hooks; the notices about files that are not used.
pub async fn load(place: &Place<'_>) -> Vec<String> {
    let (shared, cwd) = (place.shared.clone(), place.cwd.to_owned());
    let sandbox = place.config.sandbox.clone();
    let looked = tasks::blocking(move || {
        let trusted = || shared.trusted(&cwd);
        let found = hooks::find(&shared.workspace, &shared.env, &shared.trust, &cwd, trusted);
        let notices = problems(&found, &sandbox);
        (found, notices)
    });
    let (found, notices) = looked.await.unwrap_or_default();
    *place.hooks.found.lock() = Some(Arc::new(found));
    notices
}

/// How far a hook is confined. Blocking at the first call; the user's own costs nothing. The error
/// says why it does not run.
fn grade(hook: &Hook, sandbox: &SandboxConfig) -> Result<Grade, String> {
    match hook.author {
        Author::User => Ok(Grade::None),
        Author::Workspace => sandbox::offered(sandbox, sandbox::grade(sandbox)),
    }
}

/// One line for the user, with how far it is confined. Not escaped. Blocking at the first call.
pub fn line(hook: &Hook, sandbox: &SandboxConfig) -> String {
    match grade(hook, sandbox) {
        Ok(Grade::None) => hook.line(),
        Ok(grade) => format!("{}, sandbox: {}", hook.line(), grade.as_str()),
        Err(_) => format!("{}, does not run", hook.line()),
    }
}

/// Why hooks do not run, for the user. Blocking at the first call.
pub fn problems(found: &Found, sandbox: &SandboxConfig) -> Vec<String> {
    let refused = found.hooks.iter().filter_map(|hook| {
        let why = grade(hook, sandbox).err()?;
        let file = fence::name(&hook.source);
        Some(format!("The hooks of {file} do not run: {why}."))
    });
    let refused: BTreeSet<String> = refused.collect();
    let untrusted = found.untrusted.iter().map(|(file, known)| {
        let why = match known {
            true => "the file, or one that it names, has changed since you trusted it",
            false => "the file is not trusted",
        };
        format!(
            "The hooks of {} do not run, because {why}. Run `interline trust` in the folder to see the \
             file and to trust it.",
            fence::name(file)
        )
    });
    let rows = found.problems.iter();
    let rows = rows.map(|(source, why)| format!("{}: {}", fence::name(source), fence::line(why)));
    untrusted.chain(rows).chain(refused).collect()
}

/// Runs the hooks of an event side by side. Their outcomes are joined in the order of the files.
/// The files are read again before, because only unchanged content is trusted.
pub async fn run(place: &Place<'_>, occasion: Occasion<'_>, cancel: &CancellationToken) -> Outcome {
    let runs = |hook: &&Hook| hook.runs_on(occasion.event, occasion.names);
    if place.hooks.found.lock().is_some() && !place.hooks.found().hooks.iter().any(|it| runs(&it)) {
        return Outcome::default();
    }
    let mut out = Outcome::default();
    out.notices.extend(load(place).await);
    let found = place.hooks.found();
    let input = input(place, &occasion);
    let mut commands = BTreeSet::new();
    let hooks = found.hooks.iter().filter(runs);
    let mut hooks: Vec<&Hook> = hooks.filter(|it| commands.insert(&it.command)).collect();
    let confined = match hooks.iter().any(|it| it.author == Author::Workspace) {
        true => confinement(place).await,
        false => Ok(None),
    };
    // Why it is refused was reported when the hooks were read.
    hooks.retain(|it| it.author == Author::User || confined.is_ok());
    let confined = confined.unwrap_or_default();
    let (apart, awaited): (Vec<&Hook>, Vec<&Hook>) = hooks.into_iter().partition(|it| it.apart);
    for hook in apart {
        if let Ok(script) = script(place, hook, confined.clone()) {
            let (input, cancel) = (input.clone(), cancel.clone());
            tasks::spawn(async move { script::run(script, &input, cancel.cancelled()).await });
        }
    }
    let outcomes = awaited.into_iter().map(async |hook| {
        let ended = match script(place, hook, confined.clone()) {
            Ok(script) => script::run(script, &input, cancel.cancelled()).await,
            Err(error) => Err(error),
        };
        outcome::of(hook, ended)
    });
    for one in join_all(outcomes).await {
        out.join(one);
    }
    for text in &mut out.notices {
        *text = fence::line(text).chars().take(NOTICE).collect();
    }
    out
}

/// How the workspace's hooks are confined; `None`: not at all. The error says why they do not run.
async fn confinement(place: &Place<'_>) -> Result<Option<Arc<Confinement>>, String> {
    let (shared, cwd) = (place.shared.clone(), place.cwd.to_owned());
    let config = place.config.sandbox.clone();
    let found = tasks::blocking(move || {
        let workspace = &shared.workspace;
        let roots = workspace.roots().into_iter().map(|root| root.path);
        let roots = roots.chain([hooks::root(workspace, &cwd)]).collect();
        sandbox::of_hooks(&config, &shared.env.dirs, roots)
    });
    found.await.map_err(|error| error.to_string())?
}

/// The JSON on a hook's standard input, without keys in use.
fn input(place: &Place<'_>, occasion: &Occasion<'_>) -> Vec<u8> {
    let mode = match place.mode {
        Mode::Agent => "default",
        Mode::Ask | Mode::Plan => "plan",
    };
    let mut input = json!({
        "session_id": place.session,
        "cwd": place.cwd,
        "permission_mode": mode,
        "hook_event_name": occasion.event.as_str(),
    });
    if let (Some(input), Value::Object(fields)) = (input.as_object_mut(), &occasion.fields) {
        input.extend(fields.clone());
    }
    let text = input.to_string();
    place.shared.env.secrets().clean(&text).into_owned().into()
}

/// How a hook's command starts: in the session's directory, and a workspace's only with the
/// environment of commands. In a folder that is not trusted the user's hooks run in the config
/// folder and get no path of the project, so that the folder cannot supply a program to them.
fn script(
    place: &Place<'_>,
    hook: &Hook,
    confined: Option<Arc<Confinement>>,
) -> std::io::Result<Script> {
    let shared = place.shared;
    let vars = shared.env.vars();
    let mut env: BTreeMap<String, String> = match hook.author {
        Author::User => vars.clone(),
        Author::Workspace => environment::allowed(vars, &place.config.env),
    };
    env.remove("CLAUDE_PROJECT_DIR");
    let trusted = shared.trusted(place.cwd);
    if trusted {
        let root = hooks::root(&shared.workspace, place.cwd);
        env.insert("CLAUDE_PROJECT_DIR".into(), root.display().to_string());
    }
    let cwd: PathBuf = match trusted {
        true => place.cwd.to_owned(),
        false => shared.env.dirs.config.clone(),
    };
    Ok(Script {
        command: hook.command.clone(),
        cwd: Folder::at(&cwd)?,
        env,
        timeout: hook.timeout,
        confinement: confined.filter(|_| hook.author == Author::Workspace),
    })
}
