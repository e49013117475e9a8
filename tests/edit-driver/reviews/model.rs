//! What the text may and must contain, character by character.

use std::collections::{BTreeMap, BTreeSet};

/// The first text's characters, the user's, and the agent's.
const FIRST: u32 = 0x4e00;
const USERS: u32 = 0xac00;
const AGENTS: u32 = 0x3400;

fn nth(block: u32, number: u32) -> char {
    char::from_u32(block + number).unwrap()
}

pub fn is_user(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

fn is_first(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

fn is_agent(c: char) -> bool {
    ('\u{3400}'..='\u{4dbf}').contains(&c)
}

pub fn agents(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| is_agent(*c))
}

/// A line of the first text that occurs once.
pub fn first_line(number: usize) -> String {
    let at = u32::try_from(number).unwrap() * 3;
    (at..at + 3).map(|n| nth(FIRST, n)).chain(['\n']).collect()
}

#[derive(Default)]
pub struct World {
    /// The user's characters that must be there.
    users: BTreeSet<char>,
    /// What was to the left and to the right of each of them when it was typed.
    sides: BTreeMap<char, (BTreeSet<char>, BTreeSet<char>)>,
    /// How many edits may have removed a character of the first text.
    removed: BTreeMap<char, usize>,
    /// The agent's characters that may be there.
    agents: BTreeSet<char>,
    /// The user's characters in an amendment on its way.
    pending: BTreeSet<char>,
    first: BTreeSet<char>,
    made: (u32, u32),
    /// How often the editor replaced the text by an earlier one.
    pub restarts: usize,
    /// The review changed the text.
    pub by_review: bool,
    /// How many edits of the agent began or ended; odd while one is on its way.
    pub editing: usize,
}

impl World {
    pub fn new(base: &str) -> Self {
        Self {
            first: base.chars().filter(|c| is_first(*c)).collect(),
            ..Self::default()
        }
    }

    fn new_of_user(&mut self, length: usize) -> String {
        let start = self.made.0;
        self.made.0 += u32::try_from(length).unwrap();
        (start..self.made.0).map(|n| nth(USERS, n)).collect()
    }

    fn stands(&mut self, new: &str, left: &str, right: &str) {
        let others = |text: &str| -> BTreeSet<char> {
            text.chars()
                .filter(|c| is_user(*c) || is_first(*c))
                .collect()
        };
        let mut left = others(left);
        for c in new.chars().filter(|c| is_user(*c)) {
            self.sides.insert(c, (left.clone(), others(right)));
            self.users.insert(c);
            left.insert(c);
        }
    }

    /// The user types at `at`: what is typed.
    pub fn typed(&mut self, text: &str, at: usize, length: usize) -> String {
        let new = self.new_of_user(length);
        self.stands(&new, &text[..at], &text[at..]);
        new
    }

    /// What the user adds to a hunk in the review.
    pub fn amends(&mut self) -> String {
        let new = self.new_of_user(1);
        self.pending.extend(new.chars());
        self.by_review = true;
        new
    }

    /// The amendment is in the text.
    pub fn amended(&mut self, after: &str, text: &str) {
        for c in after
            .chars()
            .filter(|c| self.pending.remove(c))
            .collect::<Vec<_>>()
        {
            // The user may have taken it back before the answer came.
            if let Some((left, right)) = text.split_once(c) {
                self.stands(&c.to_string(), left, right);
            }
        }
    }

    /// The editor shows an earlier text: that is what the user wants.
    pub fn restart(&mut self, text: &str) {
        self.restarts += 1;
        self.users = text.chars().filter(|c| is_user(*c)).collect();
        for c in &self.first {
            if !text.contains(*c) {
                *self.removed.entry(*c).or_default() += 1;
            }
        }
    }

    pub fn agent_lines(&mut self, lines: usize) -> String {
        let mut text = String::new();
        for _ in 0..lines {
            text.extend((0..2).map(|n| nth(AGENTS, self.made.1 + n)));
            text.push('\n');
            self.made.1 += 2;
        }
        text
    }

    /// The agent replaces `old` by `new`.
    pub fn planned(&mut self, old: &str, new: &str) {
        for c in old.chars().filter(|c| is_first(*c)) {
            *self.removed.entry(c).or_default() += 1;
        }
        self.agents.extend(agents(new));
    }

    /// It said that it did not.
    pub fn refused(&mut self, old: &str, new: &str) {
        for c in old.chars().filter(|c| is_first(*c)) {
            *self.removed.entry(c).or_default() -= 1;
        }
        for c in agents(new) {
            self.agents.remove(&c);
        }
    }

    pub fn check(&self, text: &str) -> Result<(), String> {
        let mut places = BTreeMap::new();
        for (at, c) in text.chars().enumerate() {
            let known = is_user(c) || is_first(c) || is_agent(c);
            if known && places.insert(c, at).is_some() {
                return Err(format!("{c} is doubled"));
            }
        }
        let lost = self.users.iter().find(|c| !places.contains_key(*c));
        if let Some(c) = lost {
            return Err(format!("{c} of the user is lost"));
        }
        for (c, at) in &places {
            let there = match *c {
                c if is_user(c) => self.users.contains(&c) || self.pending.contains(&c),
                c if is_agent(c) => self.agents.contains(&c),
                _ => true,
            };
            if !there {
                return Err(format!("{c} should not be there"));
            }
            let Some((left, right)) = self.sides.get(c) else {
                continue;
            };
            let wrong = |other: &char, before: bool| {
                places
                    .get(other)
                    .is_some_and(|place| (place < at) != before)
            };
            if left.iter().any(|other| wrong(other, true))
                || right.iter().any(|other| wrong(other, false))
            {
                return Err(format!("{c} has moved"));
            }
        }
        let gone =
            |c: &&char| !places.contains_key(*c) && self.removed.get(*c).copied().unwrap_or(0) == 0;
        match self.first.iter().find(gone) {
            Some(c) => Err(format!("{c} of the first text is lost")),
            None => Ok(()),
        }
    }
}
