//! `interline rules`: the rules that last, listed and removed without an editor.

use crate::env::Env;
use crate::knowledge::lasting_rules::{LastingRule, LastingRules};
use crate::prompt::fence;
use crate::terminal;

#[derive(clap::Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// List the rules, oldest first (the default).
    List,
    /// Remove a rule; the commands that it allowed ask again.
    Remove {
        /// The number that the list shows.
        id: u64,
    },
}

/// Lists, removes.
pub fn rules(env: &Env, args: &RulesArgs) -> anyhow::Result<i32> {
    let rules = LastingRules::new(env);
    match args.command.as_ref().unwrap_or(&What::List) {
        What::List => {
            let found = rules.read()?;
            if found.is_empty() {
                terminal::print("No rules are stored. A command that asks may offer one.");
            }
            for rule in &found {
                terminal::print(&line(rule));
            }
        }
        What::Remove { id } => match rules.remove(*id)? {
            Some(rule) => terminal::print(&format!("Removed {}", line(&rule))),
            None => anyhow::bail!("there is no rule {id}; `interline rules` lists them"),
        },
    }
    Ok(0)
}

fn line(rule: &LastingRule) -> String {
    let scope = match &rule.folder {
        Some(folder) => format!("in {}", fence::name(&folder.display().to_string())),
        None => "in all trusted folders".to_owned(),
    };
    let since = rule.since.strftime("%Y-%m-%d");
    format!("{}  `{}` {scope}, since {since}", rule.id, rule.text())
}

/// The line of `interline doctor`.
pub fn summary(env: &Env) -> Option<String> {
    match LastingRules::new(env).read() {
        Ok(rules) if rules.is_empty() => None,
        Ok(rules) => {
            let count = rules.len();
            let words = if count == 1 {
                "rule that lasts"
            } else {
                "rules that last"
            };
            Some(format!(
                "rules    {count} {words}; `interline rules` lists them"
            ))
        }
        Err(error) => Some(format!("rules    {error}")),
    }
}
