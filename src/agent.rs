//! The turn loop and the one function that builds a request, for turns and previews. Owns no
//! sessions and knows no client protocol: it works on what it is given and reports through
//! [`crate::conversation::EventSink`] and [`crate::conversation::Recorder`].

pub mod calls;
pub mod compact;
pub mod hooks;
pub mod request;
pub mod step;
pub mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use calls::proposals::Proposals;
use calls::session_overrides::Overrides;
use calls::tool_health;
use hooks::Hooks;
use request::language_tools;

use crate::config::Config;
use crate::conversation::entry::{
    Baseline, Carried, Compaction, Reviewed, StoredSettings, Uninvited, Verdict,
};
use crate::conversation::request::{Effort, ModelFacts};
use crate::conversation::usage;
use crate::conversation::{
    Block, EditorContext, Entry, Event, EventSink, FileChange, History, Input, Message, Mode,
    Recorder, Segment, SessionId, Spent, TurnId, Usage,
};
use crate::edit::{Lanes, Seen};
use crate::env::Env;
use crate::host::Host;
use crate::knowledge::Caches;
use crate::knowledge::agents::AgentProfile;
use crate::knowledge::instructions::fetch::UrlCache;
use crate::knowledge::trust::TrustStore;
use crate::languages::Languages;
use crate::mcp::Servers;
use crate::policy::{Lists, Policy, Roles, Rule};
use crate::process::Background;
use crate::prompt::epoch::UNREADABLE;
use crate::prompt::facts::Detail;
use crate::prompt::{Layout, Texts};
use crate::provider::{Model, Providers};
use crate::tools::client::ClientTool;
use crate::tools::{Delegate, Registry};
use crate::workspace::Workspace;

/// Most facts that a client may declare.
const CLIENT_FACTS: usize = 64;

/// State shared by all sessions of a process.
pub struct Shared {
    pub env: Env,
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub texts: Arc<Texts>,
    pub registry: Registry,
    pub mcp: Arc<Servers>,
    pub providers: Arc<Providers>,
    pub trust: TrustStore,
    /// Facts that the client declared for segments (`experimental.interline.segments`).
    pub client: Mutex<BTreeMap<String, serde_json::Value>>,
    /// The language servers that can be asked.
    pub languages: Arc<Languages>,
    /// Tools that the client offers.
    pub offered: Mutex<Vec<Arc<ClientTool>>>,
    /// Instruction texts at the user's addresses, as last fetched.
    pub urls: UrlCache,
    /// What was made of files that are as they were.
    pub caches: Caches,
    /// What plays a part in the sessions of a directory, as last gathered.
    pub roles: Mutex<BTreeMap<PathBuf, Arc<Roles>>>,
    /// Folders trusted for this process only (`interline run --trust`).
    pub trusted_now: Mutex<Vec<PathBuf>>,
    /// Folders about whose untrusted instructions the user was notified.
    pub unverified: Mutex<BTreeSet<PathBuf>>,
}

/// A conversation's durable part: what replaying the log gives, and what a checkpoint stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub messages: History,
    /// The epoch's tools and system text, verbatim.
    pub baseline: Option<Baseline>,
    /// The baseline's sources with every journal entry since applied: source → hash.
    pub known_sources: BTreeMap<String, String>,
    /// The last update sent for each source: source → hash. Epochs keep it, because the messages
    /// stay.
    pub sent_updates: BTreeMap<String, String>,
    /// Tail segments as last sent: id → hash.
    pub tail: BTreeMap<String, String>,
    /// URIs of the files that the agent created in this session, in order.
    pub created: Vec<String>,
    /// URIs of files that the user reverted; the next message reports them.
    pub reverted: Vec<String>,
    /// What the user decided about changes; the next message reports it.
    pub reviewed: Vec<Reviewed>,
    #[serde(with = "usage::stored")]
    pub usage: Spent,
    /// The provider's last count.
    pub counted: Option<Counted>,
    pub turns: u32,
    #[serde(skip)]
    pub failing: tool_health::Failing,
    /// State that compactions retain besides the messages.
    pub carried: Carried,
    /// The next message begins an epoch for this reason: the history was compacted, or comes from
    /// another session.
    pub renew: Option<Renewal>,
    /// Model → number of leading messages whose reasoning it cannot read.
    pub unreadable: BTreeMap<String, usize>,
    /// Tokens at which an automatic compaction failed; it is retried after more growth. Not stored.
    #[serde(skip)]
    pub held_off: Option<u64>,
}

/// Why an epoch begins with the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Renewal {
    Compaction,
    Fork,
}

