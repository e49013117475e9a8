//! `rename_symbol`: a language server's rename, made through the lanes of its documents.

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

pub struct RenameSymbol;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A file with the symbol
    path: String,
    /// Its line, counted from 1
    #[cfg_attr(test, schemars(range(min = 1)))]
    line: u32,
    /// The name now, exactly as on that line
    symbol: String,
    /// The new name
    new_name: String,
    /// Which one, if the symbol is on the line more than once
    #[cfg_attr(test, schemars(range(min = 1)))]
    occurrence: Option<u32>,
}

#[async_trait]
impl BuiltIn for RenameSymbol {
    const NAME: &'static str = "rename_symbol";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).changes().needs(LANGUAGES);
    type Arguments = Arguments;

    /// Which files it changes is known only when it is prepared.
    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::alone()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let new_name = arguments.new_name.trim();
        if new_name.is_empty() || new_name.chars().any(char::is_control) {
            let problem = "`new_name`: it is not a name";
            return Err(cx.error(
                "results/arguments-wrong.md",
                &[("tool", &Self::NAME), ("problem", &problem)],
            ));
        }
        let located = target::locate(cx, &arguments.path)?;
        let rope = language::readable_text(cx, &located).await?;
        let symbol = Symbol {
            line: arguments.line,
            name: &arguments.symbol,
            occurrence: arguments.occurrence,
        };
        let range = language::find(cx, &located, &rope, &symbol)?;
        let question = Question {
            range: Some(range),
            new_name: Some(new_name.to_owned()),
            ..Question::new(QueryKind::Rename, located.clone(), rope)
        };
        let answer = language::ask(cx, &question).await?;
        let edit = answer.answer.edit.clone().unwrap_or_default();
        let planned = workspace_edit::plan(cx, &answer, &edit, &located).await?;
        let title = format!("Rename {} to {new_name}", arguments.symbol);
        Ok(workspace_edit::prepared(cx, &title, planned))
    }
}
