//! The helper's two stages. The first makes the namespaces and waits; the second is the first
//! process in them: it mounts, gives up its rights, and runs the command. For a partial confinement
//! there is only one stage, which becomes the command. The request and the reply are in one file
//! without a name, which the server keeps open, or the first stage for a command with input.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, Read as _, Result};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use nix::sched::CloneFlags;
use rustix::io::FdFlags;
use rustix::process::{WaitOptions, getegid, geteuid};
use rustix::stdio::{stderr, stdin};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{
    ARGUMENT, Grade, Reply, Request, because, bwrap, filter, in_memory, mounts, piped, rules,
};

/// The second argument, of the second stage. The third is the number of the file's descriptor.
const INNER: &str = "inner";

/// The same for a second stage that bwrap started. The device and the inode of the folder follow.
const MOUNTED: &str = "mounted";

/// The exit code of a command that was not started.
const NOT_STARTED: u8 = 126;

/// What the second stage needs to mount, to start the loopback, and to drop the rest.
const NEEDED: [CapabilitySet; 3] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SETPCAP,
];

/// Runs as a helper. Never returns to the program's own work.
pub fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let stage = words.next();
    let code = match stage.as_deref() {
        Some(word) if word == INNER => {
            own_file(words.next().as_deref()).map(|file| reported(&file, run_inner(&file)))
        }
        Some(word) if word == MOUNTED => own_file(words.next().as_deref())
            .map(|file| reported(&file, run_mounted(&file, &words.collect::<Vec<_>>()))),
        Some(word) if word == piped::ARGUMENT => run_piped(),
        _ => run_plain(),
    };
    ExitCode::from(code.unwrap_or(NOT_STARTED))
}

/// Leaves an error in the file.
fn reported(file: &File, outcome: Result<u8>) -> u8 {
    outcome.unwrap_or_else(|error| {
        let reply = Reply {
            error: Some(error.to_string()),
            ..Reply::default()
        };
        let _ = write_reply(file, &reply);
        NOT_STARTED
    })
}

/// The first stage of a command without input: the file is standard input.
fn run_plain() -> Result<u8> {
    close_inherited(None)?;
    let file = File::from(stdin().try_clone_to_owned()?);
    Ok(reported(&file, run(&file, Stdio::null)))
}

/// The first stage of a command with input, which follows the request. Nothing reads the reply, so
/// an error is written to standard error.
fn run_piped() -> Result<u8> {
    close_inherited(None)?;
    let outcome = piped::read(&mut File::from(stdin().try_clone_to_owned()?))
        .and_then(|request| in_memory(&request))
        .and_then(|mut file| {
            let code = run(&file, Stdio::inherit)?;
            match Reply::read(&mut file)?.error {
                Some(error) => Err(Error::other(error)),
                None => Ok(code),
            }
        });
    if let Err(error) = &outcome {
        let line = format!("not started in the sandbox: {error}\n");
        // The server's pipe, not a person's terminal.
        let _ = rustix::io::write(stderr(), line.as_bytes());
    }
    outcome
}

fn run(file: &File, input: fn() -> Stdio) -> Result<u8> {
    let request = read_request(file)?;
    match request.grade {
        Grade::None => Err(Error::other("there is nothing to confine")),
        Grade::Partial => {
            restrict(&request)?;
            let mut command = command(&request)?;
            // Only returns on failure.
            Err(command.stdin(input()).exec())
        }
        Grade::Full => {
            if let Some(program) = &request.bwrap {
                return run_under(program, &request, file, input());
            }
            make_namespaces(request.plan.network)?;
            // This process has one thread, so no other child inherits it.
            let inherited = file.try_clone()?;
            rustix::io::fcntl_setfd(&inherited, FdFlags::empty())?;
            let number = inherited.as_raw_fd().to_string();
            let mut child = Command::new("/proc/self/exe")
                .arg0("interline")
                .args([ARGUMENT, INNER, &number])
                .stdin(input())
                .spawn()
                .map_err(|error| because("the inner helper", &error))?;
            Ok(exit_code(child.wait()?))
        }
    }
}

fn run_under(program: &Path, request: &Request, file: &File, input: Stdio) -> Result<u8> {
    let mut stage = Command::new(program);
    stage.stdin(input);
    let status = bwrap::run(request, file, (program, stage), [ARGUMENT, MOUNTED])?;
    let code = exit_code(status);
    // The second stage writes its reply over the request.
    match read_request(file) {
        Ok(_) => Err(Error::other(format!("bwrap ended with {code}"))),
        Err(_) => Ok(code),
    }
}

/// The exit code as a shell reports it.
fn exit_code(status: ExitStatus) -> u8 {
    status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u8
}

