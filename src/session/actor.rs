//! The task that owns one session: settings, queue, the running turn. A turn runs on its own task
//! and returns through [`Actor::turn_ended`]; nothing here waits for a model, a tool or the client.

mod client_turn_ids;
mod compact;
mod failures;
mod hooked;
mod model;
mod offers;
mod overrides;
mod plan_approval;
mod queue;
mod revert;
mod save_offer;
mod title;
mod turn_task;

pub use failures::{interrupted_results, read_only};

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::agents::{self, By};
use super::api::{
    ConfigureSession, SessionInfo, SessionRow, StartTurn, StartedTurn, TurnState, WhenBusy,
};
use super::checkpoint;
use super::child::{self, Children, RunningChildren};
use super::fanout::{Fanout, Seq};
use super::journal::title_of;
use super::layouts::load_layout;
use super::preview;
use super::resume::{ClientTurn, Unreported};
use super::revert::JournalCache;
use super::routing::Own;
use super::store::Log;
use super::unsaid::Unsaid;
use crate::agent::turn::TurnEnd;
use crate::agent::{Conversation, SessionState, Settings, Shared, Steering, TurnEnv};
use crate::config::Config;
use crate::conversation::entry::StoredSettings;
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{
    EditorContext, Entry, EventSink as _, Failure, Input, Recorder, SessionId, TurnId, TurnStop,
};
use crate::env::tasks;
use crate::host::{Host, SessionChange};
use crate::mcp::Servers;
use crate::prompt::Layout;
use crate::tools::exec::background_results::ended_notices;
use failures::{busy, closed, readable, turn_ended, unknown_turn};
use queue::{Queue, Queued};
use turn_task::drive;

type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// A request to a session. It runs on the session's task, so it never waits.
type Request = Box<dyn FnOnce(&mut Actor) + Send>;

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It announced it: the running turn ends as cancelled.
    Bidden,
    /// The connection was lost: the running turn was cut off, which the next process reports.
    Lost,
}

/// A turn that returned.
struct Ended {
    turn: TurnId,
    end: TurnEnd,
    /// Steering that the turn did not take up.
    steer: Option<mpsc::UnboundedReceiver<Steering>>,
    fanout: Arc<Fanout>,
}

/// A session's task, addressed by its channel.
#[derive(Clone)]
pub struct Handle {
    pub id: SessionId,
    pub cwd: PathBuf,
    /// False if another process writes the log.
    pub writable: bool,
    requests: mpsc::UnboundedSender<Request>,
}

impl Handle {
    /// Runs `request` on the session's task and awaits its result.
    pub async fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.ask_later(|actor, reply| {
            let _ = reply.send(request(actor));
        })
        .await
    }

    /// The same for a request that replies when its work is done.
    pub async fn ask_later<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Actor, oneshot::Sender<T>) + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        self.send(|actor| request(actor, reply));
        answer.await.map_err(|_| closed(&self.id))
    }

    pub fn send(&self, request: impl FnOnce(&mut Actor) + Send + 'static) {
        let _ = self.requests.send(Box::new(request));
    }
}

/// The same for the session's own work, which does not keep the task alive.
#[derive(Clone)]
struct Mailbox(mpsc::WeakUnboundedSender<Request>);

impl Mailbox {
    fn send(&self, request: impl FnOnce(&mut Actor) + Send + 'static) {
        if let Some(requests) = self.0.upgrade() {
            let _ = requests.send(Box::new(request));
        }
    }
}

/// Everything a session is made of.
pub struct Parts {
    pub shared: Arc<Shared>,
    pub host: Arc<RwLock<Arc<dyn Host>>>,
    pub context: Arc<Mutex<EditorContext>>,
    pub id: SessionId,
    pub cwd: PathBuf,
    pub folders: Vec<String>,
    pub title: Option<String>,
    pub model: Own,
    pub layout: Arc<Layout>,
    pub settings: Settings,
    pub conversation: Conversation,
    /// `None` if another process writes the log.
    pub log: Option<Arc<Log>>,
    pub recorder: Arc<dyn Recorder>,
    /// The sub-agents of all sessions.
    pub children: Arc<RunningChildren>,
    pub seq: u64,
    /// Turns of earlier processes.
    pub ended: Vec<TurnId>,
    /// Their clients' names.
    pub clients: Vec<ClientTurn>,
    pub unsaid: Unsaid,
}

