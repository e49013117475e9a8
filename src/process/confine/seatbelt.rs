//! The sandbox of macOS: a profile for `sandbox-exec`, from the same plan. Pure. It was written
//! from the format's documentation and never run on that system, so its grade is partial at most.

use std::path::{Path, PathBuf};

use super::{Absent, Plan};

#[cfg(test)]
mod tests;

/// The program that applies a profile.
#[cfg(target_os = "macos")]
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Devices that every program may write to.
const DEVICES: [&str; 6] = [
    "/dev/dtracehelper",
    "/dev/null",
    "/dev/ptmx",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The arguments of `sandbox-exec` for a program with its arguments. The error: a path that cannot
/// be written in a profile, so that nothing is started.
pub fn arguments(plan: &Plan, absent: &[Absent], words: &[String]) -> Result<Vec<String>, String> {
    let temporary = quoted(&plan.temporary)?;
    let temporary = temporary.trim_matches('"');
    let mut arguments = vec!["-p".to_owned(), profile(plan, absent)?];
    arguments.extend(["/usr/bin/env".to_owned(), format!("TMPDIR={temporary}")]);
    arguments.extend(words.iter().cloned());
    Ok(arguments)
}

/// The profile. Of the rules that match, the last one applies.
pub fn profile(plan: &Plan, absent: &[Absent]) -> Result<String, String> {
    let mut rules = vec![
        "(version 1)".to_owned(),
        "(allow default)".to_owned(),
        // Other processes, and programs that others start for it.
        "(deny signal (target others))".to_owned(),
        "(deny process-info* (target others))".to_owned(),
        "(deny appleevent-send)".to_owned(),
        "(deny lsopen)".to_owned(),
        "(deny file-write*)".to_owned(),
    ];
    let devices = DEVICES.map(PathBuf::from);
    rule(&mut rules, "allow file-write*", "literal", devices.iter())?;
    let writable = plan.writable.iter().chain([&plan.temporary]);
    rule(&mut rules, "allow file-write*", "subpath", writable)?;
    let absent = absent.iter().map(|it| match it {
        Absent::Folder(path) | Absent::File(path) | Absent::Removed(path) => path,
    });
    let protected = plan.read_only.iter().chain(absent);
    rule(&mut rules, "deny file-write*", "subpath", protected)?;
    let pinned = plan.pinned.iter();
    rule(&mut rules, "deny file-write-unlink", "literal", pinned)?;
    for hidden in &plan.hidden {
        let path = [&hidden.path].into_iter();
        rule(&mut rules, "deny file-read* file-write*", "subpath", path)?;
        let except = hidden.except.iter();
        rule(&mut rules, "allow file-read*", "subpath", except)?;
    }
    network(&mut rules, plan.network);
    Ok(rules.join("\n"))
}

/// Without the network, a server can be reached by its own tests. Sockets in the file system would
/// reach the user's agents and daemons; names are looked up through one of them.
fn network(rules: &mut Vec<String>, allowed: bool) {
    let own = match allowed {
        true => [
            "(deny network-outbound (remote unix-socket))",
            "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))",
        ]
        .as_slice(),
        false => [
            "(deny network*)",
            "(allow network-bind network-inbound (local ip \"localhost:*\"))",
            "(allow network-outbound (remote ip \"localhost:*\"))",
        ]
        .as_slice(),
    };
    rules.extend(own.iter().map(|rule| (*rule).to_owned()));
}

/// One rule about paths; none without paths.
fn rule<'a>(
    rules: &mut Vec<String>,
    what: &str,
    filter: &str,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<(), String> {
    let mut text = String::new();
    for path in paths {
        text.push_str(&format!(" ({filter} {})", quoted(path)?));
    }
    if !text.is_empty() {
        rules.push(format!("({what}{text})"));
    }
    Ok(())
}

/// A path as a string of the profile. Escapes of other characters are not documented.
fn quoted(path: &Path) -> Result<String, String> {
    let plain = |c: char| !(c.is_control() || matches!(c, '"' | '\\'));
    match path.to_str() {
        Some(text) if text.chars().all(plain) && path.is_absolute() => Ok(format!("\"{text}\"")),
        _ => Err(format!(
            "the path {} cannot be in a sandbox profile",
            path.display()
        )),
    }
}
