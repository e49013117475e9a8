//! Random edits of an agent and a user in one text: moving hunks through changes, and what a review
//! finds and reverts. The models know each character by its own number.

use std::collections::BTreeSet;

use ropey::Rope;

use super::bytes::Bytes;
use crate::conversation::sha256;
use crate::edit::places::{self, HunkAt, Logged, places};
use crate::edit::rebase::rebase;
use crate::edit::revert::{Part, revert_edits};
use crate::edit::{Hunk, lines};
use crate::workspace::{Author, Change, Revision};

/// Moves hunks through changes of another text and compares with a model of numbered bytes: a moved
/// hunk removes the same bytes, and what is inserted stays between its old neighbours.
///
/// # Panics
/// When a hunk moved to another place, or was refused although nothing touched it.
pub fn fuzz_rebase(data: &[u8]) {
    let mut script = Bytes::new(data);
    let length = script.below(40);
    let mut hunks = Vec::new();
    let mut at = script.below(8);
    while at <= length && hunks.len() < 4 {
        let end = (at + script.below(5)).min(length);
        hunks.push(Hunk {
            start: at,
            end,
            text: "a".repeat(script.below(3)),
        });
        at = end + 1 + script.below(8);
    }
    // The bytes of the text by their first offset; `None`: the user's.
    let mut now: Vec<Option<usize>> = (0..length).map(Some).collect();
    let (changes, touched) = changes(&mut script, &hunks, &mut now);
    let Ok(moved) = rebase(&hunks, &changes) else {
        assert!(touched, "nothing touched the hunks {hunks:?}: {changes:?}");
        return;
    };
    for (hunk, moved) in hunks.iter().zip(&moved) {
        let removed = &now[moved.start..moved.end];
        assert!(
            removed.iter().copied().eq((hunk.start..hunk.end).map(Some)),
            "another text is removed: {hunk:?} {moved:?} {changes:?}"
        );
        let (left, right) = now.split_at(moved.start);
        let known = |side: &[Option<usize>]| side.iter().copied().flatten().collect::<Vec<_>>();
        assert!(
            known(left).iter().all(|at| *at < hunk.start),
            "moved down: {hunk:?} {changes:?}"
        );
        assert!(
            known(right).iter().all(|at| *at >= hunk.start),
            "moved up: {hunk:?} {changes:?}"
        );
        assert_eq!(moved.text, hunk.text);
    }
}

/// Random changes of the text `now`, and whether one of them touched a hunk.
fn changes(
    script: &mut Bytes,
    hunks: &[Hunk],
    now: &mut Vec<Option<usize>>,
) -> (Vec<Change>, bool) {
    let mut changes = Vec::new();
    let mut touched = false;
    while !script.over() {
        let start = script.below(now.len() + 1);
        let end = (start + script.below(4)).min(now.len());
        let inserted = script.below(4);
        let inside = |hunk: &Hunk| {
            let place = |offset: usize| {
                now.iter()
                    .position(|it| *it >= Some(offset) && it.is_some())
            };
            let from = place(hunk.start).unwrap_or(now.len());
            let to = match hunk.end {
                end if end == hunk.start => from,
                end => now
                    .iter()
                    .position(|it| *it == Some(end - 1))
                    .map_or(0, |it| it + 1),
            };
            start <= to && end >= from
        };
        touched |= hunks.iter().any(inside);
        let removed = "x".repeat(end - start);
        now.splice(start..end, std::iter::repeat_n(None, inserted));
        changes.push(Change {
            revision: Revision(0),
            start,
            removed,
            inserted: "u".repeat(inserted),
            author: Author::User,
            continues: false,
        });
    }
    (changes, touched)
}

/// Lines that occur often.
const COMMON: [&str; 4] = ["}\n", "0,\n", "\n", "return;\n"];

const USERS: u32 = 0xac00;

