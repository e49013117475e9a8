//! What a confined command may write and read: the session's folders without what runs later, and
//! everything but secrets and our own files. Which names those are is policy's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::unsaved::Unsaved;
use super::{CommandCall, ToolContext, ToolError};
use crate::config::{SandboxConfig, SandboxMode};
use crate::env::{Dirs, tasks};
use crate::policy::Escalation;
use crate::policy::commands::{Verdict, judge};
use crate::policy::paths::{self, class};
use crate::process::confine::{self, Absent, Confinement, Grade, Hidden, Plan};
use crate::prompt::facts::NO_SANDBOX;
use crate::prompt::fence;

/// Folders below a root that are not searched for protected files: they hold copies and products.
const SKIPPED: [&str; 9] = [
    ".cache",
    ".git",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
    "venv",
];

/// Most entries of a root that are looked at, and how deep.
const ENTRIES: usize = 20_000;
const DEPTH: usize = 8;

/// Folders in which tools of the user keep secrets.
const SECRET_PLACES: [&str; 7] = [
    "",
    ".cargo",
    ".config",
    ".docker",
    ".gem",
    ".local/share",
    ".m2",
];

/// How far commands are confined with these settings. Tries it once, blocking.
pub fn grade(config: &SandboxConfig) -> Grade {
    match config.mode {
        SandboxMode::Off => Grade::None,
        SandboxMode::Auto | SandboxMode::Required => confine::grade().0,
    }
}

/// The sandbox in a prompt's words.
pub fn description(config: &SandboxConfig) -> &'static str {
    match (grade(config), config.network) {
        (Grade::None, _) => NO_SANDBOX,
        (Grade::Partial, false) => {
            "they write only in the session's folders and $TMPDIR; no network"
        }
        (Grade::Partial, true) => "they write only in the session's folders and $TMPDIR",
        (Grade::Full, false) => {
            "they write only in the session's folders and $TMPDIR, not to files that run later; no secrets; no network but their own loopback"
        }
        (Grade::Full, true) => {
            "they write only in the session's folders and $TMPDIR, not to files that run later; no secrets"
        }
    }
}

/// The grade of the next command, and what it asks for beyond that; an error if the user requires
/// more than there is.
pub(super) async fn checked_grade(
    cx: &ToolContext,
    escalation: Option<Escalation>,
) -> std::result::Result<(Grade, Option<Escalation>), ToolError> {
    let config = cx.config.sandbox.clone();
    let required = config.mode == SandboxMode::Required;
    let grade = cx.blocking(move || grade(&config)).await?;
    if required && grade < Grade::Full {
        let (_, reason) = confine::grade();
        let reason = reason.unwrap_or_default();
        return Err(cx.error("results/exec-no-sandbox.md", &[("reason", &reason)]));
    }
    match escalation {
        _ if grade == Grade::None => Ok((grade, None)),
        Some(Escalation::Network) if cx.config.sandbox.network => Ok((grade, None)),
        Some(Escalation::Outside) if required => Err(cx.error("results/exec-required.md", &[])),
        Some(Escalation::Outside) => Ok((Grade::None, escalation)),
        Some(Escalation::Network) | None => Ok((grade, escalation)),
    }
}

/// Programs that keep a cache find a folder that they can write to.
pub(super) fn set_cache(cx: &ToolContext, plan: &Plan, env: &mut BTreeMap<String, String>) {
    const CACHE: &str = "XDG_CACHE_HOME";
    let usual = match env.get(CACHE) {
        Some(folder) => PathBuf::from(folder),
        None => cx.policy.home.join(".cache"),
    };
    if !plan.writable.iter().any(|it| usual.starts_with(it)) {
        let folder = plan.temporary.join("cache");
        env.insert(CACHE.to_owned(), folder.display().to_string());
    }
}

/// Messages of programs that were refused something. Other causes have the same ones.
const REFUSALS: [&str; 7] = [
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "Device or resource busy",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
];

/// Whether the output of a failed command may be about that.
pub(super) fn refused(output: &str) -> bool {
    REFUSALS.iter().any(|words| output.contains(words))
}

/// A line of its own for a failed command: what the sandbox probably refused.
pub(super) fn refusals(cx: &ToolContext, grade: Grade, output: &str) -> String {
    let refused = |line: &&str| REFUSALS.iter().any(|words| line.contains(words));
    let Some(line) = output.lines().find(refused).filter(|_| grade > Grade::None) else {
        return String::new();
    };
    let line = fence::line(line);
    let text = cx.text("results/exec-confined.md", &[("line", &line)]);
    format!("\n{text}")
}

