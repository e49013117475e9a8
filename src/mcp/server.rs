//! One server of the settings: a task that keeps it connected, with pauses that grow when it
//! fails, and what it offered last. Whoever waits for it waits within a limit and can cancel.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::catalog::Catalog;
use super::connect;
use super::lines::Ear;
use super::link::{Link, Roots};
use super::settings::{Settings, shown};
use crate::env::Env;

/// Failures in a row after which nothing is tried until somebody wants the server.
const TRIES: u32 = 5;
/// The first pause; each further one is twice as long, up to the last.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A connection that held so long has not failed at once.
const STEADY: Duration = Duration::from_secs(60);
/// Lists are asked for anew at most that often.
const CALM: Duration = Duration::from_millis(500);
/// How long an end may take.
const END: Duration = Duration::from_secs(3);

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nobody wanted it yet.
    Idle,
    Starting,
    Ready,
    /// It is not there; why.
    Failed(String),
}

/// A connection to speak through.
#[derive(Clone)]
pub struct Live {
    pub peer: Peer<RoleClient>,
    pub link: Arc<Link>,
}

/// One server.
pub struct Server {
    pub settings: Settings,
    env: Env,
    roots: Roots,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    wake: Notify,
    stop: CancellationToken,
}

struct State {
    phase: Phase,
    /// As it told last, also while it is not there.
    catalog: Arc<Catalog>,
    live: Option<Live>,
    /// Why it failed last, until it is there again; no user heard it yet.
    unheard: Option<String>,
    /// The user heard of the failure since it was there last.
    told: bool,
    task: Option<JoinHandle<()>>,
}

impl Server {
    pub fn new(settings: Settings, env: Env, roots: Roots) -> Arc<Self> {
        Arc::new(Self {
            settings,
            env,
            roots,
            state: Mutex::new(State {
                phase: Phase::Idle,
                catalog: Arc::default(),
                live: None,
                unheard: None,
                told: false,
                task: None,
            }),
            changed: watch::Sender::new(()),
            wake: Notify::new(),
            stop: CancellationToken::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.state().catalog.clone()
    }

    /// Begins to keep it connected; returns at once.
    pub fn start(self: &Arc<Self>) {
        let mut state = self.state();
        if state.phase == Phase::Idle && !self.stop.is_cancelled() {
            state.phase = Phase::Starting;
            state.task = Some(tokio::spawn(drive(self.clone())));
        }
    }

    /// Ends it; with [`Server::ended`] one can wait for that.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until its process is gone.
    pub async fn ended(&self) {
        let task = self.state().task.take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(END, task).await;
        }
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.send_replace(());
    }

    /// The words of a failure that no user heard yet.
    pub fn news(&self) -> Option<String> {
        let mut state = self.state();
        let reason = state.unheard.take()?;
        state.told = true;
        Some(reason)
    }

    /// Resolves when it is there or has failed, at the latest after `limit`.
    pub async fn settled(&self, limit: Duration) {
        let mut changes = self.changed.subscribe();
        let wait = async {
            while matches!(self.phase(), Phase::Idle | Phase::Starting) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(limit, wait).await;
    }

    /// The connection; a server that failed is tried once more. The error says why there is none.
    pub async fn live(self: &Arc<Self>, limit: Duration) -> Result<Live, String> {
        self.start();
        let mut changes = self.changed.subscribe();
        let mut tried = false;
        let wait = async {
            loop {
                let (phase, live) = {
                    let state = self.state();
                    (state.phase.clone(), state.live.clone())
                };
                match (phase, live) {
                    (Phase::Ready, Some(live)) => return Ok(live),
                    (Phase::Failed(reason), _) if tried => return Err(reason),
                    (Phase::Failed(_), _) => {
                        tried = true;
                        self.wake.notify_waiters();
                    }
                    _ => {}
                }
                if changes.changed().await.is_err() {
                    return Err("it was taken out of the settings".to_owned());
                }
            }
        };
        tokio::time::timeout(limit, wait)
            .await
            .unwrap_or_else(|_| Err(format!("it is not there after {} s", limit.as_secs())))
    }

    fn words(&self, reason: &str, ear: &Ear) -> String {
        shown(&connect::explained(reason, ear), &self.settings.secrets)
    }

    /// One connection from its beginning to its end; why it ended, `None` when it was stopped.
    async fn connection(&self, legacy: bool) -> Option<String> {
        let ear = Ear::default();
        let link = Arc::new(Link::new(&self.settings.name, self.roots.clone()));
        let connecting = async {
            let (settings, env) = (&self.settings, &self.env);
            let service = connect::connect(settings, env, link.clone(), &ear, legacy).await?;
            let catalog = connect::catalog(service.peer(), settings).await?;
            Ok::<_, String>((service, catalog))
        };
        let limit = self.settings.start;
        let connected = tokio::select! {
            connected = tokio::time::timeout(limit, connecting) => connected,
            () = self.stop.cancelled() => return None,
        };
        let (service, catalog) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(reason)) => {
                // What it printed may come a moment after its end.
                tokio::time::sleep(Duration::from_millis(50)).await;
                return Some(self.words(&reason, &ear));
            }
            Err(_) => {
                let reason = format!("it did not answer within {} s", limit.as_secs_f32());
                return Some(self.words(&reason, &ear));
            }
        };
        let live = Live {
            peer: service.peer().clone(),
            link: link.clone(),
        };
        let listening = subscribe(live.clone(), &catalog);
        self.set(|state| {
            state.phase = Phase::Ready;
            state.catalog = Arc::new(catalog);
            state.live = Some(live.clone());
            state.unheard = None;
            state.told = false;
        });
        let ending = service.cancellation_token();
        let mut waiting = tokio::spawn(service.waiting());
        let reason = loop {
            tokio::select! {
                _ = &mut waiting => break Some("the connection ended".to_owned()),
                () = link.broken.notified() => break Some("the connection broke".to_owned()),
                () = self.stop.cancelled() => break None,
                () = link.changed.notified() => self.renew(&live).await,
            }
        };
        listening.abort();
        ending.cancel();
        if !waiting.is_finished() {
            let _ = tokio::time::timeout(END, waiting).await;
        }
        reason.map(|reason| self.words(&reason, &ear))
    }

