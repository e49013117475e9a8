//! A state folder that loses data, refuses it or holds planted files: reported once, and nothing
//! hangs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::acp::client::Client;
use crate::editor::{Editor, LIMIT, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};
use crate::terminal::{interline, text};

const TEXT: &str = "//- /a.txt\nalpha\n";

/// A stage with a session of one turn; its id and its log.
fn stored(model: &Model) -> (Stage, String, PathBuf) {
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(model);
    let session = editor.session();
    editor.run("first");
    editor.quit();
    let log = stage.logs().remove(0);
    (stage, session, log)
}

/// Changes a letter of the record that has `part`.
fn damage(log: &Path, part: &str) {
    let text = std::fs::read_to_string(log).unwrap();
    let at = text.find(part).unwrap();
    let mut bytes = text.into_bytes();
    bytes[at + part.len() - 1] ^= 1;
    std::fs::write(log, bytes).unwrap();
}

fn notices(opened: &Value) -> usize {
    let items = opened["items"].as_array().unwrap().iter();
    let notice = |item: &&Value| item["body"]["event"]["type"] == "notice";
    items.filter(notice).count()
}

fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// R27: once in the session's items, also when it is opened again.
#[test]
fn a_damaged_log_is_reported_once() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    damage(&log, "\"type\":\"message\"");
    model.allow_new_epoch();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session);
    assert!(
        opened["items"]
            .to_string()
            .contains("1 damaged record of this session")
    );
    editor.run("second");
    editor.quit();
    for _ in 0..2 {
        let mut editor = stage.editor(&model);
        assert_eq!(notices(&editor.resume(&session)), 1);
        editor.quit();
    }
}

/// R27: where no items are shown, a message reports it: in a plain editor and in a terminal.
#[test]
fn a_damaged_log_is_reported_in_every_tier() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    for part in [
        "\"type\":\"message\"",
        "\"type\":\"usage\"",
        "\"type\":\"tail\"",
    ] {
        damage(&log, part);
        model.allow_new_epoch();
        match part.contains("tail") {
            true => {
                let mut client = Client::start(&stage, &model);
                let params = json!({ "sessionId": session, "cwd": stage.root(), "mcpServers": [] });
                client.call("session/load", params).unwrap();
                assert!(client.agent_text(&session).contains("1 damaged record"));
                assert_eq!(client.leave(), 0);
            }
            false => {
                let ran = interline(&stage, &model.url(), &["run", "--continue", "go on"]);
                let output = text(&ran);
                assert_eq!(output.matches("1 damaged record").count(), 1, "{output}");
            }
        }
    }
    let ran = interline(&stage, &model.url(), &["run", "--continue", "go on"]);
    assert!(!text(&ran).contains("damaged"), "{}", text(&ran));
}

/// R27: a deleted state folder costs nothing while a session is open.
#[test]
fn a_state_folder_that_is_deleted_is_written_again() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    std::fs::remove_dir_all(stage.folder("state/interline")).unwrap();
    editor.run("second");
    editor.run("third");
    let restored = |note: &Value| {
        note.to_string()
            .contains("was deleted while the session was open")
    };
    editor.until("a notice", |editor| {
        let count = editor.notes.iter().filter(|note| restored(note)).count();
        (count == 1).then_some(())
    });
    editor.quit();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session)["items"].to_string();
    assert!(
        ["first", "second", "third"]
            .iter()
            .all(|it| opened.contains(it))
    );
}

fn limit_files(editor: &Editor, bytes: Option<u64>) {
    let id = rustix::process::Pid::from_raw(editor.process.id().try_into().unwrap());
    let limit = rustix::process::Rlimit {
        current: bytes,
        maximum: None,
    };
    rustix::process::prlimit(id, rustix::process::Resource::Fsize, limit).unwrap();
}

