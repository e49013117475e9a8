//! protocol.md against the program, in both directions, and the conversions.

mod wire;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::backend::REQUESTS;
use super::capabilities::Client;
use super::commands::{self, COMMANDS};
use super::ext::{ClientOffer, Direction, METHODS, ServerOffer};
use super::{from_proto, schema, to_proto};
use crate::config::keys;
use crate::conversation::{Failure, FailureKind};
use crate::host::{EditRequest, TextEdit};
use crate::workspace::{Encoding, Position, Range, Uri};

const PROTOCOL: &str = include_str!("../../protocol.md");

/// Marker → example, in the page's order.
fn examples() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut lines = PROTOCOL.lines();
    while let Some(line) = lines.next() {
        let marker = line
            .strip_prefix("<!-- ")
            .and_then(|m| m.strip_suffix(" -->"));
        let Some(marker) = marker else { continue };
        assert_eq!(lines.next(), Some("```json"), "after {marker}");
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let value = serde_json::from_str(&body.join("\n"));
        let value = value.unwrap_or_else(|error| panic!("{marker}: {error}"));
        found.push((marker.to_owned(), value));
    }
    found
}

/// Every key of `part` is in `whole` with an equal value, so none was misspelt and ignored.
fn contained(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|other| contained(value, other))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| contained(a, b))
        }
        _ => part == whole,
    }
}

#[test]
fn every_example_in_protocol_md_is_fully_understood() {
    let mut examples: BTreeMap<String, Value> = examples().into_iter().collect();
    for method in METHODS {
        let shapes = [("params", Some(method.params)), ("result", method.result)];
        for (part, shape) in shapes {
            let marker = format!("{} {part}", method.name);
            let Some(shape) = shape else { continue };
            let example = examples.remove(&marker);
            let example = example.unwrap_or_else(|| panic!("no example of {marker}"));
            let read = (shape.understand)(&example).unwrap_or_else(|e| panic!("{marker}: {e}"));
            assert!(
                contained(&example, &read),
                "{marker}: {example} became {read}"
            );
        }
    }
    let client = Client::new(&examples.remove("initialize params").unwrap());
    assert!(client.document_changes && client.create_files && client.delete_files);
    assert!(client.offer.events && client.offer.approvals && client.encoding == Encoding::Utf8);
    let offer = examples.remove("capabilities client").unwrap();
    let read: ClientOffer = serde_json::from_value(offer.clone()).unwrap();
    assert!(contained(&offer, &json!(read)));
    let offer = examples.remove("capabilities server").unwrap();
    let read: ServerOffer = serde_json::from_value(offer.clone()).unwrap();
    assert_eq!(offer, json!(read));
    assert!(examples.remove("error").is_some());
    assert_eq!(
        examples,
        BTreeMap::new(),
        "examples of methods that are not"
    );
}

#[test]
fn protocol_md_has_a_heading_for_exactly_the_methods_in_table_order() {
    let headings: Vec<&str> = PROTOCOL
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(headings, names);
    let sections: Vec<&str> = PROTOCOL.split("\n### ").skip(1).collect();
    for (method, section) in METHODS.iter().zip(sections) {
        let body = section.split("\n## ").next().unwrap();
        let says = body.contains("\nNot built yet.");
        assert_eq!(says, !method.built, "{}", method.name);
    }
}

#[test]
fn exactly_the_built_requests_have_a_handler() {
    let built: BTreeSet<&str> = METHODS
        .iter()
        .filter(|method| method.direction == Direction::ClientRequest && method.built)
        .map(|method| method.name)
        .collect();
    assert_eq!(REQUESTS.iter().copied().collect::<BTreeSet<_>>(), built);
}

/// Cells of the page's tables whose first cell is code: first cell → the row.
fn rows() -> BTreeMap<&'static str, &'static str> {
    PROTOCOL
        .lines()
        .filter_map(|line| {
            let cell = line.strip_prefix("| `")?.split('`').next()?;
            Some((cell, line))
        })
        .collect()
}

#[test]
fn protocol_md_lists_every_command() {
    let rows = rows();
    let listed: BTreeSet<&str> = rows
        .keys()
        .copied()
        .filter(|cell| cell.starts_with("interline."))
        .collect();
    let names: BTreeSet<&str> = COMMANDS.iter().map(commands::Command::name).collect();
    assert_eq!(listed, names);
}

#[test]
fn protocol_md_lists_every_failure_with_its_code() {
    for kind in schema::tests::KINDS {
        let name = json!(kind);
        let row = format!("| {} | `{}` |", kind.code(), name.as_str().unwrap());
        assert!(PROTOCOL.contains(&row), "{row}");
    }
    assert_eq!(FailureKind::NotTrusted.code(), 4001);
    assert_eq!(FailureKind::Unsupported.code(), 4016);
}

#[test]
fn protocol_md_lists_exactly_the_settings() {
    let (_, settings) = PROTOCOL.split_once("\n## Settings\n").unwrap();
    let listed: BTreeSet<String> = settings
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned()))
        .collect();
    assert_eq!(listed, keys::paths().into_iter().collect());
}

#[test]
fn the_schema_has_every_method_with_types_that_resolve() {
    let schema: Value = serde_json::from_str(schema::DOCUMENT).unwrap();
    for method in METHODS {
        let entry = &schema["methods"][method.name];
        assert_eq!(entry["built"], method.built);
        assert_eq!(entry.get("result").is_some(), method.result.is_some());
    }
    fn references(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    out.insert(reference.clone());
                }
                fields.values().for_each(|value| references(value, out));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, out)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    references(&schema, &mut all);
    assert!(all.len() > 40, "{}", all.len());
    for reference in all {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(schema.pointer(pointer).is_some(), "{reference}");
    }
    let start = &schema["$defs"]["StartTurn"]["properties"];
    assert!(start["clientTurnId"].is_object());
    assert!(start.get("origin").is_none(), "a client cannot say it");
}