/// The same with user and group as before, so that files keep their owners.
fn make_namespaces(network: bool) -> Result<()> {
    let (user, group) = (geteuid(), getegid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if !network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    nix::sched::unshare(flags).map_err(|error| because("namespaces", &error.into()))?;
    let write = |name: &str, text: String| {
        std::fs::write(format!("/proc/self/{name}"), text).map_err(|error| because(name, &error))
    };
    write("setgroups", "deny".to_owned())?;
    let (user, group) = (user.as_raw(), group.as_raw());
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))?;
    let all = rustix::thread::capabilities(None)?;
    let needed = NEEDED.into_iter().collect();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            inheritable: needed,
            ..all
        },
    )?;
    for capability in NEEDED {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Opens the inherited file again, so that the command does not inherit it.
fn own_file(number: Option<&OsStr>) -> Result<File> {
    let number = number.and_then(OsStr::to_str).unwrap_or_default();
    let wrong = |_| Error::other("no descriptor");
    let inherited: i32 = number.parse().map_err(wrong)?;
    let path = format!("/proc/self/fd/{inherited}");
    let file = File::options().read(true).write(true).open(path)?;
    nix::unistd::close(inherited)?;
    Ok(file)
}

/// The first process of the namespaces.
fn run_inner(file: &File) -> Result<u8> {
    let request = read_request(file)?;
    let here = rustix::fs::stat(".")?;
    mounts::mount(&request.plan)?;
    if !request.plan.network {
        start_loopback().map_err(|error| because("the loopback", &error))?;
    }
    run_command(file, &request, (here.st_dev, here.st_ino))
}

/// The same after bwrap has mounted everything.
fn run_mounted(file: &File, words: &[OsString]) -> Result<u8> {
    close_inherited(Some(file))?;
    let number = |at: usize| words.get(at)?.to_str()?.parse().ok();
    let here = number(0).zip(number(1));
    let here = here.ok_or_else(|| Error::other("no folder"))?;
    run_command(file, &read_request(file)?, here)
}

/// `here`: device and inode of the folder that was checked.
fn run_command(file: &File, request: &Request, here: (u64, u64)) -> Result<u8> {
    std::env::set_current_dir(&request.cwd)?;
    let now = rustix::fs::stat(".")?;
    if here != (now.st_dev, now.st_ino) {
        return Err(Error::other(format!(
            "{} is no longer the folder that was checked",
            request.cwd.display()
        )));
    }
    drop_capabilities()?;
    // The command must not reach into this process through `/proc/1`.
    super::super::unreadable();
    restrict(request)?;
    let mut main = command(request)?.spawn().map_err(|error| {
        let program = request.words.first().map_or("", String::as_str);
        because(program, &error)
    })?;
    let mut reply = Reply::default();
    let code = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == main.id().cast_signed() => {
                reply.signal = status.terminating_signal();
                break status.exit_status().unwrap_or(0);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    // Reaped above.
    let _ = main.try_wait();
    reply.left = left()?;
    reply.written = mounts::written(&request.plan);
    write_reply(file, &reply)?;
    Ok(code as u8)
}

fn command(request: &Request) -> Result<Command> {
    let (program, arguments) = request
        .words
        .split_first()
        .ok_or_else(|| Error::other("there is no command"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(env) = &request.env {
        command.env_clear().envs(env);
    }
    command.env("TMPDIR", &request.plan.temporary);
    Ok(command)
}

/// What needs no namespace.
fn restrict(request: &Request) -> Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    rules::restrict(&request.plan)?;
    filter::apply(request.grade, request.plan.network)
}

fn drop_capabilities() -> Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().iter() {
        // An error: this kernel does not know it.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}

/// Brings up `lo`: a message of routing netlink to the kernel.
fn start_loopback() -> Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LO: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Sequence number and sender.
    message.extend([0; 8]);
    // Family, padding, device type.
    message.extend([0; 4]);
    message.extend(LO.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    // The flags that change.
    message.extend(UP.to_ne_bytes());
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The default protocol of this family is routing.
        None,
    )?;
    rustix::io::write(&socket, &message)?;
    let mut answer = [0; 256];
    let length = rustix::io::read(&socket, &mut answer)?;
    // After the header of 16 bytes: 0, or a negative error number.
    match answer.get(16..20).filter(|_| length >= 20) {
        Some([0, 0, 0, 0]) => Ok(()),
        _ => Err(Error::other("the kernel refused to start it")),
    }
}

/// Processes in this namespace besides this one that are alive.
fn left() -> Result<usize> {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
    let entries = std::fs::read_dir("/proc")?.flatten();
    let alive = entries.filter(|entry| {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<u32>().ok());
        let zombie = || {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
            matches!(state, None | Some(Some('Z' | 'X')))
        };
        pid.is_some_and(|pid| pid > 1) && !zombie()
    });
    Ok(alive.count())
}

fn read_request(file: &File) -> Result<Request> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0))?;
    let mut text = String::new();
    (&*file).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Replaces the request.
fn write_reply(file: &File, reply: &Reply) -> Result<()> {
    file.set_len(0)?;
    file.write_all_at(&serde_json::to_vec(reply)?, 0)
}

/// Closes every descriptor but `kept` that an editor or bwrap left open.
fn close_inherited(kept: Option<&File>) -> Result<()> {
    let kept = kept.map_or(2, |file| file.as_raw_fd());
    let entries = std::fs::read_dir("/proc/self/fd")?.flatten();
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && *descriptor != kept)
        .collect();
    for descriptor in open {
        // An error: it was the listing's own.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
