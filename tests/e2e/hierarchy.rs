//! Instruction files from the user's folder up to the repository's root, through each door, whatever
//! folder was opened; and who is notified that they are not trusted.

use serde_json::{Value, json};

use crate::acp::client::Client;
use crate::editor::answers::Pick;
use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, RequestView};
use crate::terminal::{NOWHERE, interline, interline_in, text};

const SRC: &str = "packages/foo/src/";

/// A repository, with a file above it that belongs to nobody.
fn repository() -> Stage {
    let stage = Stage::new(
        "//- /.git/HEAD\nref: refs/heads/main\n//- /AGENTS.md\nRoot rules.\n\
         //- /packages/foo/AGENTS.md\nFoo rules.\n//- /packages/foo/src/AGENTS.md\nSrc rules.\n\
         //- /packages/bar/AGENTS.md\nBar rules.\n//- /packages/foo/src/lib.rs\nfn foo() {}\n",
    );
    std::fs::write(stage.folder("AGENTS.md"), "Rules above.\n").unwrap();
    stage
}

fn trusted() -> Stage {
    let stage = repository();
    let output = interline(&stage, NOWHERE, &["trust"]);
    assert!(output.status.success(), "{}", text(&output));
    stage
}

/// Where each text is in the system text, `None` where it is not.
fn places(system: &str) -> [Option<usize>; 5] {
    [
        "Root rules.",
        "Foo rules.",
        "Src rules.",
        "Bar rules.",
        "Rules above.",
    ]
    .map(|words| system.find(words))
}

fn check(layout: &str, request: &RequestView) {
    // The layout `mini` has them in the user's message.
    let text = match layout {
        "mini" => request.raw_text(),
        _ => request.system(),
    };
    let [root, package, src, bar, above] = places(&text);
    assert!(
        root.is_some() && package.is_some() && src.is_some(),
        "{layout}"
    );
    assert_eq!((bar, above), (None, None), "{layout}");
    let nearest_last = root < package && package < src;
    assert_eq!(nearest_last, layout != "etcode", "{layout}");
}

/// ET-20, ET-21, ET-35, ET-52, K16: an editor that opened only the innermost folder.
#[test]
fn an_editor_below_the_repository_s_root_gathers_from_the_root_down() {
    let model = Model::says("ok");
    let stage = trusted();
    for layout in ["default", "etcode", "mini", "openclaw", "zeus"] {
        let launch = stage.launch(&model).opening(SRC).untrusted();
        let mut editor = launch.start();
        editor.new_session(json!({ "layout": layout }));
        editor.run("hi");
        check(layout, &model.last());
    }
}

/// ET-20, ET-52, K16: the terminal's folder, as sent and as previewed.
#[test]
fn run_and_prompt_gather_from_the_repository_s_root_down() {
    let model = Model::says("ok");
    let stage = trusted();
    for layout in ["default", "etcode"] {
        let args = ["run", "--layout", layout, "hi"];
        let output = interline_in(&stage, SRC, &model.url(), &args);
        assert!(output.status.success(), "{}", text(&output));
        check(layout, &model.last());
        let args = ["prompt", "--layout", layout, "--prompt", "hi", "--json"];
        let output = interline_in(&stage, SRC, &model.url(), &args);
        let preview: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(preview["request"]["body"], model.last().raw_text());
    }
}

/// ET-20, ET-52, K16, K22: an ACP session in the innermost folder, before and after the user
/// trusts the repository.
#[test]
fn an_acp_session_below_the_repository_s_root_gathers_from_the_root_down() {
    let model = Model::says("ok");
    let stage = repository();
    let prompted = || {
        let mut client = Client::start(&stage, &model);
        let session = client.session(&stage.path("packages/foo/src"));
        client.prompt(&session, "hi");
        model.last()
    };
    let untrusted = prompted();
    assert_eq!(places(&untrusted.system()), [None; 5]);
    let request_text = untrusted.last_user_text();
    assert!(
        request_text.contains("has not trusted this folder"),
        "{request_text}"
    );
    assert!(request_text.contains("Root rules.") && request_text.contains("Src rules."));
    assert!(!request_text.contains("Bar rules.") && !request_text.contains("Rules above."));
    assert!(interline(&stage, NOWHERE, &["trust"]).status.success());
    check("default", &prompted());
}

/// ET-12, K16: the session's directory takes precedence over the opened folder.
#[test]
fn a_session_s_directory_decides_where_the_walk_begins() {
    let model = Model::says("ok");
    let stage = trusted();
    let mut editor = stage.editor(&model);
    editor.run("hi");
    let [_, package, src, ..] = places(&model.last().system());
    assert_eq!((package, src), (None, None));
    editor.new_session(json!({ "cwd": stage.path(SRC), "layout": "etcode" }));
    editor.run("hi");
    check("etcode", &model.last());
}

