//! Policy's decision on a prepared call, and the user's answer where policy asks.

use std::path::PathBuf;

use crate::agent::TurnEnv;
use crate::conversation::{Event, ItemId, ToolItem};
use crate::host::{ApprovalAnswer, ApprovalRequest, Choice, ChoiceKind, Subject};
use crate::policy::{Fact, Reason, Rule};
use crate::prompt::fence;
use crate::tools::messages;
use crate::visible;

/// Most bytes of a command in the words about a rule: the approval shows all of it.
const SHOWN_COMMAND: usize = 400;

/// What happens with a prepared call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Run,
    /// The user said no, or cannot be asked; the message for the model.
    Refused(String),
    /// The request expired: the turn ends with a notice.
    Expired,
    Cancelled,
}

/// Asks the user about exactly `subject`. The answer is valid once, and only with the subject's
/// hash (INV-8).
pub async fn ask(
    cx: &TurnEnv,
    item: &ToolItem,
    subject: Subject,
    reason: Reason,
    remember: bool,
    facts: &[Fact],
) -> Verdict {
    let hash = subject.hash();
    let rule = remember.then(|| rule(facts)).flatten();
    let limit = cx.config().limits.approval();
    let request = ApprovalRequest {
        session_id: cx.session.clone(),
        turn_id: cx.turn.clone(),
        item_id: item.item_id.clone(),
        hash: hash.clone(),
        expires_at: cx.shared.env.timestamp()
            + jiff::SignedDuration::try_from(limit).unwrap_or(jiff::SignedDuration::from_hours(1)),
        subject,
        title: visible::content(&fence::line(&item.title)),
        reason: messages::explain_question(reason, facts),
        remember: rule.as_ref().map(|rule| fence::line(&describe(rule))),
        choices: choices(rule.is_some()),
    };
    cx.notify_hooks(
        "permission_prompt",
        format!("Approval needed: {}", request.title),
    );
    let answer = tokio::select! {
        answer = cx.host.approve(request) => answer,
        () = cx.cancel.cancelled() => return Verdict::Cancelled,
        () = tokio::time::sleep(limit) => return Verdict::Expired,
    };
    let verdict = resolve(cx, &item.item_id, answer, &hash, rule);
    if matches!(verdict, Verdict::Refused(_)) {
        for fact in facts {
            if let Fact::Command {
                command,
                escalation: Some(_),
                ..
            } = fact
            {
                let background = &cx.state.background;
                background.refuse_escalation(&cx.turn, command);
            }
        }
    }
    verdict
}

fn resolve(
    cx: &TurnEnv,
    item: &ItemId,
    answer: ApprovalAnswer,
    hash: &str,
    rule: Option<Rule>,
) -> Verdict {
    let allowed = matches!(
        answer.choice,
        ChoiceKind::AllowOnce | ChoiceKind::AllowSession | ChoiceKind::AllowAlways
    );
    let genuine = allowed && answer.hash == hash;
    let choice = if genuine {
        answer.choice
    } else {
        ChoiceKind::RejectOnce
    };
    cx.sink.emit(Event::ApprovalResolved {
        item_id: item.clone(),
        by: answer.by.clone(),
        choice: match choice {
            ChoiceKind::AllowOnce => "allowOnce",
            ChoiceKind::AllowSession => "allowSession",
            ChoiceKind::AllowAlways => "allowAlways",
            ChoiceKind::RejectOnce => "rejectOnce",
        }
        .to_owned(),
    });
    if genuine {
        if choice != ChoiceKind::AllowOnce
            && let Some(rule) = rule
        {
            cx.with_rules(|rules| {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            });
        }
        return Verdict::Run;
    }
    let by = if allowed {
        "the answer was for different content".to_owned()
    } else {
        answer.by
    };
    Verdict::Refused(messages::rejected(
        &cx.shared.texts,
        &by,
        answer.feedback.as_deref(),
    ))
}

/// The exact rule that *allow for this session* stores.
fn rule(facts: &[Fact]) -> Option<Rule> {
    facts.iter().find_map(|fact| match fact {
        Fact::Command {
            command, cwd, runs, ..
        } => Some(Rule::Command {
            command: command.clone(),
            cwd: PathBuf::from(&cwd.path),
            runs: runs.clone(),
        }),
        Fact::Fetch { origin, .. } => Some(Rule::Site {
            origin: origin.clone(),
        }),
        Fact::Mcp {
            server, tool, pin, ..
        } => Some(Rule::Mcp {
            server: server.clone(),
            tool: tool.clone(),
            pin: pin.clone(),
        }),
        Fact::Memory { everywhere, .. } => everywhere.then_some(Rule::Memory),
        Fact::Path { .. } | Fact::OnDisk | Fact::Setting { .. } | Fact::NewFolder => None,
    })
}

fn describe(rule: &Rule) -> String {
    match rule {
        Rule::Command { command, cwd, runs } => {
            let until = match runs.is_empty() {
                true => "",
                false => ", until a file in it or a stored variable changes",
            };
            let command = visible::command(command).replace('\n', "⏎");
            let command = visible::ends(&command, SHOWN_COMMAND);
            format!(
                "exactly `{command}` in {} for this session{until}",
                cwd.display()
            )
        }
        Rule::Memory => "memories about you, for this session".to_owned(),
        Rule::Site { origin } => format!("pages of {origin} for this session"),
        Rule::Mcp { server, tool, .. } => {
            let (server, tool) = (fence::name(server), fence::name(tool));
            format!("`{tool}` of the MCP server `{server}`, with any arguments, for this session")
        }
    }
}

fn choices(remember: bool) -> Vec<Choice> {
    let session = (
        "allowSession",
        "Allow for this session",
        ChoiceKind::AllowSession,
    );
    [("allow", "Allow", ChoiceKind::AllowOnce)]
        .into_iter()
        .chain(remember.then_some(session))
        .chain([("reject", "Reject", ChoiceKind::RejectOnce)])
        .map(|(id, label, kind)| Choice {
            id: id.to_owned(),
            label: label.to_owned(),
            kind,
        })
        .collect()
}