struct Running {
    turn: TurnId,
    cancel: CancellationToken,
    steer: mpsc::UnboundedSender<Steering>,
    fanout: Arc<Fanout>,
}

/// A turn that begins: its context, its sink, and the user's later additions.
type Begun = (
    Result<TurnEnv, Failure>,
    Arc<Fanout>,
    mpsc::UnboundedReceiver<Steering>,
);

/// A session's state, owned by its task.
pub struct Actor {
    parts: Parts,
    state: Arc<SessionState>,
    /// Limits how many sub-agents work at the same time.
    permits: Arc<Semaphore>,
    seq: Arc<Seq>,
    mailbox: Mailbox,
    queue: Queue,
    running: Option<Running>,
    offer: Option<offers::Offer>,
    /// Held by the running revert.
    reverting: Arc<tokio::sync::Mutex<()>>,
    journal: JournalCache,
    clients: Vec<ClientTurn>,
    ended: Vec<TurnId>,
    closing: Option<(Leaving, oneshot::Sender<()>)>,
    /// The first prompt of a session whose title is its beginning.
    untitled: Option<Vec<Input>>,
    /// The model that a request to start a turn resolved, while it is handled.
    resolved: Option<model::Resolved>,
}

/// Starts the session's task; `new`: nothing of it is in the log yet.
pub fn spawn(parts: Parts, new: bool) -> Handle {
    let (requests, mut inbox) = mpsc::unbounded_channel::<Request>();
    let mailbox = Mailbox(requests.downgrade());
    let handle = Handle {
        id: parts.id.clone(),
        cwd: parts.cwd.clone(),
        writable: parts.log.is_some(),
        requests,
    };
    if let Some(log) = &parts.log {
        let mailbox = mailbox.clone();
        log.report_to(move |text| mailbox.send(|actor| actor.show(text)));
    }
    let mut actor = Actor {
        state: Arc::new(SessionState::new(
            parts.settings.clone(),
            parts.conversation.clone(),
        )),
        permits: Arc::new(Semaphore::new(child::MOST)),
        seq: Arc::new(Seq::starting_at(parts.seq)),
        mailbox,
        queue: Queue::new(),
        running: None,
        offer: None,
        reverting: Arc::default(),
        journal: JournalCache::default(),
        clients: parts.clients.clone(),
        resolved: None,
        ended: parts.ended.clone(),
        closing: None,
        untitled: None,
        parts,
    };
    if new {
        // A process that dies before the first turn must not lose the session's settings.
        actor.record_settings();
    }
    tasks::spawn(async move {
        while let Some(request) = inbox.recv().await {
            request(&mut actor);
            if actor.closing.is_some() && actor.running.is_none() {
                break;
            }
        }
        actor.state.background.close().await;
        // The revert must be in the log before another process may write there.
        let _ = actor.reverting.lock().await;
        if let Some(log) = &actor.parts.log {
            log.sync();
            log.release();
        }
        actor.end_hooks().await;
        if let Some((_, closed)) = actor.closing.take() {
            let _ = closed.send(());
        }
    });
    handle
}

/// Writes a checkpoint once the log has grown, so that the session opens fast.
fn checkpointed(log: &Log, least: u64) {
    if log.grown(least)
        && let Err(error) = checkpoint::recall(log.path())
    {
        tracing::debug!("no checkpoint of {}: {error}", log.path().display());
    }
}

impl Actor {
    /// Applies the process's new settings.
    pub fn renew(&mut self, config: Arc<Config>) {
        self.state.with_settings(|settings| settings.renew(config));
    }

    /// Gives the session its own MCP servers.
    pub fn set_servers(&mut self, own: Arc<Servers>) {
        self.state
            .with_settings(|settings| settings.servers = Some(own));
    }

    pub fn set_title(&mut self, title: String) {
        self.parts.title = Some(title);
        self.record_settings();
        self.announce();
    }

