//! Profiles made of the memories: who the user is, and what applies in the project. Pure; the lines
//! are data, such as `preference: likes short answers`: grouped by type, newest first.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::{Entry, Kind, Loaded, Scope};
use crate::env::order;

/// Preferences, skills and habits of every scope, and the constraints on all projects or on this
/// session. `budget`: characters, including line ends; the oldest memories are left out.
pub fn user_profile(loaded: &Loaded, budget: usize) -> Vec<String> {
    profile(loaded, budget, |entry| match entry.kind {
        Kind::Preference | Kind::Skill | Kind::Habit => true,
        Kind::Constraint => entry.scope != Scope::Project,
        Kind::Fact => false,
    })
}

/// Facts about the project and its constraints.
pub fn project_profile(loaded: &Loaded, budget: usize) -> Vec<String> {
    profile(loaded, budget, |entry| {
        entry.scope == Scope::Project && matches!(entry.kind, Kind::Fact | Kind::Constraint)
    })
}

/// A memory with its group.
#[derive(Clone, Copy)]
struct Grouped<'a> {
    entry: &'a Entry,
    place: u8,
    word: &'static str,
}

fn profile(loaded: &Loaded, budget: usize, belongs: impl Fn(&Entry) -> bool) -> Vec<String> {
    let entries = loaded.entries.iter().filter(|entry| belongs(entry));
    let mut entries: Vec<Grouped> = entries
        .map(|entry| {
            let (place, word) = group(entry);
            Grouped { entry, place, word }
        })
        .collect();
    // The newest come first in the budget; files and lines do not matter.
    order::sort_by(&mut entries, |a, b| {
        let (a, b) = (a.entry, b.entry);
        (b.date, a.scope, a.kind, &a.text).cmp(&(a.date, b.scope, b.kind, &b.text))
    });
    merge(&mut entries);
    let mut room = budget;
    entries.retain(|it| {
        let length = format!("{}: {}", it.word, it.entry.text).chars().count() + 1;
        let fits = length <= room;
        room -= if fits { length } else { 0 };
        fits
    });
    // Stable: newest first within a group.
    order::sort_by_key(&mut entries, |it| it.place);
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for Grouped { entry, place, word } in entries {
        match lines.last_mut() {
            Some(line) if last == Some(place) => {
                line.push_str("; ");
                line.push_str(&entry.text);
            }
            _ => lines.push(format!("{word}: {}", entry.text)),
        }
        last = Some(place);
    }
    lines
}

/// Keeps one of several memories that say the same in other letters, signs or with more words: the
/// longest, and among equals the newest.
fn merge(entries: &mut Vec<Grouped>) {
    let mut kept: Vec<(Grouped, Said)> = Vec::new();
    for one in entries.iter() {
        let said = Said::new(&one.entry.text);
        let same = kept.iter_mut().find(|(other, known)| {
            said.may_say(known)
                && (known.words == said.words
                    || other.place == one.place && says_more(&said.words, &known.words))
        });
        match same {
            Some(kept) if said.words.len() > kept.1.words.len() => *kept = (*one, said),
            Some(_) => {}
            None => kept.push((*one, said)),
        }
    }
    *entries = kept.into_iter().map(|(one, _)| one).collect();
}

/// The words of a memory.
struct Said {
    words: BTreeSet<String>,
    /// A bit for each word; words may share one. It tells most memories apart without comparing words.
    marks: u64,
}

impl Said {
    fn new(text: &str) -> Self {
        let words = words(text);
        let mark = |word: &String| {
            1 << (BuildHasherDefault::<DefaultHasher>::default().hash_one(word) % 64)
        };
        let marks = words.iter().map(mark).fold(0, |all, mark: u64| all | mark);
        Self { words, marks }
    }

    /// Whether one of the two may have all words of the other.
    fn may_say(&self, other: &Self) -> bool {
        let both = self.marks & other.marks;
        both == self.marks || both == other.marks
    }
}

/// One says everything that the other says, without negating it.
fn says_more(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let within = a.is_superset(b) || b.is_superset(a);
    let mut more = a.symmetric_difference(b);
    within && !more.any(|word| NOT.contains(&word.as_str()) || word.contains(['不', '没', '别']))
}

/// Words that negate or restrict a sentence.
const NOT: [&str; 8] = [
    "not", "no", "never", "t", "without", "instead", "only", "nicht",
];

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !"+#".contains(c));
    let words = words.filter(|word| !word.is_empty());
    order::set(words.map(str::to_lowercase))
}

/// An entry's group: its position and its word; constraints come first. A project's facts are split
/// into goals, technologies and the rest.
fn group(entry: &Entry) -> (u8, &'static str) {
    match entry.kind {
        Kind::Constraint => (0, "constraint"),
        Kind::Preference => (1, "preference"),
        Kind::Habit => (2, "habit"),
        Kind::Skill => (3, "skill"),
        Kind::Fact if entry.scope == Scope::Project && contains_any(&entry.text, &GOALS) => {
            (4, "goal")
        }
        Kind::Fact if entry.scope == Scope::Project && contains_any(&entry.text, &MADE_OF) => {
            (5, "technology")
        }
        Kind::Fact => (6, "fact"),
    }
}

/// Words that mark a fact as a goal of the project or as a technology it uses.
const GOALS: [&str; 14] = [
    "goal",
    "goals",
    "aim",
    "aims",
    "objective",
    "milestone",
    "roadmap",
    "purpose",
    "target",
    "must become",
    "目标",
    "目的",
    "计划",
    "ziel",
];
const MADE_OF: [&str; 22] = [
    "uses",
    "use",
    "using",
    "built with",
    "built on",
    "written in",
    "runs on",
    "stack",
    "framework",
    "database",
    "language",
    "library",
    "toolchain",
    "compiler",
    "deployed on",
    "depends on",
    "tested with",
    "使用",
    "采用",
    "技术",
    "框架",
    "数据库",
];

/// The text contains one of the words; those of ASCII letters only as separate words.
fn contains_any(text: &str, any: &[&str]) -> bool {
    let text = text.to_lowercase();
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    any.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let ascii = word.is_ascii();
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !ascii || !(inside(before) || inside(after))
        })
    })
}
