//! `interline trust`: the user's decision about a folder, and about each of its active files.
//! What a repository wrote is shown with everything that could steer a terminal made visible.

#[cfg(test)]
mod tests;

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use crate::edit::unified_diff::unified_with;
use crate::env::Env;
use crate::knowledge::control_files::{self, Active};
use crate::knowledge::trust::TrustStore;
use crate::prompt::fence;
use crate::terminal;

/// Lines of a text or a diff that are shown.
const SHOWN: usize = 200;

#[derive(clap::Args)]
pub struct TrustArgs {
    /// A folder, or one active file; default: the current folder.
    path: Option<PathBuf>,
    /// Remove the trust.
    #[arg(long)]
    remove: bool,
}

/// The user's answer about one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// Show the text, then ask again.
    Show,
}

/// Stores the decision and prints what it means.
pub fn trust(env: &Env, args: &TrustArgs) -> anyhow::Result<i32> {
    let store = TrustStore::new(env);
    let named = args.path.clone().unwrap_or_else(|| PathBuf::from("."));
    let path = match std::fs::canonicalize(&named) {
        Ok(path) => path,
        // A path that no longer exists can still be untrusted.
        Err(_) if args.remove => std::path::absolute(&named)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            anyhow::bail!("There is no file or folder {}.", named.display())
        }
        Err(error) => anyhow::bail!("{}: {error}", named.display()),
    };
    if path.is_dir() || !path.exists() {
        folder(&store, &path, args.remove)?;
    } else if args.remove {
        store.forget_file(&path)?;
        terminal::print(&format!("{} is no longer trusted.", name(&path)));
    } else {
        file(&store, &path)?;
    }
    Ok(0)
}

fn name(path: &Path) -> String {
    fence::name(&path.display().to_string())
}

fn folder(store: &TrustStore, folder: &Path, remove: bool) -> anyhow::Result<()> {
    store.set_folder(folder, !remove)?;
    if remove {
        terminal::print(&format!(
            "{} is no longer trusted, nor are the files below it.",
            name(folder)
        ));
        return Ok(());
    }
    terminal::print(&format!(
        "{} is trusted: its AGENTS.md files are instructions, and edits inside it run without asking. \
         Commands still ask.",
        name(folder)
    ));
    let asks = terminal::interactive();
    let mut say = |text: &str| terminal::print(text);
    if asks {
        active_files(store, folder, &mut say, Some(&mut answer))
    } else {
        active_files(store, folder, &mut say, None)
    }
}

/// A question on the terminal; end of input means no.
fn answer(question: &str) -> Answer {
    terminal::print_part(question);
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "s" | "show" => Answer::Show,
        _ => Answer::No,
    }
}

type Ask<'a> = &'a mut dyn FnMut(&str) -> Answer;

/// Lists the active files of a folder one by one, and asks about each that is not trusted.
fn active_files(
    store: &TrustStore,
    folder: &Path,
    say: &mut dyn FnMut(&str),
    mut ask: Option<Ask<'_>>,
) -> anyhow::Result<()> {
    let workspace = terminal::workspace_of(folder);
    let listed = control_files::list(&workspace, store, folder);
    if !listed.files.is_empty() {
        say("\nThese files control the agent. Each one applies only while you trust its text:");
    }
    let mut open = false;
    for file in &listed.files {
        say(&row(store, file));
        if file.trusted {
            continue;
        }
        let text = match control_files::read(&workspace, folder, &file.path) {
            Ok(Some(text)) if text.hash == file.hash => text.text,
            _ => {
                say("  it has just changed; run the command again");
                continue;
            }
        };
        if let Some(diff) = changes(store, file, &text) {
            say(&diff);
        }
        let yes = match &mut ask {
            Some(ask) => decided(ask, say, file, &text),
            None => false,
        };
        if yes {
            store.trust_text(&file.path, &text)?;
            say("  trusted");
        } else {
            open = true;
        }
    }
    for (path, reason) in &listed.problems {
        say(&format!("{}: not used: {reason}", fence::name(path)));
    }
    if open {
        say(
            "\n`interline trust FILE` trusts one of them in its current state. Changing it ends that trust.",
        );
    }
    Ok(())
}

