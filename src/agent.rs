//! The turn loop and the one function that builds a request, for a turn as for a preview.
//! Owns no session and no door: it is handed what it works with and reports through
//! [`crate::conversation::EventSink`] and [`crate::conversation::Recorder`].

pub mod approval;
pub mod barrier;
pub mod calls;
pub mod chosen;
pub mod claims;
pub mod compact;
pub mod compose;
pub mod demanded;
pub mod draft;
pub mod facts;
pub mod health;
pub mod offered;
pub mod remote;
pub mod resources;
pub mod step;
pub mod transform;
pub mod turn;
pub mod unverified;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::conversation::entry::{Baseline, Carried, Compaction, Uninvited};
use crate::conversation::request::Effort;
use crate::conversation::{
    Block, EditorContext, Entry, Event, EventSink, FileChange, Input, Message, Mode, Recorder,
    Segment, SessionId, Spent, TurnId, Usage,
};
use crate::edit::{Lanes, Seen};
use crate::env::Env;
use crate::host::Host;
use crate::knowledge::Caches;
use crate::knowledge::agents::AgentProfile;
use crate::knowledge::instructions::fetch::UrlCache;
use crate::knowledge::trust::TrustStore;
use crate::mcp::Servers;
use crate::policy::{Policy, Roles, Rule};
use crate::process::Background;
use crate::prompt::epoch::UNREADABLE;
use crate::prompt::{Layout, Texts};
use crate::provider::{Model, Providers};
use crate::tools::client::ClientTool;
use crate::tools::{Delegate, Registry};
use crate::workspace::Workspace;

/// Most facts that a client may declare.
const CLIENT_FACTS: usize = 64;

/// What all sessions of a process share.
pub struct Shared {
    pub env: Env,
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub texts: Arc<Texts>,
    pub registry: Registry,
    pub mcp: Arc<Servers>,
    pub providers: Arc<Providers>,
    pub trust: TrustStore,
    /// What the client declared for segments (`experimental.interline.segments`).
    pub client: Mutex<BTreeMap<String, serde_json::Value>>,
    /// Tools that the client offers of its own.
    pub offered: Mutex<Vec<Arc<ClientTool>>>,
    /// What other language servers reported, as the editor told it.
    pub diagnostics: Mutex<facts::Diagnostics>,
    /// Instruction texts of the user's addresses, as last fetched.
    pub urls: UrlCache,
    /// What was made of files that are as they were.
    pub caches: Caches,
    /// What plays a part in the sessions of a directory, as last gathered.
    pub roles: Mutex<BTreeMap<PathBuf, Arc<Roles>>>,
    /// Folders trusted for this process only (`interline run --trust`).
    pub trusted_now: Mutex<Vec<PathBuf>>,
    /// Folders of which the user was told that their instructions are not trusted.
    pub unverified: Mutex<BTreeSet<PathBuf>>,
}

/// A conversation's durable part: what the log gives back after a restart, as it is kept beside a
/// long log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub messages: Vec<Message>,
    /// The epoch's tools and system text, verbatim.
    pub baseline: Option<Baseline>,
    /// The baseline's sources with every journal entry since applied: source → hash.
    pub admitted: BTreeMap<String, String>,
    /// What updates among the messages said last: source → hash. An epoch forgets none of it,
    /// because the messages stay.
    pub told: BTreeMap<String, String>,
    /// Tail segments as last sent: id → hash.
    pub tail: BTreeMap<String, String>,
    /// URIs of the files that the agent made in this session, in order.
    pub created: Vec<String>,
    /// URIs of files in which the user took changes back; the next message tells it.
    pub reverted: Vec<String>,
    #[serde(with = "kept::usage")]
    pub usage: Spent,
    /// What the provider counted last.
    pub counted: Option<Counted>,
    pub turns: u32,
    #[serde(skip)]
    pub failing: health::Failing,
    /// What compactions hand on besides the messages.
    pub carried: Carried,
    /// The next message begins an epoch, for this reason: the history was made shorter, or is that
    /// of another session.
    #[serde(with = "kept::renew")]
    pub renew: Option<Reason>,
    /// Model → of how many messages it said that it cannot read the reasoning.
    pub unreadable: BTreeMap<String, usize>,
    /// Tokens at which an automatic compaction failed; it waits until there are more. Not kept.
    #[serde(skip)]
    pub held_off: Option<u64>,
}

/// One of the reasons of an epoch that are known before it begins. Under its own name, because
/// serde takes an `Option<&str>` for text that is borrowed.
pub type Reason = &'static str;

