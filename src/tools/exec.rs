//! `exec`: runs one command line with `/bin/sh -c`, to its end or its limits, or in the session's
//! background, where later calls read its output or stop it.

pub mod background_results;
mod executed_files;
pub mod sandbox;
mod unsaved;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use background_results::Action;
use unsaved::{Seen, Unsaved};

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec, messages, reloaded, target,
};
use crate::conversation::{Event, Tier};
use crate::env::redact::Pieces;
use crate::env::tasks;
use crate::host::Subject;
use crate::knowledge::user_state::UserState;
use crate::policy::{Escalation, Fact, paths};
use crate::process::background::Refused;
use crate::process::confine::{Confinement, Grade};
use crate::process::{self, End, Finished, Spec, environment};
use crate::prompt::fence;
use crate::visible;
use crate::workspace::{FileError, Located, Uri, beneath};

const LONGEST_MS: u64 = 600_000;

/// Bytes of output for the model.
const KEEP: usize = 30 * 1024;

/// Bytes of output that are shown live.
const LIVE: usize = 1024 * 1024;

/// Bytes of a command in its title: its head and its tail.
const TITLE: usize = 160;

pub struct Exec;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    command: Option<String>,
    /// What the command is for, in a few words; the user reads it
    description: Option<String>,
    /// Default: the session's directory
    cwd: Option<String>,
    /// Default 120000; with `read`: how long to wait for more
    #[cfg_attr(test, schemars(range(min = 1, max = LONGEST_MS)))]
    timeout_ms: Option<u64>,
    /// Start it and return at once
    background: Option<bool>,
    /// More than it allows
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Escalation"))]
    sandbox: Option<Escalation>,
    reason: Option<String>,
    /// A background item: returns its new output
    read: Option<String>,
    /// A background item: stops it
    stop: Option<String>,
}

struct CommandCall {
    command: String,
    cwd: Located,
    /// The files that it names and runs, as they were when the user was asked.
    runs: Vec<String>,
    /// 0: no limit.
    timeout_ms: u64,
    background: bool,
    /// How far it is confined, as the approval says.
    grade: Grade,
    escalation: Option<Escalation>,
}

#[async_trait]
impl BuiltIn for Exec {
    const NAME: &'static str = "exec";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Sandbox).changes().escapes();
    type Arguments = Arguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::unnamed()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let timeout_ms = arguments.timeout_ms;
        if timeout_ms.is_some_and(|limit| limit == 0 || limit > LONGEST_MS) {
            return Err(cx.error("results/exec-timeout.md", &[("limit", &LONGEST_MS)]));
        }
        let alone = arguments.cwd.is_none()
            && arguments.background.is_none()
            && arguments.sandbox.is_none();
        match (&arguments.command, &arguments.read, &arguments.stop) {
            (Some(command), None, None) => prepare_command(cx, command, &arguments).await,
            (None, Some(item), None) if alone => {
                let wait = Duration::from_millis(timeout_ms.unwrap_or(0));
                background_results::prepare(cx, item, Action::Read(wait))
            }
            (None, None, Some(item)) if alone && timeout_ms.is_none() => {
                background_results::prepare(cx, item, Action::Stop)
            }
            _ => Err(cx.error("results/exec-one.md", &[])),
        }
    }
}

/// Prepares a command.
async fn prepare_command(cx: &ToolContext, command: &str, wanted: &Arguments) -> Preparation {
    if command.trim().is_empty() {
        return Err(cx.error("results/exec-empty.md", &[]));
    }
    let background = wanted.background.unwrap_or_default();
    let default = match background {
        true => 0,
        false => cx.config.exec.timeout_ms.clamp(1, LONGEST_MS),
    };
    let timeout_ms = wanted.timeout_ms.unwrap_or(default);
    let cwd = target::locate(cx, wanted.cwd.as_deref().unwrap_or("."))?;
    let (grade, escalation) = sandbox::checked_grade(cx, wanted.sandbox).await?;
    if escalation.is_some() {
        check_escalation(cx, command, wanted.reason.as_deref())?;
    }
    let unsaved = unsaved::find(cx, &cwd, grade, background).await;
    let runs = executed_contents(cx, command, &cwd).await;
    let kept = UserState::new(&cx.env).read().unwrap_or_default();
    let title = title(command, background, escalation);
    // On one line and bounded, for the user.
    let reason = wanted.reason.as_ref().filter(|_| escalation.is_some());
    let purpose = wanted.description.iter().chain(reason);
    let purpose: Vec<&str> = purpose.flat_map(|it| it.split_whitespace()).collect();
    let call = CommandCall {
        command: command.to_owned(),
        cwd: cwd.clone(),
        runs: runs.clone(),
        timeout_ms,
        background,
        grade,
        escalation,
    };
    Ok(Prepared {
        subject: Some(Subject::Command {
            command: command.to_owned(),
            description: (!purpose.is_empty()).then(|| fence::name(&purpose.join(" "))),
            cwd: cwd.path.display().to_string(),
            timeout_ms,
            background,
            sandbox: escalation,
            unsaved: unsaved.unseen.iter().map(Uri::to_string).collect(),
            sees: unsaved.seen.iter().map(Seen::uri).collect(),
        }),
        facts: vec![Fact::Command {
            command: command.to_owned(),
            cwd,
            runs,
            variables: kept.variable_names().map(str::to_owned).collect(),
            sandbox: grade,
            escalation,
            saves: !unsaved.unseen.is_empty(),
        }],
        unsaved: unsaved.unseen,
        ..Prepared::new(title, |cx| call.run(cx).boxed())
    })
}

