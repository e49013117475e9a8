//! `exec`: one command line for `/bin/sh -c`, to its end or its limits, or in the background of
//! the session, where later calls read its output and stop it.

pub mod background;
mod bound;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use background::Wish;

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, target, words};
use crate::conversation::{Event, Tier};
use crate::env::secrets::Pieces;
use crate::host::Subject;
use crate::knowledge::user_state::UserState;
use crate::policy::{Fact, paths};
use crate::process::background::Refused;
use crate::process::{self, End, Finished, Spec, environment};
use crate::prompt::fence;
use crate::visible;
use crate::workspace::{FileError, Located, Uri, beneath};

const LONGEST_MS: u64 = 600_000;

/// Bytes of output for the model.
const KEEP: usize = 30 * 1024;

/// Bytes of output that are shown live; a flood is no news.
const LIVE: usize = 1024 * 1024;

/// Bytes of a command in its title: its head and its tail.
const TITLE: usize = 160;

pub struct Exec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: Option<String>,
    description: Option<String>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    background: Option<bool>,
    read: Option<String>,
    stop: Option<String>,
}

struct Command {
    command: String,
    /// What the model says that it is for.
    description: Option<String>,
    cwd: Located,
    /// What it names and runs, as it was when the user was asked.
    runs: Vec<String>,
    /// Names of the variables that are kept for commands.
    variables: Vec<String>,
    /// 0: none.
    timeout_ms: u64,
    background: bool,
    unsaved: Vec<Uri>,
}

#[async_trait]
impl Tool for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "command": {"type": "string"},
                "description": {"type": "string", "description": "What the command is for, in a few words; the user reads it"},
                "cwd": {"type": "string", "description": "Default: the session's directory"},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": LONGEST_MS, "description": "Default 120000; with `read`: how long to wait for more"},
                "background": {"type": "boolean", "description": "Start it and return at once"},
                "read": {"type": "string", "description": "A background item: returns its new output"},
                "stop": {"type": "string", "description": "A background item: stops it"},
            }),
            &[],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Sandbox
    }

    fn changes(&self) -> bool {
        true
    }

    fn escapes(&self) -> bool {
        true
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets {
            unnamed: true,
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "exec", arguments)?;
        let timeout_ms = arguments.timeout_ms;
        if timeout_ms.is_some_and(|limit| limit == 0 || limit > LONGEST_MS) {
            return Err(words::for_model(
                cx,
                "results/exec-timeout.md",
                &[("limit", &LONGEST_MS.to_string())],
            ));
        }
        let alone = arguments.cwd.is_none() && arguments.background.is_none();
        let ask = match (arguments.command, arguments.read, arguments.stop) {
            (Some(command), None, None) => {
                let command = Wanted {
                    command,
                    description: arguments.description.as_deref().and_then(described),
                    cwd: arguments.cwd,
                    timeout_ms,
                    background: arguments.background.unwrap_or_default(),
                };
                return start(cx, command).await;
            }
            (None, Some(item), None) if alone => {
                let wait = Duration::from_millis(timeout_ms.unwrap_or(0));
                background::find(cx, &item, Wish::Read(wait))
            }
            (None, None, Some(item)) if alone && timeout_ms.is_none() => {
                background::find(cx, &item, Wish::Stop)
            }
            _ => Err(words::for_model(cx, "results/exec-one.md", &[])),
        };
        Ok(Box::new(ask?))
    }
}

/// A command as the model asked for it.
struct Wanted {
    command: String,
    description: Option<String>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    background: bool,
}

/// The model's description for the user, on one line and bounded.
fn described(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| fence::name(&words.join(" ")))
}

