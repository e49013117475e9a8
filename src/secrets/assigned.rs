//! Secrets that a text names: `password=…`, "the password for staging is …", `user:password@host`.

use super::names::looks_secret;

/// Part of every name of a secret.
pub const NAMES: &str =
    "(?i)auth|bearer|cookie|credential|kennwort|key|pass|private|pwd|secret|token";

/// Names in languages without blanks between words.
pub const CJK_NAMES: &str = "密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|암호";

/// Words that name a password: whatever follows is one.
const PASSWORD: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passwort",
    "kennwort",
    "pwd",
    "passphrase",
    "passcode",
];

/// Words that name a secret, among other things.
const TOKEN: &[&str] = &[
    "token",
    "secret",
    "secrets",
    "apikey",
    "credential",
    "credentials",
    "cookie",
    "bearer",
];

/// Words before `key` that make it a secret one.
const BEFORE_KEY: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "auth",
    "encryption",
    "signing",
    "service",
    "account",
    "master",
    "client",
    "deploy",
    "ssh",
    "license",
    "subscription",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Password,
    Token,
}

/// What the last words of `text` name.
fn name_at_end(text: &str) -> Option<Name> {
    // Only the end matters, and it must not cost the whole text each time.
    let text = &text[text.floor_char_boundary(text.len().saturating_sub(80))..];
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "\"'`*)]".contains(c));
    let words = words(text);
    let last = words.last()?.as_str();
    if PASSWORD.contains(&last) {
        return Some(Name::Password);
    }
    let before = words.len().checked_sub(2).map_or("", |n| words[n].as_str());
    let key = matches!(last, "key" | "keys") && BEFORE_KEY.contains(&before);
    // The name of a variable: `STRIPE_KEY_PROD`.
    let variable = text.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let variable = variable.into_iter().next().unwrap_or_default();
    let shouts = variable.contains('_') && variable.bytes().all(|b| !b.is_ascii_lowercase());
    let token = key || TOKEN.contains(&last) || (shouts && looks_secret(variable));
    token.then_some(Name::Token)
}

/// The words in lower case; `apiKey`, `api_key` and `api-key` are two.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut lower = false;
    for c in text.chars() {
        if c.is_ascii_uppercase() && lower {
            spaced.push(' ');
        }
        lower = c.is_ascii_lowercase();
        spaced.push(c.to_ascii_lowercase());
    }
    let words = spaced.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether a name of a secret is followed by a value.
pub fn is_assigned(text: &str) -> bool {
    let mut signs = text.match_indices(['=', ':', '：', '＝']);
    signs.any(|(at, sign)| assigns(&text[..at], sign, &text[at + sign.len()..])) || is_stated(text)
}

/// `password=…`, `token: …`.
fn assigns(before: &str, sign: &str, rest: &str) -> bool {
    let Some(name) = name_at_end(before) else {
        return false;
    };
    let rest = rest
        .trim_start_matches(['=', ':', '>', ' ', '*'])
        .trim_start();
    let (value, more) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let value = value.trim_matches(|c: char| "\"'`,;.!)".contains(c));
    let prose = matches!(sign, ":" | "：")
        && name == Name::Token
        && !more.trim().is_empty()
        && is_word(value);
    !(is_placeholder(value) || prose || value.starts_with('/'))
}

/// A word of a sentence rather than a value.
fn is_word(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_alphabetic)
        && chars.all(|c| c == '\'' || (c.is_alphabetic() && !c.is_uppercase()))
}

/// Stands for a value without being one.
fn is_placeholder(value: &str) -> bool {
    const WORDS: &[&str] = &["none", "null", "empty", "unset", "redacted", "required"];
    value.chars().all(|c| !c.is_alphanumeric())
        || value.starts_with(['<', '$', '{', '%', '['])
        || WORDS.contains(&value.to_lowercase().as_str())
        || value.chars().all(|c| c == 'x' || c == 'X')
}

/// "the password for staging is …".
fn is_stated(text: &str) -> bool {
    /// Words between the name and its value.
    const FAR: usize = 8;
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |n: usize| words[n].trim_matches(|c: char| "\"'`,;.!()".contains(c));
    let is_verb = |n: usize| {
        let word = bare(n).to_ascii_lowercase();
        matches!(word.as_str(), "is" | "was" | "ist" | "to" | "est" | "es")
    };
    let name = |n: usize| match n {
        0 => name_at_end(bare(0)),
        _ => name_at_end(&format!("{} {}", bare(n - 1), bare(n))),
    };
    (2..words.len())
        .filter(|n| is_verb(n - 1) && !is_placeholder(bare(*n)))
        .filter(|n| is_chosen(bare(*n), words[*n], Name::Password))
        .any(|n| {
            let named = (n.saturating_sub(FAR + 1)..n - 1).rev().find_map(name);
            named.is_some_and(|name| is_chosen(bare(n), words[n], name))
        })
}

/// A value that someone chose: letters and digits mixed, or, as a password, in quotes.
fn is_chosen(bare: &str, word: &str, name: Name) -> bool {
    let digits = bare.bytes().any(|b| b.is_ascii_digit());
    let letters = bare.bytes().any(|b| b.is_ascii_alphabetic());
    let quoted = name == Name::Password && word.starts_with(['"', '\'', '`']);
    bare.len() >= 4 && ((digits && letters) || quoted)
}

/// Chinese, Japanese and Korean have no blanks to split at.
pub fn is_stated_in_cjk(text: &str) -> bool {
    let signs = |c: char| c.is_whitespace() || "是为為は이가은는:：=＝「『\"'`".contains(c);
    CJK_NAMES.split('|').any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let rest = &text[at + name.len()..];
            let value = rest.trim_start_matches(signs);
            let run = value.bytes().take_while(u8::is_ascii_graphic).count();
            value.len() < rest.len() && run >= 4 && !is_placeholder(&value[..run])
        })
    })
}

/// `scheme://user:password@host`.
pub fn has_address(text: &str) -> bool {
    text.split("://")
        .skip(1)
        .any(|rest| password(rest).is_some())
}

/// The text with `mark` in place of the user and password of each address.
pub fn without_addresses(text: &str, mark: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        out.push_str("://");
        match password(rest) {
            Some(end) => out.extend([mark, &rest[end..]]),
            None => out.push_str(rest),
        }
    }
    out
}

/// Where the user and password at the beginning of an address end, if a password is there.
fn password(rest: &str) -> Option<usize> {
    let end = rest.find(|c: char| c.is_whitespace() || c == '/' || c == '"');
    let end = rest[..end.unwrap_or(rest.len())].rfind('@')?;
    let (_, password) = rest[..end].split_once(':')?;
    (!is_placeholder(password)).then_some(end)
}
