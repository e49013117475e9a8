//! A folder, the user's own files with secrets in every place, sessions on them, and an editor that
//! only listens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

use super::model::Model;
use crate::config::load::{ClientSettings, Loaded, load};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Entry, Input, SessionId, TurnStop};
use crate::env::Env;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, Fidelity, Host, NoClient, SaveResult,
    SessionChange,
};
use crate::session::{
    ConfigureSession, Leaving, NewSession, OpenSession, PreviewPrompt, PromptPreview, Sessions,
    StartTurn, WhenBusy, store,
};
use crate::workspace::{Encoding, Root, Uri, Workspace};

/// In every secret, and nowhere else.
pub const SECRET: &str = "hunter2";

pub const CONFIG: &str = r#"
model = "anthropic/claude-opus-5"
env = ["SERVICE_TOKEN"]
[providers.anthropic]
headers = { x-team = "hunter2-header" }
[providers.other]
api = "anthropic"
baseUrl = "http://127.0.0.1:9"
apiKeyFile = "other.key"
[prompt.environment]
Shell = "/bin/zsh"
Token = { env = "SERVICE_TOKEN" }
Plain = "hunter2-token-0123456789"
"#;

/// Everything a session is tested with.
pub struct Stage {
    dir: TempDir,
    pub model: Model,
    pub workspace: Arc<Workspace>,
    pub sessions: Arc<Sessions>,
    pub settings: Loaded,
    ended: mpsc::UnboundedReceiver<TurnStop>,
    starts: usize,
    /// The text of each open document.
    pub open: BTreeMap<String, String>,
}

impl Stage {
    /// `repo` is the workspace's only folder.
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With these files before the process begins.
    pub async fn with(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["repo/.git", "config/memory/topics", "home", "state", "run"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let own = [
            ("config/config.toml", CONFIG),
            ("config/other.key", "hunter2-key-file\n"),
            (
                "config/etcode.json",
                r#"{"provider":[{"id":"third","apiKey":"hunter2-etcode","model":"m"}]}"#,
            ),
            (
                "config/memory/topics/fact.md",
                "- the key is sk-ant-api03-hunter2hunter2hunter2hunter2hunter2hunter2-AA\n\
                 - the token is hunter2-token-0123456789\n",
            ),
            ("repo/.git/HEAD", "ref: refs/heads/EVIL-branch\n"),
        ];
        for (name, text) in own.iter().chain(files) {
            fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            fs::write(top.join(name), text).unwrap();
        }
        let model = Model::start().await;
        let workspace = Workspace::new();
        let (sessions, settings, ended) = begin(&top, &model.url, &workspace, 0);
        Self {
            dir,
            model,
            workspace,
            sessions,
            settings,
            ended,
            starts: 0,
            open: BTreeMap::new(),
        }
    }

    pub fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn repo(&self, name: &str) -> PathBuf {
        let repo = self.top().join("repo");
        if name.is_empty() {
            repo
        } else {
            repo.join(name)
        }
    }

    pub fn config(&self, name: &str) -> PathBuf {
        self.top().join("config").join(name)
    }

    /// Creates, replaces or removes a file.
    pub fn put(&self, path: &Path, text: Option<&str>) {
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            None => {
                let _ = fs::remove_file(path);
            }
        }
    }

    pub fn env(&self) -> &Env {
        &self.sessions.shared().env
    }

    pub async fn session(&self, layout: &str) -> SessionId {
        let new = NewSession {
            layout: Some(layout.to_owned()),
            ..NewSession::default()
        };
        self.sessions.create(new).await.unwrap().session_id
    }

    /// From now on the session uses this model.
    pub async fn choose(&self, id: &SessionId, model: &str) {
        let change = ConfigureSession {
            model: Some(model.to_owned()),
            ..ConfigureSession::new(id.clone())
        };
        self.sessions.configure(change).await.unwrap();
    }

    /// The process ends and another one begins, a day later; the editor and its buffers stay.
    pub async fn restart(&mut self, id: &SessionId) {
        self.sessions
            .shutdown(Leaving::Bidden, Duration::from_secs(10))
            .await;
        self.starts += 1;
        self.workspace = Workspace::new();
        let begun = begin(&self.top(), &self.model.url, &self.workspace, self.starts);
        let slot = self.settings.config.prompt.editor_slot;
        (self.sessions, self.settings, self.ended) = begun;
        self.settings.config.prompt.editor_slot = slot;
        self.sessions.set_settings(self.settings.clone());
        for (name, text) in &self.open {
            let uri = Uri::from_path(&self.repo(name));
            self.workspace.did_open(uri, "rust", 1, text);
        }
        let open = OpenSession {
            session_id: id.clone(),
            before: None,
            limit: None,
            cwd: None,
        };
        self.sessions.open(open).await.unwrap();
    }

