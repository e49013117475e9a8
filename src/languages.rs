//! Who answers questions about code: the language servers of the editor, or for clients that do not
//! answer queries those of the user's `languageServers`.

mod connection;
pub mod known;
mod live;
mod requests;
mod server;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ropey::Rope;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::config::LanguageServer;
use crate::env::Env;
use crate::env::order;
use crate::host::{EditorAnswer, EditorQuery, Host, QueryKind, QueryStatus};
use crate::workspace::{Encoding, Located, Revision, Workspace, text};
use server::Server;

/// Language ids that are kept of a client's list.
const MOST: usize = 100;
/// The longest time until an answer, including the time that a server needs to start.
pub const LIMIT: Duration = Duration::from_secs(12);
/// The shortest and the longest pause before a starting server is asked again.
const SOON: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_secs(2);

/// The language servers that can be asked.
#[derive(Default)]
pub struct Languages {
    editor: Mutex<Editor>,
    /// The user's own, by name and root.
    servers: Mutex<BTreeMap<(String, PathBuf), Arc<Server>>>,
}

#[derive(Default)]
struct Editor {
    /// The client answers queries.
    queries: bool,
    /// Ids of the languages for which a server of the editor answers.
    languages: Vec<String>,
}

/// Who asks, and what can be asked.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    pub host: &'a dyn Host,
    pub workspace: &'a Arc<Workspace>,
    pub env: &'a Env,
    /// The user's `languageServers`.
    pub settings: &'a BTreeMap<String, LanguageServer>,
    pub cwd: &'a Path,
}

/// A question about a document.
#[derive(Clone, Debug)]
pub struct Question {
    pub kind: QueryKind,
    /// `None`: all documents, for `diagnostics`.
    pub located: Option<Located>,
    /// Its current text.
    pub rope: Rope,
    /// Bytes of `rope`.
    pub range: Option<Range<usize>>,
    pub query: Option<String>,
    pub new_name: Option<String>,
}

impl Question {
    pub fn new(kind: QueryKind, located: Located, rope: Rope) -> Self {
        Self {
            kind,
            located: Some(located),
            rope,
            range: None,
            query: None,
            new_name: None,
        }
    }
}

/// A text on which an edit in an answer may be computed.
#[derive(Clone, Debug)]
pub struct Base {
    /// The version by which the answer names it.
    pub version: i32,
    pub rope: Rope,
    /// `None`: it came from disk.
    pub revision: Option<Revision>,
}

/// An answer and what its positions mean.
#[derive(Clone, Debug)]
pub struct Answer {
    pub answer: EditorAnswer,
    pub encoding: Encoding,
    /// The documents when the question was asked, by key.
    pub bases: BTreeMap<String, Base>,
    /// Versions in the answer are those of the mirror.
    pub of_editor: bool,
}

impl Languages {
    /// Whether the client answers queries.
    pub fn set_queries(&self, queries: bool) {
        self.editor.lock().queries = queries;
    }

    /// Replaces the languages for which the editor answers.
    pub fn set_editor(&self, mut languages: Vec<String>) {
        languages.truncate(MOST);
        self.editor.lock().languages = languages;
    }

    /// Whether there is someone to ask now.
    pub fn ready(&self, settings: &BTreeMap<String, LanguageServer>, env: &Env) -> bool {
        let editor = self.editor.lock();
        match editor.queries {
            true => !editor.languages.is_empty(),
            false => settings
                .values()
                .any(|it| known::program(env, it).is_some()),
        }
    }

    /// Whether the editor may start a language server later.
    pub fn may_come(&self) -> bool {
        self.editor.lock().queries
    }

    /// The languages that are answered for, as the model reads them.
    pub fn names(&self, settings: &BTreeMap<String, LanguageServer>) -> String {
        let editor = self.editor.lock();
        let names: Vec<&str> = match editor.queries {
            true => editor.languages.iter().map(String::as_str).collect(),
            false => settings.keys().map(String::as_str).collect(),
        };
        match names.is_empty() {
            true => "no language".to_owned(),
            false => names.join(", "),
        }
    }

    /// Asks, and asks again while the server starts, for at most [`LIMIT`].
    pub async fn ask(&self, asker: Asker<'_>, question: &Question) -> Answer {
        self.ask_within(LIMIT, asker, question).await
    }

