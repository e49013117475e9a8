//! Limits of a command line, beyond which it is refused: no one reads it before approving (A23).
//! They are counted before the line is parsed, because the parser recurses.

/// Most commands of a line.
pub const PARTS: usize = 50;

/// Deepest nesting of brackets, substitutions and compound commands.
pub const NESTING: usize = 20;

/// Lines with more openings of brackets and compound commands, also quoted ones, are not parsed.
pub const PARSED_OPENINGS: usize = 12;

/// Too many commands, or nested too deep. Text in quotes and comments is skipped. A here-document is
/// text too, so the commands of a line that has one are not counted.
pub fn exceeded(line: &str) -> bool {
    let (mut parts, mut depth) = (1_usize, 0_usize);
    let mut deepest = 0;
    let text = unquoted(line);
    let mut word = String::new();
    let mut previous = ' ';
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() {
            word.push(c);
            previous = c;
            continue;
        }
        match word.as_str() {
            "if" | "while" | "until" | "for" | "case" => depth += 1,
            "fi" | "done" | "esac" => depth = depth.saturating_sub(1),
            _ => {}
        }
        word.clear();
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            // `&&` and `||` separate once.
            ';' | '|' | '&' | '\n' if !matches!(previous, ';' | '|' | '&' | '\n' | '>' | '<') => {
                parts += 1;
            }
            _ => {}
        }
        deepest = deepest.max(depth);
        previous = c;
    }
    deepest > NESTING || (parts > PARTS && !text.contains("<<"))
}

/// Openings of brackets and compound commands, quoted or not.
pub fn openings(line: &str) -> usize {
    let compound = |word: &&str| {
        let names = ["if", "while", "until", "for", "case", "select", "function"];
        names.contains(word)
    };
    let words = line.split(|c: char| !c.is_alphanumeric());
    line.matches(['(', '{', '`']).count() + words.filter(compound).count()
}

/// The line without quoted and escaped text and comments. Substitutions in double quotes stay.
fn unquoted(line: &str) -> String {
    let mut text = String::new();
    let mut double = false;
    let mut chars = line.chars();
    let begins = |c: char| c.is_whitespace() || ";|&()<>".contains(c);
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
                text.push('_');
            }
            '\'' if !double => {
                chars.by_ref().find(|&inner| inner == '\'');
                text.push('_');
            }
            '"' => double = !double,
            '#' if !double && text.chars().next_back().is_none_or(begins) => {
                if chars.by_ref().any(|inner| inner == '\n') {
                    text.push('\n');
                }
            }
            _ if double && !matches!(c, '(' | ')' | '{' | '}') => text.push('_'),
            _ => text.push(c),
        }
    }
    text
}
