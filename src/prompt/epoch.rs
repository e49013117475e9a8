//! Baseline and journal: what changed since the baseline, as entries that the next user message
//! carries. The baseline's bytes never change here; a changed source gets a journal entry instead.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::trust_word;
use super::facts::Facts;
use super::fence;
use super::layout::{Layout, Modes};
pub use super::sources::{LATE, NESTED, REMOTE, SUMMARY, UNREADABLE};
use super::sources::{is_reserved, rendered, source_key};
use super::texts::Texts;
use super::types::{Assembled, TailPart, Trust};
use crate::conversation::Mode;
use crate::conversation::input::Slot;
use crate::env::order;
use crate::knowledge::instructions::is_url;

/// One update to the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// `instructions`, `mode`, `trust`, `segment`.
    pub about: String,
    /// Path, URI or name; the key in `admitted`.
    pub source: String,
    /// Empty when the source is gone.
    pub hash: String,
    /// The text block for the model; untrusted text inside is fenced.
    pub text: String,
}

/// The differences between `facts` and `admitted` (the baseline's `sources` with every journal
/// entry since applied), in a fixed order: trust, mode, instructions in the prompt's order, removed
/// instructions, the caller's segments, journaled rows. An empty hash in `admitted` equals no key.
/// `assembled` is the prompt of these facts.
pub fn journal(
    layout: &Layout,
    texts: &Texts,
    facts: &Facts,
    assembled: &Assembled,
    admitted: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let journal = Journal {
        texts,
        facts,
        admitted,
        assembled,
        news: true,
    };
    let mut entries = Vec::new();
    entries.extend(journal.trust());
    if layout.head.modes == Modes::Notice {
        entries.extend(journal.mode());
    }
    entries.extend(journal.instructions());
    entries.extend(journal.segments());
    entries.extend(journal.rows());
    entries
}

/// What the first message of an epoch says besides the new baseline: the mode, if the history
/// states another one, or if the layout states none and it is not the default.
pub fn at_start(
    layout: &Layout,
    texts: &Texts,
    facts: &Facts,
    assembled: &Assembled,
    admitted: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let mode = facts.mode.as_str();
    let reported = match admitted.get("mode") {
        Some(reported) => reported.as_str(),
        None if layout.states_mode(&assembled.rows) => mode,
        None => Mode::default().as_str(),
    };
    if reported == mode {
        return Vec::new();
    }
    let journal = Journal {
        texts,
        facts,
        admitted: &BTreeMap::new(),
        assembled,
        news: true,
    };
    journal.mode().into_iter().collect()
}

/// Corrections of updates from earlier epochs (`reported`: source → hash) that no longer hold: a
/// new baseline does not override them, because they come after it. [`at_start`] handles modes.
/// With another layout (`same_layout`: false) the rows differ, so none is reported as removed.
pub fn corrections(
    texts: &Texts,
    facts: &Facts,
    assembled: &Assembled,
    reported: &BTreeMap<String, String>,
    same_layout: bool,
) -> Vec<JournalEntry> {
    if reported.is_empty() {
        return Vec::new();
    }
    let journal = Journal {
        texts,
        facts,
        admitted: reported,
        assembled,
        news: false,
    };
    let mut entries = Vec::new();
    entries.extend(journal.trust());
    entries.extend(journal.instructions());
    entries.extend(journal.segments());
    if same_layout {
        entries.extend(journal.rows());
    }
    entries
}

/// A part for each tail part that was sent (`sent`: id → hash) and no longer exists, saying so. Its
/// hash is empty, and an empty hash in `sent` equals no key. Without this the last selection sent
/// would look current.
pub fn withdrawn(
    texts: &Texts,
    sent: &BTreeMap<String, String>,
    tail: &[TailPart],
) -> Vec<TailPart> {
    let present = order::set(tail.iter().map(|part| part.id.as_str()));
    sent.iter()
        .filter(|(id, hash)| !hash.is_empty() && !present.contains(id.as_str()))
        .map(|(id, _)| TailPart {
            id: id.clone(),
            text: texts.render(
                "tail.md",
                &[
                    ("id", id),
                    ("text", &texts.render("journal/withdrawn.md", &[])),
                ],
            ),
            hash: String::new(),
        })
        .collect()
}

/// With `prompt.editorSlot = "system"`: the editor's part of the system text differs from the
/// baseline's, so a new epoch (reason `setting`) is due. Also after the setting was switched.
pub fn editor_changed(assembled: &Assembled, baseline: &BTreeMap<String, String>) -> bool {
    fn editor(sources: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
        sources
            .iter()
            .filter(|(key, _)| key.starts_with("editor:"))
            .collect()
    }
    editor(&assembled.sources) != editor(baseline)
}

struct Journal<'a> {
    texts: &'a Texts,
    facts: &'a Facts,
    admitted: &'a BTreeMap<String, String>,
    /// The prompt as it is now. What it only shows (`shown`) is not news, but corrects an update
    /// that said something else.
    assembled: &'a Assembled,
    /// Sources that were never reported are reported, too.
    news: bool,
}