/// How a sum is written that another one goes on from.
pub use kept::usage as whole_sum;

/// How two fields of a conversation are written.
mod kept {
    pub mod usage {
        use crate::conversation::Spent;
        use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

        pub fn serialize<S: Serializer>(spent: &Spent, to: S) -> Result<S::Ok, S::Error> {
            spent.whole().serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Spent, D::Error> {
            <(Spent, f64, bool)>::deserialize(from).map(Spent::from_whole)
        }
    }

    pub mod renew {
        use crate::agent::draft::{COMPACTION, FORK};
        use serde::de::Error as _;
        use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

        pub fn serialize<S: Serializer>(
            reason: &Option<super::super::Reason>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            reason.serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<super::super::Reason>, D::Error> {
            let Some(reason) = Option::<String>::deserialize(from)? else {
                return Ok(None);
            };
            let known = [COMPACTION, FORK].into_iter().find(|it| *it == reason);
            known.map(Some).ok_or_else(|| D::Error::custom("no reason"))
        }
    }
}

/// What a provider counted of one request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Tokens of the prompt and of the answer.
    pub tokens: u64,
    /// Messages that these are, the answer included.
    pub messages: usize,
}

impl Conversation {
    /// The provider counted a request. Unless that was `aside`, its answer joins the messages
    /// next.
    pub fn spend(&mut self, usage: Usage, cost: Option<f64>, aside: bool) {
        self.usage.add(usage, cost);
        // A server that counts nothing says nothing of how long the conversation is.
        if aside || usage.prompt() == 0 {
            return;
        }
        self.counted = Some(Counted {
            tokens: usage.total(),
            messages: self.messages.len() + 1,
        });
    }
}

impl Conversation {
    /// A shorter history takes the place of the messages.
    pub fn shorten(&mut self, compaction: Compaction) {
        // Of what is kept nobody knows any more which message it was in.
        let len = compaction.messages.len();
        self.unreadable.retain(|_, n| *n > compaction.first_kept);
        self.unreadable.values_mut().for_each(|n| *n = len);
        self.messages = compaction.messages;
        self.carried = compaction.carried;
        self.counted = None;
        self.renew = Some(draft::COMPACTION);
        if let Some(begun) = compaction.begun {
            self.begin(begun.baseline);
            for (source, hash) in begun.journal {
                self.tell(source, hash);
            }
            self.tail.extend(begun.tail);
        }
    }

    /// Skills that the user starts stay in use.
    pub fn note_skills(&mut self, input: &[Input]) {
        for part in input {
            if let Input::Skill { name, .. } = part
                && !self.carried.skills.contains(name)
            {
                self.carried.skills.push(name.clone());
            }
        }
    }
}

impl Conversation {
    /// An update joins the messages.
    pub fn tell(&mut self, source: String, hash: String) {
        if let Some(model) = source.strip_prefix(UNREADABLE) {
            let messages = hash.parse().unwrap_or_default();
            self.unreadable.insert(model.to_owned(), messages);
            return;
        }
        self.told.insert(source.clone(), hash.clone());
        self.admitted.insert(source, hash);
    }

    /// Of how many messages at the beginning the model cannot read the reasoning.
    pub fn unreadable(&self, model: &str) -> usize {
        self.unreadable.get(model).copied().unwrap_or_default()
    }
}

/// A session's settings. They may change while a turn runs; policy reads them at each call.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// Name of the agent that the session was given.
    pub agent: Option<String>,
    /// What that name means; read again when a turn begins.
    pub profile: Option<Arc<AgentProfile>>,
    pub segments: Vec<Segment>,
    pub detail: crate::prompt::facts::Detail,
    /// How much the model thinks, as it was chosen for the session.
    pub thinking: Option<Effort>,
    pub config: Arc<Config>,
    /// Allowed for this session by answered approvals.
    pub rules: Vec<Rule>,
    /// What a tool chose for this session.
    pub choices: chosen::Choices,
    /// MCP servers, if the session has some of its own; else everybody's.
    pub servers: Option<Arc<Servers>>,
    /// What only a client's settings named.
    pub uninvited: Uninvited,
}

impl Settings {
    /// How much the model thinks: the session's choice, else the agent's, else the setting.
    pub fn effort(&self) -> Option<Effort> {
        let agent = self.profile.as_ref().and_then(|profile| profile.thinking);
        self.thinking.or(agent).or(self.config.thinking)
    }

