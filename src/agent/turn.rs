//! One turn: the user's message, then requests and tool calls until the model is done, a limit is
//! reached, the user cancels or the turn fails. Once a tool has run, the turn only continues; it is
//! never sent again from its start (INV-7).

mod adopt_draft;
mod between_steps;
mod budget;
mod context_window;
mod hooked;
mod problems;
pub mod save_after;
mod state;
mod untrusted_notice;
mod user_notices;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;

use super::calls::{self, Call};
use super::request::{attachments, compose, mcp_tools};
use super::step::{Answer, StepEnd};
use super::{Steering, TurnEnv};
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, Event, Failure, Input, Message, Segment, TurnStop};
use crate::provider::StopReason;
use crate::tools::exec::background_results;
use crate::workspace::Uri;
use context_window::Space;
use problems::Before;
pub use state::TurnEnd;
use state::{Turn, off_thread};

/// How long a turn waits for the mirror to reach the versions that the client named.
const VERSIONS: Duration = Duration::from_secs(1);

/// Runs a turn to its end. `steer` delivers the user's messages to the running turn.
pub async fn run(
    cx: &Arc<TurnEnv>,
    input: Vec<Input>,
    segments: Vec<Segment>,
    steer: &mut UnboundedReceiver<Steering>,
) -> TurnEnd {
    let mut turn = Turn::new(cx, &input, &segments);
    wait_for_versions(cx).await;
    cx.sink.emit(Event::UserMessage {
        item_id: cx.shared.env.id("item").into(),
        input: input.clone(),
    });
    if let Some(failure) = turn.opening_hooks(&input).await {
        return turn.fail(failure);
    }
    cx.with_conversation(|it| it.note_skills(&input));
    if let Space::Failed(failure) = turn.compact_between_turns(&input).await {
        return turn.fail(failure);
    }
    let baseline = match turn.begin(input, segments).await {
        Ok(baseline) => baseline,
        Err(failure) => return turn.fail(failure),
    };
    let end = turn.steps(baseline, steer).await;
    save_after::at_end(cx, &end).await;
    end
}

async fn wait_for_versions(cx: &TurnEnv) {
    let versions = cx.editor.versions.clone().unwrap_or_default();
    let deadline = Instant::now() + VERSIONS;
    for (uri, version) in versions {
        let left = deadline.saturating_duration_since(Instant::now());
        cx.shared
            .workspace
            .wait_for_version(&Uri::new(uri), version, left)
            .await;
    }
}

