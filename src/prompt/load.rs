//! Loading a layout: parsed from its TOML, then checked against the texts and the builders. Unknown
//! keys, builders and parameters are errors that list the known ones.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::builders;
use super::layout::{Entry, Head, Layout, Pattern};
use super::texts::Texts;
use crate::config::typed::typed;

/// Most cache breakpoints that a layout may ask for in the system slot: a request has four, one
/// is for the tools and one for the conversation.
const BOUNDARIES: usize = 2;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Patterns {
    #[serde(rename = "pattern", default)]
    patterns: Vec<Pattern>,
}

impl Layout {
    /// The layout of that name from `texts`; an error says what is wrong with it.
    pub fn load(texts: &Texts, name: &str) -> Result<Self, String> {
        let path = format!("layouts/{name}.toml");
        let Some(text) = texts.get(&path) else {
            return Err("there is no layout of this name".to_owned());
        };
        let mut head: Head = parse(&path, text)?;
        let segments = std::mem::take(&mut head.segments);
        let layout = Self {
            name: name.to_owned(),
            providers: patterns(texts, &segments)?,
            head,
            segments,
        };
        layout
            .check(texts)
            .map_err(|why| format!("{path}: {why}"))?;
        Ok(layout)
    }

    fn check(&self, texts: &Texts) -> Result<(), String> {
        if self.segments.is_empty() {
            return Err("it has no segments".to_owned());
        }
        let mut ids = BTreeSet::new();
        for entry in &self.segments {
            if !ids.insert(entry.id.as_str()) {
                return Err(format!("the segment {:?} occurs twice", entry.id));
            }
        }
        for entry in &self.segments {
            self.check_entry(texts, entry, &ids)
                .map_err(|why| format!("segment {:?}: {why}", entry.id))?;
        }
        let mut hints = self.head.system_hints.iter();
        if let Some(unknown) = hints.find(|name| texts.get(name).is_none()) {
            return Err(format!("systemHints names {unknown}, which does not exist"));
        }
        let mut demands = self.segments.iter().flat_map(|entry| &entry.demands);
        if demands.any(|demand| demand.marks().iter().any(|mark| mark.trim().is_empty())) {
            return Err("a mark in `demands` is empty".to_owned());
        }
        let boundaries = self.segments.iter().filter(|entry| entry.boundary).count();
        if boundaries >= BOUNDARIES {
            return Err(format!(
                "{boundaries} segments have boundary = true; at most {} may, because the end of \
                 the system text is one too",
                BOUNDARIES - 1
            ));
        }
        Ok(())
    }

    fn check_entry(
        &self,
        texts: &Texts,
        entry: &Entry,
        ids: &BTreeSet<&str>,
    ) -> Result<(), String> {
        if !entry
            .id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        {
            return Err("an id may have only letters, digits, - and _".to_owned());
        }
        let builder = builders::for_entry(entry)?;
        let known: Vec<&str> = builder.params.split_whitespace().collect();
        let mut params = entry.params.keys().filter(|key| *key != "builder");
        if let Some(unknown) = params.find(|key| !known.contains(&key.as_str())) {
            return Err(format!(
                "unknown parameter {unknown:?}; known: {}",
                known.join(", ")
            ));
        }
        let name = entry.text_name();
        if builder.id == builders::FIXED.id && texts.get(&name).is_none() {
            return Err(format!(
                "there is neither a builder with this name nor the text {name}; builders: {}; \
                 texts: {}",
                builders::names().join(", "),
                texts.names("segments/").join(", ")
            ));
        }
        if let Some(fields) = entry.params.get("fields") {
            builders::check_fields(fields)?;
        }
        for key in TEXTS {
            let name = entry.params.get(key).and_then(toml::Value::as_str);
            if let Some(name) = name.filter(|name| texts.get(name).is_none()) {
                return Err(format!("params.{key} names {name}, which does not exist"));
            }
        }
        match &entry.when {
            Some(when) => when.check(ids),
            None => Ok(()),
        }
    }
}

/// Parameters that name a text.
const TEXTS: [&str; 9] = [
    "before",
    "cutNotice",
    "degraded",
    "fallback",
    "frame",
    "missing",
    "patterns",
    "summary",
    "text",
];

/// The ordered patterns that choose a template: `params.patterns` of the segment `provider`.
fn patterns(texts: &Texts, segments: &[Entry]) -> Result<Vec<Pattern>, String> {
    let named = segments
        .iter()
        .find_map(|entry| entry.params.get("patterns"));
    let path = named
        .and_then(toml::Value::as_str)
        .unwrap_or("providers/patterns.toml");
    let Some(text) = texts.get(path) else {
        return Ok(Vec::new());
    };
    let Patterns { patterns } = parse(path, text)?;
    for pattern in &patterns {
        let template = format!("providers/{}.md", pattern.template);
        if texts.get(&template).is_none() {
            return Err(format!(
                "{path}: the pattern {:?} names {template}, which does not exist; known: {}",
                pattern.glob,
                texts.names("providers/").join(", ")
            ));
        }
    }
    Ok(patterns)
}

fn parse<T: serde::de::DeserializeOwned>(path: &str, text: &str) -> Result<T, String> {
    let value: Value = toml::from_str(text).map_err(|error| format!("{path}: {error}"))?;
    typed(value).map_err(|wrong| format!("{path}: {wrong}"))
}