    /// The MCP servers that the session uses.
    pub fn servers<'a>(&'a self, shared: &'a Shared) -> &'a Arc<Servers> {
        self.servers.as_ref().unwrap_or(&shared.mcp)
    }
}

/// What a turn came to so far, its sub-agents included, and when it began: its limits hold for
/// all of it.
#[derive(Debug)]
pub struct Budget {
    spent: Mutex<Spent>,
    /// Requests, one a step.
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
    /// Bytes that the messages of one turn may come to; the log grows by them.
    const BYTES: usize = 128 << 20;

    fn add(&self, usage: Usage, cost: Option<f64>) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.add(usage, cost);
    }

    /// Takes one of `limit` steps, if there is one left. A sub-agent leaves the last one to the
    /// turn that it works for, which can then say what came of it.
    fn step(&self, limit: u32, sub_agent: bool) -> bool {
        let limit = limit.saturating_sub(u32::from(sub_agent));
        let next = |taken: u32| (taken < limit).then_some(taken + 1);
        let order = Ordering::Relaxed;
        self.steps.fetch_update(order, order, next).is_ok()
    }

    /// Steps that are left under the same limit.
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
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the user adds to a running turn. The log has it as a prompt that waits, until a message
/// of the turn carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Steering {
    /// What it waits as.
    pub waits: TurnId,
    pub input: Vec<Input>,
}

/// Everything that a turn works with.
#[derive(Clone)]
pub struct TurnContext {
    /// What is asked is beside the turn: its answers join no conversation.
    pub aside: bool,
    pub shared: Arc<Shared>,
    pub session: SessionId,
    pub turn: TurnId,
    pub cwd: PathBuf,
    pub model: Model,
    pub layout: Arc<Layout>,
    pub settings: Arc<Mutex<Settings>>,
    pub conversation: Arc<Mutex<Conversation>>,
    pub seen: Arc<Mutex<Seen>>,
    /// The session's commands that run beside its turns.
    pub background: Arc<Background>,
    /// Runs sub-agents; `None` in one.
    pub delegate: Option<Arc<dyn Delegate>>,
    /// Of a sub-agent: the session that it works for, and that one's settings, which hold for
    /// it as they are at each call.
    pub parent: Option<SessionId>,
    pub above: Option<Arc<Mutex<Settings>>>,
    pub budget: Arc<Budget>,
    pub editor: EditorContext,
    pub host: Arc<dyn Host>,
    pub sink: Arc<dyn EventSink>,
    pub recorder: Arc<dyn Recorder>,
    pub cancel: CancellationToken,
}

impl Conversation {
    /// Keeps in mind a file that did not exist before.
    pub fn note_created(&mut self, file: &FileChange) {
        if file.created && !self.created.contains(&file.uri) {
            self.created.push(file.uri.clone());
        }
    }
}

impl TurnContext {
    /// What is in force now; for a sub-agent never more than for whom it works.
    pub fn settings(&self) -> Settings {
        let own = self.settings.lock();
        let mut own = own.unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(above) = &self.above {
            let above = above.lock().unwrap_or_else(PoisonError::into_inner);
            own.mode = own.mode.narrower(above.mode);
            own.rules.clone_from(&above.rules);
            own.config = own.choices.over(above.config.clone());
        }
        own
    }

