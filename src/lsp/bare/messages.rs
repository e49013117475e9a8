//! The texts of approvals, questions and turn ends for clients that can only show plain messages.
//! Pure.

use std::fmt::Write as _;

use crate::conversation::plan::{Todo, TodoStatus, count};
use crate::conversation::{Failure, FileChange, TurnStop};
use crate::host::{Access, ApprovalRequest, QuestionRequest, Subject};
use crate::prompt::fence;
use crate::session::{DecidedHunks, DecisionStatus, RevertedFile, RevertedTurn};
use crate::visible::{self, ends};
use crate::workspace::Uri;

/// Longest message: editors show it in one line, a box or a status bar.
const MESSAGE_CAP: usize = 4_000;
const DIFF_CAP: usize = 2_000;

/// The approval's question, with exactly what would happen. Some editors show only the first line,
/// so that names the action, and `how` to answer it where there are no buttons.
pub fn question(request: &ApprovalRequest, how: &str) -> String {
    let size = match &request.subject {
        Subject::Edit { diff, .. } => diff_size(diff),
        _ => String::new(),
    };
    let mut text = format!(
        "Interline: {}{size}{how}\n{}",
        request.title,
        subject(&request.subject)
    );
    let _ = write!(text, "\nReason: {}.", request.reason.trim_end_matches('.'));
    if let Some(remember) = &request.remember {
        let _ = write!(text, "\n\"For this session\" allows {remember}.");
    }
    // The model's text can neither hide nor reorder any part of it (A40, A41).
    visible::content(&text)
}

/// How many lines a diff adds and removes.
fn diff_size(diff: &str) -> String {
    let count = |sign: char, header: &str| {
        let lines = diff.lines();
        let of = |line: &&str| line.starts_with(sign) && !line.starts_with(header);
        lines.filter(of).count()
    };
    format!(" (+{} −{})", count('+', "+++ "), count('-', "--- "))
}

/// The lines that a client shows beside `content`.
pub fn about(request: &ApprovalRequest) -> String {
    let mut lines = vec![request.reason.clone()];
    if let Subject::Command {
        description,
        cwd,
        unsaved,
        sees,
        background,
        ..
    } = &request.subject
    {
        lines.extend(description.as_deref().map(agent_says));
        let aside = if *background {
            ", in the background"
        } else {
            ""
        };
        lines.push(format!("in {}{aside}", fence::line(cwd)));
        let beside = |uri: &String| {
            let path = display_path(uri);
            let near = path.strip_prefix(cwd.as_str());
            fence::line(near.map_or(&path, |near| near.trim_start_matches('/')))
        };
        for (what, uris) in [("Saves first", unsaved), ("Sees the unsaved text of", sees)] {
            let names: Vec<String> = uris.iter().map(beside).collect();
            lines.extend((!names.is_empty()).then(|| format!("{what}: {}", names.join(", "))));
        }
    }
    if let Some(remember) = &request.remember {
        lines.push(format!("Can be remembered: {remember}."));
    }
    lines.join("\n")
}

/// Exactly what would happen, without the rest of the question.
pub fn content(of: &Subject) -> String {
    match of {
        Subject::Edit { diff, .. } => visible::content(diff),
        Subject::Command { command, .. } => visible::command(command),
        Subject::Mcp {
            server,
            tool,
            arguments,
        } => {
            let (server, tool) = (fence::line(server), fence::line(tool));
            visible::content(&format!("{server}: {tool}\n{arguments:#}"))
        }
        Subject::Setting { key, change, .. } => {
            visible::content(&format!("{}: {change}", fence::line(key)))
        }
        Subject::Path { .. } | Subject::Fetch { .. } | Subject::Trust { .. } => {
            visible::content(&fence::line(&subject(of)))
        }
    }
}

/// The model's description of a command, marked as such.
pub fn agent_says(description: &str) -> String {
    format!("The agent says: {description}")
}

fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Edit { uri, diff, .. } => {
            format!("{}\n{}", display_path(uri), ends(diff, DIFF_CAP))
        }
        Subject::Command {
            command,
            description,
            cwd,
            unsaved,
            sees,
            background,
            ..
        } => {
            let mut text = format!("$ {}\nin {cwd}", visible::command(command));
            if *background {
                text.push_str(", in the background");
            }
            if !unsaved.is_empty() {
                let _ = write!(text, "\nUnsaved: {}", paths(unsaved));
            }
            if !sees.is_empty() {
                let _ = write!(text, "\nSees the unsaved text of: {}", paths(sees));
            }
            if let Some(description) = description {
                let _ = write!(text, "\n{}", agent_says(description));
            }
            text
        }
        Subject::Path { path, access } => match access {
            Access::Read => format!("read {path}"),
            Access::Write => format!("write {path}"),
        },
        Subject::Fetch { url } => format!("fetch {}", ends(url, MESSAGE_CAP)),
        Subject::Mcp {
            server,
            tool,
            arguments,
        } => format!(
            "{server}: {tool} {}",
            ends(&arguments.to_string(), DIFF_CAP)
        ),
        Subject::Trust { folder, file, .. } => match file {
            Some(file) => format!("trust {file}"),
            None => format!("trust {folder}"),
        },
        Subject::Setting { key, change, .. } => format!("{key}: {}", ends(change, DIFF_CAP)),
    }
}

/// The model's question. The model's text can neither hide nor reorder any part of it.
pub fn model_question(request: &QuestionRequest) -> String {
    let own = match request.free_text {
        true => "\n(Close this to answer in your own words.)",
        false => "",
    };
    fence::prose(&format!("Interline asks: {}{own}", request.question))
}

/// A plan in a status line: its progress and the current step.
pub fn plan_progress(todos: &[Todo]) -> String {
    let done = count(todos, TodoStatus::Completed);
    let mut text = format!("plan: {done} of {} done", todos.len());
    let active = todos
        .iter()
        .find(|todo| todo.status == TodoStatus::InProgress);
    if let Some(todo) = active {
        let _ = write!(text, ", now: {}", fence::name(todo.text.trim()));
    }
    text
}

/// The outcome of a turn.
#[derive(Clone, Debug)]
pub struct Closing<'a> {
    pub answer: &'a str,
    pub stop: TurnStop,
    pub error: Option<&'a Failure>,
    pub files: &'a [FileChange],
    /// URIs of changed files with unsaved changes.
    pub unsaved: &'a [String],
    /// `interline.saveAll` works with this client.
    pub can_save: bool,
    /// The client shows only one line of a message.
    pub one_line: bool,
}

/// The longest answer that a client with one line for a message shows.
const ONE_LINE: usize = 100;

/// The message at a turn's end.
pub fn closing(turn: &Closing) -> String {
    let mut text = truncated(turn.answer.trim(), MESSAGE_CAP);
    if turn.one_line && (text.len() > ONE_LINE || text.contains('\n')) {
        text = format!("(interline.chat shows all) {text}");
    }
    let mut line = |words: String| {
        if !text.is_empty() {
            // Helix shows all lines in one, with nothing between them.
            text.push_str(" \n");
        }
        text.push_str(&words);
    };
    if let Some(why) = why_stopped(turn.stop, turn.error) {
        line(why);
    }
    if !turn.files.is_empty() {
        let files = turn.files.iter();
        let files: Vec<String> = files
            .map(|file| changed_file(&file.uri, file.added, file.removed))
            .collect();
        line(format!("Changed: {}", files.join(", ")));
    }
    if !turn.unsaved.is_empty() {
        let how = match turn.can_save {
            true => " (interline.saveAll saves them)",
            false => "",
        };
        line(format!("Unsaved: {}{how}", paths(turn.unsaved)));
    }
    text
}

