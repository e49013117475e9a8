//! The selected agent's own prompt, for layouts whose first segment is not a provider's template.

use super::{Builder, Built, Input};
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "agent",
    title: "Agent",
    layer: "agent",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    match &cx.facts.agent_prompt {
        Some(prompt) if !prompt.text.trim().is_empty() => {
            let mut built = Built::new(
                prompt.text.trim().to_owned(),
                prompt.source.clone(),
                prompt.trust,
                "the selected agent has its own prompt",
            );
            built.journaled = true;
            vec![built]
        }
        _ => {
            let reason = "no agent with its own prompt is selected";
            vec![Built::absent("agent", Trust::User, reason)]
        }
    }
}
