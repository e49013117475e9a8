//! The terminal as a host: text streams to stdout, questions appear on the terminal, edits go
//! to files. Without a terminal every question is rejected, and its title is recorded.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::markup::{DIM, Line, PLAIN, diff, wrapped};
use super::screen::Screen;
use super::{columns, print, print_json, print_part};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Event, ToolStatus};
use crate::env::tasks;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, Choice, ChoiceKind, EditAnswer, EditRequest, Fidelity, Host,
    QuestionAnswer, QuestionRequest, SaveResult, Subject,
};
use crate::visible::{self, exact};
use crate::workspace::{Encoding, Uri};

/// A host for one `interline run`.
pub struct TerminalHost {
    json: bool,
    ended: mpsc::UnboundedSender<EnvelopeBody>,
    /// Titles of questions that could not be asked.
    rejected: Mutex<Vec<String>>,
    streaming: AtomicBool,
    /// Why the last command asked: the same reason is not repeated for the next one.
    warned: Mutex<Option<String>>,
    /// Standard output is a terminal.
    screen: Option<Arc<Screen>>,
}

impl TerminalHost {
    pub fn new(json: bool, ended: mpsc::UnboundedSender<EnvelopeBody>) -> Self {
        Self {
            json,
            ended,
            rejected: Mutex::new(Vec::new()),
            streaming: AtomicBool::new(false),
            warned: Mutex::new(None),
            screen: (!json).then(Screen::start).flatten().map(Arc::new),
        }
    }

    /// Questions that could not be asked.
    pub fn rejected(&self) -> Vec<String> {
        self.rejected.lock().clone()
    }

    /// Without a terminal: records what could not be asked.
    fn cannot_ask(&self, title: &str) -> bool {
        let unattended = !std::io::stdin().is_terminal() || self.json;
        if unattended {
            self.rejected.lock().push(title.to_owned());
        }
        unattended
    }

    fn show(&self, event: &Event) {
        if let Some(screen) = &self.screen {
            return screen.event(event);
        }
        match event {
            Event::TextDelta { text, .. } => {
                self.streaming.store(true, Ordering::Relaxed);
                print_part(text);
            }
            Event::Text { .. } if self.streaming.swap(false, Ordering::Relaxed) => print(""),
            Event::ToolCall(call) => match call.status {
                ToolStatus::Completed => {
                    print(&format!("· {}", one_line(&call.title)));
                    if let Some(diff) = &call.diff {
                        print(&exact(diff.trim_end()));
                    }
                }
                ToolStatus::Failed | ToolStatus::Rejected | ToolStatus::Cancelled => {
                    let why = call.output.as_deref().unwrap_or_default();
                    print(&format!(
                        "· {} — {:?}: {}",
                        one_line(&call.title),
                        call.status,
                        exact(why)
                    ));
                }
                _ => {}
            },
            Event::Retry(item) => print(&format!("… {}", item.notice())),
            Event::Plan { todos, .. } => print(&super::checklist(todos)),
            Event::Notice { text } => print(&format!("! {text}")),
            Event::Compaction(item) => print(&format!("… {}", item.notice())),
            _ => {}
        }
    }
}

#[async_trait]
impl Host for TerminalHost {
    fn fidelity(&self) -> Fidelity {
        Fidelity::Disk
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf8
    }

    fn attaches(&self, _suffix: &str) -> Option<bool> {
        Some(false)
    }

    fn apply(&self, _edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        EditAnswer::gone("a terminal has no buffers")
    }

    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer {
        if self.cannot_ask(&request.title) {
            return ApprovalAnswer::rejected("no terminal to ask on");
        }
        let (mut question, screen) = (question(&request), self.screen.clone());
        if matches!(request.subject, Subject::Command { .. }) {
            let before = self.warned.lock().replace(request.reason.clone());
            question.repeats = before.as_ref() == Some(&request.reason);
        }
        let choice = tasks::blocking(move || ask(&question, screen.as_deref())).await;
        let offered = |kind: &ChoiceKind| request.choices.iter().any(|it| it.kind == *kind);
        let choice = choice
            .ok()
            .filter(offered)
            .unwrap_or(ChoiceKind::RejectOnce);
        ApprovalAnswer {
            choice,
            hash: request.hash,
            by: "user".to_owned(),
            feedback: None,
        }
    }

    async fn ask(&self, request: QuestionRequest) -> Option<QuestionAnswer> {
        if self.cannot_ask(&format!("Ask: {}", one_line(&request.question))) {
            return Some(QuestionAnswer::declined());
        }
        let screen = self.screen.clone();
        let asked = tasks::blocking(move || answer(&request, screen.as_deref())).await;
        Some(asked.unwrap_or_else(|_| QuestionAnswer::cancelled()))
    }

    async fn save(&self, _uris: Vec<Uri>, _reason: &str) -> Option<Vec<SaveResult>> {
        Some(Vec::new())
    }

