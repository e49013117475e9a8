//! Numbers what a turn tells, keeps completed items in the log, hands all of it to the host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{Entry, Event, EventSink, Recorder, SessionId, TurnId};
use crate::env::Env;
use crate::host::Host;

mod leaving;

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
    turn: TurnId,
    seq: Arc<Seq>,
    host: Arc<dyn Host>,
    recorder: Arc<dyn Recorder>,
    env: Env,
    /// Held while a number is taken and delivered, so that numbers arrive in order.
    order: Mutex<()>,
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
            turn,
            seq,
            host,
            recorder,
            env,
            order: Mutex::new(()),
        }
    }

    /// Delivers started, an event or ended.
    pub fn deliver(&self, mut body: EnvelopeBody) {
        leaving::leaving(&mut body, self.env.secrets());
        let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = self.seq.0.fetch_add(1, Ordering::AcqRel) + 1;
        let keep = match &body {
            EnvelopeBody::Event { event } => super::resume::kept(event),
            EnvelopeBody::Started { .. } | EnvelopeBody::Ended { .. } => true,
        };
        if keep {
            self.recorder.record(Entry::Item {
                turn: self.turn.clone(),
                seq,
                body: for_log(&body),
            });
        }
        self.host.notify(Arc::new(Envelope {
            session_id: self.session.clone(),
            turn_id: self.turn.clone(),
            seq,
            body,
        }));
    }
}

impl EventSink for Fanout {
    fn emit(&self, event: Event) {
        self.deliver(EnvelopeBody::Event { event });
    }
}

/// What the log keeps: pictures stay where they are.
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
