//! Hostile repositories: devices, FIFOs and links that lead out in place of files, and folders that
//! are replaced while in use.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::acp::client::{Answer, Client};
use crate::editor::{Editor, LIMIT, Launch};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::terminal::{NOWHERE, interline_in, text};

/// Every name that the program opens in a workspace, as a trace of its system calls shows.
// tidy: long because it is one table
const NAMES: &[&str] = &[
    ".gitignore",
    ".ignore",
    "sub/.gitignore",
    "sub/.ignore",
    ".git/HEAD",
    ".git/commondir",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/info/exclude",
    "sub/.git",
    "AGENTS.md",
    "AGENTS.override.md",
    "sub/AGENTS.md",
    "sub/AGENTS.override.md",
    "CLAUDE.md",
    "ETCODE.md",
    "sub/ETCODE.md",
    "BOOTSTRAP.md",
    "IDENTITY.md",
    "MEMORY.md",
    "RELATIONS.md",
    "SOUL.md",
    "SYSTEM_PROMPT.md",
    "TOOLS.md",
    "USER.md",
    ".openclaw.md",
    "memory/INDEX.md",
    "memory/topics/one.md",
    "memory/core/one.md",
    "memory/projects/one.md",
    "memory/daily/one.md",
    ".mcp.json",
    "etcode.json",
    ".agents/agents/one.md",
    ".agents/skills/one/SKILL.md",
    ".claude/skills/one/SKILL.md",
    ".interline/skills/one/SKILL.md",
    ".interline/config.toml",
    ".interline/chat.md",
];

const LAYOUTS: &[&str] = &["default", "mini", "etcode", "zeus", "zyhive", "openclaw"];

/// Text of a file outside, which no repository may bring into a prompt.
const OUTSIDE: &str = "mockingbird";

/// The highest allowed peak of a server's memory, in kilobytes.
const MOST: u64 = 400 * 1024;

/// A workspace with `make` applied to the path of each of the names.
fn hostile(make: impl Fn(&Stage, &Path)) -> Stage {
    let stage = Stage::new("//- /a.txt\nplain\n//- /sub/b.txt\nplain\n");
    std::fs::write(stage.folder("outside.md"), OUTSIDE).unwrap();
    for name in NAMES {
        let path = stage.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&stage, &path);
    }
    stage
}

fn searches_everywhere() -> Model {
    Model::steps(vec![
        Reply::call("list", json!({}))
            .and_call("glob", json!({ "pattern": "*.txt" }))
            .and_call("grep", json!({ "pattern": "." }))
            .and_call("read", json!({ "path": "sub/b.txt" })),
        Reply::text("done"),
    ])
}

/// In each layout: the turn ends, every request of the editor is answered, nothing from outside is
/// sent, and memory stays small.
fn unharmed(stage: &Stage) {
    for layout in LAYOUTS {
        for trusted in [true, false] {
            let model = searches_everywhere();
            let launch = stage.launch(&model).setting("layout", json!(layout));
            let launch = if trusted { launch } else { launch.untrusted() };
            let mut editor = launch.start();
            editor.prompt("look around");
            let asked: Vec<i64> = (0..20)
                .map(|_| editor.ask("interline/status", json!({})))
                .collect();
            for id in asked {
                assert!(editor.answer(id).is_ok(), "{layout}");
            }
            let turn = editor.wait_ended();
            assert_eq!(turn.stop_reason(), "endTurn", "{layout}");
            let sent: String = (0..model.count())
                .map(|n| model.request(n).raw_text())
                .collect();
            assert!(!sent.contains(OUTSIDE), "{layout}: {sent}");
            assert!(sent.contains("b.txt"), "{layout}: {sent}");
            assert!(editor.process.peak_memory() < MOST, "{layout}");
        }
    }
}

/// R01: an endless device behind every name.
#[test]
fn a_device_in_place_of_any_file_is_not_read() {
    unharmed(&hostile(|_, path| symlink("/dev/zero", path).unwrap()));
}

/// R02: the editor's pipe behind every name.
#[test]
fn a_link_to_standard_input_takes_no_message_of_the_editor() {
    unharmed(&hostile(|_, path| symlink("/dev/stdin", path).unwrap()));
    unharmed(&hostile(|_, path| {
        symlink("/proc/self/fd/0", path).unwrap()
    }));
}

/// R03, B05: a FIFO without a writer in place of every file.
#[test]
fn a_fifo_in_place_of_any_file_stops_nothing() {
    let fifo = |_: &Stage, path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    unharmed(&hostile(fifo));
}

