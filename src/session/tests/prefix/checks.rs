//! Properties of a session's requests, in order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::steps::Now;
use super::{Counts, SECRET};
use crate::conversation::entry::Baseline;
use crate::conversation::input::Slot;
use crate::prompt::fence::tests::outside;
use crate::session::PromptPreview;

const MARKER: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// In every text of the folder.
const EVIL: &str = "EVIL";

/// One request without its cache breakpoints.
struct Sent {
    text: String,
    /// Up to here other requests of the epoch are identical.
    fixed: usize,
    /// Tools and system text.
    head: usize,
}

impl Sent {
    fn new(body: &[u8]) -> Self {
        let body = std::str::from_utf8(body).unwrap();
        let mut fixed = 0;
        let mut text = String::with_capacity(body.len());
        for (at, piece) in body.split(MARKER).enumerate() {
            if at > 0 {
                // The brace that closes the marked block is part of it.
                fixed = text.len() + 1;
            }
            text.push_str(piece);
        }
        let head = text.find(",\"messages\":[").unwrap();
        Self { text, fixed, head }
    }

    fn head(&self) -> &str {
        &self.text[..self.head]
    }

    /// The messages up to the last breakpoint.
    fn history(&self) -> &str {
        &self.text[self.head..self.fixed]
    }
}

/// Everything known about a session's requests.
#[derive(Default)]
pub struct Book {
    last: Option<Sent>,
    baseline: Option<Baseline>,
    /// The folder was trusted when the baseline was made.
    trusted: bool,
    epochs: usize,
    /// Signature → the epoch in which the model signed.
    signed: BTreeMap<String, usize>,
    texts: BTreeSet<String>,
}

impl Book {
    /// Adds the requests of one turn and the epochs that it began.
    pub fn turn(&mut self, now: &Now, begun: &[Baseline], bodies: &[Vec<u8>], counts: &Counts) {
        let mut begun = begun.iter().peekable();
        for (number, body) in bodies.iter().enumerate() {
            let sent = Sent::new(body);
            let request: Value = serde_json::from_slice(body).unwrap();
            let fresh = begun.next_if(|it| speaks(it, &request));
            if let Some(baseline) = fresh {
                self.begins(now, number, baseline);
            }
            assert!(self.baseline.is_some(), "the first request begins an epoch");
            if let Some(last) = &self.last {
                extends(last, &sent, fresh, now, counts);
            }
            self.harmless(now, &request);
            self.thinking(now, body, &request);
            self.last = Some(sent);
        }
        assert!(begun.next().is_none(), "an epoch began without a request");
    }

    fn begins(&mut self, now: &Now, number: usize, baseline: &Baseline) {
        let reason = baseline.reason.as_str();
        let rebuilding = now.layout != "default";
        let Some(old) = &self.baseline else {
            assert_eq!((reason, number), ("start", 0));
            return self.enter(now, baseline);
        };
        let fine = match reason {
            "model" => old.model != baseline.model,
            "layout" => old.layout != baseline.layout,
            "agent" => old.agent != baseline.agent,
            "setting" => now.slot,
            "mode" => now.layout == "zeus",
            "rebuilt" => rebuilding && (number == 0 || now.model != "anthropic/claude-opus-5-5"),
            _ => false,
        };
        assert!(fine, "an epoch began for {reason}: {now:?}");
        assert!(number == 0 || reason == "rebuilt", "{reason} within a turn");
        self.enter(now, baseline);
    }

    fn enter(&mut self, now: &Now, baseline: &Baseline) {
        assert_eq!(baseline.layout, now.layout);
        assert_eq!(baseline.model, now.model);
        self.epochs += 1;
        self.trusted = now.trusted;
        self.baseline = Some(baseline.clone());
    }

    /// Text of the folder is in the system text only if it was trusted, else fenced.
    fn harmless(&mut self, now: &Now, request: &Value) {
        let body = request.to_string();
        assert!(!body.contains(SECRET), "a secret is in a request");
        if !self.trusted {
            assert!(!request["system"].to_string().contains(EVIL), "{request:#}");
            assert!(!request["tools"].to_string().contains(EVIL));
        }
        for message in request["messages"].as_array().unwrap() {
            if message["role"] != "user" {
                continue;
            }
            for block in message["content"].as_array().unwrap() {
                let Some(text) = block["text"].as_str() else {
                    continue;
                };
                let new = self.texts.insert(text.to_owned());
                let own = text.starts_with("use read ");
                if new && !own && !now.trusted && text.contains(EVIL) {
                    assert!(!outside(text).contains(EVIL), "not fenced: {text}");
                }
            }
        }
    }

