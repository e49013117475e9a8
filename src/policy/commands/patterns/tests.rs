use std::path::PathBuf;

use super::super::tests::{open_end, unescaped};
use super::*;
use crate::config::{Approvals, PolicyConfig};
use crate::policy::{Decision, Fact, Lasting, Lists, Policy, Reason, decide, offer};
use crate::process::confine::Grade;
use crate::workspace::{FileKind, Located, Uri};

const LISTS: &str = include_str!("../../../../tests/fixtures/lists.txt");

/// Stricter verdicts are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Allowed,
    Unlisted,
    Asks,
    Denied,
}

fn list(name: &str) -> Vec<String> {
    let line = LISTS
        .lines()
        .find_map(|line| line.strip_prefix(&format!("# {name} = ")));
    serde_json::from_str(line.unwrap()).unwrap()
}

fn policy() -> Policy {
    let config = PolicyConfig {
        deny: list("deny"),
        ask: list("ask"),
        allow: list("allow"),
    };
    Policy {
        approvals: Approvals::Edits,
        trusted: true,
        lists: Lists::new(&config),
        ..Policy::default()
    }
}

fn fact(line: &str, grade: Grade) -> Fact {
    let path = PathBuf::from("/w/repo/sub");
    Fact::Command {
        command: line.to_owned(),
        cwd: Located {
            uri: Uri::from_path(&path),
            root: Some((0, "sub".into())),
            path,
            through_link: false,
            kind: FileKind::Directory,
            links: 1,
            open: false,
            excluded: false,
        },
        runs: Vec::new(),
        variables: Vec::new(),
        sandbox: grade,
        escalation: None,
        saves: false,
    }
}

fn verdict(policy: &Policy, line: &str) -> Verdict {
    match decide(policy, &[fact(line, Grade::Full)]) {
        Decision::Deny(_) => Verdict::Denied,
        Decision::Ask {
            reason: Reason::Command,
            ..
        } => Verdict::Unlisted,
        Decision::Ask { .. } => Verdict::Asks,
        Decision::Allow(_) => Verdict::Allowed,
    }
}

fn corpus() -> Vec<(Verdict, String)> {
    let rows = LISTS.lines();
    let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let (verdict, line) = row.split_once(' ').expect(row);
        let verdict = match verdict {
            "denied" => Verdict::Denied,
            "asks" => Verdict::Asks,
            "unlisted" => Verdict::Unlisted,
            "allowed" => Verdict::Allowed,
            other => panic!("no verdict: {other}"),
        };
        (verdict, unescaped(line))
    })
    .collect()
}

