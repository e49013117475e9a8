//! Keys, quotes and comments of front matter, one line at a time. Pure.

/// Longest key in bytes; a longer one is prose with a colon in it.
const KEY: usize = 100;

/// `key: value` in its two parts, the key without quotes. `key:value` counts where the key is a
/// plain word and the value no part of an address.
pub fn key(line: &str) -> Option<(String, &str)> {
    if let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = closing(line, quote)?;
        let rest = line[end + 1..].trim_start().strip_prefix(':')?;
        let key = unquoted(&line[..=end])?;
        let fits = !key.is_empty() && key.len() <= KEY;
        return fits.then(|| (key, rest.trim()));
    }
    let at = line
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| line[at + 1..].is_empty() || line[at + 1..].starts_with([' ', '\t']))
        .or_else(|| {
            let at = line.find(':')?;
            let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let plain = line[..at].chars().all(word) && !line[at + 1..].starts_with("//");
            plain.then_some(at)
        })?;
    let key = line[..at].trim();
    let fits = !key.is_empty() && key.len() <= KEY && !key.starts_with(['-', '[', '{', '#']);
    fits.then(|| (key.to_owned(), line[at + 1..].trim()))
}

/// Nothing but a comment, or nothing.
pub fn comment(text: &str) -> bool {
    text.is_empty() || text.starts_with('#')
}

/// A plain text, or an inline list or map, up to a comment, which begins with a blank and `#`.
/// Within the quotes of a list's or map's items it begins nothing.
pub fn without_comment(text: &str) -> &str {
    if comment(text) {
        return "";
    }
    let inline = text.starts_with(['[', '{']);
    let (mut at, mut fresh) = (0, inline);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '#' if text[..at].ends_with([' ', '\t']) => return text[..at].trim_end(),
            '"' | '\'' if fresh => at += closing(&text[at..], c).unwrap_or(0),
            _ => {}
        }
        fresh = inline && (matches!(c, '[' | '{' | ',' | ':') || fresh && c.is_whitespace());
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    text.trim_end()
}

/// Where the quote that `text` begins with ends.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if quote == '"' && c == '\\' {
            chars.next();
        } else if c == quote {
            if quote == '\'' && chars.next_if(|(_, next)| *next == '\'').is_some() {
                continue;
            }
            return Some(at);
        }
    }
    None
}

/// The quote that `text` begins with ends in it.
pub fn closes(text: &str, quote: char) -> bool {
    closing(text, quote).is_some()
}

/// A further line of a quoted text ends it. Looks at this line alone, so that many lines cost
/// no more than their length.
pub fn ends_quote(line: &str, quote: char) -> bool {
    // An opening quote in front makes it the start of a text.
    closes(&format!("{quote}{line}"), quote)
}

/// The text within quotes, escapes resolved; `None` if it is not one quoted text and perhaps a
/// comment.
pub fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let end = closing(text, quote)?;
    if !without_comment(&format!(" {}", &text[end + 1..]))
        .trim()
        .is_empty()
    {
        return None;
    }
    let inner = &text[1..end];
    Some(if quote == '\'' {
        inner.replace("''", "'")
    } else {
        escapes(inner)
    })
}

/// The escapes that occur in practice; others stay as they are.
fn escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => out.push_str(&unicode(&mut chars)),
            Some(c @ ('"' | '\\' | '/' | ' ')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

fn unicode(chars: &mut std::str::Chars<'_>) -> String {
    let digits: String = chars.clone().take(4).collect();
    let found = u32::from_str_radix(&digits, 16)
        .ok()
        .filter(|_| digits.len() == 4)
        .and_then(char::from_u32);
    match found {
        Some(found) => {
            chars.nth(3);
            found.to_string()
        }
        None => "\\u".to_owned(),
    }
}

/// The parts between the commas of an inline list or map; `None` when a bracket in it says that
/// it is something else (`[file] [mode]`).
pub fn split(inner: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut fresh = true;
    while let Some(c) = inner[at..].chars().next() {
        match c {
            '"' | '\'' if fresh => {
                // Without an end it is an apostrophe.
                at += closing(&inner[at..], c).unwrap_or(0);
                fresh = false;
            }
            '[' | ']' | '{' | '}' => return None,
            ',' => {
                parts.push(&inner[start..at]);
                start = at + 1;
                fresh = true;
            }
            // A value of an inline map may be quoted as well.
            ':' => fresh = true,
            _ => fresh &= c.is_whitespace(),
        }
        at += inner[at..].chars().next().map_or(1, char::len_utf8);
    }
    parts.push(&inner[start..]);
    Some(parts)
}

/// A value on one line without its quotes.
pub fn bare(text: &str) -> String {
    let text = text.trim();
    unquoted(text).unwrap_or_else(|| text.to_owned())
}
