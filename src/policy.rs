//! Decides what may happen, purely from canonical facts (INV-8). Deny beats ask, ask beats allow,
//! whichever layer said so; modes are checked before approvals. No I/O.

pub mod commands;
pub mod lists;
pub mod paths;
pub mod roles;
pub mod rules;
pub mod schemas;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Approvals, Review};
use crate::conversation::Mode;
use crate::env::Dirs;
use crate::process::confine::Grade;
use crate::workspace::search::{Entries, Visibility};
use crate::workspace::{FileKind, Located};

pub use lists::{Lasting, Lists};
pub use paths::Class;
pub use roles::Roles;
pub use rules::Rule;

use lists::Restriction;

/// What a tool would do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
}

/// What a command asks for beyond its sandbox: the machine's network, or no sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Escalation {
    Network,
    Outside,
}

/// A canonical fact about a tool call.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A path is read, listed or searched.
    Path { located: Located, access: Access },
    /// A file is created on disk, because the editor does not create files on request.
    OnDisk,
    /// A change adds the address of a schema on the network, which editors fetch.
    RemoteSchema,
    /// A file is deleted while it has unsaved text.
    DeletesUnsaved,
    /// A command line for `/bin/sh -c` and its folder. `runs`: an entry for each file that it names
    /// or runs; `variables`: names of the variables that the agent stored for commands; `sandbox`:
    /// how far it is confined; `escalation`: what it asks for beyond that; `saves`: unsaved text is
    /// saved first.
    Command {
        command: String,
        cwd: Located,
        runs: Vec<String>,
        variables: Vec<String>,
        sandbox: Grade,
        escalation: Option<Escalation>,
        saves: bool,
    },
    /// A memory is saved. `lasting`: beyond the session, in the user's files; `everywhere`: for
    /// sessions in all folders.
    Memory { lasting: bool, everywhere: bool },
    /// A change of how the agent works for the user: a skill, a variable, a name, a setting.
    /// `lasting`: beyond the session.
    Setting { lasting: bool },
    /// A folder is created.
    NewFolder,
    /// A page is fetched. `secret`: its address seems to contain one.
    Fetch { origin: String, secret: bool },
    /// A tool of an MCP server is called. `pin`: hash of the server's description of the tool;
    /// `allowed`: the user's settings allow it without asking; `confined`: the server runs in the
    /// sandbox.
    Mcp {
        server: String,
        tool: String,
        pin: String,
        allowed: bool,
        confined: bool,
    },
}

/// The rules in force for a session.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub mode: Mode,
    pub approvals: Approvals,
    /// When changes are reviewed.
    pub review: Review,
    /// The folder of the session is trusted.
    pub trusted: bool,
    /// Roots (canonical) that are not trusted, whatever the session's own folder is.
    pub untrusted_roots: Vec<PathBuf>,
    /// What the user allowed for this session.
    pub rules: Vec<Rule>,
    /// Command lists of the settings; for a command, also the rules that last.
    pub lists: Lists,
    /// Interline's own folders (config, state), which the model may not touch.
    pub own: Vec<PathBuf>,
    pub home: PathBuf,
    /// Files that influence the session, whatever their names.
    pub roles: Arc<Roles>,
    /// The only folder (canonical) that the session's agent works in.
    pub confine: Option<PathBuf>,
}

impl Policy {
    /// What protects files whatever the session: for what is shown or handed over outside of one.
    pub fn of_names(dirs: &Dirs) -> Self {
        Self {
            own: dirs.own().into(),
            home: dirs.home.clone(),
            ..Self::default()
        }
    }

    /// Whether the model may change files in this root at all, with or without asking.
    pub fn writable(&self, root: &Path) -> bool {
        !self.untrusted_roots.iter().any(|other| other == root)
    }

    /// Outside the only folder that the agent may work in.
    fn excludes(&self, located: &Located) -> bool {
        let outside = |folder: &PathBuf| !located.path.starts_with(folder);
        self.confine.as_ref().is_some_and(outside)
    }
}

