//! The command line. Each command hands over to a door or prints; output for people goes to
//! stdout only here and in `terminal`.

mod languages;
mod mcp;
mod memory;
mod prompt;
mod sessions;
mod trust;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::load::{ClientSettings, Severity};
use crate::env::Env;
use crate::process::{self, warden};
use crate::{acp, logging, lsp, terminal};

/// A coding agent that an editor starts like a language server.
#[derive(Parser)]
#[command(name = "interline", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Speak the Language Server Protocol on stdin and stdout (the default).
    Lsp(LspArgs),
    /// Speak the Agent Client Protocol on stdin and stdout.
    Acp(AcpArgs),
    /// Run one prompt in a terminal; edits go to files.
    Run(terminal::RunArgs),
    /// Watch a prompt become an edit, without key or network.
    Demo(terminal::DemoArgs),
    /// Show the prompt: every segment with source, size, trust and reason.
    Prompt(prompt::PromptArgs),
    /// Trust a folder (its instructions apply, edits inside it run without asking), or one of
    /// its active files with exactly its current content.
    Trust(trust::TrustArgs),
    /// List, show, export and delete stored sessions.
    Sessions(sessions::SessionsArgs),
    /// Store a provider's API key in a file only you can read.
    Login {
        /// anthropic, openai, gemini or a name from config.toml.
        provider: String,
    },
    /// Log in to and out of MCP servers.
    Mcp(mcp::McpArgs),
    /// Show what is set up and what is missing.
    Doctor,
    /// Print the JSON Schema of the protocol.
    Schema,
    /// Ends the commands of a server that was killed; started by the server itself.
    #[command(hide = true)]
    Warden,
}

#[derive(clap::Args, Default)]
struct LspArgs {
    /// Editors pass this; stdio is the only transport.
    #[arg(long, hide = true)]
    stdio: bool,
    /// Record frames and model streams in FILE, without secrets; `replay/FILE` plays it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(clap::Args)]
struct AcpArgs {
    /// Record lines and model streams in FILE, without secrets; `replay/FILE` plays it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// How long `doctor` waits for an MCP server to start.
const DOCTOR: std::time::Duration = std::time::Duration::from_secs(15);

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    process::unreadable();
    let cli = Cli::parse();
    let env = Env::from_process();
    let command = cli.command.unwrap_or(Command::Lsp(LspArgs::default()));
    if !matches!(command, Command::Warden) {
        logging::start(&env, !matches!(command, Command::Lsp(_) | Command::Acp(_)));
    }
    match command {
        Command::Lsp(args) => code(serve(env, args)),
        Command::Acp(args) => code(serve_acp(env, args)),
        Command::Run(args) => code(terminal::run(env, args)),
        Command::Demo(args) => code(terminal::demo(&env, &args)),
        Command::Prompt(args) => code(prompt::show(env, args)),
        Command::Trust(args) => code(trust::trust(&env, &args)),
        Command::Sessions(args) => code(sessions::sessions(&env, &args)),
        Command::Login { provider } => code(login(&env, &provider)),
        Command::Mcp(args) => code(mcp::mcp(&env, &args)),
        Command::Doctor => code(doctor(&env)),
        Command::Schema => {
            terminal::print_json(lsp::schema::DOCUMENT.trim_end());
            ExitCode::SUCCESS
        }
        Command::Warden => {
            warden::serve(std::io::stdin().lock());
            ExitCode::SUCCESS
        }
    }
}

fn code(outcome: anyhow::Result<i32>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => fail(&format!("{error:#}")),
    }
}

fn fail(message: &str) -> ExitCode {
    terminal::complain(message);
    ExitCode::FAILURE
}

fn serve(env: Env, args: LspArgs) -> anyhow::Result<i32> {
    let LspArgs { stdio: _, record } = args;
    let code = runtime()?.block_on(lsp::serve(env, lsp::ServeOptions { record }));
    // A blocking read of stdin may still hang: leave without waiting for it.
    std::process::exit(code)
}

fn serve_acp(env: Env, args: AcpArgs) -> anyhow::Result<i32> {
    let code = runtime()?.block_on(acp::serve(env, args.record));
    std::process::exit(code)
}

/// Two worker threads: most work is waiting, and an idle server should be small. Commands that run
/// on it are killed even if it is killed itself.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    warden::enable();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(2 * 1024 * 1024)
        .enable_all()
        .build()?;
    crate::process::outlive_file_limits(&runtime)?;
    Ok(runtime)
}

fn login(env: &Env, provider: &str) -> anyhow::Result<i32> {
    let config = crate::config::load::load(env, &ClientSettings::default()).config;
    let mut known = vec!["anthropic", "openai", "openai-chat", "gemini"];
    known.extend(config.providers.keys().map(String::as_str));
    anyhow::ensure!(
        known.contains(&provider),
        "unknown provider {provider:?}. Use one of {}, or add it to config.toml first",
        known.join(", ")
    );
    terminal::print(&format!("{provider} API key (it will not be shown):"));
    let secret = hidden_line()?;
    let secret = secret.trim();
    anyhow::ensure!(
        !secret.is_empty(),
        "no key was entered, so nothing was stored"
    );
    let path = crate::provider::keys::login(env, provider, secret)?;
    terminal::print(&format!(
        "Stored in {} (mode 0600). Try it: interline run \"Explain this project\"",
        path.display()
    ));
    Ok(0)
}

/// One line of stdin, not echoed if stdin is a terminal.
fn hidden_line() -> anyhow::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).ok();
    if let Some(before) = &before {
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    }
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    if let Some(before) = &before {
        tcsetattr(&stdin, OptionalActions::Flush, before)?;
    }
    read?;
    Ok(line)
}

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
    let Ok(runtime) = runtime() else {
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
        lines.push(format!(
            "mcp      {} ({}): {what}",
            server.name, server.source
        ));
        let notes = server.notes.iter();
        lines.extend(notes.map(|note| format!("mcp      {}: {}", server.name, name(note))));
    }
    let rows = problems.iter();
    lines.extend(rows.map(|(what, why)| format!("mcp      {}: {}", name(what), name(why))));
    lines
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

fn doctor(env: &Env) -> anyhow::Result<i32> {
    let loaded = crate::config::load::load(env, &ClientSettings::default());
    let providers = crate::provider::Providers::new(env.clone());
    let mut lines = vec![
        format!("interline {}", env!("CARGO_PKG_VERSION")),
        format!("config   {}", env.dirs.config.join("config.toml").display()),
        format!("state    {}", env.dirs.state.display()),
        format!("log      {}", logging::path(env).display()),
    ];
    match providers.resolve(&loaded.config, None) {
        Ok(model) => lines.push(format!("model    {}", model.name)),
        Err(failure) => lines.push(format!("model    none. {}", failure.sentences())),
    }
    match std::env::current_dir().and_then(std::fs::canonicalize) {
        Ok(cwd) => lines.extend(memory::lines(env, &loaded.config, &cwd)),
        Err(error) => lines.push(format!(
            "memory   the current folder does not exist: {error}"
        )),
    }
    if let Some(active) = std::env::current_dir()
        .ok()
        .and_then(|folder| trust::counted(env, &folder))
    {
        lines.push(format!("active   {active}"));
    }
    lines.extend(agents(env, &loaded.config));
    lines.extend(kept(env));
    lines.extend(servers(env, &loaded.config));
    lines.extend(languages::lines(env, &loaded.config));
    lines.push("sandbox  none: commands always ask".to_owned());
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