fn below(stage: &Stage, model: &Model) -> Editor {
    let launch = stage.launch(model).opening("packages/foo/");
    launch.start()
}

/// K22, ET-52: only the opened folder is trusted; the question about the rest comes once, and the
/// preview shows the same.
#[test]
fn whether_to_trust_the_whole_repository_is_asked_once() {
    let model = Model::says("ok");
    let stage = repository();
    let mut editor = below(&stage, &model);
    let params = editor.turn_params("hi");
    let preview = editor.preview(&params);
    let problem = preview["problems"][0]["reason"]
        .as_str()
        .unwrap_or_default();
    assert!(problem.contains("trusts the whole repository"), "{preview}");
    editor
        .script
        .picks
        .push_back(Pick::Titled("Trust the repository"));
    editor.run("hi");
    let (system, request_text) = (model.last().system(), model.last().last_user_text());
    assert!(system.contains("Foo rules.") && !system.contains("Root rules."));
    assert!(
        request_text.contains("has not trusted this folder")
            && request_text.contains("Root rules.")
    );
    editor.message("Interline now trusts");
    editor.new_session(json!({}));
    editor.run("hi");
    let [root, package, ..] = places(&model.last().system());
    assert!(root.is_some() && root < package);
    assert_eq!(editor.script.offered.len(), 1);
}

/// K22: after a no only the opened folder stays trusted, and the question does not come again.
#[test]
fn a_repository_that_is_not_trusted_stays_fenced() {
    let model = Model::says("ok");
    let stage = repository();
    let mut editor = below(&stage, &model);
    editor.script.picks.push_back(Pick::Titled("Not now"));
    for _ in 0..2 {
        editor.new_session(json!({}));
        editor.run("hi");
        assert!(!model.last().system().contains("Root rules."));
        assert!(model.last().raw_text().contains("Root rules."));
    }
    assert_eq!(editor.script.offered.len(), 1);
}

/// A04: above the opened folder, too, no link leads out of the repository, and no special file is
/// opened.
#[test]
fn the_walk_above_the_opened_folder_stays_in_the_repository() {
    let model = Model::says("ok");
    let stage = trusted();
    std::fs::remove_file(stage.path("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink(stage.folder("AGENTS.md"), stage.path("AGENTS.md")).unwrap();
    let fifo = stage.path("packages/AGENTS.md");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(fifo)
            .status()
            .unwrap()
            .success()
    );
    let mut editor = stage.launch(&model).opening(SRC).start();
    editor.run("hi");
    let sent = model.last().raw_text();
    assert!(!sent.contains("Rules above.") && sent.contains("Foo rules."));
    let params = editor.turn_params("hi");
    let problems = editor.preview(&params)["problems"].to_string();
    assert!(problems.contains("leads out") && problems.contains("not a regular file"));
}

const NOTICE: &str = "as unverified text";

fn notices(turn: &crate::editor::turn::Turn) -> usize {
    let notices = turn.of("notice").into_iter();
    notices
        .filter(|event| event.to_string().contains(NOTICE))
        .count()
}

/// K22: an editor with our capabilities reads it once, a plain one as a message.
#[test]
fn every_editor_is_notified_once_of_an_untrusted_folder() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /AGENTS.md\nRules.\n");
    let mut editor = stage.launch(&model).untrusted().start();
    assert_eq!(notices(&editor.run("hi")), 1);
    assert_eq!(notices(&editor.run("again")), 0);
    let launch = stage.launch(&model).profile(Profile::bare());
    let mut editor = launch.untrusted().start();
    editor.command("ask", json!({ "text": "hi" }));
    assert!(editor.message(NOTICE).contains("AGENTS.md"));
    let mut editor = stage.editor(&model);
    assert_eq!(notices(&editor.run("hi")), 0, "trusted");
}

/// K22: so does an ACP client, and whoever runs one prompt in the terminal.
#[test]
fn an_untrusted_folder_is_reported_over_acp_and_in_the_terminal() {
    let model = Model::says("ok");
    let stage = Stage::new("//- /AGENTS.md\nRules.\n");
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    client.prompt(&session, "hi");
    let answer = client.agent_text(&session);
    assert!(answer.contains(NOTICE), "{answer}");
    let output = interline(&stage, &model.url(), &["run", "hi"]);
    assert!(text(&output).contains(NOTICE), "{}", text(&output));
    let output = interline(&stage, &model.url(), &["run", "--trust", "hi"]);
    assert!(!text(&output).contains(NOTICE), "{}", text(&output));
}

/// ET-25: two files are two, also with equal text; the same file is one.
#[test]
fn files_with_equal_text_are_both_shown() {
    let model = Model::says("ok");
    let stage = trusted();
    stage.write("packages/foo/AGENTS.md", "Root rules.\n");
    let args = ["run", "hi"];
    interline_in(&stage, "packages/foo", &model.url(), &args);
    assert_eq!(model.last().system().matches("Root rules.").count(), 2);
}
