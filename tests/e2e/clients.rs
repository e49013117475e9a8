//! How each client handles an edit, and the captured handshakes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::profile::{CAPTURED, Conduct, Stale};
use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

/// A limit beyond the 10 s after which an edit counts as unconfirmed.
const PATIENT: Duration = Duration::from_secs(25);

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\n";

fn opened(stage: &Stage, model: &Model, profile: Profile) -> Editor {
    let mut editor = stage.launch(model).profile(profile).start();
    editor.open("a.txt");
    editor
}

#[test]
fn an_edit_lands_once_in_every_client() {
    let profiles = [
        Profile::rich(),
        Profile::plain(),
        Profile::vscode(),
        Profile::neovim(),
        Profile::helix(),
        Profile::eglot(),
        Profile::kakoune(),
        Profile::zed(),
    ];
    for profile in profiles {
        let name = profile.name;
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        let mut editor = opened(&stage, &model, profile);
        editor.prepend("a.txt", "zero\n");
        let turn = editor.run("shorten");
        assert_eq!(turn.statuses(), ["completed", "completed"], "{name}");
        assert_eq!(editor.text("a.txt"), "zero\none\n2\nthree\n", "{name}");
        assert_eq!(editor.script.edits.len(), 1, "{name}");
    }
}

/// One key typed just before the edit arrives makes it stale; the server must rebase it onto the
/// new text. (Neovim, below, drops it silently: its late didChange shows that.)
#[test]
fn a_stale_edit_is_rebased_whatever_the_client_answers() {
    for stale in [Stale::Refused, Stale::Error] {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        let mut editor = opened(&stage, &model, Profile::plain().stale(stale));
        editor.before_edit(|editor| editor.prepend("a.txt", "zero\n"));
        let turn = editor.run("shorten");
        assert_eq!(turn.statuses(), ["completed", "completed"], "{stale:?}");
        assert_eq!(editor.text("a.txt"), "zero\none\n2\nthree\n", "{stale:?}");
    }
}

/// Without resource operations a new file is created on disk, with an approval even where edits
/// need none, and the user is notified.
#[test]
fn a_client_that_cannot_create_files_gets_them_on_disk_after_approval() {
    let model = Model::calls("write", json!({"path": "new.txt", "content": "hi\n"}));
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::eglot()).start();
    editor.approvals(&[Approval::Allow]);
    editor.allow("created new.txt on disk");
    let turn = editor.run("make it");
    assert_eq!(turn.statuses(), ["completed"]);
    assert_eq!(stage.read("new.txt"), "hi\n");
}

#[test]
fn a_stale_edit_that_the_client_rebases_is_not_sent_again() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::zed());
    editor.before_edit(|editor| editor.prepend("a.txt", "zero\n"));
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.txt"), "zero\none\n2\nthree\n");
    assert_eq!(editor.script.edits.len(), 1);
}

/// INV-4: with a client that delays its didChange, an edit waits for a quiet gap.
#[test]
fn a_late_did_change_never_costs_a_key() {
    for delay in [150, 600] {
        let model = Model::edits("a.txt", "two", "2");
        let stage = Stage::new(TEXT);
        let profile = Profile::neovim().delayed(delay);
        let mut editor = opened(&stage, &model, profile);
        editor.before_edit(|editor| editor.prepend("a.txt", "zero\n"));
        let turn = editor.run("shorten");
        assert_eq!(editor.text("a.txt"), "zero\none\n2\nthree\n", "{delay} ms");
        assert_eq!(turn.statuses(), ["completed", "completed"], "{delay} ms");
    }
}

#[test]
fn a_client_that_refuses_gets_a_bounded_number_of_tries_and_the_model_the_truth() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = opened(
        &stage,
        &model,
        Profile::plain().conducting(Conduct::Refuses),
    );
    editor.prompt("shorten");
    let turn = editor.wait_ended_within(PATIENT);
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    assert_eq!(editor.text("a.txt"), "one\ntwo\nthree\n");
    assert!(editor.script.edits.len() <= 5);
}

