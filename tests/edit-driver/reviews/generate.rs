//! Random cases of [`super`].

use proptest::prelude::*;

use super::model;
use crate::editor::{Answer, Habits};
use interline::session::Decision;

/// What must happen at least this often in 1,000 cases, or the property shows little.
pub const FLOORS: [(&str, usize); 10] = [
    ("applied", 500),
    ("rebased", 100),
    ("conflict", 50),
    ("refused", 8),
    ("rejected", 50),
    ("rejection refused", 5),
    ("amended", 15),
    ("kept", 15),
    ("undone by the user", 100),
    ("reverted as a whole", 100),
];

/// Lines that occur often.
const COMMON: [&str; 4] = ["}\n", "0,\n", "\n", "end end\n"];

/// Where and how much the agent edits.
#[derive(Clone, Debug)]
pub struct Act {
    pub place: usize,
    pub lines: usize,
    pub new: usize,
}

/// What the user does.
#[derive(Clone, Debug)]
pub enum Deed {
    Types { place: usize, length: usize },
    Undoes,
    Saves,
    SavesFormatted,
    Reloads,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub habits: Habits,
    pub base: String,
    /// Each after a pause in milliseconds.
    pub agent: Vec<(u64, Act)>,
    pub user: Vec<(u64, Deed)>,
    pub reviewer: Vec<(u64, Act, Decision)>,
}

fn habits() -> impl Strategy<Value = Habits> {
    let clients = prop::sample::select(vec![
        Habits::VSCODE,
        Habits::HELIX,
        Habits::NEOVIM,
        Habits::EGLOT,
        Habits::ZED,
        Habits::ANCHORED,
    ]);
    let lies = prop_oneof![
        12 => Just(None),
        1 => Just(Some((Answer::True, true))),
        1 => Just(Some((Answer::False, true))),
        1 => Just(Some((Answer::True, false))),
        1 => Just(Some((Answer::Never, true))),
    ];
    let late = prop_oneof![4 => Just(0u64), 1 => 1..400u64];
    (clients, lies, late).prop_map(|(client, lie, late)| {
        let (answer, applies) = match lie {
            // What our plugins answer is not a word alone.
            Some(lie) if client.answer != Answer::Mapped => lie,
            _ => (client.answer, true),
        };
        Habits {
            answer,
            applies,
            late: std::time::Duration::from_millis(late),
            ..client
        }
    })
}

/// Pauses: mostly none to a few milliseconds, sometimes longer than an editor holds its changes.
fn pause() -> impl Strategy<Value = u64> {
    prop_oneof![5 => 0..6u64, 3 => 6..200u64, 1 => 200..2_000u64]
}

fn act() -> impl Strategy<Value = Act> {
    (any::<usize>(), 1..3usize, 0..3usize).prop_map(|(place, lines, new)| Act { place, lines, new })
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        12 => (any::<usize>(), 1..3usize)
            .prop_map(|(place, length)| Deed::Types { place, length }),
        2 => Just(Deed::Undoes),
        1 => Just(Deed::Saves),
        1 => Just(Deed::SavesFormatted),
        1 => Just(Deed::Reloads),
    ]
}

fn base() -> impl Strategy<Value = String> {
    let line = prop_oneof![3 => Just(None), 2 => (0..COMMON.len()).prop_map(Some)];
    prop::collection::vec(line, 4..12).prop_map(|lines| {
        let line = |(at, line): (usize, Option<usize>)| match line {
            Some(common) => COMMON[common].to_owned(),
            None => model::first_line(at),
        };
        lines.into_iter().enumerate().map(line).collect()
    })
}

pub fn cases() -> impl Strategy<Value = Case> {
    let decision = prop_oneof![
        3 => Just(Decision::Reject),
        1 => Just(Decision::Keep),
        1 => Just(Decision::Amend),
    ];
    (
        habits(),
        base(),
        prop::collection::vec((pause(), act()), 1..5),
        prop::collection::vec((pause(), deed()), 0..8),
        prop::collection::vec((pause(), act(), decision), 0..4),
    )
        .prop_map(|(habits, base, agent, user, reviewer)| Case {
            habits,
            base,
            agent,
            user,
            reviewer,
        })
}

/// Cases of one shape: an editor that reports late, a formatter, and an undo between two rejections.
pub fn formatted_and_undone() -> impl Strategy<Value = Case> {
    let act = |lines, new| any::<usize>().prop_map(move |place| Act { place, lines, new });
    let agent = (act(1, 0), act(2, 2), act(2, 0));
    let reviewer = (act(1, 0), act(1, 0), act(1, 0));
    (base(), agent, reviewer).prop_map(|(base, agent, reviewer)| Case {
        habits: Habits::NEOVIM,
        base,
        agent: vec![(6, agent.0), (0, agent.1), (0, agent.2)],
        user: vec![(0, Deed::SavesFormatted), (802, Deed::Undoes)],
        reviewer: vec![
            (181, reviewer.0, Decision::Reject),
            (119, reviewer.1, Decision::Amend),
            (172, reviewer.2, Decision::Reject),
        ],
    })
}
