//! Changes that wait for the user's decisions (`edits.review = "before"`). A call shows its change
//! as places, each kept, rejected or amended on its own, and runs once all of them are decided. The
//! approval of the call decides about the places that are left.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::conversation::{ItemId, TurnId};
use crate::edit::proposal::{Choice, Proposed, proposed};
use crate::tools::{ProposedFile, Reviewable};
use crate::workspace::{Located, Revision, Workspace};

/// What the names of proposed places begin with.
const PREFIX: &str = "proposed:";

/// The changes of a session that wait.
#[derive(Debug, Default)]
pub struct Proposals {
    waiting: Mutex<Vec<Arc<Proposal>>>,
}

/// The change of one call.
#[derive(Debug)]
pub struct Proposal {
    pub item: ItemId,
    pub turn: TurnId,
    files: Vec<ProposedFile>,
    places: Vec<Place>,
    /// One entry for each place.
    choices: Mutex<Vec<Option<Choice>>>,
    decided: Notify,
}

/// A place of a proposed change.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its file among those of the call.
    file: usize,
    pub proposed: Proposed,
}

/// A place that waits for a decision.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub proposal: Arc<Proposal>,
    at: usize,
}

impl Waiting {
    /// Its name on the wire.
    pub fn id(&self) -> String {
        format!("{PREFIX}{}:{}", self.proposal.item, self.at)
    }

    pub fn place(&self) -> &Proposed {
        &self.proposal.places[self.at].proposed
    }

    fn file(&self) -> &ProposedFile {
        &self.proposal.files[self.proposal.places[self.at].file]
    }

    pub fn located(&self) -> &Located {
        &self.file().located
    }

    /// Its bytes in the text `now`, whose revision is `revision`; `None`: others changed the text
    /// there.
    pub fn range_in(
        &self,
        workspace: &Workspace,
        now: &ropey::Rope,
        revision: Option<Revision>,
    ) -> Option<Range<usize>> {
        let (file, range) = (self.file(), self.place().range.clone());
        if *now == file.plan.base {
            return Some(range);
        }
        let since = file.base_revision.filter(|_| revision.is_some())?;
        let changes = workspace.changes_since(&file.located.uri, since)?;
        let mut changes = changes.iter();
        let moved = changes.try_fold((range.start, range.end), |(start, end), change| {
            crate::edit::rebase::shift(start, end, change)
        })?;
        let text = now.get_byte_slice(moved.0..moved.1)?;
        (text == self.place().before).then_some(moved.0..moved.1)
    }

    /// Stores the user's decision. False: it was decided before, or the call no longer waits.
    pub fn decide(&self, choice: Choice) -> bool {
        let mut choices = self.proposal.choices.lock();
        let Some(open) = choices.get_mut(self.at).filter(|it| it.is_none()) else {
            return false;
        };
        *open = Some(choice);
        if choices.iter().all(Option::is_some) {
            self.proposal.decided.notify_one();
        }
        true
    }
}

/// Whether a hunk's name is that of a proposed place.
pub fn is_proposed(id: &str) -> bool {
    id.starts_with(PREFIX)
}

impl Proposals {
    /// The places without a decision, in the order in which they were proposed.
    pub fn list(&self) -> Vec<Waiting> {
        let mut listed = Vec::new();
        for proposal in self.waiting.lock().iter() {
            let choices = proposal.choices.lock();
            let open = (0..choices.len()).filter(|at| choices[*at].is_none());
            listed.extend(open.map(|at| Waiting {
                proposal: proposal.clone(),
                at,
            }));
        }
        listed
    }

    /// Adds a change, until the ticket is dropped.
    pub fn wait_for(self: &Arc<Self>, item: ItemId, turn: TurnId, of: &Reviewable) -> Ticket {
        let files = of.files.clone();
        let places: Vec<Place> = files
            .iter()
            .enumerate()
            .flat_map(|(file, it)| {
                let of_file = proposed(&it.plan).into_iter();
                of_file.map(move |proposed| Place { file, proposed })
            })
            .collect();
        let proposal = Arc::new(Proposal {
            item,
            turn,
            files,
            choices: Mutex::new(vec![None; places.len()]),
            places,
            decided: Notify::new(),
        });
        self.waiting.lock().push(proposal.clone());
        Ticket {
            all: Arc::clone(self),
            proposal,
        }
    }
}

/// A waiting change; it no longer waits when this is dropped.
pub struct Ticket {
    all: Arc<Proposals>,
    proposal: Arc<Proposal>,
}

impl Ticket {
    /// Waits until every place is decided.
    pub async fn decided(&self) {
        self.proposal.decided.notified().await;
    }

    /// URIs of the files.
    pub fn uris(&self) -> Vec<String> {
        let files = self.proposal.files.iter();
        files.map(|it| it.located.uri.to_string()).collect()
    }

    /// The choices by file, with `rest` for places without a decision. None can be decided
    /// afterwards.
    pub fn finish(self, rest: &Choice) -> Vec<Vec<(Proposed, Choice)>> {
        let mut choices = self.proposal.choices.lock();
        let mut by_file = vec![Vec::new(); self.proposal.files.len()];
        for (place, choice) in self.proposal.places.iter().zip(choices.iter_mut()) {
            let choice = choice.get_or_insert_with(|| rest.clone()).clone();
            by_file[place.file].push((place.proposed.clone(), choice));
        }
        drop(choices);
        by_file
    }

    /// Whether the user kept or amended a place.
    pub fn has_kept(&self) -> bool {
        let choices = self.proposal.choices.lock();
        let mut choices = choices.iter();
        choices.any(|it| matches!(it, Some(Choice::Keep | Choice::Amend(_))))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut waiting = self.all.waiting.lock();
        waiting.retain(|it| !Arc::ptr_eq(it, &self.proposal));
    }
}
