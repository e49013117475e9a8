//! All tools by name, and what the prompt knows of them.

use std::sync::Arc;

use super::{
    Tool, ask_user, current_time, delegate, edit, exec, glob, grep, knowledge_search, list,
    load_skill, memory_search, project_create, project_glob, project_list, project_read,
    project_write, read, save_memory, self_delete_env, self_install_skill, self_list_skills,
    self_rename, self_set_env, self_uninstall_skill, self_update_soul, send_file, settings,
    show_image, web_fetch, write, write_todos,
};
use crate::conversation::{ToolFacts, ToolSpec};
use crate::prompt::Texts;

/// The tools of a process, sorted by name. Registering a name twice replaces.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// The tools that are built.
    pub fn built_in() -> Self {
        let mut registry = Self::default();
        registry.register(Arc::new(ask_user::AskUser));
        registry.register(Arc::new(current_time::CurrentTime));
        registry.register(Arc::new(delegate::Delegate));
        registry.register(Arc::new(edit::Edit));
        registry.register(Arc::new(exec::Exec));
        registry.register(Arc::new(glob::Glob));
        registry.register(Arc::new(grep::Grep));
        registry.register(Arc::new(knowledge_search::KnowledgeSearch));
        registry.register(Arc::new(list::List));
        registry.register(Arc::new(load_skill::LoadSkill));
        registry.register(Arc::new(memory_search::MemorySearch));
        registry.register(Arc::new(project_create::ProjectCreate));
        registry.register(Arc::new(project_glob::ProjectGlob));
        registry.register(Arc::new(project_list::ProjectList));
        registry.register(Arc::new(project_read::ProjectRead));
        registry.register(Arc::new(project_write::ProjectWrite));
        registry.register(Arc::new(read::Read));
        registry.register(Arc::new(save_memory::SaveMemory));
        registry.register(Arc::new(self_delete_env::SelfDeleteEnv));
        registry.register(Arc::new(self_install_skill::SelfInstallSkill));
        registry.register(Arc::new(self_list_skills::SelfListSkills));
        registry.register(Arc::new(self_rename::SelfRename));
        registry.register(Arc::new(self_set_env::SelfSetEnv));
        registry.register(Arc::new(self_uninstall_skill::SelfUninstallSkill));
        registry.register(Arc::new(self_update_soul::SelfUpdateSoul));
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

    /// The tools that are wanted.
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

    /// The tools as the prompt knows them, sorted by name; descriptions from `prompts/tools/`.
    pub fn facts(&self, texts: &Texts) -> Vec<ToolFacts> {
        self.tools
            .iter()
            .map(|tool| ToolFacts {
                spec: ToolSpec {
                    name: tool.name().to_owned(),
                    description: tool.description(texts),
                    input_schema: tool.schema(),
                },
                tier: tool.tier(),
                changes: tool.changes(),
                serves: tool.serves().map(str::to_owned),
                of_client: tool.of_client(),
            })
            .collect()
    }
}