/// INV-3, E08: silence proves nothing; the lane stays shut and nothing is resent.
#[test]
fn an_edit_without_an_answer_is_unconfirmed_and_never_resent() {
    let again = Reply::edit("a.txt", "three", "3");
    let edit = Reply::edit("a.txt", "two", "2");
    let model = Model::steps(vec![Reply::read("a.txt"), edit, again]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(
        &stage,
        &model,
        Profile::plain().conducting(Conduct::Ignores),
    );
    editor.prompt("shorten");
    let turn = editor.wait_ended_within(Duration::from_secs(40));
    assert_eq!(turn.statuses(), ["completed", "failed", "failed"]);
    let result_text = model.request(2).result();
    assert!(
        result_text.contains("not known") && result_text.contains("not sent again"),
        "{result_text}"
    );
    // The other edit is sent, since this client would refuse the first one from then on.
    let sent: Vec<String> = editor
        .script
        .edits
        .iter()
        .map(|it| format!("{it:?}"))
        .collect();
    assert_eq!(
        sent.iter().filter(|it| it.contains("\"2\"")).count(),
        1,
        "{sent:?}"
    );
    assert_eq!(editor.document("a.txt")["state"], "unconfirmed");
    // The late answers settle it, and the server lives.
    for id in std::mem::take(&mut editor.held_back) {
        editor.answer_late(id, false);
    }
    editor.until("an open lane", |editor| {
        (editor.document("a.txt")["state"] == "open").then_some(())
    });
}

/// A mirror that changes proves nothing yet, but the text is there exactly once.
#[test]
fn an_applied_edit_without_an_answer_is_not_applied_twice() {
    let model = Model::edits("a.txt", "two", "two and");
    let stage = Stage::new(TEXT);
    let profile = Profile::plain().conducting(Conduct::AppliesSilently);
    let mut editor = opened(&stage, &model, profile);
    editor.prompt("go on");
    editor.wait_ended_within(PATIENT);
    assert_eq!(editor.script.edits.len(), 1);
    assert_eq!(editor.text("a.txt").matches("and").count(), 1);
}

/// E09: the mirror is the truth, not the answer.
#[test]
fn a_claimed_edit_that_never_shows_is_not_reported_as_done() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::plain().conducting(Conduct::Claims));
    editor.prompt("shorten");
    let turn = editor.wait_ended_within(PATIENT);
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    assert_eq!(editor.script.edits.len(), 1);
    assert_eq!(editor.text("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_denied_edit_that_shows_in_the_mirror_is_not_applied_twice() {
    let model = Model::edits("a.txt", "two", "two and");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::plain().conducting(Conduct::Denies));
    editor.prompt("go on");
    editor.wait_ended_within(PATIENT);
    assert_eq!(editor.text("a.txt").matches("and").count(), 1);
}

#[test]
fn an_edit_that_lands_differently_is_reported_and_not_repeated() {
    let model = Model::edits("a.txt", "two", "zwei");
    let stage = Stage::new(TEXT);
    let mut editor = opened(
        &stage,
        &model,
        Profile::plain().conducting(Conduct::Garbles),
    );
    editor.prompt("shorten");
    let turn = editor.wait_ended_within(PATIENT);
    assert_ne!(turn.statuses()[1], "completed");
    assert!(editor.script.edits.len() <= 2, "one edit and one inverse");
    assert!(editor.text("a.txt").contains("one\ntwo\nthree\n"));
}

/// Held files: the editor holds the edited file without notifying us; reads show the planned text.
#[test]
fn a_closed_file_of_a_client_that_does_not_attach_us_is_read_as_planned() {
    let read = Reply::read("a.txt");
    let edit = Reply::edit("a.txt", "two", "2");
    let model = Model::steps(vec![read.clone(), edit, read]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::neovim()).start();
    editor.prompt("shorten");
    let turn = editor.wait_ended_within(PATIENT);
    assert!(
        model.request(3).result().contains("one\n"),
        "{}",
        turn.text()
    );
    assert!(turn.text().contains('2') && !turn.text().contains("two"));
    assert_eq!(editor.text("a.txt"), "one\n2\nthree\n");
    assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
}