/// Typed reasons. `tools` and `agent` turn them into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    InsideRoots,
    SessionRule,
    /// A command that the sandbox contains.
    Sandboxed,
    /// A command in the sandbox of which every part is known to only read.
    ReadOnly,
    /// A command that asks for more than its sandbox allows.
    Escalation(Escalation),
    /// A command that a list of the settings, or a rule that lasts, allows.
    Listed,
    /// A command that a list of the settings denies.
    ListDenies,
    /// A command that a list of the settings asks about, or could ask about.
    ListAsks,
    /// A command of too many parts, or nested too deep.
    TooComplex,
    Mode(Mode),
    AsksAlways,
    /// Changes are reviewed before they are applied.
    ReviewsFirst,
    UntrustedFolder,
    OutsideRoots,
    /// Configuration that an editor, a build or a hook executes later.
    ExecutesLater,
    Secret,
    /// The user keeps it from the model.
    Excluded,
    OwnFiles,
    Git,
    ThroughLink,
    HardLink,
    Special,
    Command,
    DangerousCharacters,
    OnDisk,
    /// Editors fetch the address of a schema that a file names.
    RemoteSchema,
    DeletesUnsaved,
    /// Stored in Interline's own folders, through code that checks it.
    Memory,
    /// Later sessions in all folders read it.
    Everywhere,
    Setting,
    NewFolder,
    /// A server sees what is in the address.
    Fetch,
    SecretInAddress,
    /// Outside the folder that the agent is confined to.
    Confined,
    /// A tool of an MCP server.
    Mcp,
    /// One whose server runs in the sandbox.
    McpConfined,
    /// One that the user's settings allow without asking.
    McpAllowed,
    /// A hook asks for the user's approval.
    Hook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow(Reason),
    /// `remember`: *allow for this session* may be offered.
    Ask {
        reason: Reason,
        remember: bool,
    },
    Deny(Reason),
}

/// The decision on all facts of one call: the strictest wins.
pub fn decide(policy: &Policy, facts: &[Fact]) -> Decision {
    facts
        .iter()
        .map(|fact| match fact {
            Fact::Path {
                located,
                access: Access::Read,
            } => decide_read(policy, located),
            Fact::Path {
                located,
                access: Access::Write,
            } => decide_write(policy, located),
            Fact::OnDisk => ask(Reason::OnDisk),
            Fact::RemoteSchema => ask(Reason::RemoteSchema),
            Fact::DeletesUnsaved => ask(Reason::DeletesUnsaved),
            Fact::Command {
                command,
                cwd,
                runs,
                sandbox,
                escalation,
                saves,
                ..
            } => decide_command(policy, command, cwd, runs, (*sandbox, *escalation, *saves)),
            Fact::Memory {
                lasting,
                everywhere,
            } => decide_memory(policy, *lasting, *everywhere),
            Fact::Setting { lasting } => decide_setting(policy, *lasting),
            Fact::NewFolder => ask(Reason::NewFolder),
            Fact::Fetch { origin, secret } => decide_fetch(policy, origin, *secret),
            Fact::Mcp {
                server,
                tool,
                pin,
                allowed,
                confined,
            } => decide_mcp(policy, (server, tool, pin), (*allowed, *confined)),
        })
        .reduce(strictest)
        .unwrap_or(Decision::Allow(Reason::InsideRoots))
}

/// Whether a call with these facts ends the session's allowed commands: what they execute may have
/// changed, so the user is asked again (A07).
pub fn ends_command_rules(policy: &Policy, facts: &[Fact]) -> bool {
    facts.iter().any(|fact| match fact {
        Fact::Path {
            located,
            access: Access::Write,
        } => {
            let class = classify(policy, located);
            class.executes_later || class.builds
        }
        // It may be a variable that commands see.
        Fact::Setting { lasting } => *lasting,
        _ => false,
    })
}

/// The decision on a call about which a hook asks the user, each time.
pub fn asked_by_hook(decision: Decision) -> Decision {
    match decision {
        Decision::Allow(_) => ask(Reason::Hook),
        Decision::Ask { reason, .. } => ask(reason),
        deny @ Decision::Deny(_) => deny,
    }
}

