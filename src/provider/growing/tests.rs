use super::*;
use crate::conversation::{Block, Message};

fn user(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

/// Writes bodies of a history that grows, of others that begin with its messages, and of it as it
/// was earlier: each has the bytes of a body that continues nothing.
pub fn check(messages: &[Message], write: impl Fn(&History) -> Bytes) {
    let mut history = History::default();
    let mut earlier = Vec::new();
    for message in messages {
        earlier.push(history.clone());
        let mut other = history.clone();
        other.push(user("another"));
        history.push(message.clone());
        let before = &earlier[earlier.len() / 2];
        for one in [&history, &other, &history, before, &history] {
            assert_eq!(write(one), write(&one.to_vec().into()));
        }
    }
}

/// After a body of a long history, the next one begins with the last messages.
pub fn check_kept(model: &str, write: impl Fn(&History) -> Bytes) {
    let mut history = History::default();
    for n in 0..500 {
        history.push(user(&format!("prompt {n}")));
        history.push(Message::assistant(vec![Block::text("answer")], model));
    }
    history.push(user("last"));
    let first = write(&history).len();
    let kept: Kept = history.memo().take().expect("the body was kept");
    assert!(kept.from >= history.len() - 4 && kept.end > first - 500);
}

#[test]
fn ids_of_the_messages_to_come_are_given_back() {
    let mut ids = Ids::default();
    assert!(ids.take("a") && !ids.take("a") && ids.take("b") && ids.take("c"));
    ids.keep(1);
    assert!(!ids.take("a") && ids.take("b") && ids.take("c"));
}
