//! Runs the tool calls of one answer. Calls that need no approval and have different targets run in
//! parallel, the others in order. There is one result per call, in call order (INV-6).

pub mod approval;
pub mod client_tools;
mod hooked;
mod late_tools;
pub mod proposals;
mod reviewed_first;
pub mod save_barrier;
pub mod session_overrides;
pub mod tool_health;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

use approval::Verdict;
use tool_health::Health;

use super::TurnEnv;
use super::request::nested_instructions::{self, Touched};
use super::step::CALLS;
use crate::conversation::{Block, Event, FileChange, ItemId, ToolItem, ToolStatus};
use crate::env::tasks;
use crate::mcp::PREFIX;
use crate::policy::{self, Decision, Policy, Rule};
use crate::prompt::epoch::JournalEntry;
use crate::prompt::fence;
use crate::tools::{
    Image, Prepared, Registry, Targets, ToolContext, ToolError, ToolOutput, messages,
};

/// Bytes of input and output sent to clients.
const SHOWN: usize = 16 * 1024;

/// One call as the model made it.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Value,
    pub item: ItemId,
    /// Why the arguments did not parse.
    pub invalid: Option<String>,
}

/// The outcome of all calls.
#[derive(Debug, Default)]
pub struct Done {
    /// One result per call, in call order.
    pub results: Vec<Block>,
    pub files: Vec<FileChange>,
    pub cancelled: bool,
    /// An approval request expired.
    pub expired: bool,
    /// A call ended the turn with this message for the user.
    pub closing: Option<String>,
    pub fatal: Option<String>,
    /// The tool of each call and its health, in call order.
    pub health: Vec<(String, Health)>,
    /// Instruction files of the folders that the calls touched.
    pub claimed: Vec<JournalEntry>,
    /// Images returned by the calls, in call order.
    pub images: Vec<Image>,
}

impl Done {
    /// Whether a call ended the turn.
    fn ends_turn(&self) -> bool {
        self.expired || self.closing.is_some() || self.fatal.is_some()
    }
}

/// Runs `calls`, the first [`CALLS`] of them.
pub async fn run(cx: &Arc<TurnEnv>, mut calls: Vec<Call>) -> Done {
    let beyond = calls.split_off(calls.len().min(CALLS));
    let registry = cx.registry();
    let unwrap = |call| late_tools::unwrapped(call, &registry);
    let calls: Vec<Call> = calls.into_iter().map(unwrap).collect();
    let mut running = Running {
        cx,
        registry,
        results: BTreeMap::new(),
        done: Done::default(),
    };
    let mut next = 0;
    while next < calls.len() {
        let end = next + running.group(&calls[next..]);
        running.run_group(next, &calls[next..end]).await;
        next = end;
    }
    let Running {
        results, mut done, ..
    } = running;
    done.cancelled = cx.cancel.is_cancelled();
    let mut touched = Vec::new();
    for (call, finished) in calls.into_iter().zip(results.into_values()) {
        done.health.push((call.name, finished.health));
        touched.extend(finished.touched);
        done.files.extend(finished.files);
        done.images.extend(finished.images);
        done.results.push(Block::ToolResult {
            tool_use_id: call.id,
            content: finished.text,
            is_error: finished.is_error,
        });
    }
    if !beyond.is_empty() {
        done.results.extend(not_taken(cx, beyond));
    }
    if !done.cancelled {
        done.claimed = nested_instructions::claim(cx, touched).await;
    }
    done
}

/// The calls of one answer while they run.
struct Running<'a> {
    cx: &'a Arc<TurnEnv>,
    registry: Registry,
    /// By the call's place in the answer.
    results: BTreeMap<usize, Finished>,
    done: Done,
}

struct Finished {
    text: String,
    is_error: bool,
    files: Vec<FileChange>,
    touched: Vec<Touched>,
    health: Health,
    images: Vec<Image>,
}

/// A call that policy did not deny.
struct Judged<'c> {
    shown: ShownCall<'c>,
    prepared: Prepared,
    /// The rules that decided.
    policy: Policy,
    decision: Decision,
}

type Outcome = Result<ToolOutput, ToolError>;
type Task = tasks::Task<Outcome>;

