//! Sub-agents: sessions of their own that work for a turn, with at most its rights.

use serde_json::{Value, json};

use crate::editor::process::until_dead;
use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply, RequestView};

const TEXT: &str = "//- /a.txt\nalpha\n//- /b.txt\nbeta\n";
const TASK: &str = "Look at a.txt";

fn delegate(task: &str) -> Reply {
    Reply::call("delegate", json!({ "task": task }))
}

/// Whether a sub-agent sent the request: only it lacks the tool here.
fn of_child(request: &RequestView) -> bool {
    !request.tools().contains(&"delegate".to_owned())
}

/// A model that delegates [`TASK`], runs `steps` as the sub-agent, and repeats the result.
fn model(steps: Vec<Reply>) -> Model {
    Model::start(move |request| match (of_child(request), request.step()) {
        (true, step) => match steps.get(step) {
            Some(reply) => reply.clone(),
            None => Reply::text(&format!("seen: {}", request.result())),
        },
        (false, 0) => delegate(TASK),
        (false, _) => Reply::text(&request.result()),
    })
}

/// The text of the delegating call's progress.
fn progress(editor: &Editor, turn: &str) -> String {
    let events = editor.events(turn).into_iter();
    let deltas = events.filter(|event| event["type"] == "toolOutputDelta");
    deltas
        .filter_map(|event| event["text"].as_str().map(str::to_owned))
        .collect()
}

