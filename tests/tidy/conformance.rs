//! Promised behaviours have tests: `tests/conformance/ids.toml` lists the ids and the piece of work
//! each belongs to, tests name the ids they cover, and `tests/conformance/README.md` is generated
//! from both. After a change: `UPDATE_CONFORMANCE=1 cargo test --test tidy`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::ids::{Id, Range, ranges, tests};
use crate::mutations::Mutation;
use crate::{files, report, root};

const DATA: &str = "tests/conformance/ids.toml";
const PAGE: &str = "tests/conformance/README.md";
const UPDATE: &str = "UPDATE_CONFORMANCE";
/// The five designs; their behaviours are about prompts.
const SEEDS: [&str; 5] = ["ZY", "OC", "MC", "ET", "ZE"];
/// Tests in this folder make their facts by hand instead of gathering them.
const BY_HAND: &str = "src/prompt/";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "piece")]
    pieces: Vec<Piece>,
    /// Claimed ids without a test, and why.
    missing: BTreeMap<String, String>,
    /// Ids of the five designs that no test provokes in the built program, and why.
    #[serde(rename = "handMade")]
    hand_made: BTreeMap<String, String>,
    #[serde(rename = "system")]
    systems: Vec<System>,
    ids: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece {
    name: String,
    state: State,
    ids: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum State {
    /// Each of its ids must have a test.
    #[serde(rename = "built")]
    Built,
    #[serde(rename = "to come")]
    ToCome,
    /// Comments cite its ids; they need no test of their own.
    #[serde(rename = "cited")]
    Cited,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    prefix: String,
    title: String,
}

/// The data with its ids read, and the tests of the tree.
pub struct Conformance {
    pub known: BTreeSet<Id>,
    titles: BTreeMap<Id, String>,
    pieces: Vec<(String, State, Vec<Range>)>,
    missing: BTreeMap<Id, String>,
    hand_made: BTreeMap<Id, String>,
    systems: Vec<System>,
    /// Which tests name an id, in the order of the files.
    pub named: BTreeMap<Id, Vec<String>>,
    /// Ids that tests name and the data does not define.
    unknown: Vec<String>,
}

impl Conformance {
    /// Read once for all tests.
    pub fn read() -> &'static Self {
        static READ: LazyLock<Conformance> = LazyLock::new(Conformance::fresh);
        &READ
    }

    fn fresh() -> Self {
        let text = std::fs::read_to_string(root().join(DATA)).expect("the data is there");
        let data: Data = toml::from_str(&text).unwrap_or_else(|error| panic!("{DATA}: {error}"));
        let id = |text: &str| Id::parse(text).unwrap_or_else(|| panic!("{DATA}: no id: {text}"));
        let titles: BTreeMap<Id, String> = data
            .ids
            .iter()
            .map(|(name, title)| (id(name), title.clone()))
            .collect();
        let missing = data.missing.iter();
        let missing = missing.map(|(name, why)| (id(name), why.clone()));
        let hand_made = data.hand_made.iter();
        let hand_made = hand_made.map(|(name, why)| (id(name), why.clone()));
        let pieces = data.pieces.into_iter().map(|piece| {
            let ids = piece.ids.iter().flat_map(|text| {
                let found = ranges(text);
                assert_eq!(found.len(), 1, "{DATA}: one range a string: {text}");
                found
            });
            (piece.name, piece.state, ids.collect())
        });
        let mut read = Self {
            known: titles.keys().cloned().collect(),
            pieces: pieces.collect(),
            missing: missing.collect(),
            hand_made: hand_made.collect(),
            systems: data.systems,
            named: BTreeMap::new(),
            unknown: Vec::new(),
            titles,
        };
        read.scan();
        read
    }

    fn scan(&mut self) {
        for file in files() {
            let code = file.name.starts_with("src/") || file.name.starts_with("tests/");
            if !code || !file.name.ends_with(".rs") || file.name.starts_with("tests/tidy") {
                continue;
            }
            for test in tests(&file) {
                for range in &test.named {
                    let ids = range.plain(&self.known);
                    for end in [&range.0, &range.1] {
                        if !ids.iter().any(|id| id.same_base(end)) {
                            self.unknown.push(format!("{}: {end}", test.place));
                        }
                    }
                    for id in ids {
                        let places = self.named.entry(id.clone()).or_default();
                        if !places.contains(&test.place) {
                            places.push(test.place.clone());
                        }
                    }
                }
            }
        }
    }

    /// Names and states of the pieces that an id belongs to.
    fn owners(&self, id: &Id) -> Vec<(&str, State)> {
        let owns = |ids: &[Range]| ids.iter().any(|range| range.holds(id));
        let pieces = self.pieces.iter().filter(|(_, _, ids)| owns(ids));
        pieces
            .map(|(name, state, _)| (name.as_str(), *state))
            .collect()
    }

    /// Ids whose behaviour is built.
    pub fn claimed(&self) -> BTreeSet<Id> {
        let built = |id: &&Id| {
            let mut owners = self.owners(id).into_iter();
            owners.any(|(_, state)| state == State::Built)
        };
        self.known.iter().filter(built).cloned().collect()
    }

    /// It has tests, and all of them assemble a prompt from facts that they made themselves.
    fn only_by_hand(&self, id: &Id) -> bool {
        let seed = SEEDS.iter().any(|prefix| id.is_of(prefix));
        let places = self.named.get(id);
        seed && places.is_some_and(|places| places.iter().all(|it| it.starts_with(BY_HAND)))
    }

    fn row(&self, id: &Id, mutations: &[Mutation]) -> String {
        let owners: Vec<String> = self
            .owners(id)
            .into_iter()
            .map(|(name, state)| match state {
                State::Built | State::Cited => name.to_owned(),
                State::ToCome => format!("{name}, to come"),
            })
            .collect();
        let mut tests: Vec<String> = self.named.get(id).into_iter().flatten().cloned().collect();
        for test in &mut tests {
            *test = format!("`{test}`");
        }
        if let Some(why) = self.missing.get(id) {
            tests.push(format!("not yet: {why}"));
        }
        if let Some(why) = self.hand_made.get(id) {
            tests.push(format!("on hand-made facts only: {why}"));
        }
        let broken = mutations.iter().filter(|it| it.ids.contains(id));
        let broken: Vec<String> = broken.map(|it| format!("`{}`", it.name)).collect();
        format!(
            "| {id} | {} | {} | {} | {} |",
            self.titles[id],
            owners.join(", "),
            tests.join("<br>"),
            broken.join("<br>")
        )
    }

    fn page(&self, mutations: &[Mutation]) -> String {
        let claimed = self.claimed();
        let covered = claimed.iter().filter(|id| self.named.contains_key(id));
        let broken: BTreeSet<&Id> = mutations.iter().flat_map(|it| &it.ids).collect();
        let mut page = format!(
            "# Conformance\n\n\
             Generated from `{DATA}`, the tests and `tests/mutations/`. Do not edit; run \
             `{UPDATE}=1 cargo test --test tidy` to regenerate it.\n\n\
             Each id is a behaviour that Interline adopts from one of five published designs \
             of system prompts, (K) a decision where they contradict each other, (P, N, S, M, R) a \
             fault or an attack that it survives, or (A, B, E, I, X) a rule that comments cite. \
             *Tests* name the id. A *mutation* breaks the behaviour on purpose; `scripts/mutants` \
             checks that tests of the id fail, and no others.\n\n\
             {} ids are claimed: {} have tests, {} have a mutation. {} of the five designs' ids \
             rest on facts that a test made by hand, each with the reason; all others have a test \
             of the gatherer, a tool or the built program.\n",
            claimed.len(),
            covered.count(),
            claimed.iter().filter(|id| broken.contains(id)).count(),
            self.hand_made.len()
        );
        for (name, state, ids) in &self.pieces {
            let whole = ids.iter().flat_map(|range| range.whole(&self.known));
            let state = match state {
                State::Built => "built",
                State::ToCome => "not built yet; existing tests are listed",
                State::Cited => "cited in comments",
            };
            let _ = write!(page, "\n- *{name}*, {} ids: {state}", whole.count());
        }
        page.push('\n');
        for system in &self.systems {
            let _ = write!(
                page,
                "\n## {}\n\n| id | behaviour | piece | tests | mutations |\n|---|---|---|---|---|\n",
                system.title
            );
            for id in self.known.iter().filter(|id| id.is_of(&system.prefix)) {
                page.push_str(&self.row(id, mutations));
                page.push('\n');
            }
        }
        page
    }
}

