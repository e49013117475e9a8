//! Any text as a command line: the judge's verdict, compared with a plain reading of what a shell
//! would do besides starting programs, and with the verdicts of the line wrapped and joined.

use crate::policy::commands::{LONGEST, Verdict, judge};

/// What bytes from 0x80 on stand for: parts of command lines that a fuzzer would seldom spell.
const TOKENS: [&str; 64] = [
    "ls",
    "cat ",
    "rm x",
    "git log ",
    "git status",
    "git ",
    "find . ",
    "sort ",
    "sed -n ",
    "1p ",
    "rg x",
    "echo ",
    "cd src",
    "test ",
    "sh -c ",
    "eval ",
    "env ",
    "xargs ",
    "time ",
    "exec ",
    "if ",
    "then ",
    "fi",
    "while ",
    "do ",
    "done",
    "for x in ",
    "case x in ",
    "esac",
    "! ",
    "{ ",
    "; }",
    "( ",
    " )",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "\n",
    "> ",
    ">/dev/null",
    "2>&1",
    "< ",
    "<<E\n",
    "$(",
    "${x}",
    "$x",
    "`",
    "\"",
    "'",
    "\\",
    "LC_ALL=C ",
    "PATH=. ",
    "X=1 ",
    "f() ",
    "*.rs",
    "~/",
    "../",
    "/etc/",
    " -",
    "--output=x ",
    "\u{a0}",
    "# ",
];

/// What an assignment before a program may set in a line that only reads.
const HARMLESS: [&str; 7] = [
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "NO_COLOR",
    "TZ",
    "COLUMNS",
];

/// Text before and after a line that leaves or adds to what it does.
const WRAPS: [(&str, &str); 14] = [
    ("(", "\n)"),
    ("{ ", "\n}"),
    ("! ", ""),
    ("true && ", ""),
    ("ls; ", ""),
    ("ls | ", ""),
    ("ls || ", ""),
    ("", "\nls"),
    ("", "; ls"),
    ("", " | cat"),
    ("", " # ls"),
    ("\n\n", "\n\n"),
    ("# ls\n", ""),
    ("LC_ALL=C ", ""),
];

/// Judges two lines, split at the first zero byte, by themselves and together.
///
/// # Panics
/// When a line that only reads would write, expand, assign or run in the background, and when
/// quoting, wrapping or joining makes a verdict laxer.
pub fn fuzz_commands(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let mut next = || line(parts.next().unwrap_or_default());
    let (first, second) = (next(), next());
    let strictest = check(&first).max(check(&second));
    if !(read(&first).closed && read(&second).closed) {
        return;
    }
    for by in ["; ", " && ", " || ", " | ", "\n", " & "] {
        let joined = format!("{first}{by}{second}");
        assert!(judge(&joined) >= strictest, "joining is laxer: {joined:?}");
    }
}

fn line(data: &[u8]) -> String {
    let mut text = String::new();
    for byte in data {
        match byte {
            0x80.. => text.push_str(TOKENS[usize::from(byte & 0x3f)]),
            _ => text.push(char::from(*byte)),
        }
    }
    text
}

/// The verdict on one line, which must fit the line.
fn check(line: &str) -> Verdict {
    let verdict = judge(line);
    let reading = read(line);
    if verdict == Verdict::ReadOnly {
        assert!(
            line.len() <= LONGEST,
            "{} bytes are too long to read",
            line.len()
        );
        assert!(reading.end != End::Open, "it is not complete: {line:?}");
        assert!(!reading.acts, "it does more than read: {line:?}");
        let set = |name: &String| !HARMLESS.contains(&name.as_str());
        assert!(!reading.assigned.iter().any(set), "it assigns: {line:?}");
    }
    if reading.closed {
        for (before, after) in WRAPS {
            let wrapped = format!("{before}{line}{after}");
            assert!(judge(&wrapped) >= verdict, "wrapping is laxer: {wrapped:?}");
        }
    }
    // A quoted line may be within limits that the same words exceed.
    if reading.closed && verdict != Verdict::Refused {
        quoted(line, verdict);
    }
    verdict
}

/// Quoted words are the same words, unless the shell read them as more.
fn quoted(line: &str, verdict: Verdict) {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./_=:,-".contains(c);
    if line.trim().is_empty() || !line.chars().all(plain) {
        return;
    }
    for quote in ['\'', '"'] {
        let words = line.split(' ').filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(|word| format!("{quote}{word}{quote}")).collect();
        let quoted = words.join(" ");
        assert!(judge(&quoted) >= verdict, "quoting is laxer: {quoted:?}");
    }
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Plain,
    /// In a comment.
    Comment,
    /// In quotes, or with a backslash.
    Open,
}

/// What a shell would make of a line, without its grammar.
struct Reading {
    /// It writes, expands, substitutes, defines, or runs something in the background.
    acts: bool,
    /// Names of variables before programs.
    assigned: Vec<String>,
    end: End,
    /// What is before and after it on the same line is no part of its words, comments, operators
    /// and brackets.
    closed: bool,
}

/// Stands for a pair of quotes, which may be all of a word. No input has it.
const EMPTY: char = '\u{10ffff}';

/// A character of a line, and whether it is quoted.
type Mark = (char, bool);

