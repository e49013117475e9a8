//! Facts about models, from `models.toml` and the user's file of the same name: data, never code.
//! The first matching pattern decides. The user's entries come first and may be partial.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::conversation::request::Thinking;
use crate::conversation::{Failure, FailureKind, ModelFacts, Price, Rates};

/// `models.toml`, in a format that is read twenty times as fast at each start; a test generates it.
const BUILT_IN: &str = include_str!("models.json");

/// One file of facts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    pub providers: BTreeMap<String, Known>,
    model: Vec<Entry>,
    price: Vec<Priced>,
}

/// What is known about a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// The id that `default` stands for.
    pub default: Option<String>,
    /// Ids to offer.
    pub models: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    r#match: Vec<String>,
    context: Option<u64>,
    max_output: Option<u64>,
    thinking: Option<Thinking>,
    prefix_bound: Option<bool>,
    images: Option<bool>,
    replays_reasoning: Option<bool>,
    max_completion_tokens: Option<bool>,
    short_call_ids: Option<bool>,
    apply_patch: Option<bool>,
}

/// Prices are separate entries: they differ where all other facts are the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Priced {
    r#match: Vec<String>,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    above: Option<Above>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Above {
    tokens: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Priced {
    fn price(&self) -> Price {
        Price {
            base: Rates {
                input: self.input,
                output: self.output,
                cache_read: self.cache_read,
                cache_write: self.cache_write,
            },
            above: self.above.as_ref().map(|above| {
                let rates = Rates {
                    input: above.input,
                    output: above.output,
                    cache_read: above.cache_read,
                    cache_write: above.cache_write,
                };
                (above.tokens, rates)
            }),
        }
    }
}

fn any_matches(patterns: &[String], id: &str) -> bool {
    let one = |pattern: &String| matches(&pattern.to_lowercase(), id);
    patterns.iter().any(one)
}

impl Entry {
    fn apply(&self, facts: &mut ModelFacts) {
        facts.known = true;
        facts.context = self.context.unwrap_or(facts.context);
        facts.max_output = self.max_output.unwrap_or(facts.max_output);
        facts.thinking = self.thinking.unwrap_or(facts.thinking);
        facts.prefix_bound = self.prefix_bound.unwrap_or(facts.prefix_bound);
        facts.images = self.images.unwrap_or(facts.images);
        facts.replays_reasoning = self.replays_reasoning.unwrap_or(facts.replays_reasoning);
        facts.max_completion_tokens = self
            .max_completion_tokens
            .unwrap_or(facts.max_completion_tokens);
        facts.short_call_ids = self.short_call_ids.unwrap_or(facts.short_call_ids);
        facts.apply_patch = self.apply_patch.unwrap_or(facts.apply_patch);
    }
}

impl Models {
    /// The built-in facts.
    pub fn built_in() -> &'static Models {
        static MODELS: OnceLock<Models> = OnceLock::new();
        // A test parses the file. In a broken build, knowing nothing is safe.
        MODELS.get_or_init(|| serde_json::from_str(BUILT_IN).unwrap_or_default())
    }

    /// The user's file. A missing one is empty; a broken one is an error that names the line.
    pub fn load(path: &Path) -> Result<Models, Failure> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Models::default());
            }
            Err(error) => return Err(broken(path, &error.to_string())),
        };
        let models: Models =
            toml::from_str(&text).map_err(|error| broken(path, &error.to_string()))?;
        models.check().map_err(|reason| broken(path, &reason))?;
        Ok(models)
    }

    /// Checks what the types cannot express.
    fn check(&self) -> Result<(), String> {
        let wrong = self.price.iter().find(|priced| {
            let price = priced.price();
            !price.base.valid() || price.above.is_some_and(|(_, rates)| !rates.valid())
        });
        match wrong {
            Some(priced) => Err(format!(
                "the price of {} must be numbers that are not negative",
                priced.r#match.join(", ")
            )),
            None => Ok(()),
        }
    }

    /// The facts of `id`; `user`'s override ours. An unknown id gets safe defaults.
    pub fn facts(user: &Models, id: &str) -> ModelFacts {
        let id = id.to_lowercase();
        let mut facts = ModelFacts::default();
        for models in [Models::built_in(), user] {
            if let Some(entry) = models.model.iter().find(|it| any_matches(&it.r#match, &id)) {
                entry.apply(&mut facts);
            }
            if let Some(priced) = models.price.iter().find(|it| any_matches(&it.r#match, &id)) {
                facts.price = Some(priced.price());
            }
        }
        facts
    }

    /// The default id of `provider`.
    pub fn default_of(user: &Models, provider: &str) -> Option<String> {
        let of = |models: &Models| models.providers.get(provider)?.default.clone();
        of(user).or_else(|| of(Models::built_in()))
    }
}

fn broken(path: &Path, reason: &str) -> Failure {
    Failure::new(
        FailureKind::Invalid,
        format!("{} cannot be used: {}", path.display(), reason.trim()),
        "correct or remove the file; it has the format of the built-in models.toml",
    )
}

/// `*` matches any characters. Both are in lower case.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, mut pattern)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    // Taking the leftmost match of each piece leaves the most for the rest.
    while let Some((piece, rest)) = pattern.split_once('*') {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
        pattern = rest;
    }
    text.ends_with(pattern)
}
