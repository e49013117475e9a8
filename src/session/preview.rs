//! `interline/prompt/preview`: the next request as it would be sent, with every segment and why it
//! is included. Reads, never claims.

pub mod markdown;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::agents::{self, By};
use super::api::{
    Changed, PendingEntry, PreviewCompaction, PreviewContext, PreviewEpoch, PreviewProblem,
    PreviewPrompt, PreviewRequest, PromptPreview, TokenCount,
};
use super::layouts::load_layout;
use super::routing::Own;
use crate::agent::compact;
use crate::agent::compact::cut::{Numbers, weight};
use crate::agent::request::compose;
use crate::agent::request::context::RequestContext;
use crate::agent::request::draft;
use crate::agent::request::mcp_tools::{self, Picked};
use crate::agent::{Conversation, Settings, Shared};
use crate::config::SandboxConfig;
use crate::conversation::input::Slot;
use crate::conversation::usage::estimated_tokens;
use crate::conversation::{EditorContext, EpochId, Failure, Input};
use crate::edit::Seen;
use crate::env::tasks;
use crate::knowledge::hooks::{self, Author, Found};
use crate::prompt::facts::Detail;
use crate::prompt::{Facts, Layout, SegmentRow, Trust, fence};
use crate::workspace::Encoding;

/// Most problems that a preview lists.
const PROBLEMS: usize = 500;

/// What a preview is made from: a session's current state, or a process's defaults.
pub struct From {
    pub shared: Arc<Shared>,
    pub settings: Settings,
    pub cwd: PathBuf,
    pub model: Own,
    pub layout: Arc<Layout>,
    pub editor: EditorContext,
    pub seen: Seen,
    pub encoding: Encoding,
    pub news: Vec<String>,
    pub conversation: Conversation,
}

/// Builds a preview. Uses the network only on request.
pub async fn run(from: From, ask: PreviewPrompt) -> Result<PromptPreview, Failure> {
    let (text, fetch) = (ask.text.clone(), ask.fetch);
    let since = ask.since.as_deref() == Some("last");
    let failed = || {
        Failure::invalid(
            "The preview failed inside Interline.",
            "See the log for the cause.",
        )
    };
    // Resolving layout and model reads files.
    let context = tasks::blocking(move || asked(from, ask));
    let mut context = context.await.map_err(|_| failed())??;
    pick(&mut context, fetch).await;
    if fetch {
        let config = &context.settings.config;
        compose::fetch(&context.shared, config, &context.layout, None).await;
    }
    tasks::blocking(move || preview(&context, text.as_ref(), since))
        .await
        .map_err(|_| failed())?
}

/// The parts that MCP servers provide, as a turn has them.
async fn pick(context: &mut RequestContext, fetch: bool) {
    let of_servers = |part: &Input| match part {
        Input::McpPrompt { .. } => true,
        Input::Resource { uri, .. } => mcp_tools::resource(uri).is_some(),
        _ => false,
    };
    if !context.input.iter().any(of_servers) {
        return;
    }
    let servers = context.settings.servers(&context.shared).clone();
    let (of, config) = (servers.clone(), context.settings.config.clone());
    let cwd = context.cwd.clone();
    let looked = tasks::blocking(move || of.reload(&config, &cwd));
    if looked.await.is_ok() {
        context.picked = mcp_tools::preview(&servers, &context.cwd, &context.input, fetch).await;
    }
}

/// Blocking.
fn preview(
    context: &RequestContext,
    text: Option<&Value>,
    since: bool,
) -> Result<PromptPreview, Failure> {
    let (facts, draft, _) = context.draft();
    let mut messages = context.conversation.messages.clone();
    messages.push(draft.message.clone());
    let known = &context.conversation;
    let request = draft::request(known, &draft.baseline, &context.model, messages);
    let body = context.model.provider.body(&request);
    let epoch = epoch(&draft);
    let tokens = tokens(context, &draft, body.bytes.len());
    let filled = filled(context, &draft, tokens.count);
    let changed = (since && draft.new_epoch.is_some())
        .then(|| changed(context, &draft.assembled.rows, &body.bytes))
        .flatten();
    let mut rows = draft.assembled.rows;
    for row in rows.iter_mut().filter(|row| !wants_text(text, &row.id)) {
        row.text = None;
    }
    let sandbox = &context.settings.config.sandbox;
    rows.extend(hook_rows(&context.hooks, sandbox));
    Ok(PromptPreview {
        problems: problems(&facts, &context.hooks, sandbox),
        segments: rows,
        system: joined(draft.baseline.system.iter().map(|block| &block.text)),
        tail: joined(draft.tail.iter().map(|part| &part.text)),
        tools: draft.baseline.tools,
        pending: draft
            .journal
            .into_iter()
            .map(|entry| PendingEntry {
                about: entry.about,
                source: entry.source,
                text: entry.text,
            })
            .collect(),
        epoch,
        changed,
        tokens,
        context: filled,
        compaction: compaction(context),
        request: PreviewRequest {
            provider: context.model.provider.name().to_owned(),
            body: String::from_utf8_lossy(&body.bytes).into_owned(),
            breakpoints: body.breakpoints,
        },
    })
}