fn strictest(first: Decision, second: Decision) -> Decision {
    use Decision::{Allow, Ask, Deny};
    match (first, second) {
        (Deny(reason), _) | (_, Deny(reason)) => Deny(reason),
        (
            Ask { reason, remember },
            Ask {
                reason: other,
                remember: also,
            },
        ) => Ask {
            // A reason that cannot be remembered is the more serious one.
            reason: if remember && !also { other } else { reason },
            remember: remember && also,
        },
        (ask @ Ask { .. }, Allow(_)) | (Allow(_), ask @ Ask { .. }) => ask,
        (Allow(Reason::InsideRoots), Allow(other)) => Allow(other),
        (allow @ Allow(_), Allow(_)) => allow,
    }
}

const fn ask(reason: Reason) -> Decision {
    Decision::Ask {
        reason,
        remember: false,
    }
}

/// Asks, and offers *allow for this session*.
const fn ask_or_remember(reason: Reason) -> Decision {
    Decision::Ask {
        reason,
        remember: true,
    }
}

fn decide_read(policy: &Policy, located: &Located) -> Decision {
    if policy.excludes(located) {
        return Decision::Deny(Reason::Confined);
    }
    let class = classify(policy, located);
    if class.hidden {
        return Decision::Deny(Reason::OwnFiles);
    }
    if class.special || located.kind == FileKind::Special || unresolved(located) {
        return Decision::Deny(Reason::Special);
    }
    if class.output && located.kind == FileKind::File {
        return Decision::Allow(Reason::InsideRoots);
    }
    if let Some(reason) = kept_back(class, located) {
        return ask(reason);
    }
    if inside(located) || class.skill || in_skill_folder(policy, located) {
        return Decision::Allow(Reason::InsideRoots);
    }
    ask(if located.through_link {
        Reason::ThroughLink
    } else {
        Reason::OutsideRoots
    })
}

/// Why the model sees a place only after the user was asked, wherever it is.
fn kept_back(class: Class, located: &Located) -> Option<Reason> {
    if class.secret {
        return Some(Reason::Secret);
    }
    located.excluded.then_some(Reason::Excluded)
}

fn decide_write(policy: &Policy, located: &Located) -> Decision {
    if policy.mode != Mode::Agent {
        return Decision::Deny(Reason::Mode(policy.mode));
    }
    if policy.excludes(located) {
        return Decision::Deny(Reason::Confined);
    }
    let class = classify(policy, located);
    if class.own {
        return Decision::Deny(Reason::OwnFiles);
    }
    if class.git {
        return Decision::Deny(Reason::Git);
    }
    let special = class.special || located.kind == FileKind::Special;
    if special || unresolved(located) || located.uri.read_only() {
        return Decision::Deny(Reason::Special);
    }
    let hard_link = located.kind == FileKind::File && located.links > 1;
    if !inside(located) {
        return if located.through_link {
            Decision::Deny(Reason::ThroughLink)
        } else if hard_link {
            Decision::Deny(Reason::HardLink)
        } else {
            ask(Reason::OutsideRoots)
        };
    }
    if class.executes_later {
        return ask(Reason::ExecutesLater);
    }
    if let Some(reason) = kept_back(class, located) {
        return ask(reason);
    }
    if hard_link {
        return ask(Reason::HardLink);
    }
    let elsewhere = |root: &PathBuf| located.path.starts_with(root);
    if !policy.trusted || policy.untrusted_roots.iter().any(elsewhere) {
        return ask(Reason::UntrustedFolder);
    }
    if policy.approvals == Approvals::Ask {
        return ask(Reason::AsksAlways);
    }
    if policy.review == Review::Before {
        return ask(Reason::ReviewsFirst);
    }
    Decision::Allow(Reason::InsideRoots)
}

