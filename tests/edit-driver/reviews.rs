//! An agent that edits, a user who types, undoes, saves with a formatter, reloads and closes, and a
//! review that keeps, rejects and amends, all at once and in random order, in editors that answer
//! late, falsely or never. The model is independent of the program: every character of the first
//! text, of the user and of the agent is another one, so what is lost, doubled or moved shows.

mod generate;
mod model;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use proptest::test_runner::{Config as ProptestConfig, RngAlgorithm, TestRng, TestRunner};
use tokio::time::sleep;

use self::generate::{Act, Case, Deed, cases};
use self::model::{World, agents, is_user};

use crate::editor::{Answer as AnswerHabit, Editor, Habits, Stale};
use crate::*;
use interline::agent::Shared;
use interline::conversation::event::{EnvelopeBody, Origin};
use interline::edit::{Hunk, lines};
use interline::env::Env;
use interline::knowledge::instructions::fetch::UrlCache;
use interline::knowledge::trust::TrustStore;
use interline::prompt::Texts;
use interline::provider::Providers;
use interline::session::revert::{self, From};
use interline::session::review;
use interline::session::store::{self, Header};
use interline::session::{
    Decision, DecisionStatus, HunkDecision, HunkState, ListHunks, RevertTurn,
};
use interline::tools::Registry;

/// How often something happened in all cases.
type Counts = BTreeMap<&'static str, usize>;

/// A session with one open file.
struct Stage {
    scene: Scene,
    from: From,
    world: Mutex<World>,
    counts: Mutex<Counts>,
    /// A decision of the review is being carried out.
    deciding: AtomicBool,
}

fn shared(top: &Path, scene: &Scene) -> Shared {
    static TEXTS: OnceLock<Arc<Texts>> = OnceLock::new();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let env = Env::fixed(top, now, BTreeMap::new());
    let workspace = Arc::clone(&scene.workspace);
    Shared {
        client: Default::default(),
        offered: Default::default(),
        lanes: Arc::clone(&scene.lanes),
        texts: Arc::clone(TEXTS.get_or_init(|| Arc::new(Texts::load(None)))),
        registry: Registry::built_in(),
        mcp: interline::mcp::Servers::new(env.clone(), Arc::clone(&workspace)),
        providers: Providers::new(env.clone()),
        trust: TrustStore::new(&env),
        urls: UrlCache::default(),
        caches: Default::default(),
        languages: Default::default(),
        trusted_now: Default::default(),
        roles: Default::default(),
        unverified: Default::default(),
        env,
        workspace,
    }
}

impl Stage {
    fn new(case: &Case) -> Self {
        let mut scene = Scene::open(case.habits, &case.base);
        let top = scene.folder.path().canonicalize().unwrap();
        let log = top.join("session.jsonl");
        let path = log.clone();
        // The log of a session, which the review reads, takes the place of the scene's.
        let intended = move || {
            let log = std::fs::read_to_string(&path).unwrap();
            let mut edits = log.lines().filter(|line| line.contains("\"edit_"));
            edits
                .next_back()
                .is_some_and(|line| line.contains("\"edit_intent\""))
        };
        let uri = scene.editor.uri();
        scene.workspace.did_close(&uri);
        scene.editor = Editor::new(case.habits, &scene.workspace, uri, intended);
        scene.editor.open(&case.base);
        let header = Header::new(SessionId::from("s1"), String::new(), &top, &[]);
        let log = Arc::new(store::Log::create(&log, &header).unwrap());
        log.record(Entry::Item {
            turn: TurnId::from("t1"),
            seq: 1,
            body: EnvelopeBody::Started {
                origin: Origin::Client,
                input: Vec::new(),
                parent: None,
            },
        });
        let from = From {
            shared: Arc::new(shared(&top, &scene)),
            host: Arc::clone(&scene.editor) as Arc<dyn Host>,
            session: SessionId::from("s1"),
            cwd: top,
            closed_files: ClosedFiles::Editor,
            log,
            journal: Arc::default(),
            proposals: Default::default(),
        };
        Self {
            from,
            world: Mutex::new(World::new(&case.base)),
            counts: Mutex::default(),
            deciding: AtomicBool::new(false),
            scene,
        }
    }

    fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }

    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Checks the buffer against the model.
    fn check(&self) {
        let text = self.scene.editor.text();
        if let Err(wrong) = self.world().check(&text) {
            panic!("{wrong}\n{text}");
        }
    }

    /// The user's deeds happen at once, between two steps of the others. protocol.md says what an
    /// undo in the moment of a rejection does where the client itself places edits on newer text.
    fn does(&self, deed: &Deed) {
        let editor = &self.scene.editor;
        let habits = editor.habits();
        let places_itself = habits.stale == Stale::Rebase && habits.answer != AnswerHabit::Mapped;
        let restores = matches!(deed, Deed::Undoes | Deed::Reloads);
        if restores && places_itself && self.deciding.load(Ordering::Relaxed) {
            return;
        }
        match deed {
            Deed::Types { place, length } => self.types(*place, *length),
            Deed::Undoes => {
                if editor.undo() {
                    self.count("undone by the user");
                    self.world().restart(&editor.text());
                }
            }
            Deed::Saves => editor.save(),
            Deed::SavesFormatted => {
                self.format();
                editor.save();
            }
            Deed::Reloads => {
                editor.reload();
                self.count("reloaded");
                self.world().restart(&editor.text());
            }
        }
        self.check();
    }

    fn types(&self, place: usize, length: usize) {
        let text = self.scene.editor.text();
        let places: Vec<usize> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .collect();
        let at = places[place % places.len()];
        let new = self.world().typed(&text, at, length);
        self.scene.editor.types(at, 0, &new);
    }

    /// A formatter that indents every line that is not yet.
    fn format(&self) {
        let text = self.scene.editor.text();
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = starts.filter(|at| *at < text.len() && !text[*at..].starts_with(' '));
        let hunks: Vec<Hunk> = starts
            .map(|at| Hunk {
                start: at,
                end: at,
                text: " ".to_owned(),
            })
            .collect();
        if !hunks.is_empty() {
            self.count("formatted");
            self.scene.editor.types_at(&hunks);
        }
    }

    /// One edit of the agent: lines that the user did not touch, by lines of its own.
    async fn edits(&self, place: usize, lines: usize, new: usize) {
        let Ok(content) =
            interline::workspace::files::read(&self.scene.workspace, &self.scene.located())
        else {
            return;
        };
        let text = content.rope.to_string();
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        if all.is_empty() {
            return;
        }
        let first = place % all.len();
        let old = all[first..(first + lines).min(all.len())].concat();
        if old.contains(is_user) {
            return;
        }
        let written = self.world().agent_lines(new);
        let hunk = Hunk {
            start: all[..first].concat().len(),
            end: all[..first].concat().len() + old.len(),
            text: written.clone(),
        };
        let result = [&text[..hunk.start], &written, &text[hunk.end..]].concat();
        let plan = Plan {
            base: content.rope.clone(),
            named: std::iter::once(hunk.start..hunk.end).collect(),
            hunks: lines::difference(&text, &result),
            strategy: interline::edit::matching::Strategy::Exact,
        };
        if plan.hunks.is_empty() {
            return;
        }
        self.world().planned(&old, &written);
        let mut job = self.scene.planned(plan);
        job.recorder = self.from.log.clone();
        self.world().editing += 1;
        let restarts = self.world().restarts;
        let word = apply(job).await.log_name();
        self.world().editing += 1;
        self.count(word);
        // What was undone, and refused for that, may be back since.
        let same = self.world().restarts == restarts;
        if same && matches!(word, "conflict" | "refused" | "blocked") {
            self.world().refused(&old, &written);
        }
        self.check();
    }

    /// Keeps, rejects or amends one of the open hunks.
    async fn decides(&self, place: usize, decision: Decision) {
        let editing = self.world().editing;
        let Ok(listed) = review::list(&self.from, &every(false)).await else {
            return;
        };
        let hunks: Vec<_> = listed.iter().flat_map(|file| &file.hunks).collect();
        if hunks.is_empty() {
            return;
        }
        let hunk = hunks[place % hunks.len()];
        let mut ask = HunkDecision {
            hunk_id: hunk.id.clone(),
            decision,
            after: None,
            listed: Some(hunk.after.clone()),
        };
        if decision == Decision::Amend {
            let own = self.world().amends();
            ask.after = Some(format!("{}{own}", hunk.after.trim_end_matches('\n')) + "\n");
        }
        let (restarts, sent) = (self.world().restarts, self.scene.editor.requests().len());
        self.deciding.store(true, Ordering::Relaxed);
        let answer = review::decide(&self.from, std::slice::from_ref(&ask)).await;
        self.deciding.store(false, Ordering::Relaxed);
        let status = answer.unwrap().0.results[0].status;
        let same = self.world().restarts == restarts;
        // An edit that the text has and the journal does not yet shows as a part of another hunk.
        let alone = editing.is_multiple_of(2) && editing == self.world().editing;
        let text = self.scene.editor.text();
        match (decision, status) {
            (Decision::Reject, DecisionStatus::Done) => {
                self.count("rejected");
                // What an earlier rejection brought back may be a part of both.
                let left = |c: char| text.contains(c) && !hunk.before.contains(c);
                assert!(
                    !same || !alone || !agents(&hunk.after).any(left),
                    "it is still there: {text}"
                );
            }
            (Decision::Reject, _) => {
                self.count("rejection refused");
                let quiet = self.scene.editor.requests().len() == sent;
                assert!(
                    quiet || !alone || hunk.state != HunkState::Amended,
                    "the user's text was sent over"
                );
            }
            (Decision::Amend, DecisionStatus::Done) => {
                self.count("amended");
                self.world().amended(&ask.after.unwrap(), &text);
            }
            (Decision::Keep, DecisionStatus::Done) => self.count("kept"),
            _ => self.count("stale"),
        }
        self.check();
    }

    /// Reverts the turn. If nothing stands against it, the first text is there again.
    async fn reverts(&self, case: &Case) {
        let ask = RevertTurn {
            session_id: SessionId::from("s1"),
            turn_id: Some(TurnId::from("t1")),
            item_id: None,
            uris: None,
            hunk_ids: None,
            preview: false,
        };
        let Ok(reverted) = revert::run(&self.from, &ask).await else {
            return;
        };
        self.check();
        let clean = reverted.files.iter().all(|file| file.conflicts.is_empty());
        let calm = {
            let world = self.world();
            world.restarts == 0 && !world.by_review
        };
        if clean && calm {
            self.count("reverted as a whole");
            let text = self.scene.editor.text();
            let left: String = text.chars().filter(|c| !is_user(*c) && *c != ' ').collect();
            assert_eq!(
                left,
                case.base.replace(' ', ""),
                "the first text is there again"
            );
        }
    }
}

