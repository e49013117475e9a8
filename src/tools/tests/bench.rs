use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::config::{Approvals, Config, Review};
use crate::conversation::event::Envelope;
use crate::conversation::{Entry, Event, EventSink, Mode, Recorder};
use crate::edit::Lanes;
use crate::env::Env;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, Fidelity, Host, NoClient,
    QuestionAnswer, QuestionRequest,
};
use crate::policy::{Decision, Policy, decide};
use crate::prompt::Texts;
use crate::tools::settings::{Change, Choice, SessionChoices};
use crate::tools::{Prepared, Registry, ToolContext, ToolError, ToolOutput};
use crate::workspace::{ContentChange, Encoding, Root, Uri, Workspace};

/// What the editor does with an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    Applies,
    Refuses,
    /// No buffers: files are written.
    Disk,
}

pub struct Editor {
    workspace: Arc<Workspace>,
    pub conduct: Mutex<Conduct>,
    /// The user's answer; `None`: this editor cannot ask.
    pub answer: Mutex<Option<QuestionAnswer>>,
    pub asked: Mutex<Vec<QuestionRequest>>,
}

#[async_trait]
impl Host for Editor {
    fn fidelity(&self) -> Fidelity {
        match *self.conduct.lock().unwrap() {
            Conduct::Disk => Fidelity::Disk,
            _ => Fidelity::Versioned,
        }
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf16
    }

    fn attaches(&self, _suffix: &str) -> Option<bool> {
        Some(true)
    }

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        let answer = if *self.conduct.lock().unwrap() == Conduct::Refuses {
            EditAnswer::Refused {
                reason: "read-only".into(),
            }
        } else {
            if self.workspace.document(&edit.uri).is_none() {
                let text = edit
                    .uri
                    .path()
                    .and_then(|path| std::fs::read_to_string(path).ok());
                let text = text.unwrap_or_default();
                self.workspace.did_open(edit.uri.clone(), "text", 1, &text);
            }
            let document = self.workspace.document(&edit.uri).unwrap();
            let changes: Vec<ContentChange> = edit
                .edits
                .into_iter()
                .rev()
                .map(|edit| ContentChange {
                    range: Some(edit.range),
                    text: edit.new_text,
                })
                .collect();
            self.workspace
                .did_change(&edit.uri, document.version + 1, &changes, Encoding::Utf16);
            EditAnswer::Claimed
        };
        Box::pin(async move { answer })
    }

    fn deletes(&self) -> bool {
        *self.conduct.lock().unwrap() != Conduct::Disk
    }

    async fn delete(&self, file: &Uri, _label: &str) -> bool {
        self.workspace.did_close(file);
        std::fs::remove_file(file.path().unwrap()).is_ok()
    }

    async fn approve(&self, _request: ApprovalRequest) -> ApprovalAnswer {
        ApprovalAnswer::rejected("test")
    }

    async fn ask(&self, request: QuestionRequest) -> Option<QuestionAnswer> {
        self.asked.lock().unwrap().push(request);
        self.answer.lock().unwrap().clone()
    }

    fn notify(&self, _envelope: Arc<Envelope>) {}

    fn message(&self, _text: &str) {}
}

/// An editor that never answers a question.
pub struct Unanswered;

#[async_trait]
impl Host for Unanswered {
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

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        NoClient.apply(edit)
    }

    async fn approve(&self, _request: ApprovalRequest) -> ApprovalAnswer {
        std::future::pending().await
    }

    async fn ask(&self, _request: QuestionRequest) -> Option<QuestionAnswer> {
        std::future::pending().await
    }

    fn notify(&self, _envelope: Arc<Envelope>) {}

    fn message(&self, _text: &str) {}
}

#[derive(Default)]
pub struct Log {
    pub events: Mutex<Vec<Event>>,
    pub entries: Mutex<Vec<Entry>>,
}

