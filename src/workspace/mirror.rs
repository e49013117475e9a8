//! One document of the mirror: applies the client's changes or reports why it cannot, and keeps the
//! ring of recent changes for rebasing. Pure: no lock, no file system.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use ropey::Rope;

use super::document::{Author, Change, ContentChange, Document, Revision, SyncState, text_before};
use super::formatting::formats;
use super::full_text_change::{Piece, differences, slice};
use super::text::{Encoding, offset};
use super::uri::Uri;

/// Total bytes of the recorded changes of a document. Their number is not limited: one command of
/// an editor with many cursors makes hundreds.
const RING_BYTES: usize = 4 * 1024 * 1024;
/// The cost of a change in addition to its text.
const CHANGE_COST: usize = 128;
/// A change larger than this is not recorded: edits planned before it must be planned again.
const CHANGE_BYTES: usize = 1024 * 1024;

/// Versions of the client whose texts can be found again.
const VERSIONS: usize = 256;

/// Allocates revisions: one counter for all documents, so that none is ever reused.
#[derive(Debug, Default)]
pub(super) struct Revisions(u64);

impl Revisions {
    pub fn next(&mut self) -> Revision {
        self.0 += 1;
        Revision(self.0)
    }
}

/// A document with the mirror's private state.
pub(super) struct Mirror {
    pub document: Document,
    /// The spellings under which the document is open. If there are several, the editor has two
    /// buffers on one file, and only the one opened last is mirrored.
    pub opened_as: BTreeSet<Uri>,
    ring: VecDeque<Arc<Change>>,
    ring_bytes: usize,
    /// Changes up to and including this revision are no longer recorded.
    floor: Revision,
    /// The revision of the text that the first didOpen gave.
    opened_at: Revision,
    /// The revision before the last didChange, until the document is saved.
    before_change: Option<Revision>,
    /// The last versions of the client and the revisions of their texts, oldest first.
    versions: VecDeque<(i32, Revision)>,
}

impl Mirror {
    pub fn open(
        uri: Uri,
        key: String,
        language: &str,
        version: i32,
        text: &str,
        at: Revision,
    ) -> Self {
        Self {
            opened_as: BTreeSet::from([uri.clone()]),
            document: Document {
                uri,
                key,
                language: language.to_owned(),
                version,
                revision: at,
                rope: Rope::from_str(text),
                sync: SyncState::InSync,
                opened: true,
                agent_touched: false,
            },
            ring: VecDeque::new(),
            ring_bytes: 0,
            floor: at,
            opened_at: at,
            before_change: None,
            versions: VecDeque::from([(version, at)]),
        }
    }

    /// A document of which only the name is known.
    pub fn unopened(uri: Uri, key: String, at: Revision, reason: &str) -> Self {
        let mut mirror = Self::open(uri, key, "", i32::MIN, "", at);
        mirror.opened_as.clear();
        mirror.document.opened = false;
        mirror.lose(reason);
        mirror
    }

    /// A didOpen of a document that is already open.
    pub fn reopen(
        &mut self,
        uri: Uri,
        language: &str,
        version: i32,
        text: &str,
        next: &mut Revisions,
    ) {
        self.opened_as.insert(uri.clone());
        self.document.uri = uri;
        self.document.language = language.to_owned();
        self.document.version = version;
        self.replace_text(text, next);
    }

    /// A didClose under `uri`; `true` when the document is gone.
    pub fn close(&mut self, uri: &Uri) -> bool {
        if !self.opened_as.remove(uri) && self.opened_as.len() == 1 {
            return true;
        }
        let Some(other) = self.opened_as.first() else {
            return true;
        };
        if self.document.uri == *uri {
            self.document.uri = other.clone();
            self.lose("another buffer of the same file was closed, and this one's text is unknown");
        }
        false
    }

