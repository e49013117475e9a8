//! The helper's two stages. The first makes the namespaces and waits; the second is the first
//! process in them: it mounts, gives up its rights, and runs the command. For a partial confinement
//! there is only one stage, which becomes the command.

use std::io::{Error, Read as _, Result};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, Stdio};

use nix::sched::CloneFlags;
use rustix::process::{WaitOptions, getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{ARGUMENT, Grade, Reply, Request, because, filter, mounts, rules};

/// The second argument, of the second stage.
const INNER: &str = "inner";

/// What the second stage needs to mount, to start the loopback, and to drop the rest.
const NEEDED: [CapabilitySet; 3] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SETPCAP,
];

/// Runs as a helper, with the request on standard input. Never returns to the program's own work.
pub fn main(inner: Option<&std::ffi::OsStr>) -> ExitCode {
    let outcome = match inner {
        Some(word) if word == INNER => run_inner(),
        _ => run(),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let reply = Reply {
                error: Some(error.to_string()),
                ..Reply::default()
            };
            let _ = write_reply(&reply);
            ExitCode::from(126)
        }
    }
}

fn run() -> Result<u8> {
    close_inherited()?;
    let request = read_request()?;
    match request.grade {
        Grade::None => Err(Error::other("there is nothing to confine")),
        Grade::Partial => {
            restrict(&request)?;
            let mut shell = shell(&request);
            // Only returns on failure.
            Err(shell.exec())
        }
        Grade::Full => {
            make_namespaces(request.plan.network)?;
            let mut child = Command::new("/proc/self/exe")
                .arg0("interline")
                .args([ARGUMENT, INNER])
                .spawn()
                .map_err(|error| because("the inner helper", &error))?;
            let status = child.wait()?;
            Ok(status.code().unwrap_or(128 + status.signal().unwrap_or(0)) as u8)
        }
    }
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

/// The first process of the namespaces.
fn run_inner() -> Result<u8> {
    let request = read_request()?;
    let here = rustix::fs::stat(".")?;
    mounts::mount(&request.plan)?;
    if !request.plan.network {
        start_loopback().map_err(|error| because("the loopback", &error))?;
    }
    std::env::set_current_dir(&request.cwd)?;
    let now = rustix::fs::stat(".")?;
    if (here.st_dev, here.st_ino) != (now.st_dev, now.st_ino) {
        return Err(Error::other(format!(
            "{} is no longer the folder that was checked",
            request.cwd.display()
        )));
    }
    drop_capabilities()?;
    // The command must not reach into this process through `/proc/1`.
    super::super::unreadable();
    restrict(&request)?;
    let mut main = shell(&request).spawn()?;
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
    write_reply(&reply)?;
    Ok(code as u8)
}

fn shell(request: &Request) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(&request.command)
        .env("TMPDIR", &request.plan.temporary)
        .stdin(Stdio::null());
    shell
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

fn read_request() -> Result<Request> {
    let input = rustix::stdio::stdin();
    rustix::fs::seek(input, rustix::fs::SeekFrom::Start(0))?;
    let mut text = String::new();
    std::fs::File::from(input.try_clone_to_owned()?).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Replaces the request, whose file the server keeps open.
fn write_reply(reply: &Reply) -> Result<()> {
    let input = rustix::stdio::stdin();
    rustix::fs::ftruncate(input, 0)?;
    rustix::io::pwrite(input, &serde_json::to_vec(reply)?, 0)?;
    Ok(())
}

/// Closes every descriptor that an editor left open for us by mistake.
fn close_inherited() -> Result<()> {
    let entries = std::fs::read_dir("/proc/self/fd")?.flatten();
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // An error: it was the listing's own.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
