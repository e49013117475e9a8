//! Instruction files of folders that the work reaches (ET-33), and texts at addresses.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::editor::Editor;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const MONOREPO: &str = "//- /AGENTS.md\nRoot rules.\n//- /packages/foo/AGENTS.md\nFoo rules.\n\
    //- /packages/foo/src/lib.rs\nfn foo() {}\n//- /packages/foo/src/more.rs\nfn more() {}\n\
    //- /packages/bar/lib.rs\nfn bar() {}\n";

fn reads() -> Reply {
    Reply::read("packages/foo/src/lib.rs").thinking("hm")
}

#[test]
fn a_read_brings_the_instructions_of_its_folder_once_et33() {
    let model = Model::steps(vec![reads()]);
    let stage = Stage::new(MONOREPO);
    let mut editor = stage.editor(&model);
    editor.run("look");
    assert!(!model.request(0).raw_text().contains("Foo rules."));
    let prompt = model.request(1).last_user_text();
    assert!(
        prompt.contains("Instructions from: packages/foo/AGENTS.md\nFoo rules."),
        "{prompt}"
    );
    editor.run("look again");
    assert_eq!(model.last().raw_text().matches("Foo rules.").count(), 1);
    assert!(!model.last().system().contains("Foo rules."));
}

/// ET-33-C1: the claim survives the process; a change is announced at the next turn.
#[test]
fn a_resumed_session_remembers_the_instructions_it_was_sent() {
    let model = Model::steps(vec![reads()]);
    let stage = Stage::new(MONOREPO);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("look");
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    editor.run("again");
    assert_eq!(model.last().raw_text().matches("Foo rules.").count(), 1);
    stage.write("packages/foo/AGENTS.md", "Newer rules.\n");
    let params = editor.turn_params("and again");
    let preview = editor.preview(&params);
    assert_eq!(preview["pending"][0]["about"], "instructions", "{preview}");
    let count = model.count();
    editor.start(params);
    editor.wait_ended();
    assert_eq!(preview["request"]["body"], model.request(count).raw_text());
    assert_eq!(model.last().raw_text().matches("Newer rules.").count(), 1);
}

#[test]
fn reads_side_by_side_bring_it_once_and_a_model_switch_brings_it_again_et33_c2() {
    let more = json!({ "path": "packages/foo/src/more.rs" });
    let model = Model::steps(vec![reads().and_call("read", more)]);
    let stage = Stage::new(MONOREPO);
    let mut editor = stage.editor(&model);
    editor.run("look");
    assert_eq!(model.last().raw_text().matches("Foo rules.").count(), 1);
    editor.configure("model", json!("anthropic/claude-sonnet-5-5"));
    model.allow_new_epoch();
    editor.run("look again");
    assert_eq!(model.last().raw_text().matches("Foo rules.").count(), 2);
}

#[test]
fn the_active_documents_folder_adds_its_instructions_to_the_prompt() {
    let model = Model::says("ok");
    let stage = Stage::new(MONOREPO);
    let mut editor = stage.editor(&model);
    let uri = editor.open("packages/foo/src/lib.rs");
    let mut params = editor.turn_params("hi");
    params["context"]["editors"] =
        json!([{ "uri": uri, "version": 1, "active": true, "selections": [] }]);
    let preview = editor.preview(&params);
    editor.start(params);
    editor.wait_ended();
    assert_eq!(preview["request"]["body"], model.last().raw_text());
    assert!(model.last().last_user_text().contains("Foo rules."));
    assert!(!model.last().system().contains("Foo rules."));
}

/// INV-9
#[test]
fn nested_instructions_of_an_untrusted_folder_are_fenced_and_marked() {
    let model = Model::steps(vec![reads()]);
    let stage = Stage::new(MONOREPO);
    let mut editor = stage.launch(&model).untrusted().start();
    editor.run("look");
    let prompt = model.last().last_user_text();
    let block = prompt.find("has not trusted").expect("the mark");
    assert!(
        prompt[block..].contains("```text\nInstructions from: packages/foo/AGENTS.md"),
        "{prompt}"
    );
}

/// Answers every connection with `text`, and counts them.
fn page(text: &'static str) -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "http://{}/rules.md",
        listener.local_addr().expect("its port")
    );
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let length = text.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
            );
        }
    });
    (url, asked)
}

fn preview_text(editor: &mut Editor, fetch: bool) -> String {
    let mut params = editor.turn_params("hi");
    params["fetch"] = fetch.into();
    editor.preview(&params).to_string()
}

/// INV-10, ET-26…28: nothing is fetched before a prompt unless a preview is asked to.
#[test]
fn a_text_at_an_address_of_the_user_is_fetched_with_the_prompt() {
    let (url, asked) = page("Page rules.");
    let asked = || asked.load(std::sync::atomic::Ordering::SeqCst);
    let model = Model::says("ok");
    let stage = Stage::new(MONOREPO);
    let dead = "http://127.0.0.1:1/dead.md";
    let settings = json!([url, dead]);
    let mut editor = stage
        .launch(&model)
        .user_setting("instructions", settings)
        .start();
    let seen = preview_text(&mut editor, false);
    assert!(seen.contains("not fetched yet") && asked() == 0, "{seen}");
    let seen = preview_text(&mut editor, true);
    assert!(
        seen.contains("Page rules.") && seen.contains("cannot connect to"),
        "{seen}"
    );
    editor.run("hi");
    let system = model.last().system();
    assert!(
        system.contains(&format!("Instructions from: {url}\nPage rules.")),
        "{system}"
    );
    assert!(!model.last().raw_text().contains("dead.md"), "no header");
    assert_eq!(asked(), 2);
}

/// ET-51: one that fails is reported once and fetched once; reloading the settings fetches again.
#[test]
fn a_dead_address_is_reported_once_and_delays_no_later_turn() {
    let (url, asked) = page("\0no text");
    let asked = || asked.load(std::sync::atomic::Ordering::SeqCst);
    let (model, stage) = (Model::says("ok"), Stage::new(MONOREPO));
    let launch = stage.launch(&model);
    let mut editor = launch.user_setting("instructions", json!([url])).start();
    let notices_of = |editor: &mut Editor| {
        let turn = editor.run("hi");
        let notices = turn.of("notice").into_iter();
        notices
            .filter(|it| it.to_string().contains("could not be fetched"))
            .count()
    };
    assert_eq!((notices_of(&mut editor), asked()), (1, 1));
    assert_eq!((notices_of(&mut editor), asked()), (0, 1));
    let settings = json!({ "settings": { "interline": { "user": { "instructions": [url] } } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    assert_eq!((notices_of(&mut editor), asked()), (1, 2));
    editor.new_session(json!({}));
    assert_eq!((notices_of(&mut editor), asked()), (1, 3));
}

/// INV-9: an address that a repository can carry is never fetched.
#[test]
fn an_address_of_the_clients_settings_is_not_fetched() {
    let (url, asked) = page("Page rules.");
    let model = Model::says("ok");
    let stage = Stage::new(MONOREPO);
    let mut editor = stage
        .launch(&model)
        .setting("instructions", json!([url]))
        .start();
    let seen = preview_text(&mut editor, true);
    assert!(!seen.contains("Page rules."));
    editor.run("hi");
    assert!(!model.last().raw_text().contains("Page rules."));
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0);
}