impl Running<'_> {
    /// How many of the next calls may be prepared together: two calls share no target if one of
    /// them writes, commands are grouped with commands only, and an exclusive call is a group of
    /// its own.
    fn group(&self, calls: &[Call]) -> usize {
        let mut taken: Vec<Targets> = Vec::new();
        if calls.len() == 1 {
            return 1;
        }
        let policy = self.cx.policy();
        for call in calls {
            let targets = self.targets(call, &policy);
            let clash = taken.iter().any(|other| clashes(other, &targets));
            if !taken.is_empty() && (targets.alone || clash) {
                break;
            }
            let alone = targets.alone;
            taken.push(targets);
            if alone {
                break;
            }
        }
        taken.len()
    }

    fn targets(&self, call: &Call, policy: &Policy) -> Targets {
        self.registry
            .get(&call.name)
            .filter(|_| call.invalid.is_none())
            .map(|tool| {
                let context = tool_context(self.cx, &call.item, policy.clone());
                tool.targets(&context, &call.input)
            })
            .unwrap_or_default()
    }

    /// Prepares a group, runs the allowed calls in parallel, then asks about the others in order.
    /// Commands keep their order around a call that needs approval, because a command may touch
    /// anything.
    async fn run_group(&mut self, first: usize, group: &[Call]) {
        let cancelled = self.cx.cancel.is_cancelled();
        let mut free = Vec::new();
        let mut asked = Vec::new();
        for (at, call) in (first..).zip(group) {
            if cancelled || self.done.ends_turn() {
                self.not_run(at, call);
                continue;
            }
            let Some(mut judged) = self.judge(at, call).await else {
                continue;
            };
            match judged.decision {
                Decision::Allow(_) if judged.prepared.unsaved.is_empty() => {
                    judged.shown.status(self.cx, ToolStatus::Running);
                    // Commands come in a group of their own, so they are judged after this.
                    if policy::ends_command_rules(&judged.policy, &judged.prepared.facts) {
                        end_command_rules(self.cx);
                    }
                    let task = start(self.cx, call, judged.prepared, judged.policy);
                    free.push((judged.shown, task));
                }
                _ if self.targets(call, &judged.policy).unnamed => {
                    self.settle(std::mem::take(&mut free)).await;
                    self.ask(judged).await;
                }
                _ => asked.push(judged),
            }
        }
        self.settle(free).await;
        for judged in asked {
            self.ask(judged).await;
        }
    }

    /// Prepares and judges a call; `None` if it already has its result.
    async fn judge<'c>(&mut self, at: usize, call: &'c Call) -> Option<Judged<'c>> {
        let cx = self.cx;
        let mut shown = ShownCall::new(cx, at, call);
        let (prepared, policy) = match self.prepare(call).await {
            Ok(prepared) => prepared,
            Err(error) => {
                self.fail(shown, error);
                return None;
            }
        };
        shown.item.title = fence::line(&cx.shared.env.secrets().clean(&prepared.title));
        shown.item.diff = prepared.diff.clone();
        shown.item.child = prepared.child.clone();
        shown.touched = nested_instructions::touched(&prepared.facts);
        let decision = policy::decide(&policy, &prepared.facts);
        if let Decision::Deny(reason) = decision {
            self.reject(shown, messages::denied(&cx.shared.texts, reason));
            return None;
        }
        let decision = match hooked::before(cx, &mut shown, &prepared, &mut self.done).await {
            Ok(true) => policy::asked_by_hook(decision),
            Ok(false) => decision,
            Err(refused) => {
                self.reject(shown, refused);
                return None;
            }
        };
        Some(Judged {
            shown,
            prepared,
            policy,
            decision,
        })
    }

    /// The prepared call, and the rules in force then.
    async fn prepare(&self, call: &Call) -> Result<(Prepared, Policy), ToolError> {
        let cx = self.cx;
        if let Some(reason) = &call.invalid {
            tracing::debug!(tool = call.name, reason, "arguments that do not parse");
            let text = cx.text("results/arguments-not-json.md", &[("tool", &call.name)]);
            return Err(ToolError::ForModel(text));
        }
        let Some(tool) = self.registry.get(&call.name) else {
            let text = match call.name.starts_with(PREFIX) {
                true => cx.text("results/mcp-unlisted.md", &[("name", &call.name)]),
                false => messages::unknown_tool(&cx.shared.texts, &self.shown_names(), &call.name),
            };
            return Err(ToolError::ForModel(text));
        };
        let policy = cx.policy();
        let context = tool_context(cx, &call.item, policy.clone());
        let preparing = tool.prepare(&context, call.input.clone());
        let mut preparing = pin!(AssertUnwindSafe(preparing).catch_unwind());
        let (prepared, policy) = match preparing.as_mut().now_or_never() {
            Some(prepared) => (prepared, policy),
            // The rules may change while it waits.
            None => tokio::select! {
                prepared = preparing => (prepared, cx.policy()),
                () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            },
        };
        Ok((prepared.unwrap_or_else(|_| Err(panicked()))?, policy))
    }

    /// The tools that the model can call, under the names that the layout shows.
    fn shown_names(&self) -> Vec<String> {
        let names = self.registry.names();
        let shown = names.iter().map(|name| self.cx.layout.tool_name(name));
        self.cx.with_conversation(|conversation| {
            let offered = |name: &&str| match &conversation.baseline {
                Some(baseline) => baseline.tools.iter().any(|tool| tool.name == *name),
                None => true,
            };
            shown.filter(offered).map(str::to_owned).collect()
        })
    }

    /// Waits for the running calls.
    async fn settle(&mut self, running: Vec<(ShownCall<'_>, Task)>) {
        for (shown, task) in running {
            self.conclude(shown, joined(task.await)).await;
        }
    }

    /// Runs a call if the user agrees, or if it only waited for its turn.
    async fn ask(&mut self, judged: Judged<'_>) {
        let Judged {
            mut shown,
            prepared,
            decision,
            ..
        } = judged;
        if self.done.ends_turn() || self.cx.cancel.is_cancelled() {
            return self.not_run(shown.at, shown.call);
        }
        let (verdict, prepared, note) = match decision {
            Decision::Ask { reason, remember } => {
                reviewed_first::ask(self.cx, &mut shown, prepared, (reason, remember)).await
            }
            _ => (Verdict::Run, prepared, String::new()),
        };
        match verdict {
            Verdict::Run => self.run_one(shown, prepared, note).await,
            Verdict::Refused(text) => self.reject(shown, text),
            Verdict::Expired => {
                self.done.expired = true;
                self.reject(shown, self.cx.text("results/expired.md", &[]));
            }
            Verdict::Cancelled => self.not_run(shown.at, shown.call),
        }
    }

    /// Runs one approved call behind the save barrier; its result begins with `note`. The mode may
    /// have changed while the user was deciding: a call that is denied by now stays denied (INV-8).
    async fn run_one(&mut self, mut shown: ShownCall<'_>, prepared: Prepared, mut note: String) {
        let cx = self.cx;
        let denied = |policy: &Policy| match policy::decide(policy, &prepared.facts) {
            Decision::Deny(reason) => Some(messages::denied(&cx.shared.texts, reason)),
            _ => None,
        };
        let mut policy = cx.policy();
        if let Some(text) = denied(&policy) {
            return self.reject(shown, text);
        }
        let unsaved = prepared.unsaved.clone();
        if !unsaved.is_empty() {
            shown.status(cx, ToolStatus::AwaitingSave);
            let Some(refused) = save_barrier::save_first(cx, unsaved, &shown.item.title).await
            else {
                return self.not_run(shown.at, shown.call);
            };
            if !refused.is_empty() {
                let files = refused.join(", ");
                note = cx.text("results/save-refused.md", &[("files", &files)]);
            }
            // Saving took time too.
            policy = cx.policy();
            if let Some(text) = denied(&policy) {
                return self.reject(shown, text);
            }
        }
        shown.status(cx, ToolStatus::Running);
        let ends_rules = policy::ends_command_rules(&policy, &prepared.facts);
        let mut outcome = joined(start(cx, shown.call, prepared, policy).await);
        if ends_rules {
            // An edit, even one without approval, may have changed what an allowed command
            // executes, so the command needs approval again (A07).
            end_command_rules(cx);
        }
        if let (Ok(output), false) = (&mut outcome, note.is_empty()) {
            output.text = format!("{note}\n{}", output.text);
        }
        self.conclude(shown, outcome).await;
    }

    async fn conclude(&mut self, mut shown: ShownCall<'_>, outcome: Outcome) {
        let mut output = match outcome {
            Ok(output) => output,
            Err(error) => return self.fail(shown, error),
        };
        if output.closing.is_some() {
            self.done.closing = output.closing.take();
        }
        hooked::after(self.cx, &mut shown, &output, &mut self.done).await;
        shown.item.truncated = output.truncated;
        shown.item.files = output.files;
        shown.item.diff = output.diff.or(shown.item.diff);
        let status = match output.is_error {
            true => ToolStatus::Failed,
            false => ToolStatus::Completed,
        };
        let finished = self.finish(shown, status, &output.text);
        finished.health = Health::Works;
        finished.images = output.images;
    }

    fn fail(&mut self, shown: ShownCall<'_>, error: ToolError) {
        let (status, text, health) = match error {
            ToolError::ForModel(text) => (ToolStatus::Failed, text, Health::Unknown),
            ToolError::Broken { words, reason } => {
                (ToolStatus::Failed, words, Health::Broken(reason))
            }
            ToolError::Cancelled => {
                let text = self.cx.text("results/cancelled.md", &[]);
                (ToolStatus::Cancelled, text, Health::Unknown)
            }
            ToolError::Fatal(error) => {
                let text = format!("{error:#}");
                self.done.fatal = Some(text.clone());
                (ToolStatus::Failed, text, Health::Unknown)
            }
        };
        self.finish(shown, status, &text).health = health;
    }

    fn reject(&mut self, shown: ShownCall<'_>, text: String) {
        self.finish(shown, ToolStatus::Rejected, &text);
    }

    fn not_run(&mut self, at: usize, call: &Call) {
        let text = self.cx.text("results/not-run.md", &[]);
        self.finish(
            ShownCall::new(self.cx, at, call),
            ToolStatus::Cancelled,
            &text,
        );
    }

    /// Shows the end of a call and stores its result.
    fn finish(
        &mut self,
        mut shown: ShownCall<'_>,
        status: ToolStatus,
        text: &str,
    ) -> &mut Finished {
        let mut text = self.cx.shared.env.secrets().clean(text).into_owned();
        for added in shown.added.drain(..) {
            text.push('\n');
            text.push_str(&self.cx.shared.env.secrets().clean(&added));
        }
        let (output, was_cut) = cut(&text);
        shown.item.output = Some(fence::prose(&output));
        shown.item.truncated |= was_cut;
        shown.item.diff = shown.item.diff.map(|diff| cut(&diff).0);
        shown.status(self.cx, status);
        // A failed or refused call touched nothing.
        let is_error = status != ToolStatus::Completed;
        if is_error {
            shown.touched.clear();
        }
        self.results.entry(shown.at).or_insert(Finished {
            text,
            is_error,
            files: shown.item.files,
            touched: shown.touched,
            health: Health::Unknown,
            images: Vec::new(),
        })
    }
}