impl Renewal {
    pub fn as_str(self) -> &'static str {
        match self {
            Renewal::Compaction => "compaction",
            Renewal::Fork => "fork",
        }
    }
}

/// A provider's count of one request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Tokens of the prompt and of the answer.
    pub tokens: u64,
    /// Number of these messages, the answer included.
    pub messages: usize,
}

impl Conversation {
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Notes the user's decisions. A rejected change is reported as such, not as a reverted file.
    pub fn review(&mut self, decided: Vec<Reviewed>) {
        for place in decided {
            if place.verdict == Verdict::Rejected {
                self.reverted.retain(|uri| *uri != place.uri);
            }
            self.reviewed.push(place);
        }
    }

    /// Remembers a file that did not exist before.
    pub fn note_created(&mut self, file: &FileChange) {
        if file.created && !self.created.contains(&file.uri) {
            self.created.push(file.uri.clone());
        }
    }

    /// Adds a request's usage. Unless it was `aside`, its answer becomes the next message.
    pub fn spend(&mut self, usage: Usage, cost: Option<f64>, aside: bool) {
        self.usage.add(usage, cost);
        // A server without counts says nothing about the conversation's length.
        if aside || usage.prompt() == 0 {
            return;
        }
        self.counted = Some(Counted {
            tokens: usage.total(),
            messages: self.messages.len() + 1,
        });
    }

    /// Replaces the messages by the compacted history.
    pub fn compact(&mut self, compaction: Compaction) {
        // Which message the kept blocks came from is no longer known.
        let len = compaction.messages.len();
        self.unreadable.retain(|_, n| *n > compaction.first_kept);
        self.unreadable.values_mut().for_each(|n| *n = len);
        // Copies of the old history may live until the next turn.
        self.messages.memo().clear();
        self.messages = compaction.messages.into();
        self.carried = compaction.carried;
        self.counted = None;
        self.renew = Some(Renewal::Compaction);
        if let Some(begun) = compaction.begun {
            self.begin(begun.baseline);
            for (source, hash) in begun.journal {
                self.note_update(source, hash);
            }
            self.tail.extend(begun.tail);
        }
    }

    /// Keeps the skills that the user starts in use.
    pub fn note_skills(&mut self, input: &[Input]) {
        for part in input {
            if let Input::Skill { name, .. } = part
                && !self.carried.skills.contains(name)
            {
                self.carried.skills.push(name.clone());
            }
        }
    }

    /// An update joins the messages.
    pub fn note_update(&mut self, source: String, hash: String) {
        if let Some(model) = source.strip_prefix(UNREADABLE) {
            let messages = hash.parse().unwrap_or_default();
            self.unreadable.insert(model.to_owned(), messages);
            return;
        }
        self.sent_updates.insert(source.clone(), hash.clone());
        self.known_sources.insert(source, hash);
    }

    /// The number of leading messages whose reasoning the model cannot read.
    pub fn unreadable(&self, model: &str) -> usize {
        self.unreadable.get(model).copied().unwrap_or_default()
    }
}

/// A session's settings. They may change during a turn; policy reads them at each call.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// Name of the agent chosen for the session.
    pub agent: Option<String>,
    /// The agent's profile; read again when a turn begins.
    pub profile: Option<Arc<AgentProfile>>,
    pub segments: Vec<Segment>,
    pub detail: Detail,
    /// The thinking effort chosen for the session.
    pub thinking: Option<Effort>,
    pub config: Arc<Config>,
    /// Rules from approvals answered with *allow for this session*.
    pub rules: Vec<Rule>,
    /// Overrides chosen by a tool.
    pub choices: Overrides,
    /// The session's own MCP servers, if any; else the shared ones.
    pub servers: Option<Arc<Servers>>,
    /// Names that only a client's settings mentioned.
    pub uninvited: Uninvited,
}

impl Settings {
    pub fn new(mode: Mode, config: Arc<Config>) -> Self {
        Self {
            mode,
            agent: None,
            profile: None,
            segments: Vec::new(),
            detail: Detail::Full,
            thinking: None,
            config,
            rules: Vec::new(),
            choices: Overrides::default(),
            servers: None,
            uninvited: Uninvited::default(),
        }
    }

    /// What the log stores of them; the session adds its model, layout and title.
    pub fn stored(&self) -> StoredSettings {
        StoredSettings {
            mode: self.mode,
            agent: self.agent.clone(),
            detail: Some(self.detail.as_str().to_owned()),
            segments: self.segments.clone(),
            uninvited: self.uninvited,
            thinking: self.thinking,
            ..StoredSettings::default()
        }
    }