    fn notify(&self, envelope: Arc<Envelope>) {
        if self.json {
            print_json(&wire(&envelope).to_string());
        } else if let EnvelopeBody::Event { event } = &envelope.body {
            self.show(event);
        }
        if matches!(envelope.body, EnvelopeBody::Ended { .. }) {
            if let Some(screen) = &self.screen {
                screen.end();
            }
            let _ = self.ended.send(envelope.body.clone());
        }
    }

    fn message(&self, text: &str) {
        if let Some(screen) = &self.screen {
            return screen.message(text);
        }
        print(&format!("! {text}"));
    }

    /// A sentence between JSON lines would not be JSON.
    fn shows_messages(&self) -> bool {
        !self.json
    }
}

/// What is asked for an approval.
struct Asked {
    title: String,
    reason: String,
    /// The reason was shown for the previous command.
    repeats: bool,
    what: String,
    is_diff: bool,
    prompt: String,
}

impl Asked {
    /// Without a terminal for the output.
    fn plain(&self) -> String {
        let Self {
            title,
            reason,
            what,
            prompt,
            ..
        } = self;
        match self.repeats {
            true => format!("\n{title}\n{what}\n{prompt}"),
            false => format!("\n{title} ({reason})\n{what}\n{prompt}"),
        }
    }

    fn details(&self) -> Vec<Line> {
        let mut lines = match self.is_diff {
            true => diff(&self.what),
            false => {
                let lines = self.what.lines();
                lines.map(|line| Line::verbatim(line, PLAIN)).collect()
            }
        };
        if !self.repeats {
            lines.extend(wrapped("", &self.reason, DIM, columns().unwrap_or(80)));
        }
        lines
    }
}

fn question(request: &ApprovalRequest) -> Asked {
    let what = match &request.subject {
        Subject::Edit { diff, .. } => visible::content(diff),
        Subject::Command {
            command,
            description,
            cwd,
            background,
            ..
        } => {
            let beside = if *background {
                ", in the background"
            } else {
                ""
            };
            let says = description.as_deref().map_or(String::new(), |text| {
                format!("\n  The agent says: {}", one_line(text))
            });
            let command = visible::command(command).replace('\n', "\\n");
            let cwd = one_line(cwd);
            format!("  {command}\n  in {cwd}{beside}{says}")
        }
        Subject::Path { path, access } => {
            format!("  {access:?} {}", visible::content(&one_line(path)))
        }
        Subject::Setting { key, change, .. } => {
            format!("  {}\n{}", one_line(key), visible::content(change))
        }
        other => {
            let words = serde_json::to_string_pretty(other).unwrap_or_default();
            visible::content(&words)
        }
    };
    let keys = |choice: &Choice| match choice.kind {
        ChoiceKind::AllowSession => " / [s]ession",
        ChoiceKind::AllowFolder => " / [f]older",
        ChoiceKind::AllowAlways => " / [a]lways",
        ChoiceKind::AllowOnce | ChoiceKind::RejectOnce => "",
    };
    let remember: String = request.choices.iter().map(keys).collect();
    let rule = request.choices.iter().find_map(|it| it.rule.as_deref());
    let what = match rule {
        Some(rule) => format!("{what}\n  [f]older, [a]lways: allows `{}`", one_line(rule)),
        None => what,
    };
    Asked {
        title: one_line(&request.title),
        reason: request.reason.clone(),
        repeats: false,
        what,
        is_diff: matches!(request.subject, Subject::Edit { .. }),
        prompt: format!("Allow? [y]es{remember} / [N]o: "),
    }
}

/// The notification an editor would get.
fn wire(envelope: &Envelope) -> Value {
    let mut params = serde_json::to_value(&envelope.body).unwrap_or_default();
    let kind = params
        .as_object_mut()
        .and_then(|params| params.remove("kind"));
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    params["sessionId"] = json!(envelope.session_id);
    params["turnId"] = json!(envelope.turn_id);
    params["seq"] = json!(envelope.seq);
    json!({ "method": format!("interline/turn/{kind}"), "params": params })
}

/// On one line; a command's line ends are visible.
fn one_line(text: &str) -> String {
    exact(text).replace('\n', "\\n")
}

fn ask(question: &Asked, screen: Option<&Screen>) -> ChoiceKind {
    match screen {
        Some(screen) => screen.ask(&question.title, question.details(), &question.prompt),
        None => print_part(&question.plain()),
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    if let Some(screen) = screen {
        screen.answered();
    }
    if read.is_err() {
        return ChoiceKind::RejectOnce;
    }
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => ChoiceKind::AllowOnce,
        "s" | "session" => ChoiceKind::AllowSession,
        "f" | "folder" => ChoiceKind::AllowFolder,
        "a" | "always" => ChoiceKind::AllowAlways,
        _ => ChoiceKind::RejectOnce,
    }
}

