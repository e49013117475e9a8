//! The Landlock domain of a confined command: reads everywhere, writes only in its folders, no
//! signals and no abstract sockets to processes outside. A second lock behind the mounts, and the
//! only one of a partial confinement.

use std::io::{Error, Result};
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use super::Plan;

/// The newest version whose rights are used here.
const VERSION: ABI = ABI::V7;

/// Devices that every program may write to.
const DEVICES: [&str; 7] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Folders of devices that are the command's own.
const OWN_DEVICES: [&str; 2] = ["/dev/pts", "/dev/shm"];

pub(super) fn restrict(plan: &Plan) -> Result<()> {
    match enforce(plan) {
        Ok(RulesetStatus::NotEnforced) => Err(Error::other("this kernel has no Landlock")),
        Ok(_) => Ok(()),
        Err(error) => Err(Error::other(format!("Landlock: {error}"))),
    }
}

fn enforce(plan: &Plan) -> std::result::Result<RulesetStatus, landlock::RulesetError> {
    let all: BitFlags<AccessFs> = AccessFs::from_all(VERSION);
    let write = all & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let existing = |path: &&Path| path.exists();
    let folders = plan.writable.iter().chain([&plan.temporary]);
    let folders = folders.map(|path| path.as_path()).filter(existing);
    let devices = DEVICES.iter().map(Path::new).filter(existing);
    let own = OWN_DEVICES.iter().map(Path::new).filter(existing);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(VERSION)))?
        .add_rules(path_beneath_rules(folders, write))?
        .add_rules(path_beneath_rules(devices.chain(own), write))?
        .restrict_self()?;
    Ok(status.ruleset)
}