    /// The thinking effort: the session's choice, else the agent's, else the setting.
    pub fn effort(&self) -> Option<Effort> {
        let agent = self.profile.as_ref().and_then(|profile| profile.thinking);
        self.thinking.or(agent).or(self.config.thinking)
    }

    /// The MCP servers that the session uses.
    pub fn servers<'a>(&'a self, shared: &'a Shared) -> &'a Arc<Servers> {
        self.servers.as_ref().unwrap_or(&shared.mcp)
    }
}

/// The usage of a turn including its sub-agents, and its start: its limits apply to all of it.
#[derive(Debug)]
pub struct Budget {
    spent: Mutex<Spent>,
    /// Requests, one per step.
    steps: AtomicU32,
    /// Of all messages.
    bytes: AtomicUsize,
    pub began: std::time::Instant,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            spent: Mutex::default(),
            steps: AtomicU32::default(),
            bytes: AtomicUsize::default(),
            began: std::time::Instant::now(),
        }
    }
}

impl Budget {
    /// Most bytes of one turn's messages; the log grows by them.
    const BYTES: usize = 128 << 20;

    /// Takes one of `limit` steps, if any is left. A sub-agent leaves the last one to its parent
    /// turn, which can then report the result.
    fn step(&self, limit: u32, sub_agent: bool) -> bool {
        let limit = limit.saturating_sub(u32::from(sub_agent));
        let next = |taken: u32| (taken < limit).then_some(taken + 1);
        let order = Ordering::Relaxed;
        self.steps.fetch_update(order, order, next).is_ok()
    }

    /// Steps left under the same limit.
    fn left(&self, limit: u32, sub_agent: bool) -> u32 {
        let limit = limit.saturating_sub(u32::from(sub_agent));
        limit.saturating_sub(self.steps.load(Ordering::Relaxed))
    }

    /// A message joined the turn.
    fn grew(&self, message: &Message) {
        let bytes = message.content.iter().map(Block::bytes).sum();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn spent(&self) -> Spent {
        *self.spent.lock()
    }
}

/// What the user adds to a running turn. It waits in the log as a queued prompt until a message of
/// the turn carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// The turn id under which it waits.
    pub waits: TurnId,
    pub input: Vec<Input>,
}

/// The waits of a session before requests are sent again, sub-agents included. Receivers are those
/// that wait now.
#[derive(Debug, Default)]
pub struct RetryWaits(tokio::sync::watch::Sender<()>);

impl RetryWaits {
    /// A wait that [`Self::end`] ends from now on.
    pub fn begin(&self) -> tokio::sync::watch::Receiver<()> {
        self.0.subscribe()
    }

    /// Ends all waits. Whether there was one.
    pub fn end(&self) -> bool {
        self.0.send(()).is_ok()
    }
}

/// A session's live state, shared by its task, its turns and their tools. Each part has its own
/// lock, which is held for one closure or one copy only.
#[derive(Debug)]
pub struct SessionState {
    settings: Mutex<Arc<Settings>>,
    conversation: Mutex<Conversation>,
    /// The texts of files as the model last saw them.
    pub seen: Arc<Mutex<Seen>>,
    /// Commands that run beside the turns; none outlives the session.
    pub background: Arc<Background>,
    /// Changes that wait for the user's decisions.
    pub proposals: Arc<Proposals>,
    /// Ends the waits before requests are sent again.
    pub retries: Arc<RetryWaits>,
    pub hooks: Arc<Hooks>,
}

impl SessionState {
    pub fn new(settings: Settings, conversation: Conversation) -> Self {
        Self {
            settings: Mutex::new(Arc::new(settings)),
            conversation: Mutex::new(conversation),
            seen: Arc::default(),
            background: Arc::default(),
            proposals: Arc::default(),
            retries: Arc::default(),
            hooks: Arc::default(),
        }
    }

    /// The state of a sub-agent: its waits end with those of its parent, and it has its hooks.
    pub fn of_child(&self, settings: Settings) -> Self {
        Self {
            retries: self.retries.clone(),
            hooks: self.hooks.clone(),
            ..Self::new(settings, Conversation::default())
        }
    }

    /// The session's own settings as they are now.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.lock().clone()
    }

    pub fn with_settings<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        change(Arc::make_mut(&mut self.settings.lock()))
    }

    pub fn with_conversation<T>(&self, change: impl FnOnce(&mut Conversation) -> T) -> T {
        change(&mut self.conversation.lock())
    }

    /// A copy of what the model saw of files.
    pub fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }
}

