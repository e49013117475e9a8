//! `interline demo`: a prompt becomes a versioned edit in a buffer while you watch. Starts
//! this binary as a language server, acts as its editor, and plays a recorded model on a sample
//! project. Needs no key and no network; any deviation fails the demo visibly.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::client::Client;
use super::markup::{PLAIN, diff, wrapped};
use super::stream::Stream;
use super::{look, print, print_lines, print_part, print_wrapped, segments};
use crate::conversation::sha256;
use crate::edit::unified_diff::unified_with;
use crate::env::Env;
use crate::session::PromptPreview;
use crate::workspace::Uri;

#[derive(clap::Args)]
pub struct DemoArgs {
    /// Print every frame on the wire.
    #[arg(long)]
    trace: bool,
    /// Play this recording instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
}

const PROMPT: &str = "The discount in cart.sh is ten times too large. Fix it and run the check.";

/// The files on disk.
const CART: &str = include_str!("demo/cart.sh");
const AGENTS: &str = include_str!("demo/AGENTS.md");
const CHECK: &str = include_str!("demo/check.sh");

/// What precedes the lines of a tool call.
const INDENT: &str = "      ";

/// Unsaved text that the user typed: the agent must see it.
const UNSAVED: &str = "# TODO(me): free shipping above 50.00\n";
/// What the user types while the agent's edit is in flight.
const TYPED: &str = "#!/bin/sh\n\n";

/// Plays the demo. The exit code is 0 only if the buffer, the file and the check end as they
/// should.
pub fn demo(_env: &Env, args: &DemoArgs) -> anyhow::Result<i32> {
    let folder = tempfile::Builder::new()
        .prefix("interline-demo-")
        .tempdir()?;
    let project = folder.path().join("shop");
    sample(&project)?;
    let program = std::env::current_exe()?;
    let mut client = Client::start(&program, &project, folder.path(), args.trace)?;
    let mut play = Play {
        client: &mut client,
        uri: Uri::from_path(&project.join("cart.sh")).to_string(),
        project: project.clone(),
        answer: Stream::default(),
        rebased: false,
        approved: false,
    };
    let outcome = play.all(args);
    if let Err(error) = outcome {
        print(&format!("\n✗ The demo failed: {error:#}"));
        return Ok(1);
    }
    client.stop()?;
    Ok(0)
}

fn sample(project: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(project)?;
    std::fs::write(project.join("cart.sh"), CART)?;
    std::fs::write(project.join("AGENTS.md"), AGENTS)?;
    std::fs::write(project.join("check.sh"), CHECK)?;
    Ok(())
}

struct Play<'a> {
    client: &'a mut Client,
    uri: String,
    project: PathBuf,
    /// What the model is writing.
    answer: Stream,
    rebased: bool,
    approved: bool,
}