    /// If thinking is bound to its prefix, none of an earlier epoch is sent; otherwise none is
    /// lost.
    fn thinking(&mut self, now: &Now, body: &[u8], request: &Value) {
        for message in request["messages"].as_array().unwrap() {
            for block in message["content"].as_array().unwrap() {
                let Some(signature) = block["signature"].as_str() else {
                    continue;
                };
                let epoch = self.signed[signature];
                if now.model == "anthropic/claude-opus-5-5" {
                    assert_eq!(epoch, self.epochs, "thinking of an earlier epoch");
                }
            }
        }
        let signature = format!("signed-{}", crate::conversation::sha256(body));
        self.signed.insert(signature, self.epochs);
    }

    /// The model knows the current AGENTS.md: from the system text, an update or the tail.
    pub fn knows(&self, now: &Now, sent: &str) {
        let baseline = self.baseline.as_ref().map(|it| it.sources["mode"].as_str());
        let updated = sent.contains("<update about=\\\"mode\\\">");
        assert!(
            updated || baseline == Some(now.mode.as_str()),
            "the mode was never announced"
        );
        if let Some(rules) = &now.rules {
            assert!(
                sent.contains(rules.as_str()),
                "{rules} was never announced: {sent}"
            );
        }
    }
}

/// The last message to the model about the tail, trust, the mode and AGENTS.md is correct.
pub fn up_to_date(now: &Now, preview: &PromptPreview, body: &[u8]) {
    let request: Value = serde_json::from_slice(body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let users = messages.iter().filter(|it| it["role"] == "user");
    let blocks = users.flat_map(|it| it["content"].as_array().unwrap());
    let texts: Vec<&str> = blocks.filter_map(|it| it["text"].as_str()).collect();
    let tail = preview.segments.iter().filter(|row| row.slot == Slot::Tail);
    let present: BTreeMap<&str, &str> = tail
        .filter_map(|row| Some((row.id.as_str(), row.text.as_deref()?)))
        .collect();
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for text in &texts {
        let id = text
            .strip_prefix("<context id=\"")
            .and_then(|it| it.split_once('"'));
        if let Some((id, _)) = id.filter(|(id, _)| !["recent", "hints"].contains(id)) {
            last.insert(id, text);
        }
    }
    for (id, text) in &last {
        match present.get(id) {
            Some(now) => assert_eq!(text, now, "the tail {id} is old"),
            None => assert!(text.contains("Empty now"), "the tail {id} is gone: {text}"),
        }
    }
    let updates = |about: &str| {
        let mark = format!("<update about=\"{about}\">");
        let of = move |text: &&&str| text.starts_with(&mark);
        texts.iter().filter(of).copied().collect::<Vec<_>>()
    };
    if let Some(trust) = updates("trust").last() {
        assert_eq!(trust.contains("now trusts"), now.trusted, "{trust}");
    }
    if let Some(mode) = updates("mode").last() {
        let word = format!("the mode to {}.", now.mode.as_str());
        assert!(mode.contains(&word), "{now:?}: {mode}");
    }
    let of_rules = |text: &&&str| {
        text.contains("Instructions from: AGENTS.md\n") || text.contains("said: AGENTS.md\n")
    };
    let instructions = updates("instructions");
    if let (Some(latest), true) = (instructions.iter().rfind(of_rules), now.trusted) {
        match &now.rules {
            Some(rules) => assert!(latest.contains(rules.as_str()), "{rules} holds: {latest}"),
            None => assert!(latest.contains("no longer applies"), "none holds: {latest}"),
        }
    }
}

/// The request uses this baseline.
fn speaks(baseline: &Baseline, request: &Value) -> bool {
    let system: Vec<&str> = match request["system"].as_array() {
        Some(blocks) => blocks.iter().filter_map(|it| it["text"].as_str()).collect(),
        None => Vec::new(),
    };
    let texts = baseline.system.iter().map(|block| block.text.as_str());
    texts.filter(|text| !text.trim().is_empty()).eq(system)
}

/// Within an epoch each request extends the last one; a new epoch leaves the history unchanged
/// unless thinking is bound to it.
fn extends(last: &Sent, sent: &Sent, fresh: Option<&Baseline>, now: &Now, counts: &Counts) {
    let Some(baseline) = fresh else {
        assert_eq!(
            last.head(),
            sent.head(),
            "tools or system text changed within an epoch"
        );
        assert!(
            sent.text.starts_with(&last.text[..last.fixed]),
            "what was sent changed within an epoch:\n{}\n---\n{}",
            last.text,
            sent.text
        );
        return counts.count("extended");
    };
    if baseline.reason == "rebuilt" {
        assert_ne!(last.head(), sent.head(), "an epoch without need");
        if now.model != "anthropic/claude-opus-5-5" {
            assert!(sent.text[sent.head..].starts_with(last.history()));
            counts.count("rebuilt:history kept");
        }
    }
}