/// Everything that a turn works with.
#[derive(Clone)]
pub struct TurnEnv {
    /// The request is a side request: its answer joins no conversation.
    pub aside: bool,
    pub shared: Arc<Shared>,
    pub session: SessionId,
    pub turn: TurnId,
    pub cwd: PathBuf,
    pub model: Model,
    pub layout: Arc<Layout>,
    pub state: Arc<SessionState>,
    /// Runs sub-agents; `None` in one.
    pub delegate: Option<Arc<dyn Delegate>>,
    /// For a sub-agent: its parent session, and the parent's state, whose settings apply at each
    /// call.
    pub parent: Option<SessionId>,
    pub above: Option<Arc<SessionState>>,
    pub budget: Arc<Budget>,
    pub editor: EditorContext,
    pub host: Arc<dyn Host>,
    pub sink: Arc<dyn EventSink>,
    pub recorder: Arc<dyn Recorder>,
    pub cancel: CancellationToken,
}

impl TurnEnv {
    /// The settings in force; a sub-agent never has more rights than its parent.
    pub fn settings(&self) -> Arc<Settings> {
        let own = self.state.settings();
        let Some(above) = self.above.as_ref().map(|above| above.settings()) else {
            return own;
        };
        Arc::new(Settings {
            mode: own.mode.narrower(above.mode),
            rules: above.rules.clone(),
            config: own.choices.apply(above.config.clone()),
            ..Settings::clone(&own)
        })
    }

    /// The process's settings with the session's overrides.
    pub fn config(&self) -> Arc<Config> {
        self.settings().config.clone()
    }

    /// A text of `prompts/` for the model.
    pub fn text(&self, name: &str, values: &[(&str, &str)]) -> String {
        self.shared.texts.render(name, values)
    }

    /// Shows the user a message in the turn.
    pub fn notice(&self, text: impl Into<String>) {
        let text = text.into();
        self.sink.emit(Event::Notice { text });
    }

    /// A message joined the turn: records it and adds it to the conversation.
    pub fn push(&self, message: Message) {
        self.budget.grew(&message);
        self.recorder.record(Entry::Message {
            turn: self.turn.clone(),
            message: message.clone(),
        });
        self.with_conversation(|conversation| conversation.push(message));
    }

    /// Changes the session's approval rules; for a sub-agent, its parent's.
    pub fn with_rules(&self, change: impl FnOnce(&mut Vec<Rule>)) {
        let owner = self.above.as_ref().unwrap_or(&self.state);
        owner.with_settings(|settings| change(&mut settings.rules));
    }

    /// The changes of the session that wait for decisions; a sub-agent's wait in its parent.
    pub fn proposals(&self) -> &Arc<Proposals> {
        &self.above.as_ref().unwrap_or(&self.state).proposals
    }

    /// The MCP servers that the session uses.
    pub fn servers(&self) -> Arc<Servers> {
        self.settings().servers(&self.shared).clone()
    }

    /// The tools that can be called. Those that ask language servers stay callable, because the
    /// conversation may name them: without a server they say so.
    pub fn registry(&self) -> Registry {
        let settings = self.settings();
        let servers = settings.servers(&self.shared);
        let late = self.shared.languages.may_come();
        let all = servers.registry(&self.shared.tools(), &self.cwd, false, late);
        let mut abilities = self.shared.declared();
        for ability in language_tools::ABILITIES {
            abilities.insert(ability.to_owned(), true.into());
        }
        settings.registry(&all, &self.layout, &abilities, &self.model.facts)
    }

    /// Runs `change` on the conversation under its lock.
    pub fn with_conversation<T>(&self, change: impl FnOnce(&mut Conversation) -> T) -> T {
        self.state.with_conversation(change)
    }

    /// Records the usage of one request in the session; returns its cost if known.
    pub fn spend(&self, usage: Usage, failed: bool) -> Option<f64> {
        let aside = failed || self.aside;
        let price = self.model.facts.price.filter(|_| usage.total() > 0);
        let cost = price.map(|price| price.cost(&usage));
        self.budget.spent.lock().add(usage, cost);
        self.recorder.record(Entry::Usage {
            turn: self.turn.clone(),
            model: self.model.name.clone(),
            usage,
            cost,
            aside,
            child: None,
        });
        self.with_conversation(|it| it.spend(usage, cost, aside));
        cost
    }

    /// The model could not read the reasoning of the first `messages` messages: it is left out from
    /// now on, also after a restart.
    fn note_unreadable(&self, messages: usize) {
        let source = format!("{UNREADABLE}{}", self.model.name);
        let known = self.with_conversation(|it| {
            let known = messages.min(it.messages.len()).to_string();
            it.note_update(source.clone(), known.clone());
            known
        });
        self.recorder.record(Entry::Journal {
            about: "reasoning".to_owned(),
            source,
            hash: known,
        });
        self.notice(format!(
            "{} could not read its earlier reasoning (another key, or a changed prompt); the \
             session continues without it.",
            self.model.name
        ));
    }

