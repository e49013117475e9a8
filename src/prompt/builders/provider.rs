//! The selected agent's own prompt, else the provider's template, chosen by ordered patterns on
//! the model id.

use super::{Builder, Built, Input};
use crate::prompt::layout::{matches, model_id};

pub(super) const BUILDER: Builder = Builder {
    id: "provider",
    title: "Provider template",
    layer: "provider",
    params: &["patterns"],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    if let Some(prompt) = &cx.facts.agent_prompt
        && !prompt.text.trim().is_empty()
    {
        let reason = "the selected agent has its own prompt";
        let text = prompt.text.trim().to_owned();
        let mut built = Built::new(text, prompt.source.clone(), prompt.trust, reason);
        built.title = Some("Agent".to_owned());
        return vec![built];
    }
    let id = model_id(&cx.facts.model);
    let chosen = cx
        .layout
        .providers
        .iter()
        .find(|pattern| !id.is_empty() && matches(&pattern.glob, id));
    let (template, reason) = match chosen {
        Some(pattern) => (
            pattern.template.as_str(),
            format!("the model id matches {}", pattern.glob),
        ),
        None => ("default", "no pattern matches the model id".to_owned()),
    };
    let name = format!("providers/{template}.md");
    let (source, trust) = cx.texts.origin(&name);
    vec![Built::new(
        cx.texts.render(&name, &[]),
        source,
        trust,
        &reason,
    )]
}
