//! A call's hooks: before it is asked about or runs, and after it succeeded.

use super::{Done, ShownCall, shown_input};
use crate::agent::TurnEnv;
use crate::agent::hooks::events::tool_fields;
use crate::knowledge::hooks::Event;
use crate::tools::{Prepared, ToolOutput};

/// Runs the hooks of a prepared call. `Ok`: whether one asks the user; `Err`: the refusal for the
/// model.
pub(super) async fn before(
    cx: &TurnEnv,
    shown: &mut ShownCall<'_>,
    prepared: &Prepared,
    done: &mut Done,
) -> Result<bool, String> {
    let found = cx.state.hooks.found();
    let of_tools = |event| matches!(event, Event::PreToolUse | Event::PostToolUse);
    if !found.hooks.iter().any(|hook| of_tools(hook.event)) {
        return Ok(false);
    }
    let input = shown_input(cx, shown.call);
    shown.hooked = tool_fields(&shown.call.id, &shown.call.name, input, &prepared.facts);
    let outcome = cx.pre_tool_hooks(&shown.call.name, &shown.hooked).await;
    shown.added.extend(cx.hook_texts(&outcome.context));
    if let Some(why) = outcome.ends_turn {
        let text = cx.hook_text("results/hook-denied.md", &why);
        done.closing = Some(why);
        return Err(text);
    }
    match outcome.refused.is_empty() {
        true => Ok(outcome.asks),
        false => Err(cx.hook_text("results/hook-denied.md", &outcome.refused.join("\n"))),
    }
}

/// Runs the hooks of a call that ran. It cannot be refused any more, so a refusal is feedback.
pub(super) async fn after(
    cx: &TurnEnv,
    shown: &mut ShownCall<'_>,
    output: &ToolOutput,
    done: &mut Done,
) {
    if shown.hooked.is_null() || output.is_error {
        return;
    }
    let outcome = cx
        .post_tool_hooks(&shown.call.name, &shown.hooked, &output.text)
        .await;
    if !outcome.refused.is_empty() {
        let text = outcome.refused.join("\n");
        shown
            .added
            .push(cx.hook_text("results/hook-feedback.md", &text));
    }
    shown.added.extend(cx.hook_texts(&outcome.context));
    if done.closing.is_none() {
        done.closing = outcome.ends_turn;
    }
}
