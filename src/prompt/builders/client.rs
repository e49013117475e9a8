//! What only a client can know (voice, reactions, a connected browser): the caller's segment of
//! this id, else the text that the client declared, else the layout's own text if the client only
//! declared the capability. Without a declaration the segment is absent.

use serde_json::Value;

use super::{Built, Input};
use crate::conversation::Segment;
use crate::conversation::input::Slot;
use crate::prompt::layout::Layout;
use crate::prompt::texts::substitute;
use crate::prompt::types::{Keep, Trust};

const CHARS: usize = 8_000;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let fact = cx.string("fact").unwrap_or(&cx.entry.id);
    let mut segments = cx.facts.segments.iter().enumerate();
    let segment = segments.find(|(_, it)| claims(cx, &it.id));
    if let Some((at, segment)) = segment.filter(|(_, it)| !it.body.trim().is_empty()) {
        let body = cx.capped(segment.body.trim(), CHARS, Keep::Head);
        let mut built = built_text(&body, "caller", "the caller gave it");
        built.passing = cx.facts.passes(at);
        return vec![built];
    }
    // A connector is present as long as one of its tools is offered.
    let served = cx.facts.serves(fact);
    let connector = cx.flag("tools");
    let silent = !cx.facts.client.contains_key(fact);
    let there = cx.facts.declared(fact) || connector && served && silent;
    if !there {
        let reason = format!("the client has not declared {fact}");
        return vec![Built::absent("client", Trust::User, &reason)];
    }
    let reason = match cx.facts.declared(fact) {
        true => format!("the client has declared {fact}"),
        false => format!("the MCP server {fact} is connected"),
    };
    let (text, value) = match cx.facts.client.get(fact) {
        Some(Value::String(text)) => (cx.capped(text.trim(), CHARS, Keep::Head), text.trim()),
        _ => (String::new(), ""),
    };
    if connector && text.is_empty() && !served {
        let reason = format!("{reason}, but no tool for it is offered");
        return vec![Built::absent("client", Trust::User, &reason)];
    }
    let own = cx.string("text").and_then(|name| cx.texts.get(name));
    let mut built = match own {
        // A word such as a level fills the layout's text; a sentence stands for itself.
        Some(own) if text.is_empty() || is_word(value) => {
            let own = substitute(
                own,
                &[("value", if text.is_empty() { "on" } else { value })],
            );
            let own = cx.layout.fill(cx.facts, &own);
            built_text(&own, "client", &reason)
        }
        _ if text.is_empty() => {
            let reason = format!("{reason}, but there is no text for it");
            Built::absent("client", Trust::User, &reason)
        }
        _ => built_text(&text, "client", &reason),
    };
    if connector {
        add_skills(cx, fact, &mut built);
    }
    vec![built]
}

/// Appends the skills that explain the connector.
fn add_skills(cx: &Input<'_>, connector: &str, built: &mut Built) {
    let skills = cx.facts.skills.iter();
    let about = skills.filter(|it| it.connector.as_deref() == Some(connector));
    if built.text.is_empty() {
        return;
    }
    for skill in about {
        let body = cx.capped(skill.body.trim(), CHARS, Keep::Head);
        built.text = format!("{}\n\n{body}", built.text);
        if skill.trust == Trust::Workspace {
            built.trust = Trust::Workspace;
        }
        built.reason = format!("{}; with the skill {}", built.reason, skill.name);
    }
}

fn built_text(text: &str, source: &str, reason: &str) -> Built {
    let mut built = Built::new(text.to_owned(), source, Trust::User, reason);
    built.journaled = true;
    built
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 40 && !text.contains(char::is_whitespace)
}

fn claims(cx: &Input<'_>, id: &str) -> bool {
    cx.entry.id == id || cx.string("fact") == Some(id)
}

/// The layout has its own place for this segment of the caller.
pub(super) fn claimed(layout: &Layout, segment: &Segment) -> bool {
    let id = segment.id.as_str();
    layout.segments.iter().any(|entry| {
        let param = |key: &str| entry.params.get(key).and_then(toml::Value::as_str);
        let ours = param("builder") == Some("client");
        let as_hint = entry.params.get("caller").and_then(toml::Value::as_bool) == Some(true)
            && segment.slot == Some(Slot::System);
        as_hint || ours && (entry.id == id || param("fact") == Some(id))
    })
}
