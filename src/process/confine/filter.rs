//! The system calls that no confined command may use: those that change the machine, reach into
//! other processes, make new namespaces, or open kinds of sockets that no namespace holds.

use std::collections::BTreeMap;
use std::io::{Error, Result};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::Grade;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever the arguments are.
const REFUSED: &[i64] = &[
    // Other processes, their memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    // Keys of the user's other processes.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Calls that this filter would not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The machine.
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_settimeofday,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_lookup_dcookie];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests of `ioctl` that type into or reconfigure a terminal: TIOCSTI, TIOCLINUX, TIOCSETD.
const TERMINAL: [u64; 3] = [0x5412, 0x541c, 0x5423];

/// The number that marks calls of the x32 ABI.
const X32: i64 = 0x4000_0000;

pub(super) fn apply(grade: Grade, network: bool) -> Result<()> {
    let mut rules = Rules::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(*call, Vec::new());
    }
    for flag in NAMESPACES {
        let flag = flag as u64;
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            let rule = vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?];
            rules.entry(call).or_default().push(built(rule)?);
        }
    }
    // CLONE_NEWTIME, which `clone` uses for signals.
    let time = vec![condition(0, SeccompCmpOp::MaskedEq(0x80), 0x80)?];
    rules
        .entry(libc::SYS_unshare)
        .or_default()
        .push(built(time)?);
    for request in TERMINAL {
        let rule = vec![condition(1, SeccompCmpOp::Eq, request)?];
        rules.entry(libc::SYS_ioctl).or_default().push(built(rule)?);
    }
    // Only the internet, if it is the command's own or allowed, and messages to the kernel.
    // Sockets in the file system would reach the user's agents and daemons.
    let mut families = vec![libc::AF_NETLINK];
    if grade == Grade::Full || network {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let others = families
        .into_iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, family as u64))
        .collect::<Result<Vec<_>>>()?;
    rules.insert(libc::SYS_socket, vec![built(others)?]);
    if cfg!(target_arch = "x86_64") {
        let all: Vec<i64> = rules.keys().copied().collect();
        // Some calls have numbers of their own there.
        for call in all.into_iter().chain(512..=547) {
            rules.insert(call | X32, Vec::new());
        }
    }
    install(rules, libc::EPERM)?;
    // Its flags are in memory, which a filter cannot read; programs fall back to `clone`.
    let new = Rules::from([(libc::SYS_clone3, Vec::new())]);
    install(new, libc::ENOSYS)
}

fn install(rules: Rules, error: i32) -> Result<()> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(other)?;
    let refuse = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(other)?;
    let program = BpfProgram::try_from(filter).map_err(other)?;
    seccompiler::apply_filter(&program).map_err(other)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(other)
}

fn built(conditions: Vec<SeccompCondition>) -> Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(other)
}

fn other(error: impl std::fmt::Display) -> Error {
    Error::other(format!("the system call filter: {error}"))
}
