//! Completions from servers while the user types: their prompts, and values for a prompt's
//! arguments. Only running servers are asked, with a short time limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rmcp::model::CompletionContext;

use super::Servers;
use super::server::Phase;
use crate::prompt::fence;

/// How long a server may take.
const TIME: Duration = Duration::from_secs(3);
/// Most values of one answer, and characters of each.
const VALUES: usize = 100;
const LONG: usize = 300;

/// A prompt that the user can pick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptChoice {
    pub server: String,
    pub name: String,
    pub description: String,
    /// Optional ones end in `?`.
    pub arguments: Vec<String>,
}

impl PromptChoice {
    /// As the user types it.
    pub fn label(&self) -> String {
        format!("{}:{}", self.server, self.name)
    }
}

impl Servers {
    /// The prompts of the folder's servers, as last listed.
    pub fn prompts(&self, cwd: &Path) -> Vec<PromptChoice> {
        let mut all = Vec::new();
        for server in self.servers(cwd) {
            let catalog = server.catalog();
            // The user can only pick a prompt that can be typed.
            let plain = catalog.prompts.iter().filter(|it| shown(&it.name));
            all.extend(plain.map(|prompt| {
                PromptChoice {
                    server: server.settings.name.clone(),
                    name: prompt.name.clone(),
                    description: fence::name(&prompt.description),
                    arguments: prompt
                        .arguments
                        .iter()
                        .filter(|(name, _)| shown(name))
                        .map(|(name, required)| match required {
                            true => name.clone(),
                            false => format!("{name}?"),
                        })
                        .collect(),
                }
            }));
        }
        all
    }

    /// Values that the server proposes for an argument that begins with `typed`. Empty if it does
    /// not run, has no completions or does not answer in time.
    pub async fn complete(
        &self,
        cwd: &Path,
        prompt: &PromptChoice,
        argument: &str,
        typed: &str,
        given: BTreeMap<String, String>,
    ) -> Vec<String> {
        let servers = self.servers(cwd);
        let named = servers.iter().find(|it| it.settings.name == prompt.server);
        let Some(server) = named.filter(|it| it.phase() == Phase::Ready) else {
            return Vec::new();
        };
        let asked = async {
            let live = server.live(TIME).await.ok()?;
            let context = CompletionContext::with_arguments(given.into_iter().collect());
            let (name, context) = (prompt.name.as_str(), Some(context));
            let peer = &live.peer;
            let answer = peer.complete_prompt_argument(name, argument, typed, context);
            answer.await.ok()
        };
        let answer = tokio::time::timeout(TIME, asked).await.ok().flatten();
        let values = answer.map(|answer| answer.values).unwrap_or_default();
        let mut values: Vec<String> = values.into_iter().filter(|it| shown(it)).collect();
        values.truncate(VALUES);
        values
    }
}

/// Whether the user sees all of it, on one line.
fn shown(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= LONG && fence::line(text) == text
}
