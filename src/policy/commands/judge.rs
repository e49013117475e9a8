//! Judges a command line: each simple command by its program, subcommand and options, against the
//! list of known programs that only read (`known.toml`). What the grammar or the list does not
//! know is `Unknown`.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::grammar::{Redirection, Simple, Word, simple_commands};
use super::{LONGEST, limits};

/// What a command line does, as far as its text shows. Stricter verdicts are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every part only reads, and names no file outside the folder it runs in.
    ReadOnly,
    Unknown,
    /// Too long, too many parts or nested too deep: no one reads it before approving (A23).
    Refused,
}

/// The list of known programs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Variables that change only how output looks.
    variables: Vec<String>,
    program: HashMap<String, Usage>,
}

/// The options and operands with which a program only reads.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Usage {
    /// The same as another program.
    like: Option<String>,
    /// Options before the subcommand.
    global: Vec<String>,
    /// By one or two words. A program that has subcommands needs one.
    sub: HashMap<String, Usage>,
    /// Letters of options without a value.
    short: String,
    /// Letters of options with a value, attached or in the next word.
    short_value: String,
    /// Long options without `--`; with `=` at the end if a value may follow.
    long: Vec<String>,
    /// Complete words that begin with `-`.
    words: Vec<String>,
    /// `-20`.
    number: bool,
    /// Words that begin with `-` are operands.
    free: bool,
    /// Most operands, values of options included.
    operands: Option<usize>,
    /// Fewest operands.
    least: usize,
    /// A pattern for the first operand.
    first: Option<String>,
}

static KNOWN: LazyLock<Known> =
    LazyLock::new(|| toml::from_str(include_str!("known.toml")).unwrap_or_default());

/// Judges a command line for `/bin/sh -c`.
pub fn judge(line: &str) -> Verdict {
    if line.len() > LONGEST || limits::exceeded(line) {
        return Verdict::Refused;
    }
    match simple_commands(line) {
        Some(commands) if commands.len() > limits::PARTS => Verdict::Refused,
        Some(commands) if !commands.is_empty() && commands.iter().all(only_reads) => {
            Verdict::ReadOnly
        }
        _ => Verdict::Unknown,
    }
}

pub(super) fn only_reads(command: &Simple) -> bool {
    let Some((name, arguments)) = command.words.split_first() else {
        return false;
    };
    !name.pattern
        && contained(command)
        && arguments.iter().all(certain)
        && known(&name.text, arguments)
}

/// Its variables change only how output looks, and its redirections write nothing.
pub(super) fn contained(command: &Simple) -> bool {
    let harmless = |(name, value): &(String, Word)| {
        KNOWN.variables.contains(name) && !value.pattern && inside(&value.text)
    };
    let contained = |redirection: &Redirection| match redirection {
        Redirection::Read(file) => !file.pattern && inside(&file.text),
        Redirection::Write(file) => !file.pattern && file.text == "/dev/null",
        Redirection::Duplicate => true,
    };
    command.assignments.iter().all(harmless) && command.redirections.iter().all(contained)
}

/// No file name that a pattern matches is an option or leaves the folder.
fn certain(word: &Word) -> bool {
    let open = |c: char| matches!(c, '*' | '?');
    let hidden = |part: &str| part.starts_with('.') && part.contains(open);
    let fixed = word.text.split(open).next().unwrap_or_default();
    // What `--include=*.rs` matches is the same option.
    let named = fixed.starts_with("--") && fixed.contains('=');
    let option = word.text.starts_with(['*', '?', '-']) && !named;
    !word.pattern || !(option || !inside(&word.text) || word.text.split('/').any(hidden))
}

fn known(name: &str, arguments: &[Word]) -> bool {
    let Some(mut program) = KNOWN.program.get(name) else {
        return false;
    };
    if let Some(like) = program.like.as_ref().and_then(|it| KNOWN.program.get(it)) {
        program = like;
    }
    if program.sub.is_empty() {
        return program.permits(arguments);
    }
    let is_global = |word: &&Word| program.global.contains(&word.text);
    let arguments = &arguments[arguments.iter().take_while(is_global).count()..];
    [2, 1].into_iter().any(|count| {
        let Some((names, rest)) = arguments.split_at_checked(count) else {
            return false;
        };
        let names: Vec<&str> = names.iter().map(|word| word.text.as_str()).collect();
        let usage = program.sub.get(&names.join(" "));
        usage.is_some_and(|usage| usage.permits(rest))
    })
}

impl Usage {
    fn permits(&self, arguments: &[Word]) -> bool {
        let mut operands = Vec::new();
        let mut ended = self.free;
        for word in arguments {
            let text = word.text.as_str();
            if !ended && text == "--" {
                ended = true;
            } else if !ended && text.len() > 1 && text.starts_with('-') {
                if !self.permits_option(text) {
                    return false;
                }
            } else {
                operands.push(text);
            }
        }
        let first = self.first.as_ref().is_none_or(|pattern| {
            let pattern = Regex::new(pattern);
            let text = operands.first();
            pattern.is_ok_and(|pattern| text.is_none_or(|text| pattern.is_match(text)))
        });
        first
            && operands.len() >= self.least
            && self.operands.is_none_or(|most| operands.len() <= most)
            && (self.free || operands.into_iter().all(inside))
    }

    fn permits_option(&self, option: &str) -> bool {
        if self.words.iter().any(|word| word == option) {
            return true;
        }
        if let Some(long) = option.strip_prefix("--") {
            return match long.split_once('=') {
                Some((name, value)) => {
                    let valued = |it: &String| it.strip_suffix('=') == Some(name);
                    inside(value) && self.long.iter().any(valued)
                }
                None => {
                    let named = |it: &String| it.trim_end_matches('=') == long;
                    self.long.iter().any(named)
                }
            };
        }
        let letters = &option[1..];
        if self.number && letters.bytes().all(|b| b.is_ascii_digit()) {
            return true;
        }
        for (at, letter) in letters.char_indices() {
            if self.short_value.contains(letter) {
                return inside(&letters[at + letter.len_utf8()..]);
            }
            if !self.short.contains(letter) {
                return false;
            }
        }
        true
    }
}

/// Not a path that leaves the folder in which the command runs.
fn inside(text: &str) -> bool {
    text == "/dev/null"
        || !(text.starts_with(['/', '~'])
            || text.split(['/', ':', ',', '=']).any(|part| part == "..")
            || text.contains(":/"))
}
