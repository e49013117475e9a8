//! Finds every command that a line could run, also in substitutions, compound commands, functions
//! and here-documents. Unlike the grammar it never gives up: what it cannot read makes the line
//! unclear. It may find more commands than there are, and decides only what is denied or asked.

/// Deepest nesting of substitutions and subshells.
const NESTING: usize = 40;

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Without quotes; of a word that is not certain, its certain parts.
    pub text: String,
    /// Has no expansion, substitution or pattern.
    pub certain: bool,
}

/// What a line could run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The words of each command, without assignments and redirections.
    pub commands: Vec<Vec<Piece>>,
    /// Texts of here-documents and here-strings.
    pub documents: Vec<String>,
    /// A part of it may be read in another way.
    pub unclear: bool,
}

/// Words before a command that do not belong to it.
const RESERVED: [&str; 15] = [
    "!", "{", "}", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for",
    "case", "esac",
];

/// Words after which the next ones are read in a way of their own.
const OWN_WAY: [&str; 4] = ["case", "function", "select", "coproc"];

pub fn scan(line: &str) -> Scan {
    scan_at(line, 0)
}

fn scan_at(line: &str, depth: usize) -> Scan {
    let mut scanner = Scanner::new(line, depth);
    scanner.list(None);
    // In arithmetic it shifts, and what follows is not a here-document.
    let shifts = line.contains("((") && line.contains("<<");
    scanner.found.unclear |= shifts || !scanner.pending.is_empty();
    scanner.found
}

/// A here-document whose text begins after the line.
struct Pending {
    delimiter: String,
    quoted: bool,
    indented: bool,
}

struct Scanner {
    text: Vec<char>,
    at: usize,
    depth: usize,
    current: Vec<Piece>,
    pending: Vec<Pending>,
    found: Scan,
}

/// A word while it is read.
#[derive(Default)]
struct Open {
    text: String,
    uncertain: bool,
    quoted: bool,
    /// Has a bracket of a brace expansion.
    braced: bool,
}

impl Scanner {
    fn new(line: &str, depth: usize) -> Self {
        Self {
            text: line.chars().collect(),
            at: 0,
            depth,
            current: Vec::new(),
            pending: Vec::new(),
            found: Scan::default(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0);
        self.at += 1;
        c
    }

    /// Commands up to `end`.
    fn list(&mut self, end: Option<char>) {
        loop {
            let Some(c) = self.peek(0) else {
                self.found.unclear |= end.is_some();
                return self.flush();
            };
            if Some(c) == end {
                self.at += 1;
                return self.flush();
            }
            match c {
                ' ' | '\t' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.flush();
                    self.documents();
                }
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.peek(1) == Some('>') => {
                    // Shells differ: it ends the command, or it redirects.
                    self.found.unclear = true;
                    self.at += 1;
                }
                ';' | '&' | '|' | ')' => {
                    self.at += 1;
                    self.flush();
                }
                '(' => {
                    self.at += 1;
                    self.flush();
                    self.nested();
                }
                '<' | '>' => self.redirection(c),
                _ => self.command_word(),
            }
        }
    }

    fn flush(&mut self) {
        if !self.current.is_empty() {
            let words = std::mem::take(&mut self.current);
            self.found.commands.push(words);
        }
    }

    /// Commands up to the closing bracket, which are no part of the current command.
    fn nested(&mut self) {
        if self.depth >= NESTING {
            self.found.unclear = true;
            self.at = self.text.len();
            return;
        }
        // Shells differ in where the text of an earlier here-document begins.
        self.found.unclear |= !self.pending.is_empty();
        let outer = std::mem::take(&mut self.current);
        self.depth += 1;
        self.list(Some(')'));
        self.depth -= 1;
        self.current = outer;
    }

    /// Reads a word and decides what it is.
    fn command_word(&mut self) {
        let word = self.word();
        if word.text.is_empty() && !word.quoted && !word.uncertain {
            // A continued line.
            return;
        }
        let first = self.current.is_empty();
        let bare = !word.quoted && !word.uncertain;
        self.found.unclear |= bare && first && OWN_WAY.contains(&word.text.as_str());
        let dropped = first && (bare && RESERVED.contains(&word.text.as_str()));
        let digits = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        let descriptor = bare && digits && matches!(self.peek(0), Some('<' | '>'));
        if dropped || descriptor || (first && assigns(&word.text)) {
            return;
        }
        self.current.push(Piece {
            text: word.text,
            certain: !word.uncertain,
        });
    }