impl Journal<'_> {
    fn entry(
        &self,
        about: &str,
        source: &str,
        text: &str,
        values: &[(&str, &str)],
    ) -> JournalEntry {
        let text = self.texts.render(text, values);
        JournalEntry {
            about: about.to_owned(),
            source: source.to_owned(),
            hash: self.hash(source).cloned().unwrap_or_default(),
            text: self
                .texts
                .render("journal/entry.md", &[("about", about), ("text", &text)]),
        }
    }

    /// The hash of the prompt's text under the key.
    fn hash(&self, key: &str) -> Option<&String> {
        self.assembled
            .sources
            .get(key)
            .or_else(|| self.assembled.shown.get(key))
    }

    /// The hash admitted under the key, unless it was removed.
    fn known(&self, key: &str) -> Option<&str> {
        let hash = self.admitted.get(key)?;
        (!hash.is_empty()).then_some(hash)
    }

    /// The source's current text differs from the last reported one.
    fn differs(&self, key: &str, hash: &str) -> bool {
        match self.admitted.get(key) {
            Some(reported) => reported != hash,
            None => self.news && self.assembled.sources.contains_key(key),
        }
    }

    fn trust(&self) -> Option<JournalEntry> {
        let now = trust_word(self.facts);
        // Baselines older than this key do not state the trust: say nothing.
        if self.known("trust")? == now {
            return None;
        }
        let text = if self.facts.trusted {
            "journal/trust-given.md"
        } else {
            "journal/trust-withdrawn.md"
        };
        Some(self.entry("trust", "trust", text, &[]))
    }

    fn mode(&self) -> Option<JournalEntry> {
        let mode = self.facts.mode.as_str();
        if self.known("mode") == Some(mode) {
            return None;
        }
        let text = self.texts.render(&format!("modes/{mode}.md"), &[]);
        let values = [("mode", mode), ("text", &text)];
        Some(self.entry("mode", "mode", "journal/mode.md", &values))
    }

    fn instructions(&self) -> Vec<JournalEntry> {
        let mut entries = Vec::new();
        let mut seen = BTreeSet::new();
        for one in &self.facts.instructions {
            let key = source_key(&one.source);
            let Some(hash) = self.hash(&key) else {
                continue;
            };
            let trusted = self.facts.trust(one.standing) != Trust::Untrusted;
            let first = trusted && seen.insert(key.clone());
            if !first || !self.differs(&key, hash) {
                continue;
            }
            let text = match self.known(&key) {
                Some(_) => "journal/instructions-changed.md",
                None => "journal/instructions-added.md",
            };
            let body = rendered(self.texts, one);
            entries.push(self.entry("instructions", &key, text, &[("text", &body)]));
        }
        for key in self.admitted.keys() {
            if is_reserved(key) || self.known(key).is_none() || self.hash(key).is_some() {
                continue;
            }
            // A server that is down, or was not asked yet, removes nothing.
            let wanted = |(source, _): &(String, String)| source == key;
            if is_url(key) && self.facts.problems.iter().any(wanted) {
                continue;
            }
            let mut name = fence::name(key);
            if !self.facts.trusted {
                // Its name is untrusted now, too.
                name = format!("\n{}", fence::block(&name));
            }
            let text = "journal/instructions-removed.md";
            entries.push(self.entry("instructions", key, text, &[("source", &name)]));
        }
        entries
    }

    fn segments(&self) -> Vec<JournalEntry> {
        let mut entries = Vec::new();
        for segment in &self.facts.segments {
            let key = format!("segment:{}", segment.id);
            let Some(hash) = self.assembled.sources.get(&key) else {
                continue;
            };
            if segment.slot != Some(Slot::System) || !self.differs(&key, hash) {
                continue;
            }
            let (id, title) = (fence::name(&segment.id), fence::name(&segment.title));
            let title = if title.is_empty() { id } else { title };
            entries.push(self.changed(&key, &title, segment.body.trim()));
        }
        entries.extend(self.removed("segment:"));
        entries
    }

    /// Rows of the system text whose changes are journaled: skills, memory, persona.
    fn rows(&self) -> Vec<JournalEntry> {
        let mut entries = Vec::new();
        for row in &self.assembled.rows {
            let key = format!("row:{}", row.id);
            let (Some(hash), Some(text)) = (self.assembled.sources.get(&key), &row.text) else {
                continue;
            };
            if self.differs(&key, hash) {
                entries.push(self.changed(&key, &row.title, text.trim()));
            }
        }
        entries.extend(self.removed("row:"));
        entries
    }

    fn changed(&self, key: &str, title: &str, body: &str) -> JournalEntry {
        let values = [("title", title), ("body", body)];
        self.entry("segment", key, "journal/segment-changed.md", &values)
    }

    /// Entries for what was admitted under a key with this prefix and no longer exists.
    fn removed(&self, prefix: &str) -> Vec<JournalEntry> {
        let gone = self.admitted.keys().filter_map(|key| {
            let id = key.strip_prefix(prefix)?;
            if self.known(key).is_none() || self.assembled.sources.contains_key(key) {
                return None;
            }
            let id = fence::name(id);
            let text = "journal/segment-removed.md";
            Some(self.entry("segment", key, text, &[("title", &id)]))
        });
        gone.collect()
    }
}

#[cfg(test)]
mod tests;
