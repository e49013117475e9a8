//! The Markdown transcript: a chat in an editor without our plugin.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::editor::{Editor, Launch, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\n//- /src/lib.rs\nfn main() {}\n";
/// Edits of a transcript are two seconds apart.
const PATIENT: Duration = Duration::from_secs(20);

fn launch<'a>(stage: &'a Stage, model: &Model) -> Launch<'a> {
    stage.launch(model).profile(Profile::bare().showing())
}

/// Opens the chat from the second line of `a.txt`; the transcript's URI.
fn chat(editor: &mut Editor) -> String {
    let uri = editor.open("a.txt");
    let at = |line: u32| json!({ "line": line, "character": 0 });
    let range = json!({ "start": at(1), "end": at(2) });
    chat_about(editor, json!({ "uri": uri, "range": range }))
}

fn chat_about(editor: &mut Editor, argument: Value) -> String {
    let opened = editor.command("chat", argument);
    let uri = opened["uri"].as_str().unwrap().to_owned();
    let wanted = uri.clone();
    editor.until("the transcript", move |editor| {
        editor.buffers.contains_key(&wanted).then_some(())
    });
    uri
}

/// Waits until the transcript holds `part`.
fn until_transcript_has(editor: &mut Editor, uri: &str, part: &str) -> String {
    editor.until_within(PATIENT, &format!("{part:?} in the transcript"), |editor| {
        let text = &editor.buffers[uri].text;
        text.contains(part).then(|| text.clone())
    })
}

/// Opened by the command alone, after answers that were shown only as messages.
#[test]
fn a_new_transcript_has_the_earlier_answers_of_its_session() {
    let model =
        Model::start(|request| Reply::text(&format!("Answer {}.\n\nIts end.", request.n + 1)));
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    editor.open("a.txt");
    for (prompt, answer) in [("first", "Answer 1."), ("second", "Answer 2.")] {
        editor.command("ask", json!({ "text": prompt, "uri": editor.uri("a.txt") }));
        editor.message(answer);
    }
    let uri = chat_about(&mut editor, json!({}));
    let text = until_transcript_has(&mut editor, &uri, "Answer 2.");
    let turns: Vec<&str> = text.split("## You\n\n").collect();
    assert_eq!(turns.len(), 4, "{text}");
    assert!(turns[1].starts_with("first\n\n"), "{text}");
    assert!(
        turns[1].contains("## Interline\n\nAnswer 1.\n\nIts end.\n"),
        "{text}"
    );
    assert!(
        turns[2].contains("## Interline\n\nAnswer 2.\n\nIts end.\n"),
        "{text}"
    );
    assert_eq!(turns[3], "");
}

/// Helix shows one line of a message.
#[test]
fn a_client_with_one_line_for_messages_learns_where_the_answer_is() {
    let model = Model::says("One.\n\nTwo.");
    let stage = Stage::new(TEXT);
    let helix = Profile::helix().without_plugin();
    let mut editor = stage.launch(&model).profile(helix).start();
    editor.command("ask", json!({ "text": "hi", "uri": editor.uri("a.txt") }));
    editor.message("(interline.chat shows all) One.");
}

#[test]
fn a_chat_is_written_sent_and_answered_in_the_transcript() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    let fresh = editor.buffers[&uri].text.clone();
    assert!(fresh.starts_with("<!-- interline session s_"), "{fresh}");
    assert!(
        fresh.contains("## You\n\na.txt:2\n\n```\ntwo\n```"),
        "{fresh}"
    );
    editor.append(&uri, "Shorten it, please.\n");
    editor.command("send", json!({ "uri": uri }));
    let text = until_transcript_has(&mut editor, &uri, "tokens in");
    let answer = text.split("## Interline\n\n").nth(1).unwrap();
    assert!(answer.contains("- Edit a.txt (+1 −1)"), "{text}");
    assert!(answer.contains("a.txt:2 (+1 −1)"), "{text}");
    assert!(answer.contains("Unsaved: "), "{text}");
    assert!(text.ends_with("\n## You\n\n"), "{text}");
    let asked = model.request(0).user_text();
    assert!(
        asked.contains("a.txt:2\n\n```\ntwo\n```\n\nShorten it"),
        "{asked}"
    );
    let edits = editor.script.edits.len() - 1;
    assert!(edits <= 3, "{edits} edits of the transcript for four items");
}

/// A draft written meanwhile stays below the answer, to the byte, and is sent next.
#[test]
fn a_draft_written_during_the_answer_stays_below_it() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text("First answer.").after(&held),
        _ => Reply::text("Second answer."),
    });
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "One?\n");
    editor.command("send", json!({}));
    editor.until_asked(&model, 1);
    editor.append(&uri, "And tw");
    gate.open();
    editor.append(&uri, "o?");
    let text = until_transcript_has(&mut editor, &uri, "tokens in");
    assert!(text.find("First answer.") < text.find("And two?"), "{text}");
    assert!(
        text.ends_with("## You\n\n\nAnd two?") || text.ends_with("## You\n\nAnd two?"),
        "{text}"
    );
    editor.command("send", json!({}));
    until_transcript_has(&mut editor, &uri, "Second answer.");
    let asked = model.last().user_text();
    assert!(asked.contains("And two?"), "{asked}");
}

