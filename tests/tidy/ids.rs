//! Ids of promised behaviours, and which tests name them: in the function's name (`ze81_…`), in
//! the comment right above it, or in the comment that its body begins with. `OC-26…OC-30` and
//! `ET-01…04` name all plain ids between.

use std::collections::BTreeSet;
use std::fmt;

use crate::File;

/// Series of numbers.
const SERIES: [&str; 17] = [
    "ZY-", "OC-", "OC-C", "MC-", "ET-", "ZE-", "K", "P", "N", "S", "M", "R", "A", "B", "E", "I",
    "X",
];

/// Series with one letter and exactly two digits (`P07`), because other words also consist of
/// letters and digits.
const FAULTS: [&str; 10] = ["P", "N", "S", "M", "R", "A", "B", "E", "I", "X"];

/// `ZY-04-C` is the number 4 of the series `ZY-` with the variant `C`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    series: usize,
    number: u32,
    /// Empty for a plain id.
    variant: String,
}

impl Id {
    /// The id that `text` begins with, and how many bytes it has.
    fn first(text: &str) -> Option<(Self, usize)> {
        // The longer of two series that fit.
        let fits = |at: &usize| text.starts_with(SERIES[*at]);
        let series = (0..SERIES.len())
            .filter(fits)
            .max_by_key(|at| SERIES[*at].len())?;
        let mut used = SERIES[series].len();
        let number = digits(&text[used..])?;
        if FAULTS.contains(&SERIES[series]) && number.len() != 2 {
            return None;
        }
        used += number.len();
        let mut variant = "";
        if let Some(rest) = text[used..].strip_prefix("-C") {
            variant = &text[used + 1..used + 2 + digits(rest).map_or(0, str::len)];
            used += 1 + variant.len();
        }
        if text[used..].starts_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let id = Self {
            series,
            number: number.parse().ok()?,
            variant: variant.to_owned(),
        };
        Some((id, used))
    }

    /// The id that is the whole of `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::first(text).and_then(|(id, used)| (used == text.len()).then_some(id))
    }

    /// The same number, whatever the variant.
    pub fn same_base(&self, other: &Self) -> bool {
        (self.series, self.number) == (other.series, other.number)
    }

    /// Belongs to the part of the list that begins with `prefix` (`OC`).
    pub fn is_of(&self, prefix: &str) -> bool {
        SERIES[self.series]
            .trim_end_matches('C')
            .trim_end_matches('-')
            == prefix
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let series = SERIES[self.series];
        if series.ends_with('-') || FAULTS.contains(&series) {
            write!(out, "{series}{:02}", self.number)?;
        } else {
            write!(out, "{series}{}", self.number)?;
        }
        if !self.variant.is_empty() {
            write!(out, "-{}", self.variant)?;
        }
        Ok(())
    }
}

fn digits(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    Some(&text[..end.unwrap_or(text.len())]).filter(|digits| !digits.is_empty())
}

/// From an id to another of its series; for a single id both are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range(pub Id, pub Id);

impl Range {
    /// Those of `known` that are meant: what is in between without variants, and the ends. A
    /// number that is there as one variant only (ZY-22-C) may be named without it.
    pub fn plain<'a>(&self, known: &'a BTreeSet<Id>) -> Vec<&'a Id> {
        let single = self.0 == self.1 && !self.0.variant.is_empty();
        let end = |id: &Id| *id == self.0 || *id == self.1;
        let bare = |id: &Id| {
            let others = known.iter().filter(|other| other.same_base(id));
            id.variant.is_empty() || others.count() == 1
        };
        let meant = |id: &&Id| end(id) || (bare(id) && !single);
        self.whole(known).filter(meant).collect()
    }

    /// Those of `known` that are meant, each with its variants.
    pub fn whole<'a>(&self, known: &'a BTreeSet<Id>) -> impl Iterator<Item = &'a Id> {
        known.iter().filter(move |id| self.holds(id))
    }

    /// Between the ends, whatever the variant.
    pub fn holds(&self, id: &Id) -> bool {
        id.series == self.0.series && (self.0.number..=self.1.number).contains(&id.number)
    }
}

/// All ids and ranges in a text.
pub fn ranges(text: &str) -> Vec<Range> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let before = text[..at].chars().next_back();
        let inside = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let Some((first, used)) = Id::first(&text[at..]).filter(|_| !inside) else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        at += used;
        let Some(rest) = text[at..].strip_prefix('…') else {
            found.push(Range(first.clone(), first));
            continue;
        };
        let (last, used) = last_of(&first, rest).unwrap_or((first.clone(), 0));
        at += '…'.len_utf8() + used;
        found.push(Range(first, last));
    }
    found
}

/// The end of a range that begins with `first`: `OC-30`, `30`, `C8` after `OC-C1`.
fn last_of(first: &Id, text: &str) -> Option<(Id, usize)> {
    if let Some((id, used)) = Id::first(text) {
        return Some((id, used)).filter(|(id, _)| id.series == first.series);
    }
    let letter = usize::from(SERIES[first.series].ends_with('C') && text.starts_with('C'));
    let number = digits(&text[letter..])?;
    let id = Id {
        series: first.series,
        number: number.parse().ok()?,
        variant: String::new(),
    };
    Some((id, letter + number.len()))
}

