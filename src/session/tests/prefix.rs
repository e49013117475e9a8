//! Random sequences of prompts, edits, switches and restarts: sent bytes stay the same except at
//! declared epochs; a preview is what a turn sends; secrets and untrusted text appear only where
//! they may (INV-5, INV-6, INV-9, INV-10).

mod checks;
mod steps;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::stage::{SECRET, Stage};
use crate::conversation::{Entry, Input, TurnStop};
use crate::prompt::Layout;
use checks::Book;
use steps::{Step, Wish, World, steps};

const LAYOUTS: [&str; 6] = ["default", "etcode", "mini", "openclaw", "zeus", "zyhive"];
/// Sequences per layout; `PROPTEST_CASES` overrides it.
const CASES: u32 = 6;

/// How often each step happened, over all sequences of one test.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<String, usize>>);

impl Counts {
    fn count(&self, what: &str) {
        let mut counts = self.0.lock();
        *counts.entry(what.to_owned()).or_default() += 1;
    }

    fn of(&self, what: &str) -> usize {
        let counts = self.0.lock();
        counts.get(what).copied().unwrap_or_default()
    }

    fn print(&self, title: &str) {
        let counts = self.0.lock();
        let all: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{what} {n}"))
            .collect();
        println!("{title}: {}", all.join(", "));
    }
}

/// One sequence.
struct Run<'a> {
    counts: &'a Counts,
    world: World,
    book: Book,
}

impl<'a> Run<'a> {
    async fn begin(layout: &'static str, counts: &'a Counts) -> Self {
        let stage = Stage::new().await;
        let id = stage.session(layout).await;
        Self {
            counts,
            world: World::new(stage, id, layout),
            book: Book::default(),
        }
    }

    async fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.counts.count(step.kind());
            match step {
                Step::Prompt(wish) => self.prompt(*wish).await,
                Step::Restart => self.restart().await,
                other => self.world.change(other).await,
            }
        }
    }

    async fn prompt(&mut self, wish: Wish) {
        let input = self.world.input(wish);
        let first = self.preview(&input).await;
        let second = self.preview(&input).await;
        assert_eq!(
            first.request.body, second.request.body,
            "a preview changes nothing"
        );
        assert!(
            self.world.stage.model.taken().is_empty(),
            "a preview asks no model"
        );
        let known = self.world.stage.log(&self.world.id).1.len();
        let stop = self.world.turn(&input).await;
        let expected = match wish {
            Wish::Fail => TurnStop::Error,
            _ => TurnStop::EndTurn,
        };
        assert_eq!(stop, expected);
        let bodies = self.world.stage.model.taken();
        let sent = String::from_utf8(bodies[0].clone()).unwrap();
        assert_eq!(
            first.request.body, sent,
            "a turn sends what the preview shows"
        );
        let (log, entries) = self.world.stage.log(&self.world.id);
        assert!(!log.contains(SECRET), "a secret is in the log");
        let begun: Vec<_> = entries[known..]
            .iter()
            .filter_map(|entry| match entry {
                Entry::PromptBaseline(baseline) => Some(baseline.as_ref().clone()),
                _ => None,
            })
            .collect();
        for baseline in &begun {
            self.counts.count(&format!("epoch:{}", baseline.reason));
        }
        let now = self.world.now();
        self.book.turn(&now, &begun, &bodies, self.counts);
        self.book.knows(&now, &sent);
        checks::up_to_date(&now, &first, &bodies[0]);
    }

    async fn preview(&self, input: &[Input]) -> crate::session::PromptPreview {
        let preview = self.world.stage.preview(&self.world.id, input).await;
        let json = serde_json::to_string(&preview).unwrap();
        assert!(!json.contains(SECRET), "a secret is in a preview");
        preview
    }

    /// A new process produces the same bytes as the old one would.
    async fn restart(&mut self) {
        let input = self.world.input(Wish::Plain);
        let before = self.preview(&input).await;
        let id = self.world.id.clone();
        self.world.stage.restart(&id).await;
        self.world.show().await;
        let after = self.preview(&input).await;
        if before.tail.contains("id=\"recent\"") {
            // What the model saw of open documents is not stored.
            return;
        }
        let undated = |text: &str| text.replace("2026-11-", "").replace("Nov ", "");
        let stable = |it: &crate::session::PromptPreview| it.request.breakpoints[0];
        if before.epoch.id != "next" && before.epoch.id == after.epoch.id {
            let (a, b) = (stable(&before), stable(&after));
            assert_eq!(before.request.body[..a], after.request.body[..b]);
            self.counts.count("restart:same");
        }
        assert_eq!(
            undated(&before.system).len(),
            undated(&after.system).len(),
            "a restart changes more than the date"
        );
    }
}

