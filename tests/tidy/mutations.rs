//! Mutations break a promised behaviour on purpose: `tests/mutations/*.toml`, run by
//! `scripts/mutants`. Here only what can be seen without running them: that each still fits the
//! file that it changes, and that enough ids have one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::conformance::Conformance;
use crate::ids::Id;
use crate::{File, files, report, root};

const FOLDER: &str = "tests/mutations/";

/// One change of one file.
pub struct Mutation {
    /// `<file>/<name>`.
    pub name: String,
    /// Behaviours that it breaks.
    pub ids: Vec<Id>,
    entry: Entry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    mutation: Vec<Entry>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Unique in its file, words with dashes.
    name: String,
    ids: Vec<String>,
    /// Layouts whose goldens may differ.
    #[serde(default)]
    layouts: Vec<String>,
    /// What is changed: below `prompts/` data, below `src/` code.
    file: String,
    /// There exactly once. In code an expression, or a statement (`statement = true`).
    find: String,
    replace: String,
    #[serde(default)]
    statement: bool,
    /// Further tests that go red.
    #[serde(default)]
    also: Vec<Also>,
    /// The story (`edits::name`) that notices it, where no unit test can.
    story: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    /// `src/…/tests.rs::name`.
    test: String,
    why: String,
}

impl Mutation {
    /// All, by file and in the order there.
    pub fn all() -> Vec<Self> {
        let mut found = Vec::new();
        for file in files() {
            let name = file.name.strip_prefix(FOLDER);
            let Some(stem) = name.and_then(|name| name.strip_suffix(".toml")) else {
                continue;
            };
            let page: Page =
                toml::from_str(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.name));
            for entry in page.mutation {
                let name = format!("{stem}/{}", entry.name);
                let id = |id: &String| Id::parse(id).unwrap_or_else(|| panic!("{name}: {id}"));
                found.push(Self {
                    ids: entry.ids.iter().map(id).collect(),
                    name,
                    entry,
                });
            }
        }
        found
    }

    fn findings(&self, all: &[File], read: &Conformance) -> Vec<String> {
        let Entry {
            name,
            file,
            find,
            replace,
            ..
        } = &self.entry;
        let mut findings = Vec::new();
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        let found = text.matches(find.as_str()).count();
        if found != 1 {
            findings.push(format!("{file} has what is to be found {found} times"));
        }
        if self.entry.statement && !file.starts_with("src/") {
            findings.push("only code has statements".to_owned());
        }
        if find == replace {
            findings.push("it changes nothing".to_owned());
        }
        if !file.starts_with("prompts/") && !file.starts_with("src/") {
            findings.push(format!("{file} is neither data nor code"));
        }
        if name.contains(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-') {
            findings.push("its name has more than small letters, digits and dashes".to_owned());
        }
        if self.ids.is_empty() {
            findings.push("it names no id".to_owned());
        }
        for id in &self.ids {
            if !read.named.contains_key(id) {
                findings.push(format!("no test names {id}"));
            }
        }
        if let Some(story) = &self.entry.story {
            let place = story.rsplit_once("::").map(|(module, name)| {
                format!("tests/e2e/{}.rs::{name}", module.replace("::", "/"))
            });
            let names = |id| place.as_ref().is_some_and(|it| read.named[id].contains(it));
            let mut ids = self.ids.iter().filter(|id| read.named.contains_key(id));
            if !ids.any(names) {
                findings.push(format!("no story {story} names an id of it"));
            }
        }
        for layout in &self.entry.layouts {
            if !root()
                .join(format!("prompts/layouts/{layout}.toml"))
                .exists()
            {
                findings.push(format!("there is no layout {layout}"));
            }
        }
        for Also { test, why } in &self.entry.also {
            let there = test.split_once("::").is_some_and(|(path, name)| {
                let mut files = all.iter().filter(|file| file.name == path);
                files.any(|file| file.text.contains(&format!("fn {name}(")))
            });
            if !there || why.is_empty() {
                findings.push(format!("there is no test {test}, or no reason for it"));
            }
        }
        findings
    }
}

#[test]
fn each_mutation_fits_the_tree() {
    let (all, read) = (files(), Conformance::read());
    let mut findings = Vec::new();
    let mut names = BTreeSet::new();
    for mutation in Mutation::all() {
        let found = mutation.findings(&all, read).into_iter();
        findings.extend(found.map(|finding| format!("{}: {finding}", mutation.name)));
        if !names.insert(mutation.name.clone()) {
            findings.push(format!("{} is there twice", mutation.name));
        }
    }
    report("mutations", findings);
}
#[test]
fn one_claimed_id_in_three_has_a_mutation() {
    let claimed = Conformance::read().claimed();
    let mutations = Mutation::all();
    let broken: BTreeSet<&Id> = mutations.iter().flat_map(|it| &it.ids).collect();
    let broken = claimed.iter().filter(|id| broken.contains(id)).count();
    assert!(broken * 3 >= claimed.len(), "{broken} of {}", claimed.len());
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bugs {
    planted: Vec<Bug>,
}

/// A bug on purpose that a fuzz target must find (`scripts/fuzz --planted`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bug {
    name: String,
    target: String,
    /// What goes wrong with it.
    what: String,
    file: String,
    find: String,
    replace: String,
    #[serde(default, rename = "statement")]
    _statement: bool,
}

#[test]
fn each_planted_bug_fits_the_tree_and_a_target_has_three() {
    let text = std::fs::read_to_string(root().join("fuzz/planted.toml")).expect("they are there");
    let bugs: Bugs = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut findings = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for bug in &bugs.planted {
        let file = std::fs::read_to_string(root().join(&bug.file)).unwrap_or_default();
        let found = file.matches(&bug.find).count();
        if found != 1 || bug.find == bug.replace || !bug.file.starts_with("src/") {
            findings.push(format!("{}: {} has it {found} times", bug.name, bug.file));
        }
        if bug.what.is_empty() || !root().join(format!("fuzz/seeds/{}", bug.target)).is_dir() {
            findings.push(format!("{}: says nothing, or has no seeds", bug.name));
        }
        *counts.entry(&bug.target).or_default() += 1;
    }
    let few = counts.iter().filter(|(_, count)| **count < 3);
    findings.extend(few.map(|(target, count)| format!("{target} has {count}")));
    report("planted bugs", findings);
}