/// Why a turn was stopped.
pub fn why_stopped(stop: TurnStop, error: Option<&Failure>) -> Option<String> {
    let why = match error {
        Some(error) => error.sentences(),
        None => stop.reason()?.to_owned(),
    };
    Some(format!("Interline stopped: {why}"))
}

/// A cost, with more digits if it is small.
pub fn dollars(cost: f64) -> String {
    match cost {
        0.0 => "0 USD".to_owned(),
        ..0.0001 => "less than 0.0001 USD".to_owned(),
        ..1.0 => format!("{cost:.4} USD"),
        _ => format!("{cost:.2} USD"),
    }
}

/// What a decision about changes could not do; `None`: all was done.
pub fn undecided(decided: &DecidedHunks) -> Option<String> {
    let failed = decided
        .results
        .iter()
        .filter(|it| it.status != DecisionStatus::Done);
    let reasons: Vec<&str> = failed.filter_map(|it| it.reason.as_deref()).collect();
    let first = reasons.first()?;
    let more = match reasons.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(format!(
        "Interline left this change as it is: {first}{more}. Edit it by hand, or keep it."
    ))
}

/// What a revert did, and how to undo it.
pub fn reverted(revert: &RevertedTurn) -> String {
    let changed = |file: &&RevertedFile| file.added > 0 || file.removed > 0;
    let files: Vec<String> = revert
        .files
        .iter()
        .filter(changed)
        .map(|file| match file.deleted {
            true => format!("{} (deleted)", display_path(&file.uri)),
            false => changed_file(&file.uri, file.added, file.removed),
        })
        .collect();
    let mut text = match files.is_empty() {
        true => "Interline reverted nothing.".to_owned(),
        false => format!(
            "Interline reverted {}. To undo this, run interline.revert \
             {{\"itemId\": \"{}\"}}",
            files.join(", "),
            revert.item_id
        ),
    };
    for file in &revert.files {
        for conflict in &file.conflicts {
            let _ = write!(
                text,
                "\nNot reverted: {}: {conflict}",
                display_path(&file.uri)
            );
        }
    }
    truncated(&fence::visible(&text), MESSAGE_CAP)
}

fn changed_file(uri: &str, added: u32, removed: u32) -> String {
    format!("{} (+{added} −{removed})", display_path(uri))
}

fn paths(uris: &[String]) -> String {
    let paths: Vec<String> = uris.iter().map(|uri| display_path(uri)).collect();
    paths.join(", ")
}

/// The path of a file URI; other URIs are shown as they are.
pub fn display_path(uri: &str) -> String {
    match Uri::new(uri).path() {
        Some(path) => path.display().to_string(),
        None => uri.to_owned(),
    }
}

