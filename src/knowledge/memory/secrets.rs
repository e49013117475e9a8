//! What must never be remembered: shapes of keys, private keys, assignments of passwords, long random
//! text, and values of this process's own secret variables. Rather once too often than once
//! too seldom: a refused memory is said again in other words, a leaked key is not called back.

use crate::env::Env;
use crate::env::looks_secret;

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Secret {
    #[error("a private key or certificate")]
    Pem,
    #[error("an access key or token")]
    Key,
    #[error("a password or key with its value")]
    Assigned,
    #[error("an address with a password in it")]
    Address,
    #[error("a long random token")]
    Random,
    #[error("the value of a secret environment variable")]
    Variable,
}

/// Values shorter than this are no secrets that could be told from words.
const SHORTEST_VALUE: usize = 6;

/// Recognises secrets; knows the values of the environment's.
pub struct Filter {
    values: Vec<String>,
}

impl Filter {
    pub fn new(env: &Env) -> Self {
        let secret = |(name, value): (&String, &String)| {
            let value = value.trim();
            let path = value.starts_with('/') && !random(value.as_bytes());
            (looks_secret(name) && value.len() >= SHORTEST_VALUE && !path).then(|| value.to_owned())
        };
        Self {
            values: env.vars().iter().filter_map(secret).collect(),
        }
    }

    /// What in `text` looks like a secret, if anything does.
    pub fn find(&self, text: &str) -> Option<Secret> {
        let variable = || self.values.iter().any(|value| holds(text, value));
        if plain(text) {
            return variable().then_some(Secret::Variable);
        }
        if text.contains("-----BEGIN") || text.contains("PuTTY-User-Key-File") {
            return Some(Secret::Pem);
        }
        if variable() {
            return Some(Secret::Variable);
        }
        judged(text)
    }
}

/// What the text itself says, but for private keys.
pub(super) fn judged(text: &str) -> Option<Secret> {
    if key(text) {
        return Some(Secret::Key);
    }
    if address(text) {
        return Some(Secret::Address);
    }
    let named = names_any(text) && (assigned(text) || said(text));
    if named || (!text.is_ascii() && said_in_cjk(text)) {
        return Some(Secret::Assigned);
    }
    text.as_bytes()
        .split(|byte| {
            !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'='))
        })
        .any(random)
        .then_some(Secret::Random)
}

/// Nothing of what follows can be found in the text: words of a sentence and no name of a
/// secret among them. Most memories are such, and are done with in one pass.
pub(super) fn plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut run = 0;
    bytes.iter().enumerate().all(|(at, byte)| {
        let kind = PLAIN[usize::from(*byte)];
        run = if *byte == b' ' { 0 } else { run + 1 };
        match kind {
            Plain::No => false,
            Plain::Yes => run < 20,
            Plain::Begins => run < 20 && !begins_secret(&bytes[at..]),
        }
    })
}

/// What a byte is to a sentence.
#[derive(Clone, Copy)]
enum Plain {
    No,
    Yes,
    /// A name of a secret, or a key without a hyphen or an underscore, can begin with it.
    Begins,
}

const PLAIN: [Plain; 256] = {
    let mut plain = [Plain::No; 256];
    let mut byte = 0;
    while byte < 128 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric()
            || matches!(letter, b' ' | b',' | b';' | b'.' | b'\'' | b'(' | b')')
        {
            let begins = matches!(
                letter | 0x20,
                b'a' | b'b' | b'c' | b'k' | b'p' | b's' | b't' | b'e' | b'y'
            );
            let begins = begins && letter.is_ascii_alphabetic();
            plain[byte] = if begins { Plain::Begins } else { Plain::Yes };
        }
        byte += 1;
    }
    plain
};

fn begins_secret(rest: &[u8]) -> bool {
    const KEYS: [&[u8]; 6] = [b"AKIA", b"ASIA", b"AIza", b"ya29.", b"SG.", b"eyJ"];
    names_one(rest) || KEYS.into_iter().any(|key| rest.starts_with(key))
}

