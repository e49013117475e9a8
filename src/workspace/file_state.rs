//! The state of a file: its text in the editor against its text on disk, and both against the text
//! that they last had in common. One function decides, and everything that reads, edits or saves
//! follows it (protocol.md, *The state of a file*). Pure.

/// How a buffer and its file compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Both have the same text; `None`: there is no file.
    pub same: Option<bool>,
    /// What changed since both were the same; `None`: they never were, as far as is known.
    pub since: Option<Since>,
}

/// Which side changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    pub buffer: bool,
    pub disk: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Not open.
    Closed,
    /// The same text in the editor and on disk.
    Clean,
    /// The editor's text is newer.
    Unsaved,
    /// The file's text is newer, and the editor has not loaded it.
    Outdated,
    /// Both changed.
    Conflicting,
    /// They differ, and it is unknown which one is newer.
    Different,
    /// Open, and never written.
    New,
    /// Open, and no longer on disk.
    Deleted,
}

/// The state of a file; `sides`: `None` if it is not open.
pub fn file_state(sides: Option<Sides>) -> FileState {
    let Some(Sides { same, since }) = sides else {
        return FileState::Closed;
    };
    match (same, since) {
        (Some(true), _) => FileState::Clean,
        (None, None) => FileState::New,
        (None, Some(_)) => FileState::Deleted,
        (Some(false), None) => FileState::Different,
        (Some(false), Some(since)) => match (since.buffer, since.disk) {
            (false, true) => FileState::Outdated,
            (true, true) => FileState::Conflicting,
            (_, false) => FileState::Unsaved,
        },
    }
}

impl FileState {
    /// Its word in `interline/status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Clean => "clean",
            Self::Unsaved => "unsaved",
            Self::Outdated => "outdated",
            Self::Conflicting => "conflicting",
            Self::Different => "different",
            Self::New => "new",
            Self::Deleted => "deleted",
        }
    }

    /// The editor has text that is not on disk: a command does not see it.
    pub fn unsaved(self) -> bool {
        !matches!(self, Self::Closed | Self::Clean | Self::Outdated)
    }

    /// Interline may ask the editor to save: nothing on disk is lost by it.
    pub fn may_save(self) -> bool {
        matches!(self, Self::Unsaved | Self::Different | Self::New)
    }

    /// The editor's text is current, so it may be edited.
    pub fn current(self) -> bool {
        self != Self::Outdated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of protocol.md.
    #[test]
    fn each_state_says_what_may_be_saved_and_edited() {
        let since = |buffer, disk| Some(Since { buffer, disk });
        let sides = |same, since| Some(Sides { same, since });
        for (of, state, unsaved, may_save, current) in [
            (None, FileState::Closed, false, false, true),
            (
                sides(Some(true), None),
                FileState::Clean,
                false,
                false,
                true,
            ),
            (
                sides(Some(true), since(false, false)),
                FileState::Clean,
                false,
                false,
                true,
            ),
            (
                sides(Some(false), since(true, false)),
                FileState::Unsaved,
                true,
                true,
                true,
            ),
            (
                sides(Some(false), since(false, true)),
                FileState::Outdated,
                false,
                false,
                false,
            ),
            (
                sides(Some(false), since(true, true)),
                FileState::Conflicting,
                true,
                false,
                true,
            ),
            (
                sides(Some(false), None),
                FileState::Different,
                true,
                true,
                true,
            ),
            (sides(None, None), FileState::New, true, true, true),
            (
                sides(None, since(false, true)),
                FileState::Deleted,
                true,
                false,
                true,
            ),
        ] {
            let found = file_state(of);
            assert_eq!(found, state, "{of:?}");
            let says = (found.unsaved(), found.may_save(), found.current());
            assert_eq!(says, (unsaved, may_save, current), "{state:?}");
            let page = include_str!("../../protocol.md");
            assert!(
                page.contains(&format!("| `{}` |", state.name())),
                "{state:?}"
            );
        }
    }
}