/// How a command of this grade is confined.
pub(super) async fn confinement(
    cx: &ToolContext,
    call: &CommandCall,
    unsaved: &mut Unsaved,
) -> Result<Option<Arc<Confinement>>> {
    let grade = call.grade;
    if grade == Grade::None {
        return Ok(None);
    }
    let temporary = cx.background.temporary()?;
    let of = cx.clone();
    let found = tasks::blocking(move || build(&of, grade, temporary)).await;
    let mut confinement = found.map_err(std::io::Error::other)?;
    confinement.plan.network |= call.escalation == Some(Escalation::Network);
    // An editor shows the placeholders of files that do not exist.
    if judge(&call.command) == Verdict::ReadOnly {
        confinement.absent.clear();
    }
    unsaved.cover(cx, &mut confinement.plan);
    Ok(Some(Arc::new(confinement)))
}

fn build(cx: &ToolContext, grade: Grade, temporary: PathBuf) -> Confinement {
    let roots = cx.workspace.roots().into_iter();
    let excludes = |path: &Path, folder: bool| cx.workspace.excludes(path, folder);
    let scope = Scope {
        dirs: &cx.env.dirs,
        config: &cx.config.sandbox,
        roots: roots.map(|root| root.path).collect(),
        excluded: Some(&excludes),
    };
    scope.confinement(grade, temporary)
}

/// What a plan is made from.
struct Scope<'a> {
    dirs: &'a Dirs,
    config: &'a SandboxConfig,
    roots: Vec<PathBuf>,
    /// Whether the user keeps a place from the model.
    excluded: Option<&'a Excluded<'a>>,
}

type Excluded<'a> = dyn Fn(&Path, bool) -> bool + 'a;

impl Scope<'_> {
    /// The folders that the user named, for commands to write to.
    fn named(&self) -> impl Iterator<Item = PathBuf> {
        let names = self.config.write.iter();
        let paths = names.map(|name| match name.strip_prefix("~/") {
            Some(rest) => self.dirs.home.join(rest),
            None => PathBuf::from(name),
        });
        paths.filter(|path| path.is_absolute())
    }

    fn protected(&self) -> Protected<'_> {
        Protected {
            own: self.dirs.own().into(),
            excluded: self.excluded,
            ..Protected::default()
        }
    }

    /// The user's secrets, and our own files.
    fn hide(&self, protected: &mut Protected<'_>) {
        protected.hide_own();
        for place in SECRET_PLACES {
            protected.secrets_in(&self.dirs.home.join(place));
        }
        protected.secrets_in(Path::new("/etc"));
    }

    /// A command's.
    fn confinement(&self, grade: Grade, temporary: PathBuf) -> Confinement {
        let mut plan = Plan {
            temporary,
            network: self.config.network,
            writable: folders(self.roots.iter().cloned().chain(self.named())),
            ..Plan::default()
        };
        let mut protected = self.protected();
        if confine::holds_paths(grade) {
            for root in &plan.writable {
                protected.root(root);
            }
            self.hide(&mut protected);
            plan.pinned = protected.pinned.into_iter().collect();
            plan.read_only = protected.read_only.into_iter().collect();
            plan.hidden.extend(protected.hidden);
        }
        Confinement {
            grade,
            plan,
            absent: protected.absent,
        }
    }

    /// A server's: it may not write to the roots. It runs for long, so nothing is put in the place
    /// of files that do not exist.
    fn of_server(&self, grade: Grade, network: bool) -> Confinement {
        let roots = folders(self.roots.iter().cloned());
        let mut plan = Plan {
            network,
            writable: folders(self.named()),
            ..Plan::default()
        };
        match confine::holds_paths(grade) {
            true => {
                let mut protected = self.protected();
                for folder in &plan.writable {
                    protected.root(folder);
                }
                plan.pinned = std::mem::take(&mut protected.pinned).into_iter().collect();
                // Only for their secrets.
                for root in &roots {
                    protected.root(root);
                }
                self.hide(&mut protected);
                plan.read_only = protected.read_only.into_iter().chain(roots).collect();
                plan.hidden.extend(protected.hidden);
            }
            // Landlock cannot forbid a part of what it allows.
            false => plan
                .writable
                .retain(|folder| !roots.iter().any(|root| root.starts_with(folder))),
        }
        Confinement {
            grade,
            plan,
            absent: Vec::new(),
        }
    }
}

/// Those that exist and are not the root of all.
fn folders(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let all: BTreeSet<PathBuf> = paths
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.is_dir() && path.parent().is_some())
        .collect();
    all.into_iter().collect()
}

/// The grade of what runs beside commands, and why that is too little. Blocking at the first call.
pub fn offered(config: &SandboxConfig, grade: Grade) -> std::result::Result<Grade, String> {
    let here = || {
        let reason = confine::grade().1.unwrap_or_default();
        format!("this machine's sandbox is {}: {reason}", grade.as_str())
    };
    match config.mode == SandboxMode::Required && grade < Grade::Full {
        true => Err(format!("`sandbox.mode` is `required`, and {}", here())),
        false => Ok(grade),
    }
}