/// `value` as a whole word of `text`.
fn holds(text: &str, value: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    text.match_indices(value).any(|(at, _)| {
        edge(text[..at].chars().next_back()) && edge(text[at + value.len()..].chars().next())
    })
}

/// Beginnings of keys, and how much must follow: so much with a digit in it, or so much anyway.
pub(super) const KEYS: &[(&str, usize, usize)] = &[
    ("sk-", 6, 20),
    ("sk-ant-", 3, 3),
    ("sk-proj-", 3, 3),
    ("sk_live_", 3, 3),
    ("sk_test_", 3, 3),
    ("rk_live_", 3, 3),
    ("rk_test_", 3, 3),
    ("whsec_", 6, 12),
    ("ghp_", 4, 8),
    ("gho_", 4, 8),
    ("ghu_", 4, 8),
    ("ghs_", 4, 8),
    ("ghr_", 4, 8),
    ("github_pat_", 4, 8),
    ("glpat-", 4, 8),
    ("gldt-", 4, 8),
    ("AKIA", 12, 16),
    ("ASIA", 12, 16),
    ("AIza", 16, 30),
    ("ya29.", 8, 16),
    ("hf_", 12, 30),
    ("npm_", 12, 30),
    ("pypi-", 12, 30),
    ("gsk_", 12, 30),
    ("xai-", 12, 30),
    ("nvapi-", 12, 30),
    ("tvly-", 8, 20),
    ("dckr_pat_", 4, 8),
    ("dop_v1_", 8, 20),
    ("shpat_", 8, 20),
    ("lin_api_", 8, 20),
    ("figd_", 8, 20),
    ("xapp-", 4, 10),
    ("SG.", 12, 30),
    ("eyJ", 16, 24),
    ("AGE-SECRET-KEY-", 1, 1),
];

/// By the byte that they begin with, so that most words are done with at once.
const FIRST: [bool; 256] = {
    let mut first = [false; 256];
    // Slack's.
    first[b'x' as usize] = true;
    let mut at = 0;
    while at < KEYS.len() {
        first[KEYS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};

/// One pass: thousands of memories are judged before each prompt.
fn key(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut before = b' ';
    for (at, byte) in bytes.iter().copied().enumerate() {
        // Within a word of any script nothing begins.
        let begins = before.is_ascii() && !before.is_ascii_alphanumeric();
        before = byte;
        if !begins || !FIRST[usize::from(byte)] {
            continue;
        }
        let rest = &bytes[at..];
        let known = KEYS
            .iter()
            .filter(|(prefix, ..)| prefix.as_bytes()[0] == byte)
            .filter_map(|(prefix, with_digit, anyway)| {
                let rest = rest.strip_prefix(prefix.as_bytes())?;
                Some((rest, *with_digit, *anyway))
            })
            .any(|(rest, with_digit, anyway)| enough(rest, with_digit, anyway));
        if known || slack(rest) {
            return true;
        }
    }
    false
}

fn enough(rest: &[u8], with_digit: usize, anyway: usize) -> bool {
    let run = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte));
    let (length, digits) = run.fold((0, 0), |(length, digits), byte| {
        (length + 1, digits + usize::from(byte.is_ascii_digit()))
    });
    length >= anyway || (length >= with_digit && digits > 0)
}

/// Slack's: `xoxb-`, `xoxp-`, `xoxa-` and so on.
fn slack(rest: &[u8]) -> bool {
    match rest.strip_prefix(b"xox") {
        Some([kind, b'-', first, more @ ..]) => {
            kind.is_ascii_alphabetic() && first.is_ascii_alphanumeric() && more.len() >= 3
        }
        _ => false,
    }
}

/// `scheme://user:password@host`.
fn address(text: &str) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let rest = &text[at + 3..];
        let end = rest
            .find(|c: char| c.is_whitespace() || c == '/' || c == '"')
            .unwrap_or(rest.len());
        let user = rest[..end].rsplit_once('@').map(|(user, _)| user);
        let password = user.and_then(|user| user.split_once(':'));
        password.is_some_and(|(_, password)| !placeholder(password))
    })
}

/// Words that name a password: whatever stands behind them is one.
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

/// Words that name a secret and much else.
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

/// Before `key`: what makes it a secret one.
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

