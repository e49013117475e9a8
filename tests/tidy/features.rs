//! Building the tests builds no crate of the program a second time: dev-dependencies enable no
//! more features of the crates that both use. What needs more is a package of its own
//! (`tests/acp-schema`, `tests/edit-driver`).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::{report, root};

/// Crates with their versions, and the sets of features with which each is built. A crate can
/// have two: one for build scripts and macros.
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--prefix", "none"])
        .args(["--format", "{p}\t{f}", "--edges", edges])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {said}");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // A crate that was listed before is marked.
        let (name, features) = line
            .trim_end_matches(" (*)")
            .split_once('\t')
            .unwrap_or((line, ""));
        found
            .entry(name.to_owned())
            .or_default()
            .insert(features.to_owned());
    }
    found
}

#[test]
fn tests_enable_only_the_programs_own_features() {
    let (program, tests) = (features("normal,build"), features("normal,build,dev"));
    assert!(
        program.len() > 100,
        "cargo tree lists {} crates",
        program.len()
    );
    let differs = |(name, built): (&String, &BTreeSet<String>)| {
        let with_tests = tests.get(name).filter(|it| *it != built)?;
        Some(format!(
            "{name}: {built:?}, with the tests' dependencies {with_tests:?}"
        ))
    };
    let findings = program.iter().filter_map(differs).collect();
    report("features that only dev-dependencies enable", findings);
}
