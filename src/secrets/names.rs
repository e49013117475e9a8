//! Names of variables and parts of addresses that mark a value as secret. A guess on the safe side,
//! for values that would be shown or would leave the machine.

/// Parts of a secret variable's name.
const SECRET: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "PRIVATE",
];

/// Whether a variable with this name is secret.
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET.iter().any(|part| upper.contains(part))
}

/// Further parts of the name of a secret parameter in an address.
const SECRET_PARAMETER: &[&str] = &["SIG", "PASS", "PWD", "CODE"];

/// The value of a parameter this long is a secret rather than a word.
const LONG_VALUE: usize = 20;

/// Replaces a secret.
const MASK: &str = "(secret)";

/// Whether the value contains an address with a password or a token: a secret, whatever its
/// variable is called.
pub fn holds_password(value: &str) -> bool {
    without_passwords(value) != value
}

/// `text` with the user, password and secret parameters of each address masked.
pub fn without_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + 3);
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
        let (address, after) = address.split_at(address.find(ends).unwrap_or(address.len()));
        mask_address(&mut out, address);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `address` is what follows `://`.
fn mask_address(out: &mut String, address: &str) {
    let (authority, path) =
        address.split_at(address.find(['/', '?', '#']).unwrap_or(address.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => out.extend([MASK, "@", host]),
        None => out.push_str(authority),
    }
    let (path, parameters) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    out.push_str(path);
    for part in parameters.split_inclusive(['?', '#', '&', ';']) {
        let end = part.len() - usize::from(part.ends_with(['?', '#', '&', ';']));
        let (part, separator) = part.split_at(end);
        match part.split_once('=') {
            Some((name, value)) if !value.is_empty() && secret_parameter(name, value) => {
                out.extend([name, "=", MASK]);
            }
            _ => out.push_str(part),
        }
        out.push_str(separator);
    }
}

fn secret_parameter(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    value.len() >= LONG_VALUE
        || looks_secret(name)
        || SECRET_PARAMETER.iter().any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R22, R30: addresses with a password or a token are secrets, whatever they are called.
    #[test]
    fn passwords_and_tokens_of_addresses_are_masked() {
        for (text, shown) in [
            (
                "postgres://app:hunter2@db.example/x",
                "postgres://(secret)@db.example/x",
            ),
            (
                "[\"https://e.example/a?token=abc&v=1\"]",
                "[\"https://e.example/a?token=(secret)&v=1\"]",
            ),
            (
                "https://e.example/a?v=1#access_token=abc x",
                "https://e.example/a?v=1#access_token=(secret) x",
            ),
            (
                "https://b.example/f?x=0123456789abcdef01234",
                "https://b.example/f?x=(secret)",
            ),
        ] {
            assert_eq!(without_passwords(text), shown);
            assert!(holds_password(text));
        }
        for plain in [
            "https://e.example/a?v=1#part",
            "me@e.example",
            "/srv/a@b:c/d",
            "no address",
            "://",
        ] {
            assert_eq!(without_passwords(plain), plain);
        }
    }
}