/// INV-4 in a transcript: while the user types, nothing is written there, also where a client sends
/// each key at once and edits need no quiet gap.
#[test]
fn nothing_is_written_while_the_user_types_there() {
    let model = Model::says("The answer.");
    let stage = Stage::new(TEXT);
    let profile = Profile::vscode().without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "One?\n");
    editor.command("send", json!({}));
    let begun = Instant::now();
    let (mut last, mut longest) = (begun, Duration::ZERO);
    let mut typed = String::new();
    while begun.elapsed() < Duration::from_secs(4) {
        editor.append(&uri, "k");
        typed.push('k');
        let next = Instant::now() + Duration::from_millis(150);
        editor.until("the next key", |_| (Instant::now() >= next).then_some(()));
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    // A machine that stalled for two seconds gave the user a pause.
    assert!(editor.script.edits.is_empty() || longest > Duration::from_millis(1_800));
    let text = until_transcript_has(&mut editor, &uri, "tokens in");
    assert!(text.contains("The answer."), "{text}");
    assert_eq!(text.matches(&typed).count(), 1, "{text}");
}

#[test]
fn a_transcript_of_an_earlier_process_reopens_its_session() {
    let model = Model::says("Noted.");
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "My colour is teal.\n");
    editor.command("send", json!({}));
    until_transcript_has(&mut editor, &uri, "tokens in");
    editor.save_uri(&uri);
    drop(editor);
    let mut editor = launch(&stage, &model).start();
    editor.open_uri(&uri);
    editor.append(&uri, "Which colour?\n");
    editor.command("send", json!({}));
    editor.until_asked(&model, 2);
    let asked = model.last().user_text();
    assert!(asked.contains("My colour is teal."), "{asked}");
    editor.until_within(PATIENT, "the second answer", |editor| {
        let text = &editor.buffers[&uri].text;
        (text.matches("tokens in").count() == 2).then_some(())
    });
}

/// Without `window/showDocument` a message names the path; while closed it grows on disk.
#[test]
fn a_closed_transcript_grows_on_disk_and_a_message_names_it() {
    let model = Model::says("Hello.");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let uri = editor.open("a.txt");
    let opened = editor.command("chat", json!({ "uri": uri }));
    let shown_message = editor.message("Write under the last heading");
    let path = opened["uri"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap()
        .to_owned();
    assert!(shown_message.contains(&path), "{shown_message}");
    assert!(
        path.starts_with(
            &stage
                .folder("state")
                .canonicalize()
                .unwrap()
                .display()
                .to_string()
        )
    );
    editor.command("ask", json!({ "text": "Say hello.", "uri": uri }));
    let text = editor.until_within(PATIENT, "the answer on disk", |_| {
        let text = std::fs::read_to_string(&path).unwrap();
        text.contains("tokens in").then_some(text)
    });
    assert!(
        text.contains("## You\n\nSay hello.\n\n## Interline\n\nHello.\n"),
        "{text}"
    );
    assert!(text.ends_with("\n## You\n\n"), "{text}");
    assert_eq!(text.matches("## You").count(), 2, "{text}");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_transcript_is_neither_context_nor_found_by_searches() {
    let steps = vec![
        Reply::call("grep", json!({ "pattern": "sesame" })),
        Reply::call("glob", json!({ "pattern": "**/*.md" })),
    ];
    let model = Model::steps(steps);
    let stage = Stage::new(TEXT);
    let launch = launch(&stage, &model).profile(Profile::bare().showing());
    stage_config(&stage, "chatFolder = \"workspace\"\n");
    let mut editor = launch.start();
    let uri = chat(&mut editor);
    let folder = stage.path(".interline/chat");
    assert!(uri.starts_with(&stage.uri(".interline/chat/s_")), "{uri}");
    assert_eq!(
        std::fs::read_to_string(folder.join(".gitignore")).unwrap(),
        "*\n"
    );
    editor.append(&uri, "open sesame");
    editor.save_uri(&uri);
    let file = editor.uri("a.txt");
    editor.command("ask", json!({ "text": "look", "uri": file }));
    editor.until_asked(&model, 3);
    let all = model.last().user_text();
    assert!(
        !all.contains("sesame\n") && !all.contains(".interline"),
        "{all}"
    );
    until_transcript_has(&mut editor, &uri, "tokens in");
}

fn stage_config(stage: &Stage, text: &str) {
    std::fs::write(stage.folder("config/interline/config.toml"), text).unwrap();
}

#[test]
fn a_transcript_has_lenses_actions_and_completion_and_other_files_none() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "See @src/l");
    let lines = editor.buffers[&uri].text.lines().count() as u32;
    let place = |uri: &str, line: u32, character: u32| {
        json!({ "textDocument": { "uri": uri },
            "position": { "line": line, "character": character } })
    };
    let found = editor.request("textDocument/completion", place(&uri, lines - 1, 10));
    assert_eq!(found["items"][0]["label"], "src/lib.rs");
    assert_eq!(
        found["items"][0]["textEdit"]["range"]["start"]["character"],
        5
    );
    let document = json!({ "textDocument": { "uri": uri } });
    let lenses = editor.request("textDocument/codeLens", document);
    assert_eq!(lenses[0]["command"]["command"], "interline.send");
    let other = editor.uri("a.txt");
    let nothing = editor.request("textDocument/completion", place(&other, 0, 1));
    assert_eq!(nothing, Value::Null);
    let document = json!({ "textDocument": { "uri": other } });
    assert_eq!(
        editor.request("textDocument/codeLens", document),
        Value::Null
    );
    let titles = |actions: Vec<Value>| -> String { json!(actions).to_string() };
    assert!(titles(editor.actions("a.txt", 0)).contains("ask in chat"));
}

