//! A turn's first user message: facts gathered, drafted; the same path for a preview.

use std::path::PathBuf;
use std::sync::Arc;

use super::draft::{Draft, Sources, draft};
use super::facts::{Gather, Recent, gather, recent};
use super::resources::{self, Reader};
use super::{Conversation, Settings, Shared};
use crate::conversation::{EditorContext, EpochId, Input, Segment};
use crate::edit::Seen;
use crate::prompt::{Facts, Layout};
use crate::provider::Model;
use crate::workspace::Encoding;

/// Everything that the first message of a turn depends on, owned, so that gathering can run
/// off the runtime's threads.
pub struct Compose {
    pub shared: Arc<Shared>,
    pub settings: Settings,
    pub cwd: PathBuf,
    pub model: Model,
    pub layout: Arc<Layout>,
    pub editor: EditorContext,
    pub segments: Vec<Segment>,
    pub seen: Seen,
    pub encoding: Encoding,
    pub conversation: Conversation,
    pub input: Vec<Input>,
    pub epoch: EpochId,
}

impl Compose {
    /// Gathers and drafts; with the user's changes that the message tells. Blocking.
    pub fn draft(&self) -> (Facts, Draft, Vec<Recent>) {
        let policy = self.shared.policy(self.settings.clone(), &self.cwd);
        let recent = recent(&self.shared.workspace, &policy, &self.cwd, &self.seen);
        let facts = gather(Gather {
            shared: &self.shared,
            settings: &self.settings,
            policy: &policy,
            cwd: &self.cwd,
            model: &self.model.family,
            editor: &self.editor,
            segments: &self.segments,
            recent: &recent,
            encoding: self.encoding,
            hints: Vec::new(),
            layout: &self.layout,
        });
        let input = resources::blocks(
            &Reader {
                workspace: &self.shared.workspace,
                texts: &self.shared.texts,
                facts: &self.model.facts,
                policy: &policy,
                cwd: &self.cwd,
                encoding: self.encoding,
            },
            &self.input,
        );
        let draft = draft(
            &self.conversation,
            &Sources {
                layout: &self.layout,
                texts: &self.shared.texts,
                facts: &facts,
                model: &self.model,
                epoch: self.epoch.clone(),
            },
            input,
        );
        (facts, draft, recent)
    }
}