/// f4: answers must come through while thousands of changes wait in the lane.
#[test]
fn an_answer_passes_two_thousand_waiting_changes() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n//- /b.txt\n\n");
    let mut editor = opened(&stage, &model, Profile::plain());
    editor.open("b.txt");
    editor.before_edit(|editor| {
        for _ in 0..2000 {
            editor.prepend("b.txt", "k");
        }
    });
    assert_eq!(editor.run("go").statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("b.txt").len(), 2001);
}

#[test]
fn the_nine_captured_handshakes_are_understood_and_stay_bare() {
    for (name, text) in CAPTURED {
        let stage = Stage::new(TEXT);
        let model = Model::says("");
        let mut editor = stage.launch(&model).profile(Profile::bare()).silent();
        let mut params: Value = serde_json::from_str(text).unwrap();
        params["rootUri"] = stage.uri("").into();
        params["processId"] = Value::Null;
        let offered = params["capabilities"]["general"]["positionEncodings"].clone();
        editor.handshake(params);
        let chosen = editor.server["capabilities"]["positionEncoding"].clone();
        let fine = chosen.is_null()
            || chosen == "utf-16"
            || offered.as_array().is_some_and(|all| all.contains(&chosen));
        assert!(fine, "{name}: {chosen} of {offered}");
        assert!(
            !editor.server["capabilities"]["textDocumentSync"].is_null(),
            "{name}"
        );
        let tier = &editor.server["capabilities"]["experimental"]["interline"]["tier"];
        assert_eq!(tier, "bare", "{name}");
        editor.open("a.txt");
        editor.replace("a.txt", "two", "😀");
    }
}

#[test]
fn a_bare_client_asks_by_command_and_sees_no_method_of_ours() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::bare());
    let uri = editor.uri("a.txt");
    let arguments = serde_json::json!([{ "text": "shorten", "uri": uri }]);
    let command = serde_json::json!({ "command": "interline.ask", "arguments": arguments });
    editor.request("workspace/executeCommand", command);
    editor.until("the edit", |editor| {
        editor.text("a.txt").contains('2').then_some(())
    });
    editor.until_asked(&model, 3);
}

/// Without a selection, "here" is the line of the cursor.
#[test]
fn a_bare_client_that_asks_without_a_selection_names_the_line() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::bare());
    let place = serde_json::json!({ "line": 1, "character": 0 });
    let range = serde_json::json!({ "start": place, "end": place });
    let asked = serde_json::json!({ "text": "why?", "uri": editor.uri("a.txt"), "range": range });
    editor.command("ask", asked);
    editor.until_asked(&model, 1);
    let prompt = model.last().user_text();
    assert!(prompt.contains("Cursor: line 2, column 1"), "{prompt}");
}

#[test]
fn a_cancelled_turn_survives_the_late_answer_of_its_edit() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = opened(
        &stage,
        &model,
        Profile::plain().conducting(Conduct::Ignores),
    );
    editor.prompt("shorten");
    editor.until("the edit", |editor| editor.held_back.first().cloned());
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    let id = editor.held_back.remove(0);
    editor.answer_late(id, true);
    editor.settle();
}

#[test]
fn a_file_closed_while_its_edit_is_in_flight_stays_intact() {
    let gate = Gate::default();
    let edit = Reply::edit("a.txt", "two", "2").after(&gate);
    let model = Model::steps(vec![Reply::read("a.txt"), edit]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, Profile::plain());
    editor.prompt("shorten");
    editor.until_asked(&model, 2);
    editor.close("a.txt");
    editor.settle();
    gate.open();
    assert_eq!(editor.wait_ended().statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.txt"), "one\n2\nthree\n");
}