fn clashes(a: &Targets, b: &Targets) -> bool {
    let overlap = |left: &[String], right: &[String]| left.iter().any(|it| right.contains(it));
    a.unnamed != b.unnamed
        || overlap(&a.writes, &b.writes)
        || overlap(&a.writes, &b.reads)
        || overlap(&a.reads, &b.writes)
}

fn tool_context(cx: &Arc<TurnEnv>, item: &ItemId, policy: Policy) -> ToolContext {
    ToolContext {
        session: cx.session.clone(),
        turn: cx.turn.clone(),
        item: item.clone(),
        cwd: cx.cwd.clone(),
        env: cx.shared.env.clone(),
        config: cx.config(),
        policy,
        workspace: cx.shared.workspace.clone(),
        lanes: cx.shared.lanes.clone(),
        host: cx.host.clone(),
        languages: cx.shared.languages.clone(),
        recorder: cx.recorder.clone(),
        sink: cx.sink.clone(),
        seen: cx.state.seen.clone(),
        background: cx.state.background.clone(),
        delegate: cx.delegate.clone(),
        chosen: cx.clone(),
        texts: cx.layout.words(&cx.shared.texts),
        cancel: cx.cancel.clone(),
    }
}

async fn consent(
    cx: &TurnEnv,
    shown: &mut ShownCall<'_>,
    prepared: &Prepared,
    reason: policy::Reason,
    remember: bool,
) -> Verdict {
    let Some(subject) = prepared.subject.clone() else {
        return Verdict::Refused(messages::denied(&cx.shared.texts, reason));
    };
    shown.status(cx, ToolStatus::AwaitingApproval);
    approval::ask(cx, &shown.item, subject, reason, remember, &prepared.facts).await
}

