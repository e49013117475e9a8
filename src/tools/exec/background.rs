//! What a call of `exec` does with a command that runs in the background: read what it wrote, or
//! stop it. Both only look at or end what was allowed to start, so policy has nothing to ask.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::one_line;
use crate::host::Subject;
use crate::policy::Fact;
use crate::process::background::{Command, Ended, Output};
use crate::process::{Background, End};
use crate::prompt::{Texts, fence};
use crate::tools::{Prepared, ToolContext, ToolError, ToolOutput, words};

/// What is wanted of it.
pub(super) enum Wish {
    /// Waits so long for something new.
    Read(Duration),
    Stop,
}

pub(super) struct Ask {
    command: Arc<Command>,
    wish: Wish,
}

/// The command of `item`, or which there are.
pub(super) fn find(cx: &ToolContext, item: &str, wish: Wish) -> Result<Ask, ToolError> {
    if let Some(command) = cx.background.get(item) {
        return Ok(Ask { command, wish });
    }
    let running = cx.background.running();
    let running: Vec<&str> = running.iter().map(|it| it.item.as_str()).collect();
    let known = match running.is_empty() {
        true => cx.texts.render("results/exec-none.md", &[]),
        false => running.join(", "),
    };
    let item = fence::name(item);
    Err(words::for_model(
        cx,
        "results/exec-unknown.md",
        &[("item", &item), ("known", &known)],
    ))
}

#[async_trait]
impl Prepared for Ask {
    fn title(&self) -> String {
        let command = one_line(&self.command.command);
        match self.wish {
            Wish::Read(_) => format!("Read the output of {command}"),
            Wish::Stop => format!("Stop {command}"),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let output = match self.wish {
            Wish::Read(wait) => tokio::select! {
                output = self.command.read(wait) => output,
                () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            },
            Wish::Stop => self.command.stop().await,
        };
        Ok(told(&cx.texts, &output))
    }
}

/// Whether it runs, then what it wrote since it was last read.
fn told(texts: &Texts, output: &Output) -> ToolOutput {
    let mut text = match &output.ended {
        None => texts.render("results/exec-running.md", &[]),
        Some(ended) => end(texts, ended),
    };
    if output.omitted > 0 {
        text.push('\n');
        text.push_str(&gap(texts, output));
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

fn gap(texts: &Texts, output: &Output) -> String {
    let bytes = output.omitted.to_string();
    match &output.file {
        Some(path) => texts.render(
            "results/exec-omitted.md",
            &[("bytes", &bytes), ("path", &path.display().to_string())],
        ),
        None => texts.render("results/exec-omitted-lost.md", &[("bytes", &bytes)]),
    }
}

/// How a background command ended.
fn end(texts: &Texts, ended: &Ended) -> String {
    let mut text = match ended.end {
        End::Exited(code) => texts.render("results/exec-exited.md", &[("code", &code.to_string())]),
        End::Signalled(signal) => texts.render(
            "results/exec-signalled.md",
            &[("signal", &signal.to_string())],
        ),
        End::TimedOut => texts.render("results/exec-out-of-time.md", &[]),
        End::Cancelled => texts.render("results/exec-stopped.md", &[]),
    };
    let by_itself = matches!(ended.end, End::Exited(_) | End::Signalled(_));
    if by_itself && ended.left > 0 {
        let count = ended.left.to_string();
        text.push(' ');
        text.push_str(&texts.render("results/exec-left-stopped.md", &[("count", &count)]));
    }
    text
}

/// What the model must be told of commands that ended since it heard of them; one text each.
pub fn news(background: &Background, texts: &Texts) -> Vec<(Arc<Command>, String)> {
    let untold = background.untold().into_iter();
    let news = untold.map(|(command, ended)| {
        let (line, end) = (fence::name(&one_line(&command.command)), end(texts, &ended));
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