/// The user's decision about one file; `s` shows its text first.
fn decided(ask: &mut Ask<'_>, say: &mut dyn FnMut(&str), file: &Active, text: &str) -> bool {
    let question = format!(
        "  trust {} as it is now? [y]es, [N]o, [s]how it: ",
        fence::name(&file.shown)
    );
    loop {
        match ask(&question) {
            Answer::Yes => return true,
            Answer::No => return false,
            Answer::Show => say(&shown(text)),
        }
    }
}

/// Kind, path, size, short hash and standing of a file on one line.
fn row(store: &TrustStore, file: &Active) -> String {
    let standing = match (&file.before, file.trusted) {
        (_, true) => "trusted".to_owned(),
        (None, false) => "not trusted".to_owned(),
        (Some(before), false) => match store.trusted_copy(before) {
            Some(old) => format!(
                "changed since you trusted it ({} → {} bytes)",
                old.len(),
                file.bytes
            ),
            None => "changed since you trusted it".to_owned(),
        },
    };
    format!(
        "{:<13} {}  {} bytes  {}  {standing}",
        file.kind.as_str(),
        fence::name(&file.shown),
        file.bytes,
        file.hash.get(..8).unwrap_or_default(),
    )
}

/// What changed since the trusted text, if that was stored.
fn changes(store: &TrustStore, file: &Active, text: &str) -> Option<String> {
    let old = store.trusted_copy(file.before.as_ref()?)?;
    let diff = unified_with(&old, text, 2, ("trusted", "now"));
    Some(shown(&diff.text))
}

/// A repository's text for a terminal: harmless, indented, at most [`SHOWN`] lines.
fn shown(text: &str) -> String {
    let text = fence::visible(text);
    let mut lines: Vec<String> = text
        .lines()
        .take(SHOWN)
        .map(|line| format!("  | {line}"))
        .collect();
    let left = text.lines().count().saturating_sub(SHOWN);
    if left > 0 {
        lines.push(format!("  | […] {left} more lines"));
    }
    lines.join("\n")
}

/// Trusts exactly the current content of one file.
fn file(store: &TrustStore, path: &Path) -> anyhow::Result<()> {
    let text = control_files::read_disk(path)
        .map_err(|reason| anyhow::anyhow!("{}: {reason}", name(path)))?;
    let Some(kind) = control_files::kind(&text.path) else {
        anyhow::bail!(
            "{} is not a file that is trusted by itself. `interline trust` trusts its folder, \
             with its AGENTS.md, and lists the files that need more.",
            name(&text.path)
        );
    };
    let shown = text.path.display().to_string();
    let file = control_files::active(store, shown, kind, &text);
    if let Some(diff) = changes(store, &file, &text.text) {
        terminal::print(&diff);
    }
    let hash = store.trust_text(&text.path, &text.text)?;
    terminal::print(&format!(
        "{} is trusted with exactly this content ({} bytes, {}). Changing it ends that trust.",
        name(&text.path),
        text.text.len(),
        hash.get(..8).unwrap_or_default()
    ));
    let folder = text.path.parent().unwrap_or(Path::new("/"));
    if store.trusted_by(folder).is_none() {
        terminal::print(
            "It applies once its folder is trusted too: run `interline trust` in that folder.",
        );
    }
    Ok(())
}

/// How many active files `folder` has and how many of them are not trusted, for
/// `interline doctor`; `None` if it has no active files.
pub fn counted(env: &Env, folder: &Path) -> Option<String> {
    let store = TrustStore::new(env);
    let workspace = terminal::workspace_of(folder);
    let listed = control_files::list(&workspace, &store, folder);
    let open = listed.files.iter().filter(|file| !file.trusted).count();
    let all = listed.files.len();
    (all > 0 || !listed.problems.is_empty()).then(|| {
        format!(
            "{all} files here make the agent behave: {open} not trusted, {} unreadable \
             (`interline trust` lists them)",
            listed.problems.len()
        )
    })
}
