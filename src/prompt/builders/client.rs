//! What only a client can know (voice, reactions, a connected browser): its segment of this id
//! if the caller gave one, else the text that it declared, else the layout's own text when it
//! only declared that it can. The server knows no channel; without a declaration nothing is
//! there.

use serde_json::Value;

use super::{Builder, Built, Input};
use crate::conversation::Segment;
use crate::conversation::input::Slot;
use crate::prompt::assemble::filled;
use crate::prompt::layout::Keep;
use crate::prompt::texts::substitute;
use crate::prompt::{Layout, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "client",
    title: "From the client",
    layer: "client",
    params: &["fact", "text"],
    build,
};

const CHARS: usize = 8_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let fact = cx.string("fact").unwrap_or(&cx.entry.id);
    let segment = cx.facts.segments.iter().find(|it| claims(cx, &it.id));
    if let Some(segment) = segment.filter(|it| !it.body.trim().is_empty()) {
        let body = cx.capped(segment.body.trim(), CHARS, Keep::Head);
        return vec![given(&body, "caller", "the caller gave it")];
    }
    if !cx.facts.declared(fact) {
        let reason = format!("the client has {fact} not declared");
        return vec![Built::absent("client", Trust::User, &reason)];
    }
    let reason = format!("the client has {fact} declared");
    let (text, value) = match cx.facts.client.get(fact) {
        Some(Value::String(text)) => (cx.capped(text.trim(), CHARS, Keep::Head), text.trim()),
        _ => (String::new(), ""),
    };
    let own = cx.string("text").and_then(|name| cx.texts.get(name));
    match own {
        // A word such as a level fills the layout's text; a sentence stands for itself.
        Some(own) if text.is_empty() || is_word(value) => {
            let own = substitute(
                own,
                &[("value", if text.is_empty() { "on" } else { value })],
            );
            let own = filled(cx.layout, cx.facts, &own);
            vec![given(&own, "client", &reason)]
        }
        _ if text.is_empty() => {
            let reason = format!("{reason}, but no text for it");
            vec![Built::absent("client", Trust::User, &reason)]
        }
        _ => vec![given(&text, "client", &reason)],
    }
}

fn given(text: &str, source: &str, reason: &str) -> Built {
    let mut built = Built::new(text.to_owned(), source, Trust::User, reason);
    built.told = true;
    built
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 40 && !text.contains(char::is_whitespace)
}

fn claims(cx: &Input<'_>, id: &str) -> bool {
    cx.entry.id == id || cx.string("fact") == Some(id)
}

/// This segment of the caller has its own place in the layout.
pub(super) fn claimed(layout: &Layout, segment: &Segment) -> bool {
    let id = segment.id.as_str();
    layout.segments.iter().any(|entry| {
        let param = |key: &str| entry.params.get(key).and_then(toml::Value::as_str);
        let ours = param("builder") == Some(BUILDER.id);
        let as_hint = entry.params.get("caller").and_then(toml::Value::as_bool) == Some(true)
            && segment.slot == Some(Slot::System);
        as_hint || ours && (entry.id == id || param("fact") == Some(id))
    })
}
