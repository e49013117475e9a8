//! The unified diff that people and models read.

use std::ops::Range;

use super::lines::{Line, differing, split};

/// A unified diff and its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unified {
    pub text: String,
    pub added: u32,
    pub removed: u32,
}

/// Unified diff of `old` to `new` with three lines of context; empty when they are equal.
pub fn unified(old: &str, new: &str, path: &str) -> Unified {
    unified_with(old, new, 3, (&format!("a/{path}"), &format!("b/{path}")))
}

/// [`unified`] with `context` lines of context and other names for both sides.
pub fn unified_with(old: &str, new: &str, context: usize, names: (&str, &str)) -> Unified {
    let (before, after) = names;
    let (old, new) = (split(old), split(new));
    let blocks = differing(&old, &new, true);
    let mut out = Unified::default();
    if blocks.is_empty() {
        return out;
    }
    out.text = format!("--- {before}\n+++ {after}\n");
    let mut rest = blocks.as_slice();
    while let Some((first, _)) = rest.first() {
        let mut count = 1;
        let mut end = first.end;
        while let Some((next, _)) = rest.get(count) {
            if next.start > end + 2 * context {
                break;
            }
            end = next.end;
            count += 1;
        }
        group(&mut out, &old, &new, &rest[..count], context);
        rest = &rest[count..];
    }
    out
}

/// One `@@` group of a unified diff.
fn group(
    out: &mut Unified,
    old: &[Line<'_>],
    new: &[Line<'_>],
    blocks: &[(Range<usize>, Range<usize>)],
    context: usize,
) {
    let (Some((first_a, first_b)), Some((last_a, last_b))) = (blocks.first(), blocks.last()) else {
        return;
    };
    let lead = first_a.start.min(context);
    let trail = (old.len() - last_a.end).min(context);
    let a = first_a.start - lead..last_a.end + trail;
    let b = first_b.start - lead..last_b.end + trail;
    out.text.push_str(&format!(
        "@@ -{} +{} @@\n",
        span(a.start, a.len()),
        span(b.start, b.len())
    ));
    let mut at = a.start;
    for (removed, added) in blocks {
        for line in &old[at..removed.start] {
            push_line(&mut out.text, ' ', line);
        }
        for line in &old[removed.clone()] {
            push_line(&mut out.text, '-', line);
        }
        for line in &new[added.clone()] {
            push_line(&mut out.text, '+', line);
        }
        out.removed += removed.len() as u32;
        out.added += added.len() as u32;
        at = removed.end;
    }
    for line in &old[at..a.end] {
        push_line(&mut out.text, ' ', line);
    }
}

fn span(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    }
}

/// A carriage return stays visible, so that a change of line ends shows as one.
fn push_line(out: &mut String, sign: char, line: &Line<'_>) {
    out.push(sign);
    out.push_str(line.body);
    if line.end.starts_with('\r') {
        out.push('\r');
    }
    out.push('\n');
    if line.end.is_empty() {
        out.push_str("\\ No newline at end of file\n");
    }
}

/// The parts of a diff of several files, one for each file.
pub fn by_file(diff: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    // Lines of the current group that follow: a line of a group may look like a header.
    let (mut old, mut new) = (0, 0);
    for line in diff.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("@@ -").filter(|_| old + new == 0) {
            (old, new) = counts(head).unwrap_or_default();
        } else if old + new > 0 {
            let sign = line.as_bytes().first();
            old -= usize::from(old > 0 && matches!(sign, Some(b' ' | b'-')));
            new -= usize::from(new > 0 && matches!(sign, Some(b' ' | b'+')));
        } else if line.starts_with("--- ") && at > start {
            parts.push(&diff[start..at]);
            start = at;
        }
        at += line.len();
    }
    if start < diff.len() {
        parts.push(&diff[start..]);
    }
    parts
}

/// How many lines both sides have, from a header after `@@ -`.
fn counts(head: &str) -> Option<(usize, usize)> {
    let (old, rest) = head.split_once(" +")?;
    let (new, _) = rest.split_once(' ')?;
    let count = |span: &str| match span.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::{by_file, unified};

    #[test]
    fn a_diff_of_several_files_has_one_part_for_each() {
        let a = unified("-- x\n-- y\nz\n", "-- y\n++ b\nz", "a").text;
        let b = unified("", "one\n", "b").text;
        let c = unified("one\ntwo\n", "", "c").text;
        let all = format!("{a}{b}{c}");
        assert_eq!(by_file(&all), [a.as_str(), &b, &c]);
        assert_eq!(by_file(&a), [a.as_str()]);
        assert!(by_file("").is_empty());
        assert_eq!(by_file("+- [fact] x\n"), ["+- [fact] x\n"]);
    }
}
