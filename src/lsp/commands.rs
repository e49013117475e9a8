//! The commands of `workspace/executeCommand`, through which clients without a plugin use
//! Interline. Each row of the table carries its handler, so a command without one does nothing.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::door::Door;
use super::handlers::arguments::{Args, Usage};
use super::handlers::commands::{chat, prompts, sessions, settings, show, turns};
use super::handlers::{documents, mcp, review, trust};
use super::params::ExecuteCommand;
use crate::conversation::{Failure, FailureKind};

type Handler = fn(Arc<Door>, Args) -> BoxFuture<'static, Result<Value, Failure>>;

/// A command of ours.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    usage: Usage,
    run: Handler,
}

impl Command {
    pub fn name(&self) -> &'static str {
        self.usage.name
    }
}

const fn command(name: &'static str, argument: &'static str, run: Handler) -> Command {
    Command {
        usage: Usage { name, argument },
        run,
    }
}

/// A handler as a [`Handler`], which a plain `async fn` is not.
macro_rules! boxed {
    ($handler:path) => {
        |door, args| Box::pin($handler(door, args))
    };
}

const PLACE: &str = "[{uri, range}]";
const ITEM: &str = "[{itemId?}]";
const FOLDER: &str = "[{folder?}]";
const ASK: &str = "[{text, uri?, range?, sessionId?}]";
const FIX: &str = "[{uri, range, diagnostics?}]";
const REVERT: &str = "[{sessionId?, turnId?, itemId?, uri?}]";

/// Every command, in the order of protocol.md.
pub const COMMANDS: [Command; 22] = [
    command("interline.ask", ASK, boxed!(prompts::ask)),
    command("interline.explain", PLACE, boxed!(prompts::explain)),
    command("interline.fix", FIX, boxed!(prompts::fix)),
    command("interline.doComment", PLACE, boxed!(prompts::do_comment)),
    command("interline.chat", PLACE, boxed!(chat::open)),
    command("interline.send", "[{uri?}]", boxed!(chat::send)),
    command(
        "interline.cancel",
        "[{sessionId?, turnId?}]",
        boxed!(turns::cancel),
    ),
    command("interline.approve", ITEM, boxed!(turns::approve)),
    command("interline.reject", ITEM, boxed!(turns::reject)),
    command("interline.keep", PLACE, boxed!(review::keep_command)),
    command(
        "interline.rejectHunk",
        PLACE,
        boxed!(review::reject_command),
    ),
    command("interline.revert", REVERT, boxed!(turns::revert)),
    command("interline.mode", "[{mode}]", boxed!(settings::mode)),
    command("interline.model", "[{model}]", boxed!(settings::model)),
    command("interline.showPrompt", "[{uri?}]", boxed!(show::prompt)),
    command("interline.newSession", "[{uri?}]", boxed!(sessions::new)),
    command(
        "interline.sessions",
        "[{sessionId?, uri?}]",
        boxed!(sessions::list),
    ),
    command("interline.saveAll", "[]", boxed!(documents::save_all)),
    command("interline.trust", FOLDER, boxed!(trust::trust)),
    command("interline.untrust", FOLDER, boxed!(trust::untrust)),
    command(
        "interline.mcpLogin",
        "[{server?, uri?}]",
        boxed!(mcp::login_command),
    ),
    command(
        "interline.mcpLogout",
        "[{server, uri?}]",
        boxed!(mcp::logout_command),
    ),
];

pub fn names() -> Vec<&'static str> {
    COMMANDS.iter().map(Command::name).collect()
}

/// `workspace/executeCommand`.
pub async fn run(door: Arc<Door>, params: ExecuteCommand) -> Result<Value, Failure> {
    let name = params.command.as_str();
    let Some(command) = COMMANDS.iter().find(|command| command.name() == name) else {
        return Err(Failure::new(
            FailureKind::Invalid,
            format!("there is no command {name}"),
            format!("commands: {}", names().join(", ")),
        ));
    };
    (command.run)(door, Args::read(params.arguments, command.usage)?).await
}