/// The characters without quotes and comments, whether something is expanded, and how it ends.
fn marks(line: &str) -> (Vec<Mark>, bool, End) {
    let (mut out, mut acts): (Vec<Mark>, bool) = (Vec::new(), false);
    let mut chars = line.chars();
    let mut double = false;
    let mut begins = true;
    while let Some(c) = chars.next() {
        let starts = std::mem::replace(&mut begins, false);
        match c {
            '\\' => match chars.next() {
                Some(next) => out.push((next, true)),
                None => return (out, acts, End::Open),
            },
            '\'' if !double => loop {
                match chars.next() {
                    Some('\'') => {
                        out.push((EMPTY, true));
                        break;
                    }
                    Some(inner) => out.push((inner, true)),
                    None => return (out, acts, End::Open),
                }
            },
            '"' => {
                double = !double;
                out.push((EMPTY, true));
            }
            '$' | '`' => {
                acts = true;
                out.push((c, double));
            }
            '#' if !double && starts => {
                if !chars.by_ref().any(|it| it == '\n') {
                    return (out, acts, End::Comment);
                }
                out.push(('\n', false));
                begins = true;
            }
            _ => {
                out.push((c, double));
                begins = !double && " \t\n;|&()<>".contains(c);
            }
        }
    }
    let end = if double { End::Open } else { End::Plain };
    (out, acts, end)
}

/// Each closing bracket has its opening one before it, and the other way round.
fn balanced(text: &str, open: char, close: char) -> bool {
    let mut depth = 0_usize;
    for c in text.chars() {
        if c == open {
            depth += 1;
        } else if c == close {
            let Some(less) = depth.checked_sub(1) else {
                return false;
            };
            depth = less;
        }
    }
    depth == 0
}

fn read(line: &str) -> Reading {
    let (marks, acts, end) = marks(line);
    let bare: String = marks
        .iter()
        .map(|(c, quoted)| if *quoted { 'q' } else { *c })
        .collect();
    let bare = bare.trim();
    let closed = end == End::Plain
        && !bare.is_empty()
        && balanced(bare, '(', ')')
        && balanced(bare, '{', '}')
        && !bare.contains("<<")
        && !bare.starts_with(['|', '&', ';'])
        && !bare.ends_with(['|', '&', '<', '>', '!']);
    let mut reading = Reading {
        acts,
        assigned: Vec::new(),
        end,
        closed,
    };
    Words::new(&marks).all(&mut reading);
    reading
}

/// Reads the words of a line.
struct Words<'a> {
    marks: &'a [Mark],
    at: usize,
}

impl<'a> Words<'a> {
    fn new(marks: &'a [Mark]) -> Self {
        Self { marks, at: 0 }
    }

    fn peek(&self) -> Option<char> {
        let (c, quoted) = self.marks.get(self.at)?;
        Some(if *quoted { 'q' } else { *c })
    }

    fn takes(&mut self, c: char) -> bool {
        let takes = self.peek() == Some(c);
        self.at += usize::from(takes);
        takes
    }

    fn all(&mut self, reading: &mut Reading) {
        let mut first = true;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                ';' | '|' | '\n' | ')' => {
                    first = true;
                    self.at += 1;
                }
                '(' => {
                    // After a word it defines a function.
                    reading.acts |= !first;
                    self.at += 1;
                }
                '&' => {
                    self.at += 1;
                    reading.acts |= !self.takes('&');
                    first = true;
                }
                '<' => {
                    self.at += 1;
                    reading.acts |= ['<', '(', '>', '&'].into_iter().any(|it| self.takes(it));
                }
                '>' => self.redirection(reading),
                _ => first = self.word(first, reading),
            }
        }
    }

    /// `2>&1` and `> /dev/null` write nothing.
    fn redirection(&mut self, reading: &mut Reading) {
        self.at += 1;
        let duplicates = self.takes('&');
        let _ = self.takes('>') || self.takes('|');
        while self.takes(' ') || self.takes('\t') {}
        let target: String = self.text().into_iter().map(|(c, _)| c).collect();
        let digits = !target.is_empty() && target.chars().all(|c| c.is_ascii_digit());
        reading.acts |= !(target == "/dev/null" && !duplicates || duplicates && digits);
    }

    /// Whether the next word is a program too: this one was an assignment or an opening.
    fn word(&mut self, first: bool, reading: &mut Reading) -> bool {
        let word = self.text();
        let plain: String = word
            .iter()
            .map(|(c, quoted)| if *quoted { 'q' } else { *c })
            .collect();
        let tilde = ["=~", ":~"].iter().any(|it| plain.contains(it)) || plain.starts_with('~');
        let group = matches!(plain.as_str(), "{" | "}");
        reading.acts |= tilde || (!group && plain.contains(['{', '}']));
        let name = plain.split_once('=').map(|(name, _)| name);
        let named = |name: &&str| {
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match name.filter(named) {
            Some(name) if first => {
                // A quoted character before the `=` makes it a program's name.
                let quoted = word.iter().take(name.len()).any(|(_, quoted)| *quoted);
                if !quoted {
                    reading.assigned.push(name.to_owned());
                }
                !quoted
            }
            _ => first && (group || plain == "!"),
        }
    }

    /// The characters up to the end of a word, without the marks of empty quotes.
    fn text(&mut self) -> Vec<Mark> {
        let rest = &self.marks[self.at..];
        let ends = |(c, quoted): &Mark| !quoted && " \t\n;|&()<>".contains(*c);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += length;
        let kept = rest[..length].iter().filter(|(c, _)| *c != EMPTY);
        kept.copied().collect()
    }
}
