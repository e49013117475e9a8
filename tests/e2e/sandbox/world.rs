//! A workspace with things outside it, and programs that run as an ordinary user in it.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::editor::{Approval, Editor, Launch};
use crate::fixture::{Stage, copy_program};
use crate::model::{Model, Reply};

const ESCAPES: &str = include_str!("escapes.txt");

/// The user that programs run as if the tests run as root.
const ORDINARY_USER: u32 = 65534;

const TEXT: &str = "//- /a.txt\nx\n//- /Makefile\nall:\n//- /sub/package.json\n{}\n//- /.env\nTOKEN=x\n\
    //- /.git/HEAD\nref: refs/heads/main\n//- /.git/config\n[core]\nrepositoryformatversion = 0\n\
    //- /.git/hooks/sample\n\n//- /.git/info/exclude\n\n//- /.git/objects/info/packs\n\n\
    //- /.git/modules/sub/HEAD\nref: refs/heads/main\n//- /.git/modules/sub/config\n[core]\n\
    //- /.git/modules/sub/hooks/sample\n\n";

/// A user namespace without further ones, as on machines that forbid them.
const NO_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

pub struct Escape {
    pub name: &'static str,
    /// Only a complete sandbox stops it.
    pub full: bool,
    /// It succeeds without a sandbox.
    pub control: bool,
    pub program: &'static str,
}

pub fn escapes() -> Vec<Escape> {
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

/// The words that start a program as an ordinary user; none if the tests run as one.
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
pub struct World {
    pub stage: Stage,
    outside: Child,
    _sockets: [UnixListener; 2],
}

impl World {
    pub fn new(settings: &str, model: &Model) -> Self {
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
        std::fs::create_dir_all(stage.path(".git/refs/heads")).expect("a folder");
        stage.write("pid", outside.id().to_string());
        stage.write("abstract", name);
        stage.write("port", port);
        // A debug build may be in a folder that the ordinary user cannot enter.
        let built = env!("CARGO_BIN_EXE_interline");
        copy_program(built.as_ref(), &stage.folder("interline"));
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/server.py");
        std::fs::copy(server, stage.folder("server.py")).expect("a copy");
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
    pub fn editor(&self, model: &Model, under: &[&str]) -> Editor {
        self.launch(model, under).start()
    }

    pub fn launch(&self, model: &Model, under: &[&str]) -> Launch<'_> {
        let mut words = ordinary_user();
        words.extend(under.iter().map(|word| (*word).to_owned()));
        self.launch_by(words, model)
    }

    /// `words`: what starts the program.
    pub fn launch_by(&self, mut words: Vec<String>, model: &Model) -> Launch<'_> {
        // The program that is passed last is replaced by the copy.
        let copy = self.stage.folder("interline").display().to_string();
        let start = format!("shift; exec {copy} \"$@\"");
        words.extend(["sh", "-c", &start, "sh"].map(str::to_owned));
        self.stage.launch(model).under(words)
    }

    pub fn outside_lives(&mut self) -> bool {
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
    let owner = Some(ORDINARY_USER);
    std::os::unix::fs::lchown(path, owner, owner).expect("a change of owner");
    if path.symlink_metadata().is_ok_and(|kind| kind.is_dir()) {
        for entry in std::fs::read_dir(path).expect("a folder").flatten() {
            give(&entry.path());
        }
    }
}

/// Writes a shell script that can be run.
pub fn program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode");
}

