//! The selected agent's own prompt, else the provider's template, chosen by ordered patterns on
//! the model id.

use super::{Built, Input};
use crate::prompt::layout::{matches, model_id};
use crate::prompt::types::Trust;

/// The selected agent's own prompt.
fn agent_prompt(cx: &Input<'_>) -> Option<Built> {
    let prompt = cx.facts.agent_prompt.as_ref()?;
    let text = prompt.text.trim().to_owned();
    let reason = "the selected agent has its own prompt";
    let built = Built::new(text, prompt.source.clone(), prompt.trust, reason);
    (!built.text.is_empty()).then_some(built)
}

/// The agent's prompt alone, for layouts whose first segment is not a provider's template.
pub(super) fn agent(cx: &Input<'_>) -> Vec<Built> {
    let Some(mut built) = agent_prompt(cx) else {
        let reason = "no agent with its own prompt is selected";
        return vec![Built::absent("agent", Trust::User, reason)];
    };
    built.journaled = true;
    vec![built]
}

pub(super) fn template(cx: &Input<'_>) -> Vec<Built> {
    if let Some(mut built) = agent_prompt(cx) {
        built.title = Some("Agent".to_owned());
        return vec![built];
    }
    let id = model_id(&cx.facts.model);
    let mut patterns = cx.layout.providers.iter();
    let chosen = patterns.find(|pattern| !id.is_empty() && matches(&pattern.glob, id));
    let (template, reason) = match chosen {
        Some(pattern) => (
            pattern.template.as_str(),
            format!("the model id matches {}", pattern.glob),
        ),
        None => ("default", "no pattern matches the model id".to_owned()),
    };
    let name = format!("providers/{template}.md");
    let (source, trust) = cx.texts.origin(&name);
    let text = cx.texts.render(&name, &[]);
    vec![Built::new(text, source, trust, &reason)]
}
