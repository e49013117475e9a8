//! What a log says about the running turn: its streamed text, its cost, the files it changed. If
//! the process dies, the turn's end reports this.

use serde::{Deserialize, Serialize};

use crate::conversation::entry::LoggedHunk;
use crate::conversation::usage;
use crate::conversation::{Block, Event, FileChange, ItemId, Role, Spent, ToolItem};
use crate::env::Secrets;
use crate::env::order;

/// The running turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CutOff {
    #[serde(with = "usage::stored")]
    pub spent: Spent,
    /// Texts and thoughts whose item is incomplete, in order.
    texts: Vec<Streamed>,
    files: Vec<Changed>,
    /// Edits whose outcome is unknown.
    intended: Vec<Changed>,
    /// Changes that wait for the user's review.
    #[serde(default)]
    proposed: Vec<Waiting>,
    /// The files of calls that edit several together.
    #[serde(default)]
    together: Vec<(ItemId, Vec<String>)>,
    /// Items whose edits undo those of a call, and the call.
    #[serde(default)]
    undos: Vec<(ItemId, ItemId)>,
}

/// The URIs of files that calls without a result were to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreported {
    pub made: Vec<String>,
    pub unknown: Vec<String>,
    pub missing: Vec<String>,
}

impl Unreported {
    pub fn is_empty(&self) -> bool {
        self.made.is_empty() && self.unknown.is_empty() && self.missing.is_empty()
    }
}

/// A change that waits for the user's review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    item: ItemId,
    /// The call's id in its message.
    call: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Streamed {
    item: ItemId,
    thought: bool,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Changed {
    /// The item that shows it.
    item: ItemId,
    file: FileChange,
    /// It was shown.
    shown: bool,
    /// The model has the call's result.
    #[serde(default)]
    reported: bool,
}

impl CutOff {
    pub fn streamed(&mut self, item: ItemId, thought: bool, text: &str) {
        match self.texts.iter_mut().find(|known| known.item == item) {
            Some(known) => known.text.push_str(text),
            None => self.texts.push(Streamed {
                item,
                thought,
                text: text.to_owned(),
            }),
        }
    }

    pub fn completed(&mut self, item: &ItemId) {
        self.texts.retain(|known| known.item != *item);
    }

    /// A message: the text streamed before it is part of the conversation.
    pub fn message_logged(&mut self, role: Role) {
        // A later message answers the calls before it.
        self.proposed.clear();
        match role {
            Role::Assistant => self.texts.clear(),
            Role::User => self
                .files
                .iter_mut()
                .for_each(|known| known.reported = true),
        }
    }

    pub fn proposes(&mut self, item: ItemId, call: String) {
        self.proposed.push(Waiting { item, call });
    }

    /// The ids of calls whose change waited for the user's review: nothing of it was applied.
    pub fn proposed(&self) -> Vec<&str> {
        let waiting = self.proposed.iter();
        waiting.map(|known| known.call.as_str()).collect()
    }

    /// The call will edit these files.
    pub fn begins(&mut self, item: ItemId, uris: Vec<String>) {
        self.together.push((item, uris));
    }

    /// Edits of `item` undo those of `call`.
    pub fn undoes(&mut self, item: ItemId, call: ItemId) {
        self.undos.push((item, call));
    }

    pub fn intends(&mut self, item: ItemId, uri: String, hunks: &[LoggedHunk]) {
        self.proposed.retain(|known| known.item != item);
        if self.undos.iter().any(|(undo, _)| *undo == item) {
            return;
        }
        let lines = |text: &str| u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        let mut file = FileChange {
            uri,
            ..FileChange::default()
        };
        for hunk in hunks {
            file.added = file.added.saturating_add(lines(&hunk.new));
            file.removed = file.removed.saturating_add(lines(&hunk.old));
        }
        self.intended
            .retain(|known| known.item != item || known.file.uri != file.uri);
        self.intended.push(Changed {
            item,
            file,
            shown: false,
            reported: false,
        });
    }

    pub fn landed(&mut self, item: &ItemId, uri: &str, outcome: &str) {
        let made = matches!(outcome, "applied" | "rebased" | "held");
        if let Some((_, call)) = self.undos.iter().find(|(undo, _)| undo == item) {
            let undone = |known: &Changed| known.item == *call && known.file.uri == uri;
            self.files.retain(|known| !(made && undone(known)));
            return;
        }
        let is = |known: &Changed| known.item == *item && known.file.uri == uri;
        let Some(at) = self.intended.iter().position(is) else {
            return;
        };
        let intended = self.intended.remove(at);
        if made {
            self.files.push(intended);
        }
    }

    /// A tool call was shown: these are the files it changed. A delegating call shows other
    /// sessions' changes.
    pub fn changed(&mut self, call: &ToolItem) {
        self.proposed.retain(|known| known.item != call.item_id);
        self.together.retain(|(item, _)| *item != call.item_id);
        let delegated = call.child.is_some();
        self.files.retain(|known| {
            let repeated = delegated && call.files.iter().any(|file| file.uri == known.file.uri);
            known.item != call.item_id && (known.shown || !repeated)
        });
        self.files.extend(call.files.iter().map(|file| Changed {
            item: call.item_id.clone(),
            file: file.clone(),
            shown: true,
            reported: false,
        }));
    }

    /// Removes keys in use that arrived in two parts.
    pub fn clean(&mut self, secrets: &Secrets) {
        let texts = self.texts.iter_mut();
        texts.for_each(|known| secrets.clean_in(&mut known.text));
    }

    /// The items of incomplete texts.
    pub fn items(&self) -> Vec<Event> {
        let item = |known: &Streamed| {
            let (item_id, text) = (known.item.clone(), known.text.clone());
            match known.thought {
                true => Event::Thought { item_id, text },
                false => Event::text(item_id, text),
            }
        };
        self.texts.iter().map(item).collect()
    }

    /// The model's text so far, for the conversation.
    pub fn blocks(&self) -> Vec<Block> {
        let said = self.texts.iter().filter(|known| !known.thought);
        said.filter(|known| !known.text.trim().is_empty())
            .map(|known| Block::text(known.text.clone()))
            .collect()
    }

    /// What the log says about edits of calls without a result.
    pub fn unreported(&self) -> Unreported {
        let uri = |known: &Changed| known.file.uri.clone();
        let made: Vec<String> = self
            .files
            .iter()
            .filter(|it| !it.reported)
            .map(uri)
            .collect();
        let unknown: Vec<String> = self.intended.iter().map(uri).collect();
        let planned = self.together.iter().flat_map(|(_, uris)| uris);
        let known = |uri: &String| made.contains(uri) || unknown.contains(uri);
        Unreported {
            missing: planned.filter(|uri| !known(uri)).cloned().collect(),
            made,
            unknown,
        }
    }

    /// The changed files, each once.
    pub fn files(&self) -> Vec<FileChange> {
        let mut all = Vec::new();
        for Changed { file, .. } in &self.files {
            file.clone().add_to(&mut all);
        }
        order::sort_by(&mut all, |a, b| a.uri.cmp(&b.uri));
        all
    }
}
