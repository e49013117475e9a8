//! Gathers the facts that a prompt depends on: instructions, git head, editor context, the user's
//! changes since the model last read a file. Reads files; decides nothing.

mod project_facts;
mod protected_files;

use std::ops::Deref;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use crate::agent::Settings;
use crate::agent::request::attachments::{is_pdf, shown_path};
use crate::agent::request::context::RequestContext;
use crate::agent::request::{language_tools, mcp_tools};
use crate::config::load::Ignored;
use crate::config::{self, Config, SandboxConfig};
use crate::conversation::input::Slot;
use crate::conversation::request::Thinking;
use crate::conversation::{EditorView, Input, SessionId};
use crate::edit::unified_diff::unified_with;
use crate::edit::{Seen, SeenText};
use crate::env::order;
use crate::knowledge::agents::Author;
use crate::knowledge::{etcode, git, instructions};
use crate::mcp::{PREFIX, Servers};
use crate::policy::{Policy, paths};
use crate::prompt::facts::{
    ActiveDocument, AgentPrompt, EditorFacts, Facts, Folder, Git, LazyText, MemoryFacts, Runtime,
    SkillFacts,
};
use crate::prompt::{Trust, fence};
use crate::tools::Registry;
use crate::tools::exec::sandbox;
use crate::workspace::files::rope_hash;
use crate::workspace::search;
use crate::workspace::{
    Author as Writer, Document, Encoding, Range, Revision, Root, Uri, Workspace, text,
};

/// Bytes of a selection, of the lines around the cursor, and of one document's recent changes.
const SELECTION_LIMIT: usize = 8 * 1024;
const RECENT_LIMIT: usize = 4 * 1024;
/// Lines above and below the cursor.
const AROUND: usize = 10;

/// Gathers the facts. Blocking file reads, all bounded.
pub fn gather(
    from: &RequestContext,
    policy: &Policy,
    recent: &[Recent],
    hints: Vec<String>,
) -> Facts {
    let shared = &from.shared;
    let (config, mut problems) = with_etcode(from);
    let servers = servers(from, &config, &mut problems);
    problems.extend(agent_problems(from));
    let instructions = instructions::gather_with(
        &shared.workspace,
        &shared.env,
        &config,
        &from.cwd,
        &from.layout.head.instructions,
        &shared.urls,
        &shared.caches.heads,
    );
    problems.extend(instructions.problems);
    let files = project_facts::files(from, policy.trusted, &mut problems);
    let (skills, memory) = remembered(from, policy.trusted, &mut problems);
    let now = now(from);
    let date = date(from, &now, &mut problems);
    let segments = [&from.settings.segments[..], &from.segments[..]].concat();
    let picked = picked(from, &mut problems);
    let library = project_facts::library(from, &mut problems);
    let set = settings(from, policy, &config, &mut problems);
    let tools = tools(from);
    let language_tools = language_tools::present(&tools, &shared.texts);
    let mut facts = Facts {
        model: from.model.family.clone(),
        cwd: from.cwd.display().to_string(),
        roots: folders(from, policy),
        git: instructions.head.map(git),
        platform: std::env::consts::OS.to_owned(),
        date,
        timezone: now.time_zone().iana_name().unwrap_or("UTC").to_owned(),
        trusted: policy.trusted,
        instructions: instructions.found,
        repository: instructions
            .unverified
            .map(|path| path.display().to_string()),
        problems,
        files,
        skills,
        memory,
        tools: tools.facts(&shared.texts),
        remote: servers.facts(&from.cwd),
        language_tools,
        segments,
        passing: from.segments.len(),
        client: shared.declared(),
        editor: editor(from, policy, recent),
        runtime: runtime(from),
        hints,
        degraded: from.conversation.failing.degraded(),
        created: project_facts::created(from),
        resources: resources(from),
        attachments: attachments(&from.input),
        picked,
        library,
        sandbox: sandbox_words(config.sandbox.clone()),
        summary: from.conversation.carried.hint.clone(),
        ..set
    };
    facts.tools = from.layout.offered(&facts);
    protected_files::note(from, &config, &facts);
    facts
}

fn sandbox_words(config: SandboxConfig) -> LazyText {
    LazyText::new(move || sandbox::description(&config).to_owned())
}

/// The session's MCP servers, as their settings are now.
fn servers<'a>(
    from: &'a RequestContext,
    config: &Config,
    problems: &mut Vec<(String, String)>,
) -> &'a Servers {
    let servers = from.settings.servers(&from.shared);
    if !from.servers_known {
        servers.reload(config, &from.cwd);
    }
    problems.extend(servers.problems(&from.cwd));
    servers
}

