//! The commands of `workspace/executeCommand`, through which clients without a plugin use
//! Interline. Each row of the table carries its handler, so a command without one does nothing.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::door::Door;
use super::handlers::arguments::{Args, Usage};
use super::handlers::commands::{chat, prompts, sessions, settings, show, turns};
use super::handlers::{documents, mcp, trust};
use crate::conversation::{Failure, FailureKind};

type Handler = fn(Arc<Door>, Args) -> BoxFuture<'static, Result<Value, Failure>>;

/// A command of ours.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    usage: Usage,
    /// `None`: answered with kind `unsupported`, and not advertised.
    run: Option<Handler>,
}

impl Command {
    pub fn name(&self) -> &'static str {
        self.usage.name
    }

    /// False for one that is only planned.
    pub fn is_built(&self) -> bool {
        self.run.is_some()
    }
}

const fn built(name: &'static str, argument: &'static str, run: Handler) -> Command {
    Command {
        usage: Usage { name, argument },
        run: Some(run),
    }
}

const fn planned(name: &'static str, argument: &'static str) -> Command {
    Command {
        usage: Usage { name, argument },
        run: None,
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
    built("interline.ask", ASK, boxed!(prompts::ask)),
    built("interline.explain", PLACE, boxed!(prompts::explain)),
    built("interline.fix", FIX, boxed!(prompts::fix)),
    built("interline.doComment", PLACE, boxed!(prompts::do_comment)),
    built("interline.chat", PLACE, boxed!(chat::open)),
    built("interline.send", "[{uri?}]", boxed!(chat::send)),
    built(
        "interline.cancel",
        "[{sessionId?, turnId?}]",
        boxed!(turns::cancel),
    ),
    built("interline.approve", ITEM, boxed!(turns::approve)),
    built("interline.reject", ITEM, boxed!(turns::reject)),
    planned("interline.keep", PLACE),
    planned("interline.rejectHunk", PLACE),
    built("interline.revert", REVERT, boxed!(turns::revert)),
    built("interline.mode", "[{mode}]", boxed!(settings::mode)),
    built("interline.model", "[{model}]", boxed!(settings::model)),
    built("interline.showPrompt", "[{uri?}]", boxed!(show::prompt)),
    built("interline.newSession", "[{uri?}]", boxed!(sessions::new)),
    built(
        "interline.sessions",
        "[{sessionId?, uri?}]",
        boxed!(sessions::list),
    ),
    built("interline.saveAll", "[]", boxed!(documents::save_all)),
    built("interline.trust", FOLDER, boxed!(trust::trust)),
    built("interline.untrust", FOLDER, boxed!(trust::untrust)),
    built(
        "interline.mcpLogin",
        "[{server?, uri?}]",
        boxed!(mcp::login_command),
    ),
    built(
        "interline.mcpLogout",
        "[{server, uri?}]",
        boxed!(mcp::logout_command),
    ),
];

/// Names of the commands that work.
pub fn names() -> Vec<&'static str> {
    let built = COMMANDS.iter().filter(|command| command.is_built());
    built.map(Command::name).collect()
}

/// Runs a command.
pub async fn execute(door: Arc<Door>, name: &str, arguments: Vec<Value>) -> Result<Value, Failure> {
    let Some(command) = COMMANDS.iter().find(|command| command.name() == name) else {
        return Err(Failure::new(
            FailureKind::Invalid,
            format!("there is no command {name}"),
            format!("commands: {}", names().join(", ")),
        ));
    };
    let Some(run) = command.run else {
        return Err(Failure::new(
            FailureKind::Unsupported,
            format!("{name} is not built yet"),
            "interline.ask starts a prompt from any place",
        ));
    };
    run(door, Args::read(arguments, command.usage)?).await
}
