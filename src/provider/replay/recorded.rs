//! Answers that `--record` wrote: found by conversation and number, played through the decoder of
//! their format.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::Value;

use super::{Expect, Step};
use crate::conversation::{Failure, FailureKind, Request};
use crate::provider::decode::Decode;
use crate::provider::endpoint::Format as _;
use crate::provider::recording;
use crate::provider::{Batch, ProviderError, anthropic, gemini, sse};
use crate::provider::{openai_chat, openai_responses};

/// A line of the recording.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "n")]
    _n: u64,
    api: String,
    model: String,
    at: At,
    expect: Expect,
    stream: Vec<(u64, String)>,
    end: String,
}

#[derive(Debug, Deserialize)]
struct At {
    first: String,
    answers: usize,
}

/// One complete answer.
#[derive(Debug)]
pub struct Answer {
    api: String,
    /// The bytes of the stream, each piece after a pause.
    pieces: Arc<Vec<(Duration, String)>>,
    /// The model and the position. `None`: the answer was written by hand.
    origin: Option<(String, At)>,
}

/// The step of a line; `None`: its answer is incomplete, and another attempt followed.
pub fn step(line: usize, value: Value) -> Result<Option<Step>, String> {
    let recorded: Line = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if recorded.end != "whole" {
        return Ok(None);
    }
    // Played without waiting.
    let pieces = recorded.stream.into_iter();
    let pieces = pieces.map(|(_, text)| (Duration::ZERO, text)).collect();
    Ok(Some(Step {
        expect: recorded.expect,
        answer: Answer {
            api: recorded.api,
            pieces: Arc::new(pieces),
            origin: Some((recorded.model, recorded.at)),
        },
        line,
    }))
}

/// The last answer at this position of its conversation. If the conversation was not recorded, the
/// answer of that number: checking it reports what differs.
pub fn find<'a>(steps: &'a [Step], request: &Request) -> Option<&'a Step> {
    let position = recording::position(&request.messages);
    let answers = position["answers"].as_u64();
    let at = |step: &Step, is: &dyn Fn(&At) -> bool| {
        let origin = step.answer.origin.as_ref();
        origin.is_some_and(|(_, at)| is(at))
    };
    let numbered = |step: &&Step| at(step, &|at| Some(at.answers as u64) == answers);
    let named = |step: &&Step| at(step, &|at| position["first"] == at.first.as_str());
    let same = steps.iter().filter(named).rfind(|step| numbered(step));
    let any = || steps.iter().find(numbered);
    match steps.iter().any(|step| named(&step)) {
        true => same,
        false => any(),
    }
}

impl Answer {
    /// An answer of Anthropic's stream events.
    pub fn written(events: &[Value]) -> Self {
        let piece = |event: &Value| {
            let pause = event["delayMs"].as_u64().unwrap_or(0);
            (Duration::from_millis(pause), format!("data: {event}\n\n"))
        };
        Self {
            api: "anthropic".to_owned(),
            pieces: Arc::new(events.iter().map(piece).collect()),
            origin: None,
        }
    }

    /// Whether `--record` wrote it.
    pub fn is_recorded(&self) -> bool {
        self.origin.is_some()
    }

    /// The id of the model that gave the answer.
    pub fn model(&self) -> Option<String> {
        let (model, _) = self.origin.as_ref()?;
        model.split_once('/').map(|(_, id)| id.to_owned())
    }

    /// The answer's events.
    pub fn play(&self, request: &Request) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let decoder: Box<dyn Decode> = match self.api.as_str() {
            "anthropic" => Box::new(anthropic::Parts::decoder(request)),
            "gemini" => Box::new(gemini::Parts::decoder(request)),
            "openai" => Box::new(openai_responses::body::Parts::decoder(request)),
            "openai-chat" => Box::new(openai_chat::body::Parts::decoder(request)),
            other => {
                return Err(ProviderError::Fatal(Failure::new(
                    FailureKind::Invalid,
                    format!("the recording contains an answer in an unknown format: {other:?}"),
                    "play it with the version of Interline that recorded it",
                )));
            }
        };
        let playing = Playing {
            pieces: Arc::clone(&self.pieces),
            next: 0,
            parser: sse::Parser::default(),
            decoder,
            over: false,
        };
        Ok(stream::unfold(playing, Playing::next).boxed())
    }
}

struct Playing {
    pieces: Arc<Vec<(Duration, String)>>,
    next: usize,
    parser: sse::Parser,
    decoder: Box<dyn Decode>,
    over: bool,
}

impl Playing {
    async fn next(mut self) -> Option<(Batch, Self)> {
        while !self.over && !self.decoder.ended() {
            let mut events = Vec::new();
            let mut out = Vec::new();
            let piece = self.pieces.get(self.next).cloned();
            self.next += 1;
            let last = piece.is_none();
            match piece {
                // Its size was bounded when it was recorded.
                Some((pause, piece)) => {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    let _ = self.parser.push(piece.as_bytes(), &mut events);
                }
                None => self.parser.finish(&mut events),
            }
            for event in &events {
                if let Err(error) = self.decoder.event(event, &mut out) {
                    self.over = true;
                    return Some((Err(error), self));
                }
            }
            if last {
                self.over = true;
                if let Err(error) = self.decoder.finish(&mut out) {
                    return Some((Err(error), self));
                }
            }
            if !out.is_empty() {
                return Some((Ok(out), self));
            }
        }
        None
    }
}
