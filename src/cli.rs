//! The command line. Each command hands over to a door or prints; output for people goes to
//! stdout only here and in `terminal`.

mod doctor;
mod languages;
mod login;
mod mcp;
mod memory;
mod prompt;
mod rules;
mod sessions;
mod trust;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::env::Env;
use crate::process::{self, confine, warden};
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
    /// List and remove the rules that let commands run without asking.
    Rules(rules::RulesArgs),
    /// List, show, export and delete stored sessions.
    Sessions(sessions::SessionsArgs),
    /// Store a provider's API key in a file only you can read; without a provider, list them.
    Login {
        /// anthropic, openai, openai-chat, gemini or a name from config.toml.
        provider: Option<String>,
    },
    /// Log in to and out of MCP servers.
    Mcp(mcp::McpArgs),
    /// Show what is set up and what is missing.
    Doctor(doctor::DoctorArgs),
    /// Print the JSON Schema of the protocol.
    Schema,
    /// Ends the commands of a server that was killed; started by the server itself.
    #[command(hide = true)]
    Warden,
    /// Runs one command in a sandbox; started by the server itself.
    #[command(hide = true)]
    Confine {
        /// Which of its stages, and its descriptor.
        stage: Vec<String>,
    },
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
    /// Ask for a provider and its key in the terminal, store the key, and end.
    #[arg(long, conflicts_with = "record")]
    login: bool,
    /// Record lines and model streams in FILE, without secrets; `replay/FILE` plays it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    // Before anything else: it must have one thread, and be its own master.
    #[cfg(target_os = "linux")]
    {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == confine::ARGUMENT) {
            return confine::main(words);
        }
    }
    process::unreadable();
    confine::enable();
    let command = without_parser().unwrap_or_else(|| {
        let given = Cli::parse().command;
        given.unwrap_or(Command::Lsp(LspArgs::default()))
    });
    let env = Env::from_process();
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
        Command::Rules(args) => code(rules::rules(&env, &args)),
        Command::Sessions(args) => code(sessions::sessions(&env, &args)),
        Command::Login { provider } => code(login::login(&env, provider.as_deref())),
        Command::Mcp(args) => code(mcp::mcp(&env, &args)),
        Command::Doctor(args) => code(doctor::doctor(&env, &args)),
        Command::Schema => {
            terminal::print_json(lsp::schema::DOCUMENT.trim_end());
            ExitCode::SUCCESS
        }
        Command::Confine { .. } => fail("commands are confined on Linux only"),
        Command::Warden => {
            warden::serve(std::io::stdin().lock());
            ExitCode::SUCCESS
        }
    }
}

/// The commands that editors and this program itself start, recognised without the argument parser,
/// which first builds a description of every command.
fn without_parser() -> Option<Command> {
    let words: Vec<_> = std::env::args_os().skip(1).take(3).collect();
    let words: Vec<_> = words.iter().map(|word| word.to_str()).collect();
    match words[..] {
        [] | [Some("lsp")] | [Some("lsp"), Some("--stdio")] => {
            Some(Command::Lsp(LspArgs::default()))
        }
        [Some(warden::ARGUMENT)] => Some(Command::Warden),
        _ => None,
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
    if args.login {
        return login::login_by_name(&env);
    }
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    fn undescribed(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|it| !it.is_hide_set()) {
            if argument.get_help().is_none() && argument.get_id() != "help" {
                found.push(format!("{path} {}", argument.get_id()));
            }
        }
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name());
            if sub.get_about().is_none() {
                found.push(path.clone());
            }
            undescribed(sub, &path, found);
        }
    }

    #[test]
    fn help_describes_every_command_and_argument() {
        let mut found = Vec::new();
        undescribed(&Cli::command(), "interline", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
