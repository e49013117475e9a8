//! Checks the tools that a client offers and reports the rejected ones to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::agent::Shared;
use crate::host::ToolOffer;
use crate::mcp::{PREFIX, schema};
use crate::tools::Registry;
use crate::tools::client::ClientTool;
use crate::tools::mcp_call::NativeTool;

/// Most tools of a client, bytes of a description and of a schema, characters of a name.
const TOOLS: usize = 64;
const DESCRIPTION: usize = 4 * 1024;
const SCHEMA: usize = 32 * 1024;
const NAME: usize = 64;

/// The valid offers, and why each other one was rejected. Pure.
pub fn check_offers(offers: &[ToolOffer]) -> (Vec<ToolOffer>, Vec<String>) {
    let ours = Registry::built_in();
    let mut names = BTreeSet::new();
    let (mut kept, mut wrong) = (Vec::new(), Vec::new());
    for offer in offers {
        let name: String = offer.name.chars().take(NAME).collect();
        let reason = if !valid_name(&offer.name) {
            "a name is a letter, then letters, digits and `_`, at most 64 characters"
        } else if ours.get(&name).is_some() || name.starts_with(PREFIX) || name == "mcp_call" {
            "the name is taken"
        } else if !names.insert(name.clone()) {
            "the name occurs twice"
        } else if offer.description.trim().is_empty() || offer.description.len() > DESCRIPTION {
            "a description has 1 to 4,096 bytes"
        } else if offer.input_schema.to_string().len() > SCHEMA {
            "its schema has more than 32 KiB"
        } else if kept.len() == TOOLS {
            "there are already 64 tools"
        } else {
            let (input_schema, _) = schema::normalised(Some(&offer.input_schema));
            kept.push(ToolOffer {
                input_schema: Arc::new(input_schema),
                ..offer.clone()
            });
            continue;
        };
        wrong.push(format!("{}: {reason}", name.escape_debug()));
    }
    (kept, wrong)
}

fn valid_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(legal)
}

impl Shared {
    /// Replaces the client's tools; returns why some were rejected.
    pub fn offer_tools(&self, offers: &[ToolOffer]) -> Vec<String> {
        let (offers, wrong) = check_offers(offers);
        let tools = offers
            .into_iter()
            .map(|offer| Arc::new(ClientTool::new(offer)));
        let mut offered = self.offered.lock();
        *offered = tools.collect();
        wrong
    }

    /// Built-in tools and the client's.
    pub fn tools(&self) -> Registry {
        let mut registry = self.registry.clone();
        let offered = self.offered.lock();
        for tool in offered.iter() {
            registry.register(Arc::new(NativeTool(tool.clone())));
        }
        registry
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check_offers;
    use crate::host::ToolOffer;

    /// OC-63: a client's tool cannot take a built-in name, and its size is bounded.
    #[test]
    fn invalid_offers_are_rejected_with_a_reason() {
        let offer = |name: &str| ToolOffer {
            name: name.to_owned(),
            description: "Does it.".to_owned(),
            input_schema: json!({ "type": "object" }).into(),
            serves: None,
            timeout_ms: None,
        };
        let long = "x".repeat(65);
        let names = [
            "page_open",
            "read",
            "mcp__a__b",
            "mcp_call",
            "a b",
            "",
            "page_open",
            &long,
        ];
        let (kept, wrong) = check_offers(&names.map(offer));
        let kept: Vec<&str> = kept.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(kept, ["page_open"]);
        assert_eq!(wrong.len(), 7);
        assert!(wrong[0].contains("read: the name is taken"), "{wrong:?}");
    }
}