/// Whether a turn with this prompt first compacts the conversation.
fn compaction(context: &RequestContext) -> Option<PreviewCompaction> {
    if !context.settings.config.compaction.auto {
        return None;
    }
    let numbers = Numbers::of(&context.layout, &context.model.facts);
    let tokens = compact::due(&context.conversation, &numbers, &context.input)?;
    Some(PreviewCompaction {
        tokens,
        threshold: numbers.threshold,
    })
}

/// Applies the requested options to the session's settings.
fn asked(mut from: From, ask: PreviewPrompt) -> Result<RequestContext, Failure> {
    if let Some(name) = &ask.agent {
        let model = agents::select(
            &from.shared,
            &from.cwd,
            &mut from.settings,
            name,
            By::Request,
        )?;
        from.model = model.map_or(from.model, Own::chosen);
        from.settings.uninvited.agent = false;
    } else {
        let profile = agents::current_profile(&from.shared, &from.cwd, &from.settings)?;
        from.settings.profile = profile;
    }
    if let Some(mode) = ask.mode {
        from.settings.mode = mode;
    }
    if let Some(detail) = &ask.detail {
        from.settings.detail = detail_of(detail)?;
    }
    if let Some(layout) = &ask.layout {
        from.layout = Arc::new(load_layout(&from.shared, layout)?);
        from.settings.uninvited.layout = false;
    }
    let own = ask.model.map_or(from.model, Own::chosen);
    let (providers, settings) = (&from.shared.providers, &from.settings);
    let model = own.model(providers, &settings.config, settings.mode)?;
    let model = model.thinking(settings.effort());
    let (shared, cwd) = (&from.shared, &from.cwd);
    let trusted = || shared.trusted(cwd);
    let found = hooks::find(&shared.workspace, &shared.env, &shared.trust, cwd, trusted);
    Ok(RequestContext {
        epoch: EpochId::from("preview"),
        hooks: Arc::new(found),
        session: ask.session_id,
        shared: from.shared,
        settings: Arc::new(from.settings),
        cwd: from.cwd,
        model,
        layout: from.layout,
        editor: ask.context.unwrap_or(from.editor),
        segments: ask.segments.unwrap_or_default(),
        seen: from.seen,
        encoding: from.encoding,
        news: from.news,
        parent: None,
        conversation: from.conversation,
        input: ask.input.unwrap_or_default(),
        servers_known: false,
        picked: Picked::new(),
    })
}

/// Sources that were ignored; names are untrusted text.
fn problems(facts: &Facts, hooks: &Found, sandbox: &SandboxConfig) -> Vec<PreviewProblem> {
    let problems = facts.problems.iter().take(PROBLEMS);
    let problems = problems.map(|(source, reason)| PreviewProblem {
        source: fence::name(source),
        reason: fence::line(reason),
    });
    let of_hooks = crate::agent::hooks::problems(hooks, sandbox).into_iter();
    let of_hooks = of_hooks.map(|reason| PreviewProblem {
        source: "hooks".to_owned(),
        reason,
    });
    problems.chain(of_hooks).collect()
}

/// A row for each hook: it runs beside the prompt and is no part of it.
fn hook_rows(hooks: &Found, sandbox: &SandboxConfig) -> impl Iterator<Item = SegmentRow> {
    hooks.hooks.iter().map(|hook| SegmentRow {
        id: "hook".to_owned(),
        title: format!("Hook {}", hook.event.as_str()),
        layer: match hook.author {
            Author::User => "user".to_owned(),
            Author::Workspace => "workspace".to_owned(),
        },
        source: fence::name(&hook.source),
        slot: Slot::System,
        trust: Trust::User,
        included: false,
        reason: fence::line(&crate::agent::hooks::line(hook, sandbox)),
        bytes: 0,
        tokens: 0,
        hash: String::new(),
        text: None,
    })
}

