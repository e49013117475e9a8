//! Random typing against random edits, for every editor's habits.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::editor::{Answer, Habits, Stale};
use crate::*;

const TEXT: &str = "alpha one\nbeta two\ngamma three\ndelta four\n";
const PLACES: [&str; 4] = ["one", "beta two\n", "gamma", "four"];

/// What the user does: after a pause in ms, at a place in permille, removing characters of the
/// document, inserting one character that is written by no one else.
type Key = (u64, usize, bool);

fn habits() -> impl Strategy<Value = (&'static str, Habits)> {
    let dropping = Habits {
        stale: Stale::Drop,
        answer: Answer::True,
        ..Habits::HELIX
    };
    let mut all = vec![
        ("vscode", Habits::VSCODE),
        ("helix", Habits::HELIX),
        ("neovim", Habits::NEOVIM),
        ("eglot", Habits::EGLOT),
        ("zed", Habits::ZED),
        ("anchored", Habits::ANCHORED),
        ("dropping", dropping),
    ];
    all.push((
        "no after change",
        Habits {
            answer: Answer::False,
            ..Habits::VSCODE
        },
    ));
    all.push((
        "silent",
        Habits {
            answer: Answer::Never,
            ..Habits::NEOVIM
        },
    ));
    prop::sample::select(all)
}

/// The characters that the user typed, which no edit contains.
fn users(text: &str) -> String {
    text.chars().filter(|c| *c >= '\u{4e00}').collect()
}

/// The user's text without the session: edits reverted, `None` once the user typed into an edit.
fn without_edits(text: &str, edits: &[(u64, usize)]) -> Option<String> {
    let mut text = text.to_owned();
    for (number, (_, place)) in edits.iter().enumerate() {
        text = text.replace(&format!("<NEW{number}>"), PLACES[*place]);
    }
    (!text.contains(['<', '>'])).then_some(text)
}

struct Run {
    /// The outcome's name, and how often the edit's text occurs in the end.
    outcomes: Vec<(&'static str, usize)>,
    text: String,
    typed: String,
    /// The user typed into an edit.
    broken: bool,
}

async fn play(habits: Habits, latency: u64, keys: Vec<Key>, edits: Vec<(u64, usize)>) -> Run {
    let scene = Scene::open(
        Habits {
            latency: Duration::from_millis(latency),
            ..habits
        },
        TEXT,
    );
    let editor = Arc::clone(&scene.editor);
    let planned = edits.clone();
    let typist = tokio::spawn(async move {
        let mut typed = String::new();
        let mut history = Some(TEXT.to_owned());
        for (number, (pause, place, removes)) in keys.into_iter().enumerate() {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let text = editor.text();
            // Whatever the sessions did since the last key left the user's text as it was.
            if history.is_some() {
                assert_eq!(without_edits(&text, &planned), history);
            }
            let mut at = place * text.len() / 1000;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            // Only text that was in the document from the start is removed.
            let next = text[at..].chars().next().filter(char::is_ascii_lowercase);
            let removed = usize::from(removes && next.is_some());
            let atom = char::from_u32(0x4e00 + number as u32).unwrap();
            editor.types(at, removed, &atom.to_string());
            typed.push(atom);
            history = history.and_then(|_| without_edits(&editor.text(), &planned));
        }
        (typed, history)
    });
    let mut runs = Vec::new();
    for (number, (pause, place)) in edits.iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(*pause)).await;
        let content = files::read(&scene.workspace, &scene.located()).unwrap();
        let new = format!("<NEW{number}>");
        if let Ok(plan) = plan::replace(&content.rope, PLACES[*place], &new, None) {
            runs.push((new, tokio::spawn(apply(scene.planned(plan)))));
        }
    }
    let (typed, history) = typist.await.unwrap();
    let mut words = Vec::new();
    for (new, run) in runs {
        words.push((run.await.unwrap().log_name(), new));
    }
    scene.settle().await;
    let text = scene.editor.text();
    if history.is_some() {
        assert_eq!(without_edits(&text, &edits), history);
    }
    Run {
        outcomes: words
            .into_iter()
            .map(|(word, new)| (word, text.matches(&new).count()))
            .collect(),
        text,
        typed,
        broken: history.is_none(),
    }
}

#[test]
fn no_keystroke_is_lost_and_no_success_is_invented_inv_3_inv_4_i1_i3() {
    let counts: RefCell<BTreeMap<(&str, &str), usize>> = RefCell::default();
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    });
    let keys = prop::collection::vec((0..120u64, 0..1000usize, any::<bool>()), 0..10);
    let edits = prop::collection::vec((0..300u64, 0..PLACES.len()), 1..4);
    runner
        .run(
            &(habits(), 0..60u64, keys, edits),
            |((name, habits), latency, keys, edits)| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .start_paused(true)
                    .build()
                    .unwrap();
                let run = runtime.block_on(play(habits, latency, keys, edits));
                let mut typed: Vec<char> = users(&run.text).chars().collect();
                typed.sort_unstable();
                let mut wanted: Vec<char> = run.typed.chars().collect();
                wanted.sort_unstable();
                prop_assert_eq!(
                    typed,
                    wanted,
                    "each keystroke is there once: {:?}",
                    run.text
                );
                for (word, count) in &run.outcomes {
                    *counts.borrow_mut().entry((name, word)).or_default() += 1;
                    match *word {
                        "applied" | "rebased" if !run.broken => prop_assert_eq!(*count, 1),
                        "conflict" | "refused" | "blocked" => prop_assert_eq!(*count, 0),
                        _ => prop_assert!(*count <= 1),
                    }
                }
                Ok(())
            },
        )
        .expect("the property holds");
    for ((name, word), count) in counts.borrow().iter() {
        println!("{name:>16} {word:<12} {count}");
    }
    let total = |wanted: &str| -> usize {
        let counts = counts.borrow();
        let found = counts.iter().filter(|((_, word), _)| *word == wanted);
        found.map(|(_, count)| count).sum()
    };
    assert!(total("applied") > 50 && total("rebased") > 50 && total("conflict") > 20);
}
