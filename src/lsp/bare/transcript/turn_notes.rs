//! A turn's text in a transcript: finished items as they come, and how the turn ended.

use std::sync::Arc;

use super::format::{self, Closing};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::plan::Todo;
use crate::conversation::{CompactionStatus, Event, FileChange};
use crate::env::tasks;
use crate::workspace::{Uri, Workspace};

/// The text of the turns that have ended, each with its prompt, as it follows the first `## You`.
pub async fn earlier(workspace: &Arc<Workspace>, items: &[Envelope]) -> String {
    let mut notes = Notes::default();
    let (mut turn, mut text) = (Vec::new(), String::new());
    for envelope in items {
        match &envelope.body {
            EnvelopeBody::Started { input, .. } => {
                turn.clear();
                notes.begin(Some(format::prompt_text(input)));
            }
            EnvelopeBody::Event { event } => turn.extend(notes.event(event)),
            EnvelopeBody::Ended { .. } => {
                turn.extend(notes.end(workspace, &envelope.body).await);
                turn.push(format::YOU.to_owned());
                text.push_str(&turn.join("\n\n"));
                text.push_str("\n\n");
                turn.clear();
            }
        }
    }
    text
}

/// The state of a turn until its end.
#[derive(Default)]
pub struct Notes {
    running: bool,
    prompt_in_file: bool,
    /// The prompt, unless it is in the transcript; written with the first item.
    prompt: Option<String>,
    prompted: bool,
    /// The heading of the answer has been emitted.
    headed: bool,
    /// Changed files, with the first line of their last change.
    lines: Vec<(String, usize)>,
    todos: Vec<Todo>,
}

impl Notes {
    /// `prompt`: the user's prompt, unless the transcript already has it.
    pub fn begin(&mut self, prompt: Option<String>) {
        *self = Self {
            running: true,
            prompt_in_file: prompt.is_none(),
            prompt,
            ..Self::default()
        };
    }

    /// Whether the running turn's prompt is in the transcript.
    pub fn prompt_is_in_file(&self) -> bool {
        self.running && self.prompt_in_file
    }

    /// The text that the event adds.
    pub fn event(&mut self, event: &Event) -> Vec<String> {
        let words = match event {
            Event::Text { text, .. } if !text.trim().is_empty() => format::escaped(text),
            // The first one is the prompt, which is already above.
            Event::UserMessage { .. } if !std::mem::replace(&mut self.prompted, true) => {
                return Vec::new();
            }
            Event::UserMessage { input, .. } => {
                format!(
                    "> You: {}",
                    format::prompt_text(input).replace('\n', "\n> ")
                )
            }
            Event::Notice { text } => {
                format!("> {}", format::escaped(text).replace('\n', "\n> "))
            }
            Event::Compaction(item) if item.status != CompactionStatus::Running => {
                format!(
                    "> {}",
                    format::escaped(&item.notice()).replace('\n', "\n> ")
                )
            }
            Event::ToolCall(item) => {
                let Some(line) = format::call_line(item) else {
                    return Vec::new();
                };
                if let (Some(diff), Some(file)) = (&item.diff, item.files.first())
                    && let Some(line) = format::first_line(diff)
                {
                    self.lines.retain(|(uri, _)| *uri != file.uri);
                    self.lines.push((file.uri.clone(), line));
                }
                line
            }
            Event::Plan { todos, .. } => {
                self.todos.clone_from(todos);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.headed(vec![words])
    }

    fn headed(&mut self, mut words: Vec<String>) -> Vec<String> {
        if !self.headed {
            self.headed = true;
            words.insert(0, format::AGENT.to_owned());
            if let Some(prompt) = self.prompt.take() {
                words.insert(0, prompt);
            }
        }
        words
    }

    /// The text of the turn's end.
    pub async fn end(&mut self, workspace: &Arc<Workspace>, body: &EnvelopeBody) -> Vec<String> {
        let EnvelopeBody::Ended {
            stop_reason,
            error,
            usage,
            files,
        } = body
        else {
            return Vec::new();
        };
        let unsaved = unsaved(workspace, files.clone()).await;
        let files: Vec<(FileChange, Option<usize>)> = files
            .iter()
            .map(|file| {
                let known = self.lines.iter().find(|(uri, _)| *uri == file.uri);
                (file.clone(), known.map(|(_, line)| *line))
            })
            .collect();
        let closing = format::closing(&Closing {
            stop: *stop_reason,
            error: error.as_ref(),
            files: &files,
            unsaved: &unsaved,
            usage: *usage,
        });
        let mut words = Vec::new();
        if !self.todos.is_empty() {
            words.push(format::checklist(&self.todos));
        }
        if !closing.is_empty() {
            words.push(closing);
        }
        self.running = false;
        self.headed(words)
    }
}

/// The changed files with unsaved changes.
pub async fn unsaved(workspace: &Arc<Workspace>, files: Vec<FileChange>) -> Vec<String> {
    let workspace = Arc::clone(workspace);
    // Comparing with the disk reads files.
    let compare = tasks::blocking(move || {
        let uris = files.into_iter().map(|file| file.uri);
        uris.filter(|uri| {
            let document = workspace.document(&Uri::new(uri.as_str()));
            document.is_some_and(|document| workspace.unsaved(&document))
        })
        .collect()
    });
    compare.await.unwrap_or_default()
}
