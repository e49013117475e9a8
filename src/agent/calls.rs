//! Runs the tool calls of one answer. Calls that need no approval and have different targets run in
//! parallel, the others in order. There is one result per call, in call order (INV-6).

pub mod approval;
pub mod client_tools;
pub mod save_barrier;
pub mod session_overrides;
pub mod tool_health;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

use approval::Verdict;
use tool_health::Health;

use super::TurnEnv;
use super::request::nested_instructions::{self, Touched};
use super::step::CALLS;
use crate::conversation::{Block, Event, FileChange, ItemId, ToolItem, ToolStatus};
use crate::mcp::PREFIX;
use crate::policy::{self, Decision, Rule};
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

/// Runs `calls`, the first [`CALLS`] of them.
pub async fn run(cx: &Arc<TurnEnv>, mut calls: Vec<Call>) -> Done {
    let registry = cx.registry();
    let beyond = calls.split_off(calls.len().min(CALLS));
    let mut results: BTreeMap<usize, Finished> = BTreeMap::new();
    let mut stop = Stop::default();
    let mut next = 0;
    while next < calls.len() {
        let group = group(cx, &registry, &calls, next);
        let end = next + group;
        let slice: Vec<(usize, Call)> = (next..end).map(|at| (at, calls[at].clone())).collect();
        next = end;
        if stop.any() || cx.cancel.is_cancelled() {
            for (at, call) in slice {
                results.insert(at, not_run(cx, &call));
            }
            continue;
        }
        run_group(cx, &registry, slice, &mut results, &mut stop).await;
    }
    let mut done = Done {
        cancelled: cx.cancel.is_cancelled(),
        expired: stop.expired,
        closing: stop.closing,
        fatal: stop.fatal,
        ..Done::default()
    };
    let mut touched = Vec::new();
    for (at, finished) in results {
        done.health.push((calls[at].name.clone(), finished.health));
        touched.extend(finished.touched);
        done.files.extend(finished.files);
        done.images.extend(finished.images);
        done.results.push(Block::ToolResult {
            tool_use_id: calls[at].id.clone(),
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

#[derive(Default)]
struct Stop {
    expired: bool,
    closing: Option<String>,
    fatal: Option<String>,
}

impl Stop {
    fn any(&self) -> bool {
        self.expired || self.closing.is_some() || self.fatal.is_some()
    }
}

struct Finished {
    text: String,
    is_error: bool,
    files: Vec<FileChange>,
    touched: Vec<Touched>,
    health: Health,
    images: Vec<Image>,
}

/// How many calls starting at `first` may be prepared together: two calls share no target if one of
/// them writes, commands are grouped with commands only, and an exclusive call is a group of its
/// own.
fn group(cx: &Arc<TurnEnv>, registry: &Registry, calls: &[Call], first: usize) -> usize {
    let mut taken: Vec<Targets> = Vec::new();
    for call in &calls[first..] {
        let targets = targets(cx, registry, call);
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

fn targets(cx: &Arc<TurnEnv>, registry: &Registry, call: &Call) -> Targets {
    registry
        .get(&call.name)
        .filter(|_| call.invalid.is_none())
        .map(|tool| tool.targets(&tool_context(cx, &call.item), &call.input))
        .unwrap_or_default()
}

fn clashes(a: &Targets, b: &Targets) -> bool {
    let overlap = |left: &[String], right: &[String]| left.iter().any(|it| right.contains(it));
    a.unnamed != b.unnamed
        || overlap(&a.writes, &b.writes)
        || overlap(&a.writes, &b.reads)
        || overlap(&a.reads, &b.writes)
}

fn tool_context(cx: &Arc<TurnEnv>, item: &ItemId) -> ToolContext {
    let settings = cx.settings();
    ToolContext {
        session: cx.session.clone(),
        turn: cx.turn.clone(),
        item: item.clone(),
        cwd: cx.cwd.clone(),
        env: cx.shared.env.clone(),
        config: settings.config,
        policy: cx.policy(),
        workspace: cx.shared.workspace.clone(),
        lanes: cx.shared.lanes.clone(),
        host: cx.host.clone(),
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

/// A call that policy did not deny.
struct Judged {
    at: usize,
    call: Call,
    shown: ShownCall,
    prepared: Prepared,
    decision: Decision,
}

type Task = tokio::task::JoinHandle<Result<ToolOutput, ToolError>>;

/// Prepares a group, runs the allowed calls in parallel, then asks about the others in order.
/// Commands keep their order around a call that needs approval, because a command may touch
/// anything.
async fn run_group(
    cx: &Arc<TurnEnv>,
    registry: &Registry,
    group: Vec<(usize, Call)>,
    results: &mut BTreeMap<usize, Finished>,
    stop: &mut Stop,
) {
    let mut free: Vec<(usize, ShownCall, Task)> = Vec::new();
    let mut asked = Vec::new();
    for (at, call) in group {
        if stop.any() {
            results.insert(at, not_run(cx, &call));
            continue;
        }
        let unnamed = targets(cx, registry, &call).unnamed;
        let Some(mut judged) = judge(cx, registry, at, call, results, stop).await else {
            continue;
        };
        match judged.decision {
            Decision::Allow(_) if judged.prepared.unsaved.is_empty() => {
                judged.shown.status(cx, ToolStatus::Running);
                // Commands come in a group of their own, so they are judged after this.
                if policy::ends_command_rules(&cx.policy(), &judged.prepared.facts) {
                    end_command_rules(cx);
                }
                let task = start(cx, &judged.call, judged.prepared);
                free.push((at, judged.shown, task));
            }
            _ if unnamed => {
                settle(cx, std::mem::take(&mut free), results, stop).await;
                ask(cx, judged, results, stop).await;
            }
            _ => asked.push(judged),
        }
    }
    settle(cx, free, results, stop).await;
    for judged in asked {
        ask(cx, judged, results, stop).await;
    }
}

/// Prepares and judges a call; `None` if it already has its result.
async fn judge(
    cx: &Arc<TurnEnv>,
    registry: &Registry,
    at: usize,
    call: Call,
    results: &mut BTreeMap<usize, Finished>,
    stop: &mut Stop,
) -> Option<Judged> {
    let mut shown = ShownCall::new(cx, &call);
    let prepared = match prepare(cx, registry, &call).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let finished = finish_with_error(cx, &mut shown, error, stop);
            results.insert(at, finished);
            return None;
        }
    };
    shown.item.title = fence::line(&cx.shared.env.secrets().clean(&prepared.title));
    shown.item.diff = prepared.diff.clone();
    shown.item.child = prepared.child.clone();
    shown.touched = nested_instructions::touched(&prepared.facts);
    let decision = approval::judge(cx, &prepared);
    if let Decision::Deny(reason) = decision {
        let text = messages::denied(&cx.shared.texts, reason);
        results.insert(at, shown.finish(cx, ToolStatus::Rejected, text, true));
        return None;
    }
    Some(Judged {
        at,
        call,
        shown,
        prepared,
        decision,
    })
}

/// Waits for the running calls.
async fn settle(
    cx: &TurnEnv,
    running: Vec<(usize, ShownCall, Task)>,
    results: &mut BTreeMap<usize, Finished>,
    stop: &mut Stop,
) {
    for (at, shown, task) in running {
        let outcome = joined(task.await);
        results.insert(at, conclude(cx, shown, outcome, stop));
    }
}

/// Runs a call if the user agrees, or if it only waited for its turn.
async fn ask(
    cx: &Arc<TurnEnv>,
    judged: Judged,
    results: &mut BTreeMap<usize, Finished>,
    stop: &mut Stop,
) {
    let Judged {
        at,
        call,
        mut shown,
        prepared,
        decision,
    } = judged;
    if stop.any() || cx.cancel.is_cancelled() {
        results.insert(at, not_run(cx, &call));
        return;
    }
    let verdict = match decision {
        Decision::Ask { reason, remember } => {
            consent(cx, &mut shown, &prepared, reason, remember).await
        }
        _ => Verdict::Run,
    };
    let finished = match verdict {
        Verdict::Run => run_one(cx, &call, shown, prepared, stop).await,
        Verdict::Refused(text) | Verdict::Rejected(text) => {
            shown.finish(cx, ToolStatus::Rejected, text, true)
        }
        Verdict::Expired => {
            stop.expired = true;
            let text = cx.shared.texts.render("results/expired.md", &[]);
            shown.finish(cx, ToolStatus::Rejected, text, true)
        }
        Verdict::Cancelled => not_run(cx, &call),
    };
    results.insert(at, finished);
}

async fn prepare(
    cx: &Arc<TurnEnv>,
    registry: &Registry,
    call: &Call,
) -> Result<Prepared, ToolError> {
    let texts = &cx.shared.texts;
    if let Some(reason) = &call.invalid {
        tracing::debug!(tool = call.name, reason, "arguments that do not parse");
        return Err(ToolError::ForModel(
            texts.render("results/arguments-not-json.md", &[("tool", &call.name)]),
        ));
    }
    let Some(tool) = registry.get(&call.name) else {
        let words = match call.name.starts_with(PREFIX) {
            true => texts.render("results/mcp-unlisted.md", &[("name", &call.name)]),
            false => messages::unknown_tool(texts, &shown_names(cx, registry), &call.name),
        };
        return Err(ToolError::ForModel(words));
    };
    let context = tool_context(cx, &call.item);
    let preparing = tool.prepare(&context, call.input.clone());
    tokio::select! {
        prepared = AssertUnwindSafe(preparing).catch_unwind() => {
            prepared.unwrap_or_else(|_| Err(panicked()))
        }
        () = cx.cancel.cancelled() => Err(ToolError::Cancelled),
    }
}

/// The tools that the model can call, under the names that the layout shows.
fn shown_names(cx: &TurnEnv, registry: &Registry) -> Vec<String> {
    let names = registry.names();
    let shown = names.iter().map(|name| cx.layout.tool_name(name));
    cx.with_conversation(|conversation| {
        let offered = |name: &&str| match &conversation.baseline {
            Some(baseline) => baseline.tools.iter().any(|tool| tool.name == *name),
            None => true,
        };
        shown.filter(offered).map(str::to_owned).collect()
    })
}

async fn consent(
    cx: &TurnEnv,
    shown: &mut ShownCall,
    prepared: &Prepared,
    reason: crate::policy::Reason,
    remember: bool,
) -> Verdict {
    let Some(subject) = prepared.subject.clone() else {
        return Verdict::Refused(messages::denied(&cx.shared.texts, reason));
    };
    shown.status(cx, ToolStatus::AwaitingApproval);
    approval::ask(
        cx,
        &shown.item.item_id,
        &shown.item.title,
        subject,
        reason,
        remember,
        &prepared.facts,
    )
    .await
}

/// Runs one approved call behind the save barrier. The mode may have changed while the user was
/// deciding: a call that is denied by now stays denied (INV-8).
async fn run_one(
    cx: &Arc<TurnEnv>,
    call: &Call,
    mut shown: ShownCall,
    prepared: Prepared,
    stop: &mut Stop,
) -> Finished {
    let denied = || match approval::judge(cx, &prepared) {
        Decision::Deny(reason) => Some(messages::denied(&cx.shared.texts, reason)),
        _ => None,
    };
    if let Some(text) = denied() {
        return shown.finish(cx, ToolStatus::Rejected, text, true);
    }
    let unsaved = prepared.unsaved.clone();
    let mut note = String::new();
    if !unsaved.is_empty() {
        shown.status(cx, ToolStatus::AwaitingSave);
        let passed = save_barrier::save_first(cx, unsaved, &shown.item.title).await;
        if passed.cancelled {
            return not_run(cx, call);
        }
        if !passed.refused.is_empty() {
            note = cx.shared.texts.render(
                "results/save-refused.md",
                &[("files", &passed.refused.join(", "))],
            );
        }
        // Saving took time too.
        if let Some(text) = denied() {
            return shown.finish(cx, ToolStatus::Rejected, text, true);
        }
    }
    shown.status(cx, ToolStatus::Running);
    let ends_rules = policy::ends_command_rules(&cx.policy(), &prepared.facts);
    let mut outcome = joined(start(cx, call, prepared).await);
    if ends_rules {
        // An edit, even one without approval, may have changed what an allowed command executes, so
        // the command needs approval again (A07).
        end_command_rules(cx);
    }
    if let (Ok(output), false) = (&mut outcome, note.is_empty()) {
        output.text = format!("{note}\n{}", output.text);
    }
    conclude(cx, shown, outcome, stop)
}

/// Drops the session's rules for commands and server tools; rules for sites and memories stay.
fn end_command_rules(cx: &TurnEnv) {
    cx.with_rules(|rules| {
        rules.retain(|rule| matches!(rule, Rule::Site { .. } | Rule::Memory));
    });
}

/// Starts a prepared call on its own task, so that a panic fails only this call (INV-12).
fn start(cx: &Arc<TurnEnv>, call: &Call, prepared: Prepared) -> Task {
    let context = tool_context(cx, &call.item);
    tokio::spawn(async move { prepared.run(&context).await })
}

fn joined(
    outcome: Result<Result<ToolOutput, ToolError>, tokio::task::JoinError>,
) -> Result<ToolOutput, ToolError> {
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

fn conclude(
    cx: &TurnEnv,
    mut shown: ShownCall,
    outcome: Result<ToolOutput, ToolError>,
    stop: &mut Stop,
) -> Finished {
    match outcome {
        Ok(output) => {
            if output.closing.is_some() {
                stop.closing = output.closing;
            }
            shown.item.truncated = output.truncated;
            shown.item.files = output.files;
            if output.diff.is_some() {
                shown.item.diff = output.diff;
            }
            let status = if output.is_error {
                ToolStatus::Failed
            } else {
                ToolStatus::Completed
            };
            let mut finished = shown.finish(cx, status, output.text, output.is_error);
            finished.health = Health::Works;
            finished.images = output.images;
            finished
        }
        Err(error) => finish_with_error(cx, &mut shown, error, stop),
    }
}

fn finish_with_error(
    cx: &TurnEnv,
    shown: &mut ShownCall,
    error: ToolError,
    stop: &mut Stop,
) -> Finished {
    match error {
        ToolError::ForModel(text) => shown.take().finish(cx, ToolStatus::Failed, text, true),
        ToolError::Broken { words, reason } => {
            let mut finished = shown.take().finish(cx, ToolStatus::Failed, words, true);
            finished.health = Health::Broken(reason);
            finished
        }
        ToolError::Cancelled => {
            let text = cx.shared.texts.render("results/cancelled.md", &[]);
            shown.take().finish(cx, ToolStatus::Cancelled, text, true)
        }
        ToolError::Fatal(error) => {
            let text = format!("{error:#}");
            stop.fatal = Some(text.clone());
            shown.take().finish(cx, ToolStatus::Failed, text, true)
        }
    }
}

/// Results for the calls beyond the limit. They are not shown one by one.
fn not_taken(cx: &TurnEnv, calls: Vec<Call>) -> impl Iterator<Item = Block> {
    let most = CALLS.to_string();
    let all = (CALLS + calls.len()).to_string();
    cx.sink.emit(Event::Notice {
        text: format!("The model made {all} calls at once; only the first {most} ran."),
    });
    let text = cx.shared.texts.render(
        "results/too-many-calls.md",
        &[("most", &most), ("all", &all)],
    );
    calls.into_iter().map(move |call| Block::ToolResult {
        tool_use_id: call.id,
        content: text.clone(),
        is_error: true,
    })
}

fn not_run(cx: &TurnEnv, call: &Call) -> Finished {
    let text = cx.shared.texts.render("results/not-run.md", &[]);
    ShownCall::new(cx, call).finish(cx, ToolStatus::Cancelled, text, true)
}

/// A call as clients see it.
#[derive(Clone)]
struct ShownCall {
    item: ToolItem,
    touched: Vec<Touched>,
}

impl ShownCall {
    fn new(cx: &TurnEnv, call: &Call) -> Self {
        let input = shown_input(cx, call);
        let json = input.to_string();
        let input = if json.len() > SHOWN {
            Value::String(cut(&json).0)
        } else {
            input
        };
        Self {
            item: ToolItem {
                item_id: call.item.clone(),
                tool: fence::name(&call.name),
                title: fence::name(&call.name),
                status: ToolStatus::Pending,
                input: Some(input),
                output: None,
                truncated: false,
                files: Vec::new(),
                diff: None,
                child: None,
            },
            touched: Vec::new(),
        }
    }

    fn take(&mut self) -> Self {
        self.clone()
    }

    fn status(&mut self, cx: &TurnEnv, status: ToolStatus) {
        self.item.status = status;
        cx.sink.emit(Event::ToolCall(self.item.clone()));
    }

    fn finish(
        mut self,
        cx: &TurnEnv,
        status: ToolStatus,
        text: String,
        is_error: bool,
    ) -> Finished {
        let text = cx.shared.env.secrets().clean(&text).into_owned();
        let (shown, was_cut) = cut(&text);
        self.item.output = Some(fence::prose(&shown));
        self.item.truncated |= was_cut;
        self.item.diff = self.item.diff.take().map(|diff| cut(&diff).0);
        let files = self.item.files.clone();
        self.status(cx, status);
        // A failed or refused call touched nothing.
        if status != ToolStatus::Completed {
            self.touched.clear();
        }
        Finished {
            text,
            is_error,
            files,
            touched: self.touched,
            health: Health::default(),
            images: Vec::new(),
        }
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
    let schema = tool.schema();
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