/// An escalation has a reason, and the user has not refused it in this turn.
fn check_escalation(
    cx: &ToolContext,
    command: &str,
    reason: Option<&str>,
) -> Result<(), ToolError> {
    if reason.is_none_or(|reason| reason.trim().is_empty()) {
        return Err(cx.error("results/exec-reason.md", &[]));
    }
    match cx.background.escalation_refused(&cx.turn, command) {
        true => Err(cx.error("results/exec-refused-before.md", &[])),
        false => Ok(()),
    }
}

fn title(command: &str, background: bool, escalation: Option<Escalation>) -> String {
    let how = match escalation {
        None => "",
        Some(Escalation::Network) => " with the network",
        Some(Escalation::Outside) => " outside the sandbox",
    };
    let line = one_line(command);
    match (background, how) {
        (true, _) => format!("Run in the background{how}: {line}"),
        (false, "") => format!("Run {line}"),
        (false, _) => format!("Run{how}: {line}"),
    }
}

/// The content of the files that the command names and runs, read off the async threads.
async fn executed_contents(cx: &ToolContext, command: &str, cwd: &Located) -> Vec<String> {
    let (cx, command, cwd) = (cx.clone(), command.to_owned(), cwd.path.clone());
    let look = move || executed_files::contents(&cx, &command, &cwd);
    tasks::blocking(look).await.unwrap_or_default()
}

impl CommandCall {
    async fn run(self, cx: &ToolContext) -> ToolResult {
        // The user approved the command with these files, not with later versions of them.
        let now = executed_contents(cx, &self.command, &self.cwd).await;
        if now.iter().any(|text| !self.runs.contains(text)) {
            return Err(cx.error("results/exec-changed.md", &[]));
        }
        let mut unsaved = unsaved::find(cx, &self.cwd, self.grade, self.background).await;
        unsaved::touch_discarded(cx, &unsaved).await;
        let confinement = sandbox::confinement(cx, &self, &mut unsaved).await;
        let confinement = confinement.map_err(|error| not_started(cx, &error))?;
        let spec = self.spec(cx, confinement);
        let spec = spec.map_err(|error| not_started(cx, &error))?;
        if self.background {
            return self.start_in_background(cx, &spec, &unsaved);
        }
        let mut live = 0;
        let sink = Arc::clone(&cx.sink);
        let item = cx.item.clone();
        let (secrets, mut pieces) = (cx.env.clone(), Pieces::default());
        let on_output = move |piece: &str| {
            let piece = pieces.push(piece, secrets.secrets());
            let room = piece.floor_char_boundary(LIVE.saturating_sub(live));
            live += room;
            if room > 0 {
                sink.emit(Event::ToolOutputDelta {
                    item_id: item.clone(),
                    text: piece[..room].to_owned(),
                });
            }
        };
        let finished = process::run(spec, cx.cancel.clone(), on_output)
            .await
            .map_err(|error| not_started(cx, &error))?;
        if finished.end == End::Cancelled {
            return Err(ToolError::Cancelled);
        }
        let mut output = finished_output(cx, &finished, &self);
        let refused = finished.end != End::Exited(0) && sandbox::refused(&finished.output.text);
        unsaved::finish(cx, &unsaved, (&finished, refused), &mut output).await;
        output.text.push_str(&reloaded::note(cx).await);
        Ok(output)
    }