    /// Lists are asked for anew; what cannot be had stays as it was.
    async fn renew(&self, live: &Live) {
        let asked = async {
            tokio::time::sleep(CALM).await;
            connect::catalog(&live.peer, &self.settings).await
        };
        let limit = self.settings.start;
        let asked = tokio::select! {
            asked = tokio::time::timeout(limit, asked) => asked,
            () = self.stop.cancelled() => return,
        };
        match asked {
            Ok(Ok(catalog)) => self.set(|state| state.catalog = Arc::new(catalog)),
            _ => tracing::info!(
                server = self.settings.name,
                "its lists could not be renewed"
            ),
        }
    }
}

/// Since 2026-07-28 servers tell changes only to whoever listens.
fn subscribe(live: Live, catalog: &Catalog) -> JoinHandle<()> {
    let modern = catalog.protocol == ProtocolVersion::V_2026_07_28.to_string();
    tokio::spawn(async move {
        if !modern {
            return;
        }
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut subscription) = live.peer.listen(wanted).await else {
            return;
        };
        while let Ok(Some(_)) = subscription.next().await {
            live.link.changed.notify_one();
        }
    })
}

async fn drive(server: Arc<Server>) {
    let mut failures = 0_u32;
    loop {
        server.set(|state| state.phase = Phase::Starting);
        let began = Instant::now();
        // A server may die of the question about the newer protocol: every other try goes without.
        let legacy = failures % 2 == 1;
        let Some(reason) = server.connection(legacy).await else {
            break;
        };
        failures = match began.elapsed() > STEADY {
            true => 1,
            false => failures + 1,
        };
        tracing::info!(server = server.settings.name, "an MCP server is not there");
        let pause = (PAUSE * 2_u32.saturating_pow(failures - 1)).min(LONGEST);
        let woken = server.wake.notified();
        tokio::pin!(woken);
        woken.as_mut().enable();
        server.set(|state| {
            state.unheard = (!state.told).then(|| reason.clone());
            state.phase = Phase::Failed(reason);
            state.live = None;
        });
        tokio::select! {
            () = tokio::time::sleep(pause), if failures < TRIES => {}
            () = woken => {}
            () = server.stop.cancelled() => break,
        }
    }
    server.set(|state| {
        state.phase = Phase::Failed("it was stopped".to_owned());
        state.live = None;
    });
}
