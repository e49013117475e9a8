//! Addresses of schemas in texts. Editors fetch the schema that a file names as soon as the file is
//! shown, so an address that the model writes can carry data out (A36).

use std::collections::BTreeSet;

use url::Url;

/// Well-known schema collections, as hosts and path prefixes: their owners do not pass on what is
/// in a request. The list is the default of VS Code's `json.schemaDownload.trustedDomains`.
const KNOWN: [(&str, &str); 7] = [
    ("json-schema.org", "/"),
    ("json.schemastore.org", "/"),
    ("www.schemastore.org", "/"),
    ("schemastore.org", "/"),
    ("schemastore.azurewebsites.net", "/"),
    ("raw.githubusercontent.com", "/microsoft/vscode/"),
    ("raw.githubusercontent.com", "/devcontainers/spec/"),
];

/// What names a schema: JSON's key, which is also in the comment that YAML's language server reads,
/// and the comment of TOML's.
const MARKS: [&str; 2] = ["$schema", "#:schema"];

/// Whether `after` names a schema on the network that the text `before` does not, from a server that
/// is not known.
pub fn adds_remote(before: impl FnOnce() -> String, after: &str) -> bool {
    let found = remote(after);
    !found.is_empty() && !found.is_subset(&remote(&before()))
}

/// The addresses of schemas on the network, but for those of known servers.
fn remote(text: &str) -> BTreeSet<String> {
    if !text.contains("schema") && !text.contains("\\u") {
        return BTreeSet::new();
    }
    let text = unescaped(text);
    let named = MARKS.iter().flat_map(|mark| {
        let ends = text.match_indices(mark).map(|(at, _)| at + mark.len());
        ends.filter_map(|end| value(&text[end..]))
    });
    named
        .filter(|address| is_remote(address))
        .map(str::to_owned)
        .collect()
}

/// JSON's `\uXXXX` and `\/` as the characters that they stand for.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\/", "/");
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split("\\u");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let code = part.get(..4);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                out.push_str(&part[4..]);
            }
            None => {
                out.push_str("\\u");
                out.push_str(part);
            }
        }
    }
    out
}

/// The value behind a mark: behind the quote that ends a key, blanks, comments and one `:` or `=`.
fn value(after: &str) -> Option<&str> {
    let mut rest = after.strip_prefix(['"', '\'']).unwrap_or(after);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '='));
        rest = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")?.1
        } else if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n')?.1
        } else {
            break;
        };
    }
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    rest.split(['"', '\'', '\n', '\r']).next()
}

fn is_remote(address: &str) -> bool {
    // Without a scheme, or with a drive's letter for one, it is a path.
    let Ok(url) = Url::parse(address.trim()) else {
        return address.trim().starts_with("//");
    };
    let Some(host) = url.host_str().filter(|_| url.scheme() != "file") else {
        return false;
    };
    let known = |(server, path): &(&str, &str)| host == *server && url.path().starts_with(path);
    !(url.port().is_none() && KNOWN.iter().any(known))
}

#[cfg(test)]
mod tests;