/// Drops the session's rules for commands and server tools; rules for sites and memories stay.
fn end_command_rules(cx: &TurnEnv) {
    cx.with_rules(|rules| {
        rules.retain(|rule| matches!(rule, Rule::Site { .. } | Rule::Memory));
    });
}

/// Starts a prepared call on its own task, so that a panic fails only this call (INV-12).
fn start(cx: &Arc<TurnEnv>, call: &Call, prepared: Prepared, policy: Policy) -> Task {
    let context = tool_context(cx, &call.item, policy);
    if call.name == "ask_user" {
        cx.notify_hooks("elicitation_dialog", "The agent has a question.".to_owned());
    }
    tasks::spawn(async move { prepared.run(&context).await })
}

fn joined(outcome: Result<Outcome, tasks::Lost>) -> Outcome {
    outcome.unwrap_or_else(|error| {
        tracing::error!("a tool panicked: {error}");
        Err(panicked())
    })
}

fn panicked() -> ToolError {
    ToolError::Broken {
        words: "the tool failed inside Interline; see its log".to_owned(),
        reason: "it fails inside Interline".to_owned(),
    }
}

/// Results for the calls beyond the limit. They are not shown one by one.
fn not_taken(cx: &TurnEnv, calls: Vec<Call>) -> impl Iterator<Item = Block> {
    let most = CALLS.to_string();
    let all = (CALLS + calls.len()).to_string();
    cx.notice(format!(
        "The model made {all} calls at once; only the first {most} ran."
    ));
    let text = cx.text(
        "results/too-many-calls.md",
        &[("most", &most), ("all", &all)],
    );
    calls
        .into_iter()
        .map(move |call| Block::failed_call(call.id, &text))
}

