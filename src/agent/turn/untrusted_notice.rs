//! Notifies the user, once per folder and process, that instruction files are treated as unverified
//! text. Where the client can ask outside a turn, asks whether to trust the whole repository of
//! which only a folder was opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::agent::{Shared, TurnEnv};
use crate::env::tasks;
use crate::prompt::facts::Facts;
use crate::prompt::{Trust, fence};

/// Most files that one notice names.
const NAMED: usize = 3;

/// A folder that is not trusted, and its instruction files among the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unverified {
    folder: PathBuf,
    /// As shown to model and user.
    sources: Vec<String>,
    /// It is the surrounding repository, beyond the opened folder.
    repository: bool,
}

/// Reports folders that are untrusted among the prompt's facts, the first time only.
pub fn report_untrusted(cx: &TurnEnv, facts: &Facts) {
    if cx.parent.is_some() {
        return;
    }
    for one in unverified(&cx.shared, &cx.cwd, facts) {
        let first = cx.shared.unverified.lock().insert(one.folder.clone());
        if first && !(one.repository && ask(cx, &one)) {
            cx.notice(one.notice());
        }
    }
}

/// Asks outside the turn whether to trust the repository; false if the client cannot ask.
fn ask(cx: &TurnEnv, one: &Unverified) -> bool {
    // A repository in the home folder holds every project: trusting it is left to the command line.
    if cx.shared.env.dirs.home.starts_with(&one.folder) {
        return false;
    }
    let Some(answer) = cx.host.offer(&one.question(), "Trust the repository") else {
        return false;
    };
    let (shared, host, folder) = (cx.shared.clone(), cx.host.clone(), one.folder.clone());
    tasks::spawn(async move {
        if !answer.await {
            return;
        }
        let store = shared.trust.clone();
        let path = folder.clone();
        let stored = tasks::blocking(move || store.set_folder(&path, true)).await;
        let name = fence::name(&folder.display().to_string());
        match stored.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(()) => {
                host.message(&format!("Interline now trusts {name}."));
                host.trust_changed();
            }
            Err(error) => host.message(&format!("{name} could not be trusted: {error}.")),
        }
    });
    true
}

/// The folders whose instruction files are not trusted.
fn unverified(shared: &Shared, cwd: &Path, facts: &Facts) -> Vec<Unverified> {
    let repository = facts.repository.as_deref().map(Path::new);
    let opened = shared.workspace.root_for(cwd).map(|root| root.path);
    let opened = opened.unwrap_or_else(|| cwd.to_path_buf());
    let mut found: BTreeMap<PathBuf, Unverified> = BTreeMap::new();
    let fenced = facts.instructions.iter();
    for one in fenced.filter(|one| facts.trust(one.standing) == Trust::Untrusted) {
        let path = one.path.as_deref().unwrap_or(&opened);
        let root = shared.workspace.root_for(path).map(|root| root.path);
        let root = root.or_else(|| path.starts_with(&opened).then(|| opened.clone()));
        let outer = root.is_none();
        let Some(folder) = root.or_else(|| repository.map(Path::to_path_buf)) else {
            continue;
        };
        let row = found.entry(folder.clone()).or_insert_with(|| Unverified {
            folder,
            sources: Vec::new(),
            repository: outer,
        });
        row.sources.push(fence::name(&one.source));
    }
    found.into_values().collect()
}

impl Unverified {
    fn files(&self) -> String {
        let named = self.sources.len().min(NAMED);
        let more = self.sources.len() - named;
        let names = self.sources[..named].join(", ");
        match more {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }

    fn name(&self) -> String {
        fence::name(&self.folder.display().to_string())
    }

    fn notice(&self) -> String {
        let what = if self.repository {
            "repository"
        } else {
            "folder"
        };
        format!(
            "Interline treats {} as unverified text, not as instructions: the {what} {} is not \
             trusted. To trust it, use the command Trust Folder (interline.trust), or run \
             `interline trust` in it.",
            self.files(),
            self.name()
        )
    }

    fn question(&self) -> String {
        format!(
            "Interline treats {} as unverified text, not as instructions: the repository {} is \
             not trusted. Trust the whole repository? Edits anywhere in it then run without asking.",
            self.files(),
            self.name()
        )
    }
}
