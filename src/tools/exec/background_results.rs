//! What a call of `exec` can do with a background command: read its output or stop it. The command
//! itself was allowed, so policy has nothing to ask.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::one_line;
use crate::process::background::{Command, Ended, Output};
use crate::process::{Background, End};
use crate::prompt::{Texts, fence};
use crate::tools::{
    Preparation, Prepared, ToolContext, ToolError, ToolOutput, ToolResult, messages,
};

/// What to do with the command.
pub(super) enum Action {
    /// Waits this long for new output.
    Read(Duration),
    Stop,
}

/// The command of `item`, or an error that lists the running ones.
pub(super) fn prepare(cx: &ToolContext, item: &str, action: Action) -> Preparation {
    if let Some(command) = cx.background.get(item) {
        let shown = one_line(&command.command);
        let title = match action {
            Action::Read(_) => format!("Read the output of {shown}"),
            Action::Stop => format!("Stop {shown}"),
        };
        return Ok(Prepared::new(title, |cx| run(cx, command, action).boxed()));
    }
    let running = cx.background.running();
    let running: Vec<&str> = running.iter().map(|it| it.item.as_str()).collect();
    let known = match running.is_empty() {
        true => cx.text("results/exec-none.md", &[]),
        false => running.join(", "),
    };
    let item = fence::name(item);
    Err(cx.error(
        "results/exec-unknown.md",
        &[("item", &item), ("known", &known)],
    ))
}

async fn run(cx: &ToolContext, command: Arc<Command>, action: Action) -> ToolResult {
    let output = match action {
        Action::Read(wait) => tokio::select! {
            output = command.read(wait) => output,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        },
        Action::Stop => command.stop().await,
    };
    Ok(read_output(&cx.texts, &output))
}

/// Whether the command runs, then its output since the last read.
fn read_output(texts: &Texts, output: &Output) -> ToolOutput {
    let mut text = match &output.ended {
        None => texts.render("results/exec-running.md", &[]),
        Some(ended) => how_it_ended(texts, ended),
    };
    if output.omitted > 0 {
        text.push('\n');
        let file = output.file.as_deref();
        text.push_str(&messages::omitted_note(texts, output.omitted, file));
    }
    text.push('\n');
    match output.text.trim_end_matches('\n') {
        "" if output.omitted == 0 => text.push_str(&texts.render("results/exec-no-news.md", &[])),
        fresh => text.push_str(fresh),
    }
    ToolOutput {
        text,
        truncated: output.omitted > 0,
        ..ToolOutput::default()
    }
}

/// How a command ended by itself; `None`: it was ended.
pub(super) fn own_end(texts: &Texts, end: End) -> Option<String> {
    match end {
        End::Exited(code) => {
            let code = code.to_string();
            Some(texts.render("results/exec-exited.md", &[("code", &code)]))
        }
        End::Signalled(signal) => {
            let signal = signal.to_string();
            Some(texts.render("results/exec-signalled.md", &[("signal", &signal)]))
        }
        End::TimedOut | End::Cancelled => None,
    }
}

/// How a background command ended.
fn how_it_ended(texts: &Texts, ended: &Ended) -> String {
    let Some(mut text) = own_end(texts, ended.end) else {
        return match ended.end {
            End::TimedOut => texts.render("results/exec-out-of-time.md", &[]),
            _ => texts.render("results/exec-stopped.md", &[]),
        };
    };
    if ended.left > 0 {
        let count = ended.left.to_string();
        text.push(' ');
        text.push_str(&texts.render("results/exec-left-stopped.md", &[("count", &count)]));
    }
    text
}

/// Notices for the model about commands that ended, one text each.
pub fn ended_notices(background: &Background, texts: &Texts) -> Vec<(Arc<Command>, String)> {
    let untold = background.unreported().into_iter();
    let news = untold.map(|(command, ended)| {
        let (line, end) = (
            fence::name(&one_line(&command.command)),
            how_it_ended(texts, &ended),
        );
        let values = [
            ("item", command.item.as_str()),
            ("command", line.as_str()),
            ("end", end.as_str()),
        ];
        let text = texts.render("hints/background-ended.md", &values);
        (command, text)
    });
    news.collect()
}