    /// The policy in force: the session's mode and rules, the settings, the folder's trust.
    pub fn policy(&self) -> Policy {
        self.shared.policy(&self.settings(), &self.cwd)
    }
}

impl Settings {
    /// The tools of `all` that the session has under `layout`: those that the agent may use, opt-in
    /// ones only if layout or agent ask for them, and only if the client and the model support them.
    pub fn registry(
        &self,
        all: &Registry,
        layout: &Layout,
        declared: &BTreeMap<String, serde_json::Value>,
        model: &ModelFacts,
    ) -> Registry {
        let profile = self.profile.as_deref();
        let confined = profile.is_some_and(|profile| profile.confine.is_some());
        all.only(|tool| {
            let name = tool.name();
            let by_layout = !self.uninvited.layout && layout.asks_for(name);
            let by_agent =
                !self.uninvited.agent && profile.is_some_and(|profile| profile.tools.names(name));
            let asked = by_layout || by_agent;
            let spec = tool.spec();
            // Whoever may not edit may not patch either.
            let edits = |of: &AgentProfile| ["edit", "write"].iter().all(|it| of.tools.has(it));
            let patches = model.apply_patch && profile.is_none_or(edits);
            (asked || !spec.opt_in)
                && (asked || patches || !spec.patches)
                // The layout shows another tool under this name.
                && layout.wire_name(name) == name
                && profile.is_none_or(|profile| profile.tools.has(name))
                && !(confined && spec.escapes)
                && tool.available(&self.config)
                && spec.needs.is_none_or(|fact| declares(declared, fact))
        })
    }

    /// The only folder that the agent works in. A link in its place leads nowhere: located paths
    /// contain no links.
    fn confine(&self, cwd: &Path) -> Option<PathBuf> {
        let folder = self.profile.as_ref()?.confine.as_ref()?;
        let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        Some(cwd.join(folder))
    }
}

/// Whether the client declared this, and not as off.
pub fn declares(declared: &BTreeMap<String, serde_json::Value>, fact: &str) -> bool {
    use serde_json::Value;
    let value = declared.get(fact);
    value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

impl Shared {
    /// The policy in force for a session with these settings in `cwd`.
    pub fn policy(&self, settings: &Settings, cwd: &Path) -> Policy {
        Policy {
            confine: settings.confine(cwd),
            mode: settings.mode,
            approvals: settings.config.approvals,
            review: settings.config.edits.review,
            trusted: self.trusted(cwd),
            untrusted_roots: self.untrusted_roots(cwd),
            rules: settings.rules.clone(),
            lists: Lists::new(&settings.config.policy),
            roles: self.roles(cwd),
            ..Policy::of_names(&self.env.dirs)
        }
    }

    /// The roles of files in the sessions of `cwd`; none before the first prompt there.
    fn roles(&self, cwd: &Path) -> Arc<Roles> {
        let roles = self.roles.lock();
        roles.get(cwd).cloned().unwrap_or_default()
    }

    /// Untrusted roots besides the session's own. Usually there is one root, and nothing is read.
    fn untrusted_roots(&self, cwd: &Path) -> Vec<PathBuf> {
        let own = self.workspace.root_for(cwd).map(|root| root.path);
        self.workspace
            .roots()
            .into_iter()
            .map(|root| root.path)
            .filter(|root| Some(root) != own.as_ref() && !self.trusted(root))
            .collect()
    }

    /// Whether the folder of `cwd` is trusted: its root's trust decides.
    pub fn trusted(&self, cwd: &Path) -> bool {
        let root = self.workspace.root_for(cwd);
        let folder = root.as_ref().map_or(cwd, |root| root.path.as_path());
        let now = self.trusted_now.lock();
        now.iter().any(|trusted| folder.starts_with(trusted)) || self.trust.folder(folder)
    }

    /// Facts that the client declares for segments; bounded, because they go into the prompt.
    pub fn declare(&self, facts: impl Iterator<Item = (String, serde_json::Value)>) {
        let mut client = self.client.lock();
        client.clear();
        client.extend(facts.take(CLIENT_FACTS));
    }

    /// A copy of the facts that the client declared.
    pub fn declared(&self) -> BTreeMap<String, serde_json::Value> {
        self.client.lock().clone()
    }

    /// Trusts a canonical folder until this process ends.
    pub fn trust_for_now(&self, folder: &Path) {
        self.trusted_now.lock().push(folder.to_owned());
    }
}