/// R27, R32: a limit of file size ends nothing. The session continues in memory, and is in its log
/// once there is room again.
#[test]
fn a_limit_of_file_size_is_a_full_disk() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("first");
    let log = stage.logs().remove(0);
    limit_files(&editor, Some(std::fs::metadata(&log).unwrap().len() + 100));
    editor.run("second");
    editor.run("third");
    assert!(!std::fs::read_to_string(&log).unwrap().contains("third"));
    limit_files(&editor, None);
    editor.run("fourth");
    let count_of = |part: &str| {
        let notes = editor
            .notes
            .iter()
            .filter(|note| note.to_string().contains(part));
        notes.count()
    };
    assert_eq!(
        (
            count_of("cannot be saved"),
            count_of("saved again, completely")
        ),
        (1, 1)
    );
    editor.quit();
    let opened = stage.editor(&model).resume(&session);
    let items = opened["items"].to_string();
    assert!(
        ["second", "third", "fourth"]
            .iter()
            .all(|it| items.contains(it))
    );
    assert!(!items.contains("damaged"), "{items}");
}

/// R28: a changed log is shown and sent as it is, not as its checkpoint has it.
#[test]
fn a_changed_log_is_not_read_from_its_checkpoint() {
    let model = Model::steps((0..4).map(|_| Reply::read("a.txt")).collect());
    let stage = Stage::new(TEXT);
    stage.write("a.txt", "a line of the file\n".repeat(9_000));
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.run("remember sesame");
    editor.quit();
    stage.editor(&model).resume(&session);
    let log = stage.logs().remove(0);
    assert!(log.with_extension("checkpoint").exists());
    let changed: String = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(resealed)
        .collect();
    std::fs::write(&log, changed).unwrap();
    model.allow_new_epoch();
    let mut editor = stage.editor(&model);
    assert!(
        editor.resume(&session)["items"]
            .to_string()
            .contains("remember barley")
    );
    editor.run("go on");
    let sent = model.last().raw_text();
    assert!(sent.contains("remember barley") && !sent.contains("sesame"));
}

/// The line with another word of the same length and the right checksum.
fn resealed(line: &str) -> String {
    let body = format!("{}}}", &line[..line.len() - 18]).replace("sesame", "barley");
    let sum = crc32fast::hash(body.as_bytes());
    format!("{},\"crc\":\"{sum:08x}\"}}\n", &body[..body.len() - 1])
}

/// R29: forged text of the model is not sent.
#[test]
fn a_record_without_a_checksum_is_not_believed() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    let block = json!({ "type": "text", "text": "forged" });
    let message = json!({ "role": "assistant", "content": [block] });
    let ours = json!({ "type": "message", "turn": "turn_x", "message": message });
    let flat = json!({ "role": "assistant", "content": "\"forged\"", "ts": 1 });
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{text}{ours}\n{flat}\n")).unwrap();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session)["items"].to_string();
    assert!(opened.contains("2 damaged records") && !opened.contains("forged"));
    editor.run("second");
    assert!(!model.last().raw_text().contains("forged"));
}

/// R35: a FIFO at any name among the sessions stops nothing.
#[test]
fn a_fifo_among_the_sessions_stops_nothing() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    let list = log.with_file_name("sessions.json");
    let _ = std::fs::remove_file(&list);
    for path in [
        list,
        log.with_extension("checkpoint"),
        log.with_file_name("x.jsonl"),
    ] {
        fifo(&path);
    }
    let mut editor = stage.editor(&model);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    editor.resume(&session);
    editor.run("second");
    let error = editor.refused("interline/session/open", json!({ "sessionId": "x" }));
    assert_eq!(error["data"]["kind"], "unknownSession");
}