fn decide_command(
    policy: &Policy,
    command: &str,
    cwd: &Located,
    runs: &[String],
    (sandbox, escalation, saves): (Grade, Option<Escalation>, bool),
) -> Decision {
    if policy.mode != Mode::Agent {
        return Decision::Deny(Reason::Mode(policy.mode));
    }
    // A command cannot be confined to a folder.
    if policy.confine.is_some() {
        return Decision::Deny(Reason::Confined);
    }
    if commands::has_hidden_characters(command) {
        return Decision::Deny(Reason::DangerousCharacters);
    }
    let verdict = commands::judge(command);
    if verdict == commands::Verdict::Refused {
        return Decision::Deny(Reason::TooComplex);
    }
    let restriction = policy.lists.restriction(command);
    if restriction == Some(Restriction::Denied) {
        return Decision::Deny(Reason::ListDenies);
    }
    let class = classify(policy, cwd);
    if class.own {
        return Decision::Deny(Reason::OwnFiles);
    }
    if class.special || cwd.kind == FileKind::Special || unresolved(cwd) {
        return Decision::Deny(Reason::Special);
    }
    if !inside(cwd) {
        return ask(Reason::OutsideRoots);
    }
    if commands::easy_to_overlook(command) {
        return ask(Reason::DangerousCharacters);
    }
    if restriction.is_some() {
        return ask(Reason::ListAsks);
    }
    // Each time, whatever rules say: they are for the command in its sandbox.
    if let Some(escalation) = escalation {
        return ask(Reason::Escalation(escalation));
    }
    // Whatever the files that it runs are by now, the sandbox contains them.
    let contained = sandbox == Grade::Full;
    let allowed = |rule: &Rule| match contained {
        true => rule.names(command, &cwd.path),
        false => rule.allows(command, &cwd.path, runs),
    };
    if policy.rules.iter().any(allowed) {
        return Decision::Allow(Reason::SessionRule);
    }
    if sandbox < Grade::Full || !trusts(policy, cwd) {
        return ask_or_remember(Reason::Command);
    }
    match policy.approvals {
        Approvals::Auto => Decision::Allow(Reason::Sandboxed),
        // The sandbox holds even if the list of known programs were wrong. The user did
        // not approve this command, so it must not make the editor save.
        Approvals::Edits if verdict == commands::Verdict::ReadOnly && !saves => {
            Decision::Allow(Reason::ReadOnly)
        }
        // No list widens what runs outside the sandbox.
        Approvals::Edits if policy.lists.allow(command, cwd) => Decision::Allow(Reason::Listed),
        Approvals::Edits | Approvals::Ask => ask_or_remember(Reason::Command),
    }
}

/// The text of a folder that is not trusted may steer the model.
fn trusts(policy: &Policy, cwd: &Located) -> bool {
    let elsewhere = |root: &PathBuf| cwd.path.starts_with(root);
    policy.trusted && !policy.untrusted_roots.iter().any(elsewhere)
}

/// A rule for a command that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub patterns: Vec<commands::Pattern>,
    /// The canonical root of the folder that the command runs in.
    pub folder: PathBuf,
}

/// The rule that could last for a call that asks; `None`: none would change the next decision.
pub fn offer(policy: &Policy, facts: &[Fact]) -> Option<Offer> {
    let [fact @ Fact::Command { command, cwd, .. }] = facts else {
        return None;
    };
    let patterns = commands::derived(command)?;
    let folder = lists::root_of(cwd)?.to_owned();
    let mut with_rule = policy.clone();
    with_rule.lists.allow.push(Lasting {
        patterns: patterns.clone(),
        folder: Some(folder.clone()),
    });
    let one = std::slice::from_ref(fact);
    let asks = |policy| matches!(decide(policy, one), Decision::Ask { .. });
    (asks(policy) && !asks(&with_rule)).then_some(Offer { patterns, folder })
}

/// What a server's tool does is unknown, whatever the server says. As with a command, the modes
/// that change nothing refuse it, and the user decides. The answer applies to the tool as the
/// server described it then.
fn decide_mcp(
    policy: &Policy,
    (server, tool, pin): (&str, &str, &str),
    (allowed, confined): (bool, bool),
) -> Decision {
    if policy.mode != Mode::Agent {
        return Decision::Deny(Reason::Mode(policy.mode));
    }
    if policy.confine.is_some() {
        return Decision::Deny(Reason::Confined);
    }
    if allowed && policy.approvals != Approvals::Ask {
        return Decision::Allow(Reason::McpAllowed);
    }
    let rule = Rule::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
        pin: pin.to_owned(),
    };
    if policy.rules.contains(&rule) {
        return Decision::Allow(Reason::SessionRule);
    }
    ask_or_remember(match confined {
        true => Reason::McpConfined,
        false => Reason::Mcp,
    })
}

