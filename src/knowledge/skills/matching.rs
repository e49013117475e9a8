//! Which skills match a prompt, by words alone: the same words always give the same skills. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use super::Skill;
use crate::env::order;

/// Most skills that match one prompt.
const MOST: usize = 3;
/// Most bytes of a prompt that are read.
const LOOKED_AT: usize = 64 * 1024;
/// Distinct words of a description that a prompt must contain when nothing else matches.
const WORDS: usize = 2;

/// Words that say nothing about a skill's purpose.
const STOP: &str = " about across after again all also always and any anything app apply are ask \
    asked asking asks based because been before being best better between both build but call can \
    change changes check code common correctly create creates creating current data deal do does \
    doing done each easily edit editing either even every everything example existing feature \
    file files find first fix for from full function general generate generates get give given \
    good guide guidelines had handle handles handling has have help helpful helps her here his \
    how including into issue issues its just keep kind know let like line list look made make \
    makes making many may me mention mentions modify more most must my need needed needs never \
    new not now of off one only open other our out over own part path perform please proper \
    properly provide provides question questions quick quickly read reading repo repository \
    request requests run running same see set should show simple skill skills so some something \
    specific start step steps such support supports sure take task tasks tell text than that the \
    their them then there these they thing things this those through time tool tools try under \
    until update updates us use used useful user users uses using various very via want wants was \
    way ways we well were what whatever when whenever where whether which while who whole why \
    will with within without word words work working works would write writing yes yet you your ";

/// The skills that match `prompt`, best first, at most three; equal ones by name. A skill matches
/// when the prompt contains its name, a keyword, or two words of its description. Skills that are in
/// the prompt anyway, or that the model may not load, do not.
pub fn matching<'a>(skills: &'a [Skill], prompt: &str) -> Vec<&'a Skill> {
    let prompt = &prompt[..prompt.floor_char_boundary(LOOKED_AT)];
    let words = words(prompt);
    if words.is_empty() {
        return Vec::new();
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, word) in words.iter().enumerate() {
        places.entry(word).or_default().push(at);
    }
    let prompt = Prompt {
        words: &words,
        places,
    };
    let mut ranked: Vec<(Rank, &Skill)> = skills
        .iter()
        .filter(|skill| skill.for_model && !skill.always)
        .filter_map(|skill| Some((prompt.rank(skill)?, skill)))
        .collect();
    order::sort_by(&mut ranked, |(a, first), (b, second)| {
        b.cmp(a).then(first.name.cmp(&second.name))
    });
    ranked.into_iter().take(MOST).map(|(_, it)| it).collect()
}

/// Later fields break ties of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    named: bool,
    keywords: usize,
    words: usize,
}

struct Prompt<'a> {
    words: &'a [String],
    places: HashMap<&'a str, Vec<usize>>,
}

impl Prompt<'_> {
    fn rank(&self, skill: &Skill) -> Option<Rank> {
        let contains = |text: &String| self.contains_phrase(&words(text));
        let mut about: BTreeSet<&str> = BTreeSet::new();
        for_each_word(&skill.description, |word| {
            // Most words of a description do not occur in the prompt.
            if let Some((word, _)) = self.places.get_key_value(word) {
                about.insert(word);
            }
        });
        let significant = |word: &&&str| is_significant(word);
        let rank = Rank {
            named: contains(&skill.name),
            keywords: skill.keywords.iter().filter(|it| contains(it)).count(),
            words: about.iter().filter(significant).count(),
        };
        (rank.named || rank.keywords > 0 || rank.words >= WORDS).then_some(rank)
    }

    /// The prompt contains the words in sequence, and not all of them are stop words.
    fn contains_phrase(&self, wanted: &[String]) -> bool {
        let Some(first) = wanted.first() else {
            return false;
        };
        let starts = self
            .places
            .get(first.as_str())
            .map_or(&[][..], Vec::as_slice);
        wanted.iter().any(|word| !is_stop_word(word))
            && starts
                .iter()
                .any(|at| self.words[*at..].starts_with(wanted))
    }
}

fn is_significant(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 3 && !is_stop_word(word)
}

fn is_stop_word(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    let words = WORDS.get_or_init(|| STOP.split_whitespace().collect());
    words.contains(word)
}

/// Lower-case words: runs of letters and digits. Characters of scripts that put no blanks
/// between words are words of their own, so that a run of them is found inside a longer one.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for_each_word(text, |word| out.push(word.to_owned()));
    out
}

/// Calls `take` for each word.
fn for_each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let alone = matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if c.is_alphanumeric() && !alone {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            take(&word);
            word.clear();
        }
        if alone {
            take(c.encode_utf8(&mut [0; 4]));
        }
    }
    if !word.is_empty() {
        take(&word);
    }
}

#[cfg(test)]
mod tests;