    pub async fn preview(&self, id: &SessionId, input: &[Input]) -> PromptPreview {
        let ask = PreviewPrompt {
            session_id: Some(id.clone()),
            input: Some(input.to_vec()),
            text: Some("all".into()),
            ..PreviewPrompt::default()
        };
        self.sessions.preview(ask).await.unwrap()
    }

    /// Runs a turn to its end.
    pub async fn turn(&mut self, id: &SessionId, input: &[Input]) -> TurnStop {
        let start = StartTurn {
            session_id: id.clone(),
            client_turn_id: None,
            input: input.to_vec(),
            context: None,
            segments: None,
            when_busy: WhenBusy::Reject,
            origin: None,
        };
        self.sessions.start_turn(start).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(60), self.ended.recv());
        ended.await.unwrap().unwrap()
    }

    /// The session's log, as text and as entries.
    pub fn log(&self, id: &SessionId) -> (String, Vec<Entry>) {
        let path = store::find(&self.env().dirs.state.join("sessions"), id).unwrap();
        let entries = store::read(&path).unwrap().entries;
        (fs::read_to_string(path).unwrap(), entries)
    }
}

fn begin(
    top: &Path,
    url: &str,
    workspace: &Arc<Workspace>,
    starts: usize,
) -> (Arc<Sessions>, Loaded, mpsc::UnboundedReceiver<TurnStop>) {
    let vars = [
        ("ANTHROPIC_API_KEY", "hunter2-anthropic-0123456789"),
        ("ANTHROPIC_BASE_URL", url),
        ("SERVICE_TOKEN", "hunter2-token-0123456789"),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let day = jiff::civil::date(2026, 11, 1).at(12, 0, 0, 0);
    let day = day.to_zoned(jiff::tz::TimeZone::UTC).unwrap();
    let now = day
        .checked_add(jiff::Span::new().days(starts as i64))
        .unwrap();
    let env = Env::fixed(top, now, vars.into());
    // Ids count up from the start of a process; no two processes share one.
    for _ in 0..starts * 10_000 {
        env.id("used");
    }
    let root = Root::new(Uri::from_path(&top.join("repo")), None).unwrap();
    workspace.set_roots(vec![root]);
    let settings = load(&env, &ClientSettings::default());
    let sessions = Sessions::new(env, workspace.clone(), settings.clone());
    let (sender, ended) = mpsc::unbounded_channel();
    sessions.attach(Listener::new(watch::Sender::new(true), move |envelope| {
        if let EnvelopeBody::Ended { stop_reason, .. } = &envelope.body {
            let _ = sender.send(*stop_reason);
        }
    }));
    (sessions, settings, ended)
}

/// An editor that only receives events, as long as there is room.
pub struct Listener<F> {
    room: watch::Sender<bool>,
    heard: F,
}

impl<F: Fn(&Envelope) + Send + Sync> Listener<F> {
    pub fn new(room: watch::Sender<bool>, heard: F) -> Arc<Self> {
        Arc::new(Self { room, heard })
    }
}

#[async_trait]
impl<F: Fn(&Envelope) + Send + Sync> Host for Listener<F> {
    fn fidelity(&self) -> Fidelity {
        NoClient.fidelity()
    }

    fn encoding(&self) -> Encoding {
        NoClient.encoding()
    }

    fn delay(&self) -> Duration {
        NoClient.delay()
    }

    fn attaches(&self, suffix: &str) -> Option<bool> {
        NoClient.attaches(suffix)
    }

    fn learn_attach(&self, _suffix: &str, _attaches: bool) {}

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        NoClient.apply(edit)
    }

    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer {
        NoClient.approve(request).await
    }

    async fn save(&self, _uris: Vec<Uri>, _reason: &str) -> Option<Vec<SaveResult>> {
        None
    }

    fn notify(&self, envelope: Arc<Envelope>) {
        (self.heard)(&envelope);
    }

    async fn ready(&self) {
        let mut room = self.room.subscribe();
        let _ = room.wait_for(|room| *room).await;
    }

    fn message(&self, _text: &str) {}

    fn session_changed(&self, _change: SessionChange) {}
}
