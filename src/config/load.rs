//! Reads `config.toml` and the user's `etcode.json`, merges the layers and applies the grant rule:
//! what a repository can carry may only narrow. An invalid value affects only itself,
//! and is treated as the narrowest one if it could narrow; everything ignored is listed
//! in `ignored`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::etcode::{self, Etcode};
pub use super::ignored::{Ignored, Severity};
use super::keys::{KEYS, Node, Rule, UNBUILT};
use super::typed::typed;
use super::{Config, LiteralKey};
use crate::env::Env;
use crate::env::order;

/// The source of a client's settings, which a repository can carry.
pub const CLIENT: &str = "client settings";
/// The reason for a setting that is accepted but not used.
const NOT_BUILT: &str = "this version does not use it yet";

/// The effective settings, and what was ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub config: Config,
    pub ignored: Vec<Ignored>,
}

impl Loaded {
    /// The settings that decide what the agent may do, with sources, for `interline/status`.
    pub fn policy(&self) -> BTreeMap<String, Value> {
        const KEYS: [&str; 9] = [
            "approvals",
            "mode",
            "edits.review",
            "edits.closedFiles",
            "edits.saveAfter",
            "exec.timeoutMs",
            "env",
            "limits.steps",
            "limits.approvalMinutes",
        ];
        let config = serde_json::to_value(&self.config).unwrap_or_default();
        let row = |key: &str| {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            let source = self
                .config
                .sources
                .get(key)
                .map_or("default", String::as_str);
            let value = at(&config, &path).cloned().unwrap_or_default();
            (
                key.to_owned(),
                serde_json::json!({ "value": value, "source": source }),
            )
        };
        order::map(KEYS.into_iter().map(row))
    }

    /// What the user must see without asking, one sentence for each setting.
    pub fn alarms(&self) -> Vec<String> {
        let loud = self
            .ignored
            .iter()
            .filter(|one| one.severity > Severity::Note);
        loud.map(Ignored::sentence).collect()
    }

    /// Invalid values: what the user wanted is unknown.
    pub fn unclear(&self) -> Vec<String> {
        let unclear = |one: &&Ignored| one.severity == Severity::Unclear;
        let unclear = self.ignored.iter().filter(unclear);
        unclear.map(Ignored::sentence).collect()
    }
}

/// What a client shows of [`Loaded::alarms`].
pub fn unclear(alarms: &[String]) -> String {
    format!("Invalid settings: {}. Correct them.", alarms.join(" · "))
}

/// Client settings: `client` may only narrow; `user` (plugin code's `initializationOptions.user`
/// of a client with `userSettings`) may grant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientSettings {
    pub client: Option<Value>,
    pub user: Option<Value>,
    /// `user` came from a client that did not announce `userSettings`.
    pub unannounced: bool,
}

impl ClientSettings {
    /// From `initializationOptions`: the object itself, or its key `interline`.
    pub fn from_options(options: Option<&Value>, user_settings: bool) -> Self {
        let mut client = section(options);
        let user = client.remove("user");
        Self {
            client: (!client.is_empty()).then_some(Value::Object(client)),
            unannounced: user.is_some() && !user_settings,
            user: user.filter(|_| user_settings),
        }
    }

    /// `didChangeConfiguration.settings`, the object itself or its key `interline`: merged over
    /// the client's earlier settings. A `user` in it grants nothing.
    pub fn changed(&self, settings: &Value) -> Self {
        let mut client = match &self.client {
            Some(Value::Object(client)) => client.clone(),
            _ => Map::new(),
        };
        merge(&mut client, section(Some(settings)));
        Self {
            client: Some(Value::Object(client)),
            ..self.clone()
        }
    }
}

fn section(value: Option<&Value>) -> Map<String, Value> {
    let Some(Value::Object(whole)) = value else {
        return Map::new();
    };
    match whole.get("interline") {
        Some(Value::Object(own)) => own.clone(),
        _ => whole.clone(),
    }
}

fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(base)), Value::Object(over)) => merge(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Built in < `etcode.json` < `config.toml` < client settings. A broken file is left unchanged, reported and skipped.
pub fn load(env: &Env, client: &ClientSettings) -> Loaded {
    let path = env.dirs.config.join("config.toml");
    let mut layers = Layers {
        merged: Value::Object(Map::new()),
        config: Config::default(),
        ignored: Vec::new(),
        sources: BTreeMap::new(),
        hint: format!("put it into {} to allow it", path.display()),
        source: "",
        grants: true,
    };
    let etcode = read_etcode(&env.dirs.config.join(etcode::FILE));
    layers.add(etcode::FILE, true, &etcode.settings());
    match read_file(&path) {
        Ok(file) => layers.add("config.toml", true, &file),
        Err(reason) => layers.unreadable(&path, &reason),
    }
    let own_instructions = layers.config.instructions.clone();
    if let Some(user) = &client.user {
        layers.add("initializationOptions.user", true, user);
    }
    if client.unannounced {
        layers.ignored.push(Ignored {
            key: "user".to_owned(),
            source: CLIENT.to_owned(),
            reason: "applies only if the client announces userSettings".to_owned(),
            severity: Severity::Note,
        });
    }
    if let Some(client) = &client.client {
        layers.add(CLIENT, false, client);
    }
    layers.name_unbuilt();
    layers.add_keys(etcode);
    Loaded {
        config: Config {
            own_instructions,
            sources: layers.sources,
            ..layers.config
        },
        ignored: layers.ignored,
    }
}

fn read_file(path: &Path) -> Result<Value, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Value::Null),
        Err(error) => return Err(error.to_string()),
    };
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(table).map_err(|error| error.to_string())
}

/// The user's own `etcode.json`; problems of the file are in its notices.
fn read_etcode(path: &Path) -> Etcode {
    let broken = |reason: String| Etcode {
        ignored: vec![Ignored {
            key: "*".to_owned(),
            source: etcode::FILE.to_owned(),
            reason: format!("{} was ignored: {reason}", path.display()),
            severity: Severity::Unclear,
        }],
        ..Etcode::default()
    };
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Etcode::default(),
        Err(error) => broken(error.to_string()),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => etcode::parse(&text),
            Err(_) => broken("it is not UTF-8 text".to_owned()),
        },
    }
}

/// The merge in progress.
struct Layers {
    /// The accepted values, as JSON; only keys that were set.
    merged: Value,
    config: Config,
    ignored: Vec<Ignored>,
    sources: BTreeMap<String, String>,
    hint: String,
    source: &'static str,
    grants: bool,
}

impl Layers {
    fn add(&mut self, source: &'static str, grants: bool, layer: &Value) {
        self.source = source;
        self.grants = grants;
        if !layer.is_null() {
            self.walk(&KEYS, &mut Vec::new(), layer);
        }
    }

    fn walk(&mut self, node: &Node, path: &mut Vec<String>, value: &Value) {
        // Editors send null for a setting without a value.
        if value.is_null() {
            return;
        }
        match node {
            Node::Section(_) if !value.is_object() => {
                let reason = "it must be a table of settings".to_owned();
                self.report(path, reason, Severity::Unclear);
                self.narrow(node, path);
            }
            Node::Section(keys) => {
                self.each(path, value, |this, path, key, value| {
                    match keys.iter().find(|(name, _)| *name == key) {
                        Some((_, node)) => this.walk(node, path, value),
                        None => {
                            // A client's section also has keys for the client itself.
                            let severity = match this.grants {
                                true => Severity::Unknown,
                                false => Severity::Note,
                            };
                            this.report(path, "unknown setting".to_owned(), severity);
                        }
                    }
                });
            }
            Node::Map(node) => {
                self.each(path, value, |this, path, _, value| {
                    this.walk(node, path, value);
                });
            }
            Node::User(_) if !self.grants => {
                self.ignore(
                    path,
                    format!(
                        "it grants something, and a repository can carry it: {}",
                        self.hint
                    ),
                );
            }
            Node::User(node) => self.walk(node, path, value),
            Node::Leaf(rule) => self.leaf(*rule, path, value),
        }
    }

    fn leaf(&mut self, rule: Rule, path: &[String], given: &Value) {
        let mut value = rule.read(given);
        if !self.grants {
            let present = serde_json::to_value(&self.config).unwrap_or_default();
            let (now, name) = (at(&present, path), path.last().map_or("", String::as_str));
            let verdict = rule.judge(name, &value, now);
            if let Some(reason) = verdict.refused {
                self.ignore(path, format!("{reason}: {}", self.hint));
            }
            match verdict.value {
                // The user's own choice stays the user's if a client repeats it.
                Some(same) if matches!(rule, Rule::Choice) && now == Some(&same) => return,
                Some(taken) => value = taken,
                None => return,
            }
        }
        let Err(mut reason) = self.set(path, value.clone()) else {
            return;
        };
        let lower = value.as_str().map(str::to_ascii_lowercase);
        if lower.is_some_and(|lower| self.set(path, lower.into()).is_ok()) {
            return;
        }
        if let Some(counts) = rule.narrowest()
            && self.set(path, counts.clone()).is_ok()
        {
            reason.push_str(&format!(
                "; until you correct it, it is treated as {counts}"
            ));
        }
        self.report(path, reason, Severity::Unclear);
    }

