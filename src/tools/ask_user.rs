//! `ask_user`: one question to the user, whose answer is the result. If the client cannot ask, the
//! turn ends with the question and the next prompt answers it. An answer is text for the model,
//! never an approval.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use crate::conversation::Tier;
use crate::host::{QuestionAnswer, QuestionOutcome, QuestionRequest};
use crate::prompt::fence;

/// Longest question, in characters.
const QUESTION: usize = 2_000;
/// Most options.
const OPTIONS: usize = 6;
/// Longest option, in characters.
const OPTION: usize = 200;
/// Longest answer that the model gets, in bytes.
const ANSWER: usize = 32 * 1024;
/// Longest title, in characters.
const TITLE: usize = 80;

pub struct AskUser;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// One question, at most 2,000 characters
    question: String,
    /// At most 6 different answers to choose from, each at most 200 characters; the user may also
    /// answer freely
    options: Option<Vec<String>>,
}

#[async_trait]
impl BuiltIn for AskUser {
    const NAME: &'static str = "ask_user";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware);
    type Arguments = Arguments;

    /// Users read one question at a time, and other calls may depend on the answer.
    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::alone()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let options = arguments.options.unwrap_or_default();
        check(cx, &arguments.question, &options)?;
        let line = arguments.question.trim().lines().next().unwrap_or_default();
        let mut title: String = line.chars().take(TITLE).collect();
        if title.len() < arguments.question.trim().len() {
            title.push('…');
        }
        let question = Question {
            question: arguments.question,
            options,
        };
        Ok(Prepared::new(format!("Ask: {title}"), |cx| {
            question.ask(cx).boxed()
        }))
    }
}

fn check(cx: &ToolContext, question: &str, options: &[String]) -> Result<(), ToolError> {
    let length = question.trim().chars().count();
    if !(1..=QUESTION).contains(&length) {
        return Err(cx.error(
            "results/question-length.md",
            &[("length", &length), ("longest", &QUESTION)],
        ));
    }
    let wrong = |(index, option): (usize, &String)| {
        let length = option.trim().chars().count();
        let again = || options[..index].iter().any(|it| it.trim() == option.trim());
        !(1..=OPTION).contains(&length) || again()
    };
    if options.len() > OPTIONS || options.iter().enumerate().any(wrong) {
        return Err(cx.error(
            "results/question-options.md",
            &[("most", &OPTIONS), ("longest", &OPTION)],
        ));
    }
    Ok(())
}

struct Question {
    question: String,
    options: Vec<String>,
}

impl Question {
    async fn ask(self, cx: &ToolContext) -> ToolResult {
        let request = QuestionRequest {
            session_id: cx.session.clone(),
            turn_id: cx.turn.clone(),
            item_id: cx.item.clone(),
            question: fence::prose(self.question.trim()),
            options: self.options.iter().map(|it| fence::prose(it)).collect(),
            free_text: true,
        };
        let limit = cx.config.limits.approval();
        // Dropping the question withdraws it from the client.
        let answer = tokio::select! {
            answer = cx.host.ask(request) => answer,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            () = tokio::time::sleep(limit) => return Ok(expired(cx)),
        };
        Ok(match answer {
            Some(answer) => ToolOutput::text(answered(cx, answer)),
            None => self.left_open(cx),
        })
    }

    /// The turn ends with the question; the user's next prompt answers it.
    fn left_open(&self, cx: &ToolContext) -> ToolOutput {
        let mut shown = format!("Question: {}", self.question.trim());
        for option in &self.options {
            shown.push_str(&format!("\n- {}", option.trim()));
        }
        shown.push_str(
            "\nAnswer with your next prompt (without a plugin: the command interline.ask).",
        );
        ToolOutput {
            text: cx.text("results/question-open.md", &[]),
            closing: Some(fence::prose(&shown)),
            ..ToolOutput::default()
        }
    }
}

fn expired(cx: &ToolContext) -> ToolOutput {
    ToolOutput {
        text: cx.text("results/question-expired.md", &[]),
        is_error: true,
        closing: Some(
            "The question was not answered in time, so the turn ended. Send a prompt to continue."
                .to_owned(),
        ),
        ..ToolOutput::default()
    }
}

fn answered(cx: &ToolContext, answer: QuestionAnswer) -> String {
    let words = answer.answer.unwrap_or_default();
    let words = words.trim();
    match answer.outcome {
        QuestionOutcome::Answered if !words.is_empty() => {
            let end = words.floor_char_boundary(ANSWER);
            let mark = if end < words.len() { " […]" } else { "" };
            cx.text(
                "results/question-answered.md",
                &[("answer", &format!("{}{mark}", &words[..end]))],
            )
        }
        QuestionOutcome::Declined => cx.text("results/question-declined.md", &[]),
        QuestionOutcome::Answered | QuestionOutcome::Cancelled => {
            cx.text("results/question-closed.md", &[])
        }
    }
}
