//! A plain model of one document, and a driver that runs it beside the mirror on arbitrary bytes.

use super::bytes::Bytes;
use crate::workspace::{
    ContentChange, Document, Encoding, Position, Range, SyncState, Uri, Workspace,
};

/// Reads `data` as opens, changes, saves and closes of a few documents and compares the mirror
/// with the model after each.
///
/// # Panics
/// When the mirror and the model disagree.
pub fn fuzz_changes(data: &[u8]) {
    let workspace = Workspace::new();
    let mut script = Bytes::new(data);
    let mut models: [Option<Model>; 2] = [None, None];
    let encoding = match script.byte() % 3 {
        0 => Encoding::Utf8,
        1 => Encoding::Utf16,
        _ => Encoding::Utf32,
    };
    while !script.over() {
        let number = usize::from(script.byte() % 2);
        let uri = Uri::new(format!("untitled:{number}"));
        let before = workspace.document(&uri);
        match script.byte() % 8 {
            0 => {
                let (version, text) = (i32::from(script.byte()), read_text(&mut script));
                workspace.did_open(uri.clone(), "text", version, &text);
                models[number] = Some(Model::open(version, text));
            }
            1 => {
                workspace.did_close(&uri);
                models[number] = None;
            }
            _ => {
                let version = read_version(&mut script, before.as_ref());
                let changes = read_changes(&mut script);
                workspace.did_change(&uri, version, &changes, encoding);
                models[number]
                    .get_or_insert_with(Model::unopened)
                    .change(version, &changes, encoding);
            }
        }
        let after = workspace.document(&uri);
        compare(after.as_ref(), models[number].as_ref());
        if let (Some(before), Some(after)) = (before, after) {
            replay(&workspace, &before, &after);
        }
    }
}

fn compare(document: Option<&Document>, model: Option<&Model>) {
    let (Some(document), Some(model)) = (document, model) else {
        assert!(document.is_none() && model.is_none(), "open on one side");
        return;
    };
    let synced = document.sync == SyncState::InSync;
    assert_eq!(synced, model.synced, "sync state: {:?}", document.sync);
    assert_eq!(document.version, model.version, "version");
    assert_eq!(document.rope, model.text.as_str(), "text");
}

/// The recorded changes turn the earlier text into the later one.
fn replay(workspace: &Workspace, before: &Document, after: &Document) {
    let Some(changes) = workspace.changes_since(&after.uri, before.revision) else {
        return;
    };
    let mut text = before.rope.to_string();
    for change in changes {
        let end = change.start + change.removed.len();
        assert_eq!(text.get(change.start..end), Some(&*change.removed));
        text.replace_range(change.start..end, &change.inserted);
    }
    assert_eq!(after.rope, text.as_str(), "recorded changes");
}

/// The same rules as the mirror's, written as plainly as possible.
struct Model {
    text: String,
    version: i32,
    synced: bool,
}

impl Model {
    fn open(version: i32, text: String) -> Self {
        Self {
            text,
            version,
            synced: true,
        }
    }

    fn unopened() -> Self {
        Self {
            text: String::new(),
            version: i32::MIN,
            synced: false,
        }
    }

    fn change(&mut self, version: i32, changes: &[ContentChange], encoding: Encoding) {
        let full = changes.iter().any(|change| change.range.is_none());
        let follows = version > self.version;
        self.version = version;
        if !full && (!self.synced || !follows) {
            self.synced = false;
            return;
        }
        // Changes before the last full text do not matter.
        let first = changes.iter().rposition(|change| change.range.is_none());
        let mut text = self.text.clone();
        for change in &changes[first.unwrap_or(0)..] {
            if !apply(&mut text, change, encoding) {
                self.synced = false;
                return;
            }
        }
        self.text = text;
        self.synced = true;
    }
}

fn apply(text: &mut String, change: &ContentChange, encoding: Encoding) -> bool {
    let Some(range) = change.range else {
        text.clone_from(&change.text);
        return true;
    };
    let start = model_offset(text, range.start, encoding);
    let end = model_offset(text, range.end, encoding);
    let key = |position: Position| (position.line, position.character);
    match (start, end) {
        (Some(start), Some(end)) if key(range.start) <= key(range.end) => {
            text.replace_range(start..end, &change.text);
            true
        }
        _ => false,
    }
}

/// Byte offset of a position, by walking over every character.
fn model_offset(text: &str, position: Position, encoding: Encoding) -> Option<usize> {
    let mut lines = vec![0];
    for (at, char) in text.char_indices() {
        let next = at + char.len_utf8();
        if char == '\n' || (char == '\r' && !text[next..].starts_with('\n')) {
            lines.push(next);
        }
    }
    let line = position.line as usize;
    let Some(&start) = lines.get(line) else {
        let end = line == lines.len() && position.character == 0;
        return end.then_some(text.len());
    };
    let mut column = 0;
    for (at, char) in text[start..].char_indices() {
        if char == '\n' || char == '\r' || column == position.character as usize {
            return Some(start + at);
        }
        column += match encoding {
            Encoding::Utf8 => char.len_utf8(),
            Encoding::Utf16 => char.len_utf16(),
            Encoding::Utf32 => 1,
        };
        if column > position.character as usize {
            return None;
        }
    }
    Some(text.len())
}

/// Mostly a greater version, with gaps; sometimes the same or a lower one.
fn read_version(script: &mut Bytes, document: Option<&Document>) -> i32 {
    let last = document.map_or(0, |document| document.version);
    let byte = script.byte();
    let step = if byte < 16 {
        i32::from(byte) - 15
    } else {
        i32::from(byte % 7) + 1
    };
    last.saturating_add(step)
}

fn read_changes(script: &mut Bytes) -> Vec<ContentChange> {
    let count = script.byte() % 4;
    (0..count)
        .map(|_| ContentChange {
            range: (!script.byte().is_multiple_of(8)).then(|| read_range(script)),
            text: read_text(script),
        })
        .collect()
}

/// Mostly in order; what it names may not exist.
fn read_range(script: &mut Bytes) -> Range {
    let start = read_position(script);
    let end = match script.byte() % 4 {
        0 => read_position(script),
        1 => start,
        lines => Position {
            line: start.line + u32::from(lines - 2),
            character: start.character + u32::from(script.byte() % 4),
        },
    };
    Range { start, end }
}

fn read_position(script: &mut Bytes) -> Position {
    Position {
        line: u32::from(script.byte() % 8),
        character: u32::from(script.byte() % 16),
    }
}

fn read_text(script: &mut Bytes) -> String {
    const WORDS: [&str; 12] = [
        "a",
        "bc",
        "\n",
        "\r\n",
        "\r",
        "é",
        "e\u{301}",
        "😀",
        "\u{200d}",
        "\u{2028}",
        "漢",
        "a longer word ",
    ];
    let count = script.byte() % 6;
    (0..count).map(|_| script.one_of(&WORDS)).collect()
}

#[cfg(test)]
mod tests;
