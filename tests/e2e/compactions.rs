//! Compaction of a conversation: when, what stays, and what the next process resumes from.

use serde_json::{Value, json};

use crate::editor::turn::Turn;
use crate::editor::{Editor, LIMIT};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply, RequestView};

const SUMMARY: &str =
    "## Task\nMend the cart.\n## State\nThe total is wrong by one.\n## Next\nLook at tax.";
const SHOP: &str = "//- /a.txt\nalpha\n//- /sub/AGENTS.md\nSub uses tabs.\n//- /sub/b.txt\nbeta\n";
const FULL: u64 = 985_000;

/// A request for a summary, by its last words.
fn wants_summary(request: &RequestView) -> bool {
    let words = "Write a summary of the conversation so far";
    request.last_user_text().contains(words) || request.system().contains(words)
}

fn long(word: &str) -> String {
    format!("{word} {}", "and so on ".repeat(2_000))
}

/// Summarises when asked to, else follows the script.
fn model(mut script: impl FnMut(&RequestView) -> Reply + Send + 'static) -> Model {
    Model::start(move |request| match wants_summary(request) {
        true => Reply::text(&format!("{SUMMARY} ({})", request.n)),
        false => script(request),
    })
}

/// Reports in answer `n` that the window is nearly full.
fn filling(n: usize) -> Model {
    model(move |request| match request.n == n {
        true => Reply::text("full").counting(FULL),
        false => Reply::text("ok").counting(20_000),
    })
}

/// The last word of each compaction of the turn.
fn ends(turn: &Turn) -> Vec<String> {
    let all = turn.of("compaction").into_iter();
    let status = all.map(|it| it["status"].as_str().unwrap_or_default().to_owned());
    status.filter(|it| it != "running").collect()
}

fn compact(editor: &mut Editor) -> Value {
    let session = editor.session();
    editor.request("interline/session/compact", json!({"sessionId": session}))
}

/// ZY-39, ZY-50, ZY-93, MC-26-C, K8: after the answer that filled the window, before the turn
/// ends; ZY-32: the next turn begins with the summary and its acknowledgement.
/// ZY-32-C, ZY-51, ZY-52, ZY-53: the model writes it, and it replaces the older messages.
#[test]
fn a_full_window_is_compacted_before_the_turn_ends() {
    let model = filling(1);
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!(ends(&turn), ["completed"], "{:?}", turn.of("compaction"));
    assert_eq!(turn.text(), "full", "the summary is no answer");
    assert!(wants_summary(&model.request(2)));
    // There is room for the request, so it continues the conversation and its cached prefix.
    assert_eq!(model.request(2).system(), model.request(1).system());
    editor.run("third");
    let next = model.last();
    let first = next.messages()[0].to_string();
    assert!(first.contains("[Previous conversation summary]\\n## Task\\nMend"));
    assert_eq!(next.messages()[1]["role"], "assistant");
    assert!(!next.user_text().contains("and so on") && next.user_text().contains("third"));
    assert!(next.user_text().contains("second"), "the newest stay");
}

