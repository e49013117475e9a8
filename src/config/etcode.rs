//! `etcode.json`: `{provider: [{id, apiKey, model}], instructions: [..]}`. The user's own is in
//! the config folder, below `config.toml` in precedence; a workspace's may only name
//! instructions inside it. Pure; unknown keys and wrong types are reported, never fatal, and
//! no message contains a key.

#[cfg(test)]
mod tests;

use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::ignored::Ignored;
use super::keys::stays_inside;

/// The file's name, and the source in notices.
pub const FILE: &str = "etcode.json";
/// How many entries of each list are read.
const ENTRIES: usize = 100;

/// The valid part of the file's content.
#[derive(Clone, Debug, Default)]
pub struct Etcode {
    pub providers: Vec<Provider>,
    pub instructions: Vec<String>,
    /// What was ignored, and what should be changed.
    pub ignored: Vec<Ignored>,
}

/// One entry of `provider`.
#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    /// Never shown by `Debug`.
    pub api_key: Option<SecretString>,
    pub model: Option<String>,
}

/// Reads the text of a file. Never fails.
pub fn parse(text: &str) -> Etcode {
    let mut out = Etcode::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(text) {
        Ok(Value::Object(file)) => out.take(file),
        Ok(_) => out.report("*", "the file must be a JSON object"),
        // The parser's message quotes nothing of the file.
        Err(error) => out.report("*", &format!("the file is not JSON: {error}")),
    }
    out
}

impl Etcode {
    /// The user's own file as settings, without keys.
    pub fn settings(&self) -> Value {
        let mut providers = Map::new();
        for one in &self.providers {
            let models: Vec<&str> = one.model.iter().map(String::as_str).collect();
            providers.insert(one.id.clone(), json!({ "models": models }));
        }
        let mut settings = Map::new();
        let model = self
            .providers
            .iter()
            .find_map(|one| Some(format!("{}/{}", one.id, one.model.as_ref()?)));
        if let Some(model) = model {
            settings.insert("model".to_owned(), model.into());
        }
        if !providers.is_empty() {
            settings.insert("providers".to_owned(), Value::Object(providers));
        }
        if !self.instructions.is_empty() {
            settings.insert("instructions".to_owned(), json!(self.instructions));
        }
        Value::Object(settings)
    }

    /// What a workspace's file may set: instructions inside the workspace. Anything else
    /// is refused and reported (INV-9).
    pub fn workspace(mut self) -> (Vec<String>, Vec<Ignored>) {
        // Advice about an ignored key would be wrong.
        self.ignored.retain(|one| !one.key.ends_with(".apiKey"));
        for one in std::mem::take(&mut self.providers) {
            let key = format!("provider.{}", printable(&one.id));
            let with_key = match one.api_key {
                Some(_) => " (it holds a key in plain text: remove it, and replace the key)",
                None => "",
            };
            let reason = format!(
                "a workspace chooses no provider, key or model{with_key}: put it into your own \
                 settings"
            );
            self.report(&key, &reason);
        }
        for entry in std::mem::take(&mut self.instructions) {
            if stays_inside(&entry) {
                self.instructions.push(entry);
            } else {
                let reason = format!(
                    "{:?} leaves the folder: a workspace names only relative paths that stay inside",
                    printable(&entry)
                );
                self.report("instructions", &reason);
            }
        }
        (self.instructions, self.ignored)
    }

    fn take(&mut self, file: Map<String, Value>) {
        for (key, value) in file {
            match (key.as_str(), value) {
                (_, Value::Null) => {}
                ("provider", Value::Array(list)) => self.providers(list),
                ("provider", _) => self.report("provider", "it must be a list of objects"),
                ("instructions", Value::Array(list)) => self.instructions(list),
                ("instructions", _) => self.report("instructions", "it must be a list of texts"),
                // Other tools write more keys into the same file.
                _ => self.report(&printable(&key), "unknown key"),
            }
        }
    }

    fn providers(&mut self, list: Vec<Value>) {
        self.bounded("provider", list.len());
        for (at, value) in list.into_iter().take(ENTRIES).enumerate() {
            let Value::Object(mut entry) = value else {
                self.report(&format!("provider.{at}"), "it must be an object");
                continue;
            };
            let id = entry.shift_remove("id");
            let id = id.as_ref().and_then(Value::as_str).map(str::trim);
            let Some(id) = id.filter(|id| is_name(id)).map(str::to_owned) else {
                let reason = "its `id` must be the name of a provider";
                self.report(&format!("provider.{at}"), reason);
                continue;
            };
            if self.providers.iter().any(|known| known.id == id) {
                self.report(
                    &format!("provider.{id}"),
                    "it is listed twice: the first is used",
                );
                continue;
            }
            let api_key = self.text(&id, "apiKey", entry.shift_remove("apiKey"));
            let model = self.text(&id, "model", entry.shift_remove("model"));
            for (key, _) in entry {
                let key = format!("provider.{id}.{}", printable(&key));
                self.report(&key, "unknown key");
            }
            if api_key.is_some() {
                let reason = format!(
                    "a key in plain text works, but anyone who sees the file has it: move it to \
                     an environment variable (`providers.{id}.apiKeyEnv`), to a file \
                     (`apiKeyFile`), or run `interline login {id}`"
                );
                self.report(&format!("provider.{id}.apiKey"), &reason);
            }
            self.providers.push(Provider {
                id,
                api_key: api_key.map(SecretString::from),
                model,
            });
        }
    }

    /// A non-empty text.
    fn text(&mut self, id: &str, key: &str, value: Option<Value>) -> Option<String> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.trim().is_empty() => None,
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(_) => {
                self.report(&format!("provider.{id}.{key}"), "it must be a text");
                None
            }
        }
    }

    fn instructions(&mut self, list: Vec<Value>) {
        self.bounded("instructions", list.len());
        for (at, value) in list.into_iter().take(ENTRIES).enumerate() {
            match value {
                Value::String(entry) if !entry.trim().is_empty() => self.instructions.push(entry),
                _ => self.report(&format!("instructions.{at}"), "it must be a text"),
            }
        }
    }

    fn bounded(&mut self, key: &str, count: usize) {
        if count > ENTRIES {
            let reason = format!("more than {ENTRIES} entries: the rest is ignored");
            self.report(key, &reason);
        }
    }

    fn report(&mut self, key: &str, reason: &str) {
        if self.ignored.len() > ENTRIES {
            return;
        }
        self.ignored.push(Ignored {
            key: key.to_owned(),
            source: FILE.to_owned(),
            reason: reason.to_owned(),
            ..Ignored::default()
        });
    }
}

/// A provider's name: also a part of a settings key and of a model's name.
fn is_name(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 64
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Text from the file in a notice: short, on one line.
fn printable(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    short
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}