/// Every file below `folder` with its content.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
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
pub fn outputs(editor: &mut Editor, model: &Model, programs: usize) -> Vec<String> {
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

pub fn running(escapes: &[&Escape]) -> Model {
    let programs: Vec<String> = escapes.iter().map(|it| it.program.to_owned()).collect();
    Model::start(move |request| match request.n % 2 {
        0 => Reply::exec(&programs[request.n / 2]),
        _ => Reply::text("ok"),
    })
}

/// What `interline doctor` prints.
pub fn doctor(world: &World) -> String {
    printed(world, &["doctor"])
}

/// What the program prints in the workspace.
pub fn printed(world: &World, arguments: &[&str]) -> String {
    let mut words = ordinary_user();
    words.push(world.stage.folder("interline").display().to_string());
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    let output = Command::new(&words[0])
        .args(&words[1..])
        .env_clear()
        .envs(world.stage.environment("http://127.0.0.1:9"))
        .current_dir(world.stage.root())
        .output()
        .expect("the program");
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}{errors}", String::from_utf8_lossy(&output.stdout))
}

/// The grade that the program found, and why it is not `full`.
pub fn grade(world: &World) -> String {
    let text = doctor(world);
    let line = text.lines().find_map(|line| line.strip_prefix("sandbox  "));
    let line = line.unwrap_or_else(|| panic!("no line about the sandbox: {text}"));
    line.split(", by ").next().unwrap_or_default().to_owned()
}

pub fn without_namespaces(settings: &str, model: &Model) -> Option<(World, Editor)> {
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

/// Names of the tried programs that got out, with what they printed.
pub fn escaped<'a>(tried: &[&'a Escape], outputs: &[String]) -> Vec<(&'a str, String)> {
    let both = tried.iter().zip(outputs);
    let out = both.filter(|(_, output)| output.contains("ESCAPED"));
    out.map(|(escape, output)| (escape.name, output.clone()))
        .collect()
}

/// A world whose user may not create user namespaces, but a setuid bwrap may.
pub fn with_bwrap(model: &Model) -> Option<(PrivilegedBwrap, World, Editor)> {
    let bwrap = PrivilegedBwrap::new()?;
    let world = World::new(super::AUTO, model);
    let editor = world.launch_by(bwrap.words(), model).start();
    Some((bwrap, world, editor))
}

/// A folder with a setuid bwrap.
pub struct PrivilegedBwrap(TempDir);

impl PrivilegedBwrap {
    /// `None`, with the reason on the output, where the tests cannot make one.
    pub fn new() -> Option<Self> {
        let made = Self::made();
        if let Err(reason) = &made {
            println!("skipped: {reason}");
        }
        made.ok()
    }

    fn made() -> Result<Self, &'static str> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make a setuid bwrap");
        }
        if grade(&World::new("", &Model::says("ok"))).starts_with("none") {
            return Err("this kernel has no Landlock");
        }
        let found = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
        let found = found.iter().find(|path| Path::new(path).exists());
        let found = found.ok_or("bubblewrap is not installed")?;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("a mode");
        };
        mode(folder.path(), 0o755);
        copy_program(found.as_ref(), &folder.path().join("bwrap"));
        mode(&folder.path().join("bwrap"), 0o4755);
        let made = Self(folder);
        let mut words = made.words();
        words.extend(["bwrap", "--ro-bind", "/", "/", "true"].map(str::to_owned));
        let tried = Command::new(&words[0]).args(&words[1..]).output();
        match tried.is_ok_and(|output| output.status.success()) {
            true => Ok(made),
            false => Err("bwrap can create no namespaces on this machine"),
        }
    }

    /// The words that start a program as the ordinary user, who may not create user namespaces.
    pub fn words(&self) -> Vec<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        self.words_with(&format!("{}:{path}", self.0.path().display()))
    }

    /// The same with `folder` before it in `PATH`.
    pub fn words_after(&self, folder: &Path) -> Vec<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let (first, second) = (folder.display(), self.0.path().display());
        self.words_with(&format!("{first}:{second}:{path}"))
    }

    fn words_with(&self, path: &str) -> Vec<String> {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/sandbox/without_namespaces.py"
        );
        let mut words = vec!["python3".to_owned(), script.to_owned()];
        words.extend(ordinary_user());
        words.push("env".to_owned());
        words.push(format!("PATH={path}"));
        words
    }
}
