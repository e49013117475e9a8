//! What an approval shows, in each door: nothing in it is invisible, reordered or out of sight, and
//! its end is there.

use interline::visible::hidden;
use serde_json::{Value, json};

use crate::acp::client::{Answer, Client};
use crate::editor::{Approval, Profile};
use crate::fixture::Stage;
use crate::mcp;
use crate::model::{Model, Reply};
use crate::screen::Tty;

/// A call that tries to show something else than it does.
struct Trick {
    name: &'static str,
    reply: Reply,
    /// What must be shown.
    shows: &'static [&'static str],
}

impl Trick {
    fn new(name: &'static str, reply: Reply, shows: &'static [&'static str]) -> Self {
        Self { name, reply, shows }
    }

    fn command(name: &'static str, text: &str, shows: &'static [&'static str]) -> Self {
        Self::new(name, Reply::exec(text), shows)
    }

    fn path(name: &'static str, path: &str, shows: &'static [&'static str]) -> Self {
        Self::new(name, Reply::read(path), shows)
    }

    /// A new file with this text.
    fn text(name: &'static str, content: &str, shows: &'static [&'static str]) -> Self {
        let input = json!({ "path": "new.txt", "content": content });
        Self::new(name, Reply::call("write", input), shows)
    }
}

fn tricks() -> Vec<Trick> {
    let (far, below) = (" ".repeat(500), "\n".repeat(500));
    let long = "a".repeat(9_000);
    let url = format!(
        "https://example.com/?a={}\u{202e}\u{200b}&end=z",
        "b".repeat(1_500)
    );
    let fetch = Reply::call("web_fetch", json!({ "url": url }));
    let line = "c".repeat(20_000);
    let argument = |text: String| Reply::call("mcp__s__echo", json!({ "text": text }));
    vec![
        Trick::new(
            "a far argument of a server",
            argument(format!("a{far}b\u{202e}c\u{1b}[2J")),
            &["⟨500 blanks⟩", "b\\u{202e}c"],
        ),
        Trick::new(
            "a long argument of a server",
            argument(format!("{long} end of it")),
            &["end of it"],
        ),
        Trick::command(
            "far right",
            &format!("ls{far}; rm x"),
            &["⟨500 blanks⟩", "; rm x"],
        ),
        Trick::command(
            "far below",
            &format!("ls{below}rm x"),
            &["⟨500 line ends⟩", "rm x"],
        ),
        Trick::command(
            "a long command",
            &format!("echo {long}; rm x"),
            &["echo a", "a; rm x"],
        ),
        Trick::path("reordered", "../a\u{202e}txt.exe", &["a\\u{202e}txt.exe"]),
        Trick::path(
            "invisible",
            "../a\u{200b}\u{e0041}.txt",
            &["a\\u{200b}\\u{e0041}.txt"],
        ),
        Trick::path(
            "a far end",
            &format!("../a{}b", &far[..200]),
            &["⟨200 blanks⟩ b"],
        ),
        Trick::new("an address", fetch, &["https://example.com/?a=b", "&end=z"]),
        Trick::text(
            "a far payload",
            &format!("a{far}; rm x\n"),
            &["⟨500 blanks⟩ ; rm x"],
        ),
        Trick::text(
            "reordered text",
            "a\u{202e}b\u{1b}[2Jc\n",
            &["a\\u{202e}b\\u{1b}[2Jc"],
        ),
        Trick::text("the end", &format!("{line}\nrm x\n"), &["cc", "rm x"]),
    ]
}

/// The texts of a message, wherever they are in it.
fn texts(of: &Value, out: &mut Vec<String>) {
    match of {
        Value::String(text) => out.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|it| texts(it, out)),
        Value::Object(all) => all.values().for_each(|it| texts(it, out)),
        _ => {}
    }
}

fn displayed(of: &[&Value]) -> Vec<String> {
    let mut out = Vec::new();
    of.iter().for_each(|it| texts(it, &mut out));
    out
}

/// Where the call happens: there is a server only for its own tool.
fn stage(trick: &Trick) -> Stage {
    match trick.name.contains("argument") {
        true => mcp::stage(&[], mcp::WAIT),
        false => Stage::new("//- /a.txt\nx\n"),
    }
}

fn plugin(trick: &Trick) -> Vec<String> {
    let model = Model::steps(vec![trick.reply.clone()]);
    let stage = stage(trick);
    let mut editor = stage.launch(&model).untrusted().start();
    editor.approvals(&[Approval::Reject]);
    editor.run("go");
    let asked = &editor.script.asked[0];
    let parts = ["title", "reason", "remember", "about", "content", "choices"];
    displayed(&parts.map(|part| &asked[part]))
}

fn plain(trick: &Trick) -> Vec<String> {
    let model = Model::steps(vec![trick.reply.clone()]);
    let stage = stage(trick);
    let profile = Profile::rich().without("approvals");
    let launch = stage.launch(&model).profile(profile);
    let mut editor = launch.untrusted().start();
    editor.approvals(&[Approval::Reject]);
    editor.run("go");
    displayed(&[&editor.script.asked[0]])
}

fn acp(trick: &Trick) -> Vec<String> {
    let model = Model::steps(vec![trick.reply.clone()]);
    let stage = stage(trick);
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Takes("reject_once"));
    let session = client.session(&stage.root());
    client.prompt(&session, "go");
    let asked = &client.permissions[0].1;
    let call = &asked["toolCall"];
    displayed(&[&call["title"], &call["content"], &asked["options"]])
}

fn terminal(trick: &Trick) -> Vec<String> {
    let model = Model::steps(vec![trick.reply.clone()]);
    let stage = stage(trick);
    let mut tty = Tty::start(
        &stage,
        &model.url(),
        200,
        &[("NO_COLOR", "1")],
        &["run", "go"],
    );
    tty.sees("Allow? [y]es");
    tty.types("n\n");
    let (_, _, lines) = tty.ends();
    // What is wider than the terminal is continued on the next line.
    vec![lines.concat()]
}

type Door = (&'static str, fn(&Trick) -> Vec<String>);

const DOORS: [Door; 4] = [
    ("plugin", plugin),
    ("plain", plain),
    ("acp", acp),
    ("terminal", terminal),
];

/// A40, A41: in each door.
#[test]
fn a40_an_approval_shows_everything_that_would_happen() {
    for trick in tricks() {
        for (door, ask) in DOORS {
            let shown = ask(&trick);
            let about = format!("{}, {door}: {shown:?}", trick.name);
            let hides = |c: char| hidden(c) && !matches!(c, '\n' | '\t');
            assert!(!shown.iter().any(|text| text.contains(hides)), "{about}");
            let wide = " ".repeat(130);
            assert!(!shown.iter().any(|text| text.contains(&wide)), "{about}");
            let all = shown.join("\n");
            for part in trick.shows {
                assert!(all.contains(part), "{part} is not shown: {about}");
            }
        }
    }
}
