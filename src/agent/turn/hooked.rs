//! The hooks of a turn's beginning and end.

use super::state::Turn;
use crate::conversation::{Block, Failure, Input, Message};
use crate::prompt::fence;

/// How often hooks may let one turn continue.
const CONTINUED: u32 = 8;

impl Turn<'_> {
    /// Runs the hooks of a session's start and of the prompt. A failure ends the turn before the
    /// model sees anything.
    pub(super) async fn opening_hooks(&self, input: &[Input]) -> Option<Failure> {
        let cx = self.cx;
        // A sub-agent's task is not a prompt of the user's.
        if cx.parent.is_some() {
            return None;
        }
        let started = cx.begin_hooks().await;
        if let Some(why) = started.ends_turn {
            return Some(refused(&why));
        }
        let mut added = cx.hook_texts(&started.context);
        let prompt = cx.prompt_hooks(input).await;
        if let Some(why) = prompt.ends_turn {
            return Some(refused(&why));
        }
        if !prompt.refused.is_empty() {
            return Some(refused(&prompt.refused.join("\n")));
        }
        added.extend(cx.hook_texts(&prompt.context));
        cx.state.hooks.add_pending(added);
        None
    }

    /// The texts that hooks add to a prompt sent during the turn; `None` if one refuses it.
    pub(super) async fn prompt_allowed(&self, input: &[Input]) -> Option<Vec<String>> {
        let cx = self.cx;
        let prompt = cx.prompt_hooks(input).await;
        let mut reasons = prompt.refused;
        reasons.extend(prompt.ends_turn);
        if reasons.is_empty() {
            return Some(cx.hook_texts(&prompt.context));
        }
        cx.notice(refused(&reasons.join("\n")).sentences());
        None
    }

    /// The model is done: whether a hook lets the turn continue. Its reason is the next message.
    pub(super) async fn continued_by_hooks(&mut self) -> bool {
        let cx = self.cx;
        let last = cx.with_conversation(|it| {
            let last = it.messages.last();
            last.map(|message| message.texts().collect::<Vec<_>>().join("\n"))
        });
        let outcome = cx
            .stop_hooks(self.continued > 0, &last.unwrap_or_default())
            .await;
        if let Some(why) = outcome.ends_turn {
            cx.notice(fence::line(&why));
            return false;
        }
        if outcome.refused.is_empty() || cx.cancel.is_cancelled() {
            return false;
        }
        if self.continued >= CONTINUED {
            cx.notice(format!(
                "Hooks let this turn continue {CONTINUED} times; now it ends. The last reason: {}",
                fence::line(&outcome.refused.join(" "))
            ));
            return false;
        }
        self.continued += 1;
        let text = cx.hook_text("results/hook-continue.md", &outcome.refused.join("\n"));
        cx.push(Message::user(vec![Block::text(text)]));
        true
    }
}

fn refused(why: &str) -> Failure {
    Failure::invalid(
        format!("A hook refused the prompt: {}", fence::line(why)),
        "Change the prompt or the hook.",
    )
}
