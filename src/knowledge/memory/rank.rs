//! Ranks memories for a query with BM25 over all scopes. Words are runs of letters and digits,
//! compared in lower case; Chinese, Japanese and Korean are compared by pairs of characters. Pure:
//! equal scores are ordered by date, then text.

mod words;

use std::collections::HashMap;

use super::{Entry, Loaded};
use crate::env::order;

/// A matching memory and its score; scores are comparable within one result only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<'a> {
    pub entry: &'a Entry,
    pub score: f64,
}

/// BM25's usual constants: the saturation of repetition, and the influence of length.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Most characters and words of a query.
const QUERY: usize = 8_000;
const TERMS: usize = 256;

/// A related memory scores at least this share of the best one.
const OF_BEST: f64 = 0.3;
/// One common word is enough if it is this share of the words on either side.
const COVERED: f64 = 0.2;

/// The best memories for `query`, best first; function words are used only if there are no others.
pub fn search<'a>(loaded: &'a Loaded, query: &str, limit: usize) -> Vec<Hit<'a>> {
    let mut terms = query_terms(query, |word| !words::grammar(word));
    if terms.is_empty() {
        terms = query_terms(query, |_| true);
    }
    // The type counts as a word of the memory.
    let texts = |entry: &'a Entry| [entry.text.as_str(), entry.kind.as_str()];
    best(
        loaded,
        score(loaded.entries.iter().map(texts), &terms),
        limit,
    )
}

/// The memories related to the user's text; prefers none to an unrelated one.
pub fn related<'a>(loaded: &'a Loaded, user_text: &str, limit: usize) -> Vec<Hit<'a>> {
    let telling = |word: &str| !words::grammar(word) && !words::chatter(word);
    let terms = query_terms(user_text, telling);
    if terms.is_empty() {
        return Vec::new();
    }
    let texts = loaded.entries.iter().map(|entry| [entry.text.as_str()]);
    let mut scored = score(texts, &terms);
    let top = top(&scored);
    scored.retain(|it| {
        let share = |of: usize| it.matched as f64 >= COVERED * of as f64;
        let enough = it.matched > 1 || share(terms.len()) || share(it.length);
        enough && it.score >= OF_BEST * top
    });
    best(loaded, scored, limit)
}

/// The indexes of the texts that match `query` best, best first; scored like memories.
pub fn best_texts(texts: &[&str], query: &str, limit: usize) -> Vec<usize> {
    let terms = query_terms(query, |word| !words::grammar(word));
    let mut scored = score(texts.iter().map(|text| [*text]), &terms);
    let top = top(&scored);
    scored.retain(|it| it.score >= OF_BEST * top);
    order::sort_by(&mut scored, |a, b| {
        b.score.total_cmp(&a.score).then(a.at.cmp(&b.at))
    });
    scored.truncate(limit);
    scored.into_iter().map(|it| it.at).collect()
}

/// The score of a text that contains a word of the query.
struct Scored {
    /// Its index among all texts.
    at: usize,
    score: f64,
    /// How many different words of the query it contains.
    matched: usize,
    /// How many words it has.
    length: usize,
}

fn top(scored: &[Scored]) -> f64 {
    scored.iter().map(|it| it.score).fold(0.0, f64::max)
}

fn best(loaded: &Loaded, scored: Vec<Scored>, limit: usize) -> Vec<Hit<'_>> {
    let entries: Vec<&Entry> = loaded.entries.iter().collect();
    let mut hits: Vec<Hit<'_>> = scored
        .iter()
        .map(|it| Hit {
            entry: entries[it.at],
            score: it.score,
        })
        .collect();
    order::sort_by(&mut hits, |a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b.entry.date.cmp(&a.entry.date))
            .then_with(|| a.entry.text.cmp(&b.entry.text))
            .then_with(|| a.entry.path.cmp(&b.entry.path))
    });
    hits.truncate(limit);
    hits
}

/// The different words of a query, in order.
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

/// A text's words of the query: the index of each term, and its count.
struct Counted {
    at: usize,
    length: usize,
    counts: Vec<(usize, u32)>,
}

/// Scores the texts that contain a word of `terms`; each text comes in `N` parts.
fn score<'t, const N: usize>(
    texts: impl Iterator<Item = [&'t str; N]>,
    terms: &[String],
) -> Vec<Scored> {
    let places: HashMap<&str, usize> = terms
        .iter()
        .enumerate()
        .map(|(place, term)| (term.as_str(), place))
        .collect();
    // Most words of a text are in no query: checked by a byte, before anything is hashed.
    let mut begins = [false; 256];
    for term in terms {
        begins[usize::from(term.as_bytes()[0])] = true;
    }
    let mut found: Vec<Counted> = Vec::new();
    let (mut all, mut total) = (0_usize, 0_usize);
    for (at, parts) in texts.enumerate() {
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
        for part in parts {
            words::each(part, &mut count);
        }
        all += 1;
        total += length;
        if !counts.is_empty() {
            // The order of addition decides the last bit of a sum.
            counts.sort_unstable();
            found.push(Counted { at, length, counts });
        }
    }
    let mut frequency = vec![0_usize; terms.len()];
    for (place, _) in found.iter().flat_map(|one| &one.counts) {
        frequency[*place] += 1;
    }
    let average = (total as f64 / all.max(1) as f64).max(1.0);
    let weight = |place: usize| {
        let with = frequency[place] as f64;
        (1.0 + (all as f64 - with + 0.5) / (with + 0.5)).ln()
    };
    let scored = |found: Counted| {
        let norm = K1 * (1.0 - B + B * found.length as f64 / average);
        let part = |(place, count): &(usize, u32)| {
            let count = f64::from(*count);
            weight(*place) * count * (K1 + 1.0) / (count + norm)
        };
        Scored {
            at: found.at,
            score: found.counts.iter().map(part).sum(),
            matched: found.counts.len(),
            length: found.length,
        }
    };
    found.into_iter().map(scored).collect()
}
