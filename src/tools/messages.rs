//! Turns typed reasons into text: for the model from `prompts/results/`, for the user here. Names
//! of texts are literals, so that a test can check all of them.

use std::path::Path;

use super::suggestions;
use crate::policy::{Escalation, Fact, Reason, commands};
use crate::process::confine::Grade;
use crate::process::kept_output::Captured;
use crate::prompt::Texts;

/// What the model reads when policy denied a call.
pub fn denied(texts: &Texts, reason: Reason) -> String {
    let name = match reason {
        Reason::Mode(mode) => {
            return texts.render("results/denied-mode.md", &[("mode", mode.as_str())]);
        }
        Reason::OwnFiles => "results/denied-own-files.md",
        Reason::Git => "results/denied-git.md",
        Reason::ThroughLink => "results/denied-through-link.md",
        Reason::HardLink => "results/denied-hard-link.md",
        Reason::Special => "results/denied-special.md",
        Reason::DangerousCharacters => "results/denied-dangerous-characters.md",
        Reason::TooComplex => "results/denied-too-complex.md",
        Reason::ListDenies => "results/denied-by-list.md",
        Reason::Confined => "results/denied-confined.md",
        Reason::InsideRoots
        | Reason::SessionRule
        | Reason::Sandboxed
        | Reason::Escalation(_)
        | Reason::ReadOnly
        | Reason::Listed
        | Reason::ListAsks
        | Reason::AsksAlways
        | Reason::ReviewsFirst
        | Reason::UntrustedFolder
        | Reason::OutsideRoots
        | Reason::ExecutesLater
        | Reason::Secret
        | Reason::Excluded
        | Reason::OnDisk
        | Reason::RemoteSchema
        | Reason::DeletesUnsaved
        | Reason::Memory
        | Reason::Everywhere
        | Reason::Setting
        | Reason::NewFolder
        | Reason::Fetch
        | Reason::SecretInAddress
        | Reason::Mcp
        | Reason::McpConfined
        | Reason::McpAllowed
        | Reason::Hook
        | Reason::Command => "results/denied.md",
    };
    texts.render(name, &[])
}

/// What the model reads when the user rejected a call or did not answer in time.
pub fn rejected(texts: &Texts, by: &str, feedback: Option<&str>) -> String {
    match feedback.map(str::trim).filter(|words| !words.is_empty()) {
        Some(feedback) => texts.render(
            "results/rejected-with-feedback.md",
            &[("by", by), ("feedback", feedback)],
        ),
        None => texts.render("results/rejected.md", &[("by", by)]),
    }
}

/// What the model reads when it called a tool that does not exist (P31).
/// `known`: the names under which the model sees its tools.
pub fn unknown_tool(texts: &Texts, known: &[String], name: &str) -> String {
    let near = suggestions::closest(name, known.iter().map(String::as_str));
    match near.is_empty() {
        true => texts.render(
            "results/unknown-tool.md",
            &[("name", name), ("known", &known.join(", "))],
        ),
        false => texts.render(
            "results/unknown-tool-near.md",
            &[("name", name), ("near", &near.join(", "))],
        ),
    }
}

/// The kept head and tail of a long text, with a note where the middle is missing.
pub(super) fn mark_gap(texts: &Texts, kept: &Captured) -> String {
    let whole = kept.text.trim_end_matches('\n');
    if kept.omitted == 0 {
        return whole.to_owned();
    }
    let gap = omitted_note(texts, kept.omitted, kept.spilled.as_deref());
    let (head, tail) = kept.text.split_at(kept.cut);
    format!("{head}\n{gap}\n{}", tail.trim_end_matches('\n'))
}

/// Says that output is missing, and which file has it.
pub(super) fn omitted_note(texts: &Texts, bytes: u64, file: Option<&Path>) -> String {
    let bytes = bytes.to_string();
    match file {
        Some(path) => texts.render(
            "results/exec-omitted.md",
            &[("bytes", &bytes), ("path", &path.display().to_string())],
        ),
        None => texts.render("results/exec-omitted-lost.md", &[("bytes", &bytes)]),
    }
}

