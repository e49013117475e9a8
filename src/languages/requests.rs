//! A question as the request of LSP that answers it, and the server's answer in the form of
//! `interline/editor/query`.

use serde_json::{Value, json};

use super::Question;
use super::live::Live;
use crate::host::{EditorAnswer, QueryKind, QueryStatus};
use crate::rpc::RpcError;
use crate::workspace::text;

/// Most code actions whose edit is asked for.
const ACTIONS: usize = 20;
/// When a server that is still indexing is asked again.
const AGAIN: u64 = 300;
/// LSP: the server's text changed meanwhile, or it gave up in favour of other work.
const CONTENT_MODIFIED: i64 = -32801;
const SERVER_CANCELLED: i64 = -32802;

/// Asks one server.
pub(super) async fn ask(
    live: &Live,
    uri: &str,
    question: &Question,
) -> Result<EditorAnswer, RpcError> {
    if question.kind == QueryKind::Diagnostics {
        return diagnostics(live, uri).await;
    }
    let (method, capability) = method(question.kind);
    if !provides(&live.capabilities, capability) {
        return Ok(EditorAnswer::unsupported(
            "the language server lacks this request",
        ));
    }
    let result = live
        .connection
        .request(method, params(live, uri, question))
        .await;
    let result = match result {
        Err(RpcError::Answered { code, .. })
            if [CONTENT_MODIFIED, SERVER_CANCELLED].contains(&code)
                || live.connection.is_working() =>
        {
            return Ok(EditorAnswer::starting(AGAIN));
        }
        result => result?,
    };
    let mut answer = match question.kind {
        QueryKind::Rename => renamed(result),
        QueryKind::CodeActions => EditorAnswer::ok(actions(live, &result).await?),
        QueryKind::Definition | QueryKind::References => EditorAnswer::ok(locations(&result)),
        QueryKind::Hover => EditorAnswer::ok(hover(&result)),
        _ => EditorAnswer::ok(symbols(&result)),
    };
    // What a server says while it indexes may be incomplete.
    if live.connection.is_working() {
        return Ok(EditorAnswer::starting(AGAIN));
    }
    if answer.status == QueryStatus::Ok {
        answer.version = live.version(uri);
    }
    Ok(answer)
}

fn method(kind: QueryKind) -> (&'static str, &'static str) {
    match kind {
        QueryKind::Definition => ("textDocument/definition", "definitionProvider"),
        QueryKind::References => ("textDocument/references", "referencesProvider"),
        QueryKind::Hover => ("textDocument/hover", "hoverProvider"),
        QueryKind::DocumentSymbols => ("textDocument/documentSymbol", "documentSymbolProvider"),
        QueryKind::WorkspaceSymbols => ("workspace/symbol", "workspaceSymbolProvider"),
        QueryKind::Rename => ("textDocument/rename", "renameProvider"),
        QueryKind::CodeActions => ("textDocument/codeAction", "codeActionProvider"),
        QueryKind::Diagnostics => ("textDocument/diagnostic", "diagnosticProvider"),
    }
}

fn provides(capabilities: &Value, name: &str) -> bool {
    !matches!(capabilities[name], Value::Null | Value::Bool(false))
}

fn params(live: &Live, uri: &str, question: &Question) -> Value {
    let document = json!({ "uri": uri });
    let place = |offset| json!(text::position(&question.rope, offset, live.encoding));
    let range = question.range.clone().unwrap_or_default();
    let start = place(range.start);
    match question.kind {
        QueryKind::References => json!({
            "textDocument": document, "position": start,
            "context": { "includeDeclaration": true },
        }),
        QueryKind::DocumentSymbols => json!({ "textDocument": document }),
        QueryKind::WorkspaceSymbols => json!({ "query": question.query }),
        QueryKind::Rename => json!({
            "textDocument": document, "position": start, "newName": question.new_name,
        }),
        QueryKind::CodeActions => {
            let published = live.connection.published();
            let known = published.get(uri).map(|it| it.diagnostics.clone());
            let mut known = known.unwrap_or_default();
            let end = place(range.end);
            let line = |place: &Value| place["line"].as_u64().unwrap_or_default();
            known.retain(|it| {
                let (from, to) = (line(&it["range"]["start"]), line(&it["range"]["end"]));
                from <= line(&end) && line(&start) <= to
            });
            json!({
                "textDocument": document, "range": { "start": start, "end": end },
                "context": { "diagnostics": known, "triggerKind": 1 },
            })
        }
        _ => json!({ "textDocument": document, "position": start }),
    }
}

