//! `code_action`: applies a language server's code action that is an edit.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

use super::language::{self, Symbol};
use super::{
    BuiltIn, LANGUAGES, Preparation, Targets, ToolContext, ToolSpec, target, workspace_edit,
};
use crate::conversation::Tier;
use crate::host::QueryKind;
use crate::languages::Question;
use crate::prompt::fence;

pub struct CodeAction;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file
    path: String,
    /// The line, counted from 1
    #[cfg_attr(test, schemars(range(min = 1)))]
    line: u32,
    /// The title exactly as `lookup` lists it
    title: String,
    /// A symbol on that line, if `lookup` was asked about one
    symbol: Option<String>,
    /// Which one, if the symbol is on the line more than once
    #[cfg_attr(test, schemars(range(min = 1)))]
    occurrence: Option<u32>,
}

#[async_trait]
impl BuiltIn for CodeAction {
    const NAME: &'static str = "code_action";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).changes().needs(LANGUAGES);
    type Arguments = Arguments;

    /// Which files it changes is known only when it is prepared.
    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::alone()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let located = target::locate(cx, &arguments.path)?;
        let rope = language::readable_text(cx, &located).await?;
        let line = arguments.line;
        let range = match &arguments.symbol {
            None => language::whole_line(cx, &rope, line)?,
            Some(name) => {
                let occurrence = arguments.occurrence;
                let symbol = Symbol {
                    line,
                    name,
                    occurrence,
                };
                language::find(cx, &located, &rope, &symbol)?
            }
        };
        let question = Question {
            range: Some(range),
            ..Question::new(QueryKind::CodeActions, located.clone(), rope)
        };
        let answer = language::ask(cx, &question).await?;
        let path = target::display_name(cx, &located);
        let actions = &answer.answer.items;
        let title = fence::line(&arguments.title);
        let titled = |it: &&Value| it["title"].as_str().map(fence::line) == Some(title.clone());
        let Some(action) = actions.iter().find(titled) else {
            let titles = actions.iter().filter_map(|it| it["title"].as_str());
            let list: Vec<String> = titles.map(fence::line).collect();
            let list = list.join("\n");
            return Err(match list.is_empty() {
                true => cx.error(
                    "results/code-action-none.md",
                    &[("path", &path), ("line", &line)],
                ),
                false => cx.error(
                    "results/code-action-unknown.md",
                    &[("path", &path), ("line", &line), ("list", &list)],
                ),
            });
        };
        let planned = workspace_edit::plan(cx, &answer, &action["edit"], &located).await?;
        Ok(workspace_edit::prepared(cx, &title, planned))
    }
}
