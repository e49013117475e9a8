//! The command line: run, demo, prompt, schema.

use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::editor::LIMIT;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

/// Runs the program to its end, at most [`LIMIT`].
pub fn interline(stage: &Stage, url: &str, args: &[&str]) -> Output {
    interline_in(stage, "", url, args)
}

/// The same from a folder of the workspace.
pub fn interline_in(stage: &Stage, folder: &str, url: &str, args: &[&str]) -> Output {
    ended(start_in(stage, folder, url, args))
}

fn start(stage: &Stage, url: &str, args: &[&str]) -> Child {
    start_in(stage, "", url, args)
}

fn start_in(stage: &Stage, folder: &str, url: &str, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_interline"))
        .args(args)
        .env_clear()
        .envs(stage.environment(url))
        .current_dir(stage.path(folder))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn signal(name: &str, id: u32) {
    let _ = Command::new("kill").args([name, &id.to_string()]).status();
}

fn ended(child: Child) -> Output {
    let deadline = Instant::now() + LIMIT;
    let id = child.id();
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let left = deadline.saturating_duration_since(Instant::now());
        if waiting.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            signal("-9", id);
        }
    });
    // Reads both outputs at once, so that a full pipe never stops the program.
    let output = child.wait_with_output().expect("an end");
    drop(done);
    watch.join().expect("the watch");
    output
}

pub fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

/// An address where nothing listens.
pub const NOWHERE: &str = "http://127.0.0.1:9";

#[test]
fn run_edits_files_and_keeps_their_bytes() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("");
    stage.write("a.txt", "\u{feff}one\r\ntwo");
    let output = interline(&stage, &model.url(), &["run", "--trust", "shorten it"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stage.read("a.txt"), "\u{feff}one\r\n2");
    assert!(text(&output).contains("done"), "{}", text(&output));
}

