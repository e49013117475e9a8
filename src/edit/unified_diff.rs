//! The unified diff that people and models read.

use std::collections::HashMap;
use std::ops::Range;

use super::lines::{Line, blocks, numbered, split};

/// A unified diff and its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unified {
    pub text: String,
    pub added: u32,
    pub removed: u32,
}

/// Unified diff of `old` to `new` with three lines of context; empty when they are equal.
pub fn unified(old: &str, new: &str, path: &str) -> Unified {
    const CONTEXT: usize = 3;
    let (old, new) = (split(old), split(new));
    let mut names = HashMap::new();
    let old_names = numbered(&old, true, &mut names);
    let new_names = numbered(&new, true, &mut names);
    let blocks = blocks(&old_names, &new_names);
    let mut out = Unified::default();
    if blocks.is_empty() {
        return out;
    }
    out.text = format!("--- a/{path}\n+++ b/{path}\n");
    let mut rest = blocks.as_slice();
    while let Some((first, _)) = rest.first() {
        let mut count = 1;
        let mut end = first.end;
        while let Some((next, _)) = rest.get(count) {
            if next.start > end + 2 * CONTEXT {
                break;
            }
            end = next.end;
            count += 1;
        }
        group(&mut out, &old, &new, &rest[..count], CONTEXT);
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