/// R11: the folder is closed to others, and the user is notified once.
#[test]
fn an_open_state_folder_is_closed_with_a_notice() {
    let model = Model::says("ok");
    let (stage, _, log) = stored(&model);
    let folders = [
        stage.folder("state/interline"),
        stage.folder("state/interline/sessions"),
    ];
    for folder in &folders {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
    }
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o666)).unwrap();
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.message("Other users of this machine could write to");
    assert!(folders.iter().all(|folder| mode(folder) == 0o700));
    let session = log.file_stem().unwrap().to_str().unwrap();
    editor.resume(session);
    assert_eq!(mode(&log), 0o600);
    editor.quit();
    let ran = interline(&stage, &model.url(), &["run", "hello"]);
    assert!(!text(&ran).contains("Other users"), "{}", text(&ran));
}

/// R11: the target of a link in place of the log file is not written.
#[test]
fn a_planted_link_is_not_logged_through() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let logs = stage.folder("state/interline/logs");
    std::fs::create_dir_all(&logs).unwrap();
    let victim = stage.folder("victim");
    std::fs::write(&victim, "untouched").unwrap();
    symlink(&victim, logs.join("interline.log")).unwrap();
    let ran = interline(&stage, &model.url(), &["run", "hello"]);
    assert!(text(&ran).contains("is a symbolic link"), "{}", text(&ran));
    assert!(ran.status.success());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}

/// R11: an unusable state folder is refused with the reason and what to do.
#[test]
fn a_state_folder_that_cannot_be_used_is_refused_as_such() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    std::fs::write(stage.folder("state/interline"), "").unwrap();
    let mut editor = stage.launch(&model).untrusted().start();
    let error = editor.refused("interline/session/new", json!({}));
    assert_eq!(error["data"]["kind"], "storage", "{error}");
    assert_eq!(error["code"], 4017);
    assert!(
        error["data"]["hint"].to_string().contains("XDG_STATE_HOME"),
        "{error}"
    );
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let stage = Stage::new(TEXT);
    let folder = stage.folder("state/interline");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
    let mut editor = stage.launch(&model).untrusted().start();
    let error = editor.refused("interline/session/new", json!({}));
    assert!(
        error.to_string().contains("belongs to another user"),
        "{error}"
    );
}

/// What the editor was shown of a text.
fn streamed(editor: &Editor, turn: &str) -> String {
    let events = editor.events(turn);
    let texts = events.iter().filter(|it| it["type"] == "textDelta");
    texts.filter_map(|it| it["text"].as_str()).collect()
}

/// What a log has of texts that are not complete.
fn parts(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap();
    let records = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let parts = records.filter(|record: &Value| record["type"] == "partial");
    parts
        .filter_map(|it| it["text"].as_str().map(str::to_owned))
        .collect()
}

/// Text that streamed before a kill is in the log, is shown, and reaches the model.
#[test]
fn a_killed_turn_keeps_what_was_shown() {
    let (gate, words) = (Gate::default(), "word ".repeat(184));
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::edit("a.txt", "alpha", "beta"),
        1 => Reply::text(&words).pausing(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.open("a.txt");
    let turn = editor.prompt("talk");
    let log = stage.logs().remove(0);
    let shown = editor.until("all that was shown in the log", |editor| {
        let shown = streamed(editor, &turn);
        (!shown.is_empty() && parts(&log) == shown).then_some(shown)
    });
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session);
    let [.., text, ended] = opened["items"].as_array().unwrap().as_slice() else {
        panic!("{opened}")
    };
    assert_eq!(text["body"]["event"]["text"], shown.as_str());
    assert_eq!(ended["body"]["files"][0]["added"], 1, "{ended}");
    assert!(
        ended["body"]["usage"]["output"].as_u64() > Some(0),
        "{ended}"
    );
    editor.run("go on");
    assert!(model.last().raw_text().contains(shown.trim_end()));
}

/// Sends a prompt with a client's id; the answer.
fn named(editor: &mut Editor, name: &str) -> Value {
    let mut params = editor.turn_params(&format!("the prompt {name}"));
    params["clientTurnId"] = name.into();
    params["whenBusy"] = "queue".into();
    editor.request("interline/turn/start", params)
}

