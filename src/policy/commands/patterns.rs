//! Command patterns of lists and rules. To deny or ask, a pattern is searched in everything that a
//! line could run, whatever it is wrapped in. To allow, every simple command of the line must begin
//! with the words of a pattern, or be known to only read.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::grammar::{Simple, simple_commands};
use super::judge::{contained, only_reads};
use super::scan::{Piece, scan};
use crate::config::command_patterns;

/// Deepest nesting of texts that shells run, such as `sh -c "sh -c …"`.
const NESTED_TEXTS: usize = 6;

/// Most bytes that are searched for one line, with the texts that it wraps.
const MOST_TEXT: usize = 16 * super::LONGEST;

/// The words that a command begins with; `*` is every command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

/// Whether a line runs a command of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    No,
    Perhaps,
    Yes,
}

/// Facts about programs (`programs.toml`).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Programs {
    pub wrappers: Vec<String>,
    pub runners: Vec<String>,
    pub shells: Vec<String>,
    pub adders: Vec<String>,
    pub namers: Vec<String>,
    pub unruled: Vec<String>,
    pub interpreters: Vec<String>,
    /// Program → words after which one more word belongs to a rule.
    pub subcommands: HashMap<String, Vec<String>>,
}

pub(super) static PROGRAMS: LazyLock<Programs> =
    LazyLock::new(|| toml::from_str(include_str!("programs.toml")).unwrap_or_default());

impl Pattern {
    /// `None`: it is not a pattern.
    pub fn parse(text: &str) -> Option<Self> {
        command_patterns::words(text).ok().map(Self)
    }

    pub(super) fn of(words: &[&str]) -> Option<Self> {
        Self::parse(&words.join(" "))
    }

    /// As in the settings.
    pub fn text(&self) -> String {
        self.0.join(" ")
    }

    /// The command begins with exactly these words.
    fn begins(&self, command: &Simple) -> bool {
        let mut words = command.words.iter();
        self.0 == ["*"]
            || self.0.iter().all(|wanted| {
                let word = words.next();
                word.is_some_and(|word| !word.pattern && word.text == *wanted)
            })
    }

    /// The command could be one of the pattern: options before and between the words are skipped.
    fn find(&self, words: &[Piece]) -> Found {
        let Some((program, arguments)) = words.split_first() else {
            return Found::No;
        };
        let Some((wanted, rest)) = self.0.split_first() else {
            return Found::No;
        };
        if !program.certain {
            return Found::Perhaps;
        }
        let named = match wanted.contains('/') {
            true => program.text == *wanted,
            false => name(&program.text).eq_ignore_ascii_case(wanted),
        };
        if !named {
            return Found::No;
        }
        let (options, operands): (Vec<_>, Vec<_>) = rest.iter().partition(|it| it.starts_with('-'));
        let options = options.iter().map(|it| find_option(it, arguments));
        find_operands(&operands, arguments).min(options.min().unwrap_or(Found::Yes))
    }
}

/// The last part of a path.
pub(super) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn find_operands(wanted: &[&String], arguments: &[Piece]) -> Found {
    let mut wanted = wanted.iter();
    let Some(mut next) = wanted.next() else {
        return Found::Yes;
    };
    let mut after_option = false;
    for word in arguments {
        let option = word.text.starts_with(['-', '+']);
        if !word.certain && !option {
            return Found::Perhaps;
        }
        if word.text == **next {
            match wanted.next() {
                Some(more) => next = more,
                None => return Found::Yes,
            }
            after_option = false;
        } else if option || after_option {
            // The word after an option may be its value.
            after_option = option;
        } else {
            return Found::No;
        }
    }
    Found::No
}

