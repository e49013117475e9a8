//! Short lists from facts and settings, one line per entry: model aliases, owners, notes, names
//! of variables, folders, created files, resources, attachments, memories. The layout may decide
//! the line's format; a list without entries is absent.

use super::{Built, Input};
use crate::conversation::sha256;
use crate::prompt::fence;
use crate::prompt::texts::substitute;
use crate::prompt::types::{Keep, Trust};

/// Most characters of one list.
const CHARS: usize = 4_000;

/// A list's entries: the values of each line.
struct Entries<'a> {
    lines: Vec<Vec<(&'static str, String)>>,
    source: &'static str,
    trust: Trust,
    absent: &'static str,
    /// The line's format, unless the layout has one.
    line: &'a str,
}

pub(super) fn aliases(cx: &Input<'_>) -> Vec<Built> {
    let aliases = cx.facts.aliases.iter();
    let lines = aliases
        .map(|(alias, model)| vec![("alias", fence::name(alias)), ("model", fence::name(model))]);
    let entries = Entries {
        lines: lines.collect(),
        source: "setting: modelAliases",
        trust: Trust::User,
        absent: "no model aliases are set",
        line: "- {{alias}} → {{model}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn owners(cx: &Input<'_>) -> Vec<Built> {
    let raw = cx.string("display") == Some("raw");
    let shown = |owner: &String| {
        if raw {
            return fence::name(owner);
        }
        let hash = sha256(owner.trim().as_bytes());
        hash.get(..12).unwrap_or(&hash).to_owned()
    };
    let owners = cx.facts.owners.iter();
    let entries = Entries {
        lines: owners.map(|owner| vec![("owner", shown(owner))]).collect(),
        source: "setting: prompt.owners",
        trust: Trust::User,
        absent: "prompt.owners is not set",
        line: "- {{owner}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn notes(cx: &Input<'_>) -> Vec<Built> {
    let notes = cx.facts.notes.as_deref().unwrap_or_default().lines();
    let notes = notes.filter(|note| !note.trim().is_empty());
    let lines = notes.map(|note| vec![("note", fence::line(note.trim_end()))]);
    let entries = Entries {
        lines: lines.collect(),
        source: "setting: prompt.notes",
        trust: Trust::User,
        absent: "prompt.notes is not set",
        line: "{{note}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn variables(cx: &Input<'_>) -> Vec<Built> {
    let names = cx.facts.variables.iter();
    let mut names: Vec<String> = names.map(|name| fence::name(name)).collect();
    names.sort();
    names.dedup();
    let entries = Entries {
        lines: names.into_iter().map(|name| vec![("name", name)]).collect(),
        source: "setting: env",
        trust: Trust::User,
        absent: "no private variables are set",
        line: "- {{name}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn folders(cx: &Input<'_>) -> Vec<Built> {
    let rights = |writable: bool| {
        let (key, known) = if writable {
            ("readWrite", "read-write")
        } else {
            ("readOnly", "read-only")
        };
        cx.string(key).unwrap_or(known).to_owned()
    };
    let about = |text: &Option<String>| match text {
        Some(text) if !text.trim().is_empty() => {
            let text = fence::name(text.trim());
            let form = cx.string("about").unwrap_or(" — {{description}}");
            substitute(form, &[("description", &text)])
        }
        _ => String::new(),
    };
    let folders = cx.facts.roots.iter().chain(&cx.facts.made);
    let lines = folders.map(|folder| {
        vec![
            ("name", fence::name(&folder.name)),
            ("path", fence::name(&folder.path)),
            ("rights", rights(folder.writable)),
            ("about", about(&folder.description)),
        ]
    });
    let entries = Entries {
        lines: lines.collect(),
        source: "workspace",
        trust: Trust::User,
        absent: "no folder is open",
        line: "- {{name}}: {{path}} ({{rights}}){{about}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn created(cx: &Input<'_>) -> Vec<Built> {
    let absent = "no files were created yet";
    paths(cx, &cx.facts.created, "session", absent)
}

pub(super) fn resources(cx: &Input<'_>) -> Vec<Built> {
    let absent = "the prompt refers to no file";
    paths(cx, &cx.facts.resources, "the prompt", absent)
}

pub(super) fn attachments(cx: &Input<'_>) -> Vec<Built> {
    let absent = "nothing is attached";
    paths(cx, &cx.facts.attachments, "the prompt", absent)
}

/// Names from the conversation, on one line each; their trust depends on where they are.
fn paths(
    cx: &Input<'_>,
    paths: &[String],
    source: &'static str,
    absent: &'static str,
) -> Vec<Built> {
    let lines = paths.iter().map(|path| vec![("path", fence::name(path))]);
    let entries = Entries {
        lines: lines.collect(),
        source,
        trust: cx.editor_trust(paths.iter().map(String::as_str)),
        absent,
        line: "- {{path}}",
    };
    vec![listed(cx, &entries, None)]
}

pub(super) fn memory_index(cx: &Input<'_>) -> Vec<Built> {
    let absent = "there are no memories";
    let lines = &cx.facts.memory.index;
    vec![memories(cx, lines, "segments/memoryIndex.md", absent)]
}

/// The profile of the user or of the project.
pub(super) fn profile(cx: &Input<'_>) -> Vec<Built> {
    let memory = &cx.facts.memory;
    let (lines, text, absent) = if cx.string("of") == Some("project") {
        let absent = "there are no memories about the project";
        (&memory.project, "segments/projectProfile.md", absent)
    } else {
        let absent = "there are no memories about the user";
        (&memory.user, "segments/userProfile.md", absent)
    };
    vec![memories(cx, lines, text, absent)]
}

/// The memories relevant to the current prompt.
pub(super) fn related_memories(cx: &Input<'_>) -> Vec<Built> {
    let absent = "no memory is relevant to the prompt";
    let lines = &cx.facts.memory.related;
    let mut built = memories(cx, lines, "segments/memories.md", absent);
    built.journaled = false;
    vec![built]
}

/// Memories are facts of the user's, never instructions.
fn memories(cx: &Input<'_>, lines: &[String], text: &str, absent: &'static str) -> Built {
    let lines = lines.iter().map(|line| vec![("line", fence::line(line))]);
    let entries = Entries {
        lines: lines.collect(),
        source: "memory",
        trust: Trust::User,
        absent,
        line: "- {{line}}",
    };
    listed(cx, &entries, Some(text))
}

/// `text`: the text around the list, unless the layout names one.
fn listed(cx: &Input<'_>, entries: &Entries<'_>, text: Option<&str>) -> Built {
    if entries.lines.is_empty() {
        return Built::absent(entries.source, entries.trust, entries.absent);
    }
    let form = cx.string("line").unwrap_or(entries.line);
    let line = |values: &Vec<(&'static str, String)>| {
        let values = values.iter().map(|(key, value)| (*key, value.as_str()));
        substitute(form, &values.collect::<Vec<_>>())
    };
    let lines: Vec<String> = entries.lines.iter().map(line).collect();
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let body = match entries.trust {
        Trust::Untrusted => fence::block(&body),
        _ => body,
    };
    let text = match cx.string("text").or(text) {
        Some(name) => cx.texts.render(name, &[("body", &body)]),
        None => body,
    };
    let reason = match lines.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let mut built = Built::new(text, entries.source, entries.trust, &reason);
    built.journaled = true;
    built
}
