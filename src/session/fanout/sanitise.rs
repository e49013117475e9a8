//! Sanitises a turn's events before they leave the process: removes keys in use, and from text that
//! is displayed verbatim (titles, notices, reasons) the characters that hide or reorder. The
//! model's text and file contents stay as they are.

use std::borrow::Cow;

use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Event, Input, RetryItem, ToolItem};
use crate::env::Secrets;
use crate::visible;

/// Sanitises `body`.
pub fn sanitise(body: &mut EnvelopeBody, secrets: &Secrets) {
    match body {
        EnvelopeBody::Started { input, .. } => clean_input(input, secrets),
        EnvelopeBody::Event { event } => clean_event(event, secrets),
        EnvelopeBody::Ended { error, .. } => {
            if let Some(error) = error {
                prose(&mut error.message, secrets);
                prose(&mut error.hint, secrets);
            }
        }
    }
}

fn clean_event(event: &mut Event, secrets: &Secrets) {
    match event {
        Event::TextDelta { text, .. }
        | Event::Text { text, .. }
        | Event::ThoughtDelta { text, .. }
        | Event::Thought { text, .. }
        | Event::ToolInputDelta { text, .. } => secrets.clean_in(text),
        Event::UserMessage { input, .. } => clean_input(input, secrets),
        Event::ToolCall(item) => tool(item, secrets),
        Event::Plan { todos, .. } => {
            for todo in todos {
                prose(&mut todo.text, secrets);
            }
        }
        Event::ToolOutputDelta { text, .. }
        | Event::Retry(RetryItem { reason: text, .. })
        | Event::Notice { text } => prose(text, secrets),
        Event::Image { caption, .. } => {
            if let Some(text) = caption {
                prose(text, secrets);
            }
        }
        Event::File { name, .. } => line(name, secrets),
        Event::Compaction(item) => {
            if let Some(text) = &mut item.text {
                prose(text, secrets);
            }
        }
        Event::Usage { .. } | Event::Step { .. } | Event::ApprovalResolved { .. } => {}
    }
}

fn tool(item: &mut ToolItem, secrets: &Secrets) {
    line(&mut item.title, secrets);
    if let Some(input) = &mut item.input {
        secrets.clean_value(input);
    }
    if let Some(output) = &mut item.output {
        prose(output, secrets);
    }
    if let Some(diff) = &mut item.diff {
        secrets.clean_in(diff);
    }
}

fn clean_input(input: &mut [Input], secrets: &Secrets) {
    input.iter_mut().for_each(|part| part.clean(secrets));
}

fn prose(text: &mut String, secrets: &Secrets) {
    *text = visible::prose(&secrets.clean(text));
}

fn line(text: &mut String, secrets: &Secrets) {
    let clean = secrets.clean(text);
    if let Cow::Owned(shown) = visible::line(&clean) {
        *text = shown;
    } else if let Cow::Owned(clean) = clean {
        *text = clean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Failure, FailureKind, Spent, ToolStatus, TurnStop};

    const KEY: &str = "key-in-use-1234";

    fn left(event: Event) -> String {
        let secrets = Secrets::default();
        secrets.add(KEY);
        let mut body = EnvelopeBody::Event { event };
        sanitise(&mut body, &secrets);
        serde_json::to_string(&body).unwrap()
    }

    /// R09: neither a tool's title nor a notice can hide anything.
    #[test]
    fn titles_and_notices_contain_no_hidden_characters() {
        let item = ToolItem {
            item_id: "i".into(),
            tool: "read".to_owned(),
            title: "Read a\u{202e}b\u{200b}".to_owned(),
            status: ToolStatus::Completed,
            input: Some(serde_json::json!({ "a": KEY })),
            output: Some(format!("\u{1b}[2J{KEY}")),
            truncated: false,
            files: Vec::new(),
            diff: Some(format!("+{KEY}\n")),
            child: None,
        };
        let text = left(Event::ToolCall(item));
        assert!(text.contains(r"Read a\\u{202e}b\\u{200b}"), "{text}");
        assert!(text.contains(r"\\u{1b}[2J(removed)"), "{text}");
        assert!(!text.contains(KEY), "{text}");
        let text = format!("{KEY} x\u{9b}y");
        assert!(left(Event::Notice { text }).contains(r"(removed) x\\u{9b}y"));
    }

    /// R24: an endpoint's message never carries the key into a failure.
    #[test]
    fn a_failure_contains_no_keys() {
        let secrets = Secrets::default();
        secrets.add(KEY);
        let error = Failure::new(FailureKind::Auth, format!("bad {KEY}"), KEY);
        let mut body = EnvelopeBody::Ended {
            stop_reason: TurnStop::Error,
            error: Some(error),
            usage: Spent::default(),
            files: Vec::new(),
        };
        sanitise(&mut body, &secrets);
        assert!(!serde_json::to_string(&body).unwrap().contains(KEY));
        let item_id = "i".into();
        let input = vec![Input::Text { text: KEY.into() }];
        assert!(!left(Event::UserMessage { item_id, input }).contains(KEY));
    }
}
