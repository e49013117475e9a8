//! Nested instructions: files of folders that a tool or the active document touches join the
//! conversation once, as journal entries. The conversation's admitted keys hold the claims, so they
//! survive a restart and a new epoch forgets them. Later changes are reported at the start of a
//! turn. They are text blocks after the results, not parts of one: a result is data, in which a file
//! could fake them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::agent::{Shared, TurnEnv};
use crate::conversation::EditorContext;
use crate::env::order;
use crate::env::tasks;
use crate::knowledge::Standing;
use crate::knowledge::instructions::nested::{self, Finder, Nested};
use crate::knowledge::instructions::{Instruction, Search};
use crate::policy::Fact;
use crate::prompt::epoch::{JournalEntry, NESTED};
use crate::prompt::{Texts, fence};
use crate::workspace::{FileKind, Uri, beneath};

/// Most files shown in one epoch; further ones are only named.
const FILES: usize = 200;

/// A place that a call read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    folder: PathBuf,
    /// `None` if it was the folder itself.
    file: Option<PathBuf>,
}

/// The places among the facts of a call.
pub fn touched(facts: &[Fact]) -> Vec<Touched> {
    facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Path { located, .. } if located.kind == FileKind::Directory => Some(Touched {
                folder: located.path.clone(),
                file: None,
            }),
            Fact::Path { located, .. } if located.path.is_absolute() => Some(Touched {
                folder: located.path.parent()?.to_path_buf(),
                file: Some(located.path.clone()),
            }),
            _ => None,
        })
        .collect()
}

/// A claimed or claimable file as it is at the start of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Present {
    Here {
        found: Nested,
        /// It belongs to the active document's folders: claimed if it is not yet.
        active: bool,
    },
    Gone {
        at: PathBuf,
        source: String,
    },
}

/// The instruction files that the calls of one message bring in, without those already shown with
/// the same text and those that the calls themselves read or wrote. All calls are checked together,
/// so two parallel calls claim a file once.
pub async fn claim(cx: &TurnEnv, touched: Vec<Touched>) -> Vec<JournalEntry> {
    if touched.is_empty() {
        return Vec::new();
    }
    let admitted = cx.with_conversation(|conversation| conversation.known_sources.clone());
    let (shared, cwd, layout) = (cx.shared.clone(), cx.cwd.clone(), cx.layout.clone());
    let look = move || {
        let search = &layout.head.instructions;
        new_entries(&shared, &cwd, search, &touched, &admitted)
    };
    tasks::blocking(look)
        .await
        .inspect_err(|error| tracing::error!("searching for nested instructions failed: {error}"))
        .unwrap_or_default()
}

fn new_entries(
    shared: &Shared,
    cwd: &Path,
    search: &Search,
    touched: &[Touched],
    admitted: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let found = find(shared, cwd, search, touched, admitted);
    if found.is_empty() {
        return Vec::new();
    }
    let trusted = shared.trusted(cwd);
    let mut room = files_left(admitted);
    found
        .iter()
        .filter_map(|one| entry(&shared.texts, trusted, one, admitted, &mut room))
        .collect()
}

fn find(
    shared: &Shared,
    cwd: &Path,
    search: &Search,
    touched: &[Touched],
    admitted: &BTreeMap<String, String>,
) -> Vec<Nested> {
    let places: Vec<PathBuf> = touched.iter().map(|it| it.folder.clone()).collect();
    let mut found = find_files(&finder(shared, cwd, search), &places, &[]);
    let files: Vec<&PathBuf> = touched.iter().filter_map(|it| it.file.as_ref()).collect();
    let mut known = order::set(admitted.values().cloned());
    found.retain(|one| {
        let itself = files
            .iter()
            .any(|file| **file == one.at || Some(*file) == one.one.path.as_ref());
        !itself && known.insert(one.one.hash.clone())
    });
    nested::fit(found.iter_mut().map(|one| &mut one.one));
    found
}

/// The files of `places` and the folders above them, and of exactly `folders`.
fn find_files(finder: &Finder<'_>, places: &[PathBuf], folders: &[PathBuf]) -> Vec<Nested> {
    let near = finder.folders(places);
    let mut all = order::set(near);
    all.extend(folders.iter().cloned());
    let all: Vec<PathBuf> = all.into_iter().collect();
    let (found, problems) = finder.nested(&all);
    for (source, reason) in problems {
        tracing::info!(source, reason, "nested instructions not used");
    }
    found
}

fn finder<'a>(shared: &'a Shared, cwd: &Path, search: &'a Search) -> Finder<'a> {
    Finder::new(&shared.workspace, &shared.env, cwd, search, &shared.caches)
}

/// Files claimed earlier (among `sent_updates`) as they are now, and those that the active document's
/// folders would add. Blocking.
pub fn gather(
    shared: &Shared,
    cwd: &Path,
    search: &Search,
    sent_updates: &BTreeMap<String, String>,
    editor: &EditorContext,
) -> Vec<Present> {
    let claimed: Vec<PathBuf> = claimed(sent_updates).map(PathBuf::from).collect();
    let active: Vec<PathBuf> = active_folder(shared, cwd, editor).into_iter().collect();
    let folders: Vec<PathBuf> = claimed
        .iter()
        .filter_map(|at| nested::folder_of(search, at))
        .collect();
    if active.is_empty() && folders.is_empty() {
        return Vec::new();
    }
    let finder = finder(shared, cwd, search);
    let near = finder.folders(&active);
    let mut found = find_files(&finder, &active, &folders);
    let is_active = |one: &Nested| {
        one.at
            .parent()
            .is_some_and(|it| near.iter().any(|n| n == it))
    };
    found.retain(|one| is_active(one) || claimed.contains(&one.at));
    for one in &mut found {
        // Nothing to report: its text takes nothing from the others' budget.
        if !is_active(one) && sent_updates.get(&key(&one.at)) == Some(&one.one.hash) {
            one.one.text.clear();
        }
    }
    nested::fit(found.iter_mut().map(|one| &mut one.one));
    let gone = claimed
        .iter()
        .filter(|at| !found.iter().any(|one| one.at == **at));
    let gone: Vec<Present> = gone
        .map(|at| Present::Gone {
            source: nested::shown(&shared.workspace, &shared.env, cwd, at),
            at: at.clone(),
        })
        .collect();
    let here = found.into_iter().map(|found| Present::Here {
        active: is_active(&found),
        found,
    });
    here.chain(gone).collect()
}