/// An option may be written with others, with a value, or shortened.
fn find_option(wanted: &str, arguments: &[Piece]) -> Found {
    let same = |given: &str| match wanted.strip_prefix("--") {
        Some(long) => given
            .strip_prefix("--")
            .map(|given| given.split('=').next().unwrap_or(given))
            .is_some_and(|given| !given.is_empty() && long.starts_with(given)),
        None => given == wanted,
    };
    let clustered = |letter: char| {
        let short = |word: &&Piece| word.text.starts_with('-') && !word.text.starts_with("--");
        arguments
            .iter()
            .filter(short)
            .any(|word| word.text.contains(letter))
    };
    let letters = wanted.strip_prefix('-').unwrap_or_default();
    let short = !wanted.starts_with("--") && !letters.is_empty() && letters.chars().all(clustered);
    if short || arguments.iter().any(|word| same(&word.text)) {
        Found::Yes
    } else if arguments.iter().any(|word| !word.certain) {
        Found::Perhaps
    } else {
        Found::No
    }
}

/// Everything that a line could run.
pub struct Seen {
    /// Each with how many of its first words may be the program.
    commands: Vec<(Vec<Piece>, usize)>,
    unclear: bool,
    /// Words of the line without quotes, for a line that is unclear.
    tokens: Vec<Piece>,
    /// Bytes of texts that are still searched.
    budget: usize,
}

impl Seen {
    pub fn new(line: &str) -> Self {
        let mut seen = Self {
            commands: Vec::new(),
            unclear: false,
            tokens: Vec::new(),
            budget: MOST_TEXT,
        };
        seen.line(line, 0);
        if seen.unclear {
            seen.tokens = tokens(line);
        }
        seen
    }

