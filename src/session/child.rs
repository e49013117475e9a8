//! Sub-agents. Each is a turn of its own session, whose log names the parent. It never has more
//! rights than the parent has at each call, uses the parent's budget, and is shown as part of the
//! parent's call. It cannot delegate.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};

use super::agents::{self, By};
use super::fanout::{Fanout, Seq};
use super::store::{Header, Log, StoreError};
use crate::agent::turn::{self, TurnEnd};
use crate::agent::{Settings, TurnEnv};
use crate::conversation::entry::StoredSettings;
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{
    Entry, Event, Input, Message, Recorder, Role, SessionId, Spent, TurnId, TurnStop,
};
use crate::knowledge::agents::{AgentProfile, Tools};
use crate::prompt::facts::Detail;
use crate::provider::Model;
use crate::tools::{Delegate, Errand, Report};
use child_host::ChildHost;
use running::Entered;
pub use running::RunningChildren;

mod child_host;
mod running;

/// Most sub-agents of one session that work at the same time; others wait.
pub const MOST: usize = 4;

/// Characters of the task in its session's title.
const TITLE: usize = 60;

/// The tool that a sub-agent never has.
const TOOL: &str = "delegate";

/// Creates the sub-agents of one turn.
pub struct Children {
    /// The turn's own context, without delegation.
    pub parent: TurnEnv,
    /// The folder of the parent's log.
    pub folder: PathBuf,
    pub folders: Vec<String>,
    pub permits: Arc<Semaphore>,
    pub running: Arc<RunningChildren>,
}

/// A child's turn, its sink and its log; registered as running until dropped.
type Begun = (Arc<TurnEnv>, Arc<Fanout>, Arc<Log>, Entered);

/// Records a child's entries in its own log, and some in the parent's too: its edits, so that
/// reverting the parent's turn finds them, and its cost.
struct ChildRecorder {
    log: Arc<Log>,
    child: SessionId,
    parent: TurnEnv,
}

impl Recorder for ChildRecorder {
    fn record(&self, entry: Entry) {
        match &entry {
            Entry::EditIntent { .. }
            | Entry::EditsTogether { .. }
            | Entry::EditOutcome { .. }
            | Entry::Revert { .. } => {
                self.parent.recorder.record(entry.clone());
            }
            Entry::Usage {
                model, usage, cost, ..
            } => {
                self.parent.recorder.record(Entry::Usage {
                    turn: self.parent.turn.clone(),
                    model: model.clone(),
                    usage: *usage,
                    cost: *cost,
                    // It says nothing about the length of the parent's conversation.
                    aside: true,
                    child: Some(self.child.clone()),
                });
                self.parent
                    .with_conversation(|it| it.spend(*usage, *cost, true));
                self.parent.sink.emit(Event::Usage {
                    usage: self.parent.budget.spent(),
                    step: Spent::default(),
                    context: None,
                });
            }
            _ => {}
        }
        self.log.record(entry);
    }
}

#[async_trait]
impl Delegate for Children {
    fn check(&self, agent: &str) -> Result<(), String> {
        let (settings, model) = self.settings(Some(agent))?;
        self.model(&settings, model.as_deref()).map(|_| ())
    }

    async fn run(&self, errand: Errand) -> Result<Report, String> {
        let cancel = &self.parent.cancel;
        let permit = tokio::select! {
            permit = self.permits.acquire() => permit.map_err(|error| error.to_string())?,
            () = cancel.cancelled() => return Ok(Report::cancelled()),
        };
        let input = vec![Input::Text {
            text: errand.task.clone(),
        }];
        let (cx, fanout, log, _running) = self.begin_child(&errand)?;
        fanout.deliver(EnvelopeBody::Started {
            origin: Origin::Delegate,
            input: input.clone(),
            parent: Some(self.parent.turn.clone()),
        });
        let (_steer, mut steered) = mpsc::unbounded_channel();
        let end = turn::run(&cx, input, Vec::new(), &mut steered).await;
        cx.state.background.close().await;
        fanout.deliver(EnvelopeBody::Ended {
            stop_reason: end.stop,
            error: end.error.clone(),
            usage: end.usage,
            files: end.files.clone(),
        });
        log.sync();
        log.release();
        drop(permit);
        Ok(report(&cx, end))
    }
}

