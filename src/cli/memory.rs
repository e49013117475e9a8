//! What `interline doctor` reports about memory: where it is, how much there is, problems, and
//! what a repository's `MEMORY.md` costs.

use std::path::Path;

use crate::config::Config;
use crate::env::Env;
use crate::knowledge::memory::{self, Memory, Scope};

/// The maximum number of problems shown.
const PROBLEMS: usize = 10;

/// The lines for sessions started in `cwd`.
pub fn lines(env: &Env, config: &Config, cwd: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if config.memory.enabled {
        let memory = Memory::new(env, cwd, None);
        let loaded = memory.read();
        let row = |scope: Scope| {
            let of_scope = loaded.entries.iter().filter(|entry| entry.scope == scope);
            let count = of_scope.count();
            let folder = memory.folder(scope).unwrap_or_default();
            let whose = scope.as_str();
            format!("memory   {whose}: {count} entries in {}", folder.display())
        };
        lines.push(row(Scope::User));
        lines.push(row(Scope::Project));
        push_problems(&mut lines, &loaded.problems);
    } else {
        lines.push("memory   off (memory.enabled): nothing is saved or searched".to_owned());
    }
    let workspace = crate::terminal::workspace_of(cwd);
    let tree = memory::tree(&workspace, env, cwd);
    lines.extend(tree.advice().map(|advice| format!("memory   {advice}")));
    push_problems(&mut lines, &tree.problems);
    lines
}

fn push_problems(lines: &mut Vec<String>, problems: &[(String, String)]) {
    let shown = problems.iter().take(PROBLEMS);
    lines.extend(shown.map(|(source, reason)| format!("memory   problem in {source}: {reason}")));
    if problems.len() > PROBLEMS {
        let more = problems.len() - PROBLEMS;
        lines.push(format!("memory   and {more} more problems"));
    }
}

#[cfg(test)]
mod tests;
