//! A language server of the user's configuration: started when it is asked, fed from the mirror,
//! stopped after a while without questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::connection::Connection;
use super::live::Live;
use super::{Answer, Asker, Question, known, requests};
use crate::config::LanguageServer;
use crate::env::tasks;
use crate::host::EditorAnswer;
use crate::process::{Folder, environment, server};
use crate::rpc::RpcError;
use crate::workspace::{Document, Encoding, Located, SyncState, Uri};

/// How long a server stays without questions.
const IDLE: Duration = Duration::from_mins(10);

/// One server for one root.
pub(super) struct Server {
    name: String,
    settings: LanguageServer,
    root: PathBuf,
    live: tokio::sync::Mutex<Option<Arc<Live>>>,
}

impl Server {
    pub fn new(name: &str, settings: &LanguageServer, root: &Path) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            root: root.to_owned(),
            live: tokio::sync::Mutex::default(),
        })
    }

    /// Whether it was made from these settings.
    pub fn has(&self, settings: &LanguageServer) -> bool {
        self.settings == *settings
    }

    pub async fn ask(
        self: &Arc<Self>,
        asker: Asker<'_>,
        located: &Located,
        question: &Question,
    ) -> Answer {
        let live = match self.live(asker).await {
            Ok(live) => live,
            Err(reason) => return plain(EditorAnswer::error(&reason)),
        };
        *live.used.lock() = Instant::now();
        self.feed(&live, asker, located, question);
        let uri = located.uri.to_string();
        let answer = match requests::ask(&live, &uri, question).await {
            Ok(answer) => answer,
            Err(RpcError::Gone) => EditorAnswer::error(&self.obituary(&live).await),
            Err(error) => EditorAnswer::error(&error.to_string()),
        };
        Answer {
            answer,
            encoding: live.encoding,
            bases: live.bases(),
            of_editor: false,
        }
    }

    /// The running server; starts it if needed.
    async fn live(self: &Arc<Self>, asker: Asker<'_>) -> Result<Arc<Live>, String> {
        let mut slot = self.live.lock().await;
        if let Some(live) = slot.as_ref().filter(|live| !live.connection.ended()) {
            return Ok(live.clone());
        }
        let live = Arc::new(self.start(asker).await?);
        *slot = Some(live.clone());
        tasks::spawn(stop_when_idle(self.clone(), live.clone()));
        Ok(live)
    }

    async fn start(&self, asker: Asker<'_>) -> Result<Live, String> {
        let name = &self.name;
        let Some(program) = known::program(asker.env, &self.settings) else {
            let program = self.settings.command.first().map_or("", String::as_str);
            return Err(format!(
                "the language server {name} was not found: install {program} or correct \
                 languageServers.{name}.command"
            ));
        };
        let cannot = |error: std::io::Error| {
            format!("the language server {name} cannot be started: {error}")
        };
        let spec = server::Spec {
            program: program.display().to_string(),
            arguments: self.settings.command[1..].to_vec(),
            cwd: Folder::at(&self.root).map_err(cannot)?,
            env: environment::allowed(asker.env.vars(), &[]),
            confinement: None,
        };
        let (process, pipes) = server::start(&spec).map_err(cannot)?;
        let connection = Connection::new(process, pipes);
        let answer = connection.request("initialize", self.hello()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(RpcError::Gone) => return Err(self.words(&connection).await),
            Err(error) => {
                return Err(format!(
                    "the language server {name} refused to start: {error}"
                ));
            }
        };
        connection.notify("initialized", json!({}));
        if answer["serverInfo"]["name"] == "rust-analyzer" {
            connection.expect_status();
        }
        Ok(Live::new(connection, answer["capabilities"].clone()))
    }

    fn hello(&self) -> Value {
        let uri = Uri::from_path(&self.root).to_string();
        let action = json!({
            "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } },
            "resolveSupport": { "properties": ["edit"] },
            "dataSupport": true,
            "isPreferredSupport": true,
        });
        json!({
            "processId": std::process::id(),
            "clientInfo": { "name": "interline", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": uri,
            "workspaceFolders": [{ "uri": uri, "name": "root" }],
            "capabilities": {
                "general": { "positionEncodings": ["utf-8", "utf-16"] },
                "window": { "workDoneProgress": true },
                "workspace": {
                    "workspaceEdit": { "documentChanges": true },
                    "configuration": true,
                    "workspaceFolders": true,
                },
                "textDocument": {
                    "synchronization": { "didSave": true },
                    "hover": { "contentFormat": ["markdown", "plaintext"] },
                    "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
                    "publishDiagnostics": { "versionSupport": true },
                    "definition": { "linkSupport": true },
                    "rename": {},
                    "codeAction": action,
                },
                "experimental": { "serverStatusNotification": true },
            },
        })
    }

    /// Sends what changed since the last question: the open documents that it serves, with their
    /// unsaved text, and the document that the question is about.
    fn feed(&self, live: &Live, asker: Asker<'_>, located: &Located, question: &Question) {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for document in asker.workspace.documents() {
            let Some(path) = document.uri.path() else {
                continue;
            };
            let language = Some(document.language.as_str());
            if self.follows(&document) && known::serves(&self.name, &self.settings, &path, language)
            {
                let uri = document.uri.to_string();
                let language = document.language.clone();
                let text = (document.rope, Some(document.revision));
                live.sync(&uri, &document.key, &language, text);
                wanted.insert(uri);
            }
        }
        let Located { uri, path, .. } = located;
        if wanted.insert(uri.to_string()) {
            let text = (question.rope.clone(), None);
            live.sync(uri.as_str(), &located.key(), &known::language(path), text);
        }
        live.close_others(&wanted);
    }

    fn follows(&self, document: &Document) -> bool {
        let below = document
            .uri
            .path()
            .is_some_and(|path| path.starts_with(&self.root));
        document.opened && below && document.sync == SyncState::InSync
    }

    /// Why it is gone; the next question starts it again.
    async fn obituary(&self, live: &Live) -> String {
        self.words(&live.connection).await
    }

    async fn words(&self, connection: &Connection) -> String {
        let end = connection.end_of_process().await;
        let last = connection.last_words();
        let said = match last.is_empty() {
            true => String::new(),
            false => format!(" ({last})"),
        };
        format!(
            "the language server {} is gone: {end}{said}; the next question starts it again",
            self.name
        )
    }

    /// What it published, if it runs and is not being started.
    pub fn published(&self) -> Vec<Value> {
        let live = self.live.try_lock().ok();
        let live = live.as_ref().and_then(|slot| slot.as_ref());
        let published = live.map(|live| live.connection.published());
        let items = published.into_iter().flatten().map(
            |(uri, it)| json!({ "uri": uri, "version": it.version, "diagnostics": it.diagnostics }),
        );
        items.collect()
    }

    pub async fn stop(&self) {
        let live = self.live.lock().await.take();
        if let Some(live) = live {
            live.connection.stop().await;
        }
    }
}

/// Stops the server when it was not asked for [`IDLE`], unless it ends before.
async fn stop_when_idle(server: Arc<Server>, live: Arc<Live>) {
    loop {
        let until = *live.used.lock() + IDLE;
        sleep_until(until).await;
        if *live.used.lock() + IDLE > Instant::now() {
            continue;
        }
        let mut slot = server.live.lock().await;
        if slot.as_ref().is_some_and(|now| Arc::ptr_eq(now, &live)) {
            slot.take();
        }
        drop(slot);
        return live.connection.stop().await;
    }
}

/// An answer without positions.
pub(super) fn plain(answer: EditorAnswer) -> Answer {
    Answer {
        answer,
        encoding: Encoding::Utf16,
        bases: BTreeMap::new(),
        of_editor: false,
    }
}