/// How hooks of a workspace are confined: like commands. `None`: not at all. Blocking.
pub fn of_hooks(
    config: &SandboxConfig,
    dirs: &Dirs,
    roots: Vec<PathBuf>,
) -> std::result::Result<Option<Arc<Confinement>>, String> {
    let scope = Scope {
        dirs,
        config,
        roots,
        excluded: None,
    };
    let grade = offered(config, grade(config))?;
    let confined = grade > Grade::None;
    // Each gets a temporary folder of its own when it starts.
    Ok(confined.then(|| Arc::new(scope.confinement(grade, PathBuf::new()))))
}

/// How an MCP server whose settings ask for it is confined, whatever `sandbox.mode` says. Blocking.
pub fn of_server(
    config: &SandboxConfig,
    dirs: &Dirs,
    roots: Vec<PathBuf>,
    network: bool,
) -> std::result::Result<Arc<Confinement>, String> {
    let scope = Scope {
        dirs,
        config,
        roots,
        excluded: None,
    };
    match offered(config, confine::grade().0)? {
        Grade::None => Err(confine::grade().1.unwrap_or_default().to_owned()),
        grade => Ok(Arc::new(scope.of_server(grade, network))),
    }
}

#[derive(Default)]
struct Protected<'a> {
    own: Vec<PathBuf>,
    excluded: Option<&'a Excluded<'a>>,
    pinned: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
    hidden: Vec<Hidden>,
    absent: Vec<Absent>,
    looked_at: usize,
}

impl Protected<'_> {
    fn root(&mut self, root: &Path) {
        for name in paths::UNBORN {
            let path = root.join(name);
            if path.symlink_metadata().is_err() {
                self.absent.push(Absent::Folder(path));
            }
        }
        self.looked_at = 0;
        // Breadth first, so that what is near the root is found whatever lies below.
        let mut folders = std::collections::VecDeque::from([(root.to_owned(), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            self.folder(&folder, depth, &mut folders);
        }
    }

    fn folder(
        &mut self,
        folder: &Path,
        depth: usize,
        folders: &mut std::collections::VecDeque<(PathBuf, usize)>,
    ) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            self.looked_at += 1;
            if self.looked_at > ENTRIES {
                return;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if name == ".git" && kind.is_dir() {
                self.repository(&path);
                continue;
            }
            let class = class(&path, &self.own);
            let excluded = self.excluded.is_some_and(|it| it(&path, kind.is_dir()));
            // A link is protected by protecting its target.
            let path = match kind.is_symlink() {
                true => path.canonicalize().unwrap_or(path),
                false => path,
            };
            if class.secret || excluded {
                self.hide(path);
            } else if class.own || class.executes_later || class.git {
                self.read_only.insert(path);
            } else if kind.is_dir()
                && depth < DEPTH
                && !SKIPPED.iter().any(|skipped| name == *skipped)
            {
                folders.push_back((path, depth + 1));
            }
        }
    }

    /// A repository stays writable, except what makes git run or read something else.
    fn repository(&mut self, git: &Path) {
        self.pinned.insert(git.to_owned());
        for name in ["config", "config.worktree"] {
            if git.join(name).exists() {
                self.read_only.insert(git.join(name));
            }
        }
        self.read_only_or(git.join("hooks"), Absent::Folder);
        for folder in ["info", "objects", "objects/info"] {
            if git.join(folder).is_dir() {
                self.pinned.insert(git.join(folder));
            }
        }
        self.read_only_or(git.join("info/attributes"), Absent::File);
        self.read_only_or(git.join("objects/info/alternates"), Absent::File);
        self.read_only_or(git.join("commondir"), Absent::Removed);
        let modules = git.join("modules");
        if modules.is_dir() {
            self.modules(&modules, 0);
        }
    }

    /// Repositories of submodules, whose names may have several parts.
    fn modules(&mut self, folder: &Path, depth: usize) {
        self.pinned.insert(folder.to_owned());
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if path.join("HEAD").exists() {
                self.repository(&path);
            } else if depth < DEPTH {
                self.modules(&path, depth + 1);
            }
        }
    }

    fn read_only_or(&mut self, path: PathBuf, absent: fn(PathBuf) -> Absent) {
        if path.symlink_metadata().is_ok() {
            self.read_only.insert(path);
        } else {
            self.absent.push(absent(path));
        }
    }

    fn hide(&mut self, path: PathBuf) {
        self.hidden.push(Hidden {
            path,
            except: Vec::new(),
        });
    }

    /// Our own folders, without what the user or we put there for commands.
    fn hide_own(&mut self) {
        let own = self.own.iter().filter_map(|path| path.canonicalize().ok());
        let hidden = own.map(|path| Hidden {
            except: [paths::SKILLS, paths::OUTPUT]
                .map(|name| path.join(name))
                .into(),
            path,
        });
        let hidden: Vec<Hidden> = hidden.collect();
        self.hidden.extend(hidden);
    }

    fn secrets_in(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if class(&path, &[]).secret {
                self.hide(path.canonicalize().unwrap_or(path));
            }
        }
    }
}