/// Ids in the name of a function: `zy01_oc_c4_k12_the_rest_p07`, `zy22_c_…` for a variant.
fn in_name(name: &str) -> Vec<Range> {
    let words: Vec<&str> = name.split('_').collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(start) = word.find(|c: char| c.is_ascii_digit()) else {
            continue;
        };
        let (letters, number) = word.split_at(start);
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let text = match letters {
            "k" => format!("K{number}"),
            "p" | "n" | "s" | "m" | "r" | "a" => format!("{}{number}", letters.to_uppercase()),
            "c" if before == "oc" => format!("OC-C{number}"),
            _ => format!("{}-{number}", letters.to_uppercase()),
        };
        let variant = words.get(at + 1).filter(|next| {
            let rest = next.strip_prefix('c');
            rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        });
        let with = variant.and_then(|it| Id::parse(&format!("{text}-{}", it.to_uppercase())));
        if let Some(id) = with.or_else(|| Id::parse(&text)) {
            found.push(Range(id.clone(), id));
        }
    }
    found
}

/// One test function and the ids that it names.
#[derive(Debug)]
pub struct Test {
    /// `src/prompt/epoch/tests.rs::name`.
    pub place: String,
    pub named: Vec<Range>,
}

/// The test functions of a file, in its order.
pub fn tests(file: &File) -> Vec<Test> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if !is_test_attribute(lines[at]) {
            at += 1;
            continue;
        }
        let above = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
        let start = at - lines[..at].iter().rev().take_while(above).count();
        let Some(signature) = (at..lines.len()).find(|n| function(lines[*n]).is_some()) else {
            break;
        };
        let name = function(lines[signature]).unwrap_or_default();
        let body = (signature..lines.len()).find(|n| lines[*n].ends_with('{'));
        let body = body.map_or(lines.len(), |n| n + 1);
        let first = lines[body..]
            .iter()
            .take_while(|line| line.starts_with("//"));
        let comments: Vec<&str> = lines[start..signature]
            .iter()
            .chain(first)
            .filter(|line| line.starts_with("//"))
            .map(|line| line.trim_start_matches('/').trim())
            .collect();
        let mut named = ranges(&comments.join(" "));
        named.extend(in_name(name));
        found.push(Test {
            place: format!("{}::{name}", file.name),
            named,
        });
        at = body;
    }
    found
}

fn is_test_attribute(line: &str) -> bool {
    line == "#[test]" || line.starts_with("#[tokio::test")
}

/// The name of the function that begins in this line.
fn function(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches("pub ").trim_start_matches("async ");
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

#[test]
fn ids_are_read_in_every_form() {
    let of = |text: &str| -> Vec<String> {
        let shown = |Range(a, b): Range| match a == b {
            true => a.to_string(),
            false => format!("{a}–{b}"),
        };
        ranges(text).into_iter().map(shown).collect()
    };
    assert_eq!(
        of("ZY-01, ET-33-C1: OC-C4 and K12; INV-9, A40, XZY-01, SHA-1, K1s, MC-15, P07, P7, M100"),
        ["ZY-01", "ET-33-C1", "OC-C4", "K12", "A40", "MC-15", "P07"]
    );
    assert_eq!(
        of("OC-26…OC-30, ET-01…04, OC-C1…C8, ZY-01…"),
        ["OC-26–OC-30", "ET-01–ET-04", "OC-C1–OC-C8", "ZY-01"]
    );
    assert_eq!(of("OC-C1…OC-C8"), ["OC-C1–OC-C8"]);
}

#[test]
fn a_test_names_ids_by_its_name_its_comment_and_its_first_lines() {
    let text = "/// ZY-01: x\n#[test]\nfn oc_c4_k2_zy22_c_y_p07_a23() {\n    // ET-05,\n    // ET-06\n    \
                one();\n    // ET-07\n}\n\n// MC-01\nfn other() {}\n\n    #[tokio::test]\n    \
                async fn plain(\n        a: u8,\n    ) {\n        // K3\n    }\n";
    let file = File {
        name: "src/a.rs".to_owned(),
        text: text.to_owned(),
        bytes: 0,
    };
    let found: Vec<(String, Vec<String>)> = tests(&file)
        .into_iter()
        .map(|test| {
            let ids = test.named.iter().map(|range| range.0.to_string());
            (test.place, ids.collect())
        })
        .collect();
    let first = [
        "ZY-01", "ET-05", "ET-06", "OC-C4", "K2", "ZY-22-C", "P07", "A23",
    ]
    .map(str::to_owned);
    assert_eq!(
        found,
        [
            (
                "src/a.rs::oc_c4_k2_zy22_c_y_p07_a23".to_owned(),
                first.to_vec()
            ),
            ("src/a.rs::plain".to_owned(), vec!["K3".to_owned()])
        ]
    );
}
