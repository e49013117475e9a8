//! Every fuzz target runs over its seeds.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 14] = [
    ("acp", fuzz_messages),
    ("anthropic", fuzz_anthropic),
    ("changes", fuzz_changes),
    ("commands", fuzz_commands),
    ("frames", fuzz_frames),
    ("gemini", fuzz_gemini),
    ("log", fuzz_log),
    ("matching", fuzz_matching),
    ("openai_chat", fuzz_openai_chat),
    ("openai_responses", fuzz_openai_responses),
    ("patches", fuzz_patches),
    ("rebase", fuzz_rebase),
    ("review", fuzz_review),
    ("sse", fuzz_sse),
];

#[test]
fn the_seeds_of_the_fuzz_targets_hold() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let folders = std::fs::read_dir(&seeds).unwrap();
    let folders = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let names = TARGETS.map(|(name, _)| name.to_owned());
    assert_eq!(folders.collect::<BTreeSet<_>>(), BTreeSet::from(names));
    for (name, target) in TARGETS {
        let mut count = 0;
        for seed in std::fs::read_dir(seeds.join(name)).unwrap() {
            target(&std::fs::read(seed.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 1, "{name} has {count} seeds");
    }
}

/// What the fuzzer would try first; the property runs where there is no fuzzer.
#[test]
fn random_scripts_of_edits_hold() {
    let mut seed = 1u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    for _ in 0..4_000 {
        let length = usize::from(next());
        let data: Vec<u8> = (0..length).map(|_| next()).collect();
        fuzz_rebase(&data);
        fuzz_review(&data);
    }
}

/// A43: short lines of tokens, most of which are near something that a shell accepts.
#[test]
fn a43_random_command_lines_hold() {
    let mut seed = 7u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    for _ in 0..4_000 {
        let length = usize::from(next() % 12);
        let data: Vec<u8> = (0..length)
            .map(|_| match next() {
                0 => 0,
                byte @ 1..32 => b"lsrmx.-=~12"[usize::from(byte) % 11],
                byte => byte | 0x80,
            })
            .collect();
        fuzz_commands(&data);
    }
}
