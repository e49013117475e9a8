use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::conversation::FailureKind;
use crate::lsp::commands::COMMANDS;
use crate::lsp::ext::{self, METHODS};
use crate::tools::tests::schemas::check_file;

/// All kinds of failure, in the order of their codes.
pub(in crate::lsp) const KINDS: [FailureKind; 17] = [
    FailureKind::NotTrusted,
    FailureKind::NoModel,
    FailureKind::UnknownSession,
    FailureKind::UnknownTurn,
    FailureKind::TurnEnded,
    FailureKind::Busy,
    FailureKind::Auth,
    FailureKind::RateLimited,
    FailureKind::Overloaded,
    FailureKind::ContextWindow,
    FailureKind::Network,
    FailureKind::Stale,
    FailureKind::OutOfSync,
    FailureKind::ReadOnly,
    FailureKind::Invalid,
    FailureKind::Unsupported,
    FailureKind::Storage,
];

/// The document, from the types.
fn generated() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut methods = Map::new();
    for method in METHODS {
        let mut entry = json!({
            "direction": method.direction,
            "built": method.built,
            "params": (method.params.schema)(&mut generator),
        });
        if let Some(result) = method.result {
            entry["result"] = (result.schema)(&mut generator).into();
        }
        methods.insert(method.name.to_owned(), entry);
    }
    let client = generator.subschema_for::<ext::ClientOffer>();
    let server = generator.subschema_for::<ext::ServerOffer>();
    let settings = generator.subschema_for::<Config>();
    let errors: Vec<Value> = KINDS
        .iter()
        .map(|kind| json!({ "code": kind.code(), "kind": kind }))
        .collect();
    let commands: Vec<Value> = COMMANDS
        .iter()
        .map(|command| json!({ "name": command.name(), "built": true }))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interline on the wire",
        "version": 1,
        "capabilities": { "client": client, "server": server },
        "methods": methods,
        "commands": commands,
        "errors": errors,
        "settings": settings,
        "$defs": generator.take_definitions(true),
    })
}

#[test]
fn the_schema_file_is_generated_from_the_types() {
    check_file("src/lsp/schema.json", &generated());
}
