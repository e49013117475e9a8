//! `interline doctor`: what is set up and what is missing.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::config::SandboxMode;
use crate::config::load::{ClientSettings, Severity};
use crate::env::Env;
use crate::process::confine::{self, Grade};
use crate::session::Sessions;
use crate::{terminal, visible};

#[derive(clap::Args)]
pub struct DoctorArgs {
    /// Write a report for bug reports to FILE instead, without keys, prompts and texts.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = REPORT)]
    report: Option<PathBuf>,
}

const REPORT: &str = "interline-report.json";

/// How long it waits for an MCP server to start.
const DOCTOR: std::time::Duration = std::time::Duration::from_secs(15);

/// The agents of the current folder, and problems of agent files.
fn agents(env: &Env, config: &crate::config::Config) -> Vec<String> {
    use crate::prompt::fence::name;
    let Ok(folder) = std::env::current_dir() else {
        return Vec::new();
    };
    let workspace = crate::workspace::Workspace::new();
    let trusted = crate::knowledge::trust::TrustStore::new(env).folder(&folder);
    let found = crate::knowledge::agents::find(&workspace, env, config, &folder, trusted);
    let agents: Vec<String> = found
        .agents
        .iter()
        .map(|agent| format!("{} ({})", agent.name, name(&agent.source)))
        .collect();
    let mut lines = Vec::new();
    if !agents.is_empty() {
        lines.push(format!("agents   {}", agents.join(", ")));
    }
    let rows = found.problems.iter();
    lines.extend(rows.map(|(source, why)| format!("agent    {}: {}", name(source), name(why))));
    lines
}

/// The MCP servers of the current folder, started to check them.
fn servers(env: &Env, config: &crate::config::Config) -> Vec<String> {
    use crate::prompt::fence::name;
    let Ok(folder) = std::env::current_dir().and_then(std::fs::canonicalize) else {
        return Vec::new();
    };
    let Ok(runtime) = super::runtime() else {
        return Vec::new();
    };
    let workspace = crate::workspace::Workspace::new();
    let servers = crate::mcp::Servers::new(env.clone(), workspace);
    let (status, problems) = runtime.block_on(async {
        servers.reload(config, &folder);
        servers.start_all(&folder);
        servers.wait_for_all(&folder, DOCTOR).await;
        let found = (servers.status(), servers.all_problems());
        servers.stop_all(DOCTOR).await;
        found
    });
    let mut lines = Vec::new();
    for server in status {
        let what = match (server.state.as_str(), server.reason) {
            ("ready", _) => format!(
                "{} tools, {} prompts, {} resources",
                server.tools.len(),
                server.prompts.len(),
                server.resources.len()
            ),
            (_, Some(reason)) => reason,
            (state, None) => format!("still {state} after {} s", DOCTOR.as_secs()),
        };
        let sandbox = server.sandbox.map(|grade| format!(", sandbox: {grade}"));
        lines.push(format!(
            "mcp      {} ({}{}): {what}",
            server.name,
            server.source,
            sandbox.unwrap_or_default()
        ));
        let notes = server.notes.iter();
        lines.extend(notes.map(|note| format!("mcp      {}: {}", server.name, name(note))));
    }
    let rows = problems.iter();
    lines.extend(rows.map(|(what, why)| format!("mcp      {}: {}", name(what), name(why))));
    lines
}

/// The hooks of the current folder, and why others do not run.
fn hooks(env: &Env, config: &crate::config::Config) -> Vec<String> {
    use crate::knowledge::hooks::find;
    use crate::prompt::fence::line;
    let Ok(folder) = std::env::current_dir().and_then(std::fs::canonicalize) else {
        return Vec::new();
    };
    let store = crate::knowledge::trust::TrustStore::new(env);
    let workspace = terminal::workspace_of(&folder);
    let found = find(&workspace, env, &store, &folder, || store.folder(&folder));
    let listed = |hook| line(&crate::agent::hooks::line(hook, &config.sandbox));
    let rows = found.hooks.iter().map(listed);
    let problems = crate::agent::hooks::problems(&found, &config.sandbox);
    rows.chain(problems)
        .map(|row| format!("hook     {row}"))
        .collect()
}

