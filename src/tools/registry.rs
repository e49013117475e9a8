//! All tools by name, and what the prompt says about them.

use std::sync::Arc;

use super::{
    Tool, apply_patch, ask_user, code_action, current_time, delegate, diagnostics, edit, exec,
    glob, grep, knowledge_search, list, load_skill, lookup, memory_search, projects, read,
    rename_symbol, save_memory, self_profile, self_skills, send_file, settings, show_image,
    web_fetch, write, write_todos,
};
use crate::conversation::{self, ToolFacts};
use crate::prompt::Texts;

/// The tools of a process, sorted by name. Registering a name again replaces the tool.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// The built-in tools.
    pub fn built_in() -> Self {
        let mut registry = Self::default();
        registry.register(Arc::new(apply_patch::ApplyPatch));
        registry.register(Arc::new(ask_user::AskUser));
        registry.register(Arc::new(code_action::CodeAction));
        registry.register(Arc::new(current_time::CurrentTime));
        registry.register(Arc::new(delegate::Delegate));
        registry.register(Arc::new(diagnostics::Diagnostics));
        registry.register(Arc::new(edit::Edit));
        registry.register(Arc::new(exec::Exec));
        registry.register(Arc::new(glob::Glob));
        registry.register(Arc::new(grep::Grep));
        registry.register(Arc::new(knowledge_search::KnowledgeSearch));
        registry.register(Arc::new(list::List));
        registry.register(Arc::new(load_skill::LoadSkill));
        registry.register(Arc::new(lookup::Lookup));
        registry.register(Arc::new(memory_search::MemorySearch));
        registry.register(Arc::new(projects::ProjectCreate));
        registry.register(Arc::new(projects::ProjectGlob));
        registry.register(Arc::new(projects::ProjectList));
        registry.register(Arc::new(projects::ProjectRead));
        registry.register(Arc::new(projects::ProjectWrite));
        registry.register(Arc::new(read::Read));
        registry.register(Arc::new(rename_symbol::RenameSymbol));
        registry.register(Arc::new(save_memory::SaveMemory));
        registry.register(Arc::new(self_profile::SelfDeleteEnv));
        registry.register(Arc::new(self_profile::SelfRename));
        registry.register(Arc::new(self_profile::SelfSetEnv));
        registry.register(Arc::new(self_profile::SelfUpdateSoul));
        registry.register(Arc::new(self_skills::SelfInstallSkill));
        registry.register(Arc::new(self_skills::SelfListSkills));
        registry.register(Arc::new(self_skills::SelfUninstallSkill));
        registry.register(Arc::new(send_file::SendFile));
        registry.register(Arc::new(settings::Settings));
        registry.register(Arc::new(show_image::ShowImage));
        registry.register(Arc::new(web_fetch::WebFetch));
        registry.register(Arc::new(write::Write));
        registry.register(Arc::new(write_todos::WriteTodos));
        registry
    }

    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        let place = self
            .tools
            .binary_search_by(|known| known.name().cmp(tool.name()));
        match place {
            Ok(index) => self.tools[index] = tool,
            Err(index) => self.tools.insert(index, tool),
        }
    }

    /// The tools for which `wanted` is true.
    pub fn only(&self, wanted: impl Fn(&dyn Tool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| wanted(tool.as_ref()));
        Self {
            tools: tools.cloned().collect(),
        }
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name).cloned()
    }

    pub fn names(&self) -> Vec<String> {
        let names = self.tools.iter().map(|tool| tool.name().to_owned());
        names.collect()
    }

    /// The tools as the prompt describes them, sorted by name.
    pub fn facts(&self, texts: &Texts) -> Vec<ToolFacts> {
        self.tools
            .iter()
            .map(|tool| ToolFacts {
                spec: conversation::ToolSpec {
                    name: tool.name().to_owned(),
                    description: tool.description(texts),
                    input_schema: tool.schema(texts),
                },
                tier: tool.spec().tier,
                changes: tool.spec().changes,
                serves: tool.serves().map(str::to_owned),
                of_client: tool.of_client(),
            })
            .collect()
    }
}
