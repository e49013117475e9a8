//! How often the program looks up paths, counted by strace: each system call with a path that is
//! not empty. Calls on open descriptors (fstat, read, getdents) do not count.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::editor::Editor;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

/// A server whose system calls are recorded.
struct Traced {
    editor: Editor,
    record: PathBuf,
    turns: usize,
}

impl Traced {
    /// `None`, with the reason, where strace is missing or may not trace.
    fn start(stage: &Stage, model: &Model) -> Option<Self> {
        let tried = Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "true"])
            .output();
        if !tried.as_ref().is_ok_and(|output| output.status.success()) {
            let why = match tried {
                Ok(_) => "strace may not trace here",
                Err(_) => "strace is not installed",
            };
            println!("skipped: {why}");
            return None;
        }
        let record = stage.folder("strace");
        // The tracer is a grandchild, so that the program stays our child.
        let mut tracer = ["strace", "-D", "-f", "-qq", "-s", "300", "-o"]
            .map(str::to_owned)
            .to_vec();
        tracer.push(record.display().to_string());
        tracer.extend([
            "-e".to_owned(),
            "trace=%file,write,writev,sendto,sendmsg".to_owned(),
        ]);
        let editor = stage.launch(model).under(tracer).start();
        Some(Self {
            editor,
            record,
            turns: 0,
        })
    }

    /// Runs a turn; the paths that were looked up before each of its requests.
    fn run(&mut self, prompt: &str) -> Vec<Vec<String>> {
        let before = self.lines().len();
        self.editor.run(prompt);
        self.turns += 1;
        self.wait_for_idle();
        let mut steps = vec![Vec::new()];
        for line in self.lines().split_off(before) {
            let (call, rest) = line.split_once('(').unwrap_or_default();
            let quoted = rest.split('"').nth(1).unwrap_or_default();
            match call.split_whitespace().last() {
                Some("write" | "writev" | "sendto" | "sendmsg") if quoted.starts_with("POST ") => {
                    steps.push(Vec::new());
                }
                Some("write" | "writev" | "sendto" | "sendmsg") | None => {}
                // The number of processors, once in a process.
                Some(_) if ["/proc/", "/sys/"].iter().any(|it| quoted.starts_with(it)) => {}
                Some(_) if quoted.is_empty() => {}
                Some(_) => steps.last_mut().expect("a step").push(quoted.to_owned()),
            }
        }
        // What follows the last request is no step.
        steps.pop();
        steps
    }

    /// The session announces itself after its turn, and looks at its model for that.
    fn wait_for_idle(&mut self) {
        let turns = self.turns;
        self.editor.until("an idle session", |editor| {
            let seen = Cell::new(0);
            editor.note("interline/session/didChange", |note| {
                seen.set(seen.get() + usize::from(note["state"] == "idle"));
                seen.get() == turns
            })
        });
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read(&self.record).expect("the record");
        String::from_utf8_lossy(&text)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// A turn that reads this file three times.
fn reading(path: &str) -> Model {
    Model::steps(vec![
        Reply::read(path),
        Reply::read(path),
        Reply::read(path),
    ])
}

/// A process costs milliseconds: the sandbox, too, is tried only when something depends on it.
#[test]
fn no_process_starts_before_the_first_request() {
    let model = reading("a.txt");
    let stage = Stage::new("//- /a.txt\nx\n");
    let settings = stage.folder("config/interline/config.toml");
    std::fs::write(settings, "sandbox.mode = \"auto\"\n").expect("settings");
    let Some(mut traced) = Traced::start(&stage, &model) else {
        return;
    };
    traced.run("read it");
    let lines = traced.lines();
    let request = lines.iter().position(|line| line.contains("\"POST "));
    let before = &lines[..request.expect("a request")];
    let started: Vec<_> = before.iter().filter(|it| it.contains("execve(")).collect();
    assert_eq!(started.len(), 1, "{started:#?}");
}

#[test]
fn a_read_step_looks_up_at_most_eight_paths_at_any_depth() {
    for (path, first) in [
        ("a.txt", 8),
        ("a/b/c.txt", 8),
        ("1/2/3/4/5/6/7/8/9/10/11/12/c.txt", 20),
    ] {
        let model = reading(path);
        let stage = Stage::new("//- /.gitignore\ntarget\n//- /.git/HEAD\nref: refs/heads/main\n");
        stage.write(path, "x\n");
        let Some(mut traced) = Traced::start(&stage, &model) else {
            return;
        };
        let steps = traced.run("read it");
        // A new folder is opened once.
        assert!(steps[1].len() <= first, "{path}: {:#?}", steps[1]);
        assert!(steps[2].len() <= 8, "{path}: {:#?}", steps[2]);
        assert!(steps[3].len() <= 8, "{path}: {:#?}", steps[3]);
        assert!(
            steps[3].iter().any(|one| one.ends_with(path)),
            "{:#?}",
            steps[3]
        );
    }
}

#[test]
fn a_warm_prompt_looks_up_each_path_once() {
    for fixture in [
        "",
        "//- /.git/HEAD\nref: refs/heads/main\n//- /src/a.rs\nfn a() {}\n",
    ] {
        let model = Model::says("ok");
        let stage = Stage::new(fixture);
        let Some(mut traced) = Traced::start(&stage, &model) else {
            return;
        };
        traced.run("first");
        let mut counts = BTreeMap::new();
        for path in traced.run("second").remove(0) {
            *counts.entry(path).or_insert(0) += 1;
        }
        assert!(
            counts.keys().any(|path| path.ends_with("/AGENTS.md")),
            "{counts:#?}"
        );
        counts.retain(|_, count| *count > 1);
        assert!(counts.is_empty(), "{counts:#?}");
    }
}