/// Whether `text` has a part of which every name of a secret has one: most texts have none and
/// are done with.
fn names_any(text: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| names_one(&bytes[at..]))
}

/// Whether such a part begins here.
fn names_one(rest: &[u8]) -> bool {
    let stems: &[&[u8]] = match rest.first().map(|byte| byte | 0x20) {
        Some(b'a') => &[b"auth"],
        Some(b'b') => &[b"bearer"],
        Some(b'c') => &[b"credential", b"cookie"],
        Some(b'k') => &[b"key", b"kennwort"],
        Some(b'p') => &[b"pass", b"pwd", b"private"],
        Some(b's') => &[b"secret"],
        Some(b't') => &[b"token"],
        _ => return false,
    };
    stems.iter().any(|stem| {
        // The second letter settles most.
        rest.get(1).is_some_and(|byte| byte | 0x20 == stem[1])
            && rest
                .get(..stem.len())
                .is_some_and(|part| part.eq_ignore_ascii_case(stem))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Password,
    Token,
}

/// What the last words of `text` name.
fn name(text: &str) -> Option<Name> {
    let quotes = |c: char| c.is_whitespace() || "\"'`*)]".contains(c);
    let text = text.trim_end_matches(quotes);
    let mut words = split(text).rev();
    let last = words.next()?.to_ascii_lowercase();
    if PASSWORD.contains(&last.as_str()) {
        return Some(Name::Password);
    }
    let before = words.next().unwrap_or_default().to_ascii_lowercase();
    let key = matches!(last.as_str(), "key" | "keys") && BEFORE_KEY.contains(&before.as_str());
    if key || TOKEN.contains(&last.as_str()) {
        return Some(Name::Token);
    }
    // The name of a variable: `STRIPE_KEY_PROD`.
    let start = text
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    let variable = &text[start..];
    let shouts = variable.contains('_') && variable.bytes().all(|b| !b.is_ascii_lowercase());
    (shouts && looks_secret(variable)).then_some(Name::Token)
}

/// Words, also such as are put together: `apiKey`, `api_key`, `api-key`.
fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    // Only the end counts, and it must not cost the whole text each time.
    let mut start = text.len().saturating_sub(80);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let text = &text[start..];
    let bytes = text.as_bytes();
    let mut cuts = vec![0];
    for at in 1..bytes.len() {
        if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
            cuts.push(at);
        }
    }
    cuts.push(text.len());
    let pieces: Vec<&str> = cuts
        .windows(2)
        .flat_map(|pair| text[pair[0]..pair[1]].split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    pieces.into_iter()
}

/// `password=…`, `token: …`.
fn assigned(text: &str) -> bool {
    text.char_indices()
        .filter(|(_, c)| matches!(c, '=' | ':' | '：' | '＝'))
        .any(|(at, sign)| {
            let Some(name) = name(&text[..at]) else {
                return false;
            };
            let rest = text[at + sign.len_utf8()..].trim_start_matches(['=', ':', '>', ' ', '*']);
            let (value, more) = value(rest);
            let prose = matches!(sign, ':' | '：') && name == Name::Token && more && word(value);
            !(placeholder(value) || prose || value.starts_with('/'))
        })
}

/// The first word of `text` without its quotes, and whether more follows.
fn value(text: &str) -> (&str, bool) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let quotes = |c: char| "\"'`,;.!)".contains(c);
    let more = !text[end..].trim().is_empty();
    (text[..end].trim_matches(quotes), more)
}

/// A word of a sentence rather than a value.
fn word(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_alphabetic)
        && chars.all(|c| c == '\'' || (c.is_alphabetic() && !c.is_uppercase()))
}

/// Stands for a value without being one.
fn placeholder(value: &str) -> bool {
    const SAID: &[&str] = &["none", "null", "empty", "unset", "redacted", "required"];
    value.chars().all(|c| !c.is_alphanumeric())
        || value.starts_with(['<', '$', '{', '%', '['])
        || SAID.contains(&value.to_lowercase().as_str())
        || value.chars().all(|c| c == 'x' || c == 'X')
}