fn run(layout: &'static str, steps: &[Step], counts: &Counts) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = Run::begin(layout, counts).await;
        run.steps(steps).await;
    });
}

fn sequences(layout: &'static str, switching: bool) {
    let counts = Counts::default();
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&steps(switching), |steps| {
        run(layout, &steps, &counts);
        Ok(())
    });
    counts.print(layout);
    if let Err(error) = outcome {
        panic!("{layout}: {error}");
    }
    assert!(
        counts.of("extended") > 0,
        "no two requests of one epoch were compared"
    );
}

macro_rules! sequences {
    ($($name:ident $layout:literal;)*) => {
        $(#[test]
        fn $name() {
            sequences($layout, false);
        })*
    };
}

sequences! {
    what_was_sent_stays_in_the_default_layout "default";
    what_was_sent_stays_in_etcode "etcode";
    what_was_sent_stays_in_mini "mini";
    what_was_sent_stays_in_openclaw "openclaw";
    what_was_sent_stays_in_zeus "zeus";
    what_was_sent_stays_in_zyhive "zyhive";
}

#[test]
fn sent_bytes_stay_between_switches_of_layout() {
    sequences("default", true);
}

/// A new baseline comes before the messages of older epochs, so it does not replace them.
#[test]
fn a_new_epoch_corrects_what_earlier_ones_said() {
    let go = Step::Prompt(Wish::Plain);
    let script = vec![
        Step::Trust(true),
        Step::Open(0),
        go.clone(),
        Step::File(0, Some(1)),
        Step::Prompt(Wish::Read(1)),
    ];
    for change in [
        Step::File(0, Some(2)),
        Step::File(0, None),
        Step::Trust(false),
        Step::Close(0),
    ] {
        for epoch in [Step::Model(1), Step::Agent(true), Step::Layout(1)] {
            let counts = Counts::default();
            let mut steps = script.clone();
            steps.extend([change.clone(), epoch, Step::Restart, go.clone()]);
            steps.extend([change.clone(), Step::Model(2), go.clone()]);
            run("default", &steps, &counts);
            assert!(counts.of("epoch:start") == 1 && counts.of("epoch:model") > 0);
        }
    }
}

/// A layout that shows instruction files in the tail, or several in one row, neither withdraws
/// another layout's updates about them nor stops reporting their changes.
#[test]
fn instructions_that_another_layout_shows_elsewhere_still_hold() {
    let go = Step::Prompt(Wish::Plain);
    for layout in 1..LAYOUTS.len() {
        let mut steps = vec![
            Step::Trust(true),
            Step::File(0, Some(1)),
            Step::Open(0),
            Step::Prompt(Wish::Read(1)),
            Step::File(0, Some(2)),
            go.clone(),
            Step::Layout(layout),
            go.clone(),
            go.clone(),
        ];
        for text in [Some(3), None, Some(4)] {
            steps.extend([Step::File(0, text), go.clone(), Step::Restart, go.clone()]);
        }
        steps.extend([Step::Layout(0), go.clone()]);
        let counts = Counts::default();
        run("default", &steps, &counts);
        assert_eq!(counts.of("epoch:layout"), 2);
    }
}

#[test]
fn every_layout_is_covered() {
    let texts = crate::prompt::Texts::load(None);
    assert_eq!(Layout::names(&texts), LAYOUTS);
}
