//! The rules that last, for a client that lists or removes them.

use super::Sessions;
use crate::conversation::{Failure, FailureKind};
use crate::env::tasks;
use crate::knowledge::lasting_rules::{LastingRule, LastingRules};
use crate::session::api::{LastingRuleRow, RuleList};

impl Sessions {
    /// The rules, oldest first.
    pub async fn rules(&self) -> Result<RuleList, Failure> {
        let rules = self.on_rules(|rules| rules.read()).await?;
        let rules = rules.into_iter().map(row).collect();
        Ok(RuleList { rules })
    }

    /// Removes a rule; it no longer applies from the next command on.
    pub async fn remove_rule(&self, id: u64) -> Result<(), Failure> {
        match self.on_rules(move |rules| rules.remove(id)).await? {
            Some(_) => Ok(()),
            None => Err(Failure::invalid(
                format!("There is no rule {id}."),
                "List the rules again: it was removed in the meantime.",
            )),
        }
    }

    async fn on_rules<T: Send + 'static>(
        &self,
        run: impl FnOnce(&LastingRules) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let rules = LastingRules::new(&self.shared.env);
        let done = tasks::blocking(move || run(&rules)).await;
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("The stored rules cannot be used: {error}.");
            Failure::new(FailureKind::Storage, message, "Nothing was changed.")
        };
        done.map_err(|error| failed(&error))?
            .map_err(|error| failed(&error))
    }
}

fn row(rule: LastingRule) -> LastingRuleRow {
    LastingRuleRow {
        id: rule.id,
        rule: rule.text(),
        folder: rule.folder.map(|folder| folder.display().to_string()),
        since: rule.since.to_string(),
    }
}