/// During a turn the prompt stays word for word, and todos, files and instruction files are
/// carried over without the model. Thinking that was bound to the old prompt is gone.
#[test]
fn a_compaction_during_a_turn_keeps_the_prompt_and_its_context() {
    let todos = json!({"todos": [{"text": "count the fruit", "status": "in_progress"}]});
    let model = model(move |request| match request.n {
        0 => Reply::read("sub/b.txt").thinking("hm"),
        1 => Reply::call("write_todos", todos.clone()).thinking("so"),
        2 => Reply::edit("a.txt", "alpha", &long("beta"))
            .thinking("ah")
            .counting(FULL),
        _ => Reply::text("done").counting(30_000),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let turn = editor.run("Mend exactly the 3rd line, please.");
    assert_eq!(
        (ends(&turn), turn.text().as_str()),
        (vec!["completed".into()], "done")
    );
    let after = model.last();
    let (request_text, text) = (after.user_text(), after.raw_text());
    assert!(request_text.contains("Mend exactly the 3rd line, please."));
    assert!(
        request_text.contains("- in_progress: count the fruit"),
        "{request_text}"
    );
    assert!(
        request_text.contains("read: sub/b.txt") && request_text.contains("changed: a.txt"),
        "{request_text}"
    );
    assert!(
        request_text.contains("sub/AGENTS.md") && !request_text.contains("Sub uses tabs."),
        "{request_text}"
    );
    assert!(!text.contains("\"thinking\":\"hm\"") && !text.contains("and so on"));
}

/// The second of two turns, which ends well after one compaction.
fn one_compaction(editor: &mut Editor) -> Turn {
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!(
        (turn.stop_reason(), ends(&turn)),
        ("endTurn", vec!["completed".into()])
    );
    turn
}

/// P07: one compaction, then the same step once more; never the same request twice.
#[test]
fn a_request_that_is_too_long_is_compacted_and_sent_once_more_p07() {
    let model = model(|request| match request.user_text().contains("and so on") {
        true if request.n > 0 => Reply::too_long(),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = one_compaction(&mut editor);
    assert_eq!(turn.of("compaction")[0]["reason"], "overflow");
    // First, second, a summary of the record, second again.
    assert_eq!(model.count(), 4);
    let summary = model.request(2);
    assert_eq!(summary.messages().len(), 1, "not what was too long before");
    assert!(model.last().user_text().contains("second"));
}

#[test]
fn what_stays_too_long_is_an_error_with_numbers_p07() {
    let model = model(|request| match request.n {
        0 => Reply::text("ok"),
        _ => Reply::too_long(),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!(turn.ended["error"]["kind"], "contextWindow");
    let asked = model.count();
    assert!(asked <= 8, "it is not sent again and again: {asked}");
}

/// The model's window may be smaller than its facts say: the record is then sent in smaller parts.
#[test]
fn a_record_that_is_refused_is_summarised_in_smaller_parts_p07() {
    let model = Model::start(|request| {
        let text = request.user_text();
        match wants_summary(request) {
            true if text.len() > 12_000 => Reply::too_long(),
            true => Reply::text(&format!("{SUMMARY} ({})", request.n)),
            false if request.n > 0 && text.contains("and so on") => Reply::too_long(),
            false => Reply::text("ok"),
        }
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!(ends(&turn), ["completed"]);
    assert_eq!(turn.stop_reason(), "endTurn");
    assert!(model.last().user_text().contains("second"));
}

/// OC-54: the window is checked before anything is sent.
#[test]
fn without_compaction_a_full_window_is_an_error_with_numbers() {
    let model = filling(0);
    let stage = Stage::new(SHOP);
    let launch = stage.launch(&model);
    let mut editor = launch.setting("compaction", json!({"auto": false})).start();
    editor.run(&long("first"));
    let turn = editor.run("second");
    let error = turn.ended["error"].to_string();
    assert_eq!(turn.ended["error"]["kind"], "contextWindow");
    assert!(
        error.contains("985") && error.contains("1000000"),
        "{error}"
    );
    assert_eq!(model.count(), 1, "nothing was asked");
    compact(&mut editor);
    assert_eq!(editor.run("third").text(), "ok");
}

/// OC-54: a first prompt that fits no window is an error with numbers; nothing is sent or stored,
/// and the session continues.
#[test]
fn a_first_prompt_that_is_too_long_is_an_error_and_nothing_is_sent() {
    let model = Model::says("ok");
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run(&"and so on ".repeat(450_000));
    assert_eq!(turn.ended["error"]["kind"], "contextWindow");
    let error = turn.ended["error"].to_string();
    assert!(
        error.contains("1000000") && error.contains("Shorten"),
        "{error}"
    );
    assert!(ends(&turn).is_empty() && model.count() == 0);
    assert_eq!(editor.run("short").text(), "ok");
    assert!(!model.last().raw_text().contains("and so on"));
}

/// ZY-32-C: where an answer is the first message that stays, its prompt stays too, so that the
/// summary and its acknowledgement are always a pair.
#[test]
fn the_summary_is_a_pair_where_an_answer_is_the_first_that_stays() {
    let model = model(|request| match request.n {
        0 => Reply::text(&long("one")),
        2 => Reply::text("short").counting(FULL),
        _ => Reply::text("ok").counting(20_000),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    editor.run(&long("second"));
    editor.run("third");
    editor.run("fourth");
    let messages = model.last().messages().to_vec();
    let roles: Vec<&str> = messages
        .iter()
        .filter_map(|it| it["role"].as_str())
        .collect();
    assert_eq!(roles[..3], ["user", "assistant", "user"], "{roles:?}");
    assert!(
        messages[0]
            .to_string()
            .contains("[Previous conversation summary]")
    );
    let heard = messages[1].to_string();
    assert!(!heard.contains("short") && !heard.contains("ok"), "{heard}");
}

/// ZY-55-C: an empty summary is not used; the history stays, byte for byte.
#[test]
fn an_empty_summary_changes_nothing() {
    let model = Model::start(|request| match (wants_summary(request), request.n) {
        (true, _) => Reply::call("read", json!({"path": "a.txt"})),
        (false, 0) => Reply::text("full").counting(FULL),
        _ => Reply::text("ok").counting(FULL + 10),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run(&long("first"));
    assert_eq!((turn.stop_reason(), ends(&turn).len()), ("endTurn", 1));
    let turn = editor.run("second");
    assert!(ends(&turn).is_empty(), "it waits until there is more");
    assert!(model.last().user_text().contains("and so on"));
}

/// ZY-55-C: neither is half a summary, a refusal, or a call.
#[test]
fn an_answer_that_is_no_summary_says_so() {
    for (reply, why) in [
        (
            Reply::text(SUMMARY).stopping("max_tokens"),
            "summary was truncated",
        ),
        (Reply::text("no").stopping("refusal"), "declined"),
        (Reply::text(" "), "no summary"),
        (Reply::read("a.txt").saying("well"), "called a tool"),
    ] {
        let model = Model::start(move |request| match wants_summary(request) {
            true => reply.clone(),
            false => Reply::text("full").counting(FULL),
        });
        let stage = Stage::new(SHOP);
        let mut editor = stage.editor(&model);
        let turn = editor.run(&long("first"));
        let reason = turn.of("compaction").last().expect("its end")["text"].to_string();
        assert_eq!(ends(&turn), ["failed"]);
        assert!(reason.contains(why), "{reason}");
    }
}

/// ZY-55-C: a summary with other headings, or none, is used: weaker models write such ones.
#[test]
fn a_summary_without_the_headings_is_used() {
    let model = Model::start(|request| match (wants_summary(request), request.n) {
        (true, _) => Reply::text("The user is renaming the shop; two files are left."),
        (false, 0) => Reply::text("full").counting(FULL),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run(&long("first"));
    assert_eq!(ends(&turn), ["completed"]);
    model.allow_new_epoch();
    editor.run("second");
    let sent = model.last().raw_text();
    assert!(sent.contains("two files are left") && !sent.contains("and so on"));
}

/// K8: a cancelled compaction changes nothing; a second one runs, and its focus reaches the model.
#[test]
fn cancel_leaves_the_session_as_it_was() {
    let gate = Gate::default();
    let held = gate.clone();
    let mut asked = 0;
    let model = Model::start(move |request| {
        asked += usize::from(wants_summary(request));
        match (wants_summary(request), asked) {
            (true, 1) => Reply::text(SUMMARY).after(&held),
            (true, _) => Reply::text(SUMMARY),
            _ => Reply::text("ok"),
        }
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run(&long("first"));
    let params = json!({"sessionId": session, "focus": "the tax"});
    let id = editor.ask("interline/session/compact", params);
    editor.until_asked(&model, 2);
    assert!(model.last().last_user_text().contains("the tax"));
    // There is room, so the request continues the conversation and its cached prefix.
    assert_eq!(model.last().system(), model.request(0).system());
    editor.cancel();
    assert!(editor.answer(id).is_err());
    assert!(!gate.is_open());
    assert!(editor.run("second").of("compaction").is_empty());
    assert!(model.last().user_text().contains("and so on"));
    compact(&mut editor);
    editor.run("third");
    assert!(!model.last().user_text().contains("and so on"));
}

/// ZY-52-C: the log only grows; ZY-54: a prompt sent meanwhile waits and loses nothing.
#[test]
fn a_prompt_sent_during_a_compaction_continues_from_the_summary() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match wants_summary(request) {
        true => Reply::text(SUMMARY).after(&held),
        false => Reply::text("ok"),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run(&long("first"));
    let log = stage.logs()[0].clone();
    let before = std::fs::read(&log).unwrap();
    let id = editor.ask("interline/session/compact", json!({"sessionId": session}));
    editor.until_asked(&model, 2);
    let waiting = editor.queue("meanwhile");
    gate.open();
    assert!(editor.answer(id).is_ok());
    editor.wait_for_turn(&waiting, LIMIT);
    let next = model.last();
    assert!(next.user_text().contains("[Previous conversation summary]"));
    assert!(next.user_text().contains("meanwhile") && !next.user_text().contains("and so on"));
    assert!(std::fs::read(&log).unwrap().starts_with(&before));
}

/// The next process sends what this one would have sent; a kill before the record leaves the
/// history unchanged.
#[test]
fn a_kill_before_and_after_gives_the_same_request() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match (wants_summary(request), request.n) {
        (true, 1) => Reply::text(SUMMARY).after(&held),
        (true, _) => Reply::text(SUMMARY),
        _ => Reply::text("ok").thinking("hm"),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run(&long("first"));
    let params = json!({"sessionId": session});
    editor.ask("interline/session/compact", params);
    editor.until_asked(&model, 2);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    editor.run("second");
    assert!(model.last().user_text().contains("and so on") && !gate.is_open());
    compact(&mut editor);
    let ask = json!({"sessionId": session, "input": [{"type": "text", "text": "third"}]});
    let before = editor.preview(&ask)["request"]["body"].clone();
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    let after = editor.preview(&ask)["request"]["body"].clone();
    assert_eq!(before, after);
    editor.run("third");
    assert_eq!(model.last().raw_text(), after.as_str().unwrap_or_default());
    assert!(!model.last().user_text().contains("and so on"));
}

/// K7, MC-18, MC-27-C: this layout clears the history and shows the summary as a hint.
#[test]
fn the_mini_layout_clears_its_history() {
    let model = filling(1);
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.new_session(json!({"layout": "mini", "model": "anthropic/claude-opus-5"}));
    editor.run(&long("first"));
    assert_eq!(ends(&editor.run("second")), ["completed"]);
    model.allow_new_epoch();
    editor.run("third");
    let next = model.last();
    assert_eq!(next.messages().len(), 1, "{:?}", next.messages());
    assert!(next.system().contains("[上下文摘要") && next.system().contains("Mend the cart."));
    assert!(next.user_text().contains("third") && !next.user_text().contains("second"));
}

/// A window that is full again after every compaction ends in an error, not in a loop.
#[test]
fn at_most_three_compactions_run_in_a_row() {
    let model = model(|_| Reply::read("a.txt").saying(&long("again")).counting(FULL));
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run(&long("first"));
    assert_eq!(ends(&turn).len(), 3, "{:?}", ends(&turn));
    assert_eq!(turn.ended["error"]["kind"], "contextWindow");
    assert!(turn.ended["error"].to_string().contains("3 times in a row"));
}

/// Loaded skills and memories are read again after it.
#[test]
fn skills_and_memories_are_sent_again() {
    let model = model(|request| match request.n {
        0 => Reply::call("load_skill", json!({"name": "pdf"})),
        1 => Reply::text(&long("full")).counting(FULL),
        _ => Reply::text("ok"),
    });
    let skill = "---\nname: pdf\ndescription: Fills forms.\n---\nUse the blue ink.\n";
    let stage = Stage::new(SHOP);
    let own = stage.folder("config/interline");
    for (name, text) in [
        ("skills/pdf/SKILL.md", skill),
        (
            "memory/topics/preference.md",
            "- [preference] likes green tea\n",
        ),
    ] {
        std::fs::create_dir_all(own.join(name).parent().unwrap()).unwrap();
        std::fs::write(own.join(name), text).unwrap();
    }
    let mut editor = stage.editor(&model);
    editor.run("fill the form");
    assert!(!model.last().last_user_text().contains("A skill in use"));
    editor.run("go on");
    let next = model.last();
    assert!(next.messages()[0].to_string().contains("Use the blue ink."));
    let all = format!("{} {}", next.system(), next.user_text());
    assert!(
        all.contains("Fills forms.") && all.contains("likes green tea"),
        "{all}"
    );
}

/// The sub-agent's history is its own; nothing is compacted after its last answer.
#[test]
fn a_sub_agent_compacts_by_itself_and_its_parent_does_not() {
    let model = model(|request| {
        let child = !request.tools().contains(&"delegate".to_owned());
        match (child, request.step()) {
            (false, 0) => Reply::call("delegate", json!({ "task": long("Look") })),
            (false, _) => Reply::text(&request.result()),
            (true, 0) if request.n == 1 => Reply::read("a.txt").counting(FULL),
            (true, _) => Reply::text("all seen").counting(FULL),
        }
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["completed"]);
    assert!(turn.text().contains("all seen"), "{}", turn.text());
    assert!(ends(&turn).is_empty(), "the parent's history is whole");
    // The parent, the sub-agent, its summary, the sub-agent again, the parent.
    assert!(wants_summary(&model.request(2)));
    assert_eq!(model.count(), 5);
    let logs = stage.logs().into_iter();
    let logs = logs.map(|path| std::fs::read_to_string(path).expect("a log"));
    let shortened = logs.filter(|log| log.contains("\"type\":\"compaction\""));
    assert_eq!(shortened.count(), 1);
}

/// A background command is still known by its item afterwards.
#[test]
fn a_background_command_survives_a_compaction() {
    let model = model(|request| match request.n {
        0 => Reply::call(
            "exec",
            json!({ "command": "sleep 300", "background": true }),
        ),
        1 => Reply::text(&long("serving")).counting(FULL),
        _ => Reply::text("ok").counting(20_000),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.approvals(&[crate::editor::Approval::Allow]);
    let turn = editor.run(&long("serve"));
    let item = turn.calls()[0]["itemId"].as_str().expect("an item");
    editor.run("and?");
    let prompt = model.last().user_text();
    assert!(prompt.contains(&format!("{item}: sleep 300")), "{prompt}");
}

/// A window that fills during an answer: the history is compacted and the answer continues, once.
#[test]
fn an_answer_that_fills_the_window_continues_after_a_compaction() {
    let full = |text: &str| Reply::text(text).stopping("model_context_window_exceeded");
    let model = model(move |request| match request.n {
        0 => Reply::text("ok"),
        1 => full("One half"),
        3 => Reply::text("and the other."),
        _ => full("too much"),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    one_compaction(&mut editor);
    assert!(wants_summary(&model.request(2)) && model.count() == 4);
    let (request_text, all) = (model.last().last_user_text(), model.last().raw_text());
    assert!(
        request_text.contains("Your answer broke off"),
        "{request_text}"
    );
    assert!(all.contains("One half") && all.contains("second"), "{all}");
    editor.run(&long("third"));
    let again = model.count();
    assert_eq!(again, 7, "the third, its summary, and once more");
}

/// A window that fills again at once is an error that gives its size.
#[test]
fn an_answer_that_fills_the_window_twice_is_an_error() {
    let full = || Reply::text("too much").stopping("model_context_window_exceeded");
    let model = model(move |request| match request.n {
        0 => Reply::text("ok"),
        _ => full(),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!((turn.stop_reason(), ends(&turn).len()), ("error", 1));
    assert_eq!(turn.ended["error"]["kind"], "contextWindow");
    assert!(
        turn.ended["error"]["message"]
            .to_string()
            .contains("tokens")
    );
    assert_eq!(model.count(), 4);
}

/// P30: an empty answer is reported, and the next prompt finds a valid history.
#[test]
fn an_empty_answer_is_reported_p30() {
    let model = model(|request| {
        let mut reply = Reply::text("ok");
        if request.n == 0 {
            reply.blocks.clear();
        }
        reply
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    let turn = editor.run("hi");
    assert_eq!(turn.stop_reason(), "endTurn");
    let notices = turn.of("notice");
    let notices = notices
        .iter()
        .any(|it| it["text"].to_string().contains("empty answer"));
    assert!(notices, "{:?}", turn.of("notice"));
    let next = editor.run("hello?");
    assert_eq!((next.text().as_str(), next.of("notice").len()), ("ok", 0));
}

/// ZY-50-C: a layout limits how long a summary may take; one that takes longer changes nothing.
#[test]
fn a_summary_that_takes_too_long_changes_nothing() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match (wants_summary(request), request.n) {
        (true, _) => Reply::text(SUMMARY).after(&held),
        (_, 1) => Reply::text("full").counting(FULL),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(SHOP);
    let layouts = stage.folder("config/interline").join("prompts/layouts");
    std::fs::create_dir_all(&layouts).expect("made");
    let mine = "[compaction]\nseconds = 1\n[[segment]]\nid = \"date\"\nslot = \"tail\"\n";
    std::fs::write(layouts.join("mine.toml"), mine).expect("written");
    let mut editor = stage.editor(&model);
    editor.new_session(json!({"layout": "mine", "model": "anthropic/claude-opus-5"}));
    editor.run(&long("first"));
    let turn = editor.run("second");
    assert_eq!(
        (turn.stop_reason(), ends(&turn)),
        ("endTurn", vec!["failed".into()])
    );
    assert!(
        turn.of("compaction")[1]["text"]
            .to_string()
            .contains("longer than 1 s")
    );
    editor.run("third");
    assert!(
        model.last().user_text().contains("and so on"),
        "all is there"
    );
    gate.open();
}

/// A preview says that the conversation would be compacted first, and a turn does it.
#[test]
fn a_preview_foresees_a_compaction() {
    let model = model(|request| match request.n {
        0 => Reply::text("ok"),
        _ => Reply::text("nearly").counting(if request.n == 1 { 975_000 } else { 20_000 }),
    });
    let stage = Stage::new(SHOP);
    let mut editor = stage.editor(&model);
    editor.run(&long("first"));
    editor.run("second");
    let short = editor.turn_params("third");
    assert!(editor.preview(&short).get("compaction").is_none());
    let prompt = long("third");
    let params = editor.turn_params(&prompt);
    let seen = editor.preview(&params)["compaction"].clone();
    assert_eq!(seen["threshold"], 980_000, "{seen}");
    assert!(
        seen["tokens"].as_u64().is_some_and(|it| it >= 980_000),
        "{seen}"
    );
    let turn = editor.run(&prompt);
    assert_eq!(ends(&turn), ["completed"]);
}
