//! Shapes of keys: how they begin, and how long they are.

/// Beginnings of keys, and how many characters must follow: so many with a digit among them, or
/// so many in any case.
pub const SHAPES: &[(&[&str], usize, usize)] = &[
    (&["sk-"], 6, 16),
    (&["sk-ant-", "sk-proj-"], 3, 3),
    (&["sk_live_", "sk_test_", "rk_live_", "rk_test_"], 3, 3),
    (&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 4, 8),
    (&["github_pat_", "glpat-", "gldt-", "dckr_pat_"], 4, 8),
    (&["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-"], 1, 1),
    (&["xoxo-", "xoxp-", "xoxr-", "xoxs-"], 1, 1),
    (&["xapp-"], 4, 10),
    (&["whsec_"], 6, 12),
    (&["ya29."], 8, 16),
    (&["tvly-", "dop_v1_", "shpat_", "lin_api_", "figd_"], 8, 20),
    (&["hf_", "npm_", "pypi-"], 12, 20),
    (&["gsk_", "xai-", "nvapi-", "SG."], 12, 30),
    (&["AKIA", "ASIA"], 12, 16),
    (&["AIza"], 16, 20),
    (&["eyJ"], 16, 24),
    (&["AGE-SECRET-KEY-"], 1, 1),
];

/// A pattern that matches wherever one of [`SHAPES`] may begin.
pub fn beginnings() -> String {
    let all = SHAPES.iter().flat_map(|(beginnings, ..)| beginnings.iter());
    all.map(|it| regex::escape(it))
        .collect::<Vec<_>>()
        .join("|")
}

const BEGIN: &str = "-----BEGIN";
const END: &str = "-----END";
const PUTTY: &str = "PuTTY-User-Key-File";

/// Whether a key is in `text`.
pub fn has_key(text: &str) -> bool {
    text.split(|c| !belongs(c))
        .any(|run| key_start(run).is_some())
}

/// Where a key begins in `run`, which consists of characters of keys: at its beginning, or after
/// punctuation. It lasts to the end.
fn key_start(run: &str) -> Option<usize> {
    let begins = |at: &usize| *at == 0 || !run.as_bytes()[at - 1].is_ascii_alphanumeric();
    (0..run.len()).filter(begins).find(|at| is_key(&run[*at..]))
}

fn is_key(text: &str) -> bool {
    SHAPES.iter().any(|(beginnings, with_digit, anyway)| {
        beginnings.iter().any(|beginning| {
            text.strip_prefix(beginning).is_some_and(|rest| {
                let digit = rest.bytes().any(|byte| byte.is_ascii_digit());
                rest.len() >= *anyway || (digit && rest.len() >= *with_digit)
            })
        })
    })
}

fn belongs(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// From the first line of a private key to its last, or to the end.
pub fn without_pem(text: &str, mark: &str) -> String {
    let (text, putty) = match text.split_once(PUTTY) {
        Some((text, _)) => (text, mark),
        None => (text, ""),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        out.push_str(&rest[..at]);
        out.push_str(mark);
        let after = rest[at..].split_once(END).map_or("", |(_, after)| after);
        rest = after.split_once("-----").map_or("", |(_, rest)| rest);
    }
    out + rest + putty
}

/// The text with `mark` in place of keys.
pub fn without_shapes(text: &str, mark: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.find(belongs).unwrap_or(rest.len());
        let (between, run) = rest.split_at(start);
        let (run, after) = run.split_at(run.find(|c| !belongs(c)).unwrap_or(run.len()));
        out.push_str(between);
        match key_start(run) {
            Some(at) => out.extend([&run[..at], mark]),
            None => out.push_str(run),
        }
        rest = after;
    }
    out
}
