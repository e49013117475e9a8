use std::collections::BTreeMap;

use super::parse;
use crate::env::Env;
use crate::knowledge::front;

fn missing(fields: &str) -> Option<String> {
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let vars = [
        ("PATH", "/nowhere:/bin:/usr/bin"),
        ("SET", "1"),
        ("EMPTY", ""),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let env = Env::fixed(folder.path(), now, BTreeMap::from(vars));
    let text = format!("---\n{fields}\n---\nBody.");
    parse(&front::parse(&text)).missing(&env)
}

/// OC-62: what is not here is named; a path is no program, an empty variable is not set.
#[test]
fn what_is_not_here_is_named() {
    assert_eq!(missing("requires:\n  bins: [sh]\n  env: [SET]"), None);
    assert_eq!(missing("requires:\n  anyBins: [no-such-9, sh]"), None);
    let reason = missing("requires:\n  bins: [sh, no-such-9, /bin/sh]\n  env: [EMPTY]");
    assert_eq!(
        reason.as_deref(),
        Some("it needs the program no-such-9, the program /bin/sh, the variable EMPTY")
    );
    let reason = missing("os: [plan9, beos]").unwrap();
    assert!(
        reason.starts_with("it needs the system plan9 or beos (this is "),
        "{reason}"
    );
    assert_eq!(missing("description: nothing"), None);
}

/// OC-62: each name of this system counts, names of others do not.
#[test]
fn a_system_has_several_names() {
    let names = [
        ("linux", &["linux", "Linux"][..]),
        ("macos", &["macos", "darwin", "mac", "osx", "macOS"]),
        ("windows", &["windows", "win32"]),
        ("freebsd", &["freebsd"]),
    ];
    for (system, names) in names {
        for name in names {
            let missing = missing(&format!("os: [{name}]"));
            assert_eq!(missing.is_none(), system == std::env::consts::OS, "{name}");
        }
    }
    let several = format!("os: [beos, {}]", std::env::consts::OS);
    assert_eq!(missing(&several), None);
}

/// OC-62: programs, variables and systems are read from each of their places.
#[test]
fn needs_are_read_at_the_top_and_below_metadata() {
    for (fields, named) in [
        (
            "requires:\n  programs: [no-such-9]",
            "the program no-such-9",
        ),
        (
            "requires:\n  anyBins: [no-such-8, no-such-9]",
            "one of the programs no-such-8, no-such-9",
        ),
        ("requires:\n  variables: [UNSET]", "the variable UNSET"),
        (
            "metadata:\n  requires:\n    env: [UNSET]",
            "the variable UNSET",
        ),
        (
            "metadata:\n  client:\n    requires:\n      env: [UNSET]",
            "the variable UNSET",
        ),
        ("requires:\n  os: [beos]", "the system beos"),
    ] {
        let reason = missing(fields).unwrap_or_default();
        assert!(reason.starts_with(&format!("it needs {named}")), "{reason}");
    }
}