    /// A part of the settings cannot be read at all.
    fn narrow(&mut self, node: &Node, path: &mut Vec<String>) {
        match node {
            Node::Section(keys) => {
                for (key, node) in *keys {
                    path.push((*key).to_owned());
                    self.narrow(node, path);
                    path.pop();
                }
            }
            Node::User(node) => self.narrow(node, path),
            Node::Leaf(rule @ Rule::Order { .. }) => {
                let narrowed = rule.narrowest().map(|value| self.set(path, value));
                debug_assert!(narrowed.is_none_or(|it| it.is_ok()), "{path:?}");
            }
            Node::Leaf(_) | Node::Map(_) => {}
        }
    }

    /// The user's file cannot be read, so what it forbids is unknown: every change asks.
    fn unreadable(&mut self, path: &Path, reason: &str) {
        self.source = "config.toml";
        let approvals = ["approvals".to_owned()];
        let asks = match self.set(&approvals, "ask".into()) {
            Ok(()) => "; until you correct it, every edit asks",
            Err(_) => "",
        };
        let reason = format!(
            "{} was ignored and left unchanged: {reason}{asks}",
            path.display()
        );
        self.report(&["*".to_owned()], reason, Severity::Unclear);
    }

    fn each(
        &mut self,
        path: &mut Vec<String>,
        value: &Value,
        mut visit: impl FnMut(&mut Self, &mut Vec<String>, &str, &Value),
    ) {
        let Value::Object(entries) = value else {
            let reason = "it must be a table of settings".to_owned();
            self.report(path, reason, Severity::Unclear);
            return;
        };
        for (key, value) in entries {
            path.push(key.clone());
            visit(self, path, key, value);
            path.pop();
        }
    }

    /// Accepts the value if the settings with it are valid; otherwise returns the reason.
    fn set(&mut self, path: &[String], value: Value) -> Result<(), String> {
        let mut wanted = self.merged.clone();
        put(&mut wanted, path, value);
        let parsed: Result<Config, _> = typed(wanted.clone());
        let result = match parsed {
            Ok(config) => check(&config).map(|()| config),
            Err(wrong) => Err(wrong.problem),
        };
        self.config = result?;
        self.merged = wanted;
        self.sources.insert(path.join("."), self.source.to_owned());
        Ok(())
    }

    /// Plain-text keys are stored apart from the merged settings, which clients can see.
    fn add_keys(&mut self, etcode: Etcode) {
        for one in etcode.providers {
            if let Some(key) = one.api_key {
                let provider = self.config.providers.entry(one.id).or_default();
                provider.literal_key = Some(LiteralKey(key));
            }
        }
        self.ignored.extend(etcode.ignored);
    }

    /// Reports settings that are accepted but not used.
    fn name_unbuilt(&mut self) {
        let unbuilt = |key: &str| {
            UNBUILT.iter().any(|name| {
                key.strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let mut named = self
            .sources
            .iter()
            .filter(|(key, _)| unbuilt(key))
            .peekable();
        if named.peek().is_none() {
            return;
        }
        let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
        let config = serde_json::to_value(&self.config).unwrap_or_default();
        for (key, source) in named {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            if at(&config, &path) != at(&defaults, &path) {
                self.ignored.push(Ignored {
                    key: key.clone(),
                    source: source.clone(),
                    reason: NOT_BUILT.to_owned(),
                    severity: Severity::Note,
                });
            }
        }
    }

    fn ignore(&mut self, path: &[String], reason: String) {
        self.report(path, reason, Severity::Note);
    }

    fn report(&mut self, path: &[String], reason: String, severity: Severity) {
        self.ignored.push(Ignored {
            key: path.join("."),
            source: self.source.to_owned(),
            reason,
            severity,
        });
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn put(base: &mut Value, path: &[String], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *base = value;
        return;
    };
    if !base.is_object() {
        *base = Value::Object(Map::new());
    }
    if let Value::Object(entries) = base {
        put(
            entries.entry(key.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}

/// Constraints beyond the types.
fn check(config: &Config) -> Result<(), String> {
    if config.limits.steps == 0 || config.limits.approval_minutes == 0 {
        return Err("it must be at least 1".to_owned());
    }
    if !(1..=600_000).contains(&config.exec.timeout_ms) {
        return Err("it must be between 1 and 600000".to_owned());
    }
    if config
        .limits
        .cost
        .is_some_and(|cost| cost < 0.0 || cost.is_nan())
    {
        return Err("it must not be negative".to_owned());
    }
    for server in config.language_servers.values() {
        if server.command.is_empty() {
            return Err("`command` must name a program".to_owned());
        }
    }
    for provider in config.providers.values() {
        const APIS: [&str; 4] = ["anthropic", "openai", "openai-chat", "gemini"];
        if let Some(api) = &provider.api
            && !APIS.contains(&api.as_str())
        {
            return Err(format!("it must be one of {}", APIS.join(", ")));
        }
        if let Some(url) = &provider.base_url
            && !url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            return Err("it must be an http or https address".to_owned());
        }
    }
    Ok(())
}
