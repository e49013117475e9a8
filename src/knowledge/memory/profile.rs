//! What the memories come to, without being asked for: who the user is and what holds in the project.
//! Pure; lines are data, not sentences of ours.

use std::collections::BTreeSet;

use super::{Entry, Kind, Loaded, Scope};

/// Lines within a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// `preference: likes short answers`, grouped by type, newest first.
    pub lines: Vec<String>,
    /// Memories that the budget had no room for, the oldest ones.
    pub left_out: usize,
}

/// Preferences, skills and habits of every scope, and the constraints that the user put on all
/// projects or on this session. `budget`: characters, line ends included.
pub fn user_profile(loaded: &Loaded, budget: usize) -> Profile {
    profile(loaded, budget, |entry| match entry.kind {
        Kind::Preference | Kind::Skill | Kind::Habit => true,
        Kind::Constraint => entry.scope != Scope::Project,
        Kind::Fact => false,
    })
}

/// Facts and constraints of the project: what it is made of, what it must keep to.
pub fn project_profile(loaded: &Loaded, budget: usize) -> Profile {
    profile(loaded, budget, |entry| {
        entry.scope == Scope::Project && matches!(entry.kind, Kind::Fact | Kind::Constraint)
    })
}

fn profile(loaded: &Loaded, budget: usize, belongs: impl Fn(&Entry) -> bool) -> Profile {
    let mut entries: Vec<&Entry> = loaded.entries().filter(|entry| belongs(entry)).collect();
    // The newest have the first claim on the budget; files and lines decide nothing.
    entries.sort_by(|a, b| {
        (b.date, a.scope, a.kind, &a.text).cmp(&(a.date, b.scope, b.kind, &b.text))
    });
    let mut texts = BTreeSet::new();
    entries.retain(|entry| texts.insert(entry.text.to_lowercase()));
    let mut room = budget;
    let all = entries.len();
    entries.retain(|entry| {
        let length = shown(entry).chars().count() + 1;
        let fits = length <= room;
        room -= if fits { length } else { 0 };
        fits
    });
    // Stable: newest first within a type.
    entries.sort_by_key(|entry| place(entry.kind));
    Profile {
        left_out: all - entries.len(),
        lines: entries.into_iter().map(shown).collect(),
    }
}

fn shown(entry: &Entry) -> String {
    format!("{}: {}", entry.kind.as_str(), entry.text)
}

/// What binds stands first.
fn place(kind: Kind) -> usize {
    match kind {
        Kind::Constraint => 0,
        Kind::Preference => 1,
        Kind::Habit => 2,
        Kind::Skill => 3,
        Kind::Fact => 4,
    }
}
