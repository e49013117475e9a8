//! Applies an agent to a session: prompt, tools, model, mode and detail. A workspace's agent, or
//! one that only a setting names, can narrow the mode but never widen it (INV-8, INV-9).

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use crate::agent::{Settings, Shared};
use crate::conversation::{Failure, FailureKind};
use crate::knowledge::agents::{self, AgentProfile, Author, UnknownAgent};
use crate::prompt::facts::Detail;
use crate::prompt::fence::name as line;

/// Who chose the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A request that names it.
    Request,
    /// The setting `agent`, which a repository can carry.
    Setting,
}

/// The agent of that name for a session in `cwd`, or an error with the known names (ET-45).
fn profile(
    shared: &Shared,
    settings: &Settings,
    cwd: &Path,
    name: &str,
) -> Result<Arc<AgentProfile>, Failure> {
    let found = agents::find(
        &shared.workspace,
        &shared.env,
        &settings.config,
        cwd,
        shared.trusted(cwd),
    );
    match agents::named(&found, name) {
        Ok(agent) => Ok(Arc::new(agent)),
        Err(unknown) => Err(refusal(&unknown)),
    }
}

fn refusal(unknown: &UnknownAgent) -> Failure {
    let name: String = unknown.name.chars().take(80).collect();
    let known = format!("Agents: {}.", unknown.known.join(", "));
    if let Some((source, reason)) = &unknown.problem {
        return Failure::invalid(
            format!(
                "There is no agent {name:?}: {}: {}.",
                line(source),
                line(reason)
            ),
            known,
        );
    }
    match &unknown.untrusted {
        Some(file) => Failure::new(
            FailureKind::NotTrusted,
            format!("The agent {name:?} is a file of this folder that you have not trusted."),
            format!("Read {file:?}, then run `interline trust` in its folder."),
        ),
        None => Failure::invalid(format!("There is no agent {name:?}."), known),
    }
}

/// Makes `name` the agent of `settings`, with its mode and detail; an empty name removes the
/// current one. Returns the model that it wants. Blocking reads, bounded.
pub fn select(
    shared: &Shared,
    cwd: &Path,
    settings: &mut Settings,
    name: &str,
    by: By,
) -> Result<Option<String>, Failure> {
    if name.is_empty() {
        settings.agent = None;
        settings.profile = None;
        return Ok(None);
    }
    let profile = profile(shared, settings, cwd, name)?;
    if let Some(mode) = profile.mode {
        let free = by == By::Request && profile.author == Author::User;
        settings.mode = match free {
            true => mode,
            false => settings.mode.narrower(mode),
        };
    }
    let detail = profile.detail.map(|detail| detail.as_str());
    if let Some(detail) = detail.and_then(Detail::parse) {
        settings.detail = detail;
    }
    settings.agent = Some(name.to_owned());
    let model = profile.model.clone();
    settings.profile = Some(profile);
    Ok(model)
}

/// The profile of the session's agent as it is now: its file may have changed or lost its trust.
pub fn current_profile(
    shared: &Shared,
    cwd: &Path,
    settings: &Settings,
) -> Result<Option<Arc<AgentProfile>>, Failure> {
    let name = settings.agent.as_deref();
    name.map(|name| profile(shared, settings, cwd, name))
        .transpose()
}
