//! Prompts, steps, queue, steering, cancel.

use serde_json::json;

use crate::editor::process::until_dead;
use crate::editor::{Approval, Editor, LIMIT, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n//- /b.txt\nbeta\n//- /c.txt\ngamma\n";

/// ZY-38.
#[test]
fn the_first_prompt_streams_text_and_ends_once() {
    let model = Model::says("Hello, this is a streamed answer.");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.run("hi");
    assert_eq!(turn.stop_reason(), "endTurn");
    assert_eq!(turn.text(), "Hello, this is a streamed answer.");
    assert!(!turn.of("textDelta").is_empty());
    assert!(turn.ended["usage"].is_object());
    assert!(model.last().last_user_text().contains("hi"));
    editor.settle();
}

#[test]
fn text_cut_at_every_byte_arrives_whole() {
    let text = "Grüße 😀 — «ok»";
    let model = Model::start(move |_| Reply::text(text).in_pieces(1));
    let stage = Stage::new(TEXT);
    assert_eq!(stage.editor(&model).run("hi").text(), text);
}

#[test]
fn thinking_is_replayed_with_its_signature_over_three_tool_steps() {
    let step = |path: &str| Reply::read(path).thinking(&format!("I look at {path}"));
    let model = Model::steps(vec![
        step("a.txt"),
        step("b.txt").saying("next"),
        step("c.txt"),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.run("read all");
    assert_eq!(turn.statuses(), ["completed"; 3]);
    assert_eq!(turn.of("thought").len(), 3);
    let history = model.last().raw_text();
    assert_eq!(history.matches("\"signature\"").count(), 3);
}

/// The model learns of the limit before it is reached.
#[test]
fn the_model_is_warned_when_few_steps_are_left() {
    let model = Model::start(|_| Reply::read("a.txt"));
    let stage = Stage::new(TEXT);
    let launch = stage
        .launch(&model)
        .user_setting("limits", json!({ "steps": 12 }));
    let turn = launch.start().run("read on");
    assert_eq!((turn.stop_reason(), model.count()), ("maxSteps", 12));
    let notes = |n: usize| {
        model
            .request(n)
            .raw_text()
            .matches(" steps are left in this turn")
            .count()
    };
    // After the results of the 7th step five are left, after those of the 11th one.
    assert_eq!([notes(6), notes(7), notes(10), notes(11)], [0, 1, 1, 2]);
}

/// OC-50: system text, tools, the history with the new message.
#[test]
fn two_turns_share_one_growing_prefix() {
    let model = Model::steps(vec![Reply::read("a.txt").thinking("hm")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("first");
    let turn = editor.run("second");
    assert!(turn.text().contains("alpha"));
    assert_eq!(model.count(), 4);
    assert!(model.last().user_text().contains("first"));
}

/// ZY-40: results in the order of the calls.
#[test]
fn calls_of_one_message_are_answered_in_their_order() {
    let calls = Reply::read("b.txt").and_call("read", json!({ "path": "a.txt" }));
    let model = Model::steps(vec![calls]);
    let stage = Stage::new(TEXT);
    stage.editor(&model).run("both");
    let results = model.last().results();
    assert!(results[0].1.contains("beta") && results[1].1.contains("alpha"));
}

#[test]
fn the_model_learns_of_unknown_tools_and_broken_arguments() {
    let calls = Reply::call("reed", json!({})).and_call("read", json!({ "path": 7 }));
    let model = Model::steps(vec![calls]);
    let stage = Stage::new(TEXT);
    let turn = stage.editor(&model).run("go");
    assert_eq!(turn.statuses(), ["failed", "failed"]);
    assert!(model.last().results().iter().all(|(_, _, error)| *error));
}

/// K20.
/// ZY-42, K20: the thirty-first is not sent.
#[test]
fn thirty_steps_are_the_limit() {
    let model = Model::start(|request| {
        let pattern = format!("*{}", request.n);
        Reply::call("glob", json!({ "pattern": pattern }))
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    assert_eq!(editor.run("loop").stop_reason(), "maxSteps");
    assert_eq!(model.count(), 30);
}

/// MC-25-C: the number is a setting; K20: reaching it ends the turn with its own reason and a
/// notice, and the model learns of it with the next prompt.
#[test]
fn the_limit_of_steps_is_a_setting() {
    let model = Model::start(|request| {
        let pattern = format!("*{}", request.n);
        Reply::call("glob", json!({ "pattern": pattern }))
    });
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let mut editor = launch.user_setting("limits", json!({ "steps": 3 })).start();
    let turn = editor.run("loop");
    assert_eq!((turn.stop_reason(), model.count()), ("maxSteps", 3));
    let notice = turn.of("notice")[0]["text"].to_string();
    assert!(notice.contains("limit of 3 model requests"), "{notice}");
    let hint = "reached the limit of 3 model requests";
    assert!(!model.last().user_text().contains(hint));
    editor.run("go on");
    assert!(model.request(3).user_text().contains(hint));
}

/// ZY-44-C: an answer of blanks leaves nothing behind.
#[test]
fn a_blank_answer_is_not_stored() {
    let model = Model::plays(vec![Reply::text(" \n "), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("first");
    editor.run("second");
    let messages = model.last().messages().to_vec();
    let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(roles, ["user"], "{messages:?}");
    let log = std::fs::read_to_string(&stage.logs()[0]).unwrap();
    let kept = log
        .lines()
        .filter(|line| line.contains("\"role\":\"assistant\""));
    assert_eq!(kept.count(), 1, "only the second");
}

/// ZY-31: pictures come before the text, in whatever order they were given.
#[test]
fn pictures_stand_before_the_words() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let mut params = editor.turn_params("what is it?");
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    let input = params["input"].as_array_mut().unwrap();
    input.push(picture.clone());
    input.push(picture);
    let turn = editor.request("interline/turn/start", params);
    editor.wait_for_turn(turn["turnId"].as_str().unwrap(), LIMIT);
    let content = model.last().messages()[0]["content"].clone();
    let kinds: Vec<_> = content
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].clone())
        .collect();
    assert_eq!(kinds[..2], ["image", "image"], "{kinds:?}");
    assert!(kinds[2..].iter().all(|kind| kind == "text"), "{kinds:?}");
}

#[test]
fn a_second_prompt_is_refused_or_queued_as_asked() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("ok").after(&held));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let first = editor.prompt("one");
    let mut params = editor.turn_params("two");
    let error = editor.refused("interline/turn/start", params.clone());
    assert_eq!(error["data"]["kind"], "busy");
    params["whenBusy"] = "queue".into();
    let second = editor.request("interline/turn/start", params);
    assert_eq!(second["state"], "queued");
    gate.open();
    let limit = LIMIT;
    let first = editor.wait_for_turn(&first, limit);
    let second = editor.wait_for_turn(second["turnId"].as_str().unwrap(), limit);
    assert!(first.ended["seq"].as_u64() < second.ended["seq"].as_u64());
    assert!(model.last().last_user_text().contains("two"));
}

#[test]
fn a_queued_prompt_can_be_withdrawn() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("ok").after(&held));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.prompt("one");
    let queued = editor.queue("two");
    let params = json!({ "sessionId": editor.session(), "turnId": queued });
    let back = editor.request("interline/turn/dequeue", params);
    assert_eq!(back["input"][0]["text"], "two");
    gate.open();
    editor.wait_ended();
    editor.settle();
    assert_eq!(model.count(), 1);
}

#[test]
fn steering_reaches_the_next_step() {
    let gate = Gate::default();
    let read = Reply::read("a.txt").after(&gate);
    let model = Model::steps(vec![read]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.prompt("go");
    editor.until_asked(&model, 1);
    let input = json!([{ "type": "text", "text": "and mind the gap" }]);
    let params = json!({ "sessionId": editor.session(), "turnId": turn, "input": input });
    editor.request("interline/turn/steer", params.clone());
    gate.open();
    editor.wait_ended();
    assert!(model.last().last_user_text().contains("and mind the gap"));
    let error = editor.refused("interline/turn/steer", params);
    assert_eq!(error["data"]["kind"], "turnEnded");
}

/// Steering is in the log before it is acknowledged: after a restart it is reported when the session
/// is opened, and not sent by itself.
#[test]
fn steering_that_no_step_took_up_is_reported_after_a_kill() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt").after(&held),
        1 => Reply::text("never").after(&Gate::default()),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let (session, turn) = (editor.session(), editor.prompt("go"));
    let steer = |editor: &mut Editor, text: &str| {
        let input = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": session, "turnId": turn, "input": input });
        editor.request("interline/turn/steer", params);
    };
    editor.until_asked(&model, 1);
    steer(&mut editor, "mind the gap");
    gate.open();
    editor.until_asked(&model, 2);
    steer(&mut editor, "mind the step");
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let items = editor.resume(&session)["items"].to_string();
    let turns = items.split("\"kind\":\"started\"").collect::<Vec<_>>();
    assert_eq!(turns.len(), 3, "{items}");
    assert!(turns[1].contains("mind the gap"));
    assert!(turns[2].contains("mind the step") && turns[2].contains("was not sent"));
    editor.run("go on");
    let sent = model.last().raw_text();
    assert!(sent.contains("mind the gap") && !sent.contains("mind the step"));
}

/// Steering during the last answer is answered in the same turn, and does not wait in this process
/// or the next.
#[test]
fn steering_during_the_last_answer_does_not_wait_after_a_restart() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text("first").after(&held),
        _ => Reply::text("second"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let (session, turn) = (editor.session(), editor.prompt("go"));
    editor.until_asked(&model, 1);
    let input = json!([{ "type": "text", "text": "mind the gap" }]);
    let params = json!({ "sessionId": session, "turnId": turn, "input": input });
    editor.request("interline/turn/steer", params);
    gate.open();
    assert_eq!(editor.wait_ended().text(), "firstsecond");
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let items = editor.resume(&session)["items"].to_string();
    assert_eq!(items.matches("mind the gap").count(), 1, "{items}");
    assert!(!items.contains("was not sent"), "{items}");
    assert_eq!(model.count(), 2);
}

#[test]
fn the_same_client_turn_id_is_the_same_turn() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let mut params = editor.turn_params("hi");
    params["clientTurnId"] = "mine".into();
    let first = editor.start(params.clone());
    let second = editor.start(params);
    assert_eq!(first, second);
    editor.wait_ended();
    assert_eq!(model.count(), 1);
}

/// INV-11.
#[test]
fn cancel_during_a_stream_closes_it_and_the_session_continues() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text(&"word ".repeat(50)).pausing(&held),
        _ => Reply::text("again"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.prompt("talk");
    editor.wait_event("a delta", |event| event["type"] == "textDelta");
    assert_eq!(editor.cancel()["cancelled"], json!([turn]));
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    model.wait_for_hang_up();
    assert_eq!(editor.run("more").text(), "again");
}

/// INV-11: the whole tree is killed.
#[test]
fn cancel_during_a_command_kills_its_whole_tree() {
    let command = "sleep 300 & echo $! > pid.tmp; mv pid.tmp pid; sleep 301";
    let model = Model::calls("exec", json!({ "command": command }));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("wait");
    let pid = editor.until("the command", |_| stage.number("pid"));
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    until_dead(pid);
    assert!(editor.process.children().is_empty());
}

#[test]
fn cancel_with_a_pending_approval_ends_the_turn() {
    let model = Model::calls("exec", json!({ "command": "touch out" }));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Never]);
    editor.prompt("go");
    editor.until("the question", |editor| {
        editor.script.asked.first().cloned()
    });
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    assert!(!stage.path("out").exists());
}

