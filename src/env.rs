//! The process's environment as one value made in `main`: clock, ids, variables, folders. The only
//! global, and the seam for tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use parking_lot::Mutex;

use crate::secrets::looks_secret;

pub use private::{private_folder, write_private};
pub use redact::Secrets;

pub mod order;
pub mod private;
pub mod redact;
pub mod tasks;

/// Clock, ids, variables and folders.
#[derive(Clone)]
pub struct Env {
    clock: Clock,
    ids: Ids,
    vars: Arc<BTreeMap<String, String>>,
    secrets: Arc<Secrets>,
    pub dirs: Dirs,
}

#[derive(Clone)]
enum Clock {
    System,
    Fixed(Zoned),
}

#[derive(Clone)]
enum Ids {
    Random,
    Counted(Arc<AtomicU64>),
}

/// Where Interline's own files are. The `dirs` crate decides (XDG variables apply on Linux).
#[derive(Clone, Debug)]
pub struct Dirs {
    pub home: PathBuf,
    /// `config.toml`, `AGENTS.md`, prompt overrides.
    pub config: PathBuf,
    /// Session logs, trust store, credentials, logs.
    pub state: PathBuf,
    /// Sockets and the registry of processes; 0700.
    pub runtime: PathBuf,
}

impl Env {
    /// The real environment. `INTERLINE_CONFIG` moves the config folder.
    pub fn from_process() -> Self {
        let vars = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let vars = order::map(vars);
        let home = dirs::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        let config = vars
            .get("INTERLINE_CONFIG")
            .map(PathBuf::from)
            .or_else(|| dirs::config_dir().map(|dir| dir.join("interline")))
            .unwrap_or_else(|| home.join(".config/interline"));
        let state = dirs::state_dir()
            .or_else(dirs::data_local_dir)
            .unwrap_or_else(|| home.join(".local/state"))
            .join("interline");
        let runtime =
            dirs::runtime_dir().map_or_else(|| state.join("run"), |dir| dir.join("interline"));
        Self {
            clock: Clock::System,
            ids: Ids::Random,
            secrets: Arc::new(secrets_of(&vars)),
            vars: Arc::new(vars),
            dirs: Dirs {
                home,
                config,
                state,
                runtime,
            },
        }
    }

    /// A fixed environment below `dir`: the clock stands still and ids count up.
    pub fn fixed(dir: &Path, now: Zoned, vars: BTreeMap<String, String>) -> Self {
        Self {
            clock: Clock::Fixed(now),
            ids: Ids::Counted(Arc::new(AtomicU64::new(0))),
            secrets: Arc::new(secrets_of(&vars)),
            vars: Arc::new(vars),
            dirs: Dirs {
                home: dir.join("home"),
                config: dir.join("config"),
                state: dir.join("state"),
                runtime: dir.join("run"),
            },
        }
    }

    /// Where the log is.
    pub fn log_path(&self) -> PathBuf {
        self.dirs.state.join("logs").join("interline.log")
    }

    /// The value of an environment variable. An empty one is treated as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    pub fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    /// The keys that this process uses or got from variables. They are removed from everything
    /// that leaves the process.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub fn now(&self) -> Zoned {
        match &self.clock {
            Clock::System => Timestamp::now().to_zoned(local_zone()),
            Clock::Fixed(now) => now.clone(),
        }
    }

    pub fn timestamp(&self) -> Timestamp {
        match &self.clock {
            Clock::System => Timestamp::now(),
            Clock::Fixed(now) => now.timestamp(),
        }
    }

    /// A fresh id: `prefix` and 32 hex digits that sort by time.
    pub fn id(&self, prefix: &str) -> String {
        match &self.ids {
            Ids::Random => format!("{prefix}_{}", uuid::Uuid::now_v7().simple()),
            Ids::Counted(next) => {
                format!("{prefix}_{:032}", next.fetch_add(1, Ordering::Relaxed))
            }
        }
    }
}

/// The values of variables whose names look secret and that are long enough to be one.
/// The system's time zone. Reads its file alone: jiff finds a zone by name, and for that it lists
/// all zones of the system once.
fn local_zone() -> TimeZone {
    const FILE: &str = "/etc/localtime";
    /// The zone and the link that named it.
    static LAST: Mutex<Option<(PathBuf, TimeZone)>> = Mutex::new(None);
    let own = || {
        let link = std::fs::read_link(FILE).ok()?;
        let mut last = LAST.lock();
        if let Some((_, zone)) = last.as_ref().filter(|(known, _)| *known == link) {
            return Some(zone.clone());
        }
        let (_, name) = link.to_str()?.rsplit_once("/zoneinfo/")?;
        let zone = TimeZone::tzif(name, &std::fs::read(FILE).ok()?).ok()?;
        *last = Some((link, zone.clone()));
        Some(zone)
    };
    let chosen = std::env::var_os("TZ").is_some();
    let zone = if chosen { None } else { own() };
    zone.unwrap_or_else(TimeZone::system)
}

fn secrets_of(vars: &BTreeMap<String, String>) -> Secrets {
    const LONG: usize = 16;
    let secrets = Secrets::default();
    for (name, value) in vars {
        let place = value.starts_with('/') || value.contains("://");
        if looks_secret(name) && value.len() >= LONG && !place && !value.contains(' ') {
            secrets.add(value);
        }
    }
    secrets
}

/// `<slug of the root>-<8 hex of its hash>`: the name under which a workspace's data is stored.
pub fn workspace_name(root: &Path) -> String {
    let slug: String = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let hash = crate::conversation::sha256(root.as_os_str().as_encoded_bytes());
    format!("{slug}-{}", &hash[..8])
}
