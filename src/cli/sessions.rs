//! `interline sessions`: the stored sessions, without an editor.

use crate::conversation::SessionId;
use crate::env::Env;
use crate::session::{checkpoint, export, index, resume, store};
use crate::{terminal, visible};

#[derive(clap::Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// List all stored sessions, newest first (the default).
    List,
    /// Show one session's prompts, answers and tool calls.
    Show { id: String },
    /// Print one session as Markdown.
    Export { id: String },
    /// Delete a session.
    Delete { id: String },
}

/// Lists, shows, exports, deletes.
pub fn sessions(env: &Env, args: &SessionsArgs) -> anyhow::Result<i32> {
    let folder = env.dirs.state.join("sessions");
    let find = |id: &str| {
        store::find(&folder, &SessionId::from(id))
            .ok_or_else(|| anyhow::anyhow!("unknown session {id}; `interline sessions` lists them"))
    };
    match args.command.as_ref().unwrap_or(&What::List) {
        What::List => {
            for stored in index::list(&folder) {
                let row = stored.row;
                let plural = if row.turns == 1 { "" } else { "s" };
                terminal::print(&format!(
                    "{}  {}  {} turn{plural}  {}  {}",
                    row.session_id,
                    minute(&row.updated_at),
                    row.turns,
                    row.state,
                    visible::line(&row.title)
                ));
            }
        }
        What::Show { id } | What::Export { id } => {
            let loaded = store::read(&find(id)?)?;
            let id = SessionId::from(id.as_str());
            let title = resume::title(&loaded.entries).map(str::to_owned);
            let items = resume::items(&id, loaded.entries);
            terminal::print(&export::markdown(title.as_deref(), &items));
        }
        What::Delete { id } => {
            let log = find(id)?;
            std::fs::remove_file(&log)?;
            checkpoint::remove(&log);
            terminal::print(&format!("Deleted {id}."));
        }
    }
    Ok(0)
}

/// A timestamp to the minute, in the machine's zone.
fn minute(timestamp: &str) -> String {
    let zone = jiff::tz::TimeZone::system();
    timestamp.parse::<jiff::Timestamp>().map_or_else(
        |_| timestamp.to_owned(),
        |time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}