#[test]
fn each_id_belongs_to_exactly_one_piece() {
    let read = Conformance::read();
    let mut findings = Vec::new();
    for id in &read.known {
        let owners: Vec<&str> = read.owners(id).into_iter().map(|(name, _)| name).collect();
        if owners.len() != 1 {
            findings.push(format!("{id} belongs to {owners:?}"));
        }
    }
    for (name, _, ids) in &read.pieces {
        for range in ids {
            let there = |end: &Id| read.known.iter().any(|id| id.same_base(end));
            if !there(&range.0) || !there(&range.1) {
                findings.push(format!("{name} names {}…{}, unknown", range.0, range.1));
            }
        }
    }
    assert!(read.known.len() > 200, "{} ids", read.known.len());
    report("ids and pieces", findings);
}

#[test]
fn each_id_has_a_title_of_at_most_80_characters_and_a_seed() {
    let read = Conformance::read();
    let mut findings = Vec::new();
    for (id, title) in &read.titles {
        let length = title.chars().count();
        if !(8..=80).contains(&length) || title.contains(['|', '\n']) {
            findings.push(format!("{id}: {title:?}"));
        }
        if read
            .systems
            .iter()
            .filter(|system| id.is_of(&system.prefix))
            .count()
            != 1
        {
            findings.push(format!("{id} is in no part of the page"));
        }
    }
    report("titles", findings);
}

