//! Short lists from facts and settings, one line per entry: model aliases, owners, notes, names
//! of variables, folders, created files, resources, attachments. The layout decides the line's
//! format; a list without entries is absent.

use super::{Builder, Built, Input};
use crate::conversation::sha256;
use crate::prompt::fence;
use crate::prompt::texts::substitute;
use crate::prompt::types::{Keep, Trust};

macro_rules! list {
    ($name:ident, $id:literal, $title:literal, $layer:literal, $build:ident) => {
        pub(super) const $name: Builder = Builder {
            id: $id,
            title: $title,
            layer: $layer,
            params: &["line", "text", "display", "readWrite", "readOnly", "about"],
            build: $build,
        };
    };
}

list!(ALIASES, "aliases", "Model aliases", "user", aliases);
list!(OWNERS, "owners", "Authorized senders", "user", owners);
list!(NOTES, "notes", "Workspace notes", "user", notes);
list!(
    VARIABLES,
    "variables",
    "Names of variables",
    "user",
    variables
);
list!(FOLDERS, "folders", "Folders", "environment", folders);
list!(
    CREATED,
    "created",
    "Files created in this session",
    "runtime",
    created
);
list!(RESOURCES, "resources", "Resources", "runtime", resources);
list!(
    ATTACHMENTS,
    "attachments",
    "Attachments",
    "runtime",
    attachments
);

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

fn aliases(cx: &Input<'_>) -> Vec<Built> {
    let aliases = cx.facts.aliases.iter();
    let lines = aliases
        .map(|(alias, model)| vec![("alias", fence::name(alias)), ("model", fence::name(model))]);
    listed(
        cx,
        Entries {
            lines: lines.collect(),
            source: "setting: modelAliases",
            trust: Trust::User,
            absent: "no model aliases are set",
            line: "- {{alias}} → {{model}}",
        },
    )
}

fn owners(cx: &Input<'_>) -> Vec<Built> {
    let raw = cx.string("display") == Some("raw");
    let shown = |owner: &String| {
        if raw {
            return fence::name(owner);
        }
        let hash = sha256(owner.trim().as_bytes());
        hash.get(..12).unwrap_or(&hash).to_owned()
    };
    let owners = cx.facts.owners.iter();
    listed(
        cx,
        Entries {
            lines: owners.map(|owner| vec![("owner", shown(owner))]).collect(),
            source: "setting: prompt.owners",
            trust: Trust::User,
            absent: "prompt.owners is not set",
            line: "- {{owner}}",
        },
    )
}

fn notes(cx: &Input<'_>) -> Vec<Built> {
    let notes = cx.facts.notes.as_deref().unwrap_or_default();
    let notes = notes.lines().filter(|note| !note.trim().is_empty());
    listed(
        cx,
        Entries {
            lines: notes
                .map(|note| vec![("note", fence::line(note.trim_end()))])
                .collect(),
            source: "setting: prompt.notes",
            trust: Trust::User,
            absent: "prompt.notes is not set",
            line: "{{note}}",
        },
    )
}

fn variables(cx: &Input<'_>) -> Vec<Built> {
    let mut names: Vec<String> = cx
        .facts
        .variables
        .iter()
        .map(|it| fence::name(it))
        .collect();
    names.sort();
    names.dedup();
    listed(
        cx,
        Entries {
            lines: names.into_iter().map(|name| vec![("name", name)]).collect(),
            source: "setting: env",
            trust: Trust::User,
            absent: "no private variables are set",
            line: "- {{name}}",
        },
    )
}

fn folders(cx: &Input<'_>) -> Vec<Built> {
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
    listed(
        cx,
        Entries {
            lines: lines.collect(),
            source: "workspace",
            trust: Trust::User,
            absent: "no folder is open",
            line: "- {{name}}: {{path}} ({{rights}}){{about}}",
        },
    )
}

fn created(cx: &Input<'_>) -> Vec<Built> {
    paths(
        cx,
        &cx.facts.created,
        "session",
        "no files were created yet",
    )
}

fn resources(cx: &Input<'_>) -> Vec<Built> {
    let absent = "the prompt refers to no file";
    paths(cx, &cx.facts.resources, "the prompt", absent)
}

fn attachments(cx: &Input<'_>) -> Vec<Built> {
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
    listed(
        cx,
        Entries {
            lines: lines.collect(),
            source,
            trust: cx.editor_trust(paths.iter().map(String::as_str)),
            absent,
            line: "- {{path}}",
        },
    )
}

fn listed(cx: &Input<'_>, entries: Entries<'_>) -> Vec<Built> {
    if entries.lines.is_empty() {
        return vec![Built::absent(entries.source, entries.trust, entries.absent)];
    }
    let form = cx.string("line").unwrap_or(entries.line);
    let lines: Vec<String> = entries
        .lines
        .iter()
        .map(|values| {
            let values: Vec<(&str, &str)> = values
                .iter()
                .map(|(key, value)| (*key, value.as_str()))
                .collect();
            substitute(form, &values)
        })
        .collect();
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let body = match entries.trust {
        Trust::Untrusted => fence::block(&body),
        _ => body,
    };
    let text = match cx.string("text") {
        Some(name) => cx.texts.render(name, &[("body", &body)]),
        None => body,
    };
    let reason = match entries.lines.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let mut built = Built::new(text, entries.source, entries.trust, &reason);
    built.journaled = true;
    vec![built]
}