/// A13: a file of the user's behind every name.
#[test]
fn a_link_that_leads_out_brings_nothing_into_a_prompt() {
    let out = |stage: &Stage, path: &Path| symlink(stage.folder("outside.md"), path).unwrap();
    unharmed(&hostile(out));
}

fn standard_input(process: u32) -> String {
    let link = std::fs::read_link(format!("/proc/{process}/fd/0")).unwrap();
    link.display().to_string()
}

/// R02: only the transport can read what the client sends.
#[test]
fn the_clients_pipe_is_no_longer_standard_input() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    editor.settle();
    assert_eq!(standard_input(editor.process.id()), "/dev/null");
    let client = Client::start(&stage, &model);
    assert_eq!(standard_input(client.process.id()), "/dev/null");
}

/// R15: in the terminal.
#[test]
fn run_does_not_start_in_a_folder_of_the_kernel() {
    let stage = Stage::new("");
    for folder in ["/proc", "/proc/self", "/sys/kernel", "/dev"] {
        for args in [&["run", "--trust", "hi"][..], &["prompt"]] {
            let output = interline_in(&stage, folder, NOWHERE, args);
            assert!(!output.status.success(), "{folder}: {}", text(&output));
            assert!(
                text(&output).contains("kernel or device"),
                "{}",
                text(&output)
            );
        }
    }
}

/// R15: over LSP and ACP.
#[test]
fn a_folder_of_the_kernel_is_no_workspace() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    let mut client = Client::start(&stage, &model);
    for folder in ["/proc", "/proc/self", "/sys/kernel", "/dev"] {
        let refused = editor.refused("interline/session/new", json!({ "cwd": folder }));
        let words = refused["message"].as_str().unwrap();
        assert!(words.contains("kernel or device"), "{folder}: {words}");
        let params = json!({ "cwd": folder, "mcpServers": [] });
        let refused = client.call("session/new", params).unwrap_err();
        assert!(
            refused.to_string().contains("kernel or device"),
            "{refused}"
        );
    }
}

/// R23: the folder is replaced by a link out while the question is open.
#[test]
fn a_command_does_not_follow_a_folder_that_became_a_link() {
    let command = json!({ "command": "touch ran", "cwd": "sub" });
    let model = Model::calls("exec", command);
    let stage = Stage::new("//- /sub/b.txt\nx\n");
    let mut client = Client::start(&stage, &model);
    client.user.push_back(Answer::Waits);
    let session = client.session(&stage.root());
    let prompt = client.start_prompt(&session, "make it");
    client.until(|client| !client.permissions.is_empty());
    std::fs::rename(stage.path("sub"), stage.path("moved")).unwrap();
    symlink(stage.folder("home"), stage.path("sub")).unwrap();
    client.answer_last("allow_once");
    assert_eq!(
        client.wait(prompt).expect("an end")["stopReason"],
        "end_turn"
    );
    assert!(!stage.folder("home").join("ran").exists());
    let result = model.last().result();
    assert!(result.contains("is now reached through a link"), "{result}");
}

/// R31, A14: while the folder is repeatedly replaced by a link out.
#[test]
fn a_walk_races_with_a_link_and_lists_nothing_of_the_outside() {
    let look = |reply: Reply| {
        reply
            .and_call("list", json!({ "path": "sub" }))
            .and_call("glob", json!({ "path": "sub", "pattern": "*" }))
    };
    let calls = (0..20).fold(Reply::text("looking"), |reply, _| look(reply));
    let model = Model::steps(vec![calls, Reply::text("done")]);
    let stage = Stage::new("//- /sub/b.txt\nx\n");
    std::fs::write(stage.folder("home").join(OUTSIDE), "").unwrap();
    let mut editor = stage.editor(&model);
    // Where the link was seen, the user is asked and rejects.
    editor.allow("an approval that nobody expected");
    let racing = Racing::start(&stage);
    editor.run("look");
    drop(racing);
    for (_, result, _) in model.last().results() {
        assert!(!result.contains(OUTSIDE), "{result}");
    }
}

/// Replaces `sub` by a link to the home folder and back until it is dropped.
struct Racing(
    std::sync::Arc<std::sync::atomic::AtomicBool>,
    Option<std::thread::JoinHandle<()>>,
);

impl Racing {
    fn start(stage: &Stage) -> Self {
        let (sub, kept, home) = (stage.path("sub"), stage.path("kept"), stage.folder("home"));
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = over.clone();
        let thread = std::thread::spawn(move || {
            while !seen.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::rename(&sub, &kept).unwrap();
                symlink(&home, &sub).unwrap();
                std::fs::remove_file(&sub).unwrap();
                std::fs::rename(&kept, &sub).unwrap();
            }
        });
        Self(over, Some(thread))
    }
}