#[test]
fn tests_name_known_ids_only() {
    report("unknown ids", Conformance::read().unknown.clone());
}

/// The comments in the lines of a file.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(n, line)| Some((n + 1, &line[line.find("//")?..])))
}

/// An id in a comment sends the reader to a list; it must be there.
#[test]
fn comments_cite_defined_ids_only() {
    let read = Conformance::read();
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    let mut findings = Vec::new();
    let mut cited = BTreeSet::new();
    for file in files() {
        let folders = ["src/", "tests/", "fuzz/", "benches/"];
        let code = folders.iter().any(|folder| file.name.starts_with(folder));
        if !code || !file.name.ends_with(".rs") || file.name.starts_with("tests/tidy") {
            continue;
        }
        for (n, comment) in comments(&file.text) {
            for range in ranges(comment) {
                for end in [&range.0, &range.1] {
                    if !read.known.iter().any(|id| id.same_base(end)) {
                        findings.push(format!("{}:{n}: {end}", file.name));
                    }
                }
                cited.extend(range.whole(&read.known).cloned());
            }
            for (at, prefix) in comment.match_indices("INV-") {
                let number = comment[at + prefix.len()..].chars();
                let number: String = number.take_while(char::is_ascii_digit).collect();
                if !architecture.contains(&format!("**INV-{number}**")) {
                    findings.push(format!("{}:{n}: INV-{number}", file.name));
                }
            }
        }
    }
    let guards = read.pieces.iter();
    let guards = guards.filter(|(_, state, _)| *state == State::Cited);
    let guards = guards.flat_map(|(_, _, ids)| ids.iter().flat_map(|ids| ids.whole(&read.known)));
    let unused = guards.filter(|id| !cited.contains(id));
    findings.extend(unused.map(|id| format!("{DATA}: no comment cites {id}")));
    report("ids in comments", findings);
}

#[test]
fn each_claimed_id_has_a_test_or_says_why_not() {
    let read = Conformance::read();
    let mut findings = Vec::new();
    for id in read.claimed() {
        let tested = read.named.contains_key(&id);
        match (tested, read.missing.contains_key(&id)) {
            (false, false) => findings.push(format!("{id} has no test: {}", read.titles[&id])),
            (true, true) => findings.push(format!("{id} has a test and is listed as missing")),
            _ => {}
        }
    }
    let claimed = read.claimed();
    let strange = read.missing.keys().filter(|id| !claimed.contains(id));
    findings.extend(strange.map(|id| format!("{id} is missing but not claimed")));
    report("claims without tests", findings);
}

/// A prompt that only a test's own facts can produce never occurs in the product.
#[test]
fn each_claimed_behaviour_is_provoked_in_the_built_program_or_says_why_not() {
    let read = Conformance::read();
    let mut findings = Vec::new();
    for id in read.claimed() {
        match (read.only_by_hand(&id), read.hand_made.contains_key(&id)) {
            (true, false) => findings.push(format!("{id} rests on hand-made facts alone")),
            (false, true) => findings.push(format!("{id} is listed in handMade and need not be")),
            _ => {}
        }
    }
    report("claims on hand-made facts", findings);
}

#[test]
fn the_page_is_what_the_data_and_the_tests_say() {
    let page = Conformance::read().page(&Mutation::all());
    let path = root().join(PAGE);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let same = there.lines().zip(page.lines());
    let differs = same.take_while(|(a, b)| a == b).count();
    assert!(
        there == page,
        "{PAGE} is outdated from line {}; regenerate it: {UPDATE}=1 cargo test --test tidy",
        differs + 1
    );
}
