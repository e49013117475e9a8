//! What the log says about edits: which turn or revert made them, whether they landed, what was
//! reverted, and what the user decided about hunks. Pure.

use std::collections::HashMap;
use std::path::Path;

use super::store::{self, StoreError};
use crate::conversation::entry::{LoggedHunk, Reviewed, Verdict};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, Event, FileShape, Input, ItemId, TurnId};
use crate::edit::places::{HunkAt, Logged};
use crate::env::order;
use crate::workspace::Uri;

/// One edit that was sent.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Counts the edits of the session.
    pub number: usize,
    pub item: ItemId,
    /// The turn it belongs to; `None`: a revert's, a review's or a formatter's.
    pub turn: Option<TurnId>,
    /// A formatter made it.
    pub formatter: bool,
    /// The user's text, put there in a review.
    pub amends: bool,
    /// The numbers of the edits that it reverts, or parts of.
    undoes: Vec<usize>,
    pub uri: String,
    /// Hashes of the text before and after it.
    pub before: String,
    pub hash: String,
    pub hunks: Vec<LoggedHunk>,
    /// Its file did not exist before it.
    pub create: bool,
    /// Its file was deleted after it.
    pub delete: bool,
    /// Of the created or deleted file, if an editor would not create it like that.
    shape: Option<FileShape>,
    landed: bool,
    /// Whether it landed is unknown: no outcome in the log, or an uncertain one.
    uncertain: bool,
}

#[derive(Clone, Debug)]
struct Revert {
    item: ItemId,
    turn: TurnId,
    of: Option<ItemId>,
    /// Empty: all.
    hunks: Vec<String>,
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
    reviews: Vec<ItemId>,
    /// In order: the last one about a hunk counts.
    decisions: Vec<Decided>,
}

/// A decision about hunks.
#[derive(Clone, Debug)]
enum Decided {
    Review(Reviewed),
    /// A revert of single hunks, by its number.
    Rejected(usize),
}

/// The landed edits of one file, in order: the agent's, and those of reverts and reviews.
#[derive(Clone, Debug)]
pub struct FileEdits {
    pub uri: String,
    /// [`Uri::key`].
    pub key: String,
    pub edits: Vec<Edit>,
}

impl FileEdits {
    /// As the log has them.
    pub fn logged(&self) -> Vec<Logged> {
        let logged = |edit: &Edit| Logged {
            before: edit.before.clone(),
            hash: edit.hash.clone(),
            hunks: edit.hunks.clone(),
            undoes: {
                let undone = edit.undoes.iter();
                undone.filter_map(|number| self.position(*number)).collect()
            },
        };
        self.edits.iter().map(logged).collect()
    }

    pub fn edit(&self, number: usize) -> Option<&Edit> {
        self.position(number).map(|at| &self.edits[at])
    }

    /// The number of the first of the agent's edits with a hunk that is `wanted`.
    pub fn first(&self, wanted: impl Fn(&Edit, HunkAt) -> bool) -> Option<usize> {
        let wanted = |edit: &&Edit| {
            let mut hunks = (0..edit.hunks.len()).map(|own| (edit.number, own));
            edit.turn.is_some() && hunks.any(|at| wanted(edit, at))
        };
        self.edits.iter().find(wanted).map(|edit| edit.number)
    }

    /// The edits from one on, and the earlier ones that these revert, with all in between: without
    /// them, a revert would be searched in the text, but not what it reverted. `of`: the revert
    /// that is reverted, which needs no other.
    pub fn since(&self, number: usize, of: Option<&ItemId>) -> Self {
        let mut first = self.edits.partition_point(|edit| edit.number < number);
        loop {
            let since = self.edits[first..].iter();
            let others = since.filter(|edit| of != Some(&edit.item));
            let undone = others.flat_map(|edit| &edit.undoes);
            let known = undone.filter_map(|number| self.position(*number));
            match known.min().filter(|at| *at < first) {
                Some(at) => first = at,
                None => break,
            }
        }
        Self {
            uri: self.uri.clone(),
            key: self.key.clone(),
            edits: self.edits[first..].to_vec(),
        }
    }

    fn position(&self, number: usize) -> Option<usize> {
        let at = self.edits.binary_search_by_key(&number, |edit| edit.number);
        at.ok()
    }

    /// Whether a hunk of [`Self::logged`] is the user's, from a review.
    pub fn amends(&self, (edit, _): HunkAt) -> bool {
        self.edits[edit].amends
    }

    /// A hunk of [`Self::logged`] as the journal counts it; `None`: it is not the agent's.
    pub fn agents(&self, (edit, own): HunkAt) -> Option<HunkAt> {
        let edit = &self.edits[edit];
        edit.turn.is_some().then_some((edit.number, own))
    }

