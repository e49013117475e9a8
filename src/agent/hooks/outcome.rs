//! What a hook's exit code and output mean. Pure. Exit code 2 refuses, with the errors as the
//! reason; JSON may refuse, ask and add context; any other failure is shown to the user and
//! changes nothing.

use std::io::Error;

use serde_json::Value;

use crate::knowledge::hooks::{Event, Hook};
use crate::process::End;
use crate::process::script::Ended;

#[cfg(test)]
mod tests;

/// Longest text of one hook for the model, in bytes.
const TEXT: usize = 10_000;

/// What the hooks of an event want, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Reasons to refuse what happens.
    pub refused: Vec<String>,
    /// Ask the user first.
    pub asks: bool,
    /// The turn ends, for this reason.
    pub ends_turn: Option<String>,
    /// Texts for the model.
    pub context: Vec<String>,
    /// Texts for the user.
    pub notices: Vec<String>,
}

impl Outcome {
    pub fn join(&mut self, other: Outcome) {
        self.refused.extend(other.refused);
        self.asks |= other.asks;
        self.ends_turn = self.ends_turn.take().or(other.ends_turn);
        self.context.extend(other.context);
        self.notices.extend(other.notices);
    }
}

/// The outcome of one hook.
pub fn of(hook: &Hook, ended: Result<Ended, Error>) -> Outcome {
    let mut out = Outcome::default();
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            out.failed(hook, &error.to_string());
            return out;
        }
    };
    let errors = ended.stderr.trim();
    match ended.end {
        End::Cancelled => {}
        End::TimedOut => {
            let seconds = hook.timeout.as_secs_f64();
            out.failed(
                hook,
                &format!("it did not end within {seconds} s and was stopped"),
            );
        }
        End::Signalled(signal) => out.failed(hook, &format!("it was ended by signal {signal}")),
        End::Exited(0) => out.take(hook, ended.stdout.trim()),
        End::Exited(2) => match hook.event {
            // Nothing can be refused any more.
            Event::SessionStart | Event::SessionEnd | Event::Notification => {
                out.failed(hook, errors);
            }
            _ => out.refuse(errors),
        },
        End::Exited(code) => {
            let line = errors.lines().next().unwrap_or_default();
            let colon = if line.is_empty() { "" } else { ": " };
            out.failed(
                hook,
                &format!("it ended with exit code {code}{colon}{line}"),
            );
        }
    }
    out
}

impl Outcome {
    fn failed(&mut self, hook: &Hook, why: &str) {
        let line = format!("The hook {} failed: {why}", hook.line());
        self.notices.push(line);
    }

    fn refuse(&mut self, reason: &str) {
        self.refused.push(match reason.trim() {
            "" => "It gave no reason.".to_owned(),
            reason => short(reason),
        });
    }

    /// The output of a hook that ended well.
    fn take(&mut self, hook: &Hook, output: &str) {
        if !output.starts_with('{') {
            let counts = matches!(hook.event, Event::UserPromptSubmit | Event::SessionStart);
            if counts && !output.is_empty() {
                self.context.push(short(output));
            }
            return;
        }
        match serde_json::from_str(output) {
            Ok(answer) => self.answer(hook, &answer),
            Err(error) => self.failed(hook, &format!("its output is not JSON: {error}")),
        }
    }

    fn answer(&mut self, hook: &Hook, answer: &Value) {
        let special = &answer["hookSpecificOutput"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reason = text(&special["permissionDecisionReason"]);
        let reason = if reason.is_empty() {
            text(&answer["reason"])
        } else {
            reason
        };
        let decisions = [&special["permissionDecision"], &answer["decision"]];
        for decision in decisions.into_iter().filter_map(Value::as_str) {
            match decision {
                "deny" | "block" => self.refuse(&reason),
                "ask" if hook.event == Event::PreToolUse => self.asks = true,
                "allow" | "approve" => self.ignored(hook, decision),
                _ => {}
            }
        }
        if special.get("updatedInput").is_some() {
            self.ignored(hook, "updatedInput");
        }
        if answer["continue"] == false {
            let why = text(&answer["stopReason"]);
            self.ends_turn = Some(match why.trim() {
                "" => "A hook stopped the turn.".to_owned(),
                why => short(why),
            });
        }
        let context = text(&special["additionalContext"]);
        if !context.trim().is_empty() {
            self.context.push(short(context.trim()));
        }
        let message = text(&answer["systemMessage"]);
        if !message.trim().is_empty() {
            self.notices.push(message);
        }
    }

    fn ignored(&mut self, hook: &Hook, what: &str) {
        self.notices.push(format!(
            "`{what}` of the hook {} is ignored: hooks may refuse and ask, but not allow or change.",
            hook.line()
        ));
    }
}

fn short(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    format!("{}\n[…]", &text[..text.floor_char_boundary(TEXT)])
}