    async fn ask_within(&self, limit: Duration, asker: Asker<'_>, question: &Question) -> Answer {
        let until = Instant::now() + limit;
        let bases = bases(asker.workspace);
        loop {
            let Ok(answer) = timeout_at(until, self.ask_once(asker, question, &bases)).await else {
                return Answer {
                    answer: EditorAnswer::error(&format!("no answer within {} s", limit.as_secs())),
                    encoding: asker.host.encoding(),
                    bases,
                    of_editor: true,
                };
            };
            let pause = Duration::from_millis(answer.answer.retry_after_ms.unwrap_or(500));
            let again = Instant::now() + pause.clamp(SOON, LATER);
            if answer.answer.status != QueryStatus::Starting || again >= until {
                return answer;
            }
            sleep_until(again).await;
        }
    }

    async fn ask_once(
        &self,
        asker: Asker<'_>,
        question: &Question,
        bases: &BTreeMap<String, Base>,
    ) -> Answer {
        if !asker.host.queries() {
            return self.ask_server(asker, question).await;
        }
        let encoding = asker.host.encoding();
        let position = |offset| text::position(&question.rope, offset, encoding);
        let range = question.range.clone().map(|range| crate::workspace::Range {
            start: position(range.start),
            end: position(range.end),
        });
        let uri = question.located.as_ref().map(|located| &located.uri);
        let document = uri.and_then(|uri| asker.workspace.document(uri));
        let at_place = question.kind != QueryKind::CodeActions;
        let query = EditorQuery {
            uri: uri.map(ToString::to_string),
            min_version: document.map(|document| document.version),
            position: range.filter(|_| at_place).map(|range| range.start),
            range: range.filter(|_| !at_place),
            query: question.query.clone(),
            new_name: question.new_name.clone(),
            ..EditorQuery::new(question.kind)
        };
        Answer {
            answer: asker.host.query(query).await,
            encoding,
            bases: bases.clone(),
            of_editor: true,
        }
    }

    async fn ask_server(&self, asker: Asker<'_>, question: &Question) -> Answer {
        let Some(located) = &question.located else {
            return self.published();
        };
        let path = &located.path;
        let document = asker.workspace.document(&located.uri);
        let language = document.map(|document| document.language);
        let mut all = asker.settings.iter();
        let found = all.find(|(name, it)| known::serves(name, it, path, language.as_deref()));
        let Some((name, settings)) = found else {
            let reason = "no language server is configured for this file";
            return server::plain(EditorAnswer::unsupported(reason));
        };
        let root = asker.workspace.root_for(asker.cwd);
        let root = root.map_or_else(|| asker.cwd.to_owned(), |root| root.path);
        let server = {
            let mut servers = self.servers.lock();
            let known = servers.entry((name.clone(), root.clone()));
            let known = known.or_insert_with(|| Server::new(name, settings, &root));
            if !known.has(settings) {
                *known = Server::new(name, settings, &root);
            }
            known.clone()
        };
        server.ask(asker, located, question).await
    }

    /// What the running servers published.
    fn published(&self) -> Answer {
        let servers = self.servers.lock();
        let items = servers.values().flat_map(|server| server.published());
        server::plain(EditorAnswer::ok(items.collect()))
    }

    /// Stops the user's servers and waits for their processes, at most `limit`.
    pub async fn stop_all(&self, limit: Duration) {
        let servers = std::mem::take(&mut *self.servers.lock());
        let stopping = servers.values().map(|server| server.stop());
        let stopped = futures_util::future::join_all(stopping);
        if tokio::time::timeout(limit, stopped).await.is_err() {
            tracing::warn!("some language servers did not end within {limit:?}");
        }
    }
}

/// The open documents as they are now.
fn bases(workspace: &Workspace) -> BTreeMap<String, Base> {
    let documents = workspace.documents().into_iter();
    let open = documents.filter(|document| document.opened);
    order::map(open.map(|document| {
        let base = Base {
            version: document.version,
            rope: document.rope,
            revision: Some(document.revision),
        };
        (document.key, base)
    }))
}

#[cfg(test)]
mod tests;