fn active_folder(shared: &Shared, cwd: &Path, editor: &EditorContext) -> Option<PathBuf> {
    let view = editor.editors.iter().find(|view| view.active)?;
    let uri = Uri::new(view.uri.as_str());
    shared.workspace.document(&uri).filter(|it| it.opened)?;
    let located = beneath::locate(&shared.workspace, cwd, uri.as_str()).ok()?;
    let path = located.path.is_absolute().then_some(located.path)?;
    Some(path.parent()?.to_path_buf())
}

/// Entries for everything that differs from `admitted` and from `sent_updates`. A new
/// epoch has admitted nothing: it only includes the active document's folders, and corrections of
/// outdated text. Pure.
pub fn entries(
    texts: &Texts,
    trusted: bool,
    present: &[Present],
    admitted: &BTreeMap<String, String>,
    sent_updates: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let mut room = files_left(admitted);
    present
        .iter()
        .filter_map(|one| match one {
            Present::Here { found, active } => {
                let old =
                    known_hash(sent_updates, &found.at).filter(|hash| *hash != found.one.hash);
                let against = if old.is_some() {
                    sent_updates
                } else {
                    admitted
                };
                let wanted = *active || known_hash(against, &found.at).is_some();
                wanted
                    .then(|| entry(texts, trusted, found, against, &mut room))
                    .flatten()
            }
            Present::Gone { at, source } => known_hash(sent_updates, at).map(|_| {
                let source = fenced_name(source, trusted);
                let text = "journal/instructions-removed.md";
                let text = texts.render(text, &[("source", &source)]);
                update(texts, at, String::new(), &text)
            }),
        })
        .collect()
}

/// The entry for a file that is new to the conversation or has changed.
fn entry(
    texts: &Texts,
    trusted: bool,
    found: &Nested,
    admitted: &BTreeMap<String, String>,
    room: &mut usize,
) -> Option<JournalEntry> {
    let one = &found.one;
    let known = known_hash(admitted, &found.at);
    if known == Some(one.hash.as_str()) {
        return None;
    }
    let source = fence::name(&one.source);
    if known.is_none() {
        let Some(left) = room.checked_sub(1) else {
            let source = fenced_name(&one.source, is_trusted(one, trusted));
            let text = texts.render("results/nested-left-out.md", &[("source", &source)]);
            return Some(update(texts, &found.at, one.hash.clone(), &text));
        };
        *room = left;
    }
    let values = [("source", source.as_str()), ("text", one.text.trim_end())];
    let body = texts.render("segments/instruction.md", &values);
    if !is_trusted(one, trusted) {
        // The name is fenced too: a folder can have any name.
        let body = fence::block(&body);
        return Some(JournalEntry {
            about: "instructions".to_owned(),
            source: key(&found.at),
            hash: one.hash.clone(),
            text: texts.render("segments/unverified.md", &[("body", &body)]),
        });
    }
    let text = match known {
        Some(_) => texts.render("journal/instructions-changed.md", &[("text", &body)]),
        None => texts.render("results/nested-instructions.md", &[("text", &body)]),
    };
    Some(update(texts, &found.at, one.hash.clone(), &text))
}

fn update(texts: &Texts, at: &Path, hash: String, text: &str) -> JournalEntry {
    let about = "instructions";
    JournalEntry {
        about: about.to_owned(),
        source: key(at),
        hash,
        text: texts.render("journal/entry.md", &[("about", about), ("text", text)]),
    }
}

/// The name of a file that is only named: fenced if it is not trusted.
fn fenced_name(source: &str, believed: bool) -> String {
    let name = fence::name(source);
    match believed {
        true => name,
        false => format!("\n{}", fence::block(&name)),
    }
}

/// Trust decides the delivery (INV-9).
fn is_trusted(one: &Instruction, trusted: bool) -> bool {
    match one.standing {
        Standing::User => true,
        Standing::Session => trusted,
        Standing::Folder { trusted } => trusted,
    }
}

/// The key of a nested file among the admitted.
fn key(at: &Path) -> String {
    format!("{NESTED}{}", at.display())
}

/// The hash under which the file was claimed.
fn known_hash<'a>(admitted: &'a BTreeMap<String, String>, at: &Path) -> Option<&'a str> {
    let hash = admitted.get(&key(at))?;
    (!hash.is_empty()).then_some(hash)
}

fn claimed(admitted: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    admitted
        .iter()
        .filter(|(_, hash)| !hash.is_empty())
        .filter_map(|(key, _)| key.strip_prefix(NESTED))
}

fn files_left(admitted: &BTreeMap<String, String>) -> usize {
    FILES.saturating_sub(claimed(admitted).count())
}

#[cfg(test)]
mod tests;
