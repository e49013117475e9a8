//! `interline run` and the other commands on a real pseudo-terminal of a given width.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::editor::LIMIT;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};
use crate::terminal::{NOWHERE, interline, text};

/// The program on a terminal.
pub struct Tty {
    child: Child,
    keys: std::fs::File,
    output: std::sync::mpsc::Receiver<Vec<u8>>,
    /// Everything that was written.
    pub raw: String,
}

impl Tty {
    pub fn start(
        stage: &Stage,
        url: &str,
        columns: u16,
        extra: &[(&str, &str)],
        args: &[&str],
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("rights");
        unlockpt(&master).expect("an open terminal");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let size = Winsize {
            ws_row: 50,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let path = name.into_string().expect("a path");
        let open = || {
            let options = &mut std::fs::OpenOptions::new();
            options
                .read(true)
                .write(true)
                .open(&path)
                .expect("the terminal")
        };
        let child = Command::new(env!("CARGO_BIN_EXE_interline"))
            .args(args)
            .env_clear()
            .envs(stage.environment(url))
            .env("TERM", "xterm-256color")
            .envs(extra.iter().copied())
            .current_dir(stage.root())
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .expect("the program starts");
        let keys = std::fs::File::from(master);
        let mut reads = keys.try_clone().expect("a second handle");
        let (send, output) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The last program that closes it ends the reads with an error.
            while let Ok(count @ 1..) = reads.read(&mut bytes) {
                let _ = send.send(bytes[..count].to_vec());
            }
        });
        Self {
            child,
            keys,
            output,
            raw: String::new(),
        }
    }

    fn read(&mut self) -> bool {
        let Ok(bytes) = self.output.recv_timeout(LIMIT) else {
            return false;
        };
        self.raw.push_str(&String::from_utf8_lossy(&bytes));
        true
    }

    pub fn sees(&mut self, words: &str) {
        let deadline = Instant::now() + LIMIT;
        while !self.raw.contains(words) {
            let read = Instant::now() < deadline && self.read();
            assert!(read, "{words:?} is missing: {}", self.raw);
        }
    }

    pub fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("the terminal");
    }

    /// What was written until the end, as the lines of a screen of any height.
    pub fn ends(mut self) -> (i32, String, Vec<String>) {
        while self.read() {}
        let status = self.child.wait().expect("an end");
        let lines = screen(&self.raw);
        (status.code().unwrap_or(-1), self.raw, lines)
    }
}

/// The lines that a terminal shows, without styles.
fn screen(raw: &str) -> Vec<String> {
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        let line: &mut Vec<char> = lines.last_mut().expect("a line");
        match c {
            '\r' => column = 0,
            '\n' => {
                lines.push(Vec::new());
                column = 0;
            }
            '\u{1b}' => {
                let code: String = chars
                    .by_ref()
                    .take_while(|c| !c.is_ascii_alphabetic())
                    .collect();
                // Of the codes with letters, only this one changes the text: no blank precedes it.
                if code == "[" && column == 0 {
                    line.clear();
                }
            }
            c => {
                line.truncate(column);
                line.push(c);
                column += 1;
            }
        }
    }
    lines
        .into_iter()
        .map(|line| line.into_iter().collect())
        .collect()
}

const ANSWER: &str = "## How it works\n\nThe **cart** adds `price * count` and *then* takes the \
    discount of the customer, which the shop stores in [its table](https://x.test/table) of all \
    customers and their discounts.\n\n- first\n- second\n\n```rust\nfn main() {}\n```\n\n\
    | name | what it does in the program |\n|---|---|\n| cart | holds what was put into it until \
    the customer pays for it or leaves the shop |\n";