/// "the password for staging is hunter2".
fn said(text: &str) -> bool {
    const FAR: usize = 8;
    let mut named: Option<(Name, usize)> = None;
    let (mut is, mut before) = (false, "");
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| "\"'`,;.!()".contains(c));
        if let Some((name, _)) = named
            && is
            && !placeholder(bare)
            && chosen(bare, word, name)
        {
            return true;
        }
        let lower = bare.to_ascii_lowercase();
        is = matches!(lower.as_str(), "is" | "was" | "ist" | "to" | "est" | "es");
        // Most words are no name and end none.
        let may = names_any(bare) || !bare.bytes().any(|b| b.is_ascii_alphanumeric());
        let name = may.then(|| name(&format!("{before} {bare}"))).flatten();
        named = match (name, named) {
            (Some(name), _) => Some((name, 0)),
            (None, Some((name, far))) if far < FAR => Some((name, far + 1)),
            (None, _) => None,
        };
        before = bare;
    }
    false
}

/// A value that somebody chose: letters and digits mixed; of a password also in quotes.
fn chosen(bare: &str, word: &str, name: Name) -> bool {
    let digits = bare.bytes().any(|b| b.is_ascii_digit());
    let letters = bare.bytes().any(|b| b.is_ascii_alphabetic());
    let quoted = name == Name::Password && word.starts_with(['"', '\'', '`']);
    bare.len() >= 4 && ((digits && letters) || quoted)
}

/// Chinese, Japanese and Korean have no blanks to cut at.
fn said_in_cjk(text: &str) -> bool {
    const NAMES: &[&str] = &[
        "密码",
        "密碼",
        "口令",
        "密钥",
        "密鑰",
        "令牌",
        "パスワード",
        "비밀번호",
        "암호",
    ];
    let signs = |c: char| c.is_whitespace() || "是为為は이가은는:：=＝「『\"'`".contains(c);
    NAMES.iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let rest = &text[at + name.len()..];
            let value = rest.trim_start_matches(signs);
            let run = value.bytes().take_while(u8::is_ascii_graphic).count();
            value.len() < rest.len() && run >= 4 && !placeholder(&value[..run])
        })
    })
}

/// Long text that nobody would choose: upper and lower case and digits in pieces shorter than
/// words. A path, a name in `CamelCase` or a UUID is none; a whole hash is.
fn random(token: &[u8]) -> bool {
    if token.len() < 24 {
        return false;
    }
    let classes: Vec<Class> = token.iter().copied().filter_map(class).collect();
    let has = |wanted| classes.contains(&wanted);
    let length = classes.len();
    // Mean length of a piece, in tenths of a character.
    let mean = 10 * length / pieces(&classes).max(1);
    let mixed = has(Class::Upper) && has(Class::Lower);
    let short = match (length, has(Class::Digit)) {
        (32.., true) => 40,
        (24.., true) => 30,
        (32.., false) => 32,
        _ => 0,
    };
    if mixed && mean < short {
        return true;
    }
    // One case and digits, without the hyphens of names.
    token
        .split(|byte| b"-_/".contains(byte))
        .filter(|part| part.len() >= 32)
        .any(|part| {
            let classes: Vec<Class> = part.iter().copied().filter_map(class).collect();
            let digits = classes.iter().filter(|it| **it == Class::Digit).count();
            (1..classes.len()).contains(&digits) && 10 * classes.len() / pieces(&classes) < 45
        })
}

/// Runs of one class; a capital belongs to the word that it begins.
fn pieces(classes: &[Class]) -> usize {
    let mut count = 0;
    let mut run = 0;
    let mut before = None;
    for class in classes {
        let capital = before == Some(Class::Upper) && *class == Class::Lower && run == 1;
        if before == Some(*class) {
            run += 1;
        } else {
            count += usize::from(!capital);
            run = 1;
        }
        before = Some(*class);
    }
    count
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
}

fn class(byte: u8) -> Option<Class> {
    match byte {
        b'A'..=b'Z' => Some(Class::Upper),
        b'a'..=b'z' => Some(Class::Lower),
        b'0'..=b'9' => Some(Class::Digit),
        _ => None,
    }
}