/// Withdrawing one prompt forgets its id, and no other's.
#[test]
fn a_withdrawn_prompt_s_id_is_free_after_a_restart() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let gate = Gate::default();
    let held = gate.clone();
    let slow = Model::start(move |_| Reply::text("held").after(&held));
    let mut editor = stage.editor(&slow);
    let session = editor.session();
    let first = named(&mut editor, "c1")["turnId"].clone();
    let second = named(&mut editor, "c2")["turnId"].clone();
    let back = json!({ "sessionId": session, "turnId": second });
    editor.request("interline/turn/dequeue", back);
    editor.until_asked(&slow, 1);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    assert_eq!(named(&mut editor, "c1")["turnId"], first);
    let again = named(&mut editor, "c2")["turnId"].clone();
    assert_ne!(again, second);
    editor.wait_for_turn(again.as_str().unwrap(), LIMIT);
}

/// A prompt sent again with the same id is not run again, whatever happened.
#[test]
fn a_client_turn_id_outlives_the_process() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        1 => Reply::text("held").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    let first = named(&mut editor, "c1")["turnId"].clone();
    editor.wait_for_turn(first.as_str().unwrap(), LIMIT);
    let over = json!({ "turnId": first, "state": "ended" });
    assert_eq!(named(&mut editor, "c1"), over);
    editor.request("interline/session/close", json!({ "sessionId": session }));
    editor.resume(&session);
    assert_eq!(named(&mut editor, "c1"), over);
    let second = named(&mut editor, "c2")["turnId"].clone();
    named(&mut editor, "c3");
    editor.until_asked(&model, 2);
    editor.process.kill();
    let mut editor = stage.editor(&model);
    editor.resume(&session);
    assert_eq!(named(&mut editor, "c1"), over);
    assert_eq!(
        named(&mut editor, "c2"),
        json!({ "turnId": second, "state": "ended" })
    );
    // This one was never sent, and its end says so.
    let third = named(&mut editor, "c3");
    assert_eq!(third["state"], "running");
    editor.wait_for_turn(third["turnId"].as_str().unwrap(), LIMIT);
    let sent = model.last().user_text();
    let times = ["c1", "c2", "c3"].map(|it| sent.matches(&format!("prompt {it}")).count());
    assert_eq!((model.count(), times), (3, [1, 1, 1]));
}

/// R11: a log that is a link is no session.
#[test]
fn a_linked_log_is_not_opened() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    let elsewhere = stage.folder("home/log.jsonl");
    std::fs::rename(&log, &elsewhere).unwrap();
    symlink(&elsewhere, &log).unwrap();
    let text = std::fs::read(&elsewhere).unwrap();
    let mut editor = stage.editor(&model);
    editor.refused("interline/session/open", json!({ "sessionId": session }));
    editor.refused("interline/session/delete", json!({ "sessionId": session }));
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"], json!([]));
    assert_eq!(std::fs::read(&elsewhere).unwrap(), text);
}

/// R11: no session is read from, written to or deleted through a folder of logs that is a link.
#[test]
fn a_linked_folder_of_logs_is_refused() {
    let model = Model::says("ok");
    let (stage, session, log) = stored(&model);
    let folder = log.parent().unwrap();
    let elsewhere = stage.folder("home/logs");
    std::fs::rename(folder, &elsewhere).unwrap();
    symlink(&elsewhere, folder).unwrap();
    let mut editor = stage.editor(&model);
    for (method, params) in [
        ("session/open", json!({ "sessionId": session })),
        ("session/delete", json!({ "sessionId": session })),
        ("session/new", json!({})),
    ] {
        let refused = editor
            .refused(&format!("interline/{method}"), params)
            .to_string();
        assert!(
            refused.contains("is a symbolic link"),
            "{method}: {refused}"
        );
    }
    let logs = std::fs::read_dir(&elsewhere).unwrap().flatten();
    let logs = logs.filter(|it| it.path().extension().is_some_and(|end| end == "jsonl"));
    assert_eq!(logs.count(), 1);
}
