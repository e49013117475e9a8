//! The events of a turn that have hooks, with their inputs.

use serde_json::{Map, Value, json};

use super::{Occasion, Outcome, Place, load, run};
use crate::agent::TurnEnv;
use crate::conversation::Input;
use crate::env::tasks;
use crate::knowledge::hooks::Event;
use crate::policy::Fact;
use crate::prompt::fence;

/// Our tools and the names that matchers for the same work have in Claude Code. The first one is
/// the input's `tool_name`.
const OTHER_NAMES: [(&str, &[&str]); 16] = [
    ("apply_patch", &["Edit", "MultiEdit", "Write"]),
    ("ask_user", &["AskUserQuestion"]),
    ("code_action", &["Edit", "MultiEdit"]),
    ("delegate", &["Task", "Agent"]),
    ("edit", &["Edit", "MultiEdit"]),
    ("exec", &["Bash"]),
    ("glob", &["Glob"]),
    ("grep", &["Grep"]),
    ("list", &["LS"]),
    ("load_skill", &["Skill"]),
    ("project_write", &["Write"]),
    ("read", &["Read"]),
    ("rename_symbol", &["Edit", "MultiEdit"]),
    ("web_fetch", &["WebFetch"]),
    ("write", &["Write"]),
    ("write_todos", &["TodoWrite"]),
];

impl TurnEnv {
    /// Runs the hooks of an event and shows their notices, each once in a session.
    async fn hooks(&self, event: Event, names: &[&str], fields: Value) -> Outcome {
        let settings = self.settings();
        let place = Place {
            shared: &self.shared,
            config: &settings.config,
            hooks: &self.state.hooks,
            session: &self.session,
            cwd: &self.cwd,
            mode: settings.mode,
        };
        let occasion = Occasion {
            event,
            names,
            fields,
        };
        let outcome = run(&place, occasion, &self.cancel).await;
        self.show_notices(&outcome.notices);
        outcome
    }

    fn show_notices(&self, notices: &[String]) {
        let news = notices.iter().filter(|it| self.state.hooks.is_news(it));
        news.for_each(|text| self.notice(text));
    }

    /// Reads the hooks for a turn that begins, and runs those of a session that starts.
    pub async fn begin_hooks(&self) -> Outcome {
        let settings = self.settings();
        let place = Place {
            shared: &self.shared,
            config: &settings.config,
            hooks: &self.state.hooks,
            session: &self.session,
            cwd: &self.cwd,
            mode: settings.mode,
        };
        let notices = load(&place).await;
        self.show_notices(&notices);
        if !self.state.hooks.begin() {
            return Outcome::default();
        }
        let resumed = self.with_conversation(|it| !it.messages.is_empty());
        let source = if resumed { "resume" } else { "startup" };
        self.start_hooks(source).await
    }

    async fn start_hooks(&self, source: &str) -> Outcome {
        let fields = json!({ "source": source, "model": self.model.name });
        self.hooks(Event::SessionStart, &[source], fields).await
    }

    /// The user's prompt, before the model sees it.
    pub async fn prompt_hooks(&self, input: &[Input]) -> Outcome {
        let texts = input.iter().filter_map(|part| match part {
            Input::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let prompt = texts.collect::<Vec<_>>().join("\n");
        let fields = json!({ "prompt": prompt });
        self.hooks(Event::UserPromptSubmit, &[], fields).await
    }

    /// A call that policy did not refuse, before it is asked about or runs.
    pub async fn pre_tool_hooks(&self, tool: &str, call: &Value) -> Outcome {
        let names = tool_names(tool);
        self.hooks(Event::PreToolUse, &names, call.clone()).await
    }

    /// A call that succeeded.
    pub async fn post_tool_hooks(&self, tool: &str, call: &Value, output: &str) -> Outcome {
        let mut fields = call.clone();
        fields["tool_response"] = json!({ "success": true, "output": output });
        let names = tool_names(tool);
        self.hooks(Event::PostToolUse, &names, fields).await
    }

    /// The model is done. `again`: hooks already let this turn continue.
    pub async fn stop_hooks(&self, again: bool, last: &str) -> Outcome {
        let mut fields = json!({ "stop_hook_active": again, "last_assistant_message": last });
        let Some(parent) = &self.parent else {
            return self.hooks(Event::Stop, &[], fields).await;
        };
        let agent = self.settings().profile.as_ref().map(|it| it.name.clone());
        let agent = agent.filter(|name| !name.is_empty());
        let agent = agent.unwrap_or_else(|| "general-purpose".to_owned());
        fields["agent_id"] = json!(self.session);
        fields["agent_type"] = json!(agent);
        fields["session_id"] = json!(parent);
        self.hooks(Event::SubagentStop, &[&agent], fields).await
    }

    /// The conversation is about to be compacted.
    pub async fn compact_hooks(&self, trigger: &str, focus: Option<&str>) -> Outcome {
        let focus = focus.unwrap_or_default();
        let fields = json!({ "trigger": trigger, "custom_instructions": focus });
        self.hooks(Event::PreCompact, &[trigger], fields).await
    }

    /// The conversation was compacted: what hooks add at a session's start is added again.
    pub async fn compacted_hooks(&self) {
        let outcome = self.start_hooks("compact").await;
        let texts = self.hook_texts(&outcome.context);
        self.state.hooks.add_pending(texts);
    }

    /// The user is asked something. Nothing waits for these hooks.
    pub fn notify_hooks(&self, kind: &'static str, message: String) {
        if self.state.hooks.found().hooks.is_empty() {
            return;
        }
        let cx = self.clone();
        tasks::spawn(async move {
            let fields = json!({ "message": message, "notification_type": kind });
            cx.hooks(Event::Notification, &[kind], fields).await;
        });
    }

    /// Context from hooks as the model reads it.
    pub fn hook_texts(&self, context: &[String]) -> Vec<String> {
        let texts = context.iter();
        texts
            .map(|text| self.hook_text("results/hook-context.md", text))
            .collect()
    }

    /// A hook's text in one of the texts for the model.
    pub fn hook_text(&self, name: &str, text: &str) -> String {
        self.text(name, &[("text", &fence::block(&fence::prose(text)))])
    }
}

/// The input of a call: our arguments, and for a tool on files the canonical path of the first one.
pub fn tool_fields(id: &str, tool: &str, input: Value, facts: &[Fact]) -> Value {
    let paths: Vec<String> = facts.iter().filter_map(path).collect();
    let mut arguments = match input {
        Value::Object(arguments) => arguments,
        other => Map::from_iter([("input".to_owned(), other)]),
    };
    if let Some(path) = paths.first() {
        arguments.entry("file_path").or_insert_with(|| json!(path));
    }
    let names = tool_names(tool);
    json!({
        "tool_name": names.get(1).unwrap_or(&tool),
        "tool_input": arguments,
        "tool_use_id": id,
        "interline": { "tool": tool, "paths": paths },
    })
}

fn path(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Path { located, .. } => Some(located.path.display().to_string()),
        _ => None,
    }
}

/// A tool's own name and its other names.
fn tool_names(tool: &str) -> Vec<&str> {
    let other = OTHER_NAMES.iter().find(|(own, _)| *own == tool);
    let other = other.map_or(&[][..], |(_, names)| names);
    std::iter::once(tool).chain(other.iter().copied()).collect()
}