#[test]
fn an_answer_is_markdown_that_fits_the_terminal() {
    for columns in [80, 120] {
        let model = Model::says(ANSWER);
        let stage = Stage::new("//- /a.txt\nx\n");
        let tty = Tty::start(&stage, &model.url(), columns, &[], &["run", "explain"]);
        let (code, raw, lines) = tty.ends();
        assert_eq!(code, 0, "{raw}");
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns.into()), "{lines:#?}");
        assert!(widest > Some(usize::from(columns) - 20), "{lines:#?}");
        for line in ["How it works", "• first", "fn main() {}"] {
            assert!(
                lines.iter().any(|it| it.trim_end() == line),
                "{line}: {lines:#?}"
            );
        }
        let shown = lines.join("\n");
        for mark in ["##", "**", "`", "|--"] {
            assert!(!shown.contains(mark), "{mark}: {shown}");
        }
        assert!(shown.contains("name │ what it does"), "{shown}");
        assert!(raw.contains("\u{1b}[1mcart"), "{raw:?}");
    }
}

#[test]
fn no_color_leaves_out_every_style() {
    let model = Model::says(ANSWER);
    let stage = Stage::new("//- /a.txt\nx\n");
    let extra = [("NO_COLOR", "1")];
    let tty = Tty::start(&stage, &model.url(), 80, &extra, &["run", "explain"]);
    let (_, raw, lines) = tty.ends();
    assert!(!raw.replace("\u{1b}[K", "").contains('\u{1b}'), "{raw:?}");
    let shown = lines.join("\n");
    assert!(shown.contains("## How it works"), "{shown}");
    assert!(shown.contains("`price * count`"), "{shown}");
}

#[test]
fn piped_output_is_the_text_of_the_model() {
    let model = Model::says(ANSWER);
    let stage = Stage::new("//- /a.txt\nx\n");
    let output = interline(&stage, &model.url(), &["run", "explain"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("{ANSWER}\n")
    );
}

#[test]
fn a_spinner_turns_until_the_answer_comes_and_leaves_nothing() {
    let gate = Gate::default();
    let model = Model::plays(vec![Reply::text("here").after(&gate)]);
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut tty = Tty::start(&stage, &model.url(), 80, &[], &["run", "explain"]);
    tty.sees("⠹ Waiting for anthropic");
    gate.open();
    let (_, raw, lines) = tty.ends();
    assert!(!lines.join("\n").contains("Waiting"), "{raw:?}");
    assert_eq!(lines, ["here", ""]);
}

#[test]
fn an_edit_is_asked_for_and_shown_in_colour() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut tty = Tty::start(&stage, &model.url(), 80, &[], &["run", "shorten"]);
    tty.sees("Allow? [y]es");
    assert!(tty.raw.contains("\u{1b}[31m-two"), "{:?}", tty.raw);
    tty.types("y\n");
    let (code, raw, _) = tty.ends();
    assert_eq!(code, 0, "{raw}");
    assert_eq!(stage.read("a.txt"), "one\n2\n");
    assert!(raw.contains("\u{1b}[32m+2"), "{raw:?}");
}

#[test]
fn two_commands_are_asked_for_and_the_reason_is_shown_once() {
    let command = |it: &str| Reply::call("exec", json!({ "command": it }));
    let steps = vec![
        command("echo first"),
        command("echo second"),
        Reply::text("ok"),
    ];
    let model = Model::plays(steps);
    let stage = Stage::new("//- /a.txt\none\n");
    let mut tty = Tty::start(&stage, &model.url(), 80, &[], &["run", "go"]);
    tty.sees("Allow? [y]es");
    tty.types("y\n");
    tty.sees("Run echo second");
    tty.types("y\n");
    let (code, raw, _) = tty.ends();
    assert_eq!(code, 0, "{raw}");
    assert_eq!(raw.matches("Not sandboxed: ").count(), 1, "{raw:?}");
    assert_eq!(raw.matches("Allow? [y]es").count(), 2, "{raw:?}");
}

#[test]
fn a_start_without_a_key_is_two_lines_and_leaves_no_session() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let extra = [("ANTHROPIC_API_KEY", "")];
    let tty = Tty::start(&stage, NOWHERE, 80, &extra, &["run", "explain"]);
    let (code, _, lines) = tty.ends();
    assert_eq!(code, 1);
    let said = "interline: No API key found. Run: interline login anthropic";
    assert_eq!(lines[0], said, "{lines:#?}");
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(stage.logs().len(), 0);
}

