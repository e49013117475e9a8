//! Ranks memories for a query with BM25 over all scopes. Words are runs of letters and digits,
//! compared in lower case; Chinese, Japanese and Korean are compared by pairs of characters. Pure:
//! equal scores are ordered by date, then text.

mod words;

use std::collections::{BTreeMap, HashMap};

use super::{Entry, Loaded};

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
    let scored = score(loaded, &terms, true);
    best(scored, limit)
}

/// The memories related to the user's text; prefers none to an unrelated one.
pub fn related<'a>(loaded: &'a Loaded, user_text: &str, limit: usize) -> Vec<Hit<'a>> {
    related_in(loaded, None, user_text, limit)
}

/// [`related`], by the words of all memories where they are known.
pub(super) fn related_in<'a>(
    loaded: &'a Loaded,
    words: Option<&Words>,
    user_text: &str,
    limit: usize,
) -> Vec<Hit<'a>> {
    let telling = |word: &str| !words::grammar(word) && !words::chatter(word);
    let terms = query_terms(user_text, telling);
    if terms.is_empty() {
        return Vec::new();
    }
    let mut scored = match words {
        Some(words) => weighed(words.counted(loaded, &terms)),
        None => score(loaded, &terms, false),
    };
    let top = scored.iter().map(|it| it.score).fold(0.0, f64::max);
    scored.retain(|it| {
        let share = |of: usize| it.matched as f64 >= COVERED * of as f64;
        let enough = it.matched > 1 || share(terms.len()) || share(it.length);
        enough && it.score >= OF_BEST * top
    });
    best(scored, limit)
}

/// Places of the texts that fit `query` best, best first; the same measure as for memories.
pub fn best_texts(texts: &[&str], query: &str, limit: usize) -> Vec<usize> {
    let terms = query_terms(query, |word| !words::grammar(word));
    let mut lengths = Vec::with_capacity(texts.len());
    let mut counts = vec![vec![0_u32; terms.len()]; texts.len()];
    for (text, counts) in texts.iter().zip(&mut counts) {
        let mut length = 0_usize;
        words::each(text, |word, single| {
            length += usize::from(!single);
            if let Some(place) = terms.iter().position(|term| term == word) {
                counts[place] += 1;
            }
        });
        lengths.push(length);
    }
    let all = texts.len() as f64;
    let average = (lengths.iter().sum::<usize>() as f64 / all.max(1.0)).max(1.0);
    let with = |place: usize| counts.iter().filter(|it| it[place] > 0).count() as f64;
    let weights: Vec<f64> = (0..terms.len())
        .map(|place| (1.0 + (all - with(place) + 0.5) / (with(place) + 0.5)).ln())
        .collect();
    let score = |at: usize| {
        let norm = K1 * (1.0 - B + B * lengths[at] as f64 / average);
        let terms = counts[at].iter().zip(&weights);
        let parts = terms.map(|(count, weight)| {
            let count = f64::from(*count);
            weight * count * (K1 + 1.0) / (count + norm)
        });
        parts.sum::<f64>()
    };
    let mut scored: Vec<(f64, usize)> = (0..texts.len()).map(|at| (score(at), at)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let top = scored.first().map_or(0.0, |(score, _)| *score);
    scored.retain(|(score, _)| *score >= OF_BEST * top);
    scored.truncate(limit);
    scored.into_iter().map(|(_, at)| at).collect()
}

struct Scored<'a> {
    entry: &'a Entry,
    score: f64,
    /// How many different words of the query it contains.
    matched: usize,
    /// How many words it has.
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
        if !counts.is_empty() {
            found.push(Counted {
                entry,
                length,
                counts,
            });
        }
    }
    weighed(All { all, total, found })
}

/// The memories that have a word of a query, among all.
struct All<'a> {
    all: usize,
    /// Words of all together.
    total: usize,
    found: Vec<Counted<'a>>,
}

fn weighed<'a>(counted: All<'a>) -> Vec<Scored<'a>> {
    let All { all, total, found } = counted;
    let mut frequency: Vec<usize> = Vec::new();
    for (place, _) in found.iter().flat_map(|one| &one.counts) {
        frequency.resize(frequency.len().max(place + 1), 0);
        frequency[*place] += 1;
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

/// Which memory has which word how often, for all words.
pub(super) struct Words {
    lengths: Vec<usize>,
    total: usize,
    /// By word: places of the memories among all, and counts.
    by_word: HashMap<String, Vec<(usize, u32)>>,
}

impl Words {
    pub fn of(loaded: &Loaded) -> Self {
        let mut words = Self {
            lengths: Vec::with_capacity(loaded.len()),
            total: 0,
            by_word: HashMap::new(),
        };
        for (at, entry) in loaded.entries().enumerate() {
            let mut length = 0;
            words::each(&entry.text, |word, single| {
                length += usize::from(!single);
                if !words.by_word.contains_key(word) {
                    words.by_word.insert(word.to_owned(), Vec::new());
                }
                let Some(places) = words.by_word.get_mut(word) else {
                    return;
                };
                match places.last_mut() {
                    Some((last, count)) if *last == at => *count += 1,
                    _ => places.push((at, 1)),
                }
            });
            words.lengths.push(length);
            words.total += length;
        }
        words
    }

    /// `loaded`: the memories that these are the words of.
    fn counted<'a>(&self, loaded: &'a Loaded, terms: &[String]) -> All<'a> {
        let mut counts: BTreeMap<usize, Vec<(usize, u32)>> = BTreeMap::new();
        for (place, term) in terms.iter().enumerate() {
            for (at, count) in self.by_word.get(term).into_iter().flatten() {
                counts.entry(*at).or_default().push((place, *count));
            }
        }
        let entry = |at: usize| {
            let (users, projects) = (loaded.user.len(), loaded.project.len());
            let user = loaded.user.get(at);
            let project = || loaded.project.get(at.checked_sub(users)?);
            let session = || loaded.session.get(at.checked_sub(users + projects)?);
            user.or_else(project).or_else(session)
        };
        let found = counts.into_iter().filter_map(|(at, counts)| {
            Some(Counted {
                entry: entry(at)?,
                length: *self.lengths.get(at)?,
                counts,
            })
        });
        All {
            all: self.lengths.len(),
            total: self.total,
            found: found.collect(),
        }
    }
}
