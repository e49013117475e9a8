//! Bursts of changes (many cursors, replace all, a formatter) against random edits of repetitive
//! texts. The model is independent of the driver: the user inserts characters that no edit
//! contains, so the buffer without them is the text either with or without the edit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::editor::{Answer, Editor, Habits};
use crate::*;
use interline::edit::Hunk;

const LINES: [&str; 6] = ["aaaa\n", "bbbb\n", "b\n", "}\n", "0,\n", "\n"];

/// An insertion of this many characters is not recorded.
const HUGE: usize = 400_000;

/// When the burst comes, in milliseconds after the edit was sent.
const TIMES: [u64; 4] = [0, 1, 3, 5];

#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    habits: Habits,
    base: Vec<usize>,
    /// First line of the edit, lines replaced, new lines.
    edit: (usize, usize, Vec<usize>),
    bursts: Vec<(u64, usize, u64)>,
}

fn habits() -> impl Strategy<Value = (&'static str, Habits)> {
    let clients = [
        ("vscode", Habits::VSCODE),
        ("helix", Habits::HELIX),
        ("neovim", Habits::NEOVIM),
        ("eglot", Habits::EGLOT),
        ("zed", Habits::ZED),
    ];
    let answers = [Answer::Honest, Answer::True, Answer::False, Answer::Never];
    (
        prop::sample::select(clients.to_vec()),
        prop::sample::select(answers.to_vec()),
        any::<bool>(),
    )
        .prop_map(|((name, habits), answer, applies)| {
            let habits = Habits {
                answer,
                applies,
                ..habits
            };
            (name, habits)
        })
}

fn cases() -> impl Strategy<Value = Case> {
    let lines = || prop::collection::vec(0..LINES.len(), 0..3);
    let sizes = prop::sample::select(vec![1, 2, 3, 40, 300, 1000, HUGE]);
    let burst = (prop::sample::select(TIMES.to_vec()), sizes, any::<u64>());
    (
        habits(),
        prop::collection::vec(0..LINES.len(), 3..9),
        (0..8usize, 1..4usize, lines()),
        prop::collection::vec(burst, 0..3),
    )
        .prop_map(|((name, habits), base, edit, bursts)| Case {
            name,
            habits,
            base,
            edit,
            bursts,
        })
}

/// Insertions of characters that nobody else writes, at random places of a random line.
fn burst(editor: &Editor, count: usize, seed: u64) {
    let text = editor.text();
    let mut state = seed | 1;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    // In some bursts everywhere, in others within one line: usually not the edit's.
    let (low, high) = match (ends.get(random(ends.len() + 1)), random(3)) {
        (Some(end), 1..) => (text[..end - 1].rfind('\n').map_or(0, |at| at + 1), end - 1),
        _ => (0, text.len()),
    };
    let places: Vec<usize> = (low..=high)
        .filter(|at| text.is_char_boundary(*at))
        .collect();
    let (hunks, length) = if count == HUGE { (1, HUGE) } else { (count, 1) };
    let mut chosen: Vec<usize> = (0..hunks).map(|_| places[random(places.len())]).collect();
    chosen.sort_unstable();
    let hunks: Vec<Hunk> = chosen
        .into_iter()
        .map(|at| Hunk {
            start: at,
            end: at,
            text: "\u{4e00}".repeat(length),
        })
        .collect();
    editor.types_at(&hunks);
}

/// The outcome's word, and whether the buffer shows the edit; `None` when it cannot be planned.
async fn play(case: &Case) -> Option<(&'static str, bool)> {
    let text: String = case.base.iter().map(|line| LINES[*line]).collect();
    let from = case.edit.0 % case.base.len();
    let to = (from + case.edit.1).min(case.base.len());
    let old: String = case.base[from..to]
        .iter()
        .map(|line| LINES[*line])
        .collect();
    let new: String = case.edit.2.iter().map(|line| LINES[*line]).collect();
    let plan = plan::replace(&Rope::from_str(&text), &old, &new, None).ok()?;
    let expected = plan.result().to_string();
    let scene = Scene::open(case.habits, &text);
    let job = scene.planned(plan);
    let gap = (case.habits.delay + case.habits.delay / 10).as_millis() as u64;
    for (time, count, seed) in case.bursts.clone() {
        let editor = Arc::clone(&scene.editor);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(gap + time)).await;
            burst(&editor, count, seed);
        });
    }
    let word = apply(job).await.log_name();
    scene.settle().await;
    let kept = scene.editor.text().replace('\u{4e00}', "");
    assert!(kept == text || kept == expected, "{kept:?}");
    Some((word, kept == expected))
}

