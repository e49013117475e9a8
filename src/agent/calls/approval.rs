//! Policy's decision on a prepared call, and the user's answer where policy asks.

use std::path::PathBuf;

use crate::agent::TurnEnv;
use crate::conversation::{Event, ItemId, ToolItem};
use crate::host::{ApprovalAnswer, ApprovalRequest, Choice, ChoiceKind, Subject};
use crate::knowledge::lasting_rules::LastingRules;
use crate::policy::commands::Pattern;
use crate::policy::{self, Fact, Offer, Reason, Rule, lists};
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
    let offer = remember
        .then(|| policy::offer(&cx.policy(), facts))
        .flatten();
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
        choices: choices(rule.is_some(), offer.as_ref()),
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
    let verdict = resolve(cx, &item.item_id, answer, &hash, (rule, offer));
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
    (rule, offer): (Option<Rule>, Option<Offer>),
) -> Verdict {
    let allowed = answer.choice != ChoiceKind::RejectOnce;
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
            ChoiceKind::AllowFolder => "allowFolder",
            ChoiceKind::AllowAlways => "allowAlways",
            ChoiceKind::RejectOnce => "rejectOnce",
        }
        .to_owned(),
    });
    if genuine {
        remember(cx, choice, rule, offer);
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

/// Stores what was shown, and nothing that was not offered.
fn remember(cx: &TurnEnv, choice: ChoiceKind, rule: Option<Rule>, offer: Option<Offer>) {
    match (choice, rule, offer) {
        (ChoiceKind::AllowSession, Some(rule), _) => cx.with_rules(|rules| {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }),
        (ChoiceKind::AllowFolder | ChoiceKind::AllowAlways, _, Some(offer)) => {
            let folder = (choice == ChoiceKind::AllowFolder).then_some(offer.folder.as_path());
            let env = &cx.shared.env;
            let stored = LastingRules::new(env).add(&offer.patterns, folder, env.timestamp());
            if let Err(error) = stored {
                cx.notice(format!("The rule could not be stored: {error}."));
            }
        }
        _ => {}
    }
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
        Fact::Path { .. }
        | Fact::OnDisk
        | Fact::RemoteSchema
        | Fact::DeletesUnsaved
        | Fact::Setting { .. }
        | Fact::NewFolder => None,
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

fn choices(remember: bool, offer: Option<&Offer>) -> Vec<Choice> {
    let choice = |id: &str, label: String, kind, rule: Option<&String>| Choice {
        id: id.to_owned(),
        label,
        kind,
        rule: rule.cloned(),
    };
    let mut choices = vec![choice(
        "allow",
        "Allow".to_owned(),
        ChoiceKind::AllowOnce,
        None,
    )];
    if remember {
        let label = "Allow for this session".to_owned();
        choices.push(choice(
            "allowSession",
            label,
            ChoiceKind::AllowSession,
            None,
        ));
    }
    if let Some(offer) = offer {
        let patterns: Vec<String> = offer.patterns.iter().map(Pattern::text).collect();
        let rule = lists::shown(&patterns);
        let everywhere = "in all trusted folders";
        for (id, where_, kind) in [
            ("allowFolder", "in this folder", ChoiceKind::AllowFolder),
            ("allowAlways", everywhere, ChoiceKind::AllowAlways),
        ] {
            let label = format!("Always allow `{rule}` {where_}");
            choices.push(choice(id, label, kind, Some(&rule)));
        }
    }
    choices.push(choice(
        "reject",
        "Reject".to_owned(),
        ChoiceKind::RejectOnce,
        None,
    ));
    choices
}