    /// A didChange: all changes or none.
    pub fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
        next: &mut Revisions,
    ) {
        let last = std::mem::replace(&mut self.document.version, version);
        self.before_change = Some(self.document.revision);
        let full = changes.iter().rposition(|change| change.range.is_none());
        if full.is_none() {
            if self.document.sync != SyncState::InSync {
                return;
            }
            if *uri != self.document.uri && self.opened_as.contains(uri) {
                self.lose("the editor has two buffers on this file");
                return;
            }
            if version <= last {
                self.lose(&format!("version {version} came after version {last}"));
                return;
            }
        }
        // A full text overrides the earlier changes of the notification.
        let changes = &changes[full.unwrap_or(0)..];
        // A change that fails leaves the text as it is, so a single change needs no backup: a second
        // owner of the rope would make every insertion copy its path.
        let before = (changes.len() > 1).then(|| self.document.rope.clone());
        let mut pieces = Vec::new();
        for change in changes {
            if let Err(reason) =
                apply_change(&mut self.document.rope, change, encoding, &mut pieces)
            {
                if let Some(before) = before {
                    self.document.rope = before;
                }
                self.lose(&reason);
                return;
            }
        }
        if full.is_some() {
            if self.opened_as.contains(uri) {
                self.document.uri = uri.clone();
            }
            self.heal();
        }
        self.record(pieces, next);
        self.note_version();
    }

    /// Marks the document out of sync; the first reason stays.
    pub fn lose(&mut self, reason: &str) {
        if self.document.sync == SyncState::InSync {
            self.document.sync = SyncState::OutOfSync(reason.to_owned());
        }
    }

    /// The changes after `revision`; `None` if some are not recorded.
    pub fn since(&self, revision: Revision) -> Option<Vec<Arc<Change>>> {
        if revision < self.floor || revision > self.document.revision {
            return None;
        }
        let first = self
            .ring
            .partition_point(|change| change.revision <= revision);
        Some(self.ring.range(first..).cloned().collect())
    }

    /// The first didOpen's revision and all changes since; `None` if some are not recorded.
    pub fn since_open(&self) -> Option<(Revision, Vec<Arc<Change>>)> {
        Some((self.opened_at, self.since(self.opened_at)?))
    }

    /// The text at a version of the client, and its revision; `None` if some changes since are not
    /// recorded.
    pub fn at_version(&self, version: i32) -> Option<(Revision, Rope)> {
        let mut known = self.versions.iter().rev();
        let (_, revision) = known.find(|(known, _)| *known == version)?;
        let mut rope = self.document.rope.clone();
        for change in self.since(*revision)?.iter().rev() {
            let inverse = Piece {
                start: change.start,
                removed: change.inserted.clone(),
                inserted: change.removed.clone(),
                continues: false,
            };
            splice(&mut rope, &inverse);
        }
        Some((*revision, rope))
    }

    fn note_version(&mut self) {
        if self.versions.len() == VERSIONS {
            self.versions.pop_front();
        }
        let now = (self.document.version, self.document.revision);
        self.versions.push_back(now);
    }

    pub fn attribute(&mut self, from: Revision, to: Revision, author: &Author) {
        for change in &mut self.ring {
            if from < change.revision && change.revision <= to {
                Arc::make_mut(change).author = author.clone();
            }
        }
        if matches!(author, Author::Session(_)) {
            self.document.agent_touched = true;
        }
    }

    /// The document was saved. If a formatter made the last change, the text before it.
    pub fn saved(&mut self) -> Option<Rope> {
        let from = self.before_change.take()?;
        let changes = self.since(from)?;
        let changes: Vec<Change> = changes.iter().map(|it| Change::clone(it)).collect();
        let users = changes.iter().all(|it| it.author == Author::User);
        let after = &self.document.rope;
        let before = text_before(after, &changes);
        if !users || !formats(&changes, &before, after) {
            return None;
        }
        self.attribute(from, self.document.revision, &Author::Formatter);
        Some(before)
    }

    /// The editor loaded the file from disk between these revisions.
    pub fn loaded(&mut self, from: Revision, to: Revision) {
        for change in &mut self.ring {
            let within = from < change.revision && change.revision <= to;
            if within && change.author == Author::User {
                Arc::make_mut(change).author = Author::Disk;
            }
        }
    }

    /// Replaces the text with one known to be right.
    fn replace_text(&mut self, text: &str, next: &mut Revisions) {
        let pieces = differences(&self.document.rope, text);
        for piece in &pieces {
            splice(&mut self.document.rope, piece);
        }
        self.heal();
        self.record(pieces, next);
        self.note_version();
    }

    fn heal(&mut self) {
        self.document.sync = SyncState::InSync;
        self.document.opened = true;
    }

    fn record(&mut self, pieces: Vec<Piece>, next: &mut Revisions) {
        for piece in pieces {
            let revision = next.next();
            self.document.revision = revision;
            let bytes = cost(&piece.removed, &piece.inserted);
            if bytes > CHANGE_BYTES {
                self.ring.clear();
                self.ring_bytes = 0;
                self.floor = revision;
                continue;
            }
            self.ring_bytes += bytes;
            self.ring.push_back(Arc::new(Change {
                revision,
                start: piece.start,
                removed: piece.removed,
                inserted: piece.inserted,
                author: Author::User,
                continues: piece.continues,
            }));
            while self.ring_bytes > RING_BYTES {
                let Some(oldest) = self.ring.pop_front() else {
                    break;
                };
                self.ring_bytes -= cost(&oldest.removed, &oldest.inserted);
                self.floor = oldest.revision;
            }
        }
    }
}

fn cost(removed: &str, inserted: &str) -> usize {
    removed.len() + inserted.len() + CHANGE_COST
}

/// Applies one change of a notification and adds its pieces. Fails with a reason if its range is
/// not in the text.
fn apply_change(
    rope: &mut Rope,
    change: &ContentChange,
    encoding: Encoding,
    pieces: &mut Vec<Piece>,
) -> Result<(), String> {
    let length = rope.len_bytes();
    let (start, end) = match change.range {
        None => (0, length),
        Some(range) => {
            let backwards =
                (range.start.line, range.start.character) > (range.end.line, range.end.character);
            if backwards {
                return Err("a change ends before it starts".to_owned());
            }
            let place = |position| {
                offset(rope, position, encoding)
                    .map_err(|error| format!("a change is invalid: {error}"))
            };
            let start = place(range.start)?;
            let typed = range.start == range.end;
            (start, if typed { start } else { place(range.end)? })
        }
    };
    // Some clients replace the whole text at every key: only the differences are recorded.
    let found = if start == 0 && end == length {
        differences(rope, &change.text)
    } else {
        let removed = match start == end {
            true => String::new(),
            false => slice(rope, start, end),
        };
        if removed == change.text {
            return Ok(());
        }
        vec![Piece {
            start,
            removed,
            inserted: change.text.clone(),
            continues: false,
        }]
    };
    for piece in &found {
        splice(rope, piece);
    }
    pieces.extend(found);
    Ok(())
}

fn splice(rope: &mut Rope, piece: &Piece) {
    let start = rope.byte_to_char(piece.start);
    if !piece.removed.is_empty() {
        let end = rope.byte_to_char(piece.start + piece.removed.len());
        rope.remove(start..end);
    }
    if !piece.inserted.is_empty() {
        rope.insert(start, &piece.inserted);
    }
}
