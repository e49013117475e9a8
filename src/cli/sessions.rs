//! `interline sessions`: the stored sessions, without an editor.

use std::path::{Path, PathBuf};

use crate::conversation::SessionId;
use crate::env::Env;
use crate::session::{checkpoint, export, index, resume, store};
use crate::terminal::markup::{BOLD, DIM, Line, PLAIN, Span};
use crate::terminal::table;
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
    Show {
        /// The session: its id, or the end of it that the list shows.
        id: String,
    },
    /// Print one session as Markdown.
    Export {
        /// The session: its id, or the end of it that the list shows.
        id: String,
    },
    /// Delete a session.
    Delete {
        /// The session: its id, or the end of it that the list shows.
        id: String,
    },
}

/// Lists, shows, exports, deletes.
pub fn sessions(env: &Env, args: &SessionsArgs) -> anyhow::Result<i32> {
    let folder = env.dirs.state.join("sessions");
    match args.command.as_ref().unwrap_or(&What::List) {
        What::List => {
            let stored = index::list(&folder);
            match terminal::columns().filter(|_| terminal::look().is_some()) {
                Some(_) if stored.is_empty() => terminal::print("No sessions are stored."),
                Some(width) => readable(&stored, width),
                None => rows(&stored),
            }
        }
        What::Show { id } | What::Export { id } => {
            let (id, log) = find(&folder, id)?;
            let loaded = store::read(&log)?;
            let title = resume::title(&loaded.entries).map(str::to_owned);
            let items = resume::items(&id, loaded.entries);
            let text = export::markdown(title.as_deref(), &items);
            match (args.command.as_ref(), terminal::look()) {
                (Some(What::Show { .. }), Some(look)) => {
                    terminal::print_lines(&terminal::markdown::lines(&text, look));
                }
                _ => terminal::print(&text),
            }
        }
        What::Delete { id } => {
            let (id, log) = find(&folder, id)?;
            std::fs::remove_file(&log)?;
            checkpoint::remove(&log);
            terminal::print(&format!("Deleted {id}."));
        }
    }
    Ok(0)
}

/// The session with this id, or the only one whose id ends so.
fn find(folder: &Path, id: &str) -> anyhow::Result<(SessionId, PathBuf)> {
    let exact = SessionId::from(id);
    if let Some(log) = store::find(folder, &exact) {
        return Ok((exact, log));
    }
    let mut found = index::ending_in(folder, id).into_iter();
    match (found.next(), found.next()) {
        (Some(stored), None) => Ok((stored.row.session_id, stored.path)),
        (Some(_), Some(_)) => anyhow::bail!("several sessions end in {id}; name more of the id"),
        (None, _) => anyhow::bail!("unknown session {id}; `interline sessions` lists them"),
    }
}

/// One line for each session, for programs.
fn rows(stored: &[index::Stored]) {
    for stored in stored {
        let row = &stored.row;
        terminal::print(&format!(
            "{}  {}  {}  {}  {}",
            row.session_id,
            minute(&row.updated_at),
            turns(row.turns),
            row.state,
            visible::line(&row.title)
        ));
    }
}

fn turns(count: u32) -> String {
    format!("{count} turn{}", if count == 1 { "" } else { "s" })
}

/// A table for people: the title first, and ids as short as commands accept them.
fn readable(stored: &[index::Stored], width: usize) {
    let now = jiff::Zoned::now();
    let mut rows = Vec::new();
    for stored in stored
        .iter()
        .filter(|it| it.row.turns > 0 || !it.row.title.is_empty())
    {
        let row = &stored.row;
        let folder = Path::new(&stored.cwd).file_name().unwrap_or_default();
        let id = row.session_id.0.as_str();
        let short = id.get(id.len().saturating_sub(8)..).unwrap_or(id);
        let mut when = day(&row.updated_at, &now);
        if row.state == "interrupted" {
            when.push_str(" (interrupted)");
        }
        rows.push((
            visible::line(&row.title).into_owned(),
            vec![
                table::cell(&when, PLAIN),
                table::cell(&turns(row.turns), DIM),
                table::cell(&visible::line(&folder.to_string_lossy()), DIM),
                table::cell(short, DIM),
            ],
        ));
    }
    if rows.is_empty() {
        terminal::print(
            "No sessions are stored yet. Start one: interline run \"Explain this project\"",
        );
        return;
    }
    let column = |at: usize| {
        let cells = rows
            .iter()
            .map(|(_, cells)| Line::of(cells[at].clone()).width());
        cells.max().unwrap_or_default() + 2
    };
    let others: usize = (0..4).map(column).sum();
    let room = width.saturating_sub(others).max(20);
    let rows: Vec<Vec<table::Cell>> = rows
        .into_iter()
        .map(|(title, cells)| {
            let title = Line::of(vec![Span::new(&title, BOLD)]);
            let mut spans = title.truncated(room).spans;
            if title.width() > room {
                spans = title.truncated(room - 1).spans;
                spans.push(Span::new("…", BOLD));
            }
            std::iter::once(spans).chain(cells).collect()
        })
        .collect();
    terminal::print_lines(&table::lines(&rows, &[], false, width));
    terminal::print(
        "\nRead one:      interline sessions show ID\nContinue one:  interline run --session ID \"…\"",
    );
}

/// When it was, in the machine's zone: the day as people name it, and the time.
fn day(timestamp: &str, now: &jiff::Zoned) -> String {
    let Ok(time) = timestamp.parse::<jiff::Timestamp>() else {
        return timestamp.to_owned();
    };
    let time = time.to_zoned(now.time_zone().clone());
    let clock = time.strftime("%H:%M");
    if time.date() == now.date() {
        format!("today {clock}")
    } else if now.date().yesterday().is_ok_and(|day| day == time.date()) {
        format!("yesterday {clock}")
    } else if time.year() == now.year() {
        time.strftime("%-d %b %H:%M").to_string()
    } else {
        time.strftime("%-d %b %Y").to_string()
    }
}

/// A timestamp to the minute, in the machine's zone.
fn minute(timestamp: &str) -> String {
    let zone = jiff::tz::TimeZone::system();
    timestamp.parse::<jiff::Timestamp>().map_or_else(
        |_| timestamp.to_owned(),
        |time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn times_are_named_as_people_name_them() {
        let now: jiff::Zoned = "2026-11-23T09:00+01:00[Europe/Berlin]".parse().unwrap();
        let shown = |time| day(time, &now);
        assert_eq!(shown("2026-11-23T07:05:00Z"), "today 08:05");
        assert_eq!(shown("2026-11-22T23:30:00Z"), "today 00:30");
        assert_eq!(shown("2026-11-22T10:00:00Z"), "yesterday 11:00");
        assert_eq!(shown("2026-11-02T10:00:00Z"), "2 Nov 11:00");
        assert_eq!(shown("2025-11-02T10:00:00Z"), "2 Nov 2025");
        assert_eq!(shown("?"), "?");
    }
}
