//! Where the text that an edit replaced stands once the edit is reverted. An edit that was made in
//! the very text that an earlier one had left shows where that one wrote, even if what is around it
//! changed since.

use std::ops::Range;

/// What one edit replaced, reverted in the current text.
#[derive(Default)]
pub(super) struct Anchors(Vec<Anchor>);

struct Anchor {
    /// In the text before that edit.
    old: Range<usize>,
    /// Where it begins in the current text.
    at: usize,
}

impl Anchors {
    pub fn add(&mut self, old: Range<usize>, at: usize) {
        self.0.push(Anchor { old, at });
    }

    /// `range` of the current text was replaced by `length` bytes.
    pub fn shift(&mut self, range: &Range<usize>, length: usize) {
        for anchor in self.0.iter_mut().filter(|it| it.at >= range.end) {
            anchor.at = anchor.at - range.len() + length;
        }
    }

    /// Where `new`, which the earlier edit wrote at `start`, is in the current `text`: the anchors
    /// have a part of it.
    pub fn find(&self, text: &str, start: usize, new: &str) -> Option<usize> {
        let end = start + new.len();
        let shared = |it: &&Anchor| it.old.start < end && it.old.end > start;
        let mut places = self.0.iter().filter(shared);
        let place = |it: &Anchor| (it.at + start).checked_sub(it.old.start);
        let first = place(places.next()?)?;
        let here = text.get(first..).is_some_and(|it| it.starts_with(new));
        (here && places.all(|it| place(it) == Some(first))).then_some(first)
    }
}