impl Turn<'_> {
    /// Drafts, records and admits the turn's first message.
    async fn begin(
        &mut self,
        input: Vec<Input>,
        segments: Vec<Segment>,
    ) -> Result<Baseline, Failure> {
        let cx = self.cx;
        let config = cx.config();
        let servers = cx.servers();
        let (of, at, cwd) = (servers.clone(), config.clone(), cx.cwd.clone());
        off_thread(move || of.reload(&at, &cwd)).await;
        servers.start_all(&cx.cwd);
        let session = cx.parent.as_ref().unwrap_or(&cx.session);
        tokio::select! {
            (failed, ()) = async {
                tokio::join!(
                    compose::fetch(&cx.shared, &config, &cx.layout, Some(session)),
                    servers.wait(&cx.cwd),
                )
            } => self.report_addresses(failed),
            // The next step ends the turn; the user's message stays in the conversation.
            () = cx.cancel.cancelled() => {}
        }
        self.report_servers();
        let picked = mcp_tools::pick(cx, &input).await;
        let mut context = self.request_context(input, segments);
        self.picked.clone_from(&picked);
        context.picked = picked;
        let news = background_results::ended_notices(&cx.state.background, &cx.shared.texts);
        let (ended, news): (Vec<_>, Vec<_>) = news.into_iter().unzip();
        context.news = news;
        context.news.extend(cx.state.hooks.take_pending());
        context.servers_known = true;
        let (facts, draft, recent) =
            off_thread(move || context.draft()).await.ok_or_else(|| {
                Failure::invalid(
                    "The prompt could not be assembled.",
                    "See Interline's log, and report the panic in it.",
                )
            })?;
        self.check_first_prompt(&draft)?;
        self.note_seen(recent);
        ended.iter().for_each(|command| command.mark_reported());
        self.warn_about_layout(&draft);
        untrusted_notice::report_untrusted(cx, &facts);
        let baseline = self.admit(draft);
        self.prompt = cx.with_conversation(|it| it.messages.len().checked_sub(1));
        Ok(baseline)
    }

    async fn steps(
        &mut self,
        baseline: Baseline,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> TurnEnd {
        let limits = self.cx.config().limits.clone();
        let mut baseline = baseline;
        let mut n = 0;
        loop {
            if let Some(end) = self.over_budget(&limits) {
                return end;
            }
            if !self.cx.budget.step(limits.steps, self.cx.parent.is_some()) {
                return self.out_of_steps();
            }
            n += 1;
            self.cx.sink.emit(Event::Step {
                n,
                model: self.cx.model.name.clone(),
            });
            match self
                .compact_before_step(self.prompt.unwrap_or_default())
                .await
            {
                Space::Unchanged => {}
                Space::Freed => self.reload_baseline(&mut baseline),
                Space::Cancelled => return self.cancel(steer).await,
                Space::Failed(failure) => return self.fail(failure),
            }
            if self.compactions.take_renewed() {
                self.reload_baseline(&mut baseline);
            }
            if n > 1 {
                baseline = self.rebuilt(baseline).await;
            }
            let answer = match self.send_or_compact(&mut baseline).await {
                StepEnd::Answered(answer) => answer,
                StepEnd::Cancelled(partial) => {
                    self.push_partial(partial);
                    return self.cancel(steer).await;
                }
                StepEnd::Stopped(partial) => return self.stop_for_cost(partial),
                StepEnd::Failed(error, partial) => {
                    self.push_partial(partial);
                    return self.fail(error.failure().clone());
                }
            };
            if let Some(end) = self.handle_answer(answer, steer).await {
                return end;
            }
        }
    }

    /// Handles one answer: records its message and runs its calls; `Some` ends the turn.
    async fn handle_answer(
        &mut self,
        answer: Answer,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> Option<TurnEnd> {
        let calls = self.calls_of(&answer);
        let mut texts = answer.blocks.iter().filter_map(Block::as_text);
        let spoke = texts.any(|text| !text.trim().is_empty());
        if spoke || answer.blocks.iter().any(|it| it.as_text().is_none()) {
            self.cx
                .push(Message::assistant(answer.blocks, &self.cx.model.name));
        }
        if let StopReason::Refusal(why) = &answer.stop {
            self.answer_all(&calls, "results/not-run.md");
            return Some(self.decline(why.as_deref()));
        }
        if calls.is_empty() {
            return self.without_calls(&answer.stop, spoke, steer).await;
        }
        if matches!(
            answer.stop,
            StopReason::MaxTokens | StopReason::ContextWindow
        ) {
            self.answer_all(&calls, "results/cut-off.md");
            return match answer.stop {
                StopReason::ContextWindow => self.window_filled().await,
                _ => None,
            };
        }
        let before = Before::new(&self.cx.shared.workspace, &calls);
        let done = calls::run(self.cx, calls).await;
        self.count_children();
        for file in done.files {
            self.note_changed(file);
        }
        let mut content = done.results;
        let (texts, facts) = (&self.cx.shared.texts, &self.cx.model.facts);
        content.extend(attachments::images(texts, facts, &done.images));
        content.extend(self.record_claims(done.claimed));
        content.extend(self.record_claims(self.late_tools()));
        content.extend(self.health_changes(&done.health));
        let closing = done.closing.or_else(|| {
            let text =
                "The approval request expired, so the turn ended. Send a prompt to continue.";
            done.expired.then(|| text.to_owned())
        });
        let ended = done.cancelled || closing.is_some() || done.fatal.is_some();
        if !ended {
            content.extend(self.additions(before, steer).await);
        }
        self.cx.push(Message::user(content));
        self.dequeue_carried();
        self.note_plan();
        if done.cancelled {
            return Some(self.cancel(steer).await);
        }
        if let Some(text) = closing {
            self.cx.notice(text);
            return Some(self.end(TurnStop::EndTurn, None));
        }
        done.fatal.map(|reason| {
            self.end(
                TurnStop::Error,
                Some(Failure::invalid(
                    format!("A tool could not continue: {reason}"),
                    "Nothing else was done; fix the cause and send the prompt again.",
                )),
            )
        })
    }

    fn decline(&mut self, why: Option<&str>) -> TurnEnd {
        let failure = Failure::invalid(
            match why {
                Some(why) => format!("The model declined to continue ({why})."),
                None => "The model declined to continue.".to_owned(),
            },
            "Rephrase the prompt or switch the model.",
        );
        self.end(TurnStop::Refusal, Some(failure))
    }

    fn calls_of(&self, answer: &Answer) -> Vec<Call> {
        answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { id, name, input } => Some(Call {
                    id: id.clone(),
                    name: self.cx.layout.wire_name(name).to_owned(),
                    input: input.clone(),
                    item: answer
                        .items
                        .get(id)
                        .cloned()
                        .unwrap_or_else(|| self.cx.shared.env.id("item").into()),
                    invalid: answer.invalid.get(id).cloned(),
                }),
                _ => None,
            })
            .collect()
    }

    /// An answer without calls ends the turn, unless the user sent more input or the provider only
    /// paused.
    async fn without_calls(
        &mut self,
        stop: &StopReason,
        spoke: bool,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> Option<TurnEnd> {
        if *stop == StopReason::Pause {
            return None;
        }
        let further = self.steering(steer).await;
        if !further.is_empty() {
            self.cx.push(Message::user(further));
            self.dequeue_carried();
            return None;
        }
        if *stop == StopReason::ContextWindow {
            return self.window_filled().await;
        }
        Some(match stop {
            StopReason::MaxTokens => self.end(TurnStop::MaxTokens, None),
            _ => {
                if !spoke {
                    self.report_empty_answer(stop);
                }
                if self.continued_by_hooks().await {
                    return None;
                }
                self.report_plan();
                // Nobody continues a sub-agent's conversation.
                if self.cx.parent.is_some() {
                    return Some(self.end(TurnStop::EndTurn, None));
                }
                match self.compact_between_turns(&[]).await {
                    Space::Cancelled => self.end(TurnStop::Cancelled, None),
                    _ => self.end(TurnStop::EndTurn, None),
                }
            }
        })
    }

    /// The user's additions to a cancelled turn stay in the conversation and start nothing.
    async fn cancel(&mut self, steer: &mut UnboundedReceiver<Steering>) -> TurnEnd {
        let further = self.steering(steer).await;
        if !further.is_empty() {
            self.cx.push(Message::user(further));
        }
        self.dequeue_carried();
        self.end(TurnStop::Cancelled, None)
    }
}
