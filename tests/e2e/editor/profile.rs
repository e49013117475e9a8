//! How clients behave, as measured: what they announce, when they send their changes, and what
//! they do with a versioned edit. Each captured `initialize` is a fixture.

use std::time::Duration;

use serde_json::{Value, json};

/// What happens to an edit on another version than the buffer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Dropped, and answered `applied: true`.
    Dropped,
    /// Answered `applied: false`.
    Refused,
    /// Answered with an error.
    Error,
    /// Mapped to the current text, answered `applied: true`.
    Rebased,
}

/// What the client does with an edit that it could apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    Honest,
    /// Applies and never answers.
    AppliesSilently,
    /// Does nothing and never answers.
    Ignores,
    /// Claims success and does nothing.
    Claims,
    /// Does nothing and answers `applied: false`.
    Refuses,
    /// Applies and answers `applied: false`.
    Denies,
    /// Applies something else and claims success.
    Garbles,
    /// Answers `edit/apply` with a status that does not exist.
    Odd,
}

#[derive(Clone, Debug)]
pub struct Profile {
    pub name: &'static str,
    initialize: &'static str,
    /// `experimental.interline`.
    tier: Option<Value>,
    pub full: bool,
    pub delay: Duration,
    pub stale: Stale,
    pub conduct: Conduct,
    /// The answer travels before the didChange.
    pub answers_first: bool,
    /// A closed file that an edit touches gets a didOpen.
    pub attaches: bool,
    pub first_version: i32,
    pub version_step: i32,
}

const PLAIN: &str = r#"{"clientInfo":{"name":"Story"},"capabilities":{
    "general":{"positionEncodings":["utf-16"]},
    "workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true,
        "resourceOperations":["create","rename","delete"]},"workspaceFolders":true},
    "window":{"workDoneProgress":true,"showMessage":{}}}}"#;

/// The captured requests: name and text.
pub const CAPTURED: [(&str, &str); 9] = [
    (
        "eglot 1.9",
        include_str!("../../fixtures/init/emacs-28.2-eglot-1.9.json"),
    ),
    (
        "eglot 1.17",
        include_str!("../../fixtures/init/emacs-30.2-eglot-1.17.30.json"),
    ),
    (
        "helix 25.01",
        include_str!("../../fixtures/init/helix-25.01.1.json"),
    ),
    (
        "helix 25.07",
        include_str!("../../fixtures/init/helix-25.07.1.json"),
    ),
    (
        "kak-lsp 22",
        include_str!("../../fixtures/init/kak-lsp-22.0.0.json"),
    ),
    (
        "neovim 0.10",
        include_str!("../../fixtures/init/neovim-0.10.4.json"),
    ),
    (
        "neovim 0.12",
        include_str!("../../fixtures/init/neovim-0.12.4.json"),
    ),
    (
        "vscode",
        include_str!("../../fixtures/init/vscode-languageclient-11.0.0.json"),
    ),
    (
        "zed",
        include_str!("../../fixtures/init/zed-2026-from-source.json"),
    ),
];

impl Profile {
    /// A plugin of ours: all capabilities, maps edits itself.
    pub fn rich() -> Self {
        let tier = json!({ "version": 1, "events": true, "approvals": true, "questions": true,
            "save": true, "edit": true, "context": true, "review": true, "commands": true,
            "userSettings": true });
        Self {
            name: "rich",
            initialize: PLAIN,
            tier: Some(tier),
            full: false,
            delay: Duration::ZERO,
            stale: Stale::Refused,
            conduct: Conduct::Honest,
            answers_first: false,
            attaches: true,
            first_version: 1,
            version_step: 1,
        }
    }

    /// No capability of ours.
    pub fn bare() -> Self {
        Self {
            name: "bare",
            tier: None,
            ..Self::rich()
        }
    }

    /// Shows events and approvals, applies with `workspace/applyEdit`.
    fn watching(name: &'static str) -> Self {
        let tier = json!({ "version": 1, "events": true, "approvals": true });
        let captured = CAPTURED.iter().find(|(known, _)| *known == name);
        Self {
            name,
            initialize: captured.map_or(PLAIN, |(_, text)| text),
            tier: Some(tier),
            ..Self::rich()
        }
    }

    /// A plain LSP client that can also show events.
    pub fn plain() -> Self {
        Self::watching("plain")
    }

    pub fn vscode() -> Self {
        Self {
            answers_first: true,
            ..Self::watching("vscode")
        }
    }

    pub fn neovim() -> Self {
        Self {
            delay: Duration::from_millis(150),
            stale: Stale::Dropped,
            answers_first: true,
            attaches: false,
            first_version: 0,
            version_step: 3,
            ..Self::watching("neovim 0.10")
        }
    }

