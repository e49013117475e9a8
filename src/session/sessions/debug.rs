//! The contents of `interline/debug`: the state for a bug report, without secrets, texts and titles.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::{Value, json};

use super::Sessions;
use crate::config::Config;
use crate::provider::recording::scrub::{MARK, Scrubber};
use crate::session::api::DebugReport;

/// The most lines and bytes of the log's end that a report has.
const LINES: usize = 200;
const BYTES: u64 = 64 << 10;

impl Sessions {
    /// The report; `client` describes the connected client.
    pub async fn debug(&self, client: Value) -> DebugReport {
        let env = &self.shared.env;
        let mut status = self.status().await;
        for row in &mut status.sessions {
            row.title.clear();
        }
        let settings = self.state(|state| state.settings.clone());
        let mut report = json!({
            "version": status.version,
            "platform": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            "client": client,
            "folders": { "config": env.dirs.config, "state": env.dirs.state },
            "settings": shown(&settings.config),
            "status": status,
            "log": log(&env.log_path()),
        });
        Scrubber::new(env).scrub(&mut report);
        env.secrets().clean_value(&mut report);
        if let Some(home) = env.dirs.home.to_str().filter(|home| home.len() > 1) {
            without_home(&mut report, home);
        }
        serde_json::from_value(report).unwrap_or_default()
    }
}

/// The settings without what may contain keys or the user's own texts.
fn shown(config: &Config) -> Value {
    let mut settings = serde_json::to_value(config).unwrap_or_default();
    for (_, provider) in named(&mut settings, "providers") {
        if let Some(command) = provider.get_mut("apiKeyCommand").filter(|it| !it.is_null()) {
            *command = Value::from(MARK);
        }
    }
    // `status` says what they offer and how they are.
    for key in ["mcpServers", "languageServers", "agents"] {
        let names: Vec<String> = named(&mut settings, key)
            .map(|(name, _)| name.clone())
            .collect();
        settings[key] = json!(names);
    }
    if let Some(notes) = settings["prompt"]
        .get_mut("notes")
        .filter(|it| !it.is_null())
    {
        *notes = Value::from(MARK);
    }
    settings
}

fn named<'a>(
    settings: &'a mut Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a mut Value)> + use<'a> {
    let table = settings.get_mut(key).and_then(Value::as_object_mut);
    table.into_iter().flatten()
}

/// The end of the log.
fn log(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        // The first line may be incomplete.
        if start > 0 {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            bytes.drain(..end.map_or(0, |at| at + 1));
        }
        Ok(bytes)
    };
    let text = match read() {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return vec![format!("the log cannot be read: {error}")],
    };
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(LINES);
    lines[first..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

/// The user's home, which often is their name, as `~`, in names too.
fn without_home(value: &mut Value, home: &str) {
    match value {
        Value::String(text) => *text = text.replace(home, "~"),
        Value::Array(items) => items.iter_mut().for_each(|item| without_home(item, home)),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    without_home(&mut value, home);
                    (name.replace(home, "~"), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
