//! Parses a `SKILL.md`. Pure. Lenient, as the standard asks of clients: a name that breaks the rules
//! is used if it is harmless; only a missing description is fatal.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::BODY;
use super::needs::{self, Needs};
use crate::knowledge::front::{self, Field, Front};

/// Most characters of a name and of a description.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;
/// Most keywords, and most characters of each.
const KEYWORDS: usize = 50;
const KEYWORD: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub name: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub always: bool,
    pub enabled: bool,
    pub for_model: bool,
    pub for_user: bool,
    pub needs: Needs,
    /// The connector that it explains.
    pub connector: Option<String>,
    pub body: Arc<str>,
    pub cut: bool,
    pub problems: Vec<String>,
}

/// Parses a `SKILL.md` in a folder with that name; an error says why it is not a skill.
pub(super) fn parse(text: &str, folder: &str) -> Result<Parsed, String> {
    let front = front::parse(text);
    let mut problems = front.problems.clone();
    let name = name(&front, folder, &mut problems)?;
    let description = description(&front, &mut problems)?;
    let body = front.body.trim_matches(['\n', '\r']);
    let cut = body.len() > BODY;
    if cut {
        problems.push(format!(
            "its text is longer than {} KiB; the rest is not loaded with it",
            BODY / 1024
        ));
    }
    let is = |key: &str, value: bool| field(&front, key).and_then(Field::bool) == Some(value);
    let inject = field(&front, "inject").and_then(Field::text);
    Ok(Parsed {
        name,
        description,
        keywords: keywords(&front),
        always: inject.is_some_and(|word| word.trim().eq_ignore_ascii_case("always")),
        enabled: !is("enabled", false),
        for_model: !is("disable-model-invocation", true),
        for_user: !is("user-invocable", false),
        needs: needs::parse(&front),
        connector: field(&front, "connector")
            .and_then(Field::text)
            .map(|name| name.trim().to_owned()),
        body: body[..body.floor_char_boundary(BODY)].into(),
        cut,
        problems,
    })
}

/// A field of the file, or of its `metadata`, where the standard puts clients' additions.
fn field<'a>(front: &'a Front<'_>, key: &str) -> Option<&'a Field> {
    front
        .get(key)
        .or_else(|| front.get_map("metadata")?.get(key))
}

fn name(front: &Front<'_>, folder: &str, problems: &mut Vec<String>) -> Result<String, String> {
    let Some(name) = front.get_text("name").map(str::trim) else {
        if !harmless(folder) {
            return Err("it has no `name`, so it is not used".to_owned());
        }
        problems.push("it has no `name`; its folder's is used".to_owned());
        return Ok(folder.to_owned());
    };
    if !harmless(name) {
        if !harmless(folder) {
            return Err("its `name` cannot be used: take a-z, 0-9 and hyphens".to_owned());
        }
        problems.push("its `name` cannot be used; its folder's is used".to_owned());
        return Ok(folder.to_owned());
    }
    if !standard(name) {
        problems.push(format!(
            "the name {name} is used, though it should consist of a-z, 0-9 and single hyphens"
        ));
    } else if name != folder {
        problems.push(format!(
            "the name {name} is used, though it should equal its folder's name"
        ));
    }
    Ok(name.to_owned())
}

/// Cannot break a line, hide, steer a terminal or climb out of a folder.
pub(super) fn harmless(name: &str) -> bool {
    // Letters by Unicode, but invisible.
    let blank = |c: char| matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    let fine = |c: char| (c.is_alphanumeric() && !blank(c)) || "-_.: ".contains(c);
    name.trim() == name
        && (1..=NAME).contains(&name.chars().count())
        && name.chars().all(fine)
        && name.chars().any(char::is_alphanumeric)
}

/// The standard's rule for names.
fn standard(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.chars().all(fine) && name.split('-').all(|part| !part.is_empty())
}

fn description(front: &Front<'_>, problems: &mut Vec<String>) -> Result<String, String> {
    let text = front.get_text("description").unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Err("it has no `description`, so it is not used".to_owned());
    }
    match line.char_indices().nth(DESCRIPTION) {
        None => Ok(line),
        Some((end, _)) => {
            problems.push(format!(
                "its description is truncated after {DESCRIPTION} characters"
            ));
            Ok(line[..end].to_owned())
        }
    }
}

fn keywords(front: &Front<'_>) -> Vec<String> {
    let items = field(front, "keywords")
        .and_then(Field::list)
        .unwrap_or_default();
    let mut seen = BTreeSet::new();
    items
        .iter()
        .map(|item| item.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|item| (1..=KEYWORD).contains(&item.chars().count()))
        .filter(|item| seen.insert(item.to_lowercase()))
        .take(KEYWORDS)
        .collect()
}
