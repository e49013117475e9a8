//! A body that grows with its conversation. What was written for the messages that later ones
//! cannot change is kept, and the next request continues it: a step of a long conversation writes
//! only what is new.

#[cfg(test)]
pub mod tests;

use std::collections::HashSet;
use std::io;

use bytes::{Bytes, BytesMut};

use crate::conversation::History;

/// How far a history was converted, and where the next conversion may begin.
#[derive(Debug, Default)]
pub struct Progress {
    /// The first message to convert.
    pub from: usize,
    pub ids: Ids,
    /// Places before which nothing changes any more, in order.
    pub cuts: Vec<Cut>,
}

impl Progress {
    /// The next entry, number `entry` of this conversion, begins with `message`, before which it
    /// had taken `ids` ids; no later message changes what is before it.
    pub fn cut(&mut self, message: usize, entry: usize, ids: usize) {
        // Before the first message, there is nothing to keep.
        if message > 0 {
            self.cuts.push(Cut {
                message,
                entry,
                ids,
            });
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Cut {
    message: usize,
    pub entry: usize,
    ids: usize,
}

/// Ids of calls on the wire so far.
#[derive(Debug, Default)]
pub struct Ids {
    taken: HashSet<String>,
    /// Those of this conversion, in order.
    fresh: Vec<String>,
}

impl Ids {
    /// Takes an id; false if it was taken before.
    pub fn take(&mut self, id: &str) -> bool {
        let new = self.taken.insert(id.to_owned());
        if new {
            self.fresh.push(id.to_owned());
        }
        new
    }

    /// How many of this conversion were taken.
    pub fn count(&self) -> usize {
        self.fresh.len()
    }

    /// Gives back all but the first `count` ids of this conversion.
    fn keep(&mut self, count: usize) {
        for id in self.fresh.drain(..).skip(count) {
            self.taken.remove(&id);
        }
    }
}

/// A body while it is written: a head, and a list of items for the messages.
#[derive(Debug, Default)]
pub struct Growing {
    bytes: BytesMut,
    key: String,
    head: usize,
    /// The head ends after an item of the list.
    head_any: bool,
    /// An item was written, now or for an earlier request.
    any: bool,
    /// Where the entries of this conversion begin.
    starts: Vec<usize>,
    pub progress: Progress,
    /// What the adapter derived from the first messages.
    pub note: String,
}

/// What stays of a body.
struct Kept {
    key: String,
    head: usize,
    /// Identifies the messages up to the one that comes next.
    mark: (u64, usize),
    from: usize,
    /// The last body; what is before `end` stays.
    bytes: Bytes,
    end: usize,
    ids: Ids,
    note: String,
}

impl Growing {
    /// Ends the head, inside the list of items (`any`: after one). `key` has everything else that
    /// decides the bytes of the items. If an earlier request began with the same head and
    /// messages, this continues its body.
    pub fn begin(&mut self, history: &History, key: String, any: bool) {
        (self.head, self.head_any, self.any) = (self.bytes.len(), any, any);
        self.key = key;
        let kept = history.memo().take::<Kept>();
        let Some(kept) = kept.filter(|kept| kept.fits(history, &self.key, &self.bytes)) else {
            return;
        };
        self.bytes = match kept.bytes.try_into_mut() {
            Ok(bytes) => bytes,
            Err(in_use) => BytesMut::from(&in_use[..kept.end]),
        };
        self.bytes.truncate(kept.end);
        self.any = true;
        self.note = kept.note;
        self.progress = Progress {
            from: kept.from,
            ids: kept.ids,
            cuts: Vec::new(),
        };
    }

    /// Removes the items, also those of earlier requests.
    pub fn restart(&mut self) {
        self.bytes.truncate(self.head);
        self.any = self.head_any;
        self.note.clear();
        self.progress = Progress::default();
    }

    /// Whether this continues an earlier request.
    pub fn continues(&self) -> bool {
        self.progress.from > 0
    }

    /// Begins the next entry; every call belongs to the next one of the converted history.
    pub fn entry(&mut self) {
        self.starts.push(self.bytes.len());
    }

    /// Writes what separates two items of the list.
    pub fn separate(&mut self) {
        if std::mem::replace(&mut self.any, true) {
            self.text(",");
        }
    }

    pub fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn json(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        // Cannot fail: all keys of maps are strings, and writing to memory always succeeds.
        let _ = serde_json::to_writer(self, value);
    }

    /// Ends an object with more members, at least one.
    pub fn join(&mut self, members: &serde_json::Map<String, serde_json::Value>) {
        let start = self.bytes.len();
        self.json(members);
        // Its opening brace becomes the comma.
        self.bytes[start] = b',';
    }

    /// Removes the end of an object, so that more can follow.
    pub fn reopen(&mut self) {
        self.bytes.truncate(self.bytes.len().saturating_sub(1));
    }

    /// Bytes so far.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The body. What is before `cut` is kept for the next request of this history.
    pub fn finish(self, history: &History, cut: Option<Cut>) -> Bytes {
        let bytes = self.bytes.freeze();
        let known = cut.and_then(|cut| {
            let end = self.starts.get(cut.entry).copied()?;
            Some((cut, end, history.mark(cut.message)?))
        });
        if let Some((cut, end, mark)) = known {
            let mut ids = self.progress.ids;
            ids.keep(cut.ids);
            history.memo().put(Kept {
                key: self.key,
                head: self.head,
                mark,
                from: cut.message,
                bytes: bytes.clone(),
                end,
                ids,
                note: self.note,
            });
        }
        bytes
    }
}

impl Kept {
    fn fits(&self, history: &History, key: &str, head: &[u8]) -> bool {
        self.key == key
            && history.mark(self.from) == Some(self.mark)
            && self.bytes[..self.head] == *head
    }
}

impl io::Write for &mut Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