#[test]
fn sessions_are_a_table_with_titles_first_and_short_ids_that_commands_take() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let (_, raw, lines) = Tty::start(&stage, NOWHERE, 80, &[], &["sessions"]).ends();
    assert_eq!(lines[0], "No sessions are stored.", "{raw}");
    let run = [
        "run",
        "Explain the cart and everything that the shop does with it, in detail",
    ];
    assert!(interline(&stage, &model.url(), &run).status.success());
    let tty = Tty::start(&stage, NOWHERE, 80, &[], &["sessions"]);
    let (_, raw, lines) = tty.ends();
    let row = &lines[0];
    assert!(row.starts_with("Explain the cart"), "{raw}");
    assert!(
        row.contains("  today ") && row.contains("  1 turn  work  "),
        "{row}"
    );
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{lines:#?}"
    );
    let short = row.split_whitespace().last().expect("an id");
    let shown = text(&interline(&stage, NOWHERE, &["sessions", "show", short]));
    assert!(shown.contains("## You\n\nExplain the cart"), "{shown}");
    let run = ["run", "--session", short, "go on"];
    assert!(interline(&stage, &model.url(), &run).status.success());
    assert!(model.last().user_text().contains("Explain the cart"));
}

#[test]
fn login_alone_lists_the_providers_and_what_to_do_next() {
    let stage = Stage::new("");
    let output = interline(&stage, NOWHERE, &["login"]);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    for words in [
        "anthropic    has a key",
        "gemini       no key",
        "interline run \"",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn the_table_of_segments_fits_the_terminal_and_leaves_out_absent_ones() {
    let stage = Stage::new("//- /a.txt\nx\n");
    for columns in [80, 120] {
        let tty = Tty::start(&stage, NOWHERE, columns, &[], &["prompt"]);
        let (_, _, lines) = tty.ends();
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= columns.into()),
            "{lines:#?}"
        );
        assert!(
            !lines.iter().any(|line| line.starts_with("soul")),
            "{lines:#?}"
        );
    }
    let tty = Tty::start(&stage, NOWHERE, 120, &[], &["prompt", "--all"]);
    assert!(tty.ends().2.iter().any(|line| line.starts_with("soul")));
}

/// The reason of a retry is shown once; the spinner counts attempts and seconds.
#[test]
fn retries_do_not_pile_up() {
    let model = Model::start(|request| match request.n {
        0 | 1 => Reply::error(429, "rate_limit_error", "Slow down.").header("retry-after", "0"),
        _ => Reply::text("at last"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let tty = Tty::start(&stage, &model.url(), 80, &[], &["run", "explain"]);
    let (_, raw, lines) = tty.ends();
    let count = lines
        .iter()
        .filter(|line| line.contains("Retrying"))
        .count();
    assert_eq!(count, 1, "{raw:?}");
    assert!(raw.contains("attempt 3 of 10"), "{raw:?}");
    assert!(lines.contains(&"at last".to_owned()), "{lines:#?}");
}

/// The answer of the demo is rendered as that of `run`, and its diff is in colour.
#[test]
fn the_demo_fits_the_terminal_and_its_diff_has_colours() {
    let stage = Stage::new("");
    let tty = Tty::start(&stage, NOWHERE, 80, &[], &["demo"]);
    let (status, raw, lines) = tty.ends();
    assert_eq!(status, 0, "{raw}");
    let wide: Vec<_> = lines.iter().filter(|it| it.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let answer = lines
        .iter()
        .position(|it| it.starts_with("Fixed: the discount"));
    let answer = answer.expect("the answer");
    assert!(
        lines[answer].len() <= 80 && !lines[answer + 1].is_empty(),
        "{lines:#?}"
    );
    assert!(raw.contains("\u{1b}[32m+#!/bin/sh"), "{raw:?}");
}