/// Why the user is asked, or why something was denied: one sentence.
pub fn explain(reason: Reason) -> &'static str {
    match reason {
        Reason::InsideRoots => "It stays inside the workspace's folders.",
        Reason::SessionRule => "You allowed exactly this for this session.",
        Reason::Sandboxed => "The sandbox contains it, and the setting `approvals` is `auto`.",
        Reason::ReadOnly => "The sandbox contains it, and every part of it is known to only read.",
        Reason::Escalation(Escalation::Network) => {
            "Sandboxed, but with the network, this once: what it reads can be sent away."
        }
        Reason::Escalation(Escalation::Outside) => {
            "Outside the sandbox, this once: the command can do anything that you can."
        }
        Reason::Listed => "The sandbox contains it, and a rule or your settings allow it.",
        Reason::ListDenies => "The setting `policy.deny` forbids this command.",
        Reason::ListAsks => {
            "The setting `policy` asks about this command, or cannot tell whether it applies."
        }
        Reason::TooComplex => {
            "The command has more than 50 parts, or is nested more than 20 levels deep."
        }
        Reason::Mode(_) => "The session's mode does not allow changes.",
        Reason::AsksAlways => "The setting `approvals` is `ask`.",
        Reason::ReviewsFirst => {
            "The setting `edits.review` is `before`: nothing is applied until you keep it."
        }
        Reason::UntrustedFolder => "This folder is not trusted yet.",
        Reason::OutsideRoots => "It is outside the workspace's folders.",
        Reason::ExecutesLater => {
            "An editor, a build, a hook or an agent will run or follow this file later."
        }
        Reason::Secret => "This file probably contains secrets, and the model would see them.",
        Reason::Excluded => {
            "An `.interlineignore` or your own list keeps this file from the model."
        }
        Reason::OwnFiles => "Only you can change Interline's own settings and state.",
        Reason::Git => "The model never writes files below `.git`.",
        Reason::ThroughLink => "A symbolic link leads out of the workspace's folders.",
        Reason::HardLink => "The file has more than one hard link: it also exists elsewhere.",
        Reason::Special => "It is a device, a pipe or another special file.",
        Reason::Command => "Not sandboxed: the command can do anything that you can.",
        Reason::Memory => "It is stored in Interline's own folders, as text that you can edit.",
        Reason::Everywhere => "Later sessions in all folders will read it as a note about you.",
        Reason::Setting => "It changes how Interline works for you, not only this answer.",
        Reason::NewFolder => "It creates a folder in your workspace.",
        Reason::Fetch => "The site's server sees the address and everything in it.",
        Reason::SecretInAddress => {
            "The address seems to contain a key or a password, which its server would see."
        }
        Reason::Mcp => {
            "The tool's server is not sandboxed, and Interline cannot check what it does."
        }
        Reason::McpConfined => {
            "The tool's server runs in the sandbox, and Interline cannot check what it does there."
        }
        Reason::McpAllowed => "Your settings allow this MCP server's tool without asking.",
        Reason::Confined => "The session's agent is confined to one folder.",
        Reason::Hook => "A hook asks for your approval.",
        Reason::OnDisk => {
            "Your editor does not create files on request, so this one is created on disk."
        }
        Reason::RemoteSchema => {
            "It adds the address of a schema, which your editor may fetch as soon as it shows the file."
        }
        Reason::DeletesUnsaved => "It deletes a file that has unsaved text in your editor.",
        Reason::DangerousCharacters => {
            "The command is too long, or has characters or blanks that can hide a part of it."
        }
    }
}

/// [`explain`], and what a command does not show by itself: which stored variables it sees, and
/// that it runs the project's code.
pub fn explain_question(reason: Reason, facts: &[Fact]) -> String {
    let mut words = explain(reason).to_owned();
    for fact in facts {
        let Fact::Command {
            command,
            variables,
            sandbox,
            escalation,
            ..
        } = fact
        else {
            continue;
        };
        if reason == Reason::Command
            && let Some(confined) = explain_sandbox(*sandbox)
        {
            words = confined.to_owned();
        }
        if let Some(escalation) = escalation
            && reason != Reason::Escalation(*escalation)
        {
            words.push(' ');
            words.push_str(explain(Reason::Escalation(*escalation)));
        }
        if commands::runs_the_project(command) {
            words.push_str(" This one runs the project's code, including the agent's changes.");
        }
        if !variables.is_empty() {
            let names = variables.join(", ");
            words.push_str(&format!(
                " It sees the variables that the agent stored: {names}."
            ));
        }
    }
    words
}

/// What a confined command can do: one sentence.
fn explain_sandbox(grade: Grade) -> Option<&'static str> {
    match grade {
        Grade::None => None,
        Grade::Partial => Some(
            "Partly sandboxed: it can change the workspace's folders, including files there that run later, and read your files.",
        ),
        Grade::Full => Some(
            "Sandboxed: it can change only the workspace's folders, and no existing file there that runs later.",
        ),
    }
}