fn answer(request: &QuestionRequest, screen: Option<&Screen>) -> QuestionAnswer {
    let options = request.options.iter().enumerate();
    let options: Vec<String> = options
        .map(|(index, option)| format!("  {}. {}", index + 1, one_line(option)))
        .collect();
    let prompt = "Your answer (a number or free text; leave empty to skip): ";
    match screen {
        Some(screen) => {
            let width = columns().unwrap_or(80);
            let wrap = |option: &String| wrapped("", option, PLAIN, width);
            let options = options.iter().flat_map(wrap).collect();
            screen.ask(&request.question, options, prompt);
        }
        None => {
            let end = if options.is_empty() { "" } else { "\n" };
            let options = options.join("\n");
            print_part(&format!("\n{}\n{options}{end}{prompt}", request.question));
        }
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    if let Some(screen) = screen {
        screen.answered();
    }
    match read {
        Ok(_) => chosen(&request.options, line.trim()),
        Err(_) => QuestionAnswer::cancelled(),
    }
}

/// What a typed line means: an option's number, or else free text.
fn chosen(options: &[String], line: &str) -> QuestionAnswer {
    let option = line
        .parse::<usize>()
        .ok()
        .and_then(|number| options.get(number.checked_sub(1)?));
    match option {
        Some(option) => QuestionAnswer::answered(option),
        None if line.is_empty() => QuestionAnswer::declined(),
        None => QuestionAnswer::answered(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ItemId, SessionId, TurnId};
    use crate::host::Access;

    fn asked(subject: Subject, kinds: &[ChoiceKind]) -> String {
        let choice = |kind: &ChoiceKind| Choice {
            id: "c".to_owned(),
            label: "c".to_owned(),
            kind: *kind,
            rule: (*kind == ChoiceKind::AllowFolder).then(|| "make …".to_owned()),
        };
        question(&ApprovalRequest {
            session_id: SessionId::from("s"),
            turn_id: TurnId::from("t"),
            item_id: ItemId::from("i"),
            hash: String::new(),
            expires_at: jiff::Timestamp::UNIX_EPOCH,
            subject,
            title: "Do\nit".to_owned(),
            reason: "It asks.".to_owned(),
            remember: None,
            choices: kinds.iter().map(choice).collect(),
        })
        .plain()
    }

    /// A question on the terminal shows all that is agreed to, and hides nothing.
    #[test]
    fn what_is_asked_is_shown_as_it_is() {
        let run = |description: Option<&str>, background| Subject::Command {
            command: "make\nall\u{1b}[2J".to_owned(),
            description: description.map(str::to_owned),
            cwd: "/w".to_owned(),
            timeout_ms: 1,
            background,
            unsaved: Vec::new(),
            sees: Vec::new(),
            sandbox: None,
        };
        let once = [ChoiceKind::AllowOnce, ChoiceKind::RejectOnce];
        assert_eq!(
            asked(run(None, false), &once),
            "\nDo\\nit (It asks.)\n  make\\nall\\u{1b}[2J\n  in /w\nAllow? [y]es / [N]o: "
        );
        let session = [ChoiceKind::AllowOnce, ChoiceKind::AllowSession];
        assert_eq!(
            asked(run(Some("Makes\nit"), true), &session),
            "\nDo\\nit (It asks.)\n  make\\nall\\u{1b}[2J\n  in /w, in the background\n  \
             The agent says: Makes\\nit\nAllow? [y]es / [s]ession / [N]o: "
        );
        let lasting = [
            ChoiceKind::AllowOnce,
            ChoiceKind::AllowFolder,
            ChoiceKind::AllowAlways,
        ];
        assert_eq!(
            asked(run(None, false), &lasting),
            "\nDo\\nit (It asks.)\n  make\\nall\\u{1b}[2J\n  in /w\n  [f]older, [a]lways: \
             allows `make …`\nAllow? [y]es / [f]older / [a]lways / [N]o: "
        );
        let subjects = [
            (
                Subject::Edit {
                    uri: "file:///w/a".to_owned(),
                    diff: "+a\u{202e}\n-b".to_owned(),
                    after: String::new(),
                    files: Vec::new(),
                },
                "+a\\u{202e}\n-b",
            ),
            (
                Subject::Path {
                    path: "/etc/x".to_owned(),
                    access: Access::Write,
                },
                "  Write /etc/x",
            ),
            (
                Subject::Setting {
                    key: "skills.pdf".to_owned(),
                    change: "copy it".to_owned(),
                    hash: String::new(),
                },
                "  skills.pdf\ncopy it",
            ),
            (
                Subject::Fetch {
                    url: "https://x.test".to_owned(),
                },
                "https://x.test",
            ),
        ];
        for (subject, shown) in subjects {
            let text = asked(subject, &once);
            assert!(text.contains(shown), "{text}");
        }
    }

    #[test]
    fn a_number_is_an_option_other_words_are_the_answer_and_nothing_declines() {
        let options = ["one".to_owned(), "two".to_owned()];
        assert_eq!(chosen(&options, "2"), QuestionAnswer::answered("two"));
        for own in ["0", "3", "neither"] {
            assert_eq!(chosen(&options, own), QuestionAnswer::answered(own));
        }
        assert_eq!(chosen(&options, ""), QuestionAnswer::declined());
    }
}