    /// Changes what is allowed for the session: of a sub-agent, for whom it works.
    pub fn with_rules(&self, change: impl FnOnce(&mut Vec<Rule>)) {
        let owner = self.above.as_ref().unwrap_or(&self.settings);
        let mut settings = owner.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut settings.rules);
    }

    /// The MCP servers that the session uses.
    pub fn servers(&self) -> Arc<Servers> {
        self.settings().servers(&self.shared).clone()
    }

    /// The tools that the session has; the others are as good as not there.
    pub fn registry(&self) -> Registry {
        let settings = self.settings();
        let servers = settings.servers(&self.shared);
        let all = servers.registry(&self.shared.tools(), &self.cwd, false);
        settings.registry(&all, &self.layout, &self.shared.declared())
    }

    /// Runs `change` on the conversation under its lock.
    pub fn with_conversation<T>(&self, change: impl FnOnce(&mut Conversation) -> T) -> T {
        change(
            &mut self
                .conversation
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Records what one request came to, for the session; gives its cost where that is known.
    pub fn spend(&self, usage: Usage, failed: bool) -> Option<f64> {
        let aside = failed || self.aside;
        let price = self.model.facts.price.filter(|_| usage.total() > 0);
        let cost = price.map(|price| price.cost(&usage));
        self.budget.add(usage, cost);
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

    /// The model could not read the reasoning of the first `messages` messages: it is left out
    /// from now on, also by the next process.
    fn note_unreadable(&self, messages: usize) {
        let source = format!("{UNREADABLE}{}", self.model.name);
        let known = self.with_conversation(|it| {
            let known = messages.min(it.messages.len()).to_string();
            it.tell(source.clone(), known.clone());
            known
        });
        self.recorder.record(Entry::Journal {
            about: "reasoning".to_owned(),
            source,
            hash: known,
        });
        self.sink.emit(Event::Notice {
            text: format!(
                "{} could not read its earlier reasoning (another key, or a prompt that was \
                 changed); the session goes on without it.",
                self.model.name
            ),
        });
    }

    /// What is in force now: the session's mode and rules, the settings, the folder's trust.
    pub fn policy(&self) -> Policy {
        self.shared.policy(self.settings(), &self.cwd)
    }
}

impl Settings {
    /// Of `all` tools those that the session has under `layout`: what the agent may use, of the
    /// opt-in ones only what layout or agent ask for, and what the client can show.
    pub fn registry(
        &self,
        all: &Registry,
        layout: &Layout,
        declared: &BTreeMap<String, serde_json::Value>,
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
            (asked || !spec.opt_in)
                // The layout shows another tool under this name.
                && layout.wire_name(name) == name
                && profile.is_none_or(|profile| profile.tools.has(name))
                && !(confined && spec.escapes)
                && tool.available(&self.config)
                && spec.needs.is_none_or(|fact| declares(declared, fact))
        })
    }

    /// The only folder that the agent works in. A link in its place leads nowhere: located
    /// paths have none.
    fn confine(&self, cwd: &Path) -> Option<PathBuf> {
        let folder = self.profile.as_ref()?.confine.as_ref()?;
        let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        Some(cwd.join(folder))
    }
}

/// The client declared this, and not as off.
pub fn declares(declared: &BTreeMap<String, serde_json::Value>, fact: &str) -> bool {
    declared.get(fact).is_some_and(|value| {
        !matches!(
            value,
            serde_json::Value::Null | serde_json::Value::Bool(false)
        )
    })
}

impl Shared {
    /// What is in force for a session with these settings in `cwd`.
    pub fn policy(&self, settings: Settings, cwd: &Path) -> Policy {
        let dirs = &self.env.dirs;
        Policy {
            confine: settings.confine(cwd),
            mode: settings.mode,
            approvals: settings.config.approvals,
            trusted: self.trusted(cwd),
            untrusted_roots: self.untrusted_roots(cwd),
            rules: settings.rules,
            own: vec![
                dirs.config.clone(),
                dirs.state.clone(),
                dirs.runtime.clone(),
            ],
            home: dirs.home.clone(),
            roles: self.roles(cwd),
        }
    }

    /// What plays a part in the sessions of `cwd`; nothing before a prompt was made there.
    fn roles(&self, cwd: &Path) -> Arc<Roles> {
        let roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        roles.get(cwd).cloned().unwrap_or_default()
    }

    /// Roots besides the session's own: each is trusted by itself. Usually there is one root,
    /// and nothing is read.
    fn untrusted_roots(&self, cwd: &Path) -> Vec<PathBuf> {
        let own = self.workspace.root_for(cwd).map(|root| root.path);
        self.workspace
            .roots()
            .into_iter()
            .map(|root| root.path)
            .filter(|root| Some(root) != own.as_ref() && !self.trusted(root))
            .collect()
    }

    /// Whether the folder that `cwd` belongs to is trusted: its root's trust decides.
    pub fn trusted(&self, cwd: &Path) -> bool {
        let root = self.workspace.root_for(cwd);
        let folder = root.as_ref().map_or(cwd, |root| root.path.as_path());
        let now = self
            .trusted_now
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        now.iter().any(|trusted| folder.starts_with(trusted)) || self.trust.folder(folder)
    }

    /// What the client can do or wants said, for segments; bounded, because it goes into the
    /// prompt.
    pub fn declare(&self, facts: impl Iterator<Item = (String, serde_json::Value)>) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clear();
        client.extend(facts.take(CLIENT_FACTS));
    }

    /// A copy of what the client declared.
    pub fn declared(&self) -> BTreeMap<String, serde_json::Value> {
        let client = self.client.lock();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Trusts a canonical folder until this process ends.
    pub fn trust_for_now(&self, folder: &Path) {
        self.trusted_now
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(folder.to_owned());
    }
}
