//! `delegate`: a sub-agent does a part of the work in a session of its own. Its report is data for
//! the calling model. The session decides how a sub-agent runs ([`super::Delegate`]).

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;

use super::{
    BuiltIn, Errand, Preparation, Prepared, Report, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use crate::conversation::{SessionId, Tier, TurnStop};
use crate::prompt::fence;

/// Most bytes of a task, and of the report for the model.
const TASK: usize = 32 * 1024;
const REPORT: usize = 30 * 1024;

/// Characters of a task in its title.
const TITLE: usize = 80;

pub struct Delegate;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What to do and what to report; it knows nothing else
    task: String,
    /// Name of an agent of the user's; default: one like you
    agent: Option<String>,
}

#[async_trait]
impl BuiltIn for Delegate {
    const NAME: &'static str = "delegate";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let empty = arguments.task.trim().is_empty();
        if empty || arguments.task.len() > TASK {
            return Err(cx.error("results/delegate-task.md", &[("limit", &TASK)]));
        }
        let Some(delegate) = &cx.delegate else {
            return Err(cx.error("results/delegate-never.md", &[]));
        };
        let agent = arguments.agent.filter(|name| !name.trim().is_empty());
        if let Some(name) = &agent {
            delegate.check(name).map_err(|problem| {
                let problem = fence::line(&problem);
                cx.error("results/delegate-agent.md", &[("problem", &problem)])
            })?;
        }
        let errand = Errand {
            session: SessionId(cx.env.id("s")),
            item: cx.item.clone(),
            task: arguments.task,
            agent,
        };
        // Without facts: the sub-agent's calls are judged one by one.
        Ok(Prepared {
            child: Some(errand.session.clone()),
            ..Prepared::new(title(&errand), |cx| run(cx, errand).boxed())
        })
    }
}

fn title(errand: &Errand) -> String {
    let line = errand.task.lines().find(|line| !line.trim().is_empty());
    let line = fence::line(line.unwrap_or_default().trim());
    let mut title: String = line.chars().take(TITLE).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    match &errand.agent {
        Some(agent) => format!("Delegate to {}: {title}", fence::name(agent)),
        None => format!("Delegate: {title}"),
    }
}

async fn run(cx: &ToolContext, errand: Errand) -> ToolResult {
    let Some(delegate) = &cx.delegate else {
        return Err(cx.error("results/delegate-never.md", &[]));
    };
    let report = delegate.run(errand).await.map_err(|problem| {
        let problem = fence::line(&problem);
        cx.error("results/delegate-agent.md", &[("problem", &problem)])
    })?;
    // Cancelled with the turn. If only the sub-agent was cancelled, the turn continues.
    if report.stop == TurnStop::Cancelled && cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    Ok(report_output(cx, report))
}

/// How the sub-agent ended, then its final answer as data.
fn report_output(cx: &ToolContext, report: Report) -> ToolOutput {
    let texts = &cx.texts;
    let mut text = match (report.stop, &report.problem) {
        (TurnStop::EndTurn, _) => texts.render("results/delegate-done.md", &[]),
        (TurnStop::MaxSteps | TurnStop::Budget, _) => {
            texts.render("results/delegate-limit.md", &[])
        }
        (TurnStop::Cancelled, _) => texts.render("results/delegate-stopped.md", &[]),
        (_, problem) => {
            let problem = fence::line(problem.as_deref().unwrap_or("no whole answer came"));
            texts.render("results/delegate-failed.md", &[("problem", &problem)])
        }
    };
    text.push('\n');
    let said = report.text.trim();
    if said.is_empty() {
        text.push_str(&texts.render("results/delegate-silent.md", &[]));
    } else {
        let cut = said.floor_char_boundary(REPORT);
        text.push_str(&fence::block(&said[..cut]));
        if cut < said.len() {
            let left = (said.len() - cut).to_string();
            text.push('\n');
            text.push_str(&texts.render("results/delegate-cut.md", &[("left", &left)]));
        }
    }
    ToolOutput {
        text,
        is_error: report.stop != TurnStop::EndTurn,
        truncated: said.len() > REPORT,
        files: report.files,
        ..ToolOutput::default()
    }
}