/// A command that can be run.
async fn start(cx: &ToolContext, wanted: Wanted) -> Result<Box<dyn Prepared>, ToolError> {
    if wanted.command.trim().is_empty() {
        return Err(words::for_model(cx, "results/exec-empty.md", &[]));
    }
    let default = match wanted.background {
        true => 0,
        false => cx.config.exec.timeout_ms.clamp(1, LONGEST_MS),
    };
    let cwd = target::locate(cx, wanted.cwd.as_deref().unwrap_or("."))?;
    let unsaved = unsaved(cx, &cwd).await;
    let runs = runs(cx, &wanted.command, &cwd).await;
    let kept = UserState::new(&cx.env).read().unwrap_or_default();
    Ok(Box::new(Command {
        command: wanted.command,
        description: wanted.description,
        cwd,
        runs,
        variables: kept.variable_names().map(str::to_owned).collect(),
        timeout_ms: wanted.timeout_ms.unwrap_or(default),
        background: wanted.background,
        unsaved,
    }))
}

/// What the command names and runs, off the async threads.
async fn runs(cx: &ToolContext, command: &str, cwd: &Located) -> Vec<String> {
    let (cx, command, cwd) = (cx.clone(), command.to_owned(), cwd.path.clone());
    let look = move || bound::contents(&cx, &command, &cwd);
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Documents of the command's root whose text is not on disk: dirty ones, and files that the
/// editor holds where we cannot look.
async fn unsaved(cx: &ToolContext, cwd: &Located) -> Vec<Uri> {
    cx.host.look_again(&cx.session).await;
    let workspace = Arc::clone(&cx.workspace);
    let lanes = Arc::clone(&cx.lanes);
    let root = cwd.root.as_ref().map(|(index, _)| *index);
    let folder = match root.and_then(|index| workspace.roots().into_iter().nth(index)) {
        Some(root) => root.path,
        None => cwd.path.clone(),
    };
    let state = cx.env.dirs.state.clone();
    let find = move || {
        // No command needs what was said.
        let transcript = |uri: &Uri| {
            uri.path()
                .is_some_and(|path| paths::transcript(&path, &state))
        };
        let below = |uri: &Uri| {
            let key = uri.key();
            std::path::Path::new(&key).starts_with(&folder)
        };
        let mut uris: Vec<Uri> = workspace
            .documents()
            .into_iter()
            .filter(|document| below(&document.uri) && !transcript(&document.uri))
            .filter(|document| workspace.dirty(document))
            .map(|document| document.uri)
            .collect();
        let held = lanes.held().into_iter().map(|(located, _)| located.uri);
        uris.extend(held.filter(|uri| below(uri)));
        uris.sort_unstable();
        uris.dedup();
        uris
    };
    tokio::task::spawn_blocking(find).await.unwrap_or_default()
}

#[async_trait]
impl Prepared for Command {
    fn title(&self) -> String {
        let command = one_line(&self.command);
        match self.background {
            true => format!("Run in the background: {command}"),
            false => format!("Run {command}"),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Command {
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            runs: self.runs.clone(),
            variables: self.variables.clone(),
        }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Command {
            command: self.command.clone(),
            description: self.description.clone(),
            cwd: self.cwd.path.display().to_string(),
            timeout_ms: self.timeout_ms,
            background: self.background,
            unsaved: self.unsaved.iter().map(Uri::to_string).collect(),
        })
    }

    fn unsaved(&self) -> Vec<Uri> {
        self.unsaved.clone()
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // What was allowed is this command with these files, not what they became since.
        let now = runs(cx, &self.command, &self.cwd).await;
        if now.iter().any(|text| !self.runs.contains(text)) {
            return Err(words::for_model(cx, "results/exec-changed.md", &[]));
        }
        // What was not saved in the meantime, the command does not see.
        let unsaved = unsaved(cx, &self.cwd).await;
        let spec = self.spec(cx).map_err(|error| not_started(cx, &error))?;
        if self.background {
            return self.begin(cx, &spec, &unsaved);
        }
        let mut live = 0;
        let sink = Arc::clone(&cx.sink);
        let item = cx.item.clone();
        let (secrets, mut pieces) = (cx.env.clone(), Pieces::default());
        let on_output = move |piece: &str| {
            let piece = pieces.take(piece, secrets.secrets());
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
        Ok(told(cx, &finished, self.timeout_ms, &unsaved))
    }
}

impl Command {
    fn spec(&self, cx: &ToolContext) -> std::io::Result<Spec> {
        let kept = UserState::new(&cx.env).read()?;
        let mut env = environment::allowed(cx.env.vars(), &cx.config.env);
        env.extend(kept.variables().clone());
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
        })
    }

    /// The folder that policy saw, below its root. A link that took its place is not followed.
    fn folder(&self, cx: &ToolContext) -> std::io::Result<process::Folder> {
        let path = &self.cwd.path;
        match beneath::open_located(&cx.workspace, &self.cwd) {
            Ok(folder) => Ok(process::Folder::new(path, folder.into_descriptor())),
            Err(error) => {
                let reason = match error {
                    FileError::Missing => "does not exist".to_owned(),
                    FileError::Escaped => "has a link on its way now".to_owned(),
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

    /// Starts it for the session to keep.
    fn begin(
        &self,
        cx: &ToolContext,
        spec: &Spec,
        unsaved: &[Uri],
    ) -> Result<ToolOutput, ToolError> {
        let item = cx.item.as_str();
        match cx.background.start(item, spec, cx.cancel.clone()) {
            Ok(()) => {
                let mut text = cx
                    .texts
                    .render("results/exec-started.md", &[("item", item)]);
                text.push_str(&missed(cx, unsaved));
                Ok(ToolOutput::text(text))
            }
            Err(Refused::Full) => {
                let running = cx.background.running();
                let running: Vec<&str> = running.iter().map(|it| it.item.as_str()).collect();
                let items = running.join(", ");
                Err(words::for_model(
                    cx,
                    "results/exec-full.md",
                    &[("items", &items)],
                ))
            }
            Err(Refused::Io(error)) => Err(not_started(cx, &error)),
        }
    }
}

fn not_started(cx: &ToolContext, problem: &std::io::Error) -> ToolError {
    let problem = problem.to_string();
    ToolError::Broken {
        words: cx
            .texts
            .render("results/exec-not-started.md", &[("problem", &problem)]),
        reason: problem,
    }
}

/// On a line of its own: the files whose unsaved text the command does not see.
fn missed(cx: &ToolContext, unsaved: &[Uri]) -> String {
    if unsaved.is_empty() {
        return String::new();
    }
    let names: Vec<String> = unsaved
        .iter()
        .map(|uri| match uri.path() {
            Some(path) => target::shown(cx, &path),
            None => uri.to_string(),
        })
        .collect();
    let files = names.join(", ");
    let text = cx
        .texts
        .render("results/exec-unsaved.md", &[("files", &files)]);
    format!("\n{text}")
}

/// How it ended, then what it wrote, then what the model must know about both.
fn told(cx: &ToolContext, finished: &Finished, timeout_ms: u64, unsaved: &[Uri]) -> ToolOutput {
    let texts = &cx.texts;
    let mut text = match finished.end {
        End::Exited(code) => texts.render("results/exec-exited.md", &[("code", &code.to_string())]),
        End::Signalled(signal) => texts.render(
            "results/exec-signalled.md",
            &[("signal", &signal.to_string())],
        ),
        End::TimedOut | End::Cancelled => texts.render(
            "results/exec-timed-out.md",
            &[("limit", &timeout_ms.to_string())],
        ),
    };
    if finished.output.is_empty() {
        text.push('\n');
        text.push_str(&texts.render("results/exec-no-output.md", &[]));
    } else {
        text.push('\n');
        text.push_str(&words::head_and_tail(
            cx,
            &finished.output,
            finished.cut,
            finished.omitted,
            finished.spilled.as_deref(),
        ));
    }
    if finished.left > 0 {
        let count = finished.left.to_string();
        text.push('\n');
        text.push_str(&texts.render("results/exec-left.md", &[("count", &count)]));
    }
    text.push_str(&missed(cx, unsaved));
    ToolOutput {
        text,
        is_error: finished.end != End::Exited(0),
        truncated: finished.omitted > 0,
        ..ToolOutput::default()
    }
}

/// A command on one line: line ends and long blanks are shown, the tail always (A40).
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
