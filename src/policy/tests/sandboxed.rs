//! Commands that a sandbox contains.

use super::{ROOT, ask, confined_fact, located, policy};
use crate::config::Approvals;
use crate::conversation::Mode;
use crate::policy::{Decision, Policy, Reason, decide};
use crate::process::confine::Grade;
use crate::workspace::FileKind;

/// Only a complete sandbox, in a trusted folder, with `approvals = "auto"`.
#[test]
fn a_contained_command_runs_unasked_only_with_auto() {
    let auto = || Policy {
        approvals: Approvals::Auto,
        ..policy()
    };
    let decide_confined = |policy: &Policy, command: &str, cwd: &str, grade: Grade| {
        let mut cwd = located(cwd);
        cwd.kind = FileKind::Directory;
        decide(
            policy,
            &[confined_fact(command.to_owned(), cwd, &[], grade)],
        )
    };
    let run = |policy: &Policy, grade| decide_confined(policy, "make test", ROOT, grade);
    assert_eq!(
        run(&auto(), Grade::Full),
        Decision::Allow(Reason::Sandboxed)
    );
    let asks = Decision::Ask {
        reason: Reason::Command,
        remember: true,
    };
    for grade in [Grade::None, Grade::Partial] {
        assert_eq!(run(&auto(), grade), asks);
    }
    assert_eq!(run(&policy(), Grade::Full), asks);
    let untrusted = Policy {
        trusted: false,
        ..auto()
    };
    assert_eq!(run(&untrusted, Grade::Full), asks);
    let other = Policy {
        untrusted_roots: vec![ROOT.into()],
        ..auto()
    };
    assert_eq!(run(&other, Grade::Full), asks);
    let outside = decide_confined(&auto(), "make", "/w/repo-evil", Grade::Full);
    assert_eq!(outside, ask(Reason::OutsideRoots));
    let plan = Policy {
        mode: Mode::Plan,
        ..auto()
    };
    let refused = Decision::Deny(Reason::Mode(Mode::Plan));
    assert_eq!(run(&plan, Grade::Full), refused);
}
