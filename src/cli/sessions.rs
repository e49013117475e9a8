//! `interline sessions`: what is stored, without an editor.

use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Event, Input, SessionId};
use crate::env::Env;
use crate::session::{index, resume, store};
use crate::terminal;

#[derive(clap::Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// All stored sessions, newest first (the default).
    List,
    /// One session's prompts, answers and tool calls.
    Show { id: String },
    /// One session as Markdown.
    Export { id: String },
    /// Remove a session's log.
    Delete { id: String },
}

/// Lists, shows, exports, deletes.
pub fn sessions(env: &Env, args: &SessionsArgs) -> anyhow::Result<i32> {
    let folder = env.dirs.state.join("sessions");
    let find = |id: &str| {
        store::find(&folder, &SessionId::from(id)).ok_or_else(|| {
            anyhow::anyhow!("there is no session {id}; `interline sessions` lists them")
        })
    };
    match args.command.as_ref().unwrap_or(&What::List) {
        What::List => {
            for stored in index::list(&folder) {
                let row = stored.row;
                terminal::print(&format!(
                    "{}  {}  {} turns  {}  {}",
                    row.session_id, row.updated_at, row.turns, row.state, row.title
                ));
            }
        }
        What::Show { id } | What::Export { id } => {
            let loaded = store::read(&find(id)?)?;
            let resumed = resume::resume(&SessionId::from(id.as_str()), loaded.entries);
            terminal::print(&markdown(&resumed));
        }
        What::Delete { id } => {
            std::fs::remove_file(find(id)?)?;
            terminal::print(&format!("Deleted {id}."));
        }
    }
    Ok(0)
}

fn markdown(resumed: &resume::Resumed) -> String {
    let mut out = format!("# {}\n", resumed.title.as_deref().unwrap_or("Session"));
    for item in &resumed.items {
        match &item.body {
            EnvelopeBody::Started { .. } => {}
            EnvelopeBody::Event { event } => match event {
                Event::UserMessage { input, .. } => {
                    out.push_str("\n## You\n\n");
                    for part in input {
                        match part {
                            Input::Text { text } => out.push_str(&format!("{text}\n")),
                            Input::Resource { uri, .. } => out.push_str(&format!("[{uri}]\n")),
                            _ => {}
                        }
                    }
                }
                Event::Text { text, .. } => out.push_str(&format!("\n{text}\n")),
                Event::ToolCall(call) => {
                    out.push_str(&format!("\n- {} ({:?})\n", call.title, call.status));
                    if let Some(diff) = &call.diff {
                        out.push_str(&format!("\n```diff\n{}\n```\n", diff.trim_end()));
                    }
                }
                Event::Plan { todos, .. } => {
                    out.push_str(&format!("\n{}\n", terminal::checklist(todos)));
                }
                Event::Notice { text } => out.push_str(&format!("\n> {text}\n")),
                Event::Compaction(item) => out.push_str(&format!("\n> {}\n", item.words())),
                _ => {}
            },
            EnvelopeBody::Ended {
                stop_reason, error, ..
            } => {
                if let Some(error) = error {
                    out.push_str(&format!("\n> {}\n", error.words()));
                } else {
                    out.push_str(&format!("\n*{stop_reason:?}*\n"));
                }
            }
        }
    }
    out
}
