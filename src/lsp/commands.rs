//! The commands of `workspace/executeCommand`, through which clients without a plugin use
//! Interline. Each row of the table carries its handler, so a command without one does nothing.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::door::Door;
use super::handlers::commands::arguments::{Args, Usage};
use super::handlers::commands::{
    chat, comment, mcp, prompts, revert, sessions, settings, show, trust, turns, unsaved,
};
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

const PLACE: &str = "[{uri, range}]";
const ITEM: &str = "[{itemId?}]";
const FOLDER: &str = "[{folder?}]";
const ASK: &str = "[{text, uri?, range?, sessionId?}]";
const FIX: &str = "[{uri, range, diagnostics?}]";
const REVERT: &str = "[{sessionId?, turnId?, itemId?, uri?}]";

/// Every command, in the order of protocol.md.
pub const COMMANDS: [Command; 22] = [
    built("interline.ask", ASK, |door, args| {
        prompts::ask(door, args).boxed()
    }),
    built("interline.explain", PLACE, |door, args| {
        prompts::explain(door, args).boxed()
    }),
    built("interline.fix", FIX, |door, args| {
        prompts::fix(door, args).boxed()
    }),
    built("interline.doComment", PLACE, |door, args| {
        comment::run(door, args).boxed()
    }),
    built("interline.chat", PLACE, |door, args| {
        chat::open(door, args).boxed()
    }),
    built("interline.send", "[{uri?}]", |door, args| {
        chat::send(door, args).boxed()
    }),
    built(
        "interline.cancel",
        "[{sessionId?, turnId?}]",
        |door, args| turns::cancel(door, args).boxed(),
    ),
    built("interline.approve", ITEM, |door, args| {
        turns::approve(door, args).boxed()
    }),
    built("interline.reject", ITEM, |door, args| {
        turns::reject(door, args).boxed()
    }),
    planned("interline.keep", PLACE),
    planned("interline.rejectHunk", PLACE),
    built("interline.revert", REVERT, |door, args| {
        revert::run(door, args).boxed()
    }),
    built("interline.mode", "[{mode}]", |door, args| {
        settings::mode(door, args).boxed()
    }),
    built("interline.model", "[{model}]", |door, args| {
        settings::model(door, args).boxed()
    }),
    built("interline.showPrompt", "[{uri?}]", |door, args| {
        show::prompt(door, args).boxed()
    }),
    built("interline.newSession", "[{uri?}]", |door, args| {
        sessions::new(door, args).boxed()
    }),
    built(
        "interline.sessions",
        "[{sessionId?, uri?}]",
        |door, args| sessions::list(door, args).boxed(),
    ),
    built("interline.saveAll", "[]", |door, args| {
        unsaved::save_all(door, args).boxed()
    }),
    built("interline.trust", FOLDER, |door, args| {
        trust::trust(door, args).boxed()
    }),
    built("interline.untrust", FOLDER, |door, args| {
        trust::untrust(door, args).boxed()
    }),
    built("interline.mcpLogin", "[{server?, uri?}]", |door, args| {
        mcp::login(door, args).boxed()
    }),
    built("interline.mcpLogout", "[{server, uri?}]", |door, args| {
        mcp::logout(door, args).boxed()
    }),
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
