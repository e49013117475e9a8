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

use super::{print, print_json, print_part};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Event, ToolStatus};
use crate::env::tasks;
use crate::host::{
    ApprovalAnswer, ApprovalRequest, ChoiceKind, EditAnswer, EditRequest, Fidelity, Host,
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
}

impl TerminalHost {
    pub fn new(json: bool, ended: mpsc::UnboundedSender<EnvelopeBody>) -> Self {
        Self {
            json,
            ended,
            rejected: Mutex::new(Vec::new()),
            streaming: AtomicBool::new(false),
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
            Event::Retry { reason, in_ms } => {
                print(&format!(
                    "… {reason} Retrying in {} s.",
                    in_ms.div_ceil(1000)
                ));
            }
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
        let question = question(&request);
        let choice = tasks::blocking(move || ask(&question))
            .await
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
        let asked = tasks::blocking(move || answer(&request)).await;
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
            let _ = self.ended.send(envelope.body.clone());
        }
    }

    fn message(&self, text: &str) {
        print(&format!("! {text}"));
    }

    /// A sentence between JSON lines would not be JSON.
    fn shows_messages(&self) -> bool {
        !self.json
    }
}

fn question(request: &ApprovalRequest) -> String {
    let what = match &request.subject {
        Subject::Edit { diff, .. } => exact(diff),
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
        Subject::Path { path, access } => format!("  {access:?} {}", one_line(path)),
        Subject::Setting { key, change, .. } => {
            format!("  {}\n{}", one_line(key), exact(change))
        }
        other => exact(&serde_json::to_string_pretty(other).unwrap_or_default()),
    };
    let remember = if request
        .choices
        .iter()
        .any(|choice| choice.kind == ChoiceKind::AllowSession)
    {
        " / [s]ession"
    } else {
        ""
    };
    format!(
        "\n{} ({})\n{what}\nAllow? [y]es{remember} / [N]o: ",
        one_line(&request.title),
        request.reason
    )
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

fn ask(question: &str) -> ChoiceKind {
    print_part(question);
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).is_err() {
        return ChoiceKind::RejectOnce;
    }
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => ChoiceKind::AllowOnce,
        "s" | "session" => ChoiceKind::AllowSession,
        _ => ChoiceKind::RejectOnce,
    }
}

fn answer(request: &QuestionRequest) -> QuestionAnswer {
    let mut text = format!("\n{}\n", request.question);
    for (index, option) in request.options.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", index + 1, one_line(option)));
    }
    text.push_str("Your answer (a number or free text; leave empty to skip): ");
    print_part(&text);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
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
    use crate::host::{Access, Choice};

    fn asked(subject: Subject, kinds: &[ChoiceKind]) -> String {
        let choice = |kind: &ChoiceKind| Choice {
            id: "c".to_owned(),
            label: "c".to_owned(),
            kind: *kind,
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
