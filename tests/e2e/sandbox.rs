//! Commands in the sandbox, run by the real program under an ordinary user id: for root the proof
//! would be worthless. What a machine cannot do is printed with its reason.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const ESCAPES: &str = include_str!("sandbox/escapes.txt");

/// The user that programs run as if the tests run as root.
const NOBODY: u32 = 65534;

const TEXT: &str = "//- /a.txt\nx\n//- /Makefile\nall:\n//- /sub/package.json\n{}\n//- /.env\nTOKEN=x\n\
    //- /.git/HEAD\nref: refs/heads/main\n//- /.git/config\n[core]\n\
    //- /.git/hooks/sample\n\n//- /.git/info/exclude\n\n//- /.git/objects/info/packs\n\n\
    //- /.git/modules/sub/HEAD\nref: refs/heads/main\n//- /.git/modules/sub/config\n[core]\n\
    //- /.git/modules/sub/hooks/sample\n\n";

/// A user namespace without further ones, as on machines that forbid them.
const NO_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

struct Escape {
    name: &'static str,
    /// Only a complete sandbox stops it.
    full: bool,
    /// It succeeds without a sandbox.
    control: bool,
    program: &'static str,
}

fn escapes() -> Vec<Escape> {
    let parts = ESCAPES.split("\n== ").skip(1);
    let escape = |part: &'static str| {
        let (head, program) = part.split_once('\n').expect("a program");
        Escape {
            name: head.split(" [").next().expect("a name"),
            full: head.contains("[full]"),
            control: head.contains("[control]"),
            program: program.trim_end(),
        }
    };
    parts.map(escape).collect()
}

/// The words that start a program as an ordinary user, and whether they are needed.
fn ordinary_user() -> Vec<String> {
    let root = rustix::process::geteuid().is_root();
    let words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let words = words.iter().filter(|_| root);
    words.map(|word| (*word).to_owned()).collect()
}

/// A workspace with things outside it, all of which belong to the ordinary user.
struct World {
    stage: Stage,
    outside: Child,
    _sockets: [UnixListener; 2],
}

impl World {
    fn new(settings: &str, model: &Model) -> Self {
        let stage = Stage::new(TEXT);
        let put = |name: &str, text: &str| {
            let path = stage.folder(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        put("config/interline/config.toml", settings);
        put("home/.ssh/id_ed25519", "secret");
        for name in ["file", "moved", "removed"] {
            put(&format!("out/{name}"), "outside\n");
        }
        let mut words = ordinary_user();
        words.extend(["sleep", "600"].map(str::to_owned));
        let outside = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .spawn()
            .expect("a process outside");
        let name = format!("interline-{}", outside.id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let abstract_socket = UnixListener::bind_addr(&address).expect("a socket");
        let socket = UnixListener::bind(stage.folder("out/socket")).expect("a socket");
        let port = model
            .url()
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .to_owned();
        let digits = |c: &char| c.is_ascii_digit();
        let port: String = port.chars().take_while(digits).collect();
        stage.write("pid", outside.id().to_string());
        stage.write("abstract", name);
        stage.write("port", port);
        // A debug build may be in a folder that the ordinary user cannot enter.
        std::fs::copy(env!("CARGO_BIN_EXE_interline"), stage.folder("interline")).expect("a copy");
        if rustix::process::geteuid().is_root() {
            give(&stage.folder("."));
        }
        Self {
            stage,
            outside,
            _sockets: [abstract_socket, socket],
        }
    }

    /// `under`: words that start the program, after those for the ordinary user.
    fn editor(&self, model: &Model, under: &[&str]) -> Editor {
        let mut words = ordinary_user();
        words.extend(under.iter().map(|word| (*word).to_owned()));
        // The program that is passed last is replaced by the copy.
        let copy = self.stage.folder("interline").display().to_string();
        let start = format!("shift; exec {copy} \"$@\"");
        words.extend(["sh", "-c", &start, "sh"].map(str::to_owned));
        self.stage.launch(model).under(words).start()
    }

    fn outside_lives(&mut self) -> bool {
        matches!(self.outside.try_wait(), Ok(None))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
    }
}

/// Gives a folder with everything in it to the ordinary user.
fn give(path: &Path) {
    let owner = Some(NOBODY);
    std::os::unix::fs::lchown(path, owner, owner).expect("a change of owner");
    if path.symlink_metadata().is_ok_and(|kind| kind.is_dir()) {
        for entry in std::fs::read_dir(path).expect("a folder").flatten() {
            give(&entry.path());
        }
    }
}

/// Every file below `folder` with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => {
                    let text = std::fs::read(&path).unwrap_or_default();
                    found.push((path, text));
                }
                _ => found.push((path, Vec::new())),
            }
        }
    }
    found.sort();
    found
}

