//! One configured server: a task that keeps it connected, retrying with growing pauses, and the
//! catalog of what it offered last. Waiting for it is bounded and can be cancelled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::catalog::Catalog;
use super::client_handler::{Handler, Roots};
use super::connect::{self, ConnectError};
use super::lines::SharedOutput;
use super::login::Tokens;
use super::settings::{Settings, Source, redacted_line};
use crate::env::Env;
use crate::env::tasks::{self, Task};

/// Failures in a row after which it is not retried until the server is needed.
const TRIES: u32 = 5;
/// The first pause. Each further one is twice as long, up to `LONGEST`.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A connection that lasted this long does not add to the failures in a row.
const STEADY: Duration = Duration::from_secs(60);
/// Shortest time between two requests for the lists.
const CALM: Duration = Duration::from_millis(500);
/// How long stopping may take.
const END: Duration = Duration::from_secs(3);

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not needed yet.
    Idle,
    Starting,
    Ready,
    /// It is unavailable; why.
    Failed(String),
    /// It requires a login; what to do.
    Login(String),
}

impl Phase {
    /// Why it is unavailable.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Failed(reason) | Self::Login(reason) => Some(reason.clone()),
            Self::Idle | Self::Starting | Self::Ready => None,
        }
    }
}

/// How a connection ended.
enum Ended {
    /// It was stopped.
    Stopped,
    /// Its login changed, so it reconnects.
    Again,
    Down(String),
    Login(String),
}

/// An open connection.
#[derive(Clone)]
pub struct Live {
    pub peer: Peer<RoleClient>,
    pub link: Arc<Handler>,
}

/// One server.
pub struct Server {
    pub settings: Settings,
    pub env: Env,
    roots: Roots,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    wake: Notify,
    again: Notify,
    stop: CancellationToken,
}