/// A20, A21, A22, A24: through more than forty wrappings.
#[test]
fn a21_each_line_under_lists_has_its_verdict() {
    let (corpus, policy) = (corpus(), policy());
    let denied = corpus
        .iter()
        .filter(|(verdict, _)| *verdict == Verdict::Denied);
    assert!(denied.count() >= 100);
    let wrong: Vec<_> = corpus
        .iter()
        .map(|(expected, line)| (expected, verdict(&policy, line), line))
        .filter(|(expected, found, _)| *expected != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same lines with `approvals = "auto"`: what is neither denied nor asked about runs.
#[test]
fn a21_deny_and_ask_apply_to_what_runs_unasked_with_auto() {
    let auto = Policy {
        approvals: Approvals::Auto,
        ..policy()
    };
    for (expected, line) in corpus() {
        let expected = match expected {
            Verdict::Unlisted => Verdict::Allowed,
            other => other,
        };
        assert_eq!(verdict(&auto, &line), expected, "{line:?}");
    }
}

/// Deny beats ask, ask beats allow, also for what a rule of the session or one that lasts allows.
#[test]
fn a43_no_rule_allows_what_a_list_denies_or_asks_about() {
    for (expected, line) in corpus() {
        if expected < Verdict::Asks {
            continue;
        }
        let mut policy = policy();
        policy.rules.push(crate::policy::Rule::Command {
            command: line.clone(),
            cwd: "/w/repo/sub".into(),
            runs: Vec::new(),
        });
        policy.lists.allow.push(Lasting {
            patterns: vec![Pattern::parse("*").unwrap()],
            folder: None,
        });
        assert_eq!(verdict(&policy, &line), expected, "{line:?}");
    }
}

/// No list widens what runs outside the sandbox, in a folder that is not trusted, or where every
/// command asks.
#[test]
fn a43_lists_allow_nothing_without_the_complete_sandbox_or_trust() {
    let untrusted = Policy {
        trusted: false,
        ..policy()
    };
    let root = Policy {
        untrusted_roots: vec!["/w/repo".into()],
        ..policy()
    };
    let asks = Policy {
        approvals: Approvals::Ask,
        ..policy()
    };
    for (expected, line) in corpus() {
        for (policy, grade) in [
            (&policy(), Grade::None),
            (&policy(), Grade::Partial),
            (&untrusted, Grade::Full),
            (&root, Grade::Full),
            (&asks, Grade::Full),
        ] {
            let decision = decide(policy, &[fact(&line, grade)]);
            assert!(!matches!(decision, Decision::Allow(_)), "{line:?}");
            let denied = matches!(decision, Decision::Deny(_));
            assert_eq!(denied, expected == Verdict::Denied, "{line:?}");
        }
    }
}

/// A line that would take long to search asks.
#[test]
fn a23_the_search_for_wrapped_commands_is_bounded() {
    let words = format!("sudo {}", "sh ".repeat(3_000));
    let mut nested = "ls".to_owned();
    while nested.len() < 9_000 {
        nested = format!("sh -c x=$({nested})\\ -ay='{}'", nested.replace('\'', "_"));
    }
    for line in [words, nested, "`".repeat(9_000), "sudo 'x y' ".repeat(800)] {
        assert!(Seen::new(&line).find(&Pattern::parse("git push").unwrap()) < Found::Yes);
    }
}

#[test]
fn every_command_is_also_one_without_words() {
    let every = Pattern::parse("*").unwrap();
    for line in ["> file", "x=1", "(", "ls", "# nothing"] {
        assert_eq!(Seen::new(line).find(&every), Found::Yes, "{line}");
    }
}

const WRAPS: [(&str, &str); 34] = [
    ("(", "\n)"),
    ("{ ", "\n}"),
    ("! ", ""),
    ("true && ", ""),
    ("ls; ", ""),
    ("ls | ", ""),
    ("ls & ", ""),
    ("", "\nls"),
    ("", " | cat"),
    ("", " 2>&1"),
    ("", " &"),
    ("", "; rm x"),
    ("LC_ALL=C ", ""),
    ("PATH=. ", ""),
    ("  ", "  "),
    ("time ", ""),
    ("env X=1 ", ""),
    ("sudo -n ", ""),
    ("nice -n 5 ", ""),
    ("timeout 5 ", ""),
    ("nohup ", ""),
    ("command ", ""),
    ("exec ", ""),
    ("xargs ", ""),
    ("if true; then ", "\nfi"),
    ("while ", "\ndo ls; done"),
    ("for x in a; do ", "\ndone"),
    ("f() { ", "\n}; f"),
    ("echo $(", "\n)"),
    ("echo \"$(", "\n)\""),
    ("cat <(", "\n)"),
    ("case x in x) ", "\n;; esac"),
    ("x=$(", "\n)"),
    ("sh <<'END'\n", "\nEND"),
];

#[test]
fn a43_wrapping_makes_no_line_under_lists_laxer() {
    let policy = policy();
    for (expected, line) in corpus() {
        if open_end(&line) && line.matches(['\'', '"', '`']).count() % 2 == 1 {
            continue;
        }
        for (before, after) in WRAPS {
            let wrapped = format!("{before}{line}{after}");
            // A word before a line with its own variables is no longer the program's wrapper.
            let found = verdict(&policy, &wrapped);
            let comment = line.contains('#') || line.contains("<<");
            assert!(found >= expected || comment, "{found:?}: {wrapped:?}");
        }
    }
}

/// Texts that shells run, with every kind of quotes.
#[test]
fn a43_quoting_makes_no_line_under_lists_laxer() {
    let policy = policy();
    for (expected, line) in corpus() {
        let single = format!("'{}'", line.replace('\'', "'\\''"));
        let special = |c: char| "\"\\$`".contains(c);
        let escaped: String = line
            .chars()
            .flat_map(|c| special(c).then_some('\\').into_iter().chain([c]))
            .collect();
        let double = format!("\"{escaped}\"");
        for text in [single, double] {
            for shell in [
                "sh -c ",
                "bash -lc ",
                "eval ",
                "sudo sh -ec ",
                "sh -c ls -- ",
                "su -c ",
            ] {
                let wrapped = format!("{shell}{text}");
                let found = verdict(&policy, &wrapped);
                assert!(found >= expected, "{found:?}: {wrapped:?}");
            }
        }
        if line.contains(|c: char| "$`~*?[{><|&;()'\"\\\n\t#!".contains(c)) {
            continue;
        }
        for quote in ["'", "\"", "''"] {
            let words = line.split(' ').filter(|it| !it.is_empty());
            let quoted: Vec<String> = words.map(|it| format!("{quote}{it}{quote}")).collect();
            let found = verdict(&policy, &quoted.join(" "));
            assert!(found >= expected, "{quoted:?}");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(2_000))]

    #[test]
    fn a43_joining_two_lines_under_lists_is_never_laxer_than_either(
        first in proptest::sample::select(corpus()),
        second in proptest::sample::select(corpus()),
        by in proptest::sample::select(vec![";", " ; ", "&&", "||", "|", "\n", "&"]),
    ) {
        let joined = format!("{}{by}{}", first.1, second.1);
        let strictest = first.0.max(second.0);
        proptest::prop_assert!(
            open_end(&first.1) || open_end(&second.1) || verdict(&policy(), &joined) >= strictest,
            "{joined:?}"
        );
    }

    /// What the grammar reads, the scanner finds.
    #[test]
    fn the_scanner_finds_every_command_that_the_grammar_reads(
        line in proptest::sample::select(super::super::tests::corpus()),
    ) {
        let read = simple_commands(&line.1).unwrap_or_default();
        let found = scan(&line.1);
        for command in read.iter().filter(|command| !command.words.is_empty()) {
            let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
            let same = |found: &Vec<Piece>| {
                found.iter().map(|piece| piece.text.as_str()).eq(words.iter().copied())
            };
            proptest::prop_assert!(found.commands.iter().any(same), "{words:?}: {found:?}");
        }
    }

    #[test]
    fn any_text_is_searched_without_a_panic(text in "[a-z '\"\\\\$`(){};&|<>*?~#=,.!\n-]{0,80}") {
        verdict(&policy(), &text);
    }
}

fn offered(line: &str) -> Option<String> {
    let policy = Policy {
        lists: Lists::default(),
        ..policy()
    };
    let offer = offer(&policy, &[fact(line, Grade::Full)])?;
    assert_eq!(offer.folder, PathBuf::from("/w/repo"));
    let patterns: Vec<String> = offer.patterns.iter().map(Pattern::text).collect();
    Some(patterns.join(", "))
}

/// A rule names the program and the words that say what it does; where it could not, none is
/// offered.
#[test]
fn a43_an_offered_rule_says_what_it_allows() {
    for (line, expected) in [
        ("cargo test --release", "cargo test"),
        ("cargo test 2>&1 | tail -5", "cargo test"),
        (
            "cargo fmt && cargo clippy -q && cargo fmt",
            "cargo fmt, cargo clippy",
        ),
        ("npm run lint -- --fix", "npm run lint"),
        ("npm test", "npm test"),
        ("make", "make"),
        ("make check", "make check"),
        ("./gradlew test", "./gradlew test"),
        ("git stash pop", "git stash pop"),
        ("python3 tools/check.py a", "python3 tools/check.py"),
        ("python -m pytest -q", "python -m pytest"),
        ("sh run.sh", "sh run.sh"),
        ("rustfmt src/main.rs", "rustfmt"),
        ("(cd sub && pytest -q)", "pytest"),
    ] {
        assert_eq!(offered(line).as_deref(), Some(expected), "{line}");
    }
    for line in [
        "ls",
        "python3",
        "python3 -c 'x'",
        "python -m",
        "sh -c 'cargo test'",
        "bash",
        "cargo -q",
        "cargo +nightly test",
        "npm run",
        "env cargo test",
        "sudo make",
        "xargs make",
        "rm -r x",
        "curl x",
        "cargo test > out",
        "X=1 cargo test",
        "cargo test $X",
        "cargo test; rm x",
        "find . -delete",
        "eval make",
        "make $(ls)",
        "carg? test",
        "cargo te*",
        "alias x=y",
        "'my tool' x",
        "git",
        "kill 1",
        "make &",
    ] {
        let found = offered(line);
        let alone = line == "git" && found.as_deref() == Some("git");
        assert!(found.is_none() || alone, "{line}: {found:?}");
    }
}

/// What is offered works in its folder, and is not offered where it could not.
#[test]
fn a43_a_rule_of_a_folder_applies_there_only() {
    let plain = Policy {
        lists: Lists::default(),
        ..policy()
    };
    let run = |folder: &str| {
        let mut policy = plain.clone();
        policy.lists.allow.push(Lasting {
            patterns: vec![Pattern::parse("cargo test").unwrap()],
            folder: Some(folder.into()),
        });
        verdict(&policy, "cargo test -q")
    };
    assert_eq!(run("/w/repo"), Verdict::Allowed);
    for other in ["/w", "/w/repo/sub", "/w/repo2", "/"] {
        assert_eq!(run(other), Verdict::Unlisted);
    }
    let facts = |grade| [fact("cargo test", grade)];
    assert!(offer(&plain, &facts(Grade::Full)).is_some());
    assert!(offer(&plain, &facts(Grade::Partial)).is_none());
    assert!(offer(&plain, &facts(Grade::None)).is_none());
    for policy in [
        Policy {
            trusted: false,
            ..plain.clone()
        },
        Policy {
            approvals: Approvals::Ask,
            ..plain.clone()
        },
        Policy {
            approvals: Approvals::Auto,
            ..plain.clone()
        },
        Policy {
            mode: crate::conversation::Mode::Plan,
            ..plain.clone()
        },
    ] {
        assert!(offer(&policy, &facts(Grade::Full)).is_none());
    }
    let mut denied = plain.clone();
    denied.lists.ask.push(Pattern::parse("cargo").unwrap());
    assert!(offer(&denied, &facts(Grade::Full)).is_none());
}
