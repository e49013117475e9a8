//! Answers of language servers as the model reads them: at most [`MOST`] lines, none of files that
//! searches leave out, quoted from the editor's text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use crate::edit::Lanes;
use crate::env::order;
use crate::host::Access;
use crate::policy::{Decision, Fact, Policy, Reason, decide};
use crate::prompt::fence;
use crate::tools::language::{line, shortened};
use crate::tools::{ToolContext, ToolError, ToolOutput};
use crate::workspace::search::{Shown, Visibility as _};
use crate::workspace::{Located, Range, Workspace, beneath, files};

/// Most lines of an answer.
const MOST: usize = 100;
/// Bytes of a hover text.
const HOVER: usize = 8 * 1024;

#[derive(Deserialize)]
struct Location {
    uri: String,
    range: Range,
}

#[derive(Deserialize)]
struct Symbol {
    name: String,
    #[serde(default)]
    kind: u8,
    #[serde(default)]
    uri: String,
    range: Range,
    #[serde(default, rename = "selectionRange")]
    selection: Option<Range>,
    #[serde(default)]
    container: Option<String>,
}

/// Lines, how many results were left out because of their file, and how many beyond [`MOST`].
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    hidden: usize,
    more: usize,
}

impl Lines {
    fn push(&mut self, line: String) {
        match self.lines.len() < MOST {
            true => self.lines.push(line),
            false => self.more += 1,
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(items: Vec<Value>) -> Vec<T> {
    let items = items.into_iter().map(serde_json::from_value);
    items.flatten().collect()
}

/// `path:line:text`; `None` without any.
pub(super) async fn locations(
    cx: &ToolContext,
    items: Vec<Value>,
    sorted: bool,
) -> Result<Option<ToolOutput>, ToolError> {
    let mut found: Vec<Location> = read(items);
    if sorted {
        order::sort_by(&mut found, |a, b| {
            (&a.uri, a.range.start.line).cmp(&(&b.uri, b.range.start.line))
        });
    }
    let wanted = found.into_iter().map(|it| (it.uri, it.range, None));
    quoted(cx, wanted.collect()).await
}

/// `path:line: kind name:text`.
pub(super) async fn workspace_symbols(
    cx: &ToolContext,
    items: Vec<Value>,
) -> Result<Option<ToolOutput>, ToolError> {
    let found: Vec<Symbol> = read(items);
    let wanted = found.into_iter().map(|it| {
        let named = named(&it);
        (it.uri, it.range, Some(named))
    });
    quoted(cx, wanted.collect()).await
}

pub(super) fn document_symbols(
    cx: &ToolContext,
    rope: &Rope,
    items: Vec<Value>,
) -> Option<ToolOutput> {
    let found: Vec<Symbol> = read(items);
    let mut lines = Lines::default();
    for it in &found {
        let place = it.selection.unwrap_or(it.range).start.line as usize;
        let text = line(rope, place).unwrap_or_default();
        let text = shortened(text.trim_start());
        lines.push(format!("{}: {}: {text}", place + 1, named(it)));
    }
    output(cx, lines)
}

pub(super) fn hover(cx: &ToolContext, items: &[Value]) -> Option<ToolOutput> {
    let contents = items.iter().filter_map(|it| it["contents"].as_str());
    let text = contents.collect::<Vec<_>>().join("\n\n");
    let mut text = fence::visible(text.trim());
    let whole = text.len();
    text.truncate(text.floor_char_boundary(HOVER));
    let block = fence::block(&text);
    (whole > 0).then(|| ToolOutput {
        truncated: text.len() < whole,
        ..ToolOutput::text(cx.text("results/lookup-hover.md", &[("text", &block)]))
    })
}

/// Numbered titles, for `code_action`.
pub(super) fn code_actions(cx: &ToolContext, items: &[Value]) -> Option<ToolOutput> {
    let titles = items.iter().filter_map(|it| it["title"].as_str());
    let titles: Vec<String> = (1..)
        .zip(titles.take(MOST))
        .map(|(number, title)| format!("{number}. {}", fence::line(title)))
        .collect();
    let list = titles.join("\n");
    (!titles.is_empty())
        .then(|| ToolOutput::text(cx.text("results/lookup-actions.md", &[("list", &list)])))
}

fn named(symbol: &Symbol) -> String {
    let name = fence::line(&symbol.name);
    let kind = kind(symbol.kind);
    match symbol.container.as_deref().filter(|it| !it.is_empty()) {
        Some(container) => format!("{kind} {name} in {}", fence::line(container)),
        None => format!("{kind} {name}"),
    }
}

/// LSP's kinds of symbols.
fn kind(number: u8) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    let place = usize::from(number).checked_sub(1);
    place
        .and_then(|place| KINDS.get(place))
        .unwrap_or(&"symbol")
}

/// URI and range, and what stands before the text.
type Wanted = (String, Range, Option<String>);

async fn quoted(cx: &ToolContext, wanted: Vec<Wanted>) -> Result<Option<ToolOutput>, ToolError> {
    cx.host.refresh_files(&cx.session).await;
    let quoter = Quoter {
        workspace: Arc::clone(&cx.workspace),
        lanes: Arc::clone(&cx.lanes),
        policy: cx.policy.clone(),
    };
    let cwd = cx.cwd.clone();
    let lines = cx.blocking(move || quoter.lines(&cwd, wanted)).await?;
    Ok(output(cx, lines))
}

fn output(cx: &ToolContext, found: Lines) -> Option<ToolOutput> {
    let Lines {
        mut lines,
        hidden,
        more,
    } = found;
    if hidden > 0 {
        lines.push(cx.text("results/lookup-hidden.md", &[("count", &hidden)]));
    }
    if more > 0 {
        lines.push(cx.text("results/lookup-more.md", &[("count", &more)]));
    }
    (!lines.is_empty()).then(|| ToolOutput {
        truncated: more > 0,
        ..ToolOutput::text(lines.join("\n"))
    })
}

/// Reads the lines that an answer names.
struct Quoter {
    workspace: Arc<Workspace>,
    lanes: Arc<Lanes>,
    policy: Policy,
}

/// What may be shown of a file.
enum May {
    Nothing,
    /// It is outside the roots: only where it is.
    Place(String),
    Text(String, Option<Rope>),
}

impl Quoter {
    fn lines(&self, cwd: &Path, wanted: Vec<Wanted>) -> Lines {
        let mut shown = Shown::new(&self.workspace, &self.policy);
        let mut files: BTreeMap<String, May> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut found = Lines::default();
        for (uri, range, named) in wanted {
            let at = range.start.line as usize;
            if !seen.insert((uri.clone(), at, named.clone())) {
                continue;
            }
            let may = files
                .entry(uri)
                .or_insert_with_key(|uri| self.may(cwd, uri, &mut shown));
            let named = named.map_or(String::new(), |named| format!(" {named}: "));
            match may {
                May::Nothing => found.hidden += 1,
                May::Place(path) => found.push(format!("{path}:{}:{named}", at + 1)),
                May::Text(path, rope) => {
                    let text = rope.as_ref().and_then(|rope| line(rope, at));
                    let text = shortened(&text.unwrap_or_default());
                    found.push(format!("{path}:{}:{named}{text}", at + 1));
                }
            }
        }
        found
    }

    fn may(&self, cwd: &Path, uri: &str, shown: &mut Shown<'_>) -> May {
        let Ok(located) = beneath::locate(&self.workspace, cwd, uri) else {
            return May::Nothing;
        };
        let path = located.path.strip_prefix(cwd).unwrap_or(&located.path);
        let path = path.display().to_string();
        let fact = Fact::Path {
            located: located.clone(),
            access: Access::Read,
        };
        match decide(&self.policy, &[fact]) {
            Decision::Allow(_) if shown.shows(&located) => May::Text(path, self.text(&located)),
            Decision::Ask {
                reason: Reason::OutsideRoots | Reason::ThroughLink,
                ..
            } if self.policy.visible(&located.path) => May::Place(path),
            _ => May::Nothing,
        }
    }

    fn text(&self, located: &Located) -> Option<Rope> {
        let held = self.lanes.held_text(&located.key());
        held.or_else(|| Some(files::read(&self.workspace, located).ok()?.rope))
    }
}