/// A mode forbids calls that the model makes anyway.
#[test]
fn plan_mode_edits_nothing_and_says_so() {
    let model = Model::edits("a.txt", "alpha", "omega");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("plan"));
    editor.open("a.txt");
    let turn = editor.run("plan it");
    assert_ne!(turn.statuses()[1], "completed");
    assert_eq!(editor.text("a.txt"), "alpha\n");
    assert!(turn.text().contains("mode"), "{}", turn.text());
}

#[test]
fn search_sees_unsaved_text_and_answers_in_path_order() {
    let model = Model::calls("grep", json!({ "pattern": "needle" }));
    let stage = Stage::new("//- /z.txt\nneedle\n//- /a.txt\nhay\n//- /m.txt\nneedle\n");
    let mut editor = stage.launch(&model).profile(Profile::plain()).start();
    editor.open("a.txt");
    editor.replace("a.txt", "hay", "needle");
    editor.open("z.txt");
    editor.replace("z.txt", "needle", "gone");
    let text = editor.run("find").text();
    let (a, m) = (text.find("a.txt"), text.find("m.txt"));
    assert!(a.is_some() && a < m && !text.contains("z.txt"), "{text}");
}

/// Several threads search, and the answer is the same each time.
#[test]
fn a_search_of_many_folders_shows_the_first_results_in_path_order() {
    let stage = Stage::new(TEXT);
    let path = |n: usize| format!("{}/{}/{n:04}.txt", n / 300, n / 30 % 10);
    for n in 0..2_000 {
        stage.write(&path(n), "needle\n");
    }
    let grep = || Reply::call("grep", json!({ "pattern": "needle" }));
    let glob = || Reply::call("glob", json!({ "pattern": "*.txt" }));
    let model = Model::steps(vec![grep(), glob(), grep(), glob()]);
    stage.editor(&model).run("look");
    let begins = |result: &str, lines: Vec<String>| result.starts_with(&lines.join("\n"));
    for n in [1, 3] {
        let result = model.request(n).result();
        let lines = (0..200).map(|n| format!("{}:1:needle", path(n))).collect();
        assert!(begins(&result, lines), "{result}");
        let result = model.request(n + 1).result();
        assert!(begins(&result, (0..500).map(path).collect()), "{result}");
    }
}

/// An answer is stopped at the user's cost limit; its text is kept and counted.
#[test]
fn an_answer_is_stopped_where_it_costs_too_much() {
    let (gate, text) = (Gate::default(), "and so on ".repeat(6_000));
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text(&text).pausing(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let mut editor = launch.setting("limits", json!({"cost": 0.05})).start();
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "budget");
    let notices = turn.of("notice");
    let notices = notices
        .iter()
        .filter(|it| it["text"].to_string().contains("an estimated"));
    assert_eq!(notices.count(), 1, "{:?}", turn.of("notice"));
    let usage = &turn.ended["usage"];
    assert_eq!(usage["estimated"], true);
    assert!(
        usage["cost"].as_f64().is_some_and(|cost| cost >= 0.05),
        "{usage}"
    );
    assert_eq!(editor.run("and?").stop_reason(), "endTurn");
    let kept = model.last().messages()[1].to_string();
    assert!(turn.text().starts_with("and so on") && kept.contains(&turn.text()));
    gate.open();
}