fn git(head: git::Head) -> Git {
    Git {
        branch: head.branch,
        head: head.commit,
    }
}

/// The session's tools, including those of MCP servers.
fn tools(from: &RequestContext) -> Registry {
    let shared = &from.shared;
    let servers = from.settings.servers(shared);
    let late = language_tools::may_come_late(shared, &from.settings);
    let all = servers.registry(&shared.tools(), &from.cwd, true, late);
    let abilities = language_tools::abilities(shared, &from.settings);
    from.settings
        .registry(&all, &from.layout, &abilities, &from.model.facts)
}

/// Skills and memories; read in parallel the first time in a process, when nothing is cached.
fn remembered(
    from: &RequestContext,
    trusted: bool,
    problems: &mut project_facts::Problems,
) -> (Vec<SkillFacts>, MemoryFacts) {
    if !from.shared.caches.first_use() {
        let skills = project_facts::skills(from, trusted, problems);
        return (skills, project_facts::memory(from, problems));
    }
    let mut of_memory = project_facts::Problems::new();
    let facts = std::thread::scope(|scope| {
        let memory = scope.spawn(|| project_facts::memory(from, &mut of_memory));
        let skills = project_facts::skills(from, trusted, problems);
        let memory = memory.join();
        (skills, memory.unwrap_or_else(|panic| resume_unwind(panic)))
    });
    problems.append(&mut of_memory);
    facts
}

/// Facts that depend only on the settings.
fn settings(
    from: &RequestContext,
    policy: &Policy,
    config: &Config,
    problems: &mut project_facts::Problems,
) -> Facts {
    let env = &from.shared.env;
    let kept = project_facts::stored_facts(from, policy);
    problems.extend(kept.problem);
    let (environment, odd) = config::environment_lines(config, env);
    problems.extend(odd);
    let aliases = config.model_aliases.iter();
    Facts {
        mode: from.settings.mode,
        detail: from.settings.detail,
        agent: from.settings.agent.clone(),
        agent_prompt: agent_prompt(&from.settings),
        aliases: aliases
            .map(|(alias, model)| (alias.clone(), model.clone()))
            .collect(),
        owners: config.prompt.owners.clone(),
        notes: config.prompt.notes.clone(),
        docs_path: config::docs_path(config, env).map(|path| path.display().to_string()),
        environment,
        called: kept.called,
        made: kept.made,
        variables: kept.variables,
        editor_in_system: config.prompt.editor_slot == Slot::System,
        switches: config.prompt.segments.clone(),
        language: config.prompt.language.clone(),
        constraints: confined(from, policy).into_iter().collect(),
        ..Facts::default()
    }
}

fn folders(from: &RequestContext, policy: &Policy) -> Vec<Folder> {
    let roots = from.shared.workspace.roots().into_iter();
    let folder = |root: Root| Folder {
        writable: policy.writable(&root.path),
        description: project_facts::folder_purpose(from, &root.path),
        name: root.name,
        path: root.path.display().to_string(),
    };
    roots.map(folder).collect()
}

/// The settings plus the instructions named in the `etcode.json` of the session's root, and the
/// ignored keys of that file.
fn with_etcode(from: &RequestContext) -> (Arc<Config>, Vec<(String, String)>) {
    let config = &from.settings.config;
    let workspace = &from.shared.workspace;
    let root = workspace.root_for(&from.cwd).map(|root| root.path);
    let (entries, ignored) = etcode::instructions(workspace, root.as_deref().unwrap_or(&from.cwd));
    let problem_of = |one: Ignored| (one.source, format!("{}: {}", one.key, one.reason));
    let problems = ignored.into_iter().map(problem_of).collect();
    if entries.is_empty() {
        return (config.clone(), problems);
    }
    let mut config = Config::clone(config);
    for entry in entries {
        if !config.instructions.contains(&entry) {
            config.instructions.push(entry);
        }
    }
    (Arc::new(config), problems)
}

fn agent_prompt(settings: &Settings) -> Option<AgentPrompt> {
    let profile = settings.profile.as_ref()?;
    (!profile.prompt.is_empty()).then(|| AgentPrompt {
        text: profile.prompt.clone(),
        source: profile.source.clone(),
        trust: match profile.author {
            Author::User => Trust::User,
            Author::Workspace => Trust::Workspace,
        },
    })
}

