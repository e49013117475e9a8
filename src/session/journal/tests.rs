use super::*;
use crate::conversation::event::Origin;

const FILE: &str = "file:///a.txt";

fn intent(item: &str) -> Entry {
    Entry::EditIntent {
        item: ItemId::from(item),
        uri: FILE.to_owned(),
        version: Some(1),
        before: String::new(),
        hash: String::new(),
        hunks: Vec::new(),
        create: false,
        delete: false,
        shape: None,
    }
}

fn outcome(item: &str, word: &str) -> Entry {
    Entry::EditOutcome {
        item: ItemId::from(item),
        uri: FILE.to_owned(),
        outcome: word.to_owned(),
        version: Some(2),
        hash: String::new(),
    }
}

/// `(landed, uncertain)` edits of a turn with these entries.
fn check(entries: Vec<Entry>, expected: (usize, usize)) {
    let turn = TurnId::from("turn");
    let mut journal = Journal::read(&[Entry::Item {
        turn: turn.clone(),
        seq: 1,
        body: EnvelopeBody::Started {
            origin: Origin::Client,
            input: Vec::new(),
            parent: None,
        },
    }]);
    for entry in &entries {
        journal.add(entry);
    }
    let found = (
        journal.of_turn(&turn).len(),
        journal.uncertain(&turn).count(),
    );
    assert_eq!(found, expected, "{entries:?}");
}

/// S08.
#[test]
fn the_last_outcome_of_an_edit_decides_and_without_one_it_is_uncertain() {
    check(vec![intent("a"), outcome("a", "applied")], (1, 0));
    check(vec![intent("a"), outcome("a", "refused")], (0, 0));
    check(vec![intent("a"), outcome("a", "unconfirmed")], (0, 1));
    check(vec![intent("a"), outcome("a", "diverged")], (0, 1));
    check(vec![intent("a")], (0, 1));
    // Settled later.
    let settled = vec![
        intent("a"),
        outcome("a", "unconfirmed"),
        outcome("a", "applied"),
    ];
    check(settled, (1, 0));
    // Retried.
    let again = vec![intent("a"), intent("a"), outcome("a", "applied")];
    check(again, (1, 0));
}