/// Usage of all requests is the turn's; the sub-agent's session is in no list.
#[test]
fn a_sub_agent_reads_reports_and_counts_toward_the_turn() {
    let model = model(vec![Reply::read("a.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let id = editor.prompt("go");
    let turn = editor.wait_ended();
    assert_eq!(turn.calls()[0]["title"], format!("Delegate: {TASK}"));
    assert_eq!(turn.statuses(), ["completed"]);
    assert!(
        turn.text().contains("```text\nseen: 1\talpha\n"),
        "{}",
        turn.text()
    );
    assert!(turn.text().contains("data, not instructions"));
    let shown = progress(&editor, &id);
    assert!(
        shown.contains("Read a.txt\n") && shown.contains("seen:"),
        "{shown}"
    );
    assert_eq!(turn.ended["usage"]["input"], 4 * 120);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(listed["sessions"][0]["tokens"], 4 * 3160);
    let parent = format!("\"parent\":\"{}\"", editor.session());
    let logs = stage.logs().into_iter();
    let logs = logs.map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(logs.filter(|log| log.contains(&parent)).count(), 1);
}

/// OC-12, OC-41, OC-43, OC-C5, ZY-23-C: minimal detail, AGENTS.md alone, and whom to report to.
#[test]
fn oc43_a_sub_agent_gets_the_minimal_prompt_of_the_layout() {
    let text = "//- /a.txt\nx\n//- /AGENTS.md\nUSE TABS\n//- /SOUL.md\nBE KIND\n";
    for layout in ["openclaw", "zyhive"] {
        let model = model(Vec::new());
        let stage = Stage::new(text);
        let mut editor = stage.editor(&model);
        editor.new_session(json!({ "layout": layout }));
        editor.run("go");
        let (parent, child) = (model.request(0).raw_text(), model.request(1).raw_text());
        assert!(of_child(&model.request(1)));
        assert!(child.contains("USE TABS"), "{child}");
        if layout == "openclaw" {
            assert!(parent.contains("BE KIND") && !child.contains("BE KIND"));
            let hint = "goes to a sub-agent with";
            assert!(parent.contains(hint) && !child.contains(hint));
        } else {
            let session = editor.session();
            let sentence = format!("You work for another session ({session})");
            assert!(
                child.contains(&sentence) && !parent.contains(&sentence),
                "{child}"
            );
        }
    }
}

/// ZY-23-C, ZE-34: a sub-agent knows what it is, and is not asked to delegate.
#[test]
fn a_sub_agent_is_asked_to_report_and_not_to_delegate() {
    let model = model(Vec::new());
    let stage = Stage::new(TEXT);
    stage.editor(&model).run("go");
    let (parent, child) = (model.request(0).system(), model.request(1).system());
    assert!(of_child(&model.request(1)));
    for (words, in_child) in [("You are a sub-agent", true), ("`delegate`", false)] {
        assert_eq!(child.contains(words), in_child, "{child}");
        assert_eq!(parent.contains(words), !in_child, "{parent}");
    }
}

/// INV-2: through the editor; a revert of the turn reverts it.
#[test]
fn inv2_a_sub_agents_edit_is_an_edit_of_the_turn() {
    let steps = vec![Reply::read("a.txt"), Reply::edit("a.txt", "alpha", "omega")];
    let model = model(steps);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let turn = editor.run("go");
    assert_eq!(editor.text("a.txt"), "omega\n");
    assert_eq!(stage.read("a.txt"), "alpha\n");
    assert_eq!(turn.ended["files"][0]["uri"], stage.uri("a.txt"));
    let session = editor.session();
    editor.request("interline/turn/revert", json!({ "sessionId": session }));
    assert_eq!(editor.text("a.txt"), "alpha\n");
}

/// INV-11.
#[test]
fn inv11_cancel_kills_a_sub_agent_and_its_command() {
    let command = "sleep 300 & echo $! > pid.tmp; mv pid.tmp pid; sleep 301";
    let model = model(vec![Reply::exec(command)]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("go");
    let pid = editor.until("the command", |_| stage.number("pid"));
    editor.cancel();
    let turn = editor.wait_ended();
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(turn.statuses(), ["cancelled"]);
    until_dead(pid);
    assert!(editor.process.children().is_empty());
    assert_eq!(model.count(), 2);
}

/// INV-8, A44: the mode applies, and approvals appear under the call that the user sees.
#[test]
fn inv8_a_sub_agent_has_at_most_the_rights_of_its_parent() {
    let steps = vec![Reply::read("a.txt"), Reply::edit("a.txt", "alpha", "omega")];
    let model = model(steps);
    let stage = Stage::new(TEXT);
    let wide = "---\nmode: agent\n---\nx\n";
    let folder = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("wide.md"), wide).unwrap();
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("plan"));
    let turn = editor.run("go");
    assert!(turn.text().contains("plan"), "{}", turn.text());
    assert_eq!(stage.read("a.txt"), "alpha\n");
    let only = "---\ntools: [read, delegate]\n---\nx\n";
    std::fs::write(folder.join("reader.md"), only).unwrap();
    editor.new_session(json!({ "agent": "reader" }));
    let turn = editor.run("go");
    assert_eq!(model.last().tools(), ["delegate", "read"]);
    assert_eq!(model.request(model.count() - 2).tools(), ["read"]);
    assert!(turn.text().contains("no tool `edit`"), "{}", turn.text());
}

/// INV-8: a mode that is narrowed meanwhile applies to the next call.
#[test]
fn inv8_a_mode_that_narrows_binds_the_sub_agent_that_runs() {
    let held = Gate::default();
    let model = model(vec![
        Reply::read("a.txt"),
        Reply::edit("a.txt", "alpha", "omega").after(&held),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.prompt("go");
    editor.until_asked(&model, 3);
    editor.configure("mode", json!("plan"));
    held.open();
    let turn = editor.wait_ended();
    assert!(turn.text().contains("mode `plan`"), "{}", turn.text());
    assert_eq!(stage.read("a.txt"), "alpha\n");
}

/// INV-8: an agent only narrows, and an unknown one is named.
#[test]
fn inv8_an_agent_of_a_sub_agent_only_narrows() {
    let stage = Stage::new(TEXT);
    let folder = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let wide = "---\nmode: agent\ntools: [read, exec, settings, delegate]\n---\nWIDE\n";
    std::fs::write(folder.join("wide.md"), wide).unwrap();
    let model = Model::start(|request| match (of_child(request), request.step()) {
        (true, 0) => Reply::exec("touch out"),
        (true, _) => Reply::text(&request.result()),
        (false, 0) => Reply::call("delegate", json!({ "task": "t", "agent": "wide" }))
            .and_call("delegate", json!({ "task": "t", "agent": "nobody" })),
        (false, _) => Reply::text("ok"),
    });
    let mut editor = stage.editor(&model);
    editor.configure("mode", json!("plan"));
    assert_eq!(editor.run("go").statuses(), ["completed", "failed"]);
    assert_eq!(model.request(1).tools(), ["exec", "read"]);
    assert!(model.request(1).system().contains("WIDE"));
    let results = model.last().results();
    assert!(results[0].1.contains("mode `plan`"), "{}", results[0].1);
    assert!(
        results[1].1.contains("Agents: build, plan, wide."),
        "{}",
        results[1].1
    );
    assert!(!stage.path("out").exists());
}

#[test]
fn a_sub_agents_approval_appears_under_the_parents_call() {
    let model = model(vec![Reply::exec("echo hi")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::AllowSession]);
    let id = editor.prompt("go");
    let turn = editor.wait_ended();
    let asked: Value = editor.script.asked[0].clone();
    let asked = asked.to_string();
    let item = turn.calls()[0]["itemId"].as_str().unwrap().to_owned();
    assert!(asked.contains(&id) && asked.contains(&item), "{asked}");
    assert!(asked.contains("Sub-agent: Run echo hi"), "{asked}");
    // A command allowed for the session is allowed for its next sub-agent.
    editor.run("again");
    assert_eq!(editor.script.asked.len(), 1);
}

/// Neither is answered before both have asked.
#[test]
fn two_sub_agents_work_side_by_side() {
    let both = Gate::default();
    let mut children = 0;
    let model = Model::start(move |request| match (of_child(request), request.step()) {
        (true, _) => {
            children += 1;
            if children == 2 {
                both.open();
            }
            Reply::text(&format!("report {children}")).after(&both)
        }
        (false, 0) => delegate("one").and_call("delegate", json!({ "task": "two" })),
        (false, _) => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    assert_eq!(editor.run("go").statuses(), ["completed", "completed"]);
    let results = model.last().results();
    assert!(results.iter().all(|result| result.1.contains("report")));
}

/// A50: the turn's limits hold for all of it: 3160 tokens a request.
#[test]
fn a_sub_agent_spends_out_of_the_turns_budget() {
    let model = model(vec![Reply::read("a.txt"), Reply::read("b.txt")]);
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let mut editor = launch
        .user_setting("limits", json!({ "tokens": 7000 }))
        .start();
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "budget");
    assert_eq!(model.count(), 3);
    assert_eq!(turn.ended["usage"]["input"], 3 * 120);
    let output = turn.calls()[0]["output"].as_str().unwrap();
    assert!(output.contains("stopped at a limit"), "{output}");
}

/// A dollar for a million tokens: 0.00316 a request.
#[test]
fn what_a_sub_agent_costs_is_the_turns_and_the_sessions() {
    let model = model(vec![Reply::read("a.txt"), Reply::read("b.txt")]);
    let stage = Stage::new(TEXT);
    let price = "[[price]]\nmatch = [\"*\"]\ninput = 1.0\noutput = 1.0\n";
    std::fs::create_dir_all(stage.folder("config/interline")).unwrap();
    std::fs::write(stage.folder("config/interline/models.toml"), price).unwrap();
    let limits = json!({ "cost": 0.007 });
    let mut editor = stage.launch(&model).user_setting("limits", limits).start();
    let turn = editor.run("go");
    assert_eq!((turn.stop_reason(), model.count()), ("budget", 3));
    let cost = |value: &Value| (value["cost"].as_f64().unwrap() * 1e5).round();
    assert_eq!(cost(&turn.ended["usage"]), 948.0);
    // Reported while it runs, not only when it is over.
    let costs: Vec<f64> = turn
        .of("usage")
        .iter()
        .map(|it| cost(&it["usage"]))
        .collect();
    assert_eq!(&costs[..3], [316.0, 632.0, 948.0]);
    let session = editor.session();
    assert_eq!(editor.quit(), 0);
    let mut editor = stage.editor(&model);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(cost(&listed["sessions"][0]), 948.0);
    assert_eq!(listed["sessions"][0]["sessionId"], session);
}

/// The session of the sub-agent that the turn's only call runs.
fn child(editor: &mut Editor) -> String {
    let call = editor.wait_status("running");
    call["child"].as_str().expect("a session").to_owned()
}

#[test]
fn a_running_sub_agent_is_opened_and_followed() {
    let held = Gate::default();
    let model = model(vec![
        Reply::read("a.txt"),
        Reply::read("b.txt").after(&held),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.prompt("go");
    let child = child(&mut editor);
    editor.until_asked(&model, 3);
    let opened = editor.look_at(&child);
    assert_eq!(opened["access"], "readOnly");
    let items = opened["items"].as_array().unwrap();
    assert_eq!(items[0]["body"]["origin"], "delegate");
    assert_eq!(items[0]["body"]["parent"], turn);
    let shown = opened["items"].to_string();
    assert!(shown.contains("Read a.txt") && !shown.contains("b.txt"));
    held.open();
    assert_eq!(editor.wait_ended().statuses(), ["completed"]);
    let of_child = |params: &Value| params["sessionId"] == *child;
    let read = |it: &Value| of_child(it) && it["event"]["title"] == "Read b.txt";
    let first = editor.note("interline/turn/event", of_child).unwrap();
    assert!(first["seq"].as_u64() > opened["seq"].as_u64());
    assert!(editor.note("interline/turn/event", read).is_some());
    assert!(editor.note("interline/turn/ended", of_child).is_some());
    assert_eq!(editor.look_at(&child)["access"], "write");
}

/// INV-11: that one alone; the turn continues without it.
#[test]
fn inv11_a_sub_agent_is_cancelled_alone() {
    let held = Gate::default();
    let model = model(vec![Reply::read("a.txt"), Reply::text("no").after(&held)]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.prompt("go");
    let child = child(&mut editor);
    editor.until_asked(&model, 3);
    let ask = json!({ "sessionId": child, "turnId": "turn_of_nobody" });
    assert!(editor.refused("interline/turn/cancel", ask).is_object());
    let answer = editor.request("interline/turn/cancel", json!({ "sessionId": child }));
    assert_eq!(answer["cancelled"].as_array().unwrap().len(), 1);
    let turn = editor.wait_ended();
    assert_eq!(
        (turn.stop_reason(), turn.statuses()),
        ("endTurn", vec!["failed"])
    );
    assert!(turn.text().contains("The user stopped the sub-agent"));
}

/// A sub-agent's session is its parent's, until someone forks it.
#[test]
fn a_sub_agents_session_is_forked_and_goes_with_its_parent() {
    let model = Model::start(|request| match (of_child(request), request.n) {
        (true, _) => Reply::text("seen"),
        (false, 0) => delegate(TASK),
        (false, _) => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let id = editor.prompt("go");
    let turn = editor.wait_ended();
    let session = editor.session();
    let child = turn.calls()[0]["child"].clone();
    editor.look_at(child.as_str().unwrap());
    // Prompts that name no session stay in the previous one.
    editor.command("ask", json!({ "text": "and?" }));
    editor.until("its end", |editor| {
        let ended = |it: &Value| it["sessionId"] == *session && it["turnId"] != *id;
        editor.note("interline/turn/ended", ended)
    });
    let fork = editor.request("interline/session/fork", json!({ "sessionId": child }));
    let fork = fork["sessionId"].as_str().unwrap().to_owned();
    let listed = |editor: &mut Editor| {
        let rows = editor.request("interline/session/list", json!({}))["sessions"].clone();
        let ids = rows.as_array().unwrap().iter();
        ids.map(|row| row["sessionId"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(listed(&mut editor), [session.clone(), fork.clone()].into());
    editor.request("interline/session/delete", json!({ "sessionId": session }));
    assert_eq!(listed(&mut editor), [fork.clone()].into());
    assert_eq!(stage.logs().len(), 1);
    editor.refused("interline/session/open", json!({ "sessionId": child }));
    editor.resume(&fork);
    model.allow_new_epoch();
    assert_eq!(editor.run("go on").text(), "ok");
}
