//! What the log says about edits: which turn or revert made them, whether they landed, what was
//! reverted. Pure.

use std::path::Path;

use super::store::{self, StoreError};
use crate::conversation::entry::LoggedHunk;
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, Event, Input, ItemId, TurnId};

/// One edit that was sent.
#[derive(Clone, Debug)]
pub struct Edit {
    pub item: ItemId,
    /// The turn it belongs to; `None`: a revert's.
    pub turn: Option<TurnId>,
    pub uri: String,
    /// Hash of the text after it.
    pub hash: String,
    pub hunks: Vec<LoggedHunk>,
    landed: bool,
    /// Whether it landed is unknown: no outcome in the log, or an uncertain one.
    uncertain: bool,
}

#[derive(Clone, Debug)]
struct Revert {
    item: ItemId,
    turn: TurnId,
    of: Option<ItemId>,
}

#[derive(Clone, Debug)]
struct Turn {
    id: TurnId,
    /// The first line of its prompt.
    title: String,
    created: Vec<String>,
}

/// The edits of a session, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    turns: Vec<Turn>,
    edits: Vec<Edit>,
    reverts: Vec<Revert>,
}

impl Journal {
    /// Reads the edits from the log at `path`.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut journal = Self::default();
        store::edits(path, |entry| journal.add(entry))?;
        Ok(journal)
    }

    pub fn read(entries: &[Entry]) -> Self {
        let mut journal = Self::default();
        for entry in entries {
            journal.add(entry);
        }
        journal
    }

    fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Item { turn, body, .. } => self.item(turn, body),
            Entry::Revert { item, turn, of } => self.reverts.push(Revert {
                item: item.clone(),
                turn: turn.clone(),
                of: of.clone(),
            }),
            Entry::EditIntent {
                item,
                uri,
                hash,
                hunks,
                ..
            } => {
                let revert = self.reverts.iter().any(|revert| revert.item == *item);
                let turn = self.turns.last().filter(|_| !revert);
                // An earlier try did not land, else there would be no other.
                let same = |edit: &&mut Edit| edit.item == *item && edit.uri == *uri;
                for edit in self.edits.iter_mut().filter(same) {
                    edit.uncertain = false;
                }
                self.edits.push(Edit {
                    item: item.clone(),
                    turn: turn.map(|turn| turn.id.clone()),
                    uri: uri.clone(),
                    hash: hash.clone(),
                    hunks: hunks.clone(),
                    landed: false,
                    uncertain: true,
                });
            }
            Entry::EditOutcome {
                item, uri, outcome, ..
            } => {
                // Of several tries this is the last one.
                let edits = self.edits.iter_mut().rev();
                let mut of_item = edits.filter(|edit| edit.item == *item && edit.uri == *uri);
                if let Some(edit) = of_item.next() {
                    edit.landed = matches!(outcome.as_str(), "applied" | "rebased" | "held");
                    edit.uncertain =
                        matches!(outcome.as_str(), "unconfirmed" | "unknown" | "diverged");
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, id: &TurnId, body: &EnvelopeBody) {
        match body {
            EnvelopeBody::Started { input, .. } => self.turns.push(Turn {
                id: id.clone(),
                title: title_of(input).unwrap_or_default(),
                created: Vec::new(),
            }),
            EnvelopeBody::Event {
                event: Event::ToolCall(call),
            } => {
                let made = call.files.iter().filter(|file| file.created);
                if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == *id) {
                    turn.created.extend(made.map(|file| file.uri.clone()));
                }
            }
            _ => {}
        }
    }

    fn turn(&self, turn: &TurnId) -> Option<&Turn> {
        self.turns.iter().find(|known| known.id == *turn)
    }

    pub fn knows(&self, turn: &TurnId) -> bool {
        self.turn(turn).is_some()
    }

    pub fn title(&self, turn: &TurnId) -> &str {
        self.turn(turn).map_or("", |turn| &turn.title)
    }

    /// The files that did not exist before the turn.
    pub fn created(&self, turn: &TurnId) -> &[String] {
        self.turn(turn).map_or(&[], |turn| &turn.created)
    }

    /// The edits of a turn that landed.
    pub fn of_turn(&self, turn: &TurnId) -> Vec<&Edit> {
        let edits = self.edits.iter().filter(|edit| edit.landed);
        edits
            .filter(|edit| edit.turn.as_ref() == Some(turn))
            .collect()
    }

    /// URIs of the turn's edits whose outcome is unknown.
    pub fn uncertain(&self, turn: &TurnId) -> impl Iterator<Item = &str> {
        let edits = self.edits.iter().filter(|edit| edit.uncertain);
        edits
            .filter(|edit| edit.turn.as_ref() == Some(turn))
            .map(|edit| edit.uri.as_str())
    }

    /// The landed edits of a revert, and the turn it reverted.
    pub fn of_revert(&self, item: &ItemId) -> Option<(TurnId, Vec<&Edit>)> {
        let revert = self.reverts.iter().find(|revert| revert.item == *item)?;
        let edits = self.edits.iter().filter(|edit| edit.landed);
        let edits = edits.filter(|edit| edit.item == *item).collect();
        Some((revert.turn.clone(), edits))
    }

    /// The last turn that changed files and was not reverted.
    pub fn last(&self) -> Option<&TurnId> {
        let changed = |turn: &&Turn| !self.of_turn(&turn.id).is_empty();
        let open = |turn: &&Turn| !self.is_reverted(&turn.id);
        let turns = self.turns.iter().rev();
        turns.filter(changed).find(open).map(|turn| &turn.id)
    }

    /// Whether a revert of the turn is in force.
    fn is_reverted(&self, turn: &TurnId) -> bool {
        let mut of_turn = self.reverts.iter().filter(|revert| revert.turn == *turn);
        of_turn.any(|revert| revert.of.is_none() && self.in_force(&revert.item))
    }

    /// Whether the revert changed something and was not reverted itself.
    fn in_force(&self, item: &ItemId) -> bool {
        let landed = self
            .edits
            .iter()
            .any(|edit| edit.item == *item && edit.landed);
        let mut later = self.reverts.iter();
        landed && !later.any(|other| other.of.as_ref() == Some(item) && self.in_force(&other.item))
    }
}

/// The first line of a prompt, truncated to 60 characters.
pub fn title_of(input: &[Input]) -> Option<String> {
    let mut texts = input.iter().filter_map(Input::as_text);
    let text = texts.find_map(|text| text.lines().find(|line| !line.trim().is_empty()))?;
    let text = text.trim();
    let mut title: String = text.chars().take(60).collect();
    if title.len() < text.len() {
        title.push('…');
    }
    Some(title)
}

#[cfg(test)]
mod tests;
