//! The pending approvals. They are answered by the client's own request, by a message's button, or by
//! the commands `interline.approve` and `interline.reject`. An answer is valid once, for exactly the
//! content that was shown (INV-8).

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::oneshot;

use super::choices::{self, Chosen};
use super::{Severity, messages, show};
use crate::conversation::{Failure, FailureKind, ItemId};
use crate::host::{ApprovalAnswer, ApprovalRequest, Choice, ChoiceKind};
use crate::prompt::fence;
use crate::rpc::Peer;

/// An answer that names no item is not valid for an item that became the only one more recently than
/// this: it was meant for the previous one.
pub const SETTLE_TIME: Duration = Duration::from_millis(700);

/// The pending approvals of a client, oldest first.
#[derive(Clone, Default)]
pub struct Approvals {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    items: Vec<Item>,
    /// When an item was last removed.
    removed: Option<Instant>,
}

struct Item {
    number: u64,
    since: Instant,
    request: ApprovalRequest,
    answer: oneshot::Sender<ApprovalAnswer>,
}

/// A place in the list, given up when dropped, as when the turn is cancelled.
pub struct Ticket {
    waiting: Arc<Mutex<Waiting>>,
    number: u64,
    answer: oneshot::Receiver<ApprovalAnswer>,
}

impl Approvals {
    /// Adds the request to the list, so that commands can answer it.
    pub fn wait_for(&self, request: ApprovalRequest) -> Ticket {
        let (send, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        waiting.next += 1;
        let number = waiting.next;
        waiting.items.push(Item {
            number,
            since: Instant::now(),
            request,
            answer: send,
        });
        Ticket {
            waiting: Arc::clone(&self.waiting),
            number,
            answer,
        }
    }

    /// Item and title of each pending approval.
    pub fn list(&self) -> Vec<(ItemId, String)> {
        let waiting = self.waiting.lock();
        let rows = waiting.items.iter();
        rows.map(|item| (item.request.item_id.clone(), item.request.title.clone()))
            .collect()
    }

    /// A command's answer: to the named item, or to the only pending one.
    pub fn decide(
        &self,
        item: Option<&ItemId>,
        kind: ChoiceKind,
        now: Instant,
    ) -> Result<ItemId, Failure> {
        let mut waiting = self.waiting.lock();
        let found = match item {
            Some(id) => waiting
                .items
                .iter()
                .position(|one| one.request.item_id == *id),
            None if waiting.items.len() == 1 => Some(0),
            None => None,
        };
        let Some(index) = found else {
            return Err(not_found(&waiting, item));
        };
        let one = &waiting.items[index];
        let changed = waiting.removed.map(|removed| removed.max(one.since));
        if item.is_none() && changed.is_some_and(|then| now.duration_since(then) < SETTLE_TIME) {
            return Err(too_soon(one));
        }
        let offered = &waiting.items[index].request.choices;
        if !offered.iter().any(|choice| choice.kind == kind) {
            let labels: Vec<&str> = offered.iter().map(|choice| choice.id.as_str()).collect();
            return Err(Failure::new(
                FailureKind::Invalid,
                "that choice is not offered for this item",
                format!("choose one of: {}", labels.join(", ")),
            ));
        }
        let item = waiting.items.remove(index);
        waiting.removed = Some(now);
        let id = item.request.item_id.clone();
        // Fails only if the turn has ended, when nothing waits for the answer.
        let _ = item.answer.send(answer_with(&item.request, kind, None));
        Ok(id)
    }
}

fn too_soon(item: &Item) -> Failure {
    Failure::new(
        FailureKind::Invalid,
        format!("another approval has just come up: {}", item.request.title),
        format!(
            "check it and run the command again, or pass {{\"itemId\": \"{}\"}}",
            item.request.item_id
        ),
    )
}

fn not_found(waiting: &Waiting, item: Option<&ItemId>) -> Failure {
    let rows: Vec<String> = waiting
        .items
        .iter()
        .map(|item| format!("{} ({})", item.request.item_id, item.request.title))
        .collect();
    let message = match item {
        Some(item) if rows.is_empty() => format!("nothing waits for approval, not even {item}"),
        Some(item) => format!("{item} is not waiting for approval"),
        None if rows.is_empty() => "nothing waits for approval".to_owned(),
        None => "several items wait for approval".to_owned(),
    };
    let hint = if rows.is_empty() {
        "it was answered, has expired, or its turn has ended".to_owned()
    } else {
        format!("pass {{\"itemId\": …}} with one of: {}", rows.join(", "))
    };
    Failure::new(FailureKind::Invalid, message, hint)
}

impl Ticket {
    /// The answer of a command. Waits forever without one: the caller has the deadline.
    pub async fn answered(&mut self) -> ApprovalAnswer {
        match (&mut self.answer).await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        let before = waiting.items.len();
        waiting.items.retain(|item| item.number != self.number);
        if waiting.items.len() < before {
            waiting.removed = Some(Instant::now());
        }
    }
}

/// Asks by a message with buttons. `None`: the message was closed or cannot be shown, so commands
/// can still answer.
pub async fn ask(peer: &Peer, request: &ApprovalRequest) -> Option<ApprovalAnswer> {
    let titles: Vec<String> = request.choices.iter().map(|it| it.label.clone()).collect();
    let text = messages::question(request, "");
    match choices::ask(peer, Severity::Warning, &text, &titles).await {
        Chosen::Button(at) => Some(answer_with(request, request.choices[at].kind, None)),
        Chosen::Gone => Some(ApprovalAnswer::rejected("client closed")),
        Chosen::Closed => None,
        Chosen::Impossible => {
            announce(peer, request);
            None
        }
    }
}

/// Announces that commands decide.
pub fn announce(peer: &Peer, request: &ApprovalRequest) {
    // Emacs shows only the end of a long message, so the end repeats the title.
    let text = format!(
        "{}\nRun the command interline.approve or interline.reject: {} ({}).",
        messages::question(request, ": interline.approve or interline.reject"),
        fence::visible(&request.title),
        request.item_id
    );
    show(peer, Severity::Warning, &text);
}

/// An answer bound to the request's content.
pub fn answer_with(
    request: &ApprovalRequest,
    choice: ChoiceKind,
    feedback: Option<String>,
) -> ApprovalAnswer {
    ApprovalAnswer {
        choice,
        hash: request.hash.clone(),
        by: "user".to_owned(),
        feedback,
    }
}

/// The choice that an answer names, by id or by kind.
pub fn choice<'a>(request: &'a ApprovalRequest, id: &str) -> Option<&'a Choice> {
    let kind = ChoiceKind::deserialize(Value::from(id)).ok();
    let choices = || request.choices.iter();
    choices()
        .find(|choice| choice.id == id)
        .or_else(|| choices().find(|choice| Some(choice.kind) == kind))
}