fn every(all: bool) -> ListHunks {
    ListHunks {
        session_id: SessionId::from("s1"),
        turn_id: None,
        uri: None,
        cursor: None,
        limit: None,
        all,
    }
}

async fn play(case: &Case) -> Counts {
    let stage = Stage::new(case);
    let agent = async {
        for (wait, act) in &case.agent {
            sleep(Duration::from_millis(*wait)).await;
            stage.edits(act.place, act.lines, act.new).await;
        }
    };
    let user = async {
        for (wait, deed) in &case.user {
            sleep(Duration::from_millis(*wait)).await;
            stage.does(deed);
        }
    };
    let reviewer = async {
        for (wait, Act { place, .. }, decision) in &case.reviewer {
            sleep(Duration::from_millis(*wait)).await;
            stage.decides(*place, *decision).await;
        }
    };
    tokio::join!(agent, user, reviewer);
    stage.scene.settle().await;
    stage.reverts(case).await;
    stage.scene.settle().await;
    stage.check();
    stage.counts.into_inner().unwrap()
}

fn check(case: &Case) -> Counts {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(play(case))
}

/// A reload brings a line back that the agent removed, and the user types more into it than it had.
#[test]
fn a_line_that_came_back_and_was_typed_into_is_not_written_twice() {
    let types = |place, length| (0, Deed::Types { place, length });
    let act = |place, new| {
        (
            0,
            Act {
                place,
                lines: 1,
                new,
            },
        )
    };
    check(&Case {
        habits: Habits::VSCODE,
        base: "一丁丂\n\n丆万丈\n0,\n丌不与\nend end\n".to_owned(),
        agent: vec![act(4, 0), act(3, 1)],
        user: vec![(7, Deed::Reloads), types(13, 2), types(9, 1), types(13, 2)],
        reviewer: Vec::new(),
    });
}

/// In one change, the client reports an undo that brings a line back and an edit that replaces the
/// same line below it: it looks as if only the new line had been added.
#[test]
fn an_edit_that_looks_like_an_insertion_after_an_undo_is_not_sent_again() {
    let act = |place, lines, new| Act { place, lines, new };
    check(&Case {
        habits: Habits {
            late: Duration::from_millis(312),
            ..Habits::ANCHORED
        },
        base: "end end\nend end\n丆万丈\n三上下\n".to_owned(),
        agent: vec![(1, act(2, 2, 0)), (33, act(0, 1, 0)), (89, act(0, 1, 1))],
        user: vec![(604, Deed::Saves), (0, Deed::Undoes)],
        reviewer: Vec::new(),
    });
}