#[test]
fn a_failure_carries_code_kind_hint_and_retry_time() {
    let mut failure = Failure::new(FailureKind::RateLimited, "too fast", "wait");
    failure.retry_after_ms = Some(1500);
    let error = to_proto::error(failure);
    assert_eq!(error.code, 4008);
    assert_eq!(error.message, "Too fast. Wait.");
    assert_eq!(
        error.data,
        Some(json!({ "kind": "rateLimited", "hint": "Wait.", "retryAfterMs": 1500 }))
    );
    let error = to_proto::invalid_params("input: missing");
    assert_eq!(error.code, -32602);
    assert_eq!(error.data.unwrap()["kind"], "invalid");
}

fn edit(create: bool, version: Option<i32>) -> EditRequest {
    let at = Position {
        line: 1,
        character: 2,
    };
    EditRequest {
        session: "ses".into(),
        turn: "turn".into(),
        item: "item".into(),
        label: "Edit a.rs".to_owned(),
        uri: Uri::new("file:///W/a%20b.rs"),
        version,
        hash: "h".to_owned(),
        edits: vec![TextEdit {
            range: Range { start: at, end: at },
            new_text: "x".to_owned(),
        }],
        create,
        exact: false,
    }
}

#[test]
fn inv_3_an_edit_names_one_document_its_version_and_the_uri_as_the_client_wrote_it() {
    let client = client(json!({"documentChanges": true}));
    let sent = to_proto::apply_edit(&edit(false, Some(7)), &client);
    let at = json!({ "line": 1, "character": 2 });
    assert_eq!(
        sent,
        json!({
            "label": "Interline: Edit a.rs",
            "edit": { "documentChanges": [{
                "textDocument": { "uri": "file:///W/a%20b.rs", "version": 7 },
                "edits": [{ "range": { "start": at, "end": at }, "newText": "x" }],
            }] },
        })
    );
    let closed = to_proto::apply_edit(&edit(false, None), &client);
    assert_eq!(
        closed.pointer("/edit/documentChanges/0/textDocument/version"),
        Some(&Value::Null)
    );
}

#[test]
fn a_new_file_is_a_resource_operation_without_overwrite() {
    let sent = to_proto::apply_edit(&edit(true, None), &client(json!({})));
    assert_eq!(
        sent["edit"]["documentChanges"][0],
        json!({
            "kind": "create",
            "uri": "file:///W/a%20b.rs",
            "options": { "overwrite": false, "ignoreIfExists": false },
        })
    );
    assert_eq!(
        sent["edit"]["documentChanges"][1]["textDocument"]["version"],
        Value::Null
    );
}

#[test]
fn a_client_without_document_changes_gets_plain_changes_but_neovim_gets_versions() {
    let sent = to_proto::apply_edit(&edit(false, Some(7)), &client(json!({})));
    assert!(sent["edit"]["changes"]["file:///W/a%20b.rs"].is_array());
    let neovim = Client::new(&json!({ "clientInfo": { "name": "Neovim" } }));
    let sent = to_proto::apply_edit(&edit(false, Some(7)), &neovim);
    assert!(sent["edit"]["documentChanges"].is_array());
}

fn client(workspace_edit: Value) -> Client {
    Client::new(&json!({
        "capabilities": { "workspace": { "workspaceEdit": workspace_edit } }
    }))
}

#[test]
fn roots_come_from_folders_else_the_root_uri_else_the_root_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    let uri = Uri::from_path(&path);
    let missing = format!("{uri}/missing");
    for params in [
        json!({ "workspaceFolders": [{ "uri": missing, "name": "gone" }, { "uri": uri.as_str() }] }),
        json!({ "workspaceFolders": null, "rootUri": uri.as_str() }),
        json!({ "workspaceFolders": [], "rootUri": null, "rootPath": path }),
    ] {
        let roots = from_proto::roots(&params);
        assert_eq!(roots.len(), 1, "{params}");
        assert_eq!(roots[0].path, path);
    }
    assert_eq!(from_proto::roots(&json!({ "rootUri": null })), []);
    assert_eq!(from_proto::roots(&Value::Null), []);
}

#[test]
fn only_commands_that_work_are_advertised_and_none_to_a_client_that_has_them() {
    let offers = crate::session::Offers::default();
    let bare = Client::new(&Value::Null).answer(&offers, &commands::names());
    let advertised = &bare["capabilities"]["executeCommandProvider"]["commands"];
    let names = "ask explain fix doComment chat send cancel approve reject keep rejectHunk \
                 revert mode model showPrompt newSession sessions saveAll trust untrust mcpLogin \
                 mcpLogout";
    let names: Vec<String> = names
        .split_whitespace()
        .map(|name| format!("interline.{name}"))
        .collect();
    assert_eq!(*advertised, json!(names));
    let plugin = Client::new(&json!({ "capabilities": { "experimental": {
        "interline": { "version": 1, "commands": true } } } }));
    let answer = plugin.answer(&offers, &commands::names());
    assert!(
        answer["capabilities"]
            .get("executeCommandProvider")
            .is_none()
    );
    assert_eq!(
        answer["capabilities"]["experimental"]["interline"]["tier"],
        "interline"
    );
}