    /// Cancels everything that runs, and ends the task once the log is written.
    pub fn close(&mut self, leaving: Leaving, reply: oneshot::Sender<()>) {
        self.queue.clear();
        self.closing = Some((leaving, reply));
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    fn settings(&self) -> Arc<Settings> {
        self.state.settings()
    }

    fn host(&self) -> Arc<dyn Host> {
        self.parts.host.read().clone()
    }

    /// Reads the agent again: a changed file applies from the next turn on.
    fn refresh_agent(&self) -> Result<(), Failure> {
        let settings = self.settings();
        let profile = agents::current_profile(&self.parts.shared, &self.parts.cwd, &settings)?;
        self.state.with_settings(|now| now.profile = profile);
        Ok(())
    }

    pub fn start(&mut self, start: StartTurn) -> Result<StartedTurn, Failure> {
        let started = self.start_turn(start);
        self.resolved = None;
        started
    }

    fn start_turn(&mut self, start: StartTurn) -> Result<StartedTurn, Failure> {
        if self.parts.log.is_none() {
            return Err(read_only());
        }
        readable(&start.input)?;
        if let Some(known) = self.turn_of_client(start.client_turn_id.as_deref()) {
            return Ok(known);
        }
        if self.closing.is_some() {
            return Err(closed(&self.parts.id));
        }
        self.resolved = Some(self.resolve()?);
        self.refresh_agent()?;
        if let Some(running) = &self.running {
            match start.when_busy {
                WhenBusy::Reject => {
                    let hint = "Queue the prompt, steer the running turn, or cancel it.";
                    return Err(busy(hint));
                }
                WhenBusy::Steer => {
                    let turn_id = running.turn.clone();
                    let waits = self.add(running, start.input);
                    self.name(start.client_turn_id, &turn_id, Some(waits));
                    return Ok(StartedTurn {
                        turn_id,
                        state: TurnState::Steered,
                    });
                }
                WhenBusy::Queue => {}
            }
        }
        let turn = TurnId(self.parts.shared.env.id("turn"));
        let client = start.client_turn_id.clone();
        let state = if self.running.is_some() {
            TurnState::Queued
        } else {
            TurnState::Running
        };
        self.enqueue(turn.clone(), start, state == TurnState::Queued);
        self.name(client, &turn, None);
        self.next_turn();
        Ok(StartedTurn {
            turn_id: turn,
            state,
        })
    }

    /// Starts the next queued turn if none runs.
    fn next_turn(&mut self) {
        if self.running.is_some() || self.closing.is_some() {
            return;
        }
        let Some(Queued { turn, start }) = self.queue.pop_front() else {
            return;
        };
        if self.parts.title.is_none() {
            self.parts.title = title_of(&start.input);
            self.untitled = Some(start.input.clone());
            self.record_settings();
        }
        // The user moved on: the question about the last plan is withdrawn.
        self.offer = None;
        let origin = start.origin.unwrap_or(Origin::Client);
        let (context, fanout, steered) =
            self.run(&turn, origin, start.input.clone(), start.context.clone());
        let mailbox = self.mailbox.clone();
        tasks::spawn(drive(context, start, turn, steered, fanout, mailbox));
    }

    /// Begins a turn: announces it and gathers what it works with.
    fn run(
        &mut self,
        turn: &TurnId,
        origin: Origin,
        input: Vec<Input>,
        editor: Option<EditorContext>,
    ) -> Begun {
        let cancel = CancellationToken::new();
        let (steer, steered) = mpsc::unbounded_channel();
        let host = self.host();
        let fanout = Arc::new(Fanout::new(
            self.parts.id.clone(),
            turn.clone(),
            self.seq.clone(),
            host.clone(),
            self.parts.recorder.clone(),
            self.parts.shared.env.clone(),
        ));
        self.running = Some(Running {
            turn: turn.clone(),
            cancel: cancel.clone(),
            steer,
            fanout: fanout.clone(),
        });
        fanout.deliver(EnvelopeBody::Started {
            origin,
            input,
            parent: None,
        });
        self.show_stored(&fanout);
        self.announce();
        let model = self.refresh_agent().and_then(|()| self.model());
        if let Some(notice) = model.as_ref().ok().and_then(|it| self.rerouted(it)) {
            fanout.emit(notice);
        }
        let editor = editor.unwrap_or_else(|| self.parts.context.lock().clone());
        let context = model.map(|model| {
            self.delegating(TurnEnv {
                aside: false,
                shared: self.parts.shared.clone(),
                session: self.parts.id.clone(),
                turn: turn.clone(),
                cwd: self.parts.cwd.clone(),
                model,
                layout: self.parts.layout.clone(),
                state: self.state.clone(),
                delegate: None,
                parent: None,
                above: None,
                budget: Arc::default(),
                editor,
                host,
                sink: fanout.clone(),
                recorder: self.parts.recorder.clone(),
                cancel,
            })
        });
        (context, fanout, steered)
    }

    /// `turn` with the runner of its sub-agents.
    fn delegating(&self, turn: TurnEnv) -> TurnEnv {
        let folder = self.parts.log.as_ref().and_then(|log| log.path().parent());
        let Some(folder) = folder else {
            return turn;
        };
        let children = Children {
            parent: turn.clone(),
            folder: folder.to_owned(),
            folders: self.parts.folders.clone(),
            permits: self.permits.clone(),
            running: self.parts.children.clone(),
        };
        TurnEnv {
            delegate: Some(Arc::new(children)),
            ..turn
        }
    }

    pub fn steer(&mut self, turn: &TurnId, input: Vec<Input>) -> Result<(), Failure> {
        match &self.running {
            Some(running) if running.turn == *turn => {
                self.add(running, input);
                Ok(())
            }
            _ if self.ended.contains(turn) => Err(turn_ended("Send the text as a new turn.")),
            _ => Err(unknown_turn()),
        }
    }

    pub fn configure(&mut self, change: ConfigureSession) -> Result<SessionInfo, Failure> {
        if self.parts.log.is_none() {
            return Err(read_only());
        }
        // Everything that can fail comes first: a rejected change changes nothing.
        let mut wanted = Settings::clone(&self.settings());
        let mut model = None;
        if let Some(name) = &change.agent {
            let shared = &self.parts.shared;
            model = agents::select(shared, &self.parts.cwd, &mut wanted, name, By::Request)?;
        }
        let layout = change.layout.as_ref();
        let layout = layout.map(|name| load_layout(&self.parts.shared, name));
        let layout = layout.transpose()?;
        let (model, chose_layout) = (change.model.or(model), layout.is_some());
        let chose_model = model.is_some();
        if let Some(model) = model {
            self.parts.model = self.chosen_model(&model)?;
        }
        if let Some(layout) = layout {
            self.parts.layout = Arc::new(layout);
        }
        if change.mode.is_some() {
            self.offer = None;
        }
        self.state.with_settings(|settings| {
            if change.agent.is_some() {
                settings.mode = wanted.mode;
                settings.detail = wanted.detail;
                settings.agent = wanted.agent;
                settings.profile = wanted.profile;
                settings.uninvited.agent = false;
            }
            settings.uninvited.layout &= !chose_layout;
            if let Some(mode) = change.mode {
                settings.mode = mode;
            }
            settings.thinking = change.thinking.or(settings.thinking);
            settings.choices.forget(chose_model, chose_layout);
            if let Some(segments) = change.segments {
                settings.segments = segments;
            }
        });
        self.record_settings();
        self.announce();
        Ok(self.info())
    }

    /// Ends the running turn's waits before requests are sent again. Whether there was one.
    pub fn retry_now(&self) -> bool {
        self.state.retries.end()
    }

    /// What a preview is made from.
    pub fn preview_source(&self) -> preview::From {
        let news = ended_notices(&self.state.background, &self.parts.shared.texts);
        preview::From {
            shared: self.parts.shared.clone(),
            settings: Settings::clone(&self.settings()),
            cwd: self.parts.cwd.clone(),
            model: self.parts.model.clone(),
            layout: self.parts.layout.clone(),
            editor: self.parts.context.lock().clone(),
            seen: self.state.seen(),
            encoding: self.host().encoding(),
            news: news.into_iter().map(|(_, text)| text).collect(),
            conversation: self.state.with_conversation(|it| it.clone()),
        }
    }

    pub fn info(&self) -> SessionInfo {
        let settings = self.settings();
        SessionInfo {
            session_id: self.parts.id.clone(),
            model: self.model_name(),
            mode: settings.mode,
            layout: self.parts.layout.name.clone(),
            agent: settings.agent.clone(),
            folders: self.parts.folders.clone(),
            thinking: settings.effort(),
            context: self.context_use(),
        }
    }

    pub fn row(&self) -> SessionRow {
        let (turns, usage) = self.state.with_conversation(|it| (it.turns, it.usage));
        SessionRow {
            session_id: self.parts.id.clone(),
            title: self.parts.title.clone().unwrap_or_default(),
            updated_at: self.updated().to_string(),
            turns,
            tokens: usage.total(),
            cost: usage.cost,
            state: self.run_state().to_owned(),
        }
    }

    /// When the log was last written, as the list of stored sessions also reports.
    fn updated(&self) -> jiff::Timestamp {
        self.parts
            .log
            .as_ref()
            .and_then(|log| std::fs::metadata(log.path()).ok()?.modified().ok())
            .and_then(|time| jiff::Timestamp::try_from(time).ok())
            .unwrap_or_else(|| self.parts.shared.env.timestamp())
    }

    fn run_state(&self) -> &'static str {
        if self.running.is_some() {
            "running"
        } else {
            "idle"
        }
    }