/// At most `cap` bytes, truncated at a character boundary with a mark.
pub fn truncated(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(cap);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ItemId, SessionId, TurnId};
    use crate::session::api::RevertedFile;

    #[test]
    fn a_plan_in_one_line_shows_its_progress_and_hides_nothing() {
        let todo = |text: &str, status| Todo {
            text: text.to_owned(),
            status,
        };
        let mut todos = vec![
            todo("look", TodoStatus::Completed),
            todo("cut\u{202e}\nsew", TodoStatus::InProgress),
        ];
        let line = plan_progress(&todos);
        assert_eq!(line, "plan: 1 of 2 done, now: cut\\u{202e}\\u{a}sew");
        todos.truncate(1);
        assert_eq!(plan_progress(&todos), "plan: 1 of 1 done");
    }

    /// A41: bidirectional and control characters in a diff are visible in the message.
    #[test]
    fn a41_a_question_hides_nothing() {
        let content = Subject::Edit {
            uri: "file:///w/a.rs".to_owned(),
            diff: "+let x\u{202e} = 1;\u{1b}[2J\n".to_owned(),
            after: String::new(),
            files: Vec::new(),
        };
        let raw = subject(&content);
        assert!(raw.contains('\u{202e}'));
        let request = ApprovalRequest {
            session_id: SessionId::from("s"),
            turn_id: TurnId::from("t"),
            item_id: ItemId::from("i"),
            hash: content.hash(),
            expires_at: jiff::Timestamp::UNIX_EPOCH,
            subject: content,
            title: "Edit a.rs".to_owned(),
            reason: "It asks.".to_owned(),
            remember: None,
            choices: Vec::new(),
        };
        let message = question(&request, "");
        assert!(message.contains("\\u{202e}") && message.contains("\\u{1b}"));
        assert!(!message.contains(['\u{202e}', '\u{1b}']));
        let one_line = question(&request, ": yes or no")
            .lines()
            .next()
            .map(str::to_owned);
        assert_eq!(
            one_line.as_deref(),
            Some("Interline: Edit a.rs (+1 −0): yes or no")
        );
    }

    #[test]
    fn the_content_is_complete_and_the_rest_comes_in_lines() {
        let command = "x".repeat(5_000);
        let of = Subject::Command {
            command: command.clone(),
            description: Some("Makes a list".to_owned()),
            cwd: "/w".to_owned(),
            timeout_ms: 1,
            background: true,
            unsaved: vec![
                "file:///w/src/a.rs".to_owned(),
                "file:///else/b.rs".to_owned(),
            ],
            sees: Vec::new(),
            sandbox: None,
        };
        assert_eq!(content(&of), command);
        let lines = "It asks.\nThe agent says: Makes a list\nin /w, in the background\nSaves first: src/a.rs, \
                     /else/b.rs\nCan be remembered: exactly this.";
        assert_eq!(about(&asking(of)), lines);
    }

    /// The files that a command would save first are named, whether one or several.
    #[test]
    fn a_single_unsaved_file_is_named() {
        let of = |unsaved: &[&str]| Subject::Command {
            command: "make".to_owned(),
            description: None,
            cwd: "/w".to_owned(),
            timeout_ms: 1,
            background: false,
            unsaved: unsaved.iter().map(|&uri| uri.to_owned()).collect(),
            sees: Vec::new(),
            sandbox: None,
        };
        let one = of(&["file:///w/a.rs"]);
        assert!(subject(&one).ends_with("\nUnsaved: /w/a.rs"));
        assert!(about(&asking(one)).contains("\nSaves first: a.rs\n"));
        let none = of(&[]);
        assert!(subject(&none).ends_with("\nin /w"));
        assert!(!about(&asking(none)).contains("saved"));
    }

    /// A single file is named like several, and without files there is no line.
    #[test]
    fn the_end_of_a_turn_names_a_single_file_and_is_silent_about_none() {
        let file = FileChange {
            uri: "file:///w/a.rs".to_owned(),
            added: 2,
            removed: 1,
            created: false,
            deleted: false,
        };
        let unsaved = [file.uri.clone()];
        let mut end = Closing {
            answer: " Done.\n",
            stop: TurnStop::EndTurn,
            error: None,
            files: std::slice::from_ref(&file),
            unsaved: &unsaved,
            can_save: true,
            one_line: false,
        };
        let lines = "Done. \nChanged: /w/a.rs (+2 −1) \n\
                     Unsaved: /w/a.rs (interline.saveAll saves them)";
        assert_eq!(closing(&end), lines);
        (end.files, end.unsaved, end.answer) = (&[], &[], "");
        end.stop = TurnStop::Cancelled;
        assert_eq!(closing(&end), "Interline stopped: cancelled.");
        (end.stop, end.one_line, end.answer) = (TurnStop::EndTurn, true, "Short.");
        assert_eq!(closing(&end), "Short.");
        end.answer = "First.\nSecond.";
        assert_eq!(closing(&end), "(interline.chat shows all) First.\nSecond.");
    }

    #[test]
    fn a_question_says_what_would_be_done() {
        for (of, shown) in [
            (
                Subject::Path {
                    path: "/etc/x".to_owned(),
                    access: Access::Read,
                },
                "read /etc/x",
            ),
            (
                Subject::Path {
                    path: "/etc/x".to_owned(),
                    access: Access::Write,
                },
                "write /etc/x",
            ),
            (
                Subject::Fetch {
                    url: "https://x.test".to_owned(),
                },
                "fetch https://x.test",
            ),
            (
                Subject::Mcp {
                    server: "s".to_owned(),
                    tool: "t".to_owned(),
                    arguments: serde_json::json!({ "a": 1 }),
                },
                "s: t {\"a\":1}",
            ),
            (
                Subject::Trust {
                    folder: "/w".to_owned(),
                    file: None,
                    hash: String::new(),
                },
                "trust /w",
            ),
            (
                Subject::Trust {
                    folder: "/w".to_owned(),
                    file: Some("/w/AGENTS.md".to_owned()),
                    hash: String::new(),
                },
                "trust /w/AGENTS.md",
            ),
            (
                Subject::Command {
                    command: "make".to_owned(),
                    description: Some("Makes it".to_owned()),
                    cwd: "/w".to_owned(),
                    timeout_ms: 1,
                    background: true,
                    unsaved: Vec::new(),
                    sees: Vec::new(),
                    sandbox: None,
                },
                "$ make\nin /w, in the background\nThe agent says: Makes it",
            ),
        ] {
            assert_eq!(subject(&of), shown);
        }
    }

    #[test]
    fn costs_have_more_digits_where_they_are_small() {
        for (cost, shown) in [
            (0.0, "0 USD"),
            (0.00009, "less than 0.0001 USD"),
            (0.0001, "0.0001 USD"),
            (0.98765, "0.9877 USD"),
            (1.0, "1.00 USD"),
            (12.345, "12.35 USD"),
        ] {
            assert_eq!(dollars(cost), shown);
        }
    }

    #[test]
    fn a_revert_names_its_files_and_what_it_left() {
        let file = |name: &str, added, removed| RevertedFile {
            uri: format!("file:///w/{name}"),
            added,
            removed,
            diff: String::new(),
            conflicts: Vec::new(),
            deleted: false,
        };
        let message_for = |files: Vec<RevertedFile>| {
            reverted(&RevertedTurn {
                item_id: ItemId::from("i"),
                files,
            })
        };
        let undo = "To undo this, run interline.revert {\"itemId\": \"i\"}";
        assert_eq!(message_for(Vec::new()), "Interline reverted nothing.");
        let more = vec![file("a", 1, 0), file("b", 0, 1), file("c", 0, 0)];
        assert_eq!(
            message_for(more),
            format!("Interline reverted /w/a (+1 −0), /w/b (+0 −1). {undo}")
        );
        let mut gone = file("a", 0, 3);
        gone.deleted = true;
        let mut kept = file("b", 0, 0);
        kept.conflicts = vec!["line 2: it has changed".to_owned()];
        let words = format!("Interline reverted /w/a (deleted). {undo}");
        assert_eq!(
            message_for(vec![gone, kept]),
            format!("{words}\nNot reverted: /w/b: line 2: it has changed")
        );
    }

    #[test]
    fn a_long_text_ends_with_what_is_left_out() {
        assert_eq!(truncated("abc", 3), "abc");
        assert_eq!(truncated("abcd", 3), "abc… (1 bytes more)");
        assert_eq!(truncated("aäb", 2), "a… (3 bytes more)");
    }

    fn asking(of: Subject) -> ApprovalRequest {
        ApprovalRequest {
            session_id: SessionId::from("s"),
            turn_id: TurnId::from("t"),
            item_id: ItemId::from("i"),
            hash: of.hash(),
            expires_at: jiff::Timestamp::UNIX_EPOCH,
            subject: of,
            title: "Run it".to_owned(),
            reason: "It asks.".to_owned(),
            remember: Some("exactly this".to_owned()),
            choices: Vec::new(),
        }
    }
}
