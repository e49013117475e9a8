//! The transform hook: a user's command that gets the agent and the prompt's segments as JSON and
//! may change them before they are sent (ET-44). It cannot change a segment's trust or slot.
//! Callers decide when it runs; without a command nothing changes.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conversation::Mode;
use crate::conversation::input::Slot;
use crate::env::Env;
use crate::env::order;
use crate::process::pipe_command::{Limits, filter};
use crate::prompt::{Assembled, Layout, SegmentRow, Trust, assemble};

const LIMITS: Limits = Limits {
    time: Duration::from_secs(5),
    output: 1024 * 1024,
    quotes: true,
};
/// Most segments that one reply may add, and the bytes of each.
const ADDED: usize = 16;
const ADDED_BYTES: usize = 32 * 1024;
/// Most problems that are reported.
const PROBLEMS: usize = 20;

/// The command's input.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub agent: Option<String>,
    pub model: String,
    pub mode: Mode,
    pub layout: String,
    pub segments: Vec<Part>,
}

/// One segment of the prompt, in the prompt's order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    pub id: String,
    pub title: String,
    pub slot: Slot,
    pub trust: Trust,
    pub text: String,
}

/// The command's output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Reply {
    pub segments: Vec<Changed>,
}

/// A segment's new text; an empty one drops it. A new id adds a segment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Changed {
    pub id: String,
    pub text: String,
}

/// The segments after a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub parts: Vec<Part>,
    /// Parts of the reply that were ignored, for the user.
    pub problems: Vec<String>,
}

/// The included segments of a prompt, in order.
pub fn parts(assembled: &Assembled) -> Vec<Part> {
    let rows = assembled.rows.iter().filter(|row| row.included);
    let parts = rows.filter_map(|row| {
        Some(Part {
            id: row.id.clone(),
            title: row.title.clone(),
            slot: row.slot,
            trust: row.trust,
            text: row.text.clone()?,
        })
    });
    parts.collect()
}

/// The prompt with the reply applied, and a row that reports the outcome.
pub fn apply_reply(
    layout: &Layout,
    assembled: Assembled,
    reply: Result<Reply, String>,
) -> Assembled {
    let before = parts(&assembled);
    let (applied, said) = match reply {
        Ok(reply) => {
            let applied = apply(before.clone(), reply);
            let said = match applied.problems.join("; ") {
                quoted if quoted.is_empty() => "the command answered".to_owned(),
                quoted => format!("the command answered; {quoted}"),
            };
            (applied.parts, said)
        }
        Err(reason) => (before.clone(), format!("nothing was changed: {reason}")),
    };
    let known = |id: &str| before.iter().any(|part| part.id == id);
    let texts = applied.iter().filter(|part| known(&part.id));
    let texts = texts.map(|part| (part.id.clone(), part.text.clone()));
    let added = applied.iter().filter(|part| !known(&part.id));
    let added: Vec<(String, String)> = added
        .map(|part| (part.id.clone(), part.text.clone()))
        .collect();
    let by = "prompt.transform";
    let mut out = assemble::with_texts(layout, assembled, &order::map(texts), &added, by);
    out.rows.push(SegmentRow {
        id: "transform".to_owned(),
        title: "Transform command".to_owned(),
        layer: "user".to_owned(),
        source: format!("setting: {by}"),
        slot: Slot::System,
        trust: Trust::User,
        included: false,
        reason: said,
        bytes: 0,
        tokens: 0,
        hash: String::new(),
        text: None,
    });
    out.entries.push(None);
    out
}

/// Runs the command (the setting `prompt.transform`). An error says why the prompt stays unchanged.
/// The command runs in the config folder, so that a workspace cannot supply a program or module to
/// it.
pub async fn run(env: &Env, command: &[String], request: &Request) -> Result<Reply, String> {
    run_within(env, command, request, LIMITS).await
}

async fn run_within(
    env: &Env,
    command: &[String],
    request: &Request,
    limits: Limits,
) -> Result<Reply, String> {
    let input = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let folders = [&env.dirs.config, &env.dirs.home];
    let cwd = folders.into_iter().find(|folder| folder.is_dir());
    let cwd = cwd.cloned().unwrap_or_else(|| PathBuf::from("/"));
    let output = filter(&argv(env, command), &cwd, &input, limits).await;
    let output = output.map_err(|reason| format!("prompt.transform: {reason}"))?;
    serde_json::from_slice(&output).map_err(|error| {
        format!(
            "prompt.transform: its output is not {{\"segments\": [{{\"id\": …, \"text\": …}}]}}: \
             {error}"
        )
    })
}

