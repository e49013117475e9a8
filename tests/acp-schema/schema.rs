//! Checks one message against the protocol's published JSON Schema, and by a lossless round trip
//! through the published types, which finds misspelt or misplaced optional fields too.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use agent_client_protocol_schema::v1;
use jsonschema::Validator;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

thread_local! {
    static MADE: RefCell<HashMap<String, Made>> = RefCell::new(HashMap::new());
}

struct Made {
    validator: Validator,
    /// The names of all properties in the schema.
    names: HashSet<String>,
}

impl Made {
    fn new(schema: &Value) -> Self {
        let mut names = HashSet::new();
        properties(schema, &mut names);
        Self {
            validator: jsonschema::validator_for(schema).expect("a schema"),
            names,
        }
    }
}

fn properties(schema: &Value, names: &mut HashSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(own)) = fields.get("properties") {
                names.extend(own.keys().cloned());
            }
            fields.values().for_each(|value| properties(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| properties(value, names)),
        _ => {}
    }
}

/// What is wrong with a whole message; `asked`: the method that an answer is for.
pub fn wrong(message: &Value, asked: Option<&str>) -> Vec<String> {
    let mut found = envelope(message);
    let empty = Value::Null;
    let params = message.get("params").unwrap_or(&empty);
    found.extend(match (message["method"].as_str(), message.get("error")) {
        (Some(method), _) => call(method, message.get("id").is_some(), params),
        (None, Some(error)) => check::<v1::Error>(error),
        (None, None) => match asked {
            Some(method) => answer(method, &message["result"]),
            None => vec!["an answer to nothing".to_owned()],
        },
    });
    found
}

fn envelope(message: &Value) -> Vec<String> {
    let Some(fields) = message.as_object() else {
        return vec!["not an object".to_owned()];
    };
    let mut found: Vec<String> = fields
        .keys()
        .filter(|key| {
            !["jsonrpc", "id", "method", "params", "result", "error"].contains(&key.as_str())
        })
        .map(|key| format!("the envelope has {key}"))
        .collect();
    if message["jsonrpc"] != "2.0" {
        found.push("jsonrpc is not 2.0".to_owned());
    }
    let kinds = ["method", "result", "error"];
    if kinds
        .iter()
        .filter(|key| fields.contains_key(**key))
        .count()
        != 1
    {
        found.push("neither one call nor one answer".to_owned());
    }
    found
}

fn call(method: &str, request: bool, params: &Value) -> Vec<String> {
    match (method, request) {
        ("session/update", false) => check::<v1::SessionNotification>(params),
        ("$/cancel_request", false) => check::<v1::CancelRequestNotification>(params),
        ("session/request_permission", true) => check::<v1::RequestPermissionRequest>(params),
        ("fs/read_text_file", true) => check::<v1::ReadTextFileRequest>(params),
        ("elicitation/create", true) => check::<v1::CreateElicitationRequest>(params),
        ("fs/write_text_file", true) => check::<v1::WriteTextFileRequest>(params),
        _ => vec![format!("{method} is nothing that an agent sends")],
    }
}

fn answer(method: &str, result: &Value) -> Vec<String> {
    match method {
        "initialize" => check::<v1::InitializeResponse>(result),
        "authenticate" => check::<v1::AuthenticateResponse>(result),
        "logout" => check::<v1::LogoutResponse>(result),
        "session/fork" => check::<v1::ForkSessionResponse>(result),
        "session/new" => check::<v1::NewSessionResponse>(result),
        "session/load" => check::<v1::LoadSessionResponse>(result),
        "session/resume" => check::<v1::ResumeSessionResponse>(result),
        "session/list" => check::<v1::ListSessionsResponse>(result),
        "session/close" => check::<v1::CloseSessionResponse>(result),
        "session/delete" => check::<v1::DeleteSessionResponse>(result),
        "session/prompt" => check::<v1::PromptResponse>(result),
        "session/set_mode" => check::<v1::SetSessionModeResponse>(result),
        "session/set_config_option" => check::<v1::SetSessionConfigOptionResponse>(result),
        other => vec![format!("{other} has no result")],
    }
}

fn check<T: JsonSchema + DeserializeOwned + Serialize>(value: &Value) -> Vec<String> {
    let name = std::any::type_name::<T>().to_owned();
    MADE.with_borrow_mut(|made| {
        let made = made
            .entry(name)
            .or_insert_with(|| Made::new(&schemars::schema_for!(T).to_value()));
        let errors = made.validator.iter_errors(value);
        let mut found: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        match serde_json::from_value::<T>(value.clone()) {
            Ok(typed) => {
                let back = serde_json::to_value(&typed).expect("a value");
                lost(value, &back, "", &made.names, &mut found);
            }
            Err(error) => found.push(error.to_string()),
        }
        found
    })
}

/// The parts of `sent` that the types do not know. The types leave out default values, so a name
/// that the schema has somewhere may be missing.
fn lost(sent: &Value, known: &Value, at: &str, names: &HashSet<String>, found: &mut Vec<String>) {
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => {
            for (key, value) in sent {
                let place = format!("{at}/{key}");
                match known.get(key) {
                    Some(other) => lost(value, other, &place, names, found),
                    None if names.contains(key) => {}
                    None => found.push(format!("{place} is unknown to the protocol")),
                }
            }
        }
        (Value::Array(sent), Value::Array(known)) if sent.len() == known.len() => {
            for (n, (sent, known)) in sent.iter().zip(known).enumerate() {
                lost(sent, known, &format!("{at}/{n}"), names, found);
            }
        }
        (Value::Number(sent), Value::Number(known)) if sent.as_f64() == known.as_f64() => {}
        _ if sent == known => {}
        _ => found.push(format!("{at}: {sent} is read as {known}")),
    }
}