    fn record_settings(&self) {
        let settings = self.settings();
        self.parts
            .recorder
            .record(Entry::Configure(Box::new(StoredSettings {
                model: self.unrouted(),
                layout: self.parts.layout.name.clone(),
                title: self.parts.title.clone(),
                routed: self.parts.model.routed,
                ..settings.stored()
            })));
    }

    fn announce(&self) {
        let info = self.info();
        let spent = self.state.with_conversation(|it| it.usage);
        self.host().session_changed(SessionChange {
            session_id: info.session_id,
            title: self.parts.title.clone(),
            state: self.run_state().to_owned(),
            mode: info.mode,
            model: info.model,
            tokens: spent.total(),
            cost: spent.cost,
            context: info.context,
            layout: info.layout,
            agent: info.agent,
            thinking: info.thinking,
        });
    }

    /// Sends the single `ended` event of a turn; the log is synced afterwards, in the background.
    fn send_ended(&self, ended: &Ended) {
        let cut_off = matches!(self.closing, Some((Leaving::Lost, _)));
        let cancelled = ended.end.stop == TurnStop::Cancelled;
        // Without its end in the log the turn is interrupted, and no client is left to notify.
        if !(cut_off && cancelled) {
            ended.fanout.deliver(EnvelopeBody::Ended {
                stop_reason: ended.end.stop,
                error: ended.end.error.clone(),
                usage: ended.end.usage,
                files: ended.end.files.clone(),
            });
        }
        if let Some(log) = self.parts.log.clone() {
            tasks::blocking(move || {
                log.sync();
                checkpointed(&log, checkpoint::DUE);
            });
        }
    }

