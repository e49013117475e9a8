//! Web pages: what needs approval, what comes back, and which addresses are refused.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

/// A site on loopback: `/` is a page, `/away` leads to another site.
struct Site {
    address: String,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let paths = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&paths);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut line = String::new();
                let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                let _ = reader.read_line(&mut line);
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let (head, body) = match path.as_str() {
                    "/odd" => ("200 OK\r\ncontent-type: text/html", ODD),
                    "/odd.txt" => ("200 OK\r\ncontent-type: text/plain", ODD),
                    "/away" => ("302 Found\r\nlocation: https://other.example.com/x", ""),
                    _ => (
                        "200 OK\r\ncontent-type: text/html",
                        "<title>Guide</title><p>Say <b>sesame</b>.",
                    ),
                };
                seen.lock().expect("no panic").push(path);
                let _ = write!(stream, "HTTP/1.1 {head}\r\nconnection: close\r\n");
                let _ = write!(stream, "content-length: {}\r\n\r\n{body}", body.len());
            }
        });
        Self { address, paths }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn fetch(&self, path: &str) -> Reply {
        Reply::call("web_fetch", json!({ "url": self.url(path) }))
    }

    fn paths(&self) -> Vec<String> {
        self.paths.lock().expect("no panic").clone()
    }

    fn editor(&self, stage: &Stage, model: &Model) -> Editor {
        let launch = stage.launch(model);
        launch
            .user_setting("fetch", json!({ "local": [self.address] }))
            .start()
    }
}

/// Controls terminals, reorders, hides.
const ODD: &str = "<title>Od\u{1b}]0;d\u{7}d</title><p>Say\u{0} \u{1b}[2Jses\u{9b}1A\u{202e}ame.";

/// A page's control characters reach neither the model nor the user, and what hides is shown.
#[test]
fn a_page_steers_no_terminal_and_hides_nothing_from_the_user() {
    let site = Site::start();
    let model = Model::steps(vec![site.fetch("/odd"), site.fetch("/odd.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = site.editor(&stage, &model);
    editor.approvals(&[Approval::AllowSession]);
    let turn = editor.run("read it");
    let harmless = |c: char| matches!(c, '\n' | '\t');
    for (n, call) in turn.calls().into_iter().enumerate() {
        let result = model.request(n + 1).result();
        let controls = |c: char| c.is_control() && !harmless(c);
        assert!(!result.contains(controls), "{result:?}");
        assert!(
            result.contains("]0;d") && result.contains("[2Jses"),
            "{result:?}"
        );
        let shown = call["output"].as_str().expect("an output");
        let hidden = |c: char| interline::visible::hidden(c) && !harmless(c);
        assert!(!shown.contains(hidden), "{shown:?}");
        assert!(shown.contains("\\u{202e}ame."), "{shown:?}");
    }
}

const TEXT: &str = "//- /a.txt\nalpha\n";

#[test]
fn a_page_is_asked_for_once_a_site_and_comes_as_markdown_mc15_a34() {
    let site = Site::start();
    let model = Model::steps(vec![
        site.fetch("/a?q=1"),
        site.fetch("/b"),
        site.fetch("/away"),
        site.fetch("/c?key=AKIAIOSFODNN7EXAMPLE"),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = site.editor(&stage, &model);
    editor.approvals(&[Approval::AllowSession, Approval::Reject]);
    let turn = editor.run("read the guide");
    let asked = &editor.script.asked;
    assert_eq!(
        asked[0]["subject"],
        json!({ "kind": "fetch", "url": site.url("/a?q=1") })
    );
    let remember = asked[0]["remember"].as_str().unwrap_or_default();
    assert!(remember.contains(&site.address), "{remember}");
    assert_eq!(asked[1].get("remember"), None, "a key in an address");
    assert_eq!(
        turn.statuses(),
        ["completed", "completed", "failed", "rejected"]
    );
    assert_eq!(site.paths(), ["/a?q=1", "/b", "/away"]);
    let sent = |n: usize| String::from_utf8_lossy(&model.request(n).raw).into_owned();
    assert!(sent(1).contains("# Guide") && sent(1).contains("Say **sesame**."));
    assert!(
        sent(3).contains("https://other.example.com/x"),
        "{}",
        sent(3)
    );
}

#[test]
fn this_machine_is_not_the_web_and_a_repository_cannot_make_it_so_a33() {
    let site = Site::start();
    let model = Model::steps(vec![site.fetch("/")]);
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model);
    let mut editor = launch
        .setting("fetch", json!({ "local": [site.address] }))
        .start();
    editor.allow("window/showMessage");
    let turn = editor.run("look");
    assert_eq!(turn.statuses(), ["failed"]);
    assert!(editor.script.asked.is_empty() && site.paths().is_empty());
    let sent = String::from_utf8_lossy(&model.last().raw).into_owned();
    assert!(sent.contains("fetch.local"), "{sent}");
}
