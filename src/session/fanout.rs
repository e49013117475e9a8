//! Numbers a turn's events, logs completed items, and passes everything to the host. Streamed text
//! is logged in parts, so that a killed process loses only a moment of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Entry, Event, EventSink, ItemId, Recorder, SessionId, TurnId};
use crate::env::Env;
use crate::host::Host;

mod sanitise;

/// Shortest time between two parts.
const PART: Duration = Duration::from_millis(100);

/// The numbers of one session.
#[derive(Debug, Default)]
pub struct Seq(AtomicU64);

impl Seq {
    pub fn starting_at(last: u64) -> Self {
        Self(AtomicU64::new(last))
    }

    pub fn last(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The sink of one turn.
pub struct Fanout {
    session: SessionId,
    seq: Arc<Seq>,
    host: Arc<dyn Host>,
    /// Held while a number is taken and delivered, so that numbers arrive in order.
    written: Arc<Mutex<Written>>,
}

/// The turn's part of the log.
struct Written {
    turn: TurnId,
    recorder: Arc<dyn Recorder>,
    env: Env,
    streaming: Option<Streaming>,
    /// A write of the streamed text is scheduled.
    due: bool,
}

/// A text or thought that is shown but not in the log yet.
struct Streaming {
    item: ItemId,
    thought: bool,
    text: String,
}

impl Written {
    fn part(&mut self) {
        let Some(mut part) = self.streaming.take() else {
            return;
        };
        // A secret may have arrived in two deltas.
        self.env.secrets().clean_in(&mut part.text);
        self.recorder.record(Entry::Partial {
            turn: self.turn.clone(),
            item: part.item,
            thought: part.thought,
            text: part.text,
        });
    }

    /// Buffers a delta until the next part is written. Another item, or a complete one, ends the
    /// current item's buffer.
    fn stream(&mut self, event: &Event) {
        let (item, thought, text) = match event {
            Event::TextDelta { item_id, text } => (item_id, false, text),
            Event::ThoughtDelta { item_id, text } => (item_id, true, text),
            Event::Text { item_id, .. } | Event::Thought { item_id, .. } => {
                let complete = |streaming: &mut Streaming| streaming.item == *item_id;
                self.streaming.take_if(complete);
                return;
            }
            _ => return,
        };
        match &mut self.streaming {
            Some(streaming) if streaming.item == *item => streaming.text.push_str(text),
            _ => {
                self.part();
                self.streaming = Some(Streaming {
                    item: item.clone(),
                    thought,
                    text: text.clone(),
                });
            }
        }
    }
}

impl Fanout {
    pub fn new(
        session: SessionId,
        turn: TurnId,
        seq: Arc<Seq>,
        host: Arc<dyn Host>,
        recorder: Arc<dyn Recorder>,
        env: Env,
    ) -> Self {
        Self {
            session,
            seq,
            host,
            written: Arc::new(Mutex::new(Written {
                turn,
                recorder,
                env,
                streaming: None,
                due: false,
            })),
        }
    }

    /// Delivers started, an event or ended.
    pub fn deliver(&self, mut body: EnvelopeBody) {
        let mut written = self.written.lock();
        sanitise::sanitise(&mut body, written.env.secrets());
        let seq = self.seq.0.fetch_add(1, Ordering::AcqRel) + 1;
        let keep = match &body {
            EnvelopeBody::Event { event } => {
                written.stream(event);
                super::resume::is_logged(event)
            }
            EnvelopeBody::Started { .. } => true,
            EnvelopeBody::Ended { .. } => {
                written.streaming = None;
                true
            }
        };
        if keep {
            let turn = written.turn.clone();
            let body = for_log(&body);
            written.recorder.record(Entry::Item { turn, seq, body });
        }
        if written.streaming.is_some() && !written.due {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => {
                    written.due = true;
                    runtime.spawn(write_part(Arc::clone(&self.written)));
                }
                Err(_) => written.part(),
            }
        }
        let changed = changed_files(&body);
        self.host.notify(Arc::new(Envelope {
            session_id: self.session.clone(),
            turn_id: written.turn.clone(),
            seq,
            body,
        }));
        if !changed.is_empty() {
            self.host.review_changed(changed);
        }
    }
}

/// The files that a tool call changed.
fn changed_files(body: &EnvelopeBody) -> Vec<String> {
    match body {
        EnvelopeBody::Event {
            event: Event::ToolCall(call),
        } => call.files.iter().map(|file| file.uri.clone()).collect(),
        _ => Vec::new(),
    }
}

async fn write_part(written: Arc<Mutex<Written>>) {
    tokio::time::sleep(PART).await;
    let mut written = written.lock();
    written.due = false;
    written.part();
}

impl EventSink for Fanout {
    fn emit(&self, event: Event) {
        self.deliver(EnvelopeBody::Event { event });
    }
}

/// The loggable form of an event: without pictures' data.
fn for_log(body: &EnvelopeBody) -> EnvelopeBody {
    let mut body = body.clone();
    if let EnvelopeBody::Event {
        event: Event::Image { data, .. },
    } = &mut body
    {
        data.clear();
    }
    body
}