impl Play<'_> {
    fn all(&mut self, args: &DemoArgs) -> anyhow::Result<()> {
        let model = match &args.recording {
            Some(file) => format!("replay/{}", std::fs::canonicalize(file)?.display()),
            None => "replay/@demo".to_owned(),
        };
        self.connect(&model)?;
        self.open()?;
        let folder = Uri::from_path(&self.project).to_string();
        self.client.request(
            "interline/trust/set",
            json!({"folder": folder, "decision": "trust"}),
        )?;
        let session = self
            .client
            .request("interline/session/new", json!({"cwd": folder}))?;
        let session = session["sessionId"].clone();
        self.show_prompt(&session)?;
        print("");
        print_below("You   ", PROMPT);
        print("");
        self.client.request(
            "interline/turn/start",
            json!({
                "sessionId": session,
                "input": [{"type": "text", "text": PROMPT}],
                "context": self.context()?,
            }),
        )?;
        self.follow()?;
        self.verify()
    }

    fn connect(&mut self, model: &str) -> anyhow::Result<()> {
        let root = Uri::from_path(&self.project).to_string();
        let answer = self.client.request(
            "initialize",
            json!({
                "processId": std::process::id(),
                "clientInfo": {"name": "interline demo", "version": env!("CARGO_PKG_VERSION")},
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "shop"}],
                "initializationOptions": {"user": {"model": model}},
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}},
                    "experimental": {"interline": {
                        "version": 1, "events": true, "approvals": true, "save": true,
                        "edit": true, "context": true, "userSettings": true,
                    }},
                },
            }),
        )?;
        self.client.notify("initialized", json!({}))?;
        print_wrapped(&format!(
            "interline {} started as a language server ({} tier, positions in {}).",
            env!("CARGO_PKG_VERSION"),
            answer["capabilities"]["experimental"]["interline"]["tier"]
                .as_str()
                .unwrap_or("?"),
            answer["capabilities"]["positionEncoding"]
                .as_str()
                .unwrap_or("utf-16"),
        ));
        Ok(())
    }

    /// Opens the file and types a line without saving it.
    fn open(&mut self) -> anyhow::Result<()> {
        let uri = self.uri.clone();
        self.client.open(&uri, "shellscript", CART)?;
        let end = CART.len();
        self.client.change(&uri, end, end, UNSAVED)?;
        print("cart.sh is open, with an unsaved line at its end.\n");
        Ok(())
    }

    fn context(&self) -> anyhow::Result<Value> {
        let version = self.version()?;
        let at = json!({"line": 6, "character": 4});
        Ok(json!({
            "editors": [{
                "uri": self.uri, "version": version, "active": true,
                "selections": [{"start": at, "end": at}],
            }],
            "versions": {self.uri.clone(): version},
        }))
    }

    fn version(&self) -> anyhow::Result<i32> {
        Ok(self
            .client
            .buffers
            .get(&self.uri)
            .context("the buffer is gone")?
            .version)
    }

    fn show_prompt(&mut self, session: &Value) -> anyhow::Result<()> {
        let preview = self.client.request(
            "interline/prompt/preview",
            json!({
                "sessionId": session,
                "input": [{"type": "text", "text": PROMPT}],
                "context": self.context()?,
            }),
        )?;
        let mut preview: PromptPreview = serde_json::from_value(preview)?;
        // `interline prompt` also lists absent segments, and why.
        preview.segments.retain(|row| row.included);
        print("What will be sent to the model, segment by segment:\n");
        segments::print(&preview, false);
        Ok(())
    }

    /// Plays the editor until the turn has ended.
    fn follow(&mut self) -> anyhow::Result<()> {
        loop {
            let frame = self.client.incoming()?;
            let params = &frame["params"];
            match frame["method"].as_str() {
                Some("interline/turn/event") => self.show(&params["event"]),
                Some("interline/edit/apply") => self.edit(&frame["id"], params)?,
                Some("interline/approval/request") => self.approve(&frame["id"], params)?,
                Some("interline/workspace/save") => self.save(&frame["id"], params)?,
                Some("interline/turn/ended") => {
                    if let Some(error) = params.get("error").filter(|error| !error.is_null()) {
                        bail!(
                            "{} {}",
                            error["message"].as_str().unwrap_or_default(),
                            error["hint"].as_str().unwrap_or_default()
                        );
                    }
                    let stop = params["stopReason"].as_str().unwrap_or_default();
                    ensure!(stop == "endTurn", "the turn stopped with {stop}");
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// The user types while the edit is in flight; the edit is mapped through that change and
    /// lands as one step.
    fn edit(&mut self, id: &Value, params: &Value) -> anyhow::Result<()> {
        let uri = params["uri"]
            .as_str()
            .context("an edit without a URI")?
            .to_owned();
        let version = params["version"].as_i64().unwrap_or_default();
        ensure!(
            version == i64::from(self.version()?),
            "the edit names version {version}, the buffer has {}",
            self.version()?
        );
        let mut spans = Vec::new();
        for edit in params["edits"].as_array().into_iter().flatten() {
            spans.push((
                self.client.offset(&uri, &edit["range"]["start"])?,
                self.client.offset(&uri, &edit["range"]["end"])?,
                edit["newText"].as_str().unwrap_or_default().to_owned(),
            ));
        }
        self.client.change(&uri, 0, 0, TYPED)?;
        for (start, end, text) in spans.into_iter().rev() {
            self.client
                .change(&uri, start + TYPED.len(), end + TYPED.len(), &text)?;
        }
        self.rebased = true;
        let now = self.version()?;
        let text = self.client.buffers[&uri].text.to_string();
        print("");
        let typing = "the user types at the top at the same time:";
        print_below(
            INDENT,
            &format!("edit for version {version} of cart.sh; {typing}"),
        );
        print_below(
            INDENT,
            &format!("edit mapped through that change and applied, now version {now}"),
        );
        self.client.answer(
            id,
            json!({"status": "rebased", "version": now, "hash": sha256(text.as_bytes())}),
        )
    }

    fn approve(&mut self, id: &Value, params: &Value) -> anyhow::Result<()> {
        let command = params["subject"]["command"].as_str().unwrap_or_default();
        print("");
        let asked = format!(
            "approval requested: {} — {}",
            params["title"].as_str().unwrap_or_default(),
            params["reason"].as_str().unwrap_or_default(),
        );
        print_below(INDENT, &asked);
        print(&format!("{INDENT}$ {command}"));
        let sees = params["subject"]["sees"].as_array();
        print(match sees.is_some_and(|files| !files.is_empty()) {
            true => "      it sees the unsaved text of cart.sh, and nothing is saved; allowed once",
            false => "      1 unsaved file, saved first; allowed once",
        });
        self.approved = true;
        self.client
            .answer(id, json!({"choice": "allow", "hash": params["hash"]}))
    }

    fn save(&mut self, id: &Value, params: &Value) -> anyhow::Result<()> {
        let mut results = Vec::new();
        for uri in params["uris"].as_array().into_iter().flatten() {
            let name = uri.as_str().unwrap_or_default();
            let buffer = self.client.buffers.get(name).context("no such buffer")?;
            let path = Uri::new(name).path().context("not a file")?;
            std::fs::write(&path, buffer.text.to_string())?;
            let version = buffer.version;
            self.client.notify(
                "textDocument/didSave",
                json!({"textDocument": {"uri": name}}),
            )?;
            results.push(json!({"uri": name, "status": "saved", "version": version}));
            print("      the editor saved cart.sh, so the command sees it");
        }
        self.client.answer(id, json!({"results": results}))
    }

    fn verify(&mut self) -> anyhow::Result<()> {
        let text = self.client.buffers[&self.uri].text.to_string();
        let wanted = format!(
            "{TYPED}{}{UNSAVED}",
            CART.replace("percent / 10", "percent / 100")
        );
        let changed = unified_with(CART, &text, 2, ("cart.sh before", "cart.sh after")).text;
        print("\nThe buffer now, compared with the original file:");
        print_lines(&diff(&changed));
        print("");
        ensure!(text == wanted, "the buffer does not hold the expected text");
        ensure!(
            self.rebased && self.approved,
            "no edit or no approval was seen"
        );
        let status = self.client.request("interline/status", json!({}))?;
        let mirrored = status["documents"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|document| document["uri"] == json!(self.uri))
            .and_then(|document| document["hash"].as_str().map(str::to_owned));
        ensure!(
            mirrored.as_deref() == Some(sha256(text.as_bytes()).as_str()),
            "the server's mirror differs from the buffer"
        );
        print_wrapped(&format!(
            "✓ The prompt became one edit in the buffer (version {}): the unsaved line and what was \
             typed in the meantime are still there, the check passed, and the server's mirror \
             equals the buffer byte for byte.",
            self.version()?
        ));
        Ok(())
    }

    fn show(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("textDelta") => {
                let text = event["text"].as_str().unwrap_or_default();
                match look() {
                    Some(look) => print_lines(&self.answer.push(text, look).settled),
                    None => print_part(text),
                }
            }
            Some("text") => match look() {
                Some(look) => print_lines(&self.answer.end(look)),
                None => print(""),
            },
            Some("toolCall") => show_call(event),
            _ => {}
        }
    }
}

fn show_call(event: &Value) {
    let title = event["title"].as_str().unwrap_or_default();
    let output = event["output"].as_str().unwrap_or_default();
    match event["status"].as_str() {
        Some("running") => print(&format!("\n  •   {title}")),
        Some("completed") => {
            for line in output.lines().take(6) {
                // The lines of files have a number and a tab.
                match line.contains('\t') {
                    true => print(&format!("{INDENT}{line}")),
                    false => print_below(INDENT, line),
                }
            }
        }
        Some("failed" | "rejected") => print(&format!("\n  ✗   {title}: {output}")),
        _ => {}
    }
}

/// A line after `head`, wrapped on a terminal below its own beginning.
fn print_below(head: &str, text: &str) {
    match look() {
        Some(look) => print_lines(&wrapped(head, text, PLAIN, look.width)),
        None => print(&format!("{head}{text}")),
    }
}
