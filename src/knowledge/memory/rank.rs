//! Which memories fit words: BM25 over all scopes, in process, without network. Words are cut at what
//! is no letter or digit and compared in lower case; Chinese, Japanese and Korean by pairs of
//! characters. Pure: equal scores are ordered by date, then text.

mod words;

use std::collections::HashMap;

use super::{Entry, Loaded};

/// A memory that fits, and how well; scores compare within one answer only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<'a> {
    pub entry: &'a Entry,
    pub score: f64,
}

/// BM25's usual constants: how fast repetition and length stop to count.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Most characters and words of what is looked for.
const QUERY: usize = 8_000;
const TERMS: usize = 256;

/// A related memory scores at least this share of the best one.
const OF_BEST: f64 = 0.3;
/// One common word is enough if it is this share of the words of either side.
const COVERED: f64 = 0.2;

/// The best memories for `query`, best first; words of grammar count only if there are no others.
pub fn search<'a>(loaded: &'a Loaded, query: &str, limit: usize) -> Vec<Hit<'a>> {
    let mut terms = query_terms(query, |word| !words::grammar(word));
    if terms.is_empty() {
        terms = query_terms(query, |_| true);
    }
    let scored = score(loaded, &terms, true);
    best(scored, limit)
}

/// The memories that have to do with what the user says; none rather than one that does not.
pub fn related<'a>(loaded: &'a Loaded, user_text: &str, limit: usize) -> Vec<Hit<'a>> {
    let telling = |word: &str| !words::grammar(word) && !words::chatter(word);
    let terms = query_terms(user_text, telling);
    let mut scored = score(loaded, &terms, false);
    let top = scored.iter().map(|it| it.score).fold(0.0, f64::max);
    scored.retain(|it| {
        let share = |of: usize| it.matched as f64 >= COVERED * of as f64;
        let enough = it.matched > 1 || share(terms.len()) || share(it.length);
        enough && it.score >= OF_BEST * top
    });
    best(scored, limit)
}

struct Scored<'a> {
    entry: &'a Entry,
    score: f64,
    /// Different words of the query that it has.
    matched: usize,
    /// Its own words.
    length: usize,
}

fn best(mut scored: Vec<Scored<'_>>, limit: usize) -> Vec<Hit<'_>> {
    scored.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b.entry.date.cmp(&a.entry.date))
            .then_with(|| a.entry.text.cmp(&b.entry.text))
            .then_with(|| a.entry.path.cmp(&b.entry.path))
    });
    scored.truncate(limit);
    let hits = scored.into_iter().map(|it| Hit {
        entry: it.entry,
        score: it.score,
    });
    hits.collect()
}

/// Different words of a query, in its order.
fn query_terms(query: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let end = query
        .char_indices()
        .nth(QUERY)
        .map_or(query.len(), |(at, _)| at);
    let mut terms: Vec<(String, bool)> = Vec::new();
    words::each(&query[..end], |word, single| {
        let known = terms.iter().any(|(term, _)| term == word);
        if !known && terms.len() < TERMS && wanted(word) {
            terms.push((word.to_owned(), single));
        }
    });
    // One character says little beside pairs.
    let pairs = terms
        .iter()
        .any(|(term, single)| !single && words::cjk_pair(term));
    terms.retain(|(_, single)| !(pairs && *single));
    terms.into_iter().map(|(term, _)| term).collect()
}

/// A memory with how often it has which word of the query.
struct Counted<'a> {
    entry: &'a Entry,
    length: usize,
    counts: Vec<(usize, u32)>,
}

/// All memories that have a word of `terms`. `kinds`: the type counts as a word of the memory.
fn score<'a>(loaded: &'a Loaded, terms: &[String], kinds: bool) -> Vec<Scored<'a>> {
    let places: HashMap<&str, usize> = terms
        .iter()
        .enumerate()
        .map(|(place, term)| (term.as_str(), place))
        .collect();
    // Most words of a memory are in no query: told by a byte, before anything is hashed.
    let mut begins = [false; 256];
    for term in terms {
        begins[usize::from(term.as_bytes()[0])] = true;
    }
    let mut frequency = vec![0_usize; terms.len()];
    let mut found: Vec<Counted<'a>> = Vec::new();
    let (mut all, mut total) = (0_usize, 0_usize);
    for entry in loaded.entries() {
        let mut counts: Vec<(usize, u32)> = Vec::new();
        let mut length = 0;
        let mut count = |word: &str, single: bool| {
            length += usize::from(!single);
            if !begins[usize::from(word.as_bytes()[0])] {
                return;
            }
            let Some(place) = places.get(word) else {
                return;
            };
            match counts.iter_mut().find(|(known, _)| known == place) {
                Some((_, count)) => *count += 1,
                None => counts.push((*place, 1)),
            }
        };
        words::each(&entry.text, &mut count);
        if kinds {
            words::each(entry.kind.as_str(), &mut count);
        }
        all += 1;
        total += length;
        for (place, _) in &counts {
            frequency[*place] += 1;
        }
        if !counts.is_empty() {
            found.push(Counted {
                entry,
                length,
                counts,
            });
        }
    }
    let average = (total as f64 / all.max(1) as f64).max(1.0);
    let weight = |place: usize| {
        let with = frequency[place] as f64;
        (1.0 + (all as f64 - with + 0.5) / (with + 0.5)).ln()
    };
    let one = |mut found: Counted<'a>| {
        // The order of addition decides the last bit of a sum.
        found.counts.sort_unstable();
        let norm = K1 * (1.0 - B + B * found.length as f64 / average);
        let part = |(place, count): &(usize, u32)| {
            let count = f64::from(*count);
            weight(*place) * count * (K1 + 1.0) / (count + norm)
        };
        Scored {
            entry: found.entry,
            score: found.counts.iter().map(part).sum(),
            matched: found.counts.len(),
            length: found.length,
        }
    };
    found.into_iter().map(one).collect()
}
