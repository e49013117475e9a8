//! `--record` and `replay/FILE`: a session is recorded against a model over real HTTP, and the
//! same prompts replay it without a server.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::editor::{Editor, Launch};
use crate::fixture::{KEY, Stage};
use crate::model::google::{Answer, Google};
use crate::model::{Model, Reply};
use crate::terminal::NOWHERE;

const TEXT: &str = "//- /a.txt\nalpha\nbeta\n";
/// A key of another service, in texts of the user and of the model.
const TOKEN: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

fn configure(stage: &Stage, text: &str) {
    std::fs::write(stage.folder("config/interline/config.toml"), text).expect("settings");
}

fn tape(stage: &Stage) -> PathBuf {
    stage.folder("tape.jsonl")
}

/// An editor that records the model `name` at `url`.
fn recording(stage: &Stage, url: &str, name: &str) -> Editor {
    let tape = tape(stage);
    configure(
        stage,
        &format!("model = '{name}'\nrecord = '{}'\n", tape.display()),
    );
    Launch::new(stage, url)
        .no_options()
        .var("OPENAI_BASE_URL", url)
        .var("OPENAI_API_KEY", KEY)
        .var("GEMINI_BASE_URL", url)
        .var("GEMINI_API_KEY", KEY)
        .start()
}

/// An editor whose model is the recording; no key, and nothing to connect to.
fn playing(stage: &Stage) -> Editor {
    let tape = tape(stage);
    configure(stage, &format!("model = 'replay/{}'\n", tape.display()));
    let nothing = Launch::new(stage, NOWHERE).no_options();
    nothing.var("ANTHROPIC_API_KEY", "").start()
}

fn recorded(stage: &Stage) -> (String, Vec<Value>) {
    let text = std::fs::read_to_string(tape(stage)).expect("the recording");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    (text, lines)
}

/// What a turn did: its text and the resulting buffer.
fn shorten(editor: &mut Editor, prompt: &str) -> (String, String) {
    let turn = editor.run(prompt);
    (turn.text(), editor.text("a.txt").to_owned())
}

fn again(stage: &Stage, url: &str, name: &str) {
    let mut editor = recording(stage, url, name);
    editor.open("a.txt");
    let unsaved = editor.text("a.txt").to_owned() + "gamma\n";
    editor.replace("a.txt", "beta\n", "beta\ngamma\n");
    let first = shorten(&mut editor, "shorten the first word");
    assert_eq!(editor.text("a.txt"), unsaved.replace("alpha", "a"));
    editor.quit();
    let mut editor = playing(stage);
    editor.open("a.txt");
    editor.replace("a.txt", "beta\n", "beta\ngamma\n");
    assert_eq!(shorten(&mut editor, "shorten the first word"), first);
}

fn steps() -> Model {
    Model::start(|request| match request.n {
        0 => Reply::read("a.txt").cut_after(300),
        1 => Reply::read("a.txt").saying("I look.").thinking("Short."),
        2 => Reply::edit("a.txt", "alpha", "a").in_pieces(7),
        _ => Reply::text("done: ä").in_pieces(3),
    })
}

#[test]
fn a_recorded_session_gives_the_same_edit_without_network() {
    for name in [
        "anthropic/claude-opus-5-5",
        "openai/gpt-6.1-sol",
        "openai-chat/deepseek-v4-pro",
    ] {
        let (model, stage) = (steps(), Stage::new(TEXT));
        again(&stage, &model.url(), name);
        assert_eq!(model.count(), 4, "{name}");
        let (text, lines) = recorded(&stage);
        assert!(!text.contains(KEY), "{name}");
        let ends: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["end"].as_str())
            .collect();
        assert_eq!(ends, ["cut", "whole", "whole", "whole"], "{name}");
        assert_eq!(lines.last().expect("lines")["ended"], "closed");
        assert!(
            lines
                .iter()
                .any(|line| line["frame"]["method"] == "interline/turn/start")
        );
    }
}

#[test]
fn gemini_s_answers_are_recorded_too() {
    let edit = json!({ "path": "a.txt", "old_string": "alpha", "new_string": "a" });
    let model = Google::start(move |n, _| match n {
        0 => Answer::calls(&[("read", json!({ "path": "a.txt" }))]),
        1 => Answer::calls(&[("edit", edit.clone())]),
        _ => Answer::text("all is done"),
    });
    let stage = Stage::new(TEXT);
    again(&stage, &model.url(), "gemini/gemini-3.8-flash");
    assert_eq!(model.count(), 3);
}

#[test]
fn a_request_that_differs_is_reported_with_the_difference() {
    let (model, stage) = (steps(), Stage::new(TEXT));
    let mut editor = recording(&stage, &model.url(), "anthropic/claude-opus-5-5");
    editor.open("a.txt");
    editor.run("shorten the first word");
    editor.quit();
    let error = |editor: &mut Editor, prompt: &str| {
        let turn = editor.run(prompt);
        turn.ended["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let mut editor = playing(&stage);
    editor.open("a.txt");
    let other = error(&mut editor, "make it longer");
    assert!(
        other.contains("shorten the first word") && other.contains("make it longer"),
        "{other}"
    );
    let mut editor = playing(&stage);
    editor.open("a.txt");
    editor.replace("a.txt", "alpha", "omega");
    let other = error(&mut editor, "shorten the first word");
    assert!(
        other.contains("result of edit not to be an error"),
        "{other}"
    );
    let mut editor = playing(&stage);
    editor.open("a.txt");
    editor.run("shorten the first word");
    let more = error(&mut editor, "and more");
    assert!(more.contains("has no step"), "{more}");
}

/// A38: no line has keys of the environment or texts shaped like tokens, not even in pieces.
#[test]
fn no_secret_reaches_the_recording() {
    let words = format!("the token is {TOKEN}.");
    let model = Model::start(move |request| match request.n {
        0 => {
            let mut reply = Reply::text(&words);
            reply.delta = 500;
            reply
        }
        1 => {
            let mut reply = Reply::text(&words);
            reply.delta = 5;
            reply
        }
        _ => Reply::unauthorized(),
    });
    let stage = Stage::new(TEXT);
    let mut editor = recording(&stage, &model.url(), "anthropic/claude-opus-5-5");
    editor.run(&format!("keep {TOKEN} for me"));
    editor.run("say it in pieces");
    editor.run("again");
    let secret = json!({ "provider": "anthropic", "secret": "plain-secret-words" });
    editor.request("interline/auth/set", secret);
    editor.quit();
    let (text, lines) = recorded(&stage);
    for secret in [KEY, TOKEN, "plain-secret-words"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let steps: Vec<&Value> = lines
        .iter()
        .filter(|line| line["end"].is_string())
        .collect();
    let said = |n: usize| steps[n].to_string();
    assert!(
        !said(0).contains(TOKEN) && said(0).contains("(removed)"),
        "{}",
        said(0)
    );
    assert_eq!(steps[1]["end"], "secret", "{}", said(1));
    assert_eq!(steps[1]["stream"], json!([]));
    assert!(lines.iter().any(|line| line["refused"]["status"] == 401));
}