    fn word(&mut self) -> Open {
        let mut word = Open::default();
        let begin = self.at;
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => {
                            word.text.push(c);
                            word.quoted = true;
                        }
                        None => self.found.unclear = true,
                    }
                }
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '$' => self.dollar(&mut word),
                '`' => self.backquoted(&mut word),
                _ => {
                    word.uncertain |= matches!(c, '*' | '?' | '[');
                    word.braced |= c == '{';
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        let raw = &self.text[begin..self.at.min(self.text.len())];
        word.uncertain |= word.braced && (raw.contains(&',') || raw.windows(2).any(dots));
        // The programs of these names.
        word.uncertain &= !matches!(raw, ['['] | ['[', '[']);
        word
    }

    fn single(&mut self, word: &mut Open) {
        word.quoted = true;
        self.at += 1;
        loop {
            match self.next() {
                Some('\'') => return,
                Some(c) => word.text.push(c),
                None => {
                    self.found.unclear = true;
                    return;
                }
            }
        }
    }

    fn double(&mut self, word: &mut Open) {
        word.quoted = true;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                        None => {}
                    }
                }
                '$' if !matches!(self.peek(1), Some('\'' | '"')) => self.dollar(word),
                '`' => self.backquoted(word),
                _ => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.found.unclear = true;
    }

    /// An expansion or a substitution.
    fn dollar(&mut self, word: &mut Open) {
        self.at += 1;
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                word.uncertain = true;
                self.nested();
            }
            Some('{') => {
                self.at += 1;
                word.uncertain = true;
                self.braced();
            }
            Some('\'') => {
                // Escapes are not read.
                self.found.unclear = true;
                word.uncertain = true;
                self.at += 1;
                while let Some(c) = self.next() {
                    match c {
                        '\\' => self.at += 1,
                        '\'' => return,
                        _ => {}
                    }
                }
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                word.uncertain = true;
                self.at += 1;
                let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                while name(c) && self.peek(0).is_some_and(name) {
                    self.at += 1;
                }
            }
            Some('"') => {}
            _ => word.text.push('$'),
        }
    }

    /// The rest of `${…}`.
    fn braced(&mut self) {
        let mut inner = Open::default();
        while let Some(c) = self.peek(0) {
            match c {
                '}' => {
                    self.at += 1;
                    return;
                }
                '$' => self.dollar(&mut inner),
                '`' => self.backquoted(&mut inner),
                _ => {
                    self.found.unclear |= matches!(c, '\'' | '"' | '\\');
                    self.at += 1;
                }
            }
        }
        self.found.unclear = true;
    }

    fn backquoted(&mut self, word: &mut Open) {
        word.uncertain = true;
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('$' | '`' | '\\')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                Some(c) => inner.push(c),
                None => {
                    self.found.unclear = true;
                    break;
                }
            }
        }
        self.absorb(&inner);
    }

    /// Scans another text that the line runs.
    fn absorb(&mut self, text: &str) {
        if self.depth >= NESTING {
            self.found.unclear = true;
            return;
        }
        let inner = scan_at(text, self.depth + 1);
        self.found.commands.extend(inner.commands);
        self.found.documents.extend(inner.documents);
        self.found.unclear |= inner.unclear;
    }

    fn redirection(&mut self, c: char) {
        if self.peek(1) == Some('(') {
            self.at += 2;
            self.nested();
            let text = String::new();
            let certain = false;
            self.current.push(Piece { text, certain });
            return;
        }
        let here = c == '<' && self.peek(1) == Some('<');
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        let apart = before.is_none_or(|c| c.is_whitespace() || c.is_ascii_digit());
        // It may be a part of a word, as in `a[1<<2]=x`.
        self.found.unclear |= here && !apart;
        let string = here && self.peek(2) == Some('<');
        self.at += match (here, string) {
            (_, true) => 3,
            (true, _) => 2,
            _ => 1,
        };
        let indented = here && !string && self.peek(0) == Some('-');
        self.at += usize::from(indented);
        while !here && matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let target = self.word();
        if string {
            // Not every shell has it.
            self.found.unclear = true;
            self.found.documents.push(target.text);
        } else if here {
            self.found.unclear |= target.text.is_empty() || target.uncertain;
            self.pending.push(Pending {
                delimiter: target.text,
                quoted: target.quoted,
                indented,
            });
        }
    }

    /// The texts of here-documents, which begin after the end of a line.
    fn documents(&mut self) {
        for document in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                if self.at >= self.text.len() {
                    self.found.unclear = true;
                    break;
                }
                let rest = &self.text[self.at..];
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at += length + 1;
                let line = match document.indented {
                    true => line.trim_start_matches('\t'),
                    false => line.as_str(),
                };
                if line == document.delimiter {
                    break;
                }
                // The next line belongs to this one, which then may be the delimiter.
                self.found.unclear |= !document.quoted && line.ends_with('\\');
                body.push_str(line);
                body.push('\n');
            }
            if !document.quoted {
                self.expansions(&body);
            }
            self.found.documents.push(body);
        }
    }

    /// The substitutions in the text of a here-document.
    fn expansions(&mut self, body: &str) {
        let mut scanner = Scanner::new(body, self.depth + 1);
        let mut word = Open::default();
        while let Some(c) = scanner.peek(0) {
            match c {
                '\\' => scanner.at += 2,
                '$' if !matches!(scanner.peek(1), Some('\'' | '"')) => scanner.dollar(&mut word),
                '`' => scanner.backquoted(&mut word),
                _ => scanner.at += 1,
            }
        }
        self.found.commands.extend(scanner.found.commands);
        self.found.unclear |= scanner.found.unclear;
    }
}

fn dots(pair: &[char]) -> bool {
    pair == ['.', '.']
}

/// `NAME=value`
fn assigns(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && name.chars().all(legal)
}
