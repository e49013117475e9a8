//! Logins to MCP servers: a scripted server that requires one, its login server, and a user whose
//! browser approves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

/// Both servers; they end with their standard input.
struct Place {
    _child: Child,
    folder: tempfile::TempDir,
    url: String,
}

impl Place {
    fn new(mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/login.py");
        let mut child = Command::new("python3")
            .args([script, mode])
            .arg(folder.path().join("record"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut ports = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut ports).expect("its ports");
        let port = ports.split(' ').next().expect("a port");
        Self {
            _child: child,
            folder,
            url: format!("http://127.0.0.1:{port}/mcp"),
        }
    }

    /// A stage whose user has the server `s`.
    fn stage(&self) -> Stage {
        let stage = Stage::new("//- /a.txt\nx\n");
        let path = stage.folder("config/interline/config.toml");
        let entry = format!("[mcpServers.s]\nurl = {:?}\nwaitMs = 20000\n", self.url);
        std::fs::write(path, entry).expect("settings");
        stage
    }

    fn record(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("record")).unwrap_or_default()
    }
}

/// The head of the answer to a plain GET.
fn get(address: &str) -> String {
    let rest = address.strip_prefix("http://").expect("a plain address");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("a connection");
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The user logs in, and the browser goes where it is sent.
fn browse(address: &str) -> String {
    let answer = get(address);
    let back = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "))
        .unwrap_or_else(|| panic!("no way back: {answer}"));
    get(back)
}

/// An editor that opens pages.
fn editor(stage: &Stage, model: &Model) -> Editor {
    let launch = stage.launch(model);
    launch.profile(Profile::rich().showing()).start()
}

fn state(editor: &mut Editor, wanted: &str) -> Value {
    editor.until(wanted, |editor| {
        let server = editor.status()["mcpServers"][0].clone();
        (server["state"] == wanted).then_some(server)
    })
}

fn page(editor: &mut Editor) -> String {
    editor.until("the page", |editor| editor.script.shown.last().cloned())
}

/// Says ok to the first prompt, then calls the server and repeats its result.
fn model() -> Model {
    let through = json!({ "server": "s", "tool": "echo", "arguments": { "text": "inside" } });
    let mut replies = vec![Reply::text("ok"), Reply::call("mcp_call", through)].into_iter();
    Model::start(move |request| {
        let next = replies.next();
        next.unwrap_or_else(|| Reply::text(&request.result()))
    })
}

#[test]
fn a_user_logs_in_by_a_command_and_the_tools_are_there() {
    let (place, model) = (Place::new("good"), model());
    let stage = place.stage();
    let mut editor = editor(&stage, &model);
    let turn = editor.run("hello");
    assert_eq!(turn.stop_reason(), "endTurn");
    let notices = format!("{:?}", turn.of("notice"));
    assert!(notices.contains("interline mcp login s"), "{notices}");
    state(&mut editor, "needsLogin");
    editor.command("mcpLogin", json!({}));
    let page = page(&mut editor);
    assert!(browse(&page).starts_with("HTTP/1.1 200"));
    editor.message("logged in to the MCP server s");
    assert_eq!(state(&mut editor, "ready")["loggedIn"], true);
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("go");
    assert!(turn.text().contains("inside"), "{}", turn.text());
    let shown = format!("{:?}{}", editor.notes, model.last().raw_text());
    assert!(!shown.contains("s3cr3t"), "{shown}");
}

/// INV-10: it is in no log, at any log level.
#[test]
fn inv10_nothing_of_a_login_is_in_a_log() {
    let (place, model) = (Place::new("good"), model());
    let stage = place.stage();
    let launch = stage.launch(&model).var("INTERLINE_LOG", "trace");
    let mut editor = launch.profile(Profile::rich().showing()).start();
    let id = editor.ask("interline/mcp/login", json!({ "server": "s" }));
    let page = page(&mut editor);
    browse(&page);
    editor.answer(id).expect("a login");
    editor.run("hello");
    editor.quit();
    let log = stage.folder("state/interline/logs/interline.log");
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(log.contains("TRACE") && !log.contains("s3cr3t"));
    assert!(!log.contains("code-1") && !log.contains("code_verifier"));
    for file in stage.logs() {
        let text = std::fs::read_to_string(file).expect("a session's log");
        assert!(!text.contains("s3cr3t"));
    }
    assert!(place.record().contains("code_verifier"));
}

/// INV-12: the login waits, not the turn.
#[test]
fn inv12_a_waiting_login_blocks_no_turn_and_can_be_cancelled() {
    let (place, model) = (Place::new("good"), Model::says("ok"));
    let stage = place.stage();
    let mut editor = editor(&stage, &model);
    let id = editor.ask("interline/mcp/login", json!({ "server": "s" }));
    let page = page(&mut editor);
    assert_eq!(editor.run("hello").stop_reason(), "endTurn");
    editor.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(editor.answer(id).expect_err("given up")["code"], -32800);
    let port = page.split("127.0.0.1%3A").nth(1).expect("the way back");
    let port: u16 = port[..port.find('%').expect("a path")].parse().expect("it");
    editor.until("nobody listens", |_| {
        TcpStream::connect(("127.0.0.1", port))
            .is_err()
            .then_some(())
    });
    state(&mut editor, "needsLogin");
}

/// An editor that cannot open pages shows the address.
#[test]
fn a_plain_editor_shows_the_address_of_a_login() {
    let (place, model) = (Place::new("refuses"), Model::says("ok"));
    let stage = place.stage();
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.command("mcpLogin", json!({ "server": "s" }));
    let shown_message = editor.message("open this address in your browser");
    let page = shown_message.rsplit(' ').next().expect("an address");
    assert!(browse(page).contains("You are not logged in"));
    editor.message("access_denied");
}

#[test]
fn logging_out_forgets_the_login() {
    let (place, model) = (Place::new("good"), Model::says("ok"));
    let stage = place.stage();
    let mut editor = editor(&stage, &model);
    let id = editor.ask("interline/mcp/login", json!({ "server": "s" }));
    let page = page(&mut editor);
    browse(&page);
    editor.answer(id).expect("a login");
    editor.run("hello");
    state(&mut editor, "ready");
    editor.request("interline/mcp/logout", json!({ "server": "s" }));
    assert_eq!(state(&mut editor, "needsLogin")["loggedIn"], Value::Null);
}

#[test]
fn the_command_line_logs_in_for_later() {
    let (place, model) = (Place::new("good"), model());
    let stage = place.stage();
    let mut child = Command::new(env!("CARGO_BIN_EXE_interline"))
        .args(["mcp", "login", "s"])
        .env_clear()
        .envs(stage.environment(&model.url()))
        .current_dir(stage.root())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    while !line.starts_with("http://") {
        line.clear();
        assert_ne!(out.read_line(&mut line).expect("a line"), 0);
    }
    browse(line.trim());
    assert!(child.wait().expect("an end").success());
    let mut editor = editor(&stage, &model);
    editor.run("hello");
    assert_eq!(state(&mut editor, "ready")["loggedIn"], true);
}

/// R33: the protocol forbids a login without PKCE.
#[test]
fn a_login_server_that_does_not_announce_pkce_is_refused() {
    let (place, model) = (Place::new("silent-pkce"), Model::says("ok"));
    let stage = place.stage();
    let mut editor = editor(&stage, &model);
    let error = editor.refused("interline/mcp/login", json!({ "server": "s" }));
    assert!(error.to_string().contains("PKCE"), "{error}");
    assert!(!place.record().contains("authorize"), "{}", place.record());
}