impl EventSink for Log {
    fn emit(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl Recorder for Log {
    fn record(&self, entry: Entry) {
        self.entries.lock().unwrap().push(entry);
    }
}

/// A session that accepts every change.
#[derive(Default)]
pub struct Choosing {
    pub changes: Mutex<Vec<Change>>,
    /// The settings in force have become stricter.
    pub refuses: Mutex<bool>,
}

impl SessionChoices for Choosing {
    fn now(&self) -> Choice {
        Choice {
            model: "anthropic/m".to_owned(),
            layout: "openclaw".to_owned(),
            agent: None,
            keys: Vec::new(),
        }
    }

    fn models(&self) -> Vec<String> {
        vec!["anthropic/m".to_owned(), "anthropic/n".to_owned()]
    }

    fn choose(&self, change: Change) -> bool {
        self.changes.lock().unwrap().push(change);
        !*self.refuses.lock().unwrap()
    }
}

/// A trusted folder `repo` in a temporary one, and an editor on it.
pub struct Bench {
    pub dir: TempDir,
    pub root: PathBuf,
    pub cx: ToolContext,
    pub editor: Arc<Editor>,
    pub log: Arc<Log>,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("repo");
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::new();
        workspace.set_roots(vec![Root::new(Uri::from_path(&root), None).unwrap()]);
        let vars = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("SECRET_TOKEN".to_owned(), "hunter2".to_owned()),
        ]);
        let now = "2026-01-01T00:00:00[UTC]".parse().unwrap();
        let env = Env::fixed(&base, now, vars);
        let editor = Arc::new(Editor {
            workspace: Arc::clone(&workspace),
            conduct: Mutex::new(Conduct::Applies),
            answer: Mutex::default(),
            asked: Mutex::default(),
        });
        let log = Arc::new(Log::default());
        let cx = ToolContext {
            session: "s".into(),
            turn: "t".into(),
            item: "i".into(),
            cwd: root.clone(),
            policy: Policy {
                lists: crate::policy::Lists::default(),
                untrusted_roots: Vec::new(),
                mode: Mode::Agent,
                approvals: Approvals::Edits,
                review: Review::After,
                trusted: true,
                rules: Vec::new(),
                own: vec![env.dirs.config.clone(), env.dirs.state.clone()],
                home: env.dirs.home.clone(),
                roles: Arc::default(),
                confine: None,
            },
            env,
            config: Arc::new(Config::default()),
            workspace,
            lanes: Arc::new(Lanes::default()),
            host: editor.clone(),
            languages: Arc::default(),
            recorder: log.clone(),
            sink: log.clone(),
            seen: Arc::default(),
            background: Arc::default(),
            delegate: None,
            chosen: Arc::new(Choosing::default()),
            texts: Arc::new(Texts::load(None)),
            cancel: CancellationToken::new(),
        };
        Self {
            dir,
            root,
            cx,
            editor,
            log,
        }
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn uri(&self, name: &str) -> Uri {
        Uri::from_path(&self.root.join(name))
    }

    /// Opens a document with unsaved text, like the user.
    pub fn open(&self, name: &str, text: &str) {
        self.cx.workspace.did_open(self.uri(name), "text", 1, text);
    }

    /// The user replaces all of a document's text.
    pub fn types(&self, name: &str, text: &str) {
        let uri = self.uri(name);
        let version = self.cx.workspace.document(&uri).unwrap().version + 1;
        let change = ContentChange {
            range: None,
            text: text.to_owned(),
        };
        self.cx
            .workspace
            .did_change(&uri, version, &[change], Encoding::Utf16);
    }

    pub fn buffer(&self, name: &str) -> String {
        let document = self.cx.workspace.document(&self.uri(name)).unwrap();
        document.rope.to_string()
    }

    /// The texts of all files by name, as the editor shows them.
    pub fn files(&self) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(&self.root).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let on_disk = names.map(|name| {
            let text = std::fs::read_to_string(self.root.join(&name)).unwrap();
            (name, text)
        });
        let mut files: BTreeMap<String, String> = on_disk.collect();
        for document in self.cx.workspace.documents() {
            let path = document.uri.path().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            files.insert(name.to_owned(), document.rope.to_string());
        }
        files
    }

    pub async fn prepare(&self, tool: &str, arguments: Value) -> Result<Prepared, String> {
        let tool = Registry::built_in().get(tool).unwrap();
        tool.prepare(&self.cx, arguments).await.map_err(words)
    }

    pub async fn decision(&self, tool: &str, arguments: Value) -> Decision {
        let prepared = self.prepare(tool, arguments).await.unwrap();
        decide(&self.cx.policy, &prepared.facts)
    }

    /// Prepares and runs, as if the user approved everything that policy does not deny.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, String> {
        let prepared = self.prepare(tool, arguments).await?;
        if let Decision::Deny(reason) = decide(&self.cx.policy, &prepared.facts) {
            return Err(super::super::messages::denied(&self.cx.texts, reason));
        }
        prepared.run(&self.cx).await.map_err(words)
    }

    /// The text of a call that succeeds.
    pub async fn text(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await.unwrap();
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    /// The text of a call that fails in any way.
    pub async fn fails(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Err(words) => words,
            Ok(output) if output.is_error => output.text,
            Ok(output) => panic!("{}", output.text),
        }
    }
}

fn words(error: ToolError) -> String {
    match error {
        ToolError::ForModel(words) | ToolError::Broken { words, .. } => words,
        ToolError::Cancelled => "cancelled".to_owned(),
        ToolError::Fatal(error) => panic!("{error:#}"),
    }
}