impl Children {
    /// The child's settings: the parent's, narrowed by the agent; and the model that the agent
    /// wants.
    fn settings(&self, agent: Option<&str>) -> Result<(Settings, Option<String>), String> {
        let parent = self.parent.settings();
        let (shared, cwd) = (&self.parent.shared, &self.parent.cwd);
        let mut settings = Settings::clone(&parent);
        let mut model = None;
        if let Some(name) = agent {
            settings.profile = None;
            // Treated like a setting's agent, which never widens the mode.
            model = agents::select(shared, cwd, &mut settings, name, By::Setting)
                .map_err(|failure| failure.sentences())?;
        }
        if settings.detail != Detail::None {
            settings.detail = Detail::Minimal;
        }
        let profile = settings.profile.as_deref();
        let has =
            |name: &String| name != TOOL && profile.is_none_or(|profile| profile.tools.has(name));
        let names = self.parent.registry().names().into_iter().filter(has);
        let only = names.collect();
        let narrowed = profile.cloned();
        let mut narrowed = narrowed.unwrap_or_else(|| AgentProfile::built_in("", settings.mode));
        narrowed.tools = Tools {
            only: Some(only),
            without: Vec::new(),
        };
        let above = parent
            .profile
            .as_ref()
            .and_then(|profile| profile.confine.clone());
        narrowed.confine = match (above, narrowed.confine.take()) {
            (Some(above), Some(own)) if !own.starts_with(&above) => {
                return Err("its folder is not inside the one that you are confined to".to_owned());
            }
            (above, own) => own.or(above),
        };
        settings.profile = Some(Arc::new(narrowed));
        Ok((settings, model))
    }

    /// The child's model: the parent's, or the agent's own. A model without a price cannot bypass
    /// `limits.cost`; for the parent's own model the turn gave that notice when it began.
    fn model(&self, settings: &Settings, wanted: Option<&str>) -> Result<Model, String> {
        let parent = &self.parent;
        let Some(name) = wanted else {
            return Ok(parent.model.clone());
        };
        let providers = &parent.shared.providers;
        let model = providers
            .resolve(&settings.config, Some(name))
            .map_err(|failure| failure.sentences())?;
        let limited = settings.config.limits.cost.is_some();
        if limited && model.facts.price.is_none() && model.name != parent.model.name {
            return Err(format!(
                "`limits.cost` is set and the price of its model {} is not known. The user can \
                 add a `[[price]]` to models.toml.",
                model.name
            ));
        }
        Ok(model)
    }

    /// A new log beside the parent's.
    fn log(&self, session: &SessionId) -> Result<Arc<Log>, StoreError> {
        let now = self.parent.shared.env.timestamp().to_string();
        let header = Header {
            parent: Some(self.parent.session.clone()),
            ..Header::new(session.clone(), now, &self.parent.cwd, &self.folders)
        };
        let path = self.folder.join(format!("{session}.jsonl"));
        Log::create(&path, &header).map(Arc::new)
    }

    /// Creates the child's session.
    fn begin_child(&self, errand: &Errand) -> Result<Begun, String> {
        let parent = &self.parent;
        let (settings, model) = self.settings(errand.agent.as_deref())?;
        let model = self.model(&settings, model.as_deref())?;
        let model = model.thinking(settings.effort());
        let env = &parent.shared.env;
        let (session, turn) = (errand.session.clone(), TurnId(env.id("turn")));
        let log = self.log(&session).map_err(|error| error.to_string())?;
        let recorder: Arc<dyn Recorder> = Arc::new(ChildRecorder {
            log: log.clone(),
            child: session.clone(),
            parent: parent.clone(),
        });
        recorder.record(Entry::Configure(Box::new(StoredSettings {
            model: model.name.clone(),
            layout: parent.layout.name.clone(),
            title: Some(errand.task.trim().chars().take(TITLE).collect()),
            ..settings.stored()
        })));
        let cancel = parent.cancel.child_token();
        let running = self.running.enter(&session, &turn, cancel.clone());
        let face = Arc::new(ChildHost {
            followed: running.followed.clone(),
            host: parent.host.clone(),
            sink: parent.sink.clone(),
            session: parent.session.clone(),
            turn: parent.turn.clone(),
            item: errand.item.clone(),
        });
        let fanout = Arc::new(Fanout::new(
            session.clone(),
            turn.clone(),
            Arc::new(Seq::default()),
            face.clone(),
            recorder.clone(),
            env.clone(),
        ));
        let cx = TurnEnv {
            session,
            turn,
            model,
            state: Arc::new(parent.state.of_child(settings)),
            above: Some(parent.state.clone()),
            parent: Some(parent.session.clone()),
            delegate: None,
            host: face,
            sink: fanout.clone(),
            recorder,
            cancel,
            ..parent.clone()
        };
        Ok((Arc::new(cx), fanout, log, running))
    }
}

/// The child's final message.
fn report(cx: &TurnEnv, end: TurnEnd) -> Report {
    let text = cx.with_conversation(|it| {
        let last = it.messages.last();
        let last = last.filter(|message| message.role == Role::Assistant);
        let texts = last.into_iter().flat_map(Message::texts);
        texts.collect::<Vec<_>>().join("\n")
    });
    let cancelled = cx.cancel.is_cancelled();
    Report {
        text,
        stop: match cancelled {
            true => TurnStop::Cancelled,
            false => end.stop,
        },
        problem: end.error.map(|failure| failure.sentences()),
        files: end.files,
    }
}