/// Runs each program by the agent's tool, one a turn, and returns what it printed.
fn outputs(editor: &mut Editor, model: &Model, programs: usize) -> Vec<String> {
    editor.approvals(&vec![Approval::Allow; programs]);
    for turn in 0..programs {
        editor.run(&format!("try {turn}"));
    }
    let asked = editor.script.asked.len();
    assert_eq!(asked, programs, "each command asked");
    (0..programs)
        .map(|turn| model.request(2 * turn + 1).result())
        .collect()
}

fn running(escapes: &[&Escape]) -> Model {
    let programs: Vec<String> = escapes.iter().map(|it| it.program.to_owned()).collect();
    Model::start(move |request| match request.n % 2 {
        0 => Reply::exec(&programs[request.n / 2]),
        _ => Reply::text("ok"),
    })
}

/// The grade that the program found, and why it is not `full`.
fn grade(world: &World) -> String {
    let mut words = ordinary_user();
    words.push(world.stage.folder("interline").display().to_string());
    words.push("doctor".to_owned());
    let output = Command::new(&words[0])
        .args(&words[1..])
        .env_clear()
        .envs(world.stage.environment("http://127.0.0.1:9"))
        .current_dir(world.stage.root())
        .output()
        .expect("the doctor");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("sandbox  "));
    line.expect("a line about the sandbox").to_owned()
}

/// A53, A05, A06, A09, A11, A15, A37: no program leaves the sandbox, and what each one tried has
/// not happened.
#[test]
fn a53_no_program_leaves_the_sandbox() {
    let all = escapes();
    assert!(all.len() >= 40, "{}", all.len());
    let probe = Model::says("ok");
    let found = grade(&World::new("sandbox.mode = \"auto\"\n", &probe));
    let full = found == "full";
    if found.starts_with("none") {
        println!("skipped: no sandbox on this machine: {found}");
        return;
    }
    let tried: Vec<&Escape> = all.iter().filter(|it| full || !it.full).collect();
    for skipped in all.iter().filter(|it| !full && it.full) {
        println!("skipped: {}: the sandbox is {found}", skipped.name);
    }
    let model = running(&tried);
    let mut world = World::new("sandbox.mode = \"auto\"\n", &model);
    let protected = ["out", "home", "work/.git", "work/sub"].map(|name| world.stage.folder(name));
    let before = protected.clone().map(|folder| contents(&folder));
    let mut editor = world.editor(&model, &[]);
    let outputs = outputs(&mut editor, &model, tried.len());
    let escaped: Vec<(&str, &String)> = tried
        .iter()
        .zip(&outputs)
        .filter(|(_, output)| output.contains("ESCAPED"))
        .map(|(escape, output)| (escape.name, output))
        .collect();
    assert!(escaped.is_empty(), "{escaped:#?}");
    assert!(world.outside_lives());
    for (folder, before) in protected.iter().zip(before) {
        let held = full || !folder.starts_with(world.stage.root());
        assert!(!held || contents(folder) == before, "{}", folder.display());
    }
    for name in [".vscode", ".envrc", ".interline", ".claude"] {
        assert!(!full || !world.stage.path(name).exists(), "{name} stays");
    }
}

/// The programs above do succeed where nothing stops them: else the story would prove nothing.
#[test]
fn the_same_programs_leave_no_sandbox() {
    let all = escapes();
    let tried: Vec<&Escape> = all.iter().filter(|it| it.control).collect();
    let model = running(&tried);
    let world = World::new("sandbox.mode = \"off\"\n", &model);
    let mut editor = world.editor(&model, &[]);
    let outputs = outputs(&mut editor, &model, tried.len());
    let held: Vec<&str> = tried
        .iter()
        .zip(&outputs)
        .filter(|(_, output)| !output.contains("ESCAPED"))
        .map(|(escape, _)| escape.name)
        .collect();
    // Machines differ in what they allow an ordinary user.
    println!("held without a sandbox: {held:?}");
    assert!(tried.len() - held.len() >= 30, "{held:?}");
}