    /// A turn that failed inside Interline may have left calls without results (INV-6).
    fn answer_calls(&self, turn: &TurnId) {
        self.state.with_conversation(|conversation| {
            let unanswered = super::resume::unanswered(&conversation.messages);
            let (shared, edits) = (&self.parts.shared, Unreported::default());
            let results = interrupted_results(shared, unanswered, &[], &edits, str::to_owned);
            if let Some(message) = results {
                self.parts.recorder.record(Entry::Message {
                    turn: turn.clone(),
                    message: message.clone(),
                });
                conversation.push(message);
            }
        });
    }

    fn turn_ended(&mut self, mut ended: Ended) {
        self.running = None;
        self.answer_calls(&ended.turn);
        self.send_ended(&ended);
        self.state.with_conversation(|it| it.turns += 1);
        tracing::info!(turn = %ended.turn, stop = ?ended.end.stop, "turn ended");
        self.ask_title(&ended.turn);
        let (planned, cancelled) = (ended.end.planned, ended.end.stop == TurnStop::Cancelled);
        let (turn, files) = (ended.turn.clone(), std::mem::take(&mut ended.end.files));
        self.ended.push(ended.turn);
        let mut late = Vec::new();
        while let Some(Ok(steering)) = ended.steer.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            late.push(steering);
        }
        self.enqueue_late(late);
        self.take_choices();
        if self.closing.is_some() {
            return;
        }
        self.next_turn();
        self.announce();
        match planned {
            true => self.offer_plan(&turn),
            false if cancelled => {}
            false => self.offer_to_save(&turn, &files),
        }
    }
}
