//! `delegate`: a part of the work, done by a sub-agent in a session of its own. What it reports
//! is data to the model that asked. How a sub-agent runs is the session's ([`super::Delegate`]).

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Errand, Prepared, Report, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, words,
};
use crate::conversation::{SessionId, Tier, TurnStop};
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::fence;

/// Bytes of a task, and of the report that the model gets.
const TASK: usize = 32 * 1024;
const REPORT: usize = 30 * 1024;

/// Characters of a task in its title.
const TITLE: usize = 80;

pub struct Delegate;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    task: String,
    agent: Option<String>,
}

struct Delegated {
    session: SessionId,
    task: String,
    agent: Option<String>,
}

#[async_trait]
impl Tool for Delegate {
    fn name(&self) -> &'static str {
        "delegate"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "task": {"type": "string", "description": "What to do and what to report; it knows nothing else"},
                "agent": {"type": "string", "description": "Name of an agent of the user's; default: one like you"},
            }),
            &["task"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    /// Its own calls are ordered by what they touch; nothing is known of them here.
    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "delegate", arguments)?;
        let empty = arguments.task.trim().is_empty();
        if empty || arguments.task.len() > TASK {
            let limit = TASK.to_string();
            return Err(words::for_model(
                cx,
                "results/delegate-task.md",
                &[("limit", &limit)],
            ));
        }
        let Some(delegate) = &cx.delegate else {
            return Err(words::for_model(cx, "results/delegate-never.md", &[]));
        };
        let agent = arguments.agent.filter(|name| !name.trim().is_empty());
        if let Some(name) = &agent {
            delegate.check(name).map_err(|problem| {
                let problem = fence::line(&problem);
                words::for_model(cx, "results/delegate-agent.md", &[("problem", &problem)])
            })?;
        }
        Ok(Box::new(Delegated {
            session: SessionId(cx.env.id("s")),
            task: arguments.task,
            agent,
        }))
    }
}

#[async_trait]
impl Prepared for Delegated {
    fn title(&self) -> String {
        let line = self.task.lines().find(|line| !line.trim().is_empty());
        let line = fence::line(line.unwrap_or_default().trim());
        let mut title: String = line.chars().take(TITLE).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        match &self.agent {
            Some(agent) => format!("Delegate to {}: {title}", fence::name(agent)),
            None => format!("Delegate: {title}"),
        }
    }

    /// Whatever the sub-agent does is judged when it does it.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    fn child(&self) -> Option<SessionId> {
        Some(self.session.clone())
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(delegate) = cx.delegate.clone() else {
            return Err(words::for_model(cx, "results/delegate-never.md", &[]));
        };
        let errand = Errand {
            session: self.session,
            item: cx.item.clone(),
            task: self.task,
            agent: self.agent,
        };
        let report = delegate.run(errand).await.map_err(|problem| {
            let problem = fence::line(&problem);
            words::for_model(cx, "results/delegate-agent.md", &[("problem", &problem)])
        })?;
        // With the turn; alone, the turn goes on and is told.
        if report.stop == TurnStop::Cancelled && cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        Ok(told(cx, report))
    }
}

/// How it ended, then its last words as data.
fn told(cx: &ToolContext, report: Report) -> ToolOutput {
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