/// The heading with the lenses moves with each answer; a client that does not announce the refresh
/// is not asked for one.
#[test]
fn lenses_are_asked_for_again_when_the_transcript_grew() {
    for (profile, refreshes) in [
        (
            Profile::neovim().captured("neovim 0.12").without_plugin(),
            true,
        ),
        (Profile::bare().showing(), false),
    ] {
        let model = Model::says("ok");
        let stage = Stage::new(TEXT);
        let mut editor = stage.launch(&model).profile(profile).start();
        let uri = chat(&mut editor);
        editor.append(&uri, "Shorten it, please.\n");
        editor.command("send", json!({ "uri": uri }));
        until_transcript_has(&mut editor, &uri, "tokens in");
        if refreshes {
            editor.until("the lenses to be asked for again", |editor| {
                let first = editor.script.refreshed.first()?;
                (first == "workspace/codeLens/refresh").then_some(())
            });
        } else {
            editor.settle();
            assert!(editor.script.refreshed.is_empty());
        }
    }
}

#[test]
fn a_file_named_with_an_at_is_attached_and_nothing_is_sent_twice() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("ok").after(&held));
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "Explain @src/lib.rs, please.");
    editor.command("send", json!({}));
    editor.until_asked(&model, 1);
    assert!(model.request(0).user_text().contains("fn main() {}"));
    let params = json!({ "command": "interline.send", "arguments": [] });
    let error = editor.refused("workspace/executeCommand", params);
    assert_eq!(error["data"]["kind"], "busy");
    gate.open();
    until_transcript_has(&mut editor, &uri, "tokens in");
    let params = json!({ "command": "interline.send", "arguments": [{ "uri": uri }] });
    let error = editor.refused("workspace/executeCommand", params);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("nothing to send"),
        "{error}"
    );
}

/// MC-29-C: `/help` explains, `/reset` begins a chat without the history, `/exit` closes the
/// session, and none of them reaches the model.
#[test]
fn help_reset_and_exit_are_done_by_the_chat_itself() {
    let model = Model::says("An answer.");
    let stage = Stage::new(TEXT);
    let mut editor = launch(&stage, &model).start();
    let uri = chat(&mut editor);
    editor.append(&uri, "First.\n");
    editor.command("send", json!({ "uri": uri }));
    until_transcript_has(&mut editor, &uri, "tokens in");
    editor.append(&uri, "/help\n");
    editor.command("send", json!({ "uri": uri }));
    editor.message("/reset begins a new chat");
    editor.append(&uri, "/reset\n");
    let made = editor.command("send", json!({ "uri": uri }));
    let fresh = made["uri"].as_str().expect("a chat").to_owned();
    assert_ne!(fresh, uri);
    let shown = fresh.clone();
    editor.until("the new chat", move |editor| {
        editor.buffers.contains_key(&shown).then_some(())
    });
    editor.append(&fresh, "Second.\n");
    editor.command("send", json!({ "uri": fresh }));
    until_transcript_has(&mut editor, &fresh, "tokens in");
    assert!(!model.last().raw_text().contains("First."));
    editor.append(&fresh, "/exit\n");
    let closed = editor.command("send", json!({ "uri": fresh }));
    assert_eq!(
        (closed["command"].as_str(), model.count()),
        (Some("exit"), 2)
    );
    let open = editor.status()["sessions"].to_string();
    assert!(
        !open.contains(made["sessionId"].as_str().unwrap()),
        "{open}"
    );
}