fn epoch(draft: &draft::Draft) -> PreviewEpoch {
    match &draft.new_epoch {
        Some(reason) => PreviewEpoch {
            id: "next".to_owned(),
            reason: reason.clone(),
        },
        None => PreviewEpoch {
            id: draft.baseline.epoch.to_string(),
            reason: draft.baseline.reason.clone(),
        },
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Where a new epoch's body first differs from the last request. Within an epoch nothing that was
/// sent changes.
fn changed(context: &RequestContext, rows: &[SegmentRow], body: &[u8]) -> Option<Changed> {
    let baseline = context.conversation.baseline.as_ref()?;
    let config = &context.settings.config;
    let model = context
        .shared
        .providers
        .resolve(config, Some(&baseline.model))
        .unwrap_or_else(|_| context.model.clone());
    let known = &context.conversation;
    let messages = known.messages.clone();
    let last = draft::request(known, baseline, &model, messages);
    let last = model.provider.body(&last);
    let same = |(a, b): &(&u8, &u8)| a == b;
    let byte = body.iter().zip(&last.bytes).take_while(same).count();
    let text = String::from_utf8_lossy(body);
    let start = |row: &SegmentRow| {
        let json = serde_json::to_string(row.text.as_deref()?.trim()).ok()?;
        text.find(json.get(1..json.len() - 1)?)
    };
    let segment_id = rows
        .iter()
        .filter(|row| row.included)
        .filter_map(|row| start(row).map(|at| (at, row)))
        .filter(|(at, _)| *at <= byte)
        .max_by_key(|(at, _)| *at)
        .map_or_else(|| "model".to_owned(), |(_, row)| row.id.clone());
    Some(Changed { segment_id, byte })
}

/// Whether the text of this segment was requested: `"all"` or a list of ids.
fn wants_text(asked: Option<&Value>, id: &str) -> bool {
    match asked {
        Some(Value::String(all)) => all == "all",
        Some(Value::Array(ids)) => ids.iter().any(|it| it.as_str() == Some(id)),
        _ => false,
    }
}

/// The provider's last count plus an estimate of everything since; in a new epoch, or before the
/// first answer, only an estimate. Always marked as estimated.
fn tokens(context: &RequestContext, draft: &draft::Draft, bytes: usize) -> TokenCount {
    let conversation = &context.conversation;
    let counted = conversation.counted.filter(|counted| {
        draft.new_epoch.is_none() && counted.messages <= conversation.messages.len()
    });
    let count = match counted {
        Some(counted) => {
            let since = conversation.messages[counted.messages..].iter();
            let json = |message| serde_json::to_string(message).map_or(0, |json| json.len());
            let bytes: usize = since.chain([&draft.message]).map(json).sum();
            counted.tokens.saturating_add(estimated_tokens(bytes))
        }
        None => estimated_tokens(bytes),
    };
    TokenCount {
        count,
        exact: false,
    }
}

/// The parts of `count`: what is left after the others is the conversation.
fn filled(context: &RequestContext, draft: &draft::Draft, count: u64) -> PreviewContext {
    let bytes = |text: &String| text.len();
    let system = draft.baseline.system.iter().map(|block| bytes(&block.text));
    let tools = serde_json::to_string(&draft.baseline.tools);
    let system = estimated_tokens(system.sum());
    let tools = estimated_tokens(tools.as_ref().map_or(0, bytes));
    let prompt = weight(&draft.message);
    let others = system.saturating_add(tools).saturating_add(prompt);
    let conversation = match context.conversation.messages.is_empty() {
        true => 0,
        false => count.saturating_sub(others),
    };
    PreviewContext {
        window: context.model.facts.context,
        system,
        tools,
        conversation,
        prompt,
    }
}

/// `full`, `minimal` or `none`.
pub fn detail_of(text: &str) -> Result<Detail, Failure> {
    Detail::parse(text).ok_or_else(|| {
        Failure::invalid(
            format!("The detail {text:?} does not exist."),
            "Use full, minimal or none.",
        )
    })
}