fn is_user(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// Whether a character was made by [`line`] or [`fuzz_review`], and so occurs once.
fn is_own(c: char) -> bool {
    is_user(c) || ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// A common line, or one that occurs once.
fn line(script: &mut Bytes, made: &mut u32) -> String {
    match script.below(COMMON.len() + 3) {
        common if common < COMMON.len() => COMMON[common].to_owned(),
        _ => {
            let start = 0x4e00 + *made * 3;
            *made += 1;
            let own = (start..start + 3).filter_map(char::from_u32);
            own.chain(['\n']).collect()
        }
    }
}

/// One logged edit.
struct Made {
    logged: Logged,
    part: Part,
    /// The edits that it reverts.
    undoes: Vec<usize>,
}

/// A text, its earlier texts, and what the log has of it.
#[derive(Default)]
struct Review {
    text: String,
    /// The texts before each change, for the editor's undo.
    earlier: Vec<String>,
    /// The characters of the first text, in its order.
    first: Vec<char>,
    edits: Vec<Made>,
    rejected: BTreeSet<HunkAt>,
}

/// Edits a text by turns as an agent, a user who types, undoes and formats, and rejects some of the
/// agent's hunks in between. Places do not overlap and give the text before; what is rejected
/// leaves all characters but the agent's, doubles none, and moves none.
///
/// # Panics
/// When a text is lost, doubled or moved, or places contradict the text.
pub fn fuzz_review(data: &[u8]) {
    let mut script = Bytes::new(data);
    let (mut made, mut typed) = (0, 0);
    let text: String = (0..3 + script.below(8))
        .map(|_| line(&mut script, &mut made))
        .collect();
    let mut review = Review {
        first: text.chars().filter(|c| is_own(*c)).collect(),
        text,
        ..Review::default()
    };
    while !script.over() && review.edits.len() < 12 {
        match script.below(12) {
            0..4 => review.agent_edits(&mut script, &mut made),
            4..7 => {
                let text = &review.text;
                let places: Vec<usize> = (0..=text.len())
                    .filter(|at| text.is_char_boundary(*at))
                    .collect();
                let at = places[script.below(places.len())];
                let mut text = text.clone();
                text.insert(at, char::from_u32(USERS + typed).unwrap_or('\u{ac00}'));
                typed += 1;
                review.becomes(text);
            }
            7 => {
                if let Some(text) = review.earlier.pop() {
                    review.text = text;
                }
            }
            8 => review.formatted(),
            _ => review.reject(&mut script),
        }
        review.check();
    }
}

fn logged(before: &str, after: &str, hunks: &[Hunk]) -> Logged {
    Logged {
        before: sha256(before.as_bytes()),
        hash: sha256(after.as_bytes()),
        hunks: places::logged(&Rope::from_str(before), &Rope::from_str(after), hunks),
        undoes: Vec::new(),
    }
}

impl Review {
    fn becomes(&mut self, text: String) {
        self.earlier.push(std::mem::replace(&mut self.text, text));
    }

    fn agent_edits(&mut self, script: &mut Bytes, made: &mut u32) {
        let all: Vec<&str> = self.text.split_inclusive('\n').collect();
        let first = script.below(all.len() + 1);
        let last = (first + script.below(4)).min(all.len());
        // The agent does not remove what the user wrote.
        if all[first..last].concat().contains(is_user) {
            return;
        }
        let lines = script.below(4);
        let new: String = (0..lines).map(|_| line(script, made)).collect();
        let result = [&*all[..first].concat(), &new, &*all[last..].concat()].concat();
        let hunks = lines::difference(&self.text, &result);
        self.edits.push(Made {
            logged: logged(&self.text, &result, &hunks),
            part: Part::Other,
            undoes: Vec::new(),
        });
        self.becomes(result);
    }

    /// A formatter indents what the agent changed, as the session logs it.
    fn formatted(&mut self) {
        let lines = self.text.split_inclusive('\n');
        let indented: String = lines
            .flat_map(|line| match line.starts_with([' ', '\n']) {
                true => ["", line],
                false => [" ", line],
            })
            .collect();
        let own = self.edits.iter().rfind(|it| !it.logged.before.is_empty());
        let now = sha256(indented.as_bytes());
        if indented != self.text && own.is_some_and(|it| it.logged.hash != now) {
            let hunks = lines::between_words(&self.text, &indented).unwrap_or_default();
            let mut logged = logged(&self.text, &indented, &hunks);
            logged.before.clear();
            self.edits.push(Made {
                logged,
                part: Part::Formatter,
                undoes: Vec::new(),
            });
        }
        self.becomes(indented);
    }

    /// The number of the first edit that a revert of `wanted` needs.
    fn since(&self, wanted: &BTreeSet<HunkAt>) -> usize {
        let mut first = wanted.first().map_or(0, |at| at.0);
        loop {
            let undone = self.edits[first..].iter().flat_map(|it| &it.undoes);
            match undone.min().filter(|at| **at < first) {
                Some(at) => first = *at,
                None => return first,
            }
        }
    }

    /// Rejects a random part of the agent's hunks.
    fn reject(&mut self, script: &mut Bytes) {
        let mut wanted = BTreeSet::new();
        for (at, edit) in self.edits.iter().enumerate() {
            let own = (0..edit.logged.hunks.len()).map(|own| (at, own));
            wanted.extend(own.filter(|_| edit.part == Part::Other && script.below(2) == 1));
        }
        let first = self.since(&wanted);
        let plain: Vec<Logged> = self.edits[first..]
            .iter()
            .map(|it| {
                let undoes = it.undoes.iter().filter_map(|at| at.checked_sub(first));
                let undoes = undoes.collect();
                Logged {
                    undoes,
                    ..it.logged.clone()
                }
            })
            .collect();
        let part = |(edit, own): HunkAt| {
            let at = (edit + first, own);
            match (wanted.contains(&at), self.rejected.contains(&at)) {
                (true, true) => Part::Rejected,
                (true, false) => Part::Wanted,
                (false, true) => Part::Reverted,
                (false, false) => self.edits[at.0].part,
            }
        };
        let reverted = revert_edits(&self.text, &plain, &[], part);
        let mut patched = self.text.clone();
        for hunk in reverted.hunks.iter().rev() {
            patched.replace_range(hunk.start..hunk.end, &hunk.text);
        }
        assert_eq!(patched, reverted.text, "the hunks and the text");
        if wanted.is_empty() {
            assert_eq!(self.text, reverted.text, "nothing was to be reverted");
        }
        // A rejected change that undo brought back is a part of the place that shows it.
        let written: String = wanted
            .union(&self.rejected)
            .map(|at| &*self.edits[at.0].logged.hunks[at.1].new)
            .collect();
        let lost = |c: &char| is_own(*c) && !reverted.text.contains(*c) && !written.contains(*c);
        let lost: String = self.text.chars().filter(lost).collect();
        assert_eq!(lost, "", "lost in {:?} of {:?}", reverted.text, self.text);
        if reverted.hunks.is_empty() {
            return;
        }
        let hunks = reverted.reverted.iter();
        let hunks: BTreeSet<HunkAt> = hunks.map(|at| (at.0 + first, at.1)).collect();
        self.edits.push(Made {
            logged: logged(&self.text, &reverted.text, &reverted.hunks),
            part: Part::Inverse,
            undoes: hunks.iter().map(|at| at.0).collect(),
        });
        self.rejected.extend(hunks);
        self.becomes(reverted.text);
    }

    fn check(&self) {
        let text = &self.text;
        let mut seen = BTreeSet::new();
        for c in text.chars().filter(|c| is_own(*c)) {
            assert!(seen.insert(c), "{c} is doubled in {text:?}");
        }
        let known = |c: &char| self.first.contains(c);
        let here: Vec<char> = text.chars().filter(known).collect();
        let there = self.first.iter().copied();
        let there: Vec<char> = there.filter(|c| seen.contains(c)).collect();
        assert_eq!(here, there, "the order of the first text in {text:?}");
        let edits: Vec<Logged> = self.edits.iter().map(|it| it.logged.clone()).collect();
        let places = places(text, &edits);
        let mut known: BTreeSet<HunkAt> = places.gone.iter().copied().collect();
        assert_eq!(known.len(), places.gone.len(), "a hunk is gone twice");
        let mut before = text.to_owned();
        let mut end = text.len() + 1;
        for place in places.found.iter().rev() {
            assert!(place.range.end < end, "places touch: {:?}", places.found);
            end = place.range.start;
            before.replace_range(place.range.clone(), &place.before);
            for at in &place.hunks {
                assert!(known.insert(*at), "a hunk is in two places");
            }
        }
        assert_eq!(before, places.before, "the text without the edits");
    }
}
