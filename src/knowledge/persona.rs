//! Named files of the session's folder that a layout puts into the prompt (`IDENTITY.md`,
//! `memory/INDEX.md`, `SYSTEM_PROMPT.md`, …), and truncation. Open buffers come first. Nothing here
//! fails: a file that cannot be used is reported as a problem.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use super::text_source::{Lookup, Reach, SourceText, Standing, TextSource};
use super::trust::TrustStore;
use crate::env::Env;
use crate::workspace::Workspace;

/// The file that is the system text itself.
pub const SYSTEM_PROMPT: &str = "SYSTEM_PROMPT.md";

/// One file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The requested name; for the user's own file its path.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    /// Of the file's complete text.
    pub hash: String,
    /// Of the complete text.
    pub bytes: usize,
    pub standing: Standing,
    /// From an open buffer with unsaved text.
    pub unsaved: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Persona {
    /// In the order of the names, trimmed and never empty.
    pub found: Vec<FileText>,
    /// Names whose file does not exist or is empty.
    pub missing: Vec<String>,
    /// `(name, reason)`: files that exist but cannot be used.
    pub problems: Vec<(String, String)>,
}

/// The files of these names (relative, `/` between folders), each from the session's directory,
/// else from its root.
pub fn gather(workspace: &Workspace, env: &Env, cwd: &Path, names: &[String]) -> Persona {
    let texts = TextSource::new(workspace, env, cwd);
    let mut persona = Persona::default();
    for name in names {
        match find_file(&texts, name) {
            Lookup::Missing => persona.missing.push(name.clone()),
            Lookup::Unusable(reason) => persona.problems.push((name.clone(), reason)),
            Lookup::Found(prose) if prose.text.trim().is_empty() => {
                persona.missing.push(name.clone());
            }
            Lookup::Found(prose) => {
                let mut file = file(name, prose);
                file.text = file.text.trim().to_owned();
                persona.found.push(file);
            }
        }
    }
    persona
}

/// The first file that exists, usable or not.
fn find_file(texts: &TextSource<'_>, name: &str) -> Lookup {
    let plain = |part| matches!(part, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(plain) {
        return Lookup::Unusable("it is not a path below the session's directory".to_owned());
    }
    let mut folders = vec![&texts.cwd];
    if texts.top != texts.cwd {
        folders.push(&texts.top);
    }
    folders
        .into_iter()
        .map(|folder| texts.read(&folder.join(name), Reach::Inside))
        .find(|found| *found != Lookup::Missing)
        .unwrap_or(Lookup::Missing)
}

fn file(name: &str, prose: SourceText) -> FileText {
    FileText {
        name: name.to_owned(),
        path: prose.path,
        bytes: prose.text.len(),
        text: prose.text,
        hash: prose.hash,
        standing: prose.standing,
        unsaved: prose.unsaved,
    }
}

/// Which `SYSTEM_PROMPT.md` is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemPrompt {
    /// The prompt is exactly the file's text.
    Trusted(FileText),
    /// The only one found is not trusted with its current content.
    Untrusted {
        path: PathBuf,
        hash: String,
    },
    Missing,
}

/// The session's `SYSTEM_PROMPT.md`, an active file: used when its folder (`trusted`: the
/// session's) and its current content are trusted; else the user's own in the config folder.
/// With the files not used, as `(source, reason)`.
pub fn system_prompt(
    workspace: &Workspace,
    env: &Env,
    cwd: &Path,
    trusted: bool,
) -> (SystemPrompt, Vec<(String, String)>) {
    let texts = TextSource::new(workspace, env, cwd);
    let mut problems = Vec::new();
    let mut untrusted = SystemPrompt::Missing;
    if let Some(file) = non_empty(
        find_file(&texts, SYSTEM_PROMPT),
        SYSTEM_PROMPT,
        &mut problems,
    ) {
        let folder = match file.standing {
            Standing::User | Standing::Session => trusted,
            Standing::Folder { trusted } => trusted,
        };
        if folder && TrustStore::new(env).file(&file.path, &file.hash) {
            return (SystemPrompt::Trusted(file), problems);
        }
        let reason = match folder {
            false => "not used: its folder is not trusted",
            true => {
                "not used: its current content is not trusted; review it, then trust the file \
                 with its hash"
            }
        };
        problems.push((SYSTEM_PROMPT.to_owned(), reason.to_owned()));
        untrusted = SystemPrompt::Untrusted {
            path: file.path,
            hash: file.hash,
        };
    }
    let own = env.dirs.config.join(SYSTEM_PROMPT);
    let shown = texts.at_home(&own);
    match non_empty(texts.read(&own, Reach::Own), &shown, &mut problems) {
        Some(file) => (SystemPrompt::Trusted(file), problems),
        None => (untrusted, problems),
    }
}

/// The file, unless it is empty: no prompt may be empty.
fn non_empty(found: Lookup, name: &str, problems: &mut Vec<(String, String)>) -> Option<FileText> {
    match found {
        Lookup::Found(prose) if !prose.text.trim().is_empty() => Some(file(name, prose)),
        Lookup::Unusable(reason) => {
            problems.push((name.to_owned(), reason));
            None
        }
        Lookup::Found(_) | Lookup::Missing => None,
    }
}

/// `text` truncated to `chars` characters: the first 70 % and the last 20 % with a mark between
/// them, which gets the total number of characters. A long mark shortens both ends; a text that
/// fits stays as it is.
pub fn truncate_middle(
    text: &str,
    chars: usize,
    mark: impl FnOnce(usize) -> String,
) -> Cow<'_, str> {
    let total = text.chars().count();
    if total <= chars {
        return Cow::Borrowed(text);
    }
    let mark: String = mark(total).chars().take(chars).collect();
    let room = chars - mark.chars().count();
    let (mut head, mut tail) = (chars * 7 / 10, chars * 2 / 10);
    if head + tail > room {
        head = room * 7 / 9;
        tail = room - head;
    }
    let at = |count: usize| {
        text.char_indices()
            .nth(count)
            .map_or(text.len(), |(at, _)| at)
    };
    let (start, end) = (&text[..at(head)], &text[at(total - tail)..]);
    Cow::Owned(format!("{start}{mark}{end}"))
}

#[cfg(test)]
mod tests;