struct State {
    phase: Phase,
    /// What it offered last, also while it is unavailable.
    catalog: Arc<Catalog>,
    live: Option<Live>,
    /// Why it failed, until that is reported or it works again.
    unheard: Option<String>,
    /// The user knows of a failure since it last worked.
    reported: bool,
    task: Option<Task<()>>,
    /// Its challenge when it required a login.
    challenge: Option<String>,
    /// Ends the login in progress.
    login: CancellationToken,
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
                reported: false,
                task: None,
                challenge: None,
                login: CancellationToken::new(),
            }),
            changed: watch::Sender::new(()),
            wake: Notify::new(),
            again: Notify::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Its challenge when it required a login.
    pub fn challenge(&self) -> Option<String> {
        self.state.lock().challenge.clone()
    }

    /// Begins a login and ends the previous one.
    pub fn begin_login(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let before = std::mem::replace(&mut self.state.lock().login, token.clone());
        before.cancel();
        token
    }

    /// Reconnects, because the login changed.
    pub fn reconnect(&self) {
        if self.phase() != Phase::Idle {
            self.again.notify_one();
        }
    }

    pub fn phase(&self) -> Phase {
        self.state.lock().phase.clone()
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.state.lock().catalog.clone()
    }

    /// Starts keeping it connected. Returns at once.
    pub fn start(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.phase == Phase::Idle && !self.stop.is_cancelled() {
            state.phase = Phase::Starting;
            state.task = Some(tasks::spawn(keep_connected(self.clone())));
        }
    }

    /// Stops it. [`Server::wait_until_ended`] waits for that.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until its process has ended.
    pub async fn wait_until_ended(&self) {
        let task = self.state.lock().task.take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(END, task).await;
        }
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.send_replace(());
    }

    /// A failure that was not reported to the user yet.
    pub fn take_failure(&self) -> Option<String> {
        let mut state = self.state.lock();
        let reason = state.unheard.take()?;
        state.reported = true;
        Some(reason)
    }

    /// Waits until it is ready or has failed, at most `limit`.
    pub async fn wait_until_settled(&self, limit: Duration) {
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

    /// The connection. A failed server is tried once more. The error says why there is no connection.
    pub async fn live(self: &Arc<Self>, limit: Duration) -> Result<Live, String> {
        self.start();
        let mut changes = self.changed.subscribe();
        let mut tried = false;
        let wait = async {
            loop {
                let (phase, live) = {
                    let state = self.state.lock();
                    (state.phase.clone(), state.live.clone())
                };
                match (phase, live) {
                    (Phase::Ready, Some(live)) => return Ok(live),
                    (Phase::Failed(reason) | Phase::Login(reason), _) if tried => {
                        return Err(reason);
                    }
                    (Phase::Failed(_) | Phase::Login(_), _) => {
                        tried = true;
                        self.wake.notify_waiters();
                    }
                    _ => {}
                }
                if changes.changed().await.is_err() {
                    return Err("it was removed from the settings".to_owned());
                }
            }
        };
        tokio::time::timeout(limit, wait)
            .await
            .unwrap_or_else(|_| Err(format!("it was not ready after {} s", limit.as_secs())))
    }

    fn failure_text(&self, reason: &str, ear: &SharedOutput) -> String {
        redacted_line(
            &connect::with_server_output(reason, ear),
            &self.settings.secrets,
        )
    }

    /// Whether the user logged in to it.
    pub fn has_login(&self) -> bool {
        let http = self.settings.http();
        http.is_some_and(|http| Tokens::of(&self.env, &http.url).exists())
    }

    /// Why a login is needed, and how to log in.
    fn login_required(&self, challenge: Option<String>) -> Ended {
        let name = &self.settings.name;
        self.state.lock().challenge = challenge;
        let what = match self.has_login() {
            true => "it no longer accepts your login: log in again",
            false => "it requires a login",
        };
        let how = match self.settings.source {
            // The command line knows only the user's settings. A login belongs to the address.
            Source::Client => format!(
                "put its address into your config.toml too and run `interline mcp login {name}` \
                 once, or give its token in its headers where the editor has it"
            ),
            _ => format!(
                "run `interline mcp login {name}` or the command interline.mcpLogin, or give its \
                 token in `headers` (Authorization)"
            ),
        };
        Ended::Login(redacted_line(&format!("{what}: {how}"), &[]))
    }

    /// One connection, from start to end.
    async fn connection(&self, legacy: bool) -> Ended {
        let ear = SharedOutput::default();
        let link = Arc::new(Handler::new(&self.settings.name, self.roots.clone()));
        let connecting = async {
            let (settings, env) = (&self.settings, &self.env);
            let service = connect::connect(settings, env, link.clone(), &ear, legacy).await?;
            let catalog = connect::fetch_catalog(service.peer(), settings).await?;
            Ok::<_, ConnectError>((service, catalog))
        };
        let limit = self.settings.start;
        let connected = tokio::select! {
            connected = tokio::time::timeout(limit, connecting) => connected,
            () = self.stop.cancelled() => return Ended::Stopped,
        };
        let (service, catalog) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(ConnectError::Login(challenge))) => return self.login_required(challenge),
            Ok(Err(ConnectError::Fault(reason))) => {
                // Its last output may arrive a moment after its end.
                tokio::time::sleep(Duration::from_millis(50)).await;
                return Ended::Down(self.failure_text(&reason, &ear));
            }
            Err(_) => {
                let reason = format!("it did not answer within {} s", limit.as_secs_f32());
                return Ended::Down(self.failure_text(&reason, &ear));
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
            state.reported = false;
        });
        let ending = service.cancellation_token();
        let mut waiting = tasks::spawn(service.waiting());
        let ended = loop {
            tokio::select! {
                _ = &mut waiting => break Ended::Down("the connection ended".to_owned()),
                () = link.broken.notified() => break Ended::Down("the connection broke".to_owned()),
                () = self.again.notified() => break Ended::Again,
                () = self.stop.cancelled() => break Ended::Stopped,
                () = link.changed.notified() => self.refresh_catalog(&live).await,
            }
        };
        listening.abort();
        ending.cancel();
        if !waiting.is_finished() {
            let _ = tokio::time::timeout(END, waiting).await;
        }
        match ended {
            Ended::Down(reason) => Ended::Down(self.failure_text(&reason, &ear)),
            ended => ended,
        }
    }

    /// Requests the lists again. If that fails, the catalog stays as it was.
    async fn refresh_catalog(&self, live: &Live) {
        let asked = async {
            tokio::time::sleep(CALM).await;
            connect::fetch_catalog(&live.peer, &self.settings).await
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

/// Since 2026-07-28 servers report changes only to subscribers.
fn subscribe(live: Live, catalog: &Catalog) -> Task<()> {
    let modern = catalog.protocol == ProtocolVersion::V_2026_07_28.to_string();
    tasks::spawn(async move {
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

async fn keep_connected(server: Arc<Server>) {
    let mut failures = 0_u32;
    loop {
        server.set(|state| state.phase = Phase::Starting);
        let began = Instant::now();
        // A server may crash on the probe for the newer protocol, so every other try omits it.
        let legacy = failures % 2 == 1;
        let ended = server.connection(legacy).await;
        let held = began.elapsed() > STEADY;
        let phase = match ended {
            Ended::Stopped => break,
            Ended::Again => {
                failures = 0;
                server.set(|state| state.live = None);
                continue;
            }
            Ended::Login(reason) => {
                failures = 0;
                Phase::Login(reason)
            }
            Ended::Down(reason) => {
                failures = if held { 1 } else { failures + 1 };
                Phase::Failed(reason)
            }
        };
        tracing::info!(
            server = server.settings.name,
            "an MCP server is unavailable"
        );
        let pause = (PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1))).min(LONGEST);
        // If only a login helps, do not retry without one.
        let tried = failures < TRIES && matches!(phase, Phase::Failed(_));
        let woken = server.wake.notified();
        tokio::pin!(woken);
        woken.as_mut().enable();
        server.set(|state| {
            state.unheard = phase.reason().filter(|_| !state.reported);
            state.phase = phase;
            state.live = None;
        });
        tokio::select! {
            () = tokio::time::sleep(pause), if tried => {}
            () = server.again.notified() => failures = 0,
            () = woken => {}
            () = server.stop.cancelled() => break,
        }
    }
    server.set(|state| {
        state.phase = Phase::Failed("it was stopped".to_owned());
        state.live = None;
    });
}
