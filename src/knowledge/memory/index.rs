//! The topics of the memories, one line each: in a scope's `INDEX.md` for people, and as lines for a
//! prompt.

use std::path::Path;

use super::folder::{INDEX, Place};
use super::{Entry, Loaded};
use crate::env::order;

/// Most characters of the newest memory in a line.
const SHOWN: usize = 80;

struct Topic<'a> {
    path: &'a Path,
    newest: &'a Entry,
    count: usize,
}

/// By scope, in the order of the files; of two memories of one day the later one is newer.
fn topics(entries: &[Entry]) -> Vec<Topic<'_>> {
    let mut topics: Vec<Topic<'_>> = Vec::new();
    for entry in entries {
        match topics.iter_mut().find(|topic| topic.path == entry.path) {
            Some(topic) => {
                topic.count += 1;
                if entry.date >= topic.newest.date {
                    topic.newest = entry;
                }
            }
            None => topics.push(Topic {
                path: &entry.path,
                newest: entry,
                count: 1,
            }),
        }
    }
    order::sort_by_key(&mut topics, |topic| (topic.newest.scope, topic.path));
    topics
}

/// One line for each topic of each scope: `scope/topic (count, date): the newest memory`.
pub fn index(loaded: &Loaded) -> Vec<String> {
    let line = |topic: Topic<'_>| {
        let stem = topic.path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{}", topic.newest.scope.as_str(), one_line(&stem));
        described(&name, &topic)
    };
    topics(&loaded.entries).into_iter().map(line).collect()
}

fn described(name: &str, topic: &Topic<'_>) -> String {
    let date = topic
        .newest
        .date
        .map(|date| format!(", {date}"))
        .unwrap_or_default();
    let text = cut(&topic.newest.text);
    format!("{name} ({}{date}): {text}", topic.count)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// A file's name without line breaks and other control characters.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Writes `INDEX.md`: replaces the lines of topics and keeps everything else.
pub fn write(place: &Place, entries: &[Entry]) -> Result<(), String> {
    let old = place.text(Path::new(INDEX))?;
    let new = rendered(old.as_deref().unwrap_or_default(), entries);
    if old.as_deref() == Some(&new) {
        return Ok(());
    }
    place.replace(Path::new(INDEX), &new)
}

/// The new text of `INDEX.md`, based on the old one.
pub fn rendered(old: &str, entries: &[Entry]) -> String {
    let lines: Vec<String> = topics(entries).iter().map(linked).collect();
    if old.trim().is_empty() {
        return format!("# Memory\n\n{}\n", lines.join("\n"));
    }
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out: Vec<&str> = Vec::new();
    let mut placed = false;
    for line in old.lines() {
        if !is_topic_line(line) {
            out.push(line);
        } else if !placed {
            placed = true;
            out.extend(lines.iter().map(String::as_str));
        }
    }
    if !placed {
        out.extend(lines.iter().map(String::as_str));
    }
    out.join(end) + end
}

fn linked(topic: &Topic<'_>) -> String {
    let name = topic.path.file_name().unwrap_or_default().to_string_lossy();
    let stem = topic.path.file_stem().unwrap_or_default().to_string_lossy();
    let (name, stem) = (one_line(&name), one_line(&stem));
    let link = if name.contains([' ', '(', ')']) {
        format!("- [{stem}](<topics/{name}>)")
    } else {
        format!("- [{stem}](topics/{name})")
    };
    described(&link, topic)
}

fn is_topic_line(line: &str) -> bool {
    line.starts_with("- [") && (line.contains("](topics/") || line.contains("](<topics/"))
}
