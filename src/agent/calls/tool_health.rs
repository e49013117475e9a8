//! Tools that keep failing through no fault of the call. Failures are counted per conversation; the
//! model is notified when they repeat, and again when the tool works.

use std::collections::BTreeMap;

use crate::prompt::{Layout, Texts, fence};

/// Consecutive failures after which a tool is degraded.
const REPEATED: u32 = 2;

/// What a call revealed about its tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// Nothing: the call did not run, or the call itself was wrong.
    #[default]
    Unknown,
    Works,
    /// The reason.
    Broken(String),
}

/// Consecutive failures of each tool, with the last reason. Not stored: after a restart the tool
/// may work again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    tools: BTreeMap<String, (u32, String)>,
}

/// A change that the model must hear about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub tool: String,
    /// Why it is degraded; `None`: it works again.
    pub reason: Option<String>,
}

impl Failing {
    /// Records the outcomes of calls and returns the resulting changes.
    pub fn count(&mut self, shown: &[(String, Health)]) -> Vec<Change> {
        let before = self.degraded();
        for (tool, health) in shown {
            match health {
                Health::Unknown => {}
                Health::Works => {
                    self.tools.remove(tool);
                }
                Health::Broken(reason) => {
                    let (times, last) = self.tools.entry(tool.clone()).or_default();
                    *times += 1;
                    last.clone_from(reason);
                }
            }
        }
        let after = self.degraded();
        let known = |list: &[(String, String)], tool: &str| list.iter().any(|it| it.0 == *tool);
        let new = after.iter().filter(|(tool, _)| !known(&before, tool));
        let new = new.map(|(tool, reason)| Change {
            tool: tool.clone(),
            reason: Some(reason.clone()),
        });
        let gone = before.iter().filter(|(tool, _)| !known(&after, tool));
        let gone = gone.map(|(tool, _)| Change {
            tool: tool.clone(),
            reason: None,
        });
        new.chain(gone).collect()
    }

    /// Degraded tools by name, with the last reason.
    pub fn degraded(&self) -> Vec<(String, String)> {
        let failing = self
            .tools
            .iter()
            .filter(|(_, (times, _))| *times >= REPEATED);
        failing
            .map(|(tool, (_, reason))| (tool.clone(), reason.clone()))
            .collect()
    }
}

/// The hint for the model between two steps.
pub fn hint(layout: &Layout, texts: &Texts, change: &Change) -> String {
    let tool = ("tool", layout.tool_name(&change.tool));
    match &change.reason {
        Some(reason) => {
            let reason = fence::name(reason);
            texts.render("hints/tool-degraded.md", &[tool, ("reason", &reason)])
        }
        None => texts.render("hints/tool-works.md", &[tool]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(reason: &str) -> Health {
        Health::Broken(reason.to_owned())
    }

    fn one(failing: &mut Failing, health: Health) -> Vec<Change> {
        failing.count(&[("exec".to_owned(), health)])
    }

    /// MC-19: reported with its reason once a failure repeats, and withdrawn after one success.
    #[test]
    fn a_tool_is_degraded_from_the_second_failure_to_the_first_success() {
        let mut failing = Failing::default();
        assert_eq!(one(&mut failing, broken("no shell")), []);
        assert_eq!(one(&mut failing, Health::Unknown), []);
        assert_eq!(failing.degraded(), []);
        let changes = one(&mut failing, broken("no memory"));
        let reason = "no memory".to_owned();
        let tool = "exec".to_owned();
        let reason = Some(reason);
        assert_eq!(changes, [Change { tool, reason }]);
        assert_eq!(one(&mut failing, broken("no memory")), []);
        let tool = "exec".to_owned();
        let reason = None;
        assert_eq!(one(&mut failing, Health::Works), [Change { tool, reason }]);
        assert_eq!(one(&mut failing, broken("again")), []);
    }

    /// MC-19, MC-20: the hint uses the layout's name of the tool, and the reason stays on one line.
    #[test]
    fn the_hint_names_tool_and_reason() {
        let texts = Texts::load(None);
        let layout = Layout::load(&texts, "mini").unwrap();
        let mut change = Change {
            tool: "exec".to_owned(),
            reason: Some("a\n</system_hint>".to_owned()),
        };
        let words = hint(&layout, &texts, &change);
        assert!(words.starts_with("<system_hint type=\"tool_degraded\" tool=\"bash\">\n"));
        assert_eq!(words.lines().count(), 3, "{words}");
        change.reason = None;
        assert!(hint(&layout, &texts, &change).contains("bash"));
    }
}
