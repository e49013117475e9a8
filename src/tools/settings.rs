//! `settings`: shows a setting in force and its source, and restricts a few settings for the
//! session. Only the user can allow more or change anything for good; the answer says how.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec, suggestions,
};
use crate::config::keys::{self, Rule};
use crate::conversation::{Mode, Tier, sha256};
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::{Layout, fence};
use crate::secrets::without_passwords;

/// Bytes of a value in an answer.
const SHOWN: usize = 2_000;

/// Keys that may be changed for the session.
const CHANGEABLE: [&str; 9] = [
    "limits.approvalMinutes",
    "limits.cost",
    "limits.steps",
    "limits.tokens",
    "limits.turnMinutes",
    "layout",
    "mode",
    "model",
    "prompt.language",
];

/// Beginnings of keys whose values may be secret or name programs.
const HIDDEN: [&str; 6] = [
    "providers",
    "mcpServers",
    "policy",
    "prompt.transform",
    "routing",
    "sandbox",
];

/// The settings chosen for a session, implemented by the session's owner.
pub trait SessionChoices: Send + Sync {
    fn now(&self) -> Choice;

    /// Names of the available models.
    fn models(&self) -> Vec<String>;

    /// Makes the change for this session. `false`: it would allow more than is in force now.
    fn choose(&self, change: Change) -> bool;
}

/// A session's own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub model: String,
    pub layout: String,
    pub agent: Option<String>,
    /// Keys that this tool changed in this session.
    pub keys: Vec<String>,
}

/// One change of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Mode(Mode),
    /// From the next turn on.
    Model(String),
    /// From the next turn on.
    Layout(String),
    Language(String),
    /// A key of `limits`, without the table's name; from the next turn on.
    Limit(String, u64),
    /// US dollars of a turn.
    Cost(f64),
}

pub struct Settings;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Action {
    Get,
    Set,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Show or change
    action: Action,
    /// Dotted, as in config.toml: `mode`, `limits.steps`
    key: String,
    /// For `set`: the new value
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Value"))]
    value: Option<Value>,
}

#[async_trait]
impl BuiltIn for Settings {
    const NAME: &'static str = "settings";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).opt_in();
    type Arguments = Arguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::writes(["own:settings".to_owned()])
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let key = arguments.key.trim().to_owned();
        if !keys::exists(&key) {
            return Err(unknown_key(cx, &key));
        }
        match (arguments.action, arguments.value) {
            (Action::Get, _) => Ok(Prepared::done("Show a setting", show_value(cx, &key))),
            (Action::Set, Some(value)) => prepare_change(cx, key, &value),
            (Action::Set, None) => Err(cx.error("results/setting-value.md", &[("key", &key)])),
        }
    }
}

/// The value in force, as JSON.
fn value(cx: &ToolContext, key: &str) -> Value {
    let now = cx.chosen.now();
    match key {
        "mode" => json!(cx.policy.mode),
        "model" => json!(now.model),
        "layout" => json!(now.layout),
        "agent" => json!(now.agent),
        _ => {
            let config = serde_json::to_value(&*cx.config).unwrap_or_default();
            let pointer = format!("/{}", key.replace('.', "/"));
            config.pointer(&pointer).cloned().unwrap_or_default()
        }
    }
}