/// The constraint that the agent works in one folder only.
fn confined(from: &RequestContext, policy: &Policy) -> Option<String> {
    let folder = policy.confine.as_ref()?;
    let folder = folder.strip_prefix(&from.cwd).unwrap_or(folder);
    let folder = fence::name(&folder.display().to_string());
    let texts = &from.shared.texts;
    Some(texts.render("hints/confined.md", &[("folder", &folder)]))
}

/// Tools that the agent names but that do not exist.
fn agent_problems(from: &RequestContext) -> Option<(String, String)> {
    let profile = from.settings.profile.as_ref()?;
    let known = from.shared.tools().names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut unknown = profile.tools.unknown(&known);
    // A server's tools are known only while it runs.
    unknown.retain(|name| !name.starts_with(PREFIX) && name.as_str() != "mcp_call");
    let reason = format!("there is no tool {}", unknown.join(", "));
    (!unknown.is_empty()).then(|| (profile.source.clone(), reason))
}

/// The time in the user's zone, else the layout's, else the system's. An unknown zone is UTC.
fn now(from: &RequestContext) -> Zoned {
    let (now, set) = (from.shared.env.now(), &from.settings.config.prompt.timezone);
    match set.as_deref().or(from.layout.head.timezone.as_deref()) {
        Some(name) => now.with_time_zone(TimeZone::get(name).unwrap_or(TimeZone::UTC)),
        None => now,
    }
}

/// The date or time in the user's format, else the layout's.
fn date(from: &RequestContext, now: &Zoned, problems: &mut project_facts::Problems) -> String {
    let own = from.settings.config.prompt.time_format.as_deref();
    let written = own.map(|form| strtime::format(form, now));
    match written {
        Some(Ok(text)) if !text.trim().is_empty() => return text,
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            let reason = format!("the layout's format is used: {error}");
            problems.push(("prompt.timeFormat".to_owned(), reason));
        }
        None => {}
    }
    now.strftime(&from.layout.head.date_format).to_string()
}

fn runtime(from: &RequestContext) -> Runtime {
    let client = from.shared.declared();
    let word = |key: &str| {
        let word = client.get(key).and_then(serde_json::Value::as_str);
        word.unwrap_or_default().to_owned()
    };
    let reasoning = match word("reasoning") {
        word if ["on", "stream"].contains(&word.as_str()) => word,
        _ => "off".to_owned(),
    };
    let (host, os) = system();
    Runtime {
        host,
        os,
        arch: std::env::consts::ARCH.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        channel: word("channel"),
        thinking: match (from.model.facts.thinking, from.model.facts.effort) {
            (Thinking::None, _) => "off",
            (_, Some(effort)) => effort.as_str(),
            (Thinking::Adaptive, None) => "adaptive",
            (Thinking::Budget, None) => "on",
        }
        .to_owned(),
        reasoning,
        parent: from.parent.as_ref().map(SessionId::to_string),
        tools: true,
    }
}

/// The machine's name, and its system with the release.
fn system() -> (String, String) {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let os = format!("{} {}", text(name.sysname()), text(name.release()));
    (text(name.nodename()), os)
}