    /// Whether the line runs a command of the pattern.
    pub fn find(&self, pattern: &Pattern) -> Found {
        if pattern.0 == ["*"] {
            return Found::Yes;
        }
        let commands = self.commands.iter().map(|(words, starts)| {
            let found = (0..*starts).map(|at| pattern.find(&words[at..]));
            found.max().unwrap_or(Found::No)
        });
        let found = commands.max().unwrap_or(Found::No);
        if !self.unclear {
            return found;
        }
        let starts = 0..self.tokens.len();
        let mut texts = starts.map(|at| pattern.find(&self.tokens[at..]));
        match texts.any(|it| it == Found::Yes) {
            true => Found::Yes,
            false => found.max(Found::Perhaps),
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        let left = self.budget.checked_sub(line.len());
        let Some(left) = left.filter(|_| depth <= NESTED_TEXTS) else {
            self.unclear = true;
            return;
        };
        self.budget = left;
        let found = scan(line);
        self.unclear |= found.unclear;
        let mut reads_input = false;
        for words in found.commands {
            reads_input |= self.command(words, depth);
        }
        if reads_input {
            self.unclear = true;
            for text in found.documents {
                self.line(&text, depth + 1);
            }
        }
    }

    /// Adds a command and what it wraps. Returns whether it reads commands from its input.
    fn command(&mut self, words: Vec<Piece>, depth: usize) -> bool {
        let is = |list: &[String], word: &Piece| list.iter().any(|it| it == name(&word.text));
        let lists = [&PROGRAMS.wrappers, &PROGRAMS.runners, &PROGRAMS.shells];
        let wraps = |word: &Piece| lists.iter().any(|list| is(list, word));
        let Some(first) = words.first() else {
            return false;
        };
        // `git submodule foreach`, `git bisect run`, `git rebase --exec`
        let runs = |word: &Piece| {
            let text = word.text.as_str();
            matches!(text, "foreach" | "run" | "-x") || text.starts_with("--exec")
        };
        let git_runs = name(&first.text).eq_ignore_ascii_case("git") && words.iter().any(runs);
        let bare = first.certain && !wraps(first) && !git_runs;
        let alias = words.iter().any(|word| word.text.contains("alias."));
        // Any word of a wrapper may be the program.
        let programs = words.iter().take(if bare { 1 } else { words.len() });
        let names = programs.clone().any(|word| is(&PROGRAMS.namers, word));
        let uncertain = programs.clone().any(|word| !word.certain);
        self.unclear |= names || alias || uncertain;
        if bare {
            self.commands.push((words, 1));
            return false;
        }
        let mut reads_input = false;
        let adds = words.iter().any(|word| is(&PROGRAMS.adders, word));
        for (at, word) in words.iter().enumerate() {
            if is(&PROGRAMS.shells, word) {
                reads_input |= adds || reads_commands(&words[at + 1..]);
            }
        }
        let joined: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
        self.text(&joined.join(" "), depth);
        for word in joined {
            self.text(word, depth);
            let attached = word.strip_prefix('-').and_then(|it| it.get(1..));
            let value = word.split_once('=').map(|(_, value)| value);
            for inner in attached.into_iter().chain(value) {
                self.text(inner, depth);
            }
        }
        let mut words = words;
        let mut starts = words.len();
        if adds {
            let open = |word: &Piece| wraps(word) || word.text.contains(['-', '=']);
            starts += usize::from(words.last().is_some_and(open));
            let (text, certain) = (String::new(), false);
            words.push(Piece { text, certain });
        }
        self.commands.push((words, starts));
        reads_input
    }

    /// An argument that may be a command line.
    fn text(&mut self, text: &str, depth: usize) {
        let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
        if !text.chars().all(plain) {
            self.line(text, depth + 1);
        }
    }
}

/// A shell with these arguments reads commands from its input.
fn reads_commands(arguments: &[Piece]) -> bool {
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    let names_input = |word: &Piece| {
        let text = word.text.as_str();
        (short(text) && text.contains('s')) || matches!(text, "-" | "/dev/stdin" | "/dev/fd/0")
    };
    arguments.iter().all(|word| word.text.starts_with('-')) || arguments.iter().any(names_input)
}

/// The words of a text, whatever separates them.
fn tokens(line: &str) -> Vec<Piece> {
    let quote = |c: char| matches!(c, '\'' | '"' | '\\');
    let bare: String = line.chars().filter(|c| !quote(*c)).collect();
    let ends = |c: char| c.is_whitespace() || ";&|<>(){}`$,=![]".contains(c);
    let words = bare.split(ends).filter(|word| !word.is_empty());
    words
        .map(|word| Piece {
            text: word.to_owned(),
            certain: true,
        })
        .collect()
}

/// Every simple command of the line begins with the words of a pattern, or is known to only read,
/// and the line has no redirection that writes.
pub fn allowed(line: &str, patterns: &[&Pattern]) -> bool {
    let permitted = |command: &Simple| {
        let listed = || patterns.iter().any(|pattern| pattern.begins(command));
        only_reads(command) || (contained(command) && listed())
    };
    simple_commands(line)
        .is_some_and(|commands| !commands.is_empty() && commands.iter().all(permitted))
}

/// The patterns of a lasting rule for this line, one for each command that does not only read.
/// `None`: a rule would say too little about what it allows.
pub fn derived(line: &str) -> Option<Vec<Pattern>> {
    let mut patterns = Vec::new();
    for command in simple_commands(line)?.iter().filter(|it| !only_reads(it)) {
        let pattern = contained(command).then(|| pattern_of(command))??;
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    (!patterns.is_empty()).then_some(patterns)
}

fn pattern_of(command: &Simple) -> Option<Pattern> {
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let patterned = |count: usize| command.words.iter().take(count).any(|word| word.pattern);
    let program = name(words.first()?);
    let is = |list: &[String]| list.iter().any(|it| it == program);
    let known = &*PROGRAMS;
    if is(&known.wrappers) || is(&known.namers) || is(&known.unruled) {
        return None;
    }
    let option = |at: usize| {
        words
            .get(at)
            .is_none_or(|word| word.starts_with(['-', '+']))
    };
    let count = if let Some(longer) = known.subcommands.get(program) {
        match words.get(1) {
            None => 1,
            Some(first) if longer.iter().any(|it| it == first) => 3,
            Some(_) => 2,
        }
    } else if is(&known.interpreters) && words.get(1) == Some(&"-m") {
        3
    } else if is(&known.interpreters) || is(&known.shells) {
        2
    } else {
        1
    };
    // A program alone may do anything, unless it is one without subcommands.
    let opaque = (count > 1 && option(count - 1)) || (count == 2 && option(1));
    let alone = count == 1 && (is(&known.interpreters) || is(&known.shells));
    if opaque || alone || words.len() < count || patterned(count) {
        return None;
    }
    Pattern::of(&words[..count])
}

#[cfg(test)]
mod tests;
