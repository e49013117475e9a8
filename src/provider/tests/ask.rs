//! Asks a provider over HTTP, with the environment, keys and request that it needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt as _;

use crate::conversation::{Message, ModelFacts, Request, ToolSpec};
use crate::env::Env;
use crate::provider::keys::Keys;
use crate::provider::{ModelEvent, Provider, ProviderError};

pub fn env(vars: &[(&str, &str)]) -> Env {
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let vars: BTreeMap<String, String> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Env::fixed(Path::new("/nonexistent"), now, vars)
}

pub fn keys(vars: &[(&str, &str)]) -> Arc<Keys> {
    Arc::new(Keys::new(env(vars)))
}

pub fn request(messages: Vec<Message>) -> Request {
    Request {
        unreadable: 0,
        model: "m".into(),
        facts: Arc::new(ModelFacts {
            known: true,
            ..ModelFacts::default()
        }),
        system: Arc::default(),
        tools: Arc::new(vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: serde_json::json!({"type": "object"}).into(),
        }]),
        messages: messages.into(),
    }
}

/// All events of an answer, and how it failed.
pub async fn ask(
    provider: &dyn Provider,
    request: &Request,
) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let body = provider.body(request).bytes;
    let mut stream = match provider.stream(request, body).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => events.extend(batch),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}