/// The names given to agents, and the variables stored for commands.
fn kept(env: &Env) -> Vec<String> {
    use crate::prompt::fence::name;
    let store = crate::knowledge::user_state::UserState::new(env);
    let kept = match store.read() {
        Ok(kept) => kept,
        Err(error) => return vec![format!("kept     {error}. Correct or remove it")],
    };
    let names = kept.names();
    let mut lines: Vec<String> = names
        .map(|(agent, called)| format!("agent    {} is called {}", name(agent), name(called)))
        .collect();
    let variables: Vec<&str> = kept.variable_names().collect();
    if !variables.is_empty() {
        let (names, path) = (variables.join(", "), store.path().display());
        lines.push(format!(
            "private  {names} (variables for commands, in {path})"
        ));
    }
    lines
}

/// Writes what `interline/debug` returns to a file that only the user can read.
fn report(env: &Env, path: &Path) -> anyhow::Result<i32> {
    let folder = std::fs::canonicalize(".")?;
    let settings = crate::config::load::load(env, &ClientSettings::default());
    let report = super::runtime()?.block_on(async {
        let workspace = terminal::workspace_of(&folder);
        let sessions = Sessions::new(env.clone(), workspace, settings);
        sessions.debug(serde_json::Value::Null).await
    });
    let text = visible::json(&serde_json::to_string_pretty(&report)?).into_owned();
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = match created {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => anyhow::bail!(
            "{} exists already. Remove it, or name another file: interline doctor --report FILE",
            path.display()
        ),
        other => other.with_context(|| path.display().to_string())?,
    };
    writeln!(file, "{text}")?;
    terminal::print(&format!(
        "Wrote {}: settings, state and the end of the log, without keys and prompts.\n\
         Read it before you share it.",
        path.display()
    ));
    Ok(0)
}

/// Prints what is set up and what is missing.
pub fn doctor(env: &Env, args: &DoctorArgs) -> anyhow::Result<i32> {
    if let Some(path) = &args.report {
        return report(env, path);
    }
    let loaded = crate::config::load::load(env, &ClientSettings::default());
    let providers = crate::provider::Providers::new(env.clone());
    let mut lines = vec![
        format!("interline {}", env!("CARGO_PKG_VERSION")),
        format!("config   {}", env.dirs.config.join("config.toml").display()),
        format!("state    {}", env.dirs.state.display()),
        format!("log      {}", env.log_path().display()),
    ];
    match providers.resolve(&loaded.config, None) {
        Ok(model) => lines.push(format!("model    {}", model.name)),
        Err(failure) => lines.push(format!(
            "model    none. {}",
            terminal::failure(&failure).replace('\n', "\n         ")
        )),
    }
    match std::env::current_dir().and_then(std::fs::canonicalize) {
        Ok(cwd) => lines.extend(super::memory::lines(env, &loaded.config, &cwd)),
        Err(error) => lines.push(format!(
            "memory   the current folder does not exist: {error}"
        )),
    }
    if let Some(active) = std::env::current_dir()
        .ok()
        .and_then(|folder| super::trust::counted(env, &folder))
    {
        lines.push(format!("active   {active}"));
    }
    lines.extend(agents(env, &loaded.config));
    lines.extend(hooks(env, &loaded.config));
    lines.extend(kept(env));
    lines.extend(super::rules::summary(env));
    lines.extend(servers(env, &loaded.config));
    lines.extend(super::languages::lines(env, &loaded.config));
    lines.push(sandbox(&loaded.config));
    lines.push(
        "network  nothing is contacted before a prompt; then the model's endpoint, the addresses in your `instructions`, MCP servers, and web pages you allow".to_owned(),
    );
    for ignored in loaded.ignored {
        let word = match ignored.severity {
            Severity::Unclear => "wrong  ",
            Severity::Unknown | Severity::Note => "ignored",
        };
        lines.push(format!(
            "{word}  {} ({}): {}",
            ignored.key, ignored.source, ignored.reason
        ));
    }
    terminal::print(&lines.join("\n"));
    Ok(0)
}

/// The line about the sandbox: what commands get, and why it is not more.
fn sandbox(config: &crate::config::Config) -> String {
    let (grade, reason) = confine::grade();
    let here = match (reason, confine::bubblewrap()) {
        (Some(reason), _) => format!("{}: {reason}", grade.as_str()),
        (None, Some(program)) => format!("{}, by {}", grade.as_str(), program.display()),
        (None, None) => grade.as_str().to_owned(),
    };
    match (config.sandbox.mode, grade) {
        (SandboxMode::Off, _) => {
            format!("sandbox  off (this machine: {here}): commands have your rights")
        }
        (SandboxMode::Required, Grade::None | Grade::Partial) => {
            format!("sandbox  {here}: commands are refused, because `sandbox.mode` is `required`")
        }
        _ => format!("sandbox  {here}"),
    }
}