/// A note for this session changes nothing of the user's. A lasting one reaches sessions in other
/// folders, so an untrusted folder must ask.
fn decide_memory(policy: &Policy, lasting: bool, everywhere: bool) -> Decision {
    if lasting && policy.mode != Mode::Agent {
        return Decision::Deny(Reason::Mode(policy.mode));
    }
    if lasting && (!policy.trusted || policy.approvals == Approvals::Ask) {
        return ask(match policy.trusted {
            true => Reason::AsksAlways,
            false => Reason::UntrustedFolder,
        });
    }
    if everywhere && policy.rules.contains(&Rule::Memory) {
        return Decision::Allow(Reason::SessionRule);
    }
    if everywhere {
        return ask_or_remember(Reason::Everywhere);
    }
    Decision::Allow(Reason::Memory)
}

/// Asks for each new site, in every mode: nothing changes here, but the address leaves the machine
/// (A34).
fn decide_fetch(policy: &Policy, origin: &str, secret: bool) -> Decision {
    if secret {
        return ask(Reason::SecretInAddress);
    }
    let origin = origin.to_owned();
    if policy.rules.contains(&Rule::Site { origin }) {
        return Decision::Allow(Reason::SessionRule);
    }
    ask_or_remember(Reason::Fetch)
}

/// Always asks, because the user's settings are the user's. Restricting only this session is
/// possible in every mode.
fn decide_setting(policy: &Policy, lasting: bool) -> Decision {
    if lasting && policy.mode != Mode::Agent {
        return Decision::Deny(Reason::Mode(policy.mode));
    }
    if lasting && policy.confine.is_some() {
        return Decision::Deny(Reason::Confined);
    }
    ask(Reason::Setting)
}

/// For paths below a root, the names above the root are ignored (a project may be in
/// `~/.vscode/extensions`). Our own folders, `.git`, folders of secrets and kernel folders are
/// protected wherever the root is.
fn classify(policy: &Policy, located: &Located) -> Class {
    let mut class = paths::class(&located.path, &policy.own);
    if let Some((_, relative)) = &located.root {
        let below = paths::class(relative, &[]);
        class.executes_later = below.executes_later;
        class.builds = below.builds;
    }
    class.executes_later |= policy.roles.contains(&located.path);
    class
}

/// In one of the user's skill folders. Skills refer to the files beside them.
fn in_skill_folder(policy: &Policy, located: &Located) -> bool {
    let folders = [".agents", ".interline", ".claude"];
    let skills = folders.map(|name| policy.home.join(name).join(paths::SKILLS));
    skills.iter().any(|folder| located.path.starts_with(folder))
}

/// Inside a root, or an unnamed buffer without a file.
fn inside(located: &Located) -> bool {
    located.root.is_some() || (located.open && located.uri.scheme() == "untitled")
}

/// Neither a file nor an open document, or the path still contains `..`: fail closed.
fn unresolved(located: &Located) -> bool {
    let parent = located
        .path
        .components()
        .any(|component| component == std::path::Component::ParentDir);
    parent || !(located.path.is_absolute() || located.open)
}

impl Visibility for Policy {
    /// What the names allow; [`unasked`](crate::workspace::search::unasked) is the complete answer.
    fn visible(&self, path: &Path) -> bool {
        shown(paths::class(path, &self.own))
    }

    fn inside<'a>(&'a self, folder: &Path) -> Entries<'a> {
        let entries = paths::Entries::new(folder, &self.own);
        Box::new(move |name| shown(entries.class(name)))
    }
}

fn shown(class: Class) -> bool {
    !(class.hidden || class.secret || class.special)
}
