//! The edit driver against scripted editors that behave as the real ones were measured to.

mod bursts;
mod editor;
mod on_disk;
mod outcomes;
mod reviews;
mod settling;
mod typing;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ropey::Rope;
use tokio_util::sync::CancellationToken;

use editor::{Editor, Habits};
use interline::config::ClosedFiles;
use interline::conversation::{Entry, ItemId, Recorder, SessionId, TurnId};
use interline::edit::apply::{DEADLINE, EditJob, Outcome, apply};
use interline::edit::lanes::{LaneState, Lanes};
use interline::edit::rebase::Conflict;
use interline::edit::{Plan, plan};
use interline::host::Host;
use interline::workspace::{Document, Located, Root, Uri, Workspace, beneath, files};

/// The log of a session.
#[derive(Default)]
pub struct Log(Mutex<Vec<Entry>>);

impl Recorder for Log {
    fn record(&self, entry: Entry) {
        self.0.lock().unwrap().push(entry);
    }
}

impl Log {
    /// `intent` and the names of the outcomes, in order.
    fn words(&self) -> Vec<String> {
        let log = self.0.lock().unwrap();
        log.iter()
            .map(|entry| match entry {
                Entry::EditIntent { .. } => "intent".to_owned(),
                Entry::EditOutcome { outcome, .. } => outcome.clone(),
                other => panic!("unexpected entry {other:?}"),
            })
            .collect()
    }
}

/// A workspace with one file, and an editor.
pub struct Scene {
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub editor: Arc<Editor>,
    pub log: Arc<Log>,
    pub folder: tempfile::TempDir,
    pub name: String,
}

impl Scene {
    /// The file is on disk with `text` and not open.
    pub fn closed(habits: Habits, name: &str, text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let workspace = Workspace::new();
        let root = Root::new(Uri::from_path(path.parent().unwrap()), None).unwrap();
        workspace.set_roots(vec![root]);
        let log = Arc::new(Log::default());
        let words = Arc::clone(&log);
        let intended = move || words.words().last().is_some_and(|word| word == "intent");
        let editor = Editor::new(habits, &workspace, Uri::from_path(&path), intended);
        Self {
            workspace,
            lanes: Arc::default(),
            editor,
            log,
            folder,
            name: name.to_owned(),
        }
    }

    /// The file is open with `text`, which is also on disk.
    pub fn open(habits: Habits, text: &str) -> Self {
        let scene = Self::closed(habits, "a.txt", Some(text));
        scene.editor.open(text);
        scene
    }

    pub fn located(&self) -> Located {
        let folder = self.folder.path().canonicalize().unwrap();
        beneath::locate(&self.workspace, &folder, &self.name).unwrap()
    }

    pub fn key(&self) -> String {
        self.located().key()
    }

    pub fn state(&self) -> LaneState {
        self.lanes.state(&self.key())
    }

    pub fn document(&self) -> Option<Document> {
        self.workspace.document(&self.editor.uri())
    }

    pub fn disk(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(&self.name)).unwrap()
    }

    /// An edit planned on the current text of the mirror, else of the disk.
    pub fn job(&self, old: &str, new: &str) -> EditJob {
        let content = files::read(&self.workspace, &self.located()).unwrap();
        let plan = plan::replace(&content.rope, old, new, None).unwrap();
        self.planned(plan)
    }

    pub fn planned(&self, plan: Plan) -> EditJob {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        EditJob {
            session: SessionId::from("s1"),
            turn: TurnId::from("t1"),
            item: ItemId::from(format!("i{number}")),
            label: "Interline: test".to_owned(),
            located: self.located(),
            plan,
            base_revision: self.document().map(|document| document.revision),
            create: false,
            delete: false,
            strict: false,
            shape: None,
            closed_files: ClosedFiles::Editor,
            deadline: DEADLINE,
            workspace: Arc::clone(&self.workspace),
            lanes: Arc::clone(&self.lanes),
            host: Arc::clone(&self.editor) as Arc<dyn Host>,
            recorder: Arc::clone(&self.log) as Arc<dyn Recorder>,
            cancel: CancellationToken::new(),
        }
    }

    /// Waits until everything in flight has arrived.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(3)).await;
        if let Some(document) = self.document() {
            assert_eq!(
                document.rope,
                self.editor.text(),
                "the mirror is the buffer"
            );
        }
    }
}

/// The outcome's name and the landed or current text.
pub fn reported(outcome: &Outcome) -> (&'static str, String) {
    let text = match outcome {
        Outcome::Applied(landed) | Outcome::Rebased(landed) | Outcome::Held(landed) => {
            landed.text.to_string()
        }
        Outcome::Conflict { now, .. } => now.to_string(),
        Outcome::Refused { reason } | Outcome::Blocked { reason } => reason.clone(),
        _ => String::new(),
    };
    (outcome.log_name(), text)
}