/// What the server says now, or what it published.
async fn diagnostics(live: &Live, uri: &str) -> Result<EditorAnswer, RpcError> {
    let (method, capability) = method(QueryKind::Diagnostics);
    if provides(&live.capabilities, capability) {
        let params = json!({ "textDocument": { "uri": uri } });
        let result = live.connection.request(method, params).await?;
        let found = result["items"].clone();
        let version = live.version(uri);
        let item = json!({ "uri": uri, "version": version, "diagnostics": found });
        return Ok(EditorAnswer::ok(vec![item]));
    }
    let published = live.connection.published();
    let Some(found) = published.get(uri) else {
        // A server that publishes does so soon after it has seen the text.
        return Ok(EditorAnswer::starting(AGAIN));
    };
    if found.version.is_some() && found.version < live.version(uri) {
        return Ok(EditorAnswer::starting(AGAIN));
    }
    let item = json!({
        "uri": uri, "version": found.version, "diagnostics": found.diagnostics,
    });
    Ok(EditorAnswer::ok(vec![item]))
}

fn renamed(result: Value) -> EditorAnswer {
    match result.is_null() {
        true => EditorAnswer::error("the language server renames nothing there"),
        false => EditorAnswer {
            edit: Some(result),
            ..EditorAnswer::ok(Vec::new())
        },
    }
}

/// `Location | Location[] | LocationLink[]`.
fn locations(result: &Value) -> Vec<Value> {
    let one = |it: &Value| match it.get("targetUri") {
        Some(uri) => json!({ "uri": uri, "range": it["targetSelectionRange"] }),
        None => json!({ "uri": it["uri"], "range": it["range"] }),
    };
    match result {
        Value::Array(all) => all.iter().map(one).collect(),
        Value::Null => Vec::new(),
        single => vec![one(single)],
    }
}

/// `MarkupContent | MarkedString | MarkedString[]`.
fn hover(result: &Value) -> Vec<Value> {
    let text = |it: &Value| match (it.as_str(), it["language"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(language)) => {
            format!(
                "```{language}\n{}\n```",
                it["value"].as_str().unwrap_or_default()
            )
        }
        (None, None) => it["value"].as_str().unwrap_or_default().to_owned(),
    };
    let contents = match &result["contents"] {
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join("\n\n"),
        single => text(single),
    };
    match contents.trim().is_empty() {
        true => Vec::new(),
        false => vec![json!({ "contents": contents })],
    }
}

/// Symbols of a document or of the workspace, flattened.
fn symbols(result: &Value) -> Vec<Value> {
    fn add(all: &[Value], container: Option<&str>, out: &mut Vec<Value>) {
        for one in all {
            let within = container.or_else(|| one["containerName"].as_str());
            let mut item = json!({ "name": one["name"], "kind": one["kind"] });
            if let Some(within) = within.filter(|within| !within.is_empty()) {
                item["container"] = within.into();
            }
            match one.get("location") {
                Some(location) => {
                    item["uri"] = location["uri"].clone();
                    item["range"] = location["range"].clone();
                }
                None => {
                    item["range"] = one["range"].clone();
                    item["selectionRange"] = one["selectionRange"].clone();
                }
            }
            out.push(item);
            if let Some(children) = one["children"].as_array() {
                add(children, one["name"].as_str(), out);
            }
        }
    }
    let mut out = Vec::new();
    add(
        result.as_array().map_or(&[][..], Vec::as_slice),
        None,
        &mut out,
    );
    out
}

/// The actions that have an edit, or get one when they are resolved.
async fn actions(live: &Live, result: &Value) -> Result<Vec<Value>, RpcError> {
    let resolves = live.capabilities["codeActionProvider"]["resolveProvider"] == true;
    let mut items = Vec::new();
    for action in result.as_array().into_iter().flatten().take(ACTIONS) {
        if action.get("disabled").is_some() {
            continue;
        }
        let mut action = action.clone();
        if action.get("edit").is_none() && resolves && action.get("data").is_some() {
            let params = action.clone();
            action = live
                .connection
                .request("codeAction/resolve", params)
                .await?;
        }
        if action.get("edit").is_some_and(|edit| !edit.is_null()) {
            items.push(json!({
                "title": action["title"], "kind": action["kind"],
                "preferred": action["isPreferred"] == true, "edit": action["edit"],
            }));
        }
    }
    Ok(items)
}
