//! `interline/input/complete`: completes a prompt that is being written, with files and skills as in
//! transcripts, and with the prompts of running MCP servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conversation::Failure;
use crate::env::order;
use crate::env::tasks;
use crate::lsp::bare::transcript::complete::{self, FOLDER, Row};
use crate::lsp::door::Door;
use crate::lsp::ext::{CompleteInput, Completion, Completions};
use crate::mcp::PromptChoice;
use crate::workspace::Encoding;

/// Most items of one answer.
const ROWS: usize = 100;

/// What is being completed.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    File(&'a str),
    /// A skill or a prompt.
    Command(&'a str),
    Argument {
        of: &'a PromptChoice,
        typed: &'a str,
    },
    Value {
        of: &'a PromptChoice,
        argument: &'a str,
        typed: &'a str,
        given: BTreeMap<String, String>,
    },
}

pub async fn complete(door: Arc<Door>, params: CompleteInput) -> Result<Completions, Failure> {
    let sessions = door.sessions()?;
    let root = match &params.session_id {
        Some(id) => sessions.root(id)?,
        None => match door.workspace.roots().into_iter().next() {
            Some(root) => root.path,
            None => return Ok(Completions { items: Vec::new() }),
        },
    };
    let encoding = door.encoding();
    let before = before(&params.text, params.offset, encoding);
    let servers = sessions.shared().mcp.clone();
    let prompts = servers.prompts(&root);
    let Some(wanted) = wanted(before, &prompts) else {
        return Ok(Completions { items: Vec::new() });
    };
    let (mut items, typed) = match wanted {
        Wanted::File(typed) => (files(&door, root, typed).await, typed),
        Wanted::Command(typed) => {
            let mut items = skills(&door, root, typed).await?;
            items.extend(matching(&prompts, typed));
            (items, typed)
        }
        Wanted::Argument { of, typed } => (arguments(of, before, typed), typed),
        Wanted::Value {
            of,
            argument,
            typed,
            given,
        } => {
            let values = servers.complete(&root, of, argument, typed, given).await;
            let row = |label| item(label, "value", String::new());
            (values.into_iter().map(row).collect(), typed)
        }
    };
    items.truncate(ROWS);
    let start = units(&before[..before.len() - typed.len()], encoding);
    for item in &mut items {
        item.start = start;
    }
    Ok(Completions { items })
}

fn item(label: String, kind: &str, detail: String) -> Completion {
    Completion {
        label,
        kind: kind.to_owned(),
        detail,
        ..Completion::default()
    }
}

async fn files(door: &Door, root: PathBuf, typed: &str) -> Vec<Completion> {
    let Ok(sessions) = door.sessions() else {
        return Vec::new();
    };
    let (shared, typed) = (Arc::clone(sessions.shared()), typed.to_owned());
    let find = move || complete::files(&shared, &root, &typed);
    let rows: Vec<Row> = tasks::blocking(find).await.unwrap_or_default();
    let kind = |kind| if kind == FOLDER { "folder" } else { "file" };
    rows.into_iter()
        .map(|(name, of, detail)| item(name, kind(of), detail))
        .collect()
}

async fn skills(door: &Door, root: PathBuf, typed: &str) -> Result<Vec<Completion>, Failure> {
    let sessions = door.sessions()?;
    let (shared, config) = (Arc::clone(sessions.shared()), sessions.config());
    let typed = typed.to_owned();
    let find = move || complete::commands(&shared, &config, Path::new(&root), &typed);
    let rows = tasks::blocking(find).await.unwrap_or_default();
    let row = |(name, _, detail)| item(name, "skill", detail);
    Ok(rows.into_iter().map(row).collect())
}

fn matching(prompts: &[PromptChoice], typed: &str) -> Vec<Completion> {
    let fits = prompts.iter().filter(|it| it.label().starts_with(typed));
    fits.map(|it| Completion {
        server: Some(it.server.clone()),
        name: Some(it.name.clone()),
        arguments: Some(it.arguments.clone()),
        ..item(it.label(), "mcpPrompt", it.description.clone())
    })
    .collect()
}

/// The arguments that are not given yet.
fn arguments(of: &PromptChoice, before: &str, typed: &str) -> Vec<Completion> {
    let plain = |name: &String| name.strip_suffix('?').unwrap_or(name).to_owned();
    let given = |name: &str| {
        let mut words = before.split_whitespace();
        words.any(|word| word.split_once('=').is_some_and(|(key, _)| key == name))
    };
    let names = of.arguments.iter().map(plain);
    let fits = names.filter(|name| name.starts_with(typed) && !given(name));
    fits.map(|name| item(format!("{name}="), "argument", String::new()))
        .collect()
}

/// What the end of `before` begins.
fn wanted<'a>(before: &'a str, prompts: &'a [PromptChoice]) -> Option<Wanted<'a>> {
    if let Some(rest) = before.strip_prefix('/') {
        let of = prompts.iter().find(|it| {
            let after = rest.strip_prefix(&it.label());
            after.is_some_and(|after| after.starts_with(' '))
        });
        if let Some(of) = of {
            return Some(argument(of, &rest[of.label().len()..]));
        }
        let word = !rest.contains(['/', '\n']) && rest.chars().count() <= 200;
        let known = prompts.iter().any(|it| it.label().starts_with(rest));
        let plain = !rest.contains(char::is_whitespace);
        return (word && (plain || known)).then_some(Wanted::Command(rest));
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    let (left, name) = line.rsplit_once('@')?;
    let begins = left.chars().last().is_none_or(|c| !c.is_alphanumeric());
    let word = !name.chars().any(char::is_whitespace);
    (begins && word).then_some(Wanted::File(name))
}

fn argument<'a>(of: &'a PromptChoice, rest: &'a str) -> Wanted<'a> {
    let (earlier, typed) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
    let Some((argument, typed)) = typed.split_once('=') else {
        return Wanted::Argument { of, typed };
    };
    let pairs = earlier.split_whitespace().filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    });
    Wanted::Value {
        of,
        argument,
        typed,
        given: order::map(pairs),
    }
}

/// The text before `offset`. An offset inside a character or past the end is rounded down.
fn before(text: &str, offset: u32, encoding: Encoding) -> &str {
    let mut left = offset as usize;
    for (at, found) in text.char_indices() {
        let long = width(found, encoding);
        if long > left {
            return &text[..at];
        }
        left -= long;
    }
    text
}

fn width(found: char, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => found.len_utf8(),
        Encoding::Utf16 => found.len_utf16(),
        Encoding::Utf32 => 1,
    }
}

fn units(text: &str, encoding: Encoding) -> u32 {
    let long: usize = text.chars().map(|it| width(it, encoding)).sum();
    u32::try_from(long).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
