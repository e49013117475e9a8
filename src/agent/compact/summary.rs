//! Asks a model for the summary: by appending one message to the conversation's own request, so
//! that the provider reads its prefix from the cache; if that does not fit, from a transcript of
//! the older messages, part by part. The answer is checked before it is used.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Ask, Stop, Why, Work, cut};
use crate::agent::TurnEnv;
use crate::agent::request::draft;
use crate::agent::step::{self, Answer, StepEnd};
use crate::conversation::{Block, Event, EventSink, Message, Request};
use crate::prompt::fence;
use crate::provider::{ProviderError, StopReason};

/// Most tokens of a summary.
const ROOM: u64 = 4_000;
/// Most parts of a transcript: more would cost more than they are worth.
const PARTS: usize = 24;
/// How often parts are halved that the model rejects as too long: its window may be smaller than
/// its facts say.
const HALVINGS: u32 = 4;

/// Passes on only retries: a summary is not the agent's answer.
struct Quiet(Arc<dyn EventSink>);

impl EventSink for Quiet {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Retry(_)) {
            self.0.emit(event);
        }
    }
}

/// A summary text, or that the request did not fit.
enum Asked {
    Text(String),
    TooLong,
}

impl Work<'_> {
    /// A summary that passed its checks, of the messages before `first`.
    pub(super) async fn summarize(&mut self, ask: &Ask<'_>, first: usize) -> Result<String, Stop> {
        let mut words = self.cx.text("compact.md", &[]);
        if let Some(focus) = ask.focus.map(str::trim).filter(|focus| !focus.is_empty()) {
            let texts = &self.cx.shared.texts;
            words.push('\n');
            words.push_str(&texts.render("compact/focus.md", &[("focus", focus)]));
        }
        let routed = self.routed()?;
        let room = ROOM.min(self.cx.model.facts.max_output);
        let fits =
            ask.why != Why::Overflow && self.size.total.saturating_add(room) < self.numbers.context;
        if fits && routed.is_none() {
            match self.ask_in_conversation(&words).await? {
                Asked::Text(text) => return Ok(text),
                Asked::TooLong => {}
            }
        }
        let cx = routed.unwrap_or_else(|| side_request(self.cx));
        self.writer.clone_from(&cx.model.name);
        self.ask_over_transcript(&cx, &words, first).await
    }

    /// The model that the user chose for summaries.
    fn routed(&self) -> Result<Option<TurnEnv>, Stop> {
        let config = self.cx.config();
        let Some(name) = config.routing.summary.as_deref() else {
            return Ok(None);
        };
        let model = self.cx.shared.providers.resolve(&config, Some(name));
        let model = model.map_err(|failure| Stop::Failed(failure.sentences()))?;
        Ok((model.name != self.cx.model.name).then(|| TurnEnv {
            model,
            ..side_request(self.cx)
        }))
    }

    async fn ask_in_conversation(&mut self, words: &str) -> Result<Asked, Stop> {
        let Some(baseline) = &self.before.baseline else {
            return Ok(Asked::TooLong);
        };
        let mut messages = self.before.messages.clone();
        messages.push(Message::user(vec![Block::text(words)]));
        let request = draft::request(self.before, baseline, &self.cx.model, messages);
        self.ask_model(&side_request(self.cx), &request).await
    }

    async fn ask_over_transcript(
        &mut self,
        cx: &TurnEnv,
        words: &str,
        first: usize,
    ) -> Result<String, Stop> {
        let numbers = cut::Numbers::of(&cx.layout, &cx.model.facts);
        let tokens = cut::scaled(numbers.usable / 3, 1.0 / self.size.scale.max(1.0));
        let mut bytes = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
        let record = cut::transcript(&self.before.messages[..first]);
        let mut parts = VecDeque::from(cut::chunks(&record, bytes));
        // If the summary is a hint, the previous one is not in the transcript.
        let mut so_far = self.before.carried.hint.clone().unwrap_or_default();
        let (mut done, mut halvings) = (0, 0);
        while let Some(part) = parts.pop_front() {
            if done + parts.len() >= PARTS {
                return Err(Stop::Failed(format!(
                    "The conversation is too long to be summarised by {}.",
                    cx.model.name
                )));
            }
            let request = self.part_request(
                cx,
                words,
                &so_far,
                &part,
                [done + 1, done + 1 + parts.len()],
            );
            match self.ask_model(cx, &request).await? {
                Asked::Text(text) => so_far = text,
                Asked::TooLong if halvings < HALVINGS => {
                    halvings += 1;
                    bytes = bytes.min(part.len()) / 2;
                    parts.push_front(part);
                    parts = cut::chunks(parts.make_contiguous(), bytes).into();
                    continue;
                }
                Asked::TooLong => {
                    let why = "The model rejected a part of the conversation as too long.";
                    return Err(Stop::Failed(why.to_owned()));
                }
            }
            done += 1;
        }
        Ok(so_far)
    }

    /// The request for a summary of one part of the transcript.
    fn part_request(
        &self,
        cx: &TurnEnv,
        words: &str,
        so_far: &str,
        part: &str,
        [n, parts]: [usize; 2],
    ) -> Request {
        let texts = &cx.shared.texts;
        let before = match so_far.is_empty() {
            true => String::new(),
            false => texts.render("compact/so-far.md", &[("summary", so_far)]) + "\n",
        };
        let (part, n, parts) = (fence::block(part), n.to_string(), parts.to_string());
        let values = [
            ("before", before.as_str()),
            ("part", &n),
            ("parts", &parts),
            ("transcript", &part),
        ];
        let text = texts.render("compact/transcript.md", &values);
        Request::aside(&cx.model.id, &cx.model.facts, words.to_owned(), text)
    }

    async fn ask_model(&mut self, cx: &TurnEnv, request: &Request) -> Result<Asked, Stop> {
        let answer = match self.within_time(cx, request).await? {
            StepEnd::Answered(answer) => answer,
            StepEnd::Cancelled(_) => return Err(Stop::Cancelled),
            StepEnd::Stopped(_) => {
                let why = "`limits.cost` is reached: raise it to allow a summary.";
                return Err(Stop::Failed(why.to_owned()));
            }
            StepEnd::Failed(ProviderError::Overflow(_), _) => return Ok(Asked::TooLong),
            StepEnd::Failed(error, _) => return Err(Stop::Failed(error.failure().sentences())),
        };
        let words = self.cx.text("compact.md", &[]);
        summary_of(&answer, &words)
            .map(Asked::Text)
            .map_err(Stop::Failed)
    }

    /// One request, aborted after the layout's time limit.
    async fn within_time(&mut self, cx: &TurnEnv, request: &Request) -> Result<StepEnd, Stop> {
        let seconds = self.cx.layout.head.compaction.seconds;
        let cancel = cx.cancel.child_token();
        let own = TurnEnv {
            cancel: cancel.clone(),
            ..cx.clone()
        };
        let late = async {
            match seconds {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        let end = {
            let asked = std::pin::pin!(step::run(&own, request, &mut self.spent));
            let mut asked = asked;
            tokio::select! {
                end = &mut asked => end,
                () = late => {
                    cancel.cancel();
                    asked.await
                }
            }
        };
        let seconds = seconds.unwrap_or_default();
        match end {
            StepEnd::Cancelled(_) if cancel.is_cancelled() && !cx.cancel.is_cancelled() => Err(
                Stop::Failed(format!("The summary took longer than {seconds} s.")),
            ),
            end => Ok(end),
        }
    }
}

fn side_request(cx: &TurnEnv) -> TurnEnv {
    TurnEnv {
        aside: true,
        sink: Arc::new(Quiet(cx.sink.clone())),
        ..cx.clone()
    }
}

/// The text of a complete answer. Headings may be missing, translated or renamed; but text beside a
/// tool call is a summary only if it has the headings that were `asked` for.
fn summary_of(answer: &Answer, asked: &str) -> Result<String, String> {
    match &answer.stop {
        StopReason::MaxTokens | StopReason::ContextWindow => {
            return Err("The model's summary was truncated.".to_owned());
        }
        StopReason::Refusal(_) => return Err("The model declined to summarise.".to_owned()),
        _ => {}
    }
    let texts = answer.blocks.iter().filter_map(Block::as_text);
    let text = texts.map(str::trim).collect::<Vec<_>>().join("\n\n");
    if text.trim().is_empty() {
        return Err("The model returned no summary.".to_owned());
    }
    let mut blocks = answer.blocks.iter();
    let calls = blocks.any(|block| matches!(block, Block::ToolUse { .. }));
    if calls && !has_headings(asked, &text) {
        return Err("The model called a tool instead of writing a summary.".to_owned());
    }
    Ok(text)
}

/// Whether at least two of the headings in `asked` occur, or all if it has fewer.
pub(super) fn has_headings(asked: &str, text: &str) -> bool {
    let wanted: Vec<String> = asked.lines().filter_map(heading).collect();
    let found: Vec<String> = text.lines().filter_map(heading).collect();
    let there = wanted.iter().filter(|it| found.contains(it)).count();
    there >= wanted.len().min(2)
}

/// The text of a heading; models write headings with or without the marks.
fn heading(line: &str) -> Option<String> {
    let line = line.trim();
    let marked = line.starts_with('#') || (line.starts_with("**") && line.len() < 60);
    let words = line.trim_matches(|c: char| "#*: ".contains(c));
    (marked && !words.is_empty()).then(|| words.to_lowercase())
}
