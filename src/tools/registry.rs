//! All tools by name, and their specifications in the order they are sent.

use std::sync::Arc;

use super::{Tool, edit, exec, glob, grep, list, read, write};
use crate::conversation::ToolSpec;
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
        registry.register(Arc::new(edit::Edit));
        registry.register(Arc::new(exec::Exec));
        registry.register(Arc::new(glob::Glob));
        registry.register(Arc::new(grep::Grep));
        registry.register(Arc::new(list::List));
        registry.register(Arc::new(read::Read));
        registry.register(Arc::new(write::Write));
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

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name).cloned()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }

    /// Specifications sorted by name, descriptions from `prompts/tools/`.
    pub fn specs(&self, texts: &Texts) -> Vec<ToolSpec> {
        self.tools
            .iter()
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: texts
                    .get(&format!("tools/{}.md", tool.name()))
                    .unwrap_or_default()
                    .to_owned(),
                input_schema: tool.schema(),
            })
            .collect()
    }
}