/// The command's arguments; a program with a `/` is relative to home (`~/`) or the config folder.
fn argv(env: &Env, command: &[String]) -> Vec<String> {
    let mut argv = command.to_vec();
    if let Some(program) = argv.first_mut() {
        if let Some(rest) = program.strip_prefix("~/") {
            *program = env.dirs.home.join(rest).display().to_string();
        } else if program.contains('/') {
            *program = env.dirs.config.join(&*program).display().to_string();
        }
    }
    argv
}

/// Applies a reply to the segments. Pure. Known ids get the new text, unnamed segments stay, and
/// new ids become user-trusted system segments at the end. An untrusted segment may only lose lines
/// inside its fence, or all of its text.
pub fn apply(parts: Vec<Part>, reply: Reply) -> Applied {
    let mut out = Applied {
        parts,
        problems: Vec::new(),
    };
    let known = out.parts.len();
    let mut done = BTreeSet::new();
    for change in reply.segments {
        if !done.insert(change.id.clone()) {
            out.report(&change.id, "it occurs twice: the first one is used");
            continue;
        }
        let at: Vec<usize> = (0..known)
            .filter(|at| out.parts[*at].id == change.id)
            .collect();
        match at[..] {
            [] => out.add(known, change),
            [at] => out.change(at, change),
            _ => out.report(
                &change.id,
                "several segments have this id, so none was changed",
            ),
        }
    }
    out.parts.retain(|part| !part.text.trim().is_empty());
    out
}

impl Applied {
    fn change(&mut self, at: usize, change: Changed) {
        let part = &mut self.parts[at];
        if part.trust == Trust::Untrusted && !only_shorter(&part.text, &change.text) {
            let reason = "it is not trusted, so its lines can only be removed";
            return self.report(&change.id, reason);
        }
        part.text = change.text;
    }

    fn add(&mut self, known: usize, change: Changed) {
        let sound = (1..=64).contains(&change.id.len())
            && change
                .id
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
        if !sound {
            let reason = "an id has 1 to 64 letters, digits, `-`, `_`, `.` or `:`";
            return self.report(&change.id, reason);
        }
        if change.text.len() > ADDED_BYTES {
            let reason = format!("a new segment has at most {ADDED_BYTES} bytes");
            return self.report(&change.id, &reason);
        }
        if self.parts.len() - known >= ADDED {
            let reason = format!("at most {ADDED} segments can be added");
            return self.report(&change.id, &reason);
        }
        self.parts.push(Part {
            title: change.id.clone(),
            id: change.id,
            slot: Slot::System,
            trust: Trust::User,
            text: change.text,
        });
    }

    fn report(&mut self, id: &str, reason: &str) {
        if self.problems.len() < PROBLEMS {
            let id: String = id.chars().take(64).collect();
            let problem = format!("prompt.transform: segment {id:?}: {reason}");
            self.problems.push(problem);
        }
    }
}

/// Whether `new` is `old` without some lines inside its fence, or empty. The fence and the text
/// around it say not to obey the content.
fn only_shorter(old: &str, new: &str) -> bool {
    if new.trim().is_empty() {
        return true;
    }
    let old: Vec<&str> = old.lines().collect();
    let mut new: Vec<&str> = new.lines().collect();
    let Some((open, close)) = fence(&old) else {
        return old == new;
    };
    let (before, after) = (&old[..=open], &old[close..]);
    if new.len() < before.len() + after.len() || !new.starts_with(before) || !new.ends_with(after) {
        return false;
    }
    new.truncate(new.len() - after.len());
    let mut inside = old[open + 1..close].iter();
    new[before.len()..]
        .iter()
        .all(|line| inside.any(|known| known == line))
}

/// The lines that open and close the outermost fence.
fn fence(lines: &[&str]) -> Option<(usize, usize)> {
    let run = |line: &str| {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        (length >= 3).then(|| line[..length].to_owned())
    };
    let open = lines.iter().position(|line| run(line).is_some())?;
    let mark = run(lines[open])?;
    let close = lines.iter().rposition(|line| *line == mark)?;
    (close > open).then_some((open, close))
}
