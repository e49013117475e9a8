//! Gemini over real HTTP: parallel calls, an edit, cut streams, retries, a crash; and what it
//! costs.

use serde_json::{Value, json};

use crate::editor::{Editor, Launch};
use crate::fixture::{KEY, Stage};
use crate::model::google::{Answer, Google};

pub const TEXT: &str = "//- /a.txt\nalpha\n//- /b.txt\nbeta\n";
/// Of one answer: 600 tokens fresh, 400 from the cache, 40 out, at the price of 3.8 Flash.
const STEP: f64 = (600.0 * 1.5 + 400.0 * 0.15 + 40.0 * 7.5) / 1_000_000.0;

pub fn launch<'a>(stage: &'a Stage, model: &Google) -> Launch<'a> {
    Launch::new(stage, &model.url())
        .var("ANTHROPIC_API_KEY", "")
        .var("GEMINI_BASE_URL", &model.url())
        .var("GEMINI_API_KEY", KEY)
        .setting("model", json!("gemini/gemini-3.8-flash"))
}

pub fn reads() -> Answer {
    let path = |name: &str| json!({ "path": name });
    Answer::calls(&[("read", path("a.txt")), ("read", path("b.txt"))])
}

pub fn edit(old: &str, new: &str) -> Answer {
    let args = json!({ "path": "a.txt", "old_string": old, "new_string": new });
    Answer::calls(&[("edit", args)])
}

fn about(cost: &Value, expected: f64) {
    let cost = cost.as_f64().unwrap_or(f64::NAN);
    assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
}

fn until_asked(editor: &mut Editor, model: &Google, count: usize) {
    editor.until("a request", |_| (model.count() >= count).then_some(()));
}

/// P01, P02, P03: what was read runs once, whatever broke on the way.
#[test]
fn two_turns_survive_cut_streams_a_limit_and_a_kill() {
    let model = Google::start(|n, _| match n {
        0 => reads().cut(),
        1 | 6 => reads(),
        2 => Answer::limited("0.2s"),
        3 => edit("alpha", "gamma"),
        5 => edit("gamma", "never").cut(),
        _ => Answer::text("all is done"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    editor.open("a.txt");
    let session = editor.session();
    let turn = editor.run("first");
    assert_eq!(turn.text(), "all is done");
    assert_eq!(turn.of("retry").len(), 2);
    let done = turn.statuses().into_iter().filter(|it| *it == "completed");
    assert_eq!(done.count(), 3);
    assert_eq!(editor.text("a.txt"), "gamma\n");
    editor.save("a.txt");
    editor.prompt("second");
    until_asked(&mut editor, &model, 6);
    editor.process.kill();
    let mut editor = launch(&stage, &model).start();
    editor.resume(&session);
    assert_eq!(editor.run("third").text(), "all is done");
    assert!(model.contents(6).starts_with(&model.contents(4)));
}

/// P26: attempts that failed are counted too, once each, and a restart forgets nothing.
#[test]
fn a_turn_reports_and_logs_its_cost_with_failed_attempts() {
    let model = Google::start(|n, _| match n {
        0 => reads().cut(),
        1 => reads(),
        _ => Answer::text("done"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let session = editor.session();
    let turn = editor.run("go");
    about(&turn.ended["usage"]["cost"], 3.0 * STEP);
    assert_eq!(turn.ended["usage"]["cacheRead"], 1200);
    let steps = turn.of("usage");
    about(&steps[0]["step"]["cost"], 2.0 * STEP);
    about(&steps[1]["step"]["cost"], STEP);
    about(&steps[1]["usage"]["cost"], 3.0 * STEP);
    editor.quit();
    let mut editor = launch(&stage, &model).start();
    let list = editor.request("interline/session/list", json!({}));
    about(&list["sessions"][0]["cost"], 3.0 * STEP);
    editor.resume(&session);
    editor.run("more");
    about(&editor.status()["sessions"][0]["cost"], 4.0 * STEP);
}

#[test]
fn a_turn_ends_between_steps_when_its_cost_reaches_the_limit() {
    let model = Google::start(|_, _| reads());
    let stage = Stage::new(TEXT);
    let limits = json!({ "cost": 1.5 * STEP });
    let mut editor = launch(&stage, &model).setting("limits", limits).start();
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "budget");
    assert_eq!(model.count(), 2);
    let notices = turn
        .of("notice")
        .into_iter()
        .map(|it| it["text"].to_string());
    assert!(notices.into_iter().any(|text| text.contains("limits.cost")));
    // The next prompt is a turn of its own.
    editor.run("again");
    assert_eq!(model.count(), 4);
}

#[test]
fn a_cost_limit_without_a_known_price_says_so() {
    let model = Google::start(|n, _| if n == 0 { reads() } else { Answer::text("ok") });
    let stage = Stage::new(TEXT);
    let ours = "[[price]]\nmatch = [\"gemini-*\"]\ninput = 1.0\noutput = 1.0\n";
    let config = stage.folder("config/interline/models.toml");
    std::fs::write(&config, ours).expect("the user's prices");
    let limits = || json!({ "cost": 0.001 });
    let mut editor = launch(&stage, &model).setting("limits", limits()).start();
    assert_eq!(editor.run("go").stop_reason(), "budget");
    drop(editor);
    let model = crate::model::Model::steps(vec![crate::model::Reply::read("a.txt")]);
    let launch = Launch::new(&stage, &model.url()).setting("limits", limits());
    let mut editor = launch
        .setting("model", json!("anthropic/of-nobody"))
        .start();
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "endTurn");
    assert_eq!(turn.ended["usage"].get("cost"), None);
    assert_eq!(turn.of("notice").len(), 1);
}
