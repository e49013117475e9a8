//! Files that are not open: through the editor, held, and on disk (INV-2).

use crate::editor::Habits;
use crate::*;

const HIDDEN: Habits = Habits {
    attaches: false,
    ..Habits::NEOVIM
};

#[tokio::test(start_paused = true)]
async fn a_closed_file_is_opened_and_changed_by_the_editor_inv_2() {
    for habits in [Habits::VSCODE, Habits::HELIX, Habits::NEOVIM] {
        let scene = Scene::closed(habits, "a.txt", Some("one\r\ntwo"));
        let outcome = apply(scene.job("two", "2\n3")).await;
        assert_eq!(reported(&outcome), ("applied", "one\r\n2\r\n3".to_owned()));
        assert_eq!(scene.disk(), "one\r\ntwo", "only the user saves");
        assert_eq!(scene.editor.requests()[0].1.version, None);
        assert_eq!(scene.editor.learned(), Some(true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_file_is_created_by_the_editor() {
    for content in ["new\n", ""] {
        let scene = Scene::closed(Habits::VSCODE, "a.txt", None);
        let mut job = scene.planned(plan::write(&Rope::new(), content));
        job.create = true;
        let outcome = apply(job).await;
        assert_eq!(reported(&outcome), ("applied", content.to_owned()));
        assert!(scene.editor.requests()[0].1.create);
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_the_editor_does_not_show_is_held() {
    let scene = Scene::closed(HIDDEN, "a.txt", Some("one\n"));
    let outcome = apply(scene.job("one", "1")).await;
    assert_eq!(reported(&outcome), ("held", "1\n".to_owned()));
    assert_eq!(scene.lanes.held_text(&scene.key()).unwrap(), "1\n");
    assert_eq!(scene.lanes.held().len(), 1);
    assert_eq!(scene.editor.learned(), Some(false));
    assert_eq!(apply(scene.job("one", "2")).await.log_name(), "blocked");
    assert_eq!(scene.disk(), "one\n");
    // Saved in the editor, which reports nothing: the disk shows it.
    std::fs::write(scene.folder.path().join("a.txt"), "1\n").unwrap();
    assert!(scene.lanes.held_text(&scene.key()).is_none());
    // From now on such files go to disk.
    assert_eq!(apply(scene.job("1", "2")).await.log_name(), "applied");
    assert_eq!(scene.disk(), "2\n");
    assert_eq!(scene.editor.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn opening_or_saving_a_held_file_frees_it() {
    for act in 0..2 {
        let scene = Scene::closed(HIDDEN, "a.txt", Some("one\n"));
        assert_eq!(apply(scene.job("one", "1")).await.log_name(), "held");
        if act == 0 {
            scene.editor.open("1\n");
        } else {
            scene.workspace.did_save(&scene.editor.uri(), None);
        }
        assert!(matches!(scene.state(), LaneState::Free));
        assert!(scene.lanes.held().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_without_buffers_and_the_setting_write_to_disk() {
    for habits in [Habits::TERMINAL, Habits::VSCODE] {
        let scene = Scene::closed(habits, "a.txt", Some("\u{feff}one\r\ntwo\r\n"));
        let mut job = scene.job("two\n", "2\n");
        job.closed_files = ClosedFiles::Disk;
        let outcome = apply(job).await;
        assert_eq!(reported(&outcome), ("applied", "one\r\n2\r\n".to_owned()));
        assert_eq!(scene.disk(), "\u{feff}one\r\n2\r\n", "B09");
        assert_eq!(scene.log.words(), ["intent", "applied"]);
        assert!(scene.editor.requests().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changed_on_disk_is_a_conflict_and_stays_as_it_is_b03() {
    for habits in [Habits::TERMINAL, Habits::VSCODE] {
        let scene = Scene::closed(habits, "a.txt", Some("one\n"));
        let job = scene.job("one", "1");
        std::fs::write(scene.folder.path().join("a.txt"), "one more\n").unwrap();
        let outcome = apply(job).await;
        assert_eq!(reported(&outcome), ("conflict", "one more\n".to_owned()));
        assert_eq!(scene.disk(), "one more\n");
        assert!(scene.editor.requests().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_file_never_replaces_one_that_came_meanwhile() {
    for habits in [Habits::TERMINAL, Habits::VSCODE] {
        for theirs in ["theirs\n", ""] {
            let scene = Scene::closed(habits, "a.txt", None);
            let mut job = scene.planned(plan::write(&Rope::new(), "new\n"));
            job.create = true;
            std::fs::write(scene.folder.path().join("a.txt"), theirs).unwrap();
            let outcome = apply(job).await;
            assert_eq!(reported(&outcome), ("conflict", theirs.to_owned()));
            assert_eq!(scene.disk(), theirs);
            assert!(scene.editor.requests().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_document_is_edited_from_its_disk_text_only_e12() {
    let scene = Scene::open(Habits::VSCODE, "one\n");
    scene.editor.types(0, 0, "unsaved ");
    let job = scene.job("one", "1");
    scene.editor.close();
    let outcome = apply(job).await;
    assert_eq!(reported(&outcome), ("conflict", "one\n".to_owned()));
    assert_eq!(scene.disk(), "one\n");
}

#[tokio::test(start_paused = true)]
async fn an_open_document_is_never_written_on_disk_inv_2() {
    let scene = Scene::open(Habits::TERMINAL, "one\n");
    assert_eq!(apply(scene.job("one", "1")).await.log_name(), "blocked");
    let mut job = scene.job("one", "1");
    job.closed_files = ClosedFiles::Disk;
    scene.editor.change_habits(Habits::VSCODE);
    assert_eq!(apply(job).await.log_name(), "applied");
    assert_eq!(scene.disk(), "one\n");
}

/// The editor has the file open with another text, which it shows when the edit arrives.
fn shows(text: &'static str) -> Habits {
    Habits {
        shows: Some(text),
        ..Habits::VSCODE
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_landed_in_another_text_than_the_disks_is_reverted() {
    for (disk, unsaved, old, new) in [
        ("OLD TOP\n", "NEW TOP\n", "OLD TOP", "2ND TOP"),
        ("A: 1\n", "A: 10000\n", "A: 1", "A: 2"),
        ("one\ntwo\n", "zero\none\ntwo\n", "two", "2"),
        (
            "fn a() {\n  x\n}\n",
            "fn b() {\n  x\n}\n",
            "fn a() {\n  x\n",
            "fn a() {\n  y\n",
        ),
        ("A: 1\n", "A: 1", "A: 1\n", "A: 2\n"),
    ] {
        let scene = Scene::closed(shows(unsaved), "a.txt", Some(disk));
        let outcome = apply(scene.job(old, new)).await;
        assert_eq!(
            outcome.log_name(),
            "restored",
            "{unsaved:?}: {:?}",
            scene.editor.text()
        );
        assert_eq!(scene.editor.text(), unsaved);
        assert_eq!(scene.disk(), disk);
        assert!(matches!(scene.state(), LaneState::Free));
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_another_text_counts_where_the_named_lines_are_the_same() {
    let scene = Scene::closed(shows("one\ntwo\nmine\n"), "a.txt", Some("one\ntwo\n"));
    let outcome = apply(scene.job("two", "2")).await;
    assert_eq!(reported(&outcome), ("rebased", "one\n2\nmine\n".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_whole_file_that_is_written_over_another_text_is_no_success() {
    let scene = Scene::closed(shows("one\ntwo\nmine\n"), "a.txt", Some("one\ntwo\n"));
    let base = Rope::from_str("one\ntwo\n");
    let outcome = apply(scene.planned(plan::write(&base, "one\n2\n"))).await;
    assert_eq!(outcome.log_name(), "restored");
    assert_eq!(scene.editor.text(), "one\ntwo\nmine\n");
}