/// A call as clients see it.
struct ShownCall<'c> {
    /// The call's place in the answer.
    at: usize,
    call: &'c Call,
    item: ToolItem,
    touched: Vec<Touched>,
    /// The call as hooks get it; `Null` without hooks.
    hooked: Value,
    /// Texts of hooks for the model.
    added: Vec<String>,
}

impl<'c> ShownCall<'c> {
    fn new(cx: &TurnEnv, at: usize, call: &'c Call) -> Self {
        let input = shown_input(cx, call);
        let json = input.to_string();
        let input = match json.len() > SHOWN {
            true => Value::String(cut(&json).0),
            false => input,
        };
        let (item, name) = (call.item.clone(), fence::name(&call.name));
        Self {
            at,
            call,
            item: ToolItem {
                input: Some(input),
                ..ToolItem::new(item, name, ToolStatus::Pending)
            },
            touched: Vec::new(),
            hooked: Value::Null,
            added: Vec::new(),
        }
    }

    fn status(&mut self, cx: &TurnEnv, status: ToolStatus) {
        self.item.status = status;
        cx.sink.emit(Event::ToolCall(self.item.clone()));
    }
}

/// The arguments without private ones. A tool with private arguments shows only arguments that are
/// in its schema.
fn shown_input(cx: &TurnEnv, call: &Call) -> Value {
    const HIDDEN: &str = "(not shown)";
    let tool = cx.shared.registry.get(&call.name);
    let Some(tool) = tool.filter(|tool| !tool.spec().private.is_empty()) else {
        return call.input.clone();
    };
    let Value::Object(arguments) = &call.input else {
        return Value::String(HIDDEN.to_owned());
    };
    let schema = tool.schema(&cx.shared.texts);
    let open =
        |key: &str| schema["properties"].get(key).is_some() && !tool.spec().private.contains(&key);
    let shown = arguments.iter().map(|(key, value)| match open(key) {
        true => (key.clone(), value.clone()),
        false => (key.clone(), Value::String(HIDDEN.to_owned())),
    });
    Value::Object(shown.collect())
}

fn cut(text: &str) -> (String, bool) {
    if text.len() <= SHOWN {
        return (text.to_owned(), false);
    }
    const MARK: &str = "\n[…]";
    let end = text.floor_char_boundary(SHOWN - MARK.len());
    (format!("{}{MARK}", &text[..end]), true)
}
