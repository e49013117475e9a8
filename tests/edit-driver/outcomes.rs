//! The outcomes of single edits, editor by editor.

use std::time::Duration;

use crate::editor::{Answer, Editor, Habits};
use crate::*;
use interline::workspace::{Author, ContentChange, Encoding};

fn later(editor: &Arc<Editor>, after: u64, act: impl FnOnce(&Editor) + Send + 'static) {
    let editor = Arc::clone(editor);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(after)).await;
        act(&editor);
    });
}

#[tokio::test(start_paused = true)]
async fn every_editor_applies_an_edit_of_a_quiet_document_inv_3() {
    for habits in [
        Habits::VSCODE,
        Habits::HELIX,
        Habits::NEOVIM,
        Habits::EGLOT,
        Habits::ZED,
        Habits::ANCHORED,
    ] {
        let scene = Scene::open(habits, "one 𝄞 two\nthree\n");
        let version = scene.document().unwrap().version;
        let outcome = apply(scene.job("two", "2")).await;
        assert_eq!(
            reported(&outcome),
            ("applied", "one 𝄞 2\nthree\n".to_owned())
        );
        let Outcome::Applied(landed) = outcome else {
            unreachable!()
        };
        assert_eq!((landed.added, landed.removed), (1, 1));
        assert!(landed.diff.contains("-one 𝄞 two\n+one 𝄞 2\n"));
        let requests = scene.editor.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].1.version, Some(version));
        assert_eq!(scene.log.words(), ["intent", "applied"]);
        let document = scene.document().unwrap();
        assert_eq!(landed.version, Some(document.version));
        assert!(document.agent_touched);
        scene.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_is_rebased_onto_what_was_typed_since_it_was_planned_b01() {
    let scene = Scene::open(Habits::VSCODE, "head\ntwo\n");
    let job = scene.job("two", "2");
    let planned = job.base_revision.unwrap();
    scene.editor.types(0, 0, "typed ");
    let outcome = apply(job).await;
    assert_eq!(
        reported(&outcome),
        ("rebased", "typed head\n2\n".to_owned())
    );
    let changes = scene
        .workspace
        .changes_since(&scene.editor.uri(), planned)
        .unwrap();
    let authors: Vec<_> = changes.iter().map(|change| &change.author).collect();
    assert_eq!(authors, [&Author::User, &Author::Session("s1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn typing_in_the_place_of_an_edit_is_a_conflict_and_nothing_is_sent_inv_4() {
    let scene = Scene::open(Habits::VSCODE, "head\ntwo\n");
    let job = scene.job("two", "2");
    scene.editor.types(6, 1, "W");
    let outcome = apply(job).await;
    assert_eq!(reported(&outcome), ("conflict", "head\ntWo\n".to_owned()));
    assert!(scene.editor.requests().is_empty());
    assert_eq!(scene.editor.text(), "head\ntWo\n");
    assert!(scene.log.words().is_empty());
}

#[tokio::test(start_paused = true)]
async fn forgotten_changes_are_a_conflict_unless_the_text_is_the_same() {
    let scene = Scene::open(Habits::VSCODE, "head\ntwo\n");
    let job = scene.job("two", "2");
    scene.editor.close();
    scene.editor.open("head\nother\n");
    let Outcome::Conflict { conflict, now, .. } = apply(job).await else {
        panic!("a conflict")
    };
    assert_eq!(conflict, Conflict::Forgotten);
    assert_eq!(now, "head\nother\n");
    let job = scene.job("other", "2");
    scene.editor.close();
    scene.editor.open("head\nother\n");
    assert_eq!(apply(job).await.log_name(), "applied");
}

#[tokio::test(start_paused = true)]
async fn a_refused_stale_edit_is_recomputed_on_the_current_text() {
    for habits in [Habits::VSCODE, Habits::HELIX, Habits::EGLOT, Habits::NEOVIM] {
        let scene = Scene::open(habits, "head\ntwo\n");
        let job = scene.job("two", "2");
        let gap = habits.delay + habits.delay / 10;
        // While the edit is in flight, and nothing after that. Neovim reports the first key after
        // a pause at once, that is, before its answer.
        later(&scene.editor, gap.as_millis() as u64 + 1, |editor| {
            editor.types(0, 0, "typed ");
        });
        let outcome = apply(job).await;
        assert_eq!(
            reported(&outcome),
            ("rebased", "typed head\n2\n".to_owned())
        );
        assert_eq!(scene.editor.requests().len(), 2, "{habits:?}");
        assert_eq!(
            scene.log.words(),
            ["intent", "refused", "intent", "rebased"]
        );
        scene.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_edit_that_the_editor_rebases_itself_is_rebased() {
    let scene = Scene::open(Habits::ZED, "head\ntwo\n");
    let job = scene.job("two", "2");
    later(&scene.editor, 1, |editor| editor.types(0, 0, "typed "));
    let outcome = apply(job).await;
    assert_eq!(
        reported(&outcome),
        ("rebased", "typed head\n2\n".to_owned())
    );
    assert_eq!(scene.editor.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_always_refuses_ends_the_call_at_once_when_nothing_moves() {
    let habits = Habits {
        applies: false,
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "one\n");
    let outcome = apply(scene.job("one", "1")).await;
    assert_eq!(reported(&outcome), ("refused", "stale".to_owned()));
    assert_eq!(scene.editor.requests().len(), 1);
    assert!(matches!(scene.state(), LaneState::Free));
}

#[tokio::test(start_paused = true)]
async fn a_refused_edit_is_tried_three_times_at_most() {
    let habits = Habits {
        applies: false,
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "head\none\n");
    let job = scene.job("one", "1");
    let editor = Arc::clone(&scene.editor);
    let typist = tokio::spawn(async move {
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(450)).await;
            editor.types(0, 0, "x");
        }
    });
    assert_eq!(apply(job).await.log_name(), "refused");
    assert_eq!(scene.editor.requests().len(), 3);
    typist.await.unwrap();
    assert!(scene.editor.text().ends_with("head\none\n"));
}

/// Three tries 50 ms apart would all fall into one burst of typing.
#[tokio::test(start_paused = true)]
async fn after_a_refusal_a_pause_in_the_typing_is_waited_for() {
    for habits in [Habits::VSCODE, Habits::HELIX] {
        let latency = Duration::from_millis(30);
        let scene = Scene::open(Habits { latency, ..habits }, "head\none\n");
        let job = scene.job("one", "1");
        let editor = Arc::clone(&scene.editor);
        let typist = tokio::spawn(async move {
            for _ in 0..80 {
                tokio::time::sleep(Duration::from_millis(25)).await;
                editor.types(0, 0, "x");
            }
        });
        assert_eq!(apply(job).await.log_name(), "rebased");
        assert_eq!(scene.editor.requests().len(), 2);
        typist.await.unwrap();
        assert_eq!(scene.editor.text(), format!("{}head\n1\n", "x".repeat(80)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_who_types_on_after_a_refusal_makes_it_a_conflict_not_a_refusal() {
    let latency = Duration::from_millis(60);
    let scene = Scene::open(
        Habits {
            latency,
            ..Habits::VSCODE
        },
        "head\none\n",
    );
    let job = scene.job("one", "1");
    let editor = Arc::clone(&scene.editor);
    let typist = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            editor.types(0, 0, "x");
        }
    });
    let Outcome::Conflict { conflict, .. } = apply(job).await else {
        panic!("a conflict")
    };
    typist.abort();
    assert_eq!(conflict, Conflict::Busy);
    assert_eq!(scene.editor.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_and_a_rebase_name_who_changed_the_text() {
    let scene = Scene::open(Habits::VSCODE, "head\ntwo\ntail\n");
    let mut other = scene.job("two", "second");
    other.session = SessionId::from("s2");
    let (same, apart) = (scene.job("two", "2"), scene.job("tail", "end"));
    assert_eq!(apply(other).await.log_name(), "applied");
    let Outcome::Conflict { conflict, .. } = apply(same).await else {
        panic!("a conflict")
    };
    let by = Author::Session("s2".to_owned());
    assert_eq!(
        conflict,
        Conflict::Overlap {
            hunk: 0,
            by: by.clone()
        }
    );
    scene.editor.types(0, 0, "typed ");
    let Outcome::Rebased(landed) = apply(apart).await else {
        panic!("rebased")
    };
    assert_eq!(landed.others, [by, Author::User]);
}

#[tokio::test(start_paused = true)]
async fn an_editor_with_delay_gets_its_edit_after_a_quiet_gap_inv_4() {
    for habits in [Habits::NEOVIM, Habits::EGLOT] {
        let scene = Scene::open(habits, "head\none\n");
        let job = scene.job("one", "1");
        let editor = Arc::clone(&scene.editor);
        let typist = tokio::spawn(async move {
            for _ in 0..20 {
                editor.types(0, 0, "x");
                tokio::time::sleep(Duration::from_millis(90)).await;
            }
            tokio::time::Instant::now()
        });
        let outcome = apply(job).await;
        assert_eq!(outcome.log_name(), "rebased");
        let (sent, _) = *scene.editor.requests().last().unwrap();
        let last = typist.await.unwrap();
        assert!(sent > last, "sent while the user typed");
        assert_eq!(scene.editor.text(), format!("{}head\n1\n", "x".repeat(20)));
        // Emacs reports nothing until the user pauses: its first edit is refused as stale.
        let tries = if habits.idle { 2 } else { 1 };
        assert_eq!(scene.editor.requests().len(), tries);
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_who_does_not_stop_typing_makes_it_a_conflict_after_fifteen_seconds_inv_4() {
    let scene = Scene::open(Habits::NEOVIM, "head\none\n");
    let job = scene.job("one", "1");
    let editor = Arc::clone(&scene.editor);
    let typist = tokio::spawn(async move {
        loop {
            editor.types(0, 0, "x");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let started = tokio::time::Instant::now();
    let Outcome::Conflict { conflict, .. } = apply(job).await else {
        panic!("a conflict")
    };
    typist.abort();
    assert_eq!(conflict, Conflict::Busy);
    assert!(started.elapsed() >= Duration::from_secs(15));
    assert!(scene.editor.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn typing_that_is_reported_in_one_change_with_the_edit_is_rebased() {
    // Emacs merges changes until it is idle: here right before and right after the edit.
    for place in ["2", "\nthree", "head"] {
        let scene = Scene::open(Habits::EGLOT, "head\ntwo\nthree\n");
        let job = scene.job("two", "2");
        later(&scene.editor, 700, move |editor| {
            editor.types_before(place, "typed");
        });
        let outcome = apply(job).await;
        let (word, text) = reported(&outcome);
        assert_eq!(word, "rebased");
        assert_eq!(text, scene.editor.text());
        assert_eq!(text.replace("typed", ""), "head\n2\nthree\n");
        assert_eq!(scene.editor.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_answered_with_no_is_applied_all_the_same_e09() {
    for change_first in [true, false] {
        let habits = Habits {
            answer: Answer::False,
            change_first,
            ..Habits::VSCODE
        };
        let scene = Scene::open(habits, "one\n");
        let outcome = apply(scene.job("one", "1")).await;
        assert!(matches!(outcome.log_name(), "applied" | "rebased"));
        assert_eq!(scene.editor.requests().len(), 1);
        assert_eq!(scene.editor.text(), "1\n");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_maps_edits_itself_is_believed_as_far_as_the_mirror_shows_it() {
    let scene = Scene::open(Habits::ANCHORED, "head\ntwo\n");
    let job = scene.job("two", "2");
    // Not reported yet when the edit is sent: no quiet gap is needed here.
    scene.editor.types(0, 0, "typed ");
    let outcome = apply(job).await;
    assert_eq!(
        reported(&outcome),
        ("rebased", "typed head\n2\n".to_owned())
    );
    assert_eq!(scene.editor.requests().len(), 1);

    let job = scene.job("2", "3");
    let at = scene.editor.text().find('2').unwrap();
    scene.editor.types(at, 1, "two");
    assert_eq!(apply(job).await.log_name(), "conflict");
    assert_eq!(scene.editor.text(), "typed head\ntwo\n");
}

#[tokio::test(start_paused = true)]
async fn edits_of_two_sessions_on_one_document_go_one_after_the_other() {
    for habits in [Habits::VSCODE, Habits::NEOVIM, Habits::EGLOT] {
        let scene = Scene::open(habits, "one\ntwo\nthree\n");
        let jobs = [
            scene.job("one", "1"),
            scene.job("two", "2"),
            scene.job("three", "3"),
        ];
        let [a, b, c] = jobs.map(|job| tokio::spawn(apply(job)));
        for run in [a, b, c] {
            assert!(matches!(
                run.await.unwrap().log_name(),
                "applied" | "rebased"
            ));
        }
        assert_eq!(scene.editor.text(), "1\n2\n3\n");
        assert_eq!(scene.editor.requests().len(), 3);
        scene.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_before_sending_sends_nothing() {
    let scene = Scene::open(Habits::NEOVIM, "one\n");
    let job = scene.job("one", "1");
    let cancel = job.cancel.clone();
    let run = tokio::spawn(apply(job));
    tokio::time::sleep(Duration::from_millis(20)).await;
    cancel.cancel();
    assert_eq!(run.await.unwrap().log_name(), "cancelled");
    assert!(scene.editor.requests().is_empty());
}

/// INV-11: an edit that lands within the grace period is reported as landed, any other as
/// unconfirmed, at once.
#[tokio::test(start_paused = true)]
async fn cancelling_after_sending_reports_what_is_known_by_then() {
    for (latency, word) in [(100, "applied"), (5_000, "unconfirmed")] {
        let habits = Habits {
            latency: Duration::from_millis(latency),
            ..Habits::VSCODE
        };
        let scene = Scene::open(habits, "one\n");
        let job = scene.job("one", "1");
        let cancel = job.cancel.clone();
        let run = tokio::spawn(apply(job));
        tokio::time::sleep(Duration::from_millis(20)).await;
        let cancelled = tokio::time::Instant::now();
        cancel.cancel();
        assert_eq!(run.await.unwrap().log_name(), word);
        assert!(cancelled.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_out_of_sync_takes_no_edit() {
    let scene = Scene::open(Habits::VSCODE, "one\n");
    let job = scene.job("one", "1");
    let nowhere = interline::workspace::Position {
        line: 99,
        character: 0,
    };
    let change = ContentChange {
        range: Some(interline::workspace::Range {
            start: nowhere,
            end: nowhere,
        }),
        text: "x".to_owned(),
    };
    scene
        .workspace
        .did_change(&scene.editor.uri(), 9, &[change], Encoding::Utf16);
    assert_eq!(apply(job).await.log_name(), "blocked");
    assert!(scene.editor.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_hunks_sends_nothing() {
    let scene = Scene::open(Habits::VSCODE, "one\n");
    let content = files::read(&scene.workspace, &scene.located()).unwrap();
    let outcome = apply(scene.planned(plan::write(&content.rope, "one\n"))).await;
    let Outcome::Applied(landed) = outcome else {
        panic!("applied")
    };
    assert!(landed.is_empty() && landed.diff.is_empty());
    assert!(scene.editor.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn closing_the_document_while_the_edit_is_on_its_way_is_no_success_e12() {
    let habits = Habits {
        change_first: true,
        late: Duration::from_millis(50),
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "one\n");
    let job = scene.job("one", "1");
    later(&scene.editor, 20, Editor::close);
    assert_eq!(apply(job).await.log_name(), "refused");
    assert_eq!(scene.disk(), "one\n");
}

/// What shows in the mirror decides: a client that put the edit elsewhere is not believed, whether
/// or not it names the hash of the text that it has then.
#[tokio::test(start_paused = true)]
async fn inv3_a_mapped_edit_that_landed_elsewhere_is_no_success_whatever_its_hash() {
    for wrong_hash in [false, true] {
        let habits = Habits {
            misplace: 6,
            wrong_hash,
            ..Habits::ANCHORED
        };
        let scene = Scene::open(habits, "head\none\ntail of the file\n");
        let outcome = apply(scene.job("one", "1")).await;
        assert_eq!(outcome.log_name(), "diverged", "wrong_hash: {wrong_hash}");
    }
}
