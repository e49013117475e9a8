//! Files that have a role in the session now, for policy: files gathered for its prompt and
//! programs that the settings start. A file is protected for its role, not for its name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::agent::request::context::RequestContext;
use crate::config::Config;
use crate::policy::Roles;
use crate::prompt::Facts;

/// Stores the roles of the session's directory for the calls of its turns.
pub(super) fn note(from: &RequestContext, config: &Config, facts: &Facts) {
    let shared = &from.shared;
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    paths.extend(facts.instructions.iter().filter_map(|one| one.path.clone()));
    paths.extend(facts.files.iter().map(|one| one.path.clone()));
    paths.extend(from.layout.files().iter().map(|name| from.cwd.join(name)));
    paths.extend(facts.skills.iter().filter_map(|skill| skill.folder.clone()));
    paths.extend(from.settings.servers(shared).programs(&from.cwd));
    paths.extend(from.hooks.programs.iter().cloned());
    paths.extend(programs(config, shared.env.dirs.config.as_path()));
    let names = from.layout.head.instructions.names.iter();
    let roles = Roles {
        paths,
        names: names.map(|name| name.to_lowercase()).collect(),
        patterns: patterns(from, config),
    };
    let mut all = shared.roles.lock();
    all.insert(from.cwd.to_owned(), Arc::new(roles));
}

/// Files that the settings name as the user's own commands or prompts.
fn programs(config: &Config, folder: &Path) -> BTreeSet<PathBuf> {
    let keys = config
        .providers
        .values()
        .filter_map(|it| it.api_key_command.as_ref());
    let words = keys
        .chain([&config.prompt.transform])
        .flatten()
        .map(PathBuf::from);
    let prompts = config
        .agents
        .values()
        .filter_map(|it| it.prompt_file.clone());
    let named = words.chain(prompts).map(|path| folder.join(path));
    named
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect()
}

/// The `instructions` patterns, relative to the session's directory and its root.
fn patterns(from: &RequestContext, config: &Config) -> GlobSet {
    let root = from
        .shared
        .workspace
        .root_for(&from.cwd)
        .map(|root| root.path);
    let mut set = GlobSetBuilder::new();
    for entry in config
        .instructions
        .iter()
        .filter(|entry| !entry.contains("://"))
    {
        let home = entry
            .strip_prefix("~/")
            .map(|rest| (rest, &from.shared.env.dirs.home));
        let below = [Some(from.cwd.to_owned()), root.clone()]
            .into_iter()
            .flatten();
        let absolute = match home {
            Some((rest, home)) => vec![joined(home, rest)],
            None if Path::new(entry).is_absolute() => vec![entry.clone()],
            None => below.map(|folder| joined(&folder, entry)).collect(),
        };
        for pattern in absolute {
            if let Ok(glob) = Glob::new(&pattern) {
                set.add(glob);
            }
        }
    }
    set.build().unwrap_or_default()
}

fn joined(folder: &Path, pattern: &str) -> String {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    format!("{}/{pattern}", globset::escape(&folder.to_string_lossy()))
}