/// The files that the prompt refers to, each once.
fn resources(from: &RequestContext) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for part in &from.input {
        let Input::Resource { uri, .. } = part else {
            continue;
        };
        let path = shown_path(&from.shared.workspace, uri, &from.cwd);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The MCP prompts that the user picked: `(title, text)`.
fn picked(from: &RequestContext, problems: &mut project_facts::Problems) -> Vec<(String, String)> {
    let mut picked = Vec::new();
    for (place, part) in from.input.iter().enumerate() {
        let Input::McpPrompt { server, name, .. } = part else {
            continue;
        };
        let title = format!("{name} ({server})");
        match from.picked.get(&place) {
            Some(Ok(brought)) => picked.push((title, brought.text.clone())),
            other => problems.push((title, mcp_tools::reason(other).to_owned())),
        }
    }
    picked
}

fn attachments(input: &[Input]) -> Vec<String> {
    let kinds = input.iter().filter_map(|part| match part {
        Input::Image { mime_type, .. } => Some(mime_type.clone()),
        Input::Document {
            name, mime_type, ..
        } => Some(format!("{name} ({mime_type})")),
        Input::Resource {
            uri, text: None, ..
        } if is_pdf(uri) => {
            let name = uri.rsplit('/').next().unwrap_or(uri);
            Some(format!("{name} (application/pdf)"))
        }
        _ => None,
    });
    kinds.collect()
}

fn editor(from: &RequestContext, policy: &Policy, recent: &[Recent]) -> EditorFacts {
    let (workspace, cwd, context) = (&from.shared.workspace, &from.cwd, &from.editor);
    let mut open: Vec<(String, bool)> = workspace
        .documents()
        .iter()
        .filter(|document| document.opened && !document.uri.read_only())
        .filter(|document| named(from, &document.uri))
        .map(|document| {
            (
                shown_path(workspace, document.uri.as_str(), cwd),
                workspace.unsaved(document),
            )
        })
        .collect();
    open.sort();
    let context = context.editors.iter();
    let context = context.filter(|view| named(from, &Uri::new(view.uri.as_str())));
    let active = context.clone().find(|view| view.active);
    let mut visible: Vec<(String, u32, u32)> = context
        .filter(|view| !view.active)
        .filter_map(|view| {
            let (first, last) = line_numbers(view.visible_range?);
            Some((shown_path(workspace, &view.uri, cwd), first, last))
        })
        .collect();
    visible.sort();
    EditorFacts {
        active: active.and_then(|view| active_document(from, policy, view)),
        open,
        visible,
        recent: recent
            .iter()
            .map(|change| (change.path.clone(), change.diff.clone()))
            .collect(),
        diagnostics: active.map_or_else(Vec::new, |view| diagnostics(from, policy, view)),
    }
}

/// Whether a prompt may name a document. The conversation is not context for itself, and the name
/// of an excluded file stays here too.
fn named(from: &RequestContext, uri: &Uri) -> bool {
    let state = &from.shared.env.dirs.state;
    let workspace = &from.shared.workspace;
    let transcript = |path: &Path| paths::transcript(path, state);
    let key = uri.key();
    !uri.path().is_some_and(|path| transcript(&path)) && !workspace.excludes(Path::new(&key), false)
}

/// Diagnostics of the active document, the nearest to the cursor first. They quote its text, so
/// they are left out if that may not be shown.
fn diagnostics(
    from: &RequestContext,
    policy: &Policy,
    view: &EditorView,
) -> Vec<(String, u32, String, String)> {
    let workspace = &from.shared.workspace;
    let uri = Uri::new(view.uri.as_str());
    let shown_text = workspace
        .document(&uri)
        .is_some_and(|document| document.opened && shows(workspace, policy, &document));
    let report = workspace.diagnostics.report(&uri.key());
    let Some(report) = report.filter(|_| shown_text) else {
        return Vec::new();
    };
    let cursor = view.selections.first().map_or(0, |it| it.end.line);
    let mut reported: Vec<_> = report.items.iter().collect();
    order::sort_by_key(&mut reported, |it| (it.line.abs_diff(cursor), it.line));
    let path = shown_path(workspace, &view.uri, &from.cwd);
    reported
        .into_iter()
        .map(|it| {
            (
                path.clone(),
                it.line.saturating_add(1),
                it.severity.clone(),
                it.message.clone(),
            )
        })
        .collect()
}

/// The active document; its text only if `read` would show it without asking (A39), because the
/// user did not ask for this.
fn active_document(
    from: &RequestContext,
    policy: &Policy,
    view: &EditorView,
) -> Option<ActiveDocument> {
    let (workspace, cwd, encoding) = (&from.shared.workspace, &from.cwd, from.encoding);
    let uri = Uri::new(view.uri.as_str());
    let document = workspace.document(&uri).filter(|it| it.opened)?;
    let cursor = view.selections.first().map(|selection| selection.end);
    let place = cursor.and_then(|at| {
        let offset = text::offset(&document.rope, at, encoding).ok()?;
        let line = document.rope.byte_to_line(offset);
        let column = document.rope.byte_to_char(offset) - document.rope.line_to_char(line);
        Some((line, column))
    });
    let visible = shows(workspace, policy, &document);
    Some(ActiveDocument {
        path: shown_path(workspace, &view.uri, cwd),
        language: document.language.clone(),
        dirty: workspace.unsaved(&document),
        lines: document.rope.len_lines(),
        cursor: place.map(|(line, column)| (number(line + 1), number(column + 1))),
        around: place
            .filter(|_| visible)
            .map(|(line, _)| around(&document, line)),
        selection: view
            .selections
            .iter()
            .find(|selection| visible && selection.start != selection.end)
            .and_then(|selection| selected(&document, selection, encoding)),
        visible: view.visible_range.map(line_numbers),
    })
}

/// The 1-based first and last line.
fn line_numbers(range: Range) -> (u32, u32) {
    let number = |line: u32| line.saturating_add(1);
    (number(range.start.line), number(range.end.line))
}

fn around(document: &Document, line: usize) -> (u32, String) {
    let first = line.saturating_sub(AROUND);
    let last = (line + AROUND + 1).min(document.rope.len_lines());
    let start = document.rope.line_to_char(first);
    let end = document.rope.line_to_char(last);
    (
        number(first + 1),
        capped(document.rope.slice(start..end).to_string(), SELECTION_LIMIT),
    )
}

fn selected(
    document: &Document,
    selection: &Range,
    encoding: Encoding,
) -> Option<(u32, u32, String)> {
    let start = text::offset(&document.rope, selection.start, encoding).ok()?;
    let end = text::offset(&document.rope, selection.end, encoding).ok()?;
    let (start, end) = (start.min(end), start.max(end));
    Some((
        number(document.rope.byte_to_line(start) + 1),
        number(document.rope.byte_to_line(end) + 1),
        capped(
            document.rope.byte_slice(start..end).to_string(),
            SELECTION_LIMIT,
        ),
    ))
}

/// A document that the user changed since the model last saw it.
pub struct Recent {
    pub key: String,
    pub path: String,
    /// Unified diff, capped.
    pub diff: String,
    /// The diff is complete: the model now knows the current text.
    pub whole: bool,
    pub document: Document,
}

/// Secrets, excluded files and Interline's own stay out of the prompt, even while they are open.
fn shows(workspace: &Workspace, policy: &Policy, document: &Document) -> bool {
    search::unasked(workspace, policy, Path::new(&document.key))
}

/// Who besides `session` changed a document since a revision, in words; `None`: only the user, or
/// unknown.
fn changed_by(
    workspace: &Workspace,
    document: &Document,
    since: Option<Revision>,
    session: &str,
) -> Option<String> {
    let changes = workspace.changes_since(&document.uri, since?)?;
    let (mut user, mut others) = (false, Vec::new());
    for change in &changes {
        let who = match &change.author {
            Writer::Session(id) if id == session => continue,
            Writer::Session(_) => "another agent session",
            Writer::Formatter => "a formatter, when the file was saved",
            Writer::Disk => "another program, on disk",
            Writer::User => {
                user = true;
                continue;
            }
        };
        if !others.contains(&who) {
            others.push(who);
        }
    }
    if others.is_empty() {
        return None;
    }
    if user {
        others.insert(0, "the user");
    }
    Some(others.join(" and "))
}

/// Open documents whose text differs from what the model last saw in `session`, by path.
pub fn recent(
    workspace: &Workspace,
    policy: &impl Deref<Target = Policy>,
    cwd: &Path,
    session: &str,
    seen: &Seen,
) -> Vec<Recent> {
    let mut changes = Vec::new();
    for document in workspace.documents() {
        if !document.opened {
            continue;
        }
        let key = document.key.clone();
        let Some(known) = seen.get(&key) else {
            continue;
        };
        if known.revision == Some(document.revision) || known.rope == document.rope {
            continue;
        }
        if !shows(workspace, policy, &document) {
            continue;
        }
        let path = shown_path(workspace, document.uri.as_str(), cwd);
        let (then, now) = (known.rope.to_string(), document.rope.to_string());
        let diff = unified_with(&then, &now, 1, (&path, &path)).text;
        let diff = match changed_by(workspace, &document, known.revision, session) {
            Some(who) => format!("Changed by {who}:\n{diff}"),
            None => diff,
        };
        let whole = diff.len() <= RECENT_LIMIT;
        changes.push(Recent {
            key,
            path,
            diff: capped(diff, RECENT_LIMIT),
            whole,
            document,
        });
    }
    order::sort_by(&mut changes, |a, b| a.path.cmp(&b.path));
    changes
}

/// After recent changes were reported in full, the model knows the current text.
pub fn admit_recent(seen: &Mutex<Seen>, changes: Vec<Recent>) {
    let mut seen = seen.lock();
    for change in changes.into_iter().filter(|change| change.whole) {
        let Document { revision, rope, .. } = change.document;
        let text = SeenText {
            revision: Some(revision),
            hash: rope_hash(&rope),
            rope,
        };
        seen.put(change.key, text);
    }
}

fn capped(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push_str("\n[…]\n");
    }
    text
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