    pub fn helix() -> Self {
        Self::watching("helix 25.07")
    }

    pub fn eglot() -> Self {
        Self {
            delay: Duration::from_millis(500),
            stale: Stale::Error,
            answers_first: true,
            attaches: false,
            first_version: 0,
            ..Self::watching("eglot 1.17")
        }
    }

    pub fn kakoune() -> Self {
        Self {
            full: true,
            answers_first: true,
            version_step: 36,
            ..Self::watching("kak-lsp 22")
        }
    }

    pub fn zed() -> Self {
        Self {
            stale: Stale::Rebased,
            ..Self::watching("zed")
        }
    }

    pub fn conducting(mut self, conduct: Conduct) -> Self {
        self.conduct = conduct;
        self
    }

    pub fn stale(mut self, stale: Stale) -> Self {
        self.stale = stale;
        self
    }

    pub fn delayed(mut self, milliseconds: u64) -> Self {
        self.delay = Duration::from_millis(milliseconds);
        self.answers_first = true;
        self
    }

    /// A plugin of ours that asks the editor's language servers.
    pub fn querying() -> Self {
        let mut profile = Self::rich();
        if let Some(tier) = &mut profile.tier {
            tier["query"] = true.into();
        }
        profile
    }

    /// Without one of our capabilities.
    pub fn without(mut self, capability: &str) -> Self {
        if let Some(Value::Object(tier)) = &mut self.tier {
            tier.remove(capability);
        }
        self
    }

    /// Shows documents when asked.
    pub fn showing(self) -> Self {
        self.capability("window", "showDocument", json!({ "support": true }))
    }

    /// Announces something else in a group of capabilities.
    pub fn capability(mut self, group: &str, name: &str, value: Value) -> Self {
        let mut all: Value = serde_json::from_str(self.initialize).expect("a fixture");
        all["capabilities"][group][name] = value;
        // A story's profile lives as long as the test process.
        self.initialize = all.to_string().leak();
        self
    }

    /// The same editor without a plugin of ours.
    pub fn without_plugin(mut self) -> Self {
        self.tier = None;
        self
    }

    /// With the captured handshake of another version.
    pub fn captured(mut self, name: &str) -> Self {
        let found = CAPTURED.iter().find(|(known, _)| *known == name);
        self.initialize = found.expect("a captured handshake").1;
        self
    }

    /// What the client declares for the prompt.
    pub fn declaring(mut self, segments: Value) -> Self {
        if let Some(tier) = &mut self.tier {
            tier["segments"] = segments;
        }
        self
    }

    /// With tools of its own.
    pub fn with_tools(mut self, tools: Value) -> Self {
        if let Some(tier) = &mut self.tier {
            tier["tools"] = tools;
        }
        self
    }

    /// Offers exactly these encodings.
    pub fn encodings(mut self, names: &[&str]) -> Self {
        let mut all: Value = serde_json::from_str(self.initialize).expect("a fixture");
        all["capabilities"]["general"]["positionEncodings"] = json!(names);
        // A story's profile lives as long as the test process.
        self.initialize = all.to_string().leak();
        self
    }

    pub fn initialize(&self) -> Value {
        let mut params: Value = serde_json::from_str(self.initialize).expect("a fixture");
        if let Some(tier) = &self.tier {
            params["capabilities"]["experimental"]["interline"] = tier.clone();
        }
        params
    }

    fn has(&self, capability: &str) -> bool {
        let tier = self.tier.as_ref();
        tier.is_some_and(|tier| tier[capability] == true)
    }

    /// Whether the server may send this request of ours.
    pub fn announced(&self, method: &str) -> bool {
        match method {
            "interline/edit/apply" => self.has("edit"),
            "interline/approval/request" => self.has("approvals"),
            "interline/question/request" => self.has("questions"),
            "interline/workspace/save" => self.has("save"),
            "interline/tool/call" => self.tier.is_some(),
            "interline/editor/query" => self.has("query"),
            _ => false,
        }
    }

    /// Whether the server may send this notification.
    pub fn expects(&self, method: &str) -> bool {
        match method {
            "interline/turn/started" | "interline/turn/event" | "interline/turn/ended" => {
                self.has("events")
            }
            "interline/review/didChange" => self.has("review"),
            "interline/workspace/didChangeOnDisk" => self.has("save"),
            _ if method.starts_with("interline/") => self.tier.is_some(),
            "window/logMessage" | "window/showMessage" | "$/progress" | "$/cancelRequest" => true,
            "textDocument/publishDiagnostics" | "$/logTrace" => true,
            _ => false,
        }
    }
}