/// Plays the case in virtual time. The outcome must not contradict what the buffer shows.
fn check(case: &Case) -> Result<Option<(&'static str, bool)>, TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let Some((word, shown)) = runtime.block_on(play(case)) else {
        return Ok(None);
    };
    match word {
        "applied" | "rebased" => prop_assert!(shown, "{word} without the edit"),
        "conflict" | "refused" | "blocked" => prop_assert!(!shown, "{word} with the edit"),
        "unconfirmed" | "unknown" | "diverged" => {}
        other => prop_assert!(false, "{other}"),
    }
    Ok(Some((word, shown)))
}

/// Clients that merge the edit with a burst, and answer honestly or not: rare finds of the property
/// below.
#[test]
fn an_edit_merged_with_a_burst_is_neither_denied_nor_repeated_nor_made_up() {
    type Edit<'a> = (usize, usize, &'a [usize]);
    let case = |habits, answer, base: &[usize], edit: Edit, bursts: &[_]| Case {
        name: "",
        habits: Habits {
            answer,
            applies: answer == Answer::False,
            ..habits
        },
        base: base.to_vec(),
        edit: (edit.0, edit.1, edit.2.to_vec()),
        bursts: bursts.to_vec(),
    };
    let (eglot, neovim) = (Habits::EGLOT, Habits::NEOVIM);
    let found = [
        case(
            eglot,
            Answer::False,
            &[2, 1, 2],
            (0, 2, &[1, 0]),
            &[(3, 40, 1134562682774550972)],
        ),
        case(
            eglot,
            Answer::False,
            &[1, 2, 2],
            (3, 1, &[1, 0]),
            &[(3, 2, 3780463697425359916)],
        ),
        case(
            eglot,
            Answer::Honest,
            &[0, 4, 2, 0, 2],
            (2, 2, &[]),
            &[(1, 300, 9021100339698907252), (0, 300, 1929973734542198914)],
        ),
        case(
            neovim,
            Answer::Honest,
            &[2, 2, 5, 1, 0, 0, 5],
            (1, 2, &[]),
            &[
                (0, 1000, 427822991370492688),
                (0, 1000, 8404439614139071688),
            ],
        ),
    ];
    for case in found {
        check(&case).unwrap();
    }
}

#[test]
fn success_is_reported_exactly_where_the_buffer_shows_the_edit_inv_3() {
    let counts: RefCell<BTreeMap<(&str, &str, bool), usize>> = RefCell::default();
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(600)
    });
    runner
        .run(&cases(), |case| {
            let Some((word, shown)) = check(&case)? else {
                return Ok(());
            };
            *counts
                .borrow_mut()
                .entry((case.name, word, shown))
                .or_default() += 1;
            Ok(())
        })
        .expect("the property holds");
    let counts = counts.borrow();
    for ((name, word, shown), count) in counts.iter() {
        println!("{name:>8} {word:<12} {shown:<6} {count}");
    }
    let total = |wanted: &[&str]| -> usize {
        let found = counts
            .iter()
            .filter(|((_, word, _), _)| wanted.contains(word));
        found.map(|(_, count)| count).sum()
    };
    assert!(total(&["applied"]) > 30 && total(&["rebased"]) > 30);
    assert!(total(&["refused", "conflict"]) > 30);
    let doubts = total(&["unknown", "diverged"]);
    assert!(
        doubts * 2 < total(&["applied", "rebased"]),
        "{doubts} doubts"
    );
}