/// The second edit removes a line that the first one wrote, and the user types below while both are
/// rejected: neither may remain as a change of its own.
#[test]
fn a_rejection_of_two_edits_of_one_place_leaves_nothing_of_them() {
    let act = |place, new| Act {
        place,
        lines: 1,
        new,
    };
    let types = |place, length| Deed::Types { place, length };
    check(&Case {
        habits: Habits::VSCODE,
        base: "一丁丂\nend end\n丆万丈\n\nend end\nend end\n}\n丕世丗\n".to_owned(),
        agent: vec![(6, act(1, 2)), (0, act(2, 0))],
        user: vec![(0, types(12, 1)), (1_283, types(26, 2))],
        reviewer: vec![
            (1_280, act(0, 0), Decision::Reject),
            (3, act(0, 0), Decision::Keep),
        ],
    });
}

/// An editor that never answers reports the edit, what is typed into it and what a formatter makes
/// of both as one change.
#[test]
fn an_edit_that_a_formatter_indented_at_once_is_not_taken_for_refused() {
    let types = Deed::Types {
        place: 10,
        length: 1,
    };
    check(&Case {
        habits: Habits {
            answer: AnswerHabit::Never,
            ..Habits::EGLOT
        },
        base: "一丁丂\n\n丆万丈\n三上下\n".to_owned(),
        agent: vec![(
            0,
            Act {
                place: 1,
                lines: 1,
                new: 2,
            },
        )],
        user: vec![
            (0, Deed::SavesFormatted),
            (663, types),
            (0, Deed::SavesFormatted),
        ],
        reviewer: Vec::new(),
    });
}

/// An undo brings a rejected change back, and the agent changes it further: rejecting both leaves
/// nothing of either.
#[test]
fn a_rejected_change_that_an_undo_brought_back_is_rejected_with_what_was_made_of_it() {
    let act = |place, lines, new| Act { place, lines, new };
    // Which of two edits comes first in one millisecond differs.
    for _ in 0..50 {
        check(&Case {
            habits: Habits::ZED,
            base: "一丁丂\n七丄丅\n丆万丈\n三上下\n丌不与\n丏丐丑\n".to_owned(),
            agent: vec![(0, act(4, 1, 0)), (0, act(2, 2, 2)), (87, act(3, 2, 0))],
            user: vec![(12, Deed::Undoes), (2, Deed::Undoes)],
            reviewer: [2, 4, 82]
                .map(|wait| (wait, act(0, 0, 0), Decision::Reject))
                .to_vec(),
        });
    }
}

/// The number of cases that `scripts/reviews` asks for; they differ each time.
fn asked() -> Option<u32> {
    let cases = std::env::var("REVIEW_CASES").ok()?;
    Some(cases.parse().expect("REVIEW_CASES is a number"))
}

#[test]
fn nothing_is_lost_doubled_or_moved_while_agent_user_and_review_change_a_text_i1_i14() {
    let all: RefCell<Counts> = RefCell::default();
    let wanted = asked().unwrap_or(10_000);
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::with_cases(wanted)
    };
    let mut runner = match asked() {
        Some(_) => TestRunner::new(config),
        // The same cases each time: a failure is the last change's.
        None => {
            let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(config, same)
        }
    };
    let played = runner.run(&cases(), |case| {
        for (what, count) in check(&case) {
            *all.borrow_mut().entry(what).or_default() += count;
        }
        Ok(())
    });
    let all = all.into_inner();
    for (what, count) in &all {
        println!("{count:>8} {what}");
    }
    played.expect("the property holds");
    let per_thousand = |what: &str| all.get(what).copied().unwrap_or(0) * 1000 / wanted as usize;
    for (what, floor) in generate::FLOORS {
        let rate = per_thousand(what);
        assert!(
            rate >= floor,
            "{what}: {rate} per 1,000 cases, wanted {floor}"
        );
    }
}

/// A formatter at a save, two replacements, rejections that overlap an undo: the undo brings back
/// lines that the rejection is about to write, and the formatter had moved none of them.
#[test]
fn nothing_is_doubled_when_rejections_meet_an_undo_after_a_formatter_i4() {
    let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    };
    let mut runner = TestRunner::new_with_rng(config, same);
    let played = runner.run(&generate::formatted_and_undone(), |case| {
        check(&case);
        Ok(())
    });
    played.expect("the property holds");
}
