//! A skill's requirements in its front matter: programs, variables, systems. A skill whose
//! requirements are not met is not used, and the reason is reported.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use crate::env::Env;
use crate::knowledge::front::{Field, Front};
use crate::knowledge::user_state::UserState;

/// Most names of each kind, and most characters of one.
const NAMES: usize = 50;
const NAME: usize = 200;

/// A skill's requirements; an empty list requires nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// All of them.
    programs: Vec<String>,
    /// One of them.
    any_program: Vec<String>,
    variables: Vec<String>,
    /// One of them, as `linux`, `macos`, `windows`.
    systems: Vec<String>,
}

/// `requires` (with `bins`, `anyBins`, `env`, `os`) and `os`, at the top, below `metadata`, or
/// below a map in it that has the name of a client.
pub(super) fn parse(front: &Front<'_>) -> Needs {
    let mut needs = Needs::default();
    needs.take(&front.fields);
    if let Some(metadata) = front.get_map("metadata") {
        needs.take(metadata);
        for field in metadata.values() {
            if let Field::Map(client) = field {
                needs.take(client);
            }
        }
    }
    needs
}

impl Needs {
    fn take(&mut self, map: &BTreeMap<String, Field>) {
        add(&mut self.systems, map, &["os"]);
        let Some(Field::Map(requires)) = map.get("requires") else {
            return;
        };
        add(&mut self.programs, requires, &["bins", "programs"]);
        add(&mut self.any_program, requires, &["anyBins"]);
        add(&mut self.variables, requires, &["env", "variables"]);
        add(&mut self.systems, requires, &["os"]);
    }

    /// What is missing here, shown to the user; `None` if nothing is.
    pub(super) fn missing(&self, env: &Env) -> Option<String> {
        let mut missing = Vec::new();
        let here = std::env::consts::OS;
        if !self.systems.is_empty() && !self.systems.iter().any(|name| system(name) == here) {
            missing.push(format!(
                "the system {} (this is {here})",
                self.systems.join(" or ")
            ));
        }
        let absent = |name: &&String| !is_installed(env, name);
        let programs = self.programs.iter().filter(absent);
        missing.extend(programs.map(|name| format!("the program {name}")));
        if !self.any_program.is_empty()
            && self.any_program.iter().all(|name| !is_installed(env, name))
        {
            missing.push(format!(
                "one of the programs {}",
                self.any_program.join(", ")
            ));
        }
        let unset = self.variables.iter().filter(|name| env.var(name).is_none());
        let mut unset: Vec<&String> = unset.collect();
        if !unset.is_empty() {
            let kept = UserState::new(env).read().unwrap_or_default();
            unset.retain(|name| !kept.variables().contains_key(*name));
        }
        missing.extend(unset.iter().map(|name| format!("the variable {name}")));
        (!missing.is_empty()).then(|| format!("it needs {}", missing.join(", ")))
    }
}

fn add(to: &mut Vec<String>, map: &BTreeMap<String, Field>, keys: &[&str]) {
    let lists = keys.iter().filter_map(|key| map.get(*key)?.list());
    let names = lists.flatten().map(|name| name.trim().to_owned());
    let fine = |name: &String| (1..=NAME).contains(&name.len());
    to.extend(names.filter(fine).take(NAMES));
}

/// The standard name of a system.
fn system(name: &str) -> &'static str {
    match name.to_ascii_lowercase().as_str() {
        "linux" => "linux",
        "macos" | "darwin" | "mac" | "osx" => "macos",
        "windows" | "win32" => "windows",
        "freebsd" => "freebsd",
        _ => "",
    }
}

/// The program is in a folder of PATH. A path is not a program's name.
fn is_installed(env: &Env, name: &str) -> bool {
    if name.contains(['/', '\\']) {
        return false;
    }
    let paths = env.var("PATH").unwrap_or_default();
    std::env::split_paths(paths).any(|folder| {
        let data = std::fs::metadata(folder.join(name));
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests;