impl Drop for Racing {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        let _ = self.1.take().map(std::thread::JoinHandle::join);
    }
}

/// A `.git` file cannot bring the branch of another repository into the prompt.
#[test]
fn a_git_file_that_names_another_repository_shows_no_branch() {
    let stage = Stage::new("//- /a.txt\nx\n");
    let other = stage.folder("home").join("other/.git");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("HEAD"), format!("ref: refs/heads/{OUTSIDE}\n")).unwrap();
    stage.write(".git", format!("gitdir: {}\n", other.display()));
    let model = Model::says("ok");
    stage.editor(&model).run("hi");
    assert!(!model.last().raw_text().contains(OUTSIDE));
    std::fs::remove_file(stage.path(".git")).unwrap();
    stage.write(".git/HEAD", format!("ref: refs/heads/{OUTSIDE}\n"));
    stage.editor(&model).run("hi");
    assert!(
        model.last().raw_text().contains(OUTSIDE),
        "a branch of its own"
    );
}

fn on_disk(launch: Launch<'_>) -> Launch<'_> {
    launch.user_setting("edits", json!({ "closedFiles": "disk" }))
}

const LINES: &str = "//- /a.txt\none\ntwo\n";

/// A server whose edit of `a.txt` is blocked because another process holds the folder's lock: the
/// editor, the lock, and the edit's temporary file.
fn blocked(stage: &Stage, model: &Model) -> (Editor, std::fs::File, std::path::PathBuf) {
    let mut editor = on_disk(stage.launch(model)).start();
    let folder = std::fs::File::open(stage.root()).unwrap();
    folder.lock().unwrap();
    editor.prompt("shorten it");
    let temporary = editor.until("the temporary file", |_| {
        let entries = std::fs::read_dir(stage.root()).unwrap().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.find(|path| path.extension().is_some_and(|end| end == "tmp"))
    });
    (editor, folder, temporary)
}

/// R25: another process holds the lock and changes the file.
#[test]
fn an_edit_on_disk_waits_for_another_process_and_sees_its_text() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(LINES);
    let (mut editor, folder, _) = blocked(&stage, &model);
    stage.write("a.txt", "one\ntwo\nthree\n");
    folder.unlock().unwrap();
    let turn = editor.wait_ended();
    assert_eq!(stage.read("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(turn.statuses().last(), Some(&"failed"));
}

/// Edits that each of two servers makes in the same file.
const EDITS: usize = 60;

/// Reads the file, then changes all lines of one side, one call a line.
fn changes_side(side: &str) -> Model {
    let edit = |reply: Reply, n| {
        let (old, new) = (format!("{side} {n}."), format!("{side} {n} done."));
        let input = json!({ "path": "a.txt", "old_string": old, "new_string": new });
        reply.and_call("edit", input)
    };
    let edits = (0..EDITS).fold(Reply::text("changing"), edit);
    Model::steps(vec![Reply::read("a.txt"), edits])
}

/// R25: two servers at once change one file that no editor has open. Each change that is reported
/// as done is in the file.
#[test]
fn two_servers_that_change_one_file_lose_no_edit() {
    let stage = Stage::new("");
    let lines = (0..EDITS).map(|n| format!("left {n}.\nright {n}.\n"));
    stage.write("a.txt", lines.collect::<String>());
    let sides = ["left", "right"].map(|side| (side, changes_side(side)));
    let start = |model| on_disk(stage.launch(model)).start();
    let mut editors = [start(&sides[0].1), start(&sides[1].1)];
    for editor in &mut editors {
        editor.prompt("go");
    }
    let turns = editors.each_mut().map(|it| it.wait_ended_within(LIMIT * 6));
    let file = stage.read("a.txt");
    for ((side, _), turn) in sides.iter().zip(&turns) {
        let statuses = turn.statuses().split_off(1);
        assert!(statuses.contains(&"completed"), "{side}: {statuses:?}");
        for (n, status) in statuses.into_iter().enumerate() {
            let done = file.contains(&format!("{side} {n} done."));
            assert_eq!(done, status == "completed", "{side} {n}");
        }
    }
}

/// What a killed process left beside the user's files is removed by the next one.
#[test]
fn the_temporary_file_of_a_killed_process_is_removed() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(LINES);
    let (mut editor, _folder, temporary) = blocked(&stage, &model);
    editor.process.kill();
    drop(editor);
    assert!(temporary.exists());
    stage.write(".interline-1-1.tmp", "the user's own");
    stage.editor(&Model::says("ok")).settle();
    assert!(!temporary.exists());
    assert!(stage.path(".interline-1-1.tmp").exists());
}