    /// Whether a formatter made this hunk of [`Self::logged`].
    pub fn is_formatters(&self, (edit, _): HunkAt) -> bool {
        self.edits[edit].formatter
    }
}

/// The name of a hunk of an edit.
pub fn hunk_name((edit, own): HunkAt) -> String {
    format!("{edit}.{own}")
}

/// The hunks that a name on the wire stands for: names of one place, joined by `+`.
pub fn named_hunks(id: &str) -> Option<Vec<HunkAt>> {
    let one = |name: &str| {
        let (edit, own) = name.split_once('.')?;
        Some((edit.parse().ok()?, own.parse().ok()?))
    };
    id.split('+').map(one).collect()
}

fn first_named(name: &str) -> Option<HunkAt> {
    named_hunks(name)?.first().copied()
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
            Entry::Revert {
                item,
                turn,
                of,
                hunks,
            } => self.revert(Revert {
                item: item.clone(),
                turn: turn.clone(),
                of: of.clone(),
                hunks: hunks.clone(),
            }),
            Entry::Review { item, decided } => {
                self.reviews.push(item.clone());
                let decided = decided.iter().cloned().map(Decided::Review);
                self.decisions.extend(decided);
            }
            Entry::Formatted { uri, hash, hunks } => self.formatted(uri, hash, hunks),
            Entry::EditIntent {
                item,
                uri,
                before,
                hash,
                hunks,
                create,
                delete,
                shape,
                ..
            } => {
                let revert = self.reverts.iter().find(|revert| revert.item == *item);
                let undoes = revert.map_or_else(Vec::new, |it| self.undone_by(it));
                let review = self.reviews.contains(item);
                let turn = self.turns.last().filter(|_| revert.is_none() && !review);
                // An earlier try did not land, else there would be no other.
                let same = |edit: &&mut Edit| edit.item == *item && edit.uri == *uri;
                for edit in self.edits.iter_mut().filter(same) {
                    edit.uncertain = false;
                }
                self.edits.push(Edit {
                    number: self.edits.len(),
                    item: item.clone(),
                    turn: turn.map(|turn| turn.id.clone()),
                    formatter: false,
                    amends: review,
                    undoes,
                    uri: uri.clone(),
                    before: before.clone(),
                    hash: hash.clone(),
                    hunks: hunks.clone(),
                    create: *create,
                    delete: *delete,
                    shape: *shape,
                    landed: false,
                    uncertain: true,
                });
            }
            Entry::EditOutcome {
                item, uri, outcome, ..
            } => self.outcome(item, uri, outcome),
            _ => {}
        }
    }

    /// The numbers of the edits that a revert reverts.
    fn undone_by(&self, revert: &Revert) -> Vec<usize> {
        if !revert.hunks.is_empty() {
            let hunks = revert.hunks.iter().filter_map(|name| named_hunks(name));
            return hunks.flatten().map(|(edit, _)| edit).collect();
        }
        let edits = self.edits.iter().filter(|edit| match &revert.of {
            Some(item) => edit.item == *item,
            None => edit.turn.as_ref() == Some(&revert.turn),
        });
        edits.map(|edit| edit.number).collect()
    }

    fn revert(&mut self, revert: Revert) {
        self.decisions.push(Decided::Rejected(self.reverts.len()));
        self.reverts.push(revert);
    }

    fn formatted(&mut self, uri: &str, hash: &str, hunks: &[LoggedHunk]) {
        self.edits.push(Edit {
            number: self.edits.len(),
            item: ItemId::from(String::new()),
            turn: None,
            formatter: true,
            amends: false,
            undoes: Vec::new(),
            uri: uri.to_owned(),
            // Undoing it leads to no text that is known.
            before: String::new(),
            hash: hash.to_owned(),
            hunks: hunks.to_vec(),
            create: false,
            delete: false,
            shape: None,
            landed: true,
            uncertain: false,
        });
    }

    fn outcome(&mut self, item: &ItemId, uri: &str, outcome: &str) {
        // Of several tries this is the last one.
        let edits = self.edits.iter_mut().rev();
        let mut of_item = edits.filter(|edit| edit.item == *item && edit.uri == uri);
        if let Some(edit) = of_item.next() {
            edit.landed = matches!(outcome, "applied" | "rebased" | "held");
            edit.uncertain = matches!(outcome, "unconfirmed" | "unknown" | "diverged");
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

    /// Of files that were created or deleted, by [`Uri::key`].
    pub fn shapes(&self) -> HashMap<String, FileShape> {
        let edits = self.edits.iter();
        let shaped = edits.filter_map(|it| Some((Uri::new(it.uri.as_str()).key(), it.shape?)));
        shaped.collect()
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

    /// The landed edits by file, whichever spelling of its URI they used. Sorted by that URI: tool
    /// calls that run at once reach the log in any order.
    pub fn files(&self) -> Vec<FileEdits> {
        let mut files: Vec<FileEdits> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for edit in self.edits.iter().filter(|edit| edit.landed) {
            let key = Uri::new(edit.uri.as_str()).key();
            let at = *places.entry(key.clone()).or_insert_with(|| {
                files.push(FileEdits {
                    uri: edit.uri.clone(),
                    key,
                    edits: Vec::new(),
                });
                files.len() - 1
            });
            files[at].edits.push(edit.clone());
        }
        order::sort_by(&mut files, |a, b| a.key.cmp(&b.key));
        files
    }

    /// Whether the session changed this file, and not to the text with this hash: that change may
    /// be the one that was just saved.
    pub fn changed(&self, uri: &str, hash: &str) -> bool {
        let key = Uri::new(uri).key();
        let of_file = |edit: &&Edit| Uri::new(edit.uri.as_str()).key() == key;
        let own = self.edits.iter().filter(of_file).rfind(|it| !it.formatter);
        own.is_some_and(|edit| edit.hash != hash)
    }

    /// The agent's edits that landed.
    fn landed(&self) -> impl Iterator<Item = &Edit> {
        self.edits
            .iter()
            .filter(|edit| edit.landed && edit.turn.is_some())
    }

    pub fn edit(&self, number: usize) -> Option<&Edit> {
        self.edits.get(number)
    }

    /// Whether the agent made this change.
    pub fn has(&self, (edit, own): HunkAt) -> bool {
        let edit = self.edit(edit);
        edit.is_some_and(|it| it.landed && it.turn.is_some() && own < it.hunks.len())
    }

    /// What is decided about hunks: the last decision counts. A rejection whose revert was reverted
    /// does not count.
    pub fn verdicts(&self) -> HashMap<HunkAt, Verdict> {
        let mut verdicts = HashMap::new();
        for decided in &self.decisions {
            match decided {
                Decided::Review(reviewed) if reviewed.verdict == Verdict::Rejected => {}
                Decided::Review(reviewed) => {
                    let hunks = self.hunks_named(reviewed).into_iter();
                    verdicts.extend(hunks.map(|at| (at, reviewed.verdict)));
                }
                Decided::Rejected(revert) => {
                    let revert = &self.reverts[*revert];
                    if revert.of.is_none() && self.in_force(&revert.item) {
                        let changed = self.changed_by(&revert.item);
                        let hunks = revert.hunks.iter().filter_map(|name| first_named(name));
                        let hunks = hunks.filter(|(edit, _)| {
                            let edit = self.edit(*edit);
                            edit.is_some_and(|it| {
                                changed.contains(&Uri::new(it.uri.as_str()).key())
                            })
                        });
                        verdicts.extend(hunks.map(|at| (at, Verdict::Rejected)));
                    }
                }
            }
        }
        verdicts
    }

    fn hunks_named(&self, reviewed: &Reviewed) -> Vec<HunkAt> {
        match reviewed.call() {
            Some(item) => self.hunks_of_call(&ItemId::from(item.to_owned())),
            None => {
                let names = reviewed.hunks.iter();
                names.filter_map(|name| first_named(name)).collect()
            }
        }
    }

    /// URIs of the turn's edits whose outcome is unknown.
    pub fn uncertain(&self, turn: &TurnId) -> impl Iterator<Item = &str> {
        let edits = self.edits.iter().filter(|edit| edit.uncertain);
        edits
            .filter(|edit| edit.turn.as_ref() == Some(turn))
            .map(|edit| edit.uri.as_str())
    }

    /// The turn that a revert reverted.
    pub fn of_revert(&self, item: &ItemId) -> Option<&TurnId> {
        let revert = self.reverts.iter().find(|revert| revert.item == *item)?;
        Some(&revert.turn)
    }

    /// The changes of a tool call.
    pub fn hunks_of_call(&self, item: &ItemId) -> Vec<HunkAt> {
        let edits = self.landed().filter(|edit| edit.item == *item);
        edits
            .flat_map(|edit| (0..edit.hunks.len()).map(|own| (edit.number, own)))
            .collect()
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
        of_turn.any(|it| it.of.is_none() && it.hunks.is_empty() && self.in_force(&it.item))
    }

    /// The keys of the files with an edit of `item` that landed.
    fn changed_by(&self, item: &ItemId) -> Vec<String> {
        let edits = self.edits.iter();
        let landed = edits.filter(|edit| edit.item == *item && edit.landed);
        landed.map(|it| Uri::new(it.uri.as_str()).key()).collect()
    }

    /// Whether the revert changed something and was not reverted itself.
    fn in_force(&self, item: &ItemId) -> bool {
        let landed = !self.changed_by(item).is_empty();
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