/// Honest work is not disturbed: files, its own temporary folder, a server on its own loopback,
/// commits, exit codes, what it leaves.
#[test]
fn a_confined_command_can_work() {
    let loopback = "perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, \
        LocalAddr => \"127.0.0.1\"); $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", \
        PeerPort => $l->sockport); print \"connected\" if $c'";
    let commands = [
        "echo one > new.txt && mkdir -p d/e && mv new.txt d/e && cat d/e/new.txt",
        "f=$(mktemp) && echo two > $f && cat $f && echo $TMPDIR",
        loopback,
        "git init -q . ; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s",
        "exit 7",
        "kill -9 $$",
        "sleep 300 & echo started",
    ];
    let model = Model::start(move |request| match request.n % 2 {
        0 => Reply::exec(commands[request.n / 2]),
        _ => Reply::text("ok"),
    });
    let world = World::new("sandbox.mode = \"auto\"\n", &model);
    let grade = grade(&world);
    let mut editor = world.editor(&model, &[]);
    let shown = outputs(&mut editor, &model, commands.len());
    assert!(shown[0].contains("one"), "{shown:?}");
    assert!(shown[1].contains("two"), "{shown:?}");
    assert!(shown[4].contains('7'), "{shown:?}");
    assert!(shown[5].contains('9'), "{shown:?}");
    if grade != "full" {
        println!("skipped: the loopback, what is left: the sandbox is {grade}");
        return;
    }
    assert!(shown[1].contains("/interline-"), "{shown:?}");
    assert!(shown[2].contains("connected"), "{shown:?}");
    assert!(shown[6].contains("were stopped"), "{shown:?}");
}

/// OC-22: the grade is in the status, the approval and the prompt.
#[test]
fn the_grade_is_shown() {
    let model = Model::steps(vec![Reply::exec("true")]);
    let world = World::new("sandbox.mode = \"auto\"\n", &model);
    let line = grade(&world);
    let word = line.split(':').next().unwrap_or_default();
    let mut editor = world.editor(&model, &[]);
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    assert_eq!(editor.status()["sandbox"], word);
    let reason = editor.script.asked[0]["reason"].to_string();
    let expected = match word {
        "full" => "Sandboxed: it can change only the workspace's folders",
        "partial" => "Partly sandboxed",
        _ => "Not sandboxed",
    };
    assert!(reason.contains(expected), "{reason}");
    let system = model.request(0).system();
    assert_eq!(
        system.contains("Commands run in a sandbox"),
        word != "none",
        "{system}"
    );
}

fn without_namespaces(settings: &str, model: &Model) -> Option<(World, Editor)> {
    let world = World::new(settings, model);
    let under = ["unshare", "-U", "-r", "sh", "-c", NO_NAMESPACES, "sh"];
    let mut words = ordinary_user();
    words.extend(under.map(str::to_owned));
    let tried = Command::new(&words[0])
        .args(&words[1..])
        .arg("true")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("skipped: this machine makes no user namespace for an ordinary user");
        return None;
    }
    let editor = world.editor(model, &under);
    Some((world, editor))
}

/// X06: where namespaces are forbidden, the sandbox is partial, and says so.
#[test]
fn x06_forbidden_namespaces_are_not_silently_accepted() {
    let model = Model::steps(vec![Reply::exec(
        "echo in > inside; echo out > ../out/outside || echo held",
    )]);
    let Some((world, mut editor)) = without_namespaces("sandbox.mode = \"auto\"\n", &model) else {
        return;
    };
    editor.approvals(&[Approval::Allow]);
    editor.run("go");
    let status: Value = editor.status()["sandbox"].clone();
    assert_eq!(status, json!("partial"));
    let reason = editor.script.asked[0]["reason"].to_string();
    assert!(reason.contains("Partly sandboxed"), "{reason}");
    assert!(world.stage.path("inside").exists());
    assert!(!world.stage.folder("out/outside").exists());
}

/// X06: with `required`, a command is refused and no one is asked.
#[test]
fn x06_a_required_sandbox_refuses_where_it_is_not_complete() {
    let model = Model::steps(vec![Reply::exec("echo x > inside")]);
    let settings = "sandbox.mode = \"required\"\n";
    let Some((world, mut editor)) = without_namespaces(settings, &model) else {
        return;
    };
    editor.run("go");
    let result = model.request(1).result();
    assert!(result.contains("requires a complete sandbox"), "{result}");
    assert!(!world.stage.path("inside").exists());
    assert!(editor.script.asked.is_empty());
}
