//! Answers that `--record` wrote: found by conversation and number, played through the decoder of
//! their format.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::Value;

use super::{Expect, Step};
use crate::conversation::{Failure, FailureKind, Request};
use crate::provider::decode::Decode;
use crate::provider::openai::names::Names;
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
    model: String,
    at: At,
    pieces: Arc<Vec<String>>,
}

/// The step of a line; `None`: its answer is incomplete, and another attempt followed.
pub fn step(line: Value) -> Result<Option<Step>, String> {
    let line: Line = serde_json::from_value(line).map_err(|error| error.to_string())?;
    if line.end != "whole" {
        return Ok(None);
    }
    let pieces = line.stream.into_iter().map(|(_, text)| text).collect();
    Ok(Some(Step {
        expect: line.expect,
        events: Arc::default(),
        recorded: Some(Answer {
            api: line.api,
            model: line.model,
            at: line.at,
            pieces: Arc::new(pieces),
        }),
        line: 0,
        _comment: None,
    }))
}

/// The last answer at this position of its conversation. If the conversation was not recorded, the
/// answer of that number: checking it reports what differs.
pub fn find<'a>(steps: &'a [Step], request: &Request) -> Option<&'a Step> {
    let position = recording::position(&request.messages);
    let answers = position["answers"].as_u64();
    let numbered = |step: &&Step| {
        let answer = step.recorded.as_ref();
        answer.is_some_and(|answer| Some(answer.at.answers as u64) == answers)
    };
    let named = |step: &&Step| {
        let answer = step.recorded.as_ref();
        answer.is_some_and(|answer| position["first"] == answer.at.first.as_str())
    };
    let same = steps.iter().filter(named).rfind(|step| numbered(step));
    let any = || steps.iter().find(numbered);
    match steps.iter().any(|step| named(&step)) {
        true => same,
        false => any(),
    }
}

impl Answer {
    /// The id of the model that gave the answer.
    pub fn model(&self) -> Option<String> {
        self.model.split_once('/').map(|(_, id)| id.to_owned())
    }

    /// The answer's events.
    pub fn play(&self, request: &Request) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let names = || Names::of(&request.tools);
        let decoder: Box<dyn Decode> = match self.api.as_str() {
            "anthropic" => Box::new(anthropic::decode::Decoder::default()),
            "gemini" => Box::new(gemini::decode::Decoder::default()),
            "openai" => Box::new(openai_responses::decode::Decoder::new(names())),
            "openai-chat" => Box::new(openai_chat::decode::Decoder::new(names())),
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
    pieces: Arc<Vec<String>>,
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
                Some(piece) => drop(self.parser.push(piece.as_bytes(), &mut events)),
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
