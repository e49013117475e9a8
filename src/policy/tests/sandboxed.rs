//! Commands that a sandbox contains.

use super::{ROOT, ask, confined_fact, located, policy};
use crate::config::Approvals;
use crate::conversation::Mode;
use crate::policy::{Decision, Escalation, Fact, Policy, Reason, Rule, decide};
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

/// A command that only reads runs unasked where the sandbox is complete, in a trusted folder; with
/// `approvals = "ask"` it asks.
#[test]
fn a_command_that_only_reads_runs_unasked_only_in_a_complete_sandbox() {
    let run = |policy: &Policy, command: &str, grade| {
        let mut cwd = located(ROOT);
        cwd.kind = FileKind::Directory;
        decide(
            policy,
            &[confined_fact(command.to_owned(), cwd, &[], grade)],
        )
    };
    let asks = Decision::Ask {
        reason: Reason::Command,
        remember: true,
    };
    let reads = "git status && ls | wc -l";
    let allowed = Decision::Allow(Reason::ReadOnly);
    assert_eq!(run(&policy(), reads, Grade::Full), allowed);
    assert_eq!(run(&policy(), "git push", Grade::Full), asks);
    for grade in [Grade::None, Grade::Partial] {
        assert_eq!(run(&policy(), reads, grade), asks);
    }
    let always = Policy {
        approvals: Approvals::Ask,
        ..policy()
    };
    assert_eq!(run(&always, reads, Grade::Full), asks);
    let untrusted = Policy {
        trusted: false,
        ..policy()
    };
    assert_eq!(run(&untrusted, reads, Grade::Full), asks);
    let mut cwd = located(ROOT);
    cwd.kind = FileKind::Directory;
    let mut fact = confined_fact(reads.to_owned(), cwd, &[], Grade::Full);
    if let Fact::Command { saves, .. } = &mut fact {
        *saves = true;
    }
    assert_eq!(decide(&policy(), &[fact]), asks);
}

#[test]
fn a23_a_command_of_too_many_parts_is_denied_even_with_a_rule() {
    for line in ["true; ".repeat(60), "(".repeat(21)] {
        let rule = Rule::Command {
            command: line.clone(),
            cwd: ROOT.into(),
            runs: Vec::new(),
        };
        let auto = Policy {
            approvals: Approvals::Auto,
            rules: vec![rule],
            ..policy()
        };
        let mut cwd = located(ROOT);
        cwd.kind = FileKind::Directory;
        let fact = confined_fact(line, cwd, &[], Grade::Full);
        assert_eq!(decide(&auto, &[fact]), Decision::Deny(Reason::TooComplex));
    }
}

/// A43: a command that asks for more than its sandbox asks the user each time, whatever else would
/// let it run, and is never remembered.
#[test]
fn an_escalation_always_asks_and_is_never_remembered() {
    let line = "cat a.txt";
    let rule = Rule::Command {
        command: line.to_owned(),
        cwd: ROOT.into(),
        runs: Vec::new(),
    };
    let auto = Policy {
        approvals: Approvals::Auto,
        rules: vec![rule],
        ..policy()
    };
    for (wanted, grade) in [
        (Escalation::Network, Grade::Full),
        (Escalation::Outside, Grade::None),
    ] {
        let mut cwd = located(ROOT);
        cwd.kind = FileKind::Directory;
        let mut fact = confined_fact(line.to_owned(), cwd, &[], grade);
        if let Fact::Command { escalation, .. } = &mut fact {
            *escalation = Some(wanted);
        }
        assert_eq!(
            decide(&auto, &[fact.clone()]),
            ask(Reason::Escalation(wanted))
        );
        let plan = Policy {
            mode: Mode::Plan,
            ..auto.clone()
        };
        let refused = Decision::Deny(Reason::Mode(Mode::Plan));
        assert_eq!(decide(&plan, &[fact]), refused);
    }
}