/// A30: without a terminal every question is a rejection, and exit code 3 names it.
#[test]
fn run_without_a_terminal_rejects_what_it_would_ask() {
    let model = Model::calls("exec", serde_json::json!({ "command": "touch out" }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let output = interline(&stage, &model.url(), &["run", "make it"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(!stage.path("out").exists());
}

#[test]
fn run_without_a_terminal_declines_questions_and_names_them() {
    let question = serde_json::json!({ "question": "Which\nparser?" });
    let model = Model::calls("ask_user", question);
    let stage = Stage::new("//- /a.txt\nx\n");
    let output = interline(&stage, &model.url(), &["run", "parse it"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(
        text(&output).contains("Ask: Which\\nparser?"),
        "{}",
        text(&output)
    );
    assert!(model.last().result().contains("declined"));
}

/// ZE-36.
#[test]
fn an_unknown_mode_on_the_command_line_is_refused() {
    let stage = Stage::new("//- /a.txt\nx\n");
    for args in [
        &["run", "--mode", "yolo", "hi"][..],
        &["prompt", "--mode", "yolo"],
    ] {
        let output = interline(&stage, NOWHERE, args);
        assert!(!output.status.success(), "{}", text(&output));
        assert!(
            text(&output).contains("use agent, ask or plan"),
            "{}",
            text(&output)
        );
    }
}

#[test]
fn run_shows_a_plan_as_a_list_and_how_it_is_carried_out() {
    let todos = serde_json::json!([{ "text": "look", "status": "completed" },
        { "text": "cut", "status": "in_progress" }]);
    let model = Model::calls("write_todos", serde_json::json!({ "todos": todos }));
    let stage = Stage::new("//- /a.txt\nx\n");
    let output = interline(&stage, &model.url(), &["run", "--mode", "plan", "sew"]);
    assert!(output.status.success(), "{}", text(&output));
    let shown = text(&output);
    assert!(shown.contains("- [x] look\n- [>] cut\n"), "{shown}");
    assert!(
        shown.contains("interline run --continue --mode agent"),
        "{shown}"
    );
}

/// How many processes list open documents.
fn cards(stage: &Stage) -> usize {
    let folder = std::fs::read_dir(stage.folder("run").join("interline/open"));
    let files = folder.into_iter().flatten().flatten();
    let names = files.map(|file| file.path());
    names
        .filter(|name| name.extension().is_some_and(|it| it == "json"))
        .count()
}

/// Two processes on one root: no other process writes a file that an editor has open.
#[test]
fn run_leaves_a_file_alone_that_another_process_s_editor_has_open() {
    let model = Model::start(|request| match request.n % 2 {
        0 => Reply::edit("a.txt", "two", "2"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut editor = stage.editor(&model);
    let listed = || cards(&stage);
    let wait_for = |count: usize| {
        let deadline = Instant::now() + LIMIT;
        while listed() != count {
            assert!(Instant::now() < deadline, "{} are listed", listed());
            std::thread::yield_now();
        }
    };
    editor.open("a.txt");
    wait_for(1);
    let args = ["run", "--trust", "shorten it"];
    let output = interline(&stage, &model.url(), &args);
    assert!(text(&output).contains("is open in"), "{}", text(&output));
    assert!(model.last().raw_text().contains("is open in"));
    assert_eq!(stage.read("a.txt"), "one\ntwo\n");
    editor.close("a.txt");
    wait_for(0);
    let output = interline(&stage, &model.url(), &args);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stage.read("a.txt"), "one\n2\n");
}

/// A service manager's or a closed terminal's signal ends the turn in order.
#[test]
fn a_signal_to_run_ends_its_turn() {
    for name in ["-TERM", "-HUP", "-INT"] {
        let gate = Gate::default();
        let model = Model::plays(vec![Reply::text("late").after(&gate)]);
        let stage = Stage::new("//- /a.txt\nx\n");
        let child = start(&stage, &model.url(), &["run", "--json", "hi"]);
        model.wait_for(1);
        signal(name, child.id());
        let output = ended(child);
        assert_eq!(output.status.code(), Some(130), "{name}: {}", text(&output));
        assert!(text(&output).contains("\"cancelled\""), "{}", text(&output));
        gate.open();
    }
}

#[test]
fn run_prints_events_as_json() {
    let model = Model::says("hello");
    // In an untrusted folder with instructions a notice comes too.
    let stage = Stage::new("//- /a.txt\nx\n//- /AGENTS.md\nUse tabs.\n");
    let output = interline(&stage, &model.url(), &["run", "--json", "hi"]);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in lines.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
        assert!(event["params"]["turnId"].is_string(), "{line}");
    }
    assert!(lines.contains("interline/turn/ended"), "{lines}");
    assert!(lines.contains("hello"), "{}", text(&output));
}

/// The given mode applies to a continued session, too.
#[test]
fn run_continues_in_the_given_mode() {
    let model = Model::start(|request| match request.n {
        1 => Reply::call(
            "write",
            serde_json::json!({ "path": "b.txt", "content": "b" }),
        ),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    interline(&stage, &model.url(), &["run", "first"]);
    let second = ["run", "--trust", "--continue", "--mode", "plan", "second"];
    let output = interline(&stage, &model.url(), &second);
    assert!(output.status.success(), "{}", text(&output));
    assert!(model.last().raw_text().contains("first"));
    assert!(!stage.path("b.txt").exists());
}

#[test]
fn run_continues_a_session_with_new_options() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /a.txt\nx\n");
    let first = interline(&stage, &model.url(), &["run", "one"]);
    assert!(first.status.success(), "{}", text(&first));
    let id = stage.logs()[0].file_stem().unwrap().to_owned();
    let id = id.to_string_lossy();
    model.allow_new_epoch();
    let options = ["--mode", "plan", "-m", "anthropic/claude-sonnet-5-5", "two"];
    let args = [&["run", "--session", &id], &options[..]].concat();
    let second = interline(&stage, &model.url(), &args);
    assert!(second.status.success(), "{}", text(&second));
    let request = model.last();
    assert_eq!(request.body()["model"], "claude-sonnet-5-5");
    assert!(request.raw_text().contains("Mode: plan"));
    assert!(request.user_text().contains("one"));
}

#[test]
fn run_says_what_to_do_without_a_key() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interline"));
    command
        .args(["run", "hi"])
        .env_clear()
        .current_dir(stage.root());
    let environment = stage.environment(NOWHERE);
    let kept = environment
        .into_iter()
        .filter(|(name, _)| name != "ANTHROPIC_API_KEY");
    let output = command.envs(kept).stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output).contains("Run: interline login anthropic\n"),
        "{}",
        text(&output)
    );
    assert_eq!(stage.logs().len(), 0);
}

#[test]
fn the_demo_needs_no_key_and_no_network() {
    let stage = Stage::new("");
    let output = interline(&stage, NOWHERE, &["demo"]);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with('-')),
        "a diff: {shown}"
    );
    assert!(
        shown.lines().any(|line| line.starts_with('+')),
        "a diff: {shown}"
    );
    let traced = text(&interline(&stage, NOWHERE, &["demo", "--trace"]));
    assert!(traced.contains("interline/turn/start"), "{traced}");
}

#[test]
fn the_schema_names_every_method() {
    let stage = Stage::new("");
    let output = interline(&stage, NOWHERE, &["schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = schema.to_string();
    for method in [
        "session/new",
        "turn/start",
        "edit/apply",
        "review/decide",
        "editor/query",
    ] {
        assert!(text.contains(&format!("interline/{method}")), "{method}");
    }
}

#[test]
fn prompt_shows_the_segments() {
    let stage = Stage::new("//- /AGENTS.md\nAlways answer in verse.\n");
    let output = interline(&stage, NOWHERE, &["prompt"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("AGENTS.md"), "{}", text(&output));
    assert!(!text(&output).contains("Not used"), "{}", text(&output));
}

#[test]
fn prompt_lists_below_the_table_what_is_not_used_and_what_to_do() {
    let skill = "---\nname: cut\ndescription: Cuts a release.\n---\nTag it.\n";
    let file = "/.agents/skills/cut/SKILL.md";
    let stage = Stage::new(&format!("//- /AGENTS.md\nVerse.\n//- {file}\n{skill}"));
    let output = interline(&stage, NOWHERE, &["prompt"]);
    let shown = text(&output);
    let (table, below) = shown.split_once("\nNot used:\n").expect(&shown);
    assert!(table.contains("; not used: see below"), "{table}");
    assert!(
        below.contains("cut/SKILL.md: ") && below.contains("interline trust"),
        "{below}"
    );
}

/// What is stored is listed, shown and deleted without an editor.
#[test]
fn stored_sessions_are_listed_shown_and_deleted() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let ask = |args: &[&str]| text(&interline(&stage, NOWHERE, &[&["sessions"], args].concat()));
    let run = ["run", "--trust", "shorten it"];
    assert!(interline(&stage, &model.url(), &run).status.success());
    let list = ask(&[]);
    let id = list.split_whitespace().next().expect("a row").to_owned();
    assert!(list.contains("  1 turn  "), "{list}");
    assert_eq!(list.lines().count(), 1);
    let shown = ask(&["show", &id]);
    for part in [
        "\n## You\n\nshorten it\n",
        "a.txt (Completed)\n\n```diff\n",
        "\n-two\n+2\n",
        "\ndone: Changed a.txt",
        "*EndTurn*",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(ask(&["export", &id]), shown);
    assert!(ask(&["delete", &id]).starts_with("Deleted "));
    assert_eq!(ask(&["list"]), "");
    assert!(ask(&["show", &id]).contains("unknown session"));
}

/// What the next message would report, compared with the last request.
#[test]
fn prompt_is_compared_with_the_last_request_of_a_session() {
    let model = Model::says("hello");
    let stage = Stage::new("//- /AGENTS.md\nAlways answer in verse.\n");
    let run = ["run", "--trust", "hi"];
    assert!(interline(&stage, &model.url(), &run).status.success());
    let id = stage.logs()[0].file_stem().unwrap().to_owned();
    let id = id.to_string_lossy();
    let compare = |more: &[&str]| {
        let args = [&["prompt", "--trust", "--diff", &id], more].concat();
        text(&interline(&stage, &model.url(), &args))
    };
    let same = compare(&[]);
    assert!(
        same.contains("no byte of tools and system changes"),
        "{same}"
    );
    stage.write("AGENTS.md", "Always answer in prose.\n");
    let changed = compare(&[]);
    assert!(changed.contains("reports these changes:\n"), "{changed}");
    assert!(changed.contains("AGENTS.md ("), "{changed}");
    let other = compare(&["--layout", "mini"]);
    assert!(other.contains("begins a new epoch"), "{other}");
    assert!(
        other.contains("differs from the last one from byte"),
        "{other}"
    );
}

#[test]
fn one_file_is_trusted_with_its_content_and_forgotten() {
    let stage = Stage::new("//- /.mcp.json\n{}\n//- /a.txt\nx\n");
    let trust = |args: &[&str]| text(&interline(&stage, NOWHERE, &[&["trust"], args].concat()));
    let first = trust(&[".mcp.json"]);
    assert!(first.contains("exactly this content (3 bytes"), "{first}");
    assert!(
        first.contains("applies once its folder is trusted too"),
        "{first}"
    );
    stage.write(".mcp.json", "{ }\n");
    let second = trust(&[".mcp.json"]);
    assert!(
        second.contains("  | -{}") && second.contains("  | +{ }"),
        "{second}"
    );
    let other = trust(&["a.txt"]);
    assert!(
        other.contains("not a file that is trusted by itself"),
        "{other}"
    );
    let forgotten = trust(&["--remove", ".mcp.json"]);
    assert!(
        forgotten.ends_with(".mcp.json is no longer trusted.\n"),
        "{forgotten}"
    );
    assert!(trust(&["gone"]).contains("There is no file or folder"));
    assert!(trust(&["--remove", "gone"]).contains("nor are the files below it"));
}

#[test]
fn trust_is_stored_and_revoked() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\ntwo\n");
    assert!(interline(&stage, NOWHERE, &["trust"]).status.success());
    let mut editor = stage.launch(&model).untrusted().start();
    editor.open("a.txt");
    assert_eq!(editor.run("go").statuses(), ["completed", "completed"]);
    drop(editor);
    assert!(
        interline(&stage, NOWHERE, &["trust", "--remove"])
            .status
            .success()
    );
    let output = interline(&stage, &model.url(), &["run", "go"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}