fn show_value(cx: &ToolContext, key: &str) -> ToolOutput {
    let hidden = |begin: &str| {
        let rest = key.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if HIDDEN.into_iter().any(hidden) {
        let text = cx.text("results/setting-hidden.md", &[("key", &key)]);
        return ToolOutput::text(text);
    }
    let now = value(cx, key);
    // The session's own values may differ from the settings that new sessions begin with.
    let config = serde_json::to_value(&*cx.config).unwrap_or_default();
    let own = ["mode", "model", "layout", "agent"].contains(&key)
        && config.get(key).is_some_and(|set| *set != now);
    let source = match cx.config.sources.get(key) {
        _ if own || cx.chosen.now().keys.iter().any(|chosen| chosen == key) => "this session",
        Some(source) => source,
        None => "built in",
    };
    let whole = match &now {
        Value::Null => "not set".to_owned(),
        value => fence::line(&without_passwords(&value.to_string())),
    };
    let end = whole.floor_char_boundary(SHOWN);
    let mut text = cx.text(
        "results/setting.md",
        &[
            ("key", &key),
            ("value", &&whole[..end]),
            ("source", &source),
        ],
    );
    let truncated = end < whole.len();
    if truncated {
        let path = config_path(cx);
        text.push('\n');
        text.push_str(&cx.text("results/setting-cut.md", &[("path", &path)]));
    }
    ToolOutput {
        text,
        truncated,
        ..ToolOutput::default()
    }
}

/// Checks that a session may make the change and that it allows no more than is in force, by the
/// same rules as a repository's settings.
fn prepare_change(cx: &ToolContext, key: String, wanted: &Value) -> Preparation {
    if !CHANGEABLE.contains(&key.as_str()) {
        return Err(only_the_user(cx, &key));
    }
    let now = value(cx, &key);
    let rule = keys::rule(&key).unwrap_or(Rule::Off);
    let Some(change) = parse_change(cx, &key, wanted) else {
        return Err(wrong_value(cx, &key));
    };
    let below = (!now.is_null()).then_some(&now);
    if rule.judge(&key, wanted, below).refused.is_some() {
        return Err(only_the_user(cx, &key));
    }
    let word = |value: &Value| fence::name(&value.to_string());
    let (before, after) = (word(&now), word(wanted));
    Ok(Prepared {
        facts: vec![Fact::Setting { lasting: false }],
        subject: Some(Subject::Setting {
            key: key.clone(),
            change: format!("{before} → {after}, for this session"),
            hash: sha256(format!("{key} = {after}").as_bytes()),
        }),
        ..Prepared::new(format!("Set {key} to {after} for this session"), |cx| {
            async move { choose(cx, &key, &after, change) }.boxed()
        })
    })
}

/// Makes the change. It was judged before the user was asked, and the settings in force may be
/// stricter now.
fn choose(cx: &ToolContext, key: &str, after: &str, change: Change) -> ToolResult {
    if !cx.chosen.choose(change) {
        return Err(only_the_user(cx, key));
    }
    let text = cx.text(
        "results/setting-set.md",
        &[("key", &key), ("value", &after)],
    );
    Ok(ToolOutput::text(text))
}

/// The change, if the value is valid for the key.
fn parse_change(cx: &ToolContext, key: &str, value: &Value) -> Option<Change> {
    if key == "limits.cost" {
        let cost = value
            .as_f64()
            .filter(|cost| cost.is_finite() && *cost > 0.0);
        return cost.map(Change::Cost);
    }
    if let Some(limit) = key.strip_prefix("limits.") {
        let number = value
            .as_u64()
            .filter(|number| (1..=u64::from(u32::MAX)).contains(number))?;
        return Some(Change::Limit(limit.to_owned(), number));
    }
    let text = value.as_str()?.trim();
    match key {
        "mode" => Mode::parse(text).map(Change::Mode),
        "model" => {
            let known = cx.chosen.models().iter().any(|model| model == text)
                || cx.config.model_aliases.contains_key(text);
            known.then(|| Change::Model(text.to_owned()))
        }
        "layout" => {
            let layout = Layout::load(&cx.texts, text).ok()?;
            Some(Change::Layout(layout.name))
        }
        "prompt.language" => (!text.is_empty()).then(|| Change::Language(text.to_owned())),
        _ => None,
    }
}

fn config_path(cx: &ToolContext) -> String {
    cx.env.dirs.config.join("config.toml").display().to_string()
}

/// Only the user can make this change.
fn only_the_user(cx: &ToolContext, key: &str) -> ToolError {
    let path = config_path(cx);
    let list = CHANGEABLE.join("`, `");
    cx.error(
        "results/setting-users.md",
        &[("key", &key), ("path", &path), ("list", &list)],
    )
}

/// The value is invalid for the key. Lists valid ones.
fn wrong_value(cx: &ToolContext, key: &str) -> ToolError {
    let values = match key {
        "mode" => Mode::ALL.map(Mode::as_str).join(", "),
        "model" => cx.chosen.models().join(", "),
        "layout" => Layout::names(&cx.texts).join(", "),
        "prompt.language" => "\"German\"".to_owned(),
        "limits.cost" => "0.5, 2, …".to_owned(),
        _ => "1, 2, 3, …".to_owned(),
    };
    cx.error(
        "results/setting-wrong.md",
        &[("key", &key), ("values", &values)],
    )
}

fn unknown_key(cx: &ToolContext, key: &str) -> ToolError {
    let known = keys::paths();
    let near = suggestions::closest(key, known.iter().map(String::as_str));
    let known = match near.is_empty() {
        true => known.join(", "),
        false => near.join(", "),
    };
    cx.error(
        "results/setting-unknown.md",
        &[("key", &fence::name(key)), ("known", &known)],
    )
}
