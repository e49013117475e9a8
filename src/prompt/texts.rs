//! Every text that the model sees: the files of `prompts/`, compiled in, each replaceable by a file
//! of the same name in the user's override folder. Loaded once; no file is read per turn. An
//! override that cannot be used is ignored and reported ([`Texts::problems`]).

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::types::Trust;
use crate::env::order;

/// The names below `prompts/` and the contents, sorted by name; written by `build.rs`.
static BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/prompts.rs"));

/// Largest override file, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most override files and folders that are read.
const ENTRY_LIMIT: usize = 2_000;
const SCHEMA: &str = "schemas of tools cannot be replaced: the built-in one is used";
/// Deepest folder below `prompts/`.
const DEPTH_LIMIT: usize = 4;

/// The texts in use. Loaded once; the same for all sessions of a process.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    files: Arc<Files>,
    problems: Arc<Vec<(String, String)>>,
}

/// Sorted by name, as the table is. A list is built faster than a tree.
#[derive(Clone, Debug, Default)]
struct Files(Vec<(Cow<'static, str>, Text)>);

impl Files {
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|(other, _)| other.as_ref().cmp(name))
    }

    fn get(&self, name: &str) -> Option<&Text> {
        self.position(name).ok().map(|at| &self.0[at].1)
    }

    /// Inserts a text; returns the one that it replaced.
    fn insert(&mut self, name: Cow<'static, str>, text: Text) -> Option<Text> {
        match self.position(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, text)),
            Err(at) => {
                self.0.insert(at, (name, text));
                None
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Text {
    body: Cow<'static, str>,
    /// The file that replaced or added it; `None` for a built-in text.
    from: Option<PathBuf>,
}

impl Texts {
    /// Built-in texts with overrides from `<config>/prompts`.
    pub fn load(overrides: Option<&Path>) -> Self {
        let built_in = BUILT_IN.iter().map(|(name, body)| {
            let body = Cow::Borrowed(trimmed(body));
            (Cow::Borrowed(*name), Text { body, from: None })
        });
        let mut files = Files(built_in.collect());
        #[cfg(test)]
        tests::mutated(&mut files);
        let mut problems = Vec::new();
        if let Some(folder) = overrides {
            overlay(folder, &mut files, &mut problems);
        }
        Self {
            files: Arc::new(files),
            problems: Arc::new(problems),
        }
    }

    /// The text of `name` (path below `prompts/`, with its suffix), without a trailing newline.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(|text| text.body.as_ref())
    }

    /// [`Texts::get`] with `{{key}}` substituted. An unknown name renders as its own path, so that
    /// nothing fails at run time; a test checks that every name in use exists.
    pub fn render(&self, name: &str, values: &[(&str, &str)]) -> String {
        substitute(self.get(name).unwrap_or(name), values)
    }

    /// A copy in which `change` was applied to the texts of one folder.
    pub fn map(&self, folder: &str, change: impl Fn(&str, &str) -> String) -> Self {
        let mut files = Files::clone(&self.files);
        for (name, text) in &mut files.0 {
            if name.split('/').next() == Some(folder) {
                text.body = Cow::Owned(change(name, &text.body));
            }
        }
        Self {
            files: Arc::new(files),
            problems: self.problems.clone(),
        }
    }

    /// The sorted names below a folder (`tools/`).
    pub fn names(&self, folder: &str) -> Vec<&str> {
        let (Ok(first) | Err(first)) = self.files.position(folder);
        let names = self.files.0[first..].iter().map(|(name, _)| name.as_ref());
        names.take_while(|name| name.starts_with(folder)).collect()
    }

    /// The origin of `name` for the preview (the override's path, or "built in"), and its trust.
    pub fn origin(&self, name: &str) -> (String, Trust) {
        match self.files.get(name).and_then(|text| text.from.as_ref()) {
            Some(path) => (path.display().to_string(), Trust::User),
            None => (format!("built in: {name}"), Trust::Own),
        }
    }

    /// The overrides that were ignored: `(path, reason)`.
    pub fn problems(&self) -> &[(String, String)] {
        &self.problems
    }
}

/// Replaces `{{key}}` in one pass: values are not substituted again, unknown keys stay.
pub fn substitute(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let named = after[2..].find("}}").and_then(|end| {
            let key = &after[2..2 + end];
            let value = values.iter().find(|(name, _)| *name == key)?;
            Some((value.1, end + 4))
        });
        match named {
            Some((value, used)) => {
                out.push_str(value);
                rest = &after[used..];
            }
            // Advance by one brace, so that `{{{key}}` still finds its key.
            None => {
                out.push('{');
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn trimmed(body: &str) -> &str {
    body.trim_end_matches(['\n', '\r'])
}

/// Reads the override folder, each folder in name order, so that the entry limit is repeatable.
fn overlay(folder: &Path, files: &mut Files, problems: &mut Vec<(String, String)>) {
    let mut waiting = vec![(folder.to_path_buf(), String::new(), 0_usize)];
    let mut seen = 0_usize;
    while let Some((dir, prefix, depth)) = waiting.pop() {
        let mut entries: Vec<_> = match std::fs::read_dir(&dir) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                problems.push((dir.display().to_string(), error.to_string()));
                continue;
            }
        };
        order::sort_by_key(&mut entries, std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let shown = path.display().to_string();
            seen += 1;
            if seen > ENTRY_LIMIT {
                let reason = format!("more than {ENTRY_LIMIT} files: the rest is not used");
                problems.push((shown, reason));
                return;
            }
            let file_name = entry.file_name();
            let Some(name) = file_name.to_str() else {
                problems.push((shown, "the file name is not UTF-8".to_owned()));
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let name = format!("{prefix}{name}");
            match std::fs::metadata(&path) {
                Ok(data) if data.is_dir() && depth < DEPTH_LIMIT => {
                    waiting.push((path, format!("{name}/"), depth + 1));
                }
                Ok(data) => match read_override(&path, &data) {
                    Ok(body) if is_schema(files, &name) => {
                        // An unchanged copy of the folder is no mistake.
                        let own = files.get(&name).map(|text| text.body.as_ref());
                        if own != Some(trimmed(&body)) {
                            problems.push((shown, SCHEMA.to_owned()));
                        }
                    }
                    Ok(body) => {
                        let text = Text {
                            body: Cow::Owned(trimmed(&body).to_owned()),
                            from: Some(path),
                        };
                        files.insert(Cow::Owned(name), text);
                    }
                    Err(reason) => problems.push((shown, reason)),
                },
                Err(error) => problems.push((shown, error.to_string())),
            }
        }
    }
}

/// The schema of a tool's arguments: the program checks arguments against its own types.
fn is_schema(files: &Files, name: &str) -> bool {
    name.ends_with(".json") && files.get(name).is_some()
}

fn read_override(path: &Path, data: &std::fs::Metadata) -> Result<String, String> {
    if !data.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if data.len() > FILE_LIMIT {
        return Err(format!(
            "it has {} bytes, more than the limit of {FILE_LIMIT}: the built-in text is used",
            data.len()
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8 text: the built-in text is used".to_owned())
}

#[cfg(test)]
mod tests;
