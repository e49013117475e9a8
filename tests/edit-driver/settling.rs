//! Edits that are unconfirmed or landed differently: nothing is resent, and the lane stays blocked
//! until the outcome is known.

use std::time::Duration;

use crate::editor::{Answer, Habits, Stale};
use crate::*;

const LIAR: Habits = Habits {
    applies: false,
    answer: Answer::True,
    ..Habits::VSCODE
};

async fn pause() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_any_change_is_unconfirmed_and_never_resent_e09() {
    let scene = Scene::open(LIAR, "head\none\n");
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "unconfirmed");
    assert!(matches!(scene.state(), LaneState::Unconfirmed { .. }));
    let blocked = apply(scene.job("one", "1")).await;
    assert_eq!(blocked.log_name(), "blocked");
    pause().await;
    assert_eq!(scene.editor.requests().len(), 1);
    // A change after the answer shows a text without the edit: now it is known.
    scene.editor.types(0, 0, "x");
    pause().await;
    assert!(matches!(scene.state(), LaneState::Free));
    assert_eq!(scene.log.words(), ["intent", "unconfirmed", "refused"]);
    scene.editor.change_habits(Habits::VSCODE);
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "applied");
    assert_eq!(scene.editor.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_late_change_and_answer_settle_an_unconfirmed_edit_e08() {
    let habits = Habits {
        latency: Duration::from_secs(25),
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "one\n");
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "unconfirmed");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(matches!(scene.state(), LaneState::Free));
    assert_eq!(scene.editor.text(), "1\n");
    assert_eq!(scene.log.words(), ["intent", "unconfirmed", "applied"]);
    assert!(scene.document().unwrap().agent_touched);
    assert_eq!(scene.editor.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_does_not_hide_a_shown_edit_e08() {
    let habits = Habits {
        answer: Answer::Never,
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "one\n");
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "applied");
    assert!(matches!(scene.state(), LaneState::Free));
}

async fn types_without_end(scene: &Scene, keys: usize) -> tokio::task::JoinHandle<()> {
    let editor = Arc::clone(&scene.editor);
    tokio::spawn(async move {
        for _ in 0..keys {
            tokio::time::sleep(Duration::from_millis(300)).await;
            editor.types(0, 0, "x");
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_text_that_moves_before_any_answer_proves_nothing_of_a_client_that_maps_edits() {
    let habits = Habits {
        answer: Answer::Never,
        applies: false,
        ..Habits::ZED
    };
    let scene = Scene::open(habits, "head\none\n");
    let job = scene.job("one", "1");
    let typist = types_without_end(&scene, 50).await;
    assert_eq!(apply(job).await.log_name(), "unconfirmed");
    typist.await.unwrap();
    pause().await;
    assert!(matches!(scene.state(), LaneState::Unconfirmed { .. }));
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "blocked");
    assert_eq!(scene.editor.requests().len(), 1);
    // Its buffer is gone: there is nothing to wait for.
    scene.editor.close();
    pause().await;
    assert!(matches!(scene.state(), LaneState::Free));
}

#[tokio::test(start_paused = true)]
async fn a_text_of_a_later_version_without_the_edit_settles_one_that_was_never_answered() {
    let habits = Habits {
        answer: Answer::Never,
        applies: false,
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "head\none\n");
    let job = scene.job("one", "1");
    let typist = types_without_end(&scene, 50).await;
    assert_eq!(apply(job).await.log_name(), "refused");
    typist.await.unwrap();
    assert!(matches!(scene.state(), LaneState::Free));
    // The text changes only after the deadline.
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "unconfirmed");
    scene.editor.types(0, 0, "x");
    pause().await;
    assert!(matches!(scene.state(), LaneState::Free));
    assert_eq!(scene.log.words()[2..], ["intent", "unconfirmed", "refused"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_is_never_answered_does_not_block_the_next_one_for_the_same_version() {
    let silent = Habits {
        answer: Answer::Never,
        applies: false,
        ..Habits::VSCODE
    };
    let scene = Scene::open(silent, "head\none\ntwo\n");
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "unconfirmed");
    scene.editor.change_habits(Habits::VSCODE);
    assert_eq!(apply(scene.job("two", "2")).await.log_name(), "applied");
    assert_eq!(scene.editor.text(), "head\none\n2\n");
    pause().await;
    assert!(matches!(scene.state(), LaneState::Free));
    let words = scene.log.words();
    assert_eq!(words[..3], ["intent", "unconfirmed", "intent"]);
    assert!(words[3..].contains(&"refused".to_owned()), "{words:?}");
    // A late answer finds nothing to do.
    assert_eq!(scene.editor.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_shown_edit_is_reported_a_moment_after_its_change_without_any_answer() {
    for editor in [Habits::VSCODE, Habits::EGLOT] {
        let habits = Habits {
            answer: Answer::Never,
            ..editor
        };
        let scene = Scene::open(habits, "one\n");
        let started = tokio::time::Instant::now();
        assert_eq!(apply(scene.job("one", "1")).await.log_name(), "applied");
        // Not before the editor's delay after its change: it may be about to answer.
        let (least, took) = (editor.hold + editor.delay, started.elapsed());
        let least = least + Duration::from_millis(500);
        assert!(
            least <= took && took < least + Duration::from_secs(2),
            "{took:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_not_disproved_by_what_moved_before_it() {
    // The key is reported at once, the edit after the client's delay, the claim in between.
    let habits = Habits {
        stale: Stale::Rebase,
        ..Habits::NEOVIM
    };
    // If that is certain, the edit met the newer text and was dropped: it is resent.
    let once: &[&str] = &["intent", "rebased"];
    let twice: &[&str] = &["intent", "refused", "intent", "rebased"];
    for (habits, words) in [(habits, once), (Habits::NEOVIM, twice)] {
        let scene = Scene::open(habits, "head\none\n");
        let run = tokio::spawn(apply(scene.job("one", "1")));
        tokio::time::sleep(Duration::from_millis(166)).await;
        scene.editor.types(0, 0, "x");
        assert_eq!(run.await.unwrap().log_name(), "rebased");
        assert_eq!(scene.log.words(), words);
        assert_eq!(scene.editor.requests().len(), words.len() / 2);
        scene.settle().await;
        assert_eq!(scene.editor.text(), "xhead\n1\n");
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_landed_elsewhere_is_reverted_by_one_inverse_edit() {
    let habits = Habits {
        misplace: 6,
        ..Habits::VSCODE
    };
    let scene = Scene::open(habits, "head\none\ntail of the file\n");
    let job = scene.job("one", "the new text");
    let run = tokio::spawn(apply(job));
    tokio::time::sleep(Duration::from_millis(10)).await;
    scene.editor.change_habits(Habits::VSCODE);
    let outcome = run.await.unwrap();
    assert!(matches!(outcome, Outcome::Diverged { restored: true }));
    assert_eq!(scene.editor.text(), "head\none\ntail of the file\n");
    assert_eq!(scene.editor.requests().len(), 2);
    assert_eq!(
        scene.log.words(),
        ["intent", "diverged", "intent", "restored"]
    );
    assert!(matches!(scene.state(), LaneState::Free));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_distinguished_from_the_users_text_waits_for_the_user() {
    let habits = Habits {
        misplace: 6,
        ..Habits::VSCODE
    };
    let open = |scene: &Scene| assert!(matches!(scene.state(), LaneState::Free));
    for act in 0..4 {
        let scene = Scene::open(habits, "head\none\ntail of the file\n");
        let outcome = apply(scene.job("one", "1")).await;
        assert!(matches!(outcome, Outcome::Diverged { restored: false }));
        assert!(matches!(scene.state(), LaneState::Diverged));
        assert_eq!(scene.editor.requests().len(), 1);
        scene.editor.types(0, 0, "x");
        pause().await;
        assert_eq!(apply(scene.job("head", "HEAD")).await.log_name(), "blocked");
        match act {
            0 => scene.editor.save(),
            1 => {
                scene.editor.close();
                scene.editor.open("head\n");
            }
            2 => {
                let length = scene.editor.text().len();
                scene
                    .editor
                    .types(0, length, "head\none\ntail of the file\n");
            }
            _ => scene.lanes.release(&scene.key()),
        }
        pause().await;
        open(&scene);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claimed_mapping_that_the_mirror_lacks_is_no_success_inv_3() {
    let scene = Scene::open(Habits::ANCHORED, "head\none\n");
    let job = scene.job("one", "1");
    scene.editor.change_habits(Habits {
        answer: Answer::True,
        applies: false,
        ..Habits::ANCHORED
    });
    assert_eq!(apply(job).await.log_name(), "unconfirmed");
    assert_eq!(scene.editor.text(), "head\none\n");
}
