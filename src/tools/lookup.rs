//! `lookup`: asks the language servers where something is defined or used, and what it is.

mod answers;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;

use super::language::{self, Symbol};
use super::{
    BuiltIn, LANGUAGES, Preparation, Prepared, ToolContext, ToolOutput, ToolResult, ToolSpec,
    target,
};
use crate::conversation::Tier;
use crate::host::QueryKind;
use crate::languages::Question;
use crate::workspace::Located;

pub struct Lookup;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum What {
    Definition,
    References,
    Hover,
    DocumentSymbols,
    WorkspaceSymbols,
    CodeActions,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What to look up
    what: What,
    /// The file; for `workspaceSymbols` any file of the language
    path: String,
    /// Line of the symbol, counted from 1
    #[cfg_attr(test, schemars(range(min = 1)))]
    line: Option<u32>,
    /// The symbol exactly as on that line; for `workspaceSymbols` a part of the name
    symbol: Option<String>,
    /// Which one, if the symbol is on the line more than once
    #[cfg_attr(test, schemars(range(min = 1)))]
    occurrence: Option<u32>,
}

impl What {
    fn kind(self) -> QueryKind {
        match self {
            Self::Definition => QueryKind::Definition,
            Self::References => QueryKind::References,
            Self::Hover => QueryKind::Hover,
            Self::DocumentSymbols => QueryKind::DocumentSymbols,
            Self::WorkspaceSymbols => QueryKind::WorkspaceSymbols,
            Self::CodeActions => QueryKind::CodeActions,
        }
    }

    /// The arguments that it needs besides the path.
    fn lacks(self, arguments: &Arguments) -> Option<&'static str> {
        let (line, symbol) = (arguments.line.is_none(), arguments.symbol.is_none());
        match self {
            Self::DocumentSymbols => None,
            Self::WorkspaceSymbols => symbol.then_some("`symbol`"),
            Self::CodeActions => line.then_some("`line`"),
            _ => (line || symbol).then_some("`line` and `symbol`"),
        }
    }
}

#[async_trait]
impl BuiltIn for Lookup {
    const NAME: &'static str = "lookup";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).needs(LANGUAGES);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        if let Some(needed) = arguments.what.lacks(&arguments) {
            let problem = format!("this lookup needs {needed}");
            return Err(cx.error(
                "results/arguments-wrong.md",
                &[("tool", &Self::NAME), ("problem", &problem)],
            ));
        }
        let located = target::locate(cx, &arguments.path)?;
        let shown = located.display(&cx.workspace);
        let title = match &arguments.symbol {
            Some(symbol) => format!("Look up {symbol} in {shown}"),
            None => format!("Look up symbols of {shown}"),
        };
        let place = located.clone();
        Ok(Prepared::reading(title, &place, |cx| {
            run(cx, located, arguments).boxed()
        }))
    }
}

async fn run(cx: &ToolContext, located: Located, arguments: Arguments) -> ToolResult {
    let rope = language::current_text(cx, &located).await?;
    let what = arguments.what;
    let symbol = arguments.symbol.as_deref().unwrap_or_default();
    let range = match (what, arguments.line) {
        (What::DocumentSymbols | What::WorkspaceSymbols, _) | (_, None) => None,
        (What::CodeActions, Some(line)) if symbol.is_empty() => {
            Some(language::whole_line(cx, &rope, line)?)
        }
        (_, Some(line)) => {
            let occurrence = arguments.occurrence;
            let symbol = Symbol {
                line,
                name: symbol,
                occurrence,
            };
            Some(language::find(cx, &located, &rope, &symbol)?)
        }
    };
    let question = Question {
        range,
        query: (what == What::WorkspaceSymbols).then(|| symbol.to_owned()),
        ..Question::new(what.kind(), located.clone(), rope)
    };
    let answer = language::ask(cx, &question).await?;
    let items = answer.answer.items;
    let output = match what {
        What::Definition | What::References => {
            answers::locations(cx, items, what == What::References).await?
        }
        What::Hover => answers::hover(cx, &items),
        What::DocumentSymbols => answers::document_symbols(cx, &question.rope, items),
        What::WorkspaceSymbols => answers::workspace_symbols(cx, items).await?,
        What::CodeActions => answers::code_actions(cx, &items),
    };
    Ok(output.unwrap_or_else(|| {
        let path = target::display_name(cx, &located);
        ToolOutput::text(cx.text("results/lookup-nothing.md", &[("path", &path)]))
    }))
}
