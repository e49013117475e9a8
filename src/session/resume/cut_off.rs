//! What a log says about the running turn: its streamed text, its cost, the files it changed. If
//! the process dies, the turn's end reports this.

use serde::{Deserialize, Serialize};

use crate::conversation::entry::LoggedHunk;
use crate::conversation::usage;
use crate::conversation::{Block, Event, FileChange, ItemId, Role, Spent, ToolItem};
use crate::env::Secrets;

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
        if role == Role::Assistant {
            self.texts.clear();
        }
    }

    pub fn intends(&mut self, item: ItemId, uri: String, hunks: &[LoggedHunk]) {
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
        });
    }

    pub fn landed(&mut self, item: &ItemId, uri: &str, outcome: &str) {
        let is = |known: &Changed| known.item == *item && known.file.uri == uri;
        let Some(at) = self.intended.iter().position(is) else {
            return;
        };
        let intended = self.intended.remove(at);
        if matches!(outcome, "applied" | "rebased" | "held") {
            self.files.push(intended);
        }
    }

    /// A tool call was shown: these are the files it changed. A delegating call shows other
    /// sessions' changes.
    pub fn changed(&mut self, call: &ToolItem) {
        let delegated = call.child.is_some();
        self.files.retain(|known| {
            let repeated = delegated && call.files.iter().any(|file| file.uri == known.file.uri);
            known.item != call.item_id && (known.shown || !repeated)
        });
        self.files.extend(call.files.iter().map(|file| Changed {
            item: call.item_id.clone(),
            file: file.clone(),
            shown: true,
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

    /// The changed files, each once.
    pub fn files(&self) -> Vec<FileChange> {
        let mut all = Vec::new();
        for Changed { file, .. } in &self.files {
            file.clone().add_to(&mut all);
        }
        all.sort_by(|a, b| a.uri.cmp(&b.uri));
        all
    }
}
