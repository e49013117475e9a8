//! An LSP `WorkspaceEdit` that a language server returned, as planned changes. All documents can be
//! changed as it says, or none is.

use std::ops::Range;

use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::change::{Change, several};
use super::{Prepared, ToolContext, ToolError, target};
use crate::edit::{Plan, plan};
use crate::env::order;
use crate::languages::Answer;
use crate::workspace::search::Shown;
use crate::workspace::{Located, Range as WireRange, Revision, Uri, beneath, text};

/// Most files and edits of one answer.
const FILES: usize = 200;
const EDITS: usize = 10_000;

/// A change of one document.
pub(super) struct Planned {
    pub located: Located,
    pub plan: Plan,
    /// Of `plan.base`.
    pub revision: Option<Revision>,
}

#[derive(Deserialize)]
struct TextDocument {
    uri: String,
    #[serde(default)]
    version: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextEdit {
    range: WireRange,
    new_text: String,
}

/// The edits of one document.
struct FileEdits {
    uri: String,
    /// The version on which they were computed, if the answer says so.
    version: Option<i32>,
    edits: Vec<TextEdit>,
}

/// Plans all documents of the edit. `about`: the document that the question was about.
pub(super) async fn plan(
    cx: &ToolContext,
    answer: &Answer,
    edit: &Value,
    about: &Located,
) -> Result<Vec<Planned>, ToolError> {
    let refused = |reason: String| cx.error("results/edits-refused.md", &[("reason", &reason)]);
    let files = read(edit).map_err(refused)?;
    let mut all = Vec::new();
    for file in files {
        let located = place(cx, &file.uri).map_err(refused)?;
        target::loaded(cx, &located).await?;
        let (base, revision) = base(cx, answer, &file, &located, about)
            .await
            .map_err(refused)?;
        let path = target::display_name(cx, &located);
        let changes = changes(&base, &file.edits, answer.encoding);
        let changes = changes.map_err(|problem| refused(format!("{path}: {problem}")))?;
        let plan = plan::ranges(&base, changes);
        if !plan.hunks.is_empty() {
            all.push(Planned {
                located,
                plan,
                revision,
            });
        }
    }
    if all.is_empty() {
        return Err(cx.error("results/edits-nothing.md", &[]));
    }
    Ok(all)
}

/// The changes as one call: one approval shows all of them, and all are made or none.
pub(super) fn prepared(cx: &ToolContext, title: &str, planned: Vec<Planned>) -> Prepared {
    let title = match planned.len() {
        1 => title.to_owned(),
        files => format!("{title} in {files} files"),
    };
    let change = |it: Planned| Change {
        title: title.clone(),
        located: it.located,
        plan: it.plan,
        base_revision: it.revision,
        create: false,
        delete: false,
        shape: None,
        moves: false,
        on_disk: false,
    };
    let changes = planned.into_iter().map(change).collect();
    several::prepared(cx, title.clone(), changes)
}

/// The edits by document, in the answer's order.
fn read(edit: &Value) -> Result<Vec<FileEdits>, String> {
    let mut files: Vec<FileEdits> = Vec::new();
    let mut add = |document: TextDocument, edits: &Value| {
        let edits: Vec<TextEdit> = serde_json::from_value(edits.clone())
            .map_err(|error| format!("the answer's edits cannot be read: {error}"))?;
        let key = Uri::new(document.uri.as_str()).key();
        let known = files.iter_mut();
        let mut known = known.filter(|file| Uri::new(file.uri.as_str()).key() == key);
        match known.next() {
            Some(file) if file.version == document.version => file.edits.extend(edits),
            Some(_) => return Err("the answer names two versions of a document".to_owned()),
            None => files.push(FileEdits {
                uri: document.uri,
                version: document.version,
                edits,
            }),
        }
        Ok(())
    };
    match (&edit["documentChanges"], &edit["changes"]) {
        (Value::Array(changes), _) => {
            for change in changes {
                if let Some(kind) = change["kind"].as_str() {
                    let kind = kind.escape_debug();
                    return Err(format!(
                        "the language server also wants to {kind} a file, which is not done \
                         together with edits; do the steps by hand"
                    ));
                }
                let document = serde_json::from_value(change["textDocument"].clone())
                    .map_err(|error| format!("the answer's edits cannot be read: {error}"))?;
                add(document, &change["edits"])?;
            }
        }
        (_, Value::Object(changes)) => {
            for (uri, edits) in changes {
                let document = TextDocument {
                    uri: uri.clone(),
                    version: None,
                };
                add(document, edits)?;
            }
        }
        _ => {}
    }
    let edits: usize = files.iter().map(|file| file.edits.len()).sum();
    if files.len() > FILES || edits > EDITS {
        return Err(format!(
            "it would be {edits} edits in {} files, more than {EDITS} in {FILES}",
            files.len()
        ));
    }
    Ok(files)
}

/// The place of a document, if the agent may know it.
fn place(cx: &ToolContext, uri: &str) -> Result<Located, String> {
    let located = beneath::locate(&cx.workspace, &cx.cwd, uri);
    let located = located.map_err(|error| format!("a document cannot be named: {error}"))?;
    let inside = located.root.is_some() || located.open;
    if !inside {
        let path = located.path.display();
        return Err(format!(
            "it would change {path}, which is outside the workspace"
        ));
    }
    if !Shown::new(&cx.workspace, &cx.policy).shows(&located) {
        let path = target::display_name(cx, &located);
        return Err(format!(
            "it would change {path}, which is ignored or protected"
        ));
    }
    Ok(located)
}

/// The text on which the edits were computed.
async fn base(
    cx: &ToolContext,
    answer: &Answer,
    file: &FileEdits,
    located: &Located,
    about: &Located,
) -> Result<(Rope, Option<Revision>), String> {
    let path = || target::display_name(cx, located);
    let changed = || format!("{} changed while the language server answered", path());
    let key = located.key();
    let then = answer.bases.get(&key);
    let same = key == about.key();
    let version = file.version.or(answer.answer.version.filter(|_| same));
    if !answer.of_editor
        && let Some(then) = then.filter(|then| version.is_none_or(|it| it == then.version))
    {
        return Ok((then.rope.clone(), then.revision));
    }
    let Some(document) = cx.workspace.document(&located.uri) else {
        let present = target::read_current(cx, located).await;
        let present = present.map_err(|error| format!("{}: {error}", path()))?;
        return Ok((present.rope, present.revision));
    };
    if answer.of_editor
        && let Some(version) = version
    {
        let found = cx.workspace.at_version(&located.uri, version);
        let (revision, rope) = found.ok_or_else(changed)?;
        return Ok((rope, Some(revision)));
    }
    match then {
        Some(then) if then.revision == Some(document.revision) => {
            Ok((document.rope, then.revision))
        }
        _ => Err(changed()),
    }
}

/// Byte ranges and their new texts, ascending and not overlapping.
fn changes(
    base: &Rope,
    edits: &[TextEdit],
    encoding: text::Encoding,
) -> Result<Vec<(Range<usize>, String)>, String> {
    let mut changes = Vec::new();
    for edit in edits {
        let place =
            |position| text::offset(base, position, encoding).map_err(|error| error.to_string());
        let (start, end) = (place(edit.range.start)?, place(edit.range.end)?);
        if start > end {
            return Err("an edit ends before it starts".to_owned());
        }
        changes.push((start..end, edit.new_text.clone()));
    }
    // Stable: insertions at the same place keep their order.
    order::sort_by_key(&mut changes, |(range, _)| (range.start, range.end));
    let overlap = changes
        .windows(2)
        .any(|pair| pair[1].0.start < pair[0].0.end);
    match overlap {
        true => Err("two of its edits overlap".to_owned()),
        false => Ok(changes),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit(line: u32, from: u32, to: u32, text: &str) -> Value {
        json!({ "newText": text, "range": {
            "start": { "line": line, "character": from },
            "end": { "line": line, "character": to },
        }})
    }

    fn planned(text: &str, edits: &[Value]) -> Result<String, String> {
        let edit = json!({ "changes": { "file:///a": edits } });
        let base = Rope::from_str(text);
        let files = read(&edit)?;
        let changes = changes(&base, &files[0].edits, text::Encoding::Utf16)?;
        Ok(plan::ranges(&base, changes).result().to_string())
    }

    #[test]
    fn edits_are_planned_in_any_order_and_in_the_encoding_of_the_answer() {
        let edits = [edit(1, 0, 1, "z"), edit(0, 3, 4, "y"), edit(1, 1, 1, "!")];
        assert_eq!(planned("🦀ax\r\nb\r\n", &edits).unwrap(), "🦀ay\r\nz!\r\n");
    }

    #[test]
    fn edits_that_overlap_or_are_not_in_the_text_are_refused() {
        let overlap = [edit(0, 0, 2, "x"), edit(0, 1, 3, "y")];
        assert!(planned("abc", &overlap).unwrap_err().contains("overlap"));
        assert!(planned("abc", &[edit(4, 0, 1, "x")]).is_err());
        assert!(planned("abc", &[edit(0, 2, 1, "x")]).is_err());
    }

    #[test]
    fn file_operations_and_two_versions_of_a_document_are_refused() {
        let change = |version: i32| json!({ "textDocument": { "uri": "file:///a", "version": version }, "edits": [] });
        let both = json!({ "documentChanges": [change(1), change(2)] });
        assert!(read(&both).is_err_and(|it| it.contains("two versions")));
        let created = json!({ "documentChanges": [{ "kind": "create", "uri": "file:///b" }] });
        assert!(read(&created).is_err_and(|it| it.contains("create a file")));
        assert!(read(&json!({})).unwrap().is_empty());
    }
}