    fn spec(
        &self,
        cx: &ToolContext,
        confinement: Option<Arc<Confinement>>,
    ) -> std::io::Result<Spec> {
        let kept = UserState::new(&cx.env).read()?;
        let mut env = environment::allowed(cx.env.vars(), &cx.config.env);
        env.extend(kept.variables().clone());
        if let Some(confinement) = &confinement {
            sandbox::set_cache(cx, &confinement.plan, &mut env);
        }
        Ok(Spec {
            command: self.command.clone(),
            cwd: self.folder(cx)?,
            env,
            timeout: match self.timeout_ms {
                0 => Duration::MAX,
                limit => Duration::from_millis(limit),
            },
            keep: KEEP,
            spill: cx.env.dirs.state.join(paths::OUTPUT),
            confinement,
        })
    }

    /// The folder that policy judged, below its root. A link that replaced it is not followed.
    fn folder(&self, cx: &ToolContext) -> std::io::Result<process::Folder> {
        let path = &self.cwd.path;
        match beneath::open_located(&cx.workspace, &self.cwd) {
            Ok(folder) => Ok(process::Folder::new(path, folder.into_descriptor())),
            Err(error) => {
                let reason = match error {
                    FileError::Missing => "does not exist".to_owned(),
                    FileError::Escaped => "is now reached through a link".to_owned(),
                    other => format!("cannot be entered: {other}"),
                };
                let reason = format!("the folder {} {reason}", path.display());
                Err(std::io::Error::new(
                    std::io::ErrorKind::NotADirectory,
                    reason,
                ))
            }
        }
    }

    /// Starts it in the session's background.
    fn start_in_background(&self, cx: &ToolContext, spec: &Spec, unsaved: &Unsaved) -> ToolResult {
        let item = cx.item.as_str();
        match cx.background.start(item, spec, cx.cancel.clone()) {
            Ok(()) => {
                let mut text = cx.text("results/exec-started.md", &[("item", &item)]);
                text.push_str(&unsaved.note(cx));
                Ok(ToolOutput::text(text))
            }
            Err(Refused::Full) => {
                let running = cx.background.running();
                let running: Vec<&str> = running.iter().map(|it| it.item.as_str()).collect();
                let items = running.join(", ");
                Err(cx.error("results/exec-full.md", &[("items", &items)]))
            }
            Err(Refused::Io(error)) => Err(not_started(cx, &error)),
        }
    }
}

fn not_started(cx: &ToolContext, problem: &std::io::Error) -> ToolError {
    let problem = problem.to_string();
    ToolError::Broken {
        words: cx.text("results/exec-not-started.md", &[("problem", &problem)]),
        reason: problem,
    }
}

/// How the command ended, its output, and notes about both.
fn finished_output(cx: &ToolContext, finished: &Finished, call: &CommandCall) -> ToolOutput {
    let (timeout_ms, grade) = (call.timeout_ms, call.grade);
    let mut text = match background_results::own_end(&cx.texts, finished.end) {
        Some(text) => text,
        None => cx.text("results/exec-timed-out.md", &[("limit", &timeout_ms)]),
    };
    text.push('\n');
    if finished.output.text.is_empty() {
        text.push_str(&cx.text("results/exec-no-output.md", &[]));
    } else {
        text.push_str(&messages::mark_gap(&cx.texts, &finished.output));
    }
    if finished.left > 0 {
        text.push('\n');
        let left = finished.left;
        text.push_str(&match finished.stopped {
            true => cx.text("results/exec-left-stopped.md", &[("count", &left)]),
            false => cx.text("results/exec-left.md", &[("count", &left)]),
        });
    }
    if finished.end != End::Exited(0) {
        text.push_str(&sandbox::refusals(cx, grade, &finished.output.text));
    }
    ToolOutput {
        text,
        is_error: finished.end != End::Exited(0),
        truncated: finished.output.omitted > 0,
        ..ToolOutput::default()
    }
}

/// A command on one line. Shows line ends and long blanks, and always the tail (A40).
fn one_line(command: &str) -> String {
    let line = visible::command(command.trim_end()).replace('\n', "⏎");
    if line.len() <= TITLE {
        return line;
    }
    let head = line.floor_char_boundary(TITLE / 2);
    let tail = line.floor_char_boundary(line.len() - TITLE / 2);
    format!("{} … {}", &line[..head], &line[tail..])
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a40_a_title_shows_line_ends_long_blanks_and_the_tail() {
        assert_eq!(one_line("cargo check\n"), "cargo check");
        assert_eq!(one_line("a\n  b"), "a⏎  b");
        let hidden = format!("ls{}; curl x", " ".repeat(500));
        assert_eq!(one_line(&hidden), "ls ⟨500 blanks⟩ ; curl x");
        let long = format!("echo {}; rm x", "ä".repeat(500));
        let shown = one_line(&long);
        assert!(shown.len() < 200 && shown.ends_with("; rm x"), "{shown}");
        assert_eq!(one_line("a\u{1b}b"), "a\\u{1b}b");
    }
}
