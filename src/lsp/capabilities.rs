//! The client's capabilities, read from the raw `initialize` (typed decoding would lose fields), and
//! our answer. Measured quirks of editors are here and nowhere else. Pure.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};

use super::ext::{ClientOffer, Off, ServerOffer, Tier};
use crate::host::ToolOffer;
use crate::session::Offers;
use crate::workspace::Encoding;

/// A client's capabilities and quirks. The default is a client that announced nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    pub name: Option<String>,
    pub tier: Tier,
    /// All off in the bare tier.
    pub offer: ClientOffer,
    /// Announced tools that could not be decoded, with the reason.
    pub unread: Vec<String>,
    pub encoding: Encoding,
    /// The longest time that the client delays a didChange (INV-4).
    pub delay: Duration,
    pub document_changes: bool,
    pub create_files: bool,
    pub delete_files: bool,
    pub show_document: bool,
    /// False where `window/showMessageRequest` must not even be tried.
    pub show_message_request: bool,
    pub work_done_progress: bool,
    pub code_action_literals: bool,
    /// Answers `applied: true` to an edit of an older version and drops the edit.
    pub drops_stale: bool,
    /// Maps an edit of an older version to its current text.
    pub maps_stale: bool,
    /// Supports `workspace/codeLens/refresh`.
    pub refreshes_lenses: bool,
    /// Shows only one line of a message, and nothing of it later.
    pub one_line: bool,
}

/// Editors with measured behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Editor {
    VsCode,
    Neovim,
    Helix,
    Zed,
    Emacs,
    Kakoune,
    /// Our own clients, tests included.
    Own,
    Unknown,
}

impl Client {
    /// Reads the params of `initialize`.
    pub fn new(params: &Value) -> Self {
        let capabilities = &params["capabilities"];
        let name = params["clientInfo"]["name"].as_str().map(str::to_owned);
        let offer = offer(capabilities);
        let editor = editor(name.as_deref(), capabilities);
        let edit = &capabilities["workspace"]["workspaceEdit"];
        let window = &capabilities["window"];
        let operations = edit["resourceOperations"].as_array();
        let operates = |name| operations.is_some_and(|all| all.iter().any(|one| one == name));
        Self {
            tier: match offer {
                Some(_) => Tier::Interline,
                None => Tier::Bare,
            },
            encoding: encoding(&capabilities["general"]["positionEncodings"]),
            delay: delay(editor, offer.as_ref()),
            // Neovim checks versions but does not announce it (upstream: protocol.lua).
            document_changes: edit["documentChanges"] == true || editor == Editor::Neovim,
            create_files: operates("create"),
            delete_files: operates("delete"),
            // Helix 25.01 shows documents and does not announce it.
            show_document: window["showDocument"]["support"] == true || editor == Editor::Helix,
            // eglot's question blocks all of Emacs, and kak-lsp's menu hides behind typing.
            show_message_request: !matches!(editor, Editor::Emacs | Editor::Kakoune),
            work_done_progress: window["workDoneProgress"] == true,
            code_action_literals:
                capabilities["textDocument"]["codeAction"]["codeActionLiteralSupport"].is_object(),
            // Upstream's `apply_text_document_edit` prints a message and returns.
            drops_stale: editor == Editor::Neovim,
            maps_stale: editor == Editor::Zed,
            one_line: editor == Editor::Helix,
            refreshes_lenses: capabilities["workspace"]["codeLens"]["refreshSupport"] == true,
            unread: tools(capabilities["experimental"]["interline"].get("tools")).1,
            offer: offer.unwrap_or_default(),
            name,
        }
    }

    /// The answer to `initialize`.
    pub fn answer(&self, offers: &Offers, commands: &[&str]) -> Value {
        let mut capabilities = json!({
            "positionEncoding": encoding_name(self.encoding),
            "textDocumentSync": {
                "openClose": true,
                // Incremental.
                "change": 2,
                "save": { "includeText": false },
            },
            "codeActionProvider": {
                "codeActionKinds": ["quickfix", "refactor", "refactor.rewrite"],
                "resolveProvider": true,
            },
            "codeLensProvider": { "resolveProvider": false },
            // For transcripts only.
            "completionProvider": { "triggerCharacters": ["@", "/"] },
            "workspace": {
                "workspaceFolders": { "supported": true, "changeNotifications": true },
            },
            "experimental": { "interline": self.offer(offers) },
        });
        // VS Code's client would register them twice and fail.
        if !self.offer.commands {
            capabilities["executeCommandProvider"] = json!({ "commands": commands });
        }
        json!({
            "capabilities": capabilities,
            "serverInfo": { "name": "interline", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// The client for a bug report: the quirks and capabilities that apply.
    pub fn described(&self) -> Value {
        json!({
            "name": self.name,
            "tier": self.tier,
            "positionEncoding": encoding_name(self.encoding),
            "capabilities": self.offer,
            "unread": self.unread,
            "off": self.off(),
        })
    }

    fn offer(&self, offers: &Offers) -> ServerOffer {
        ServerOffer {
            version: 1,
            tier: self.tier,
            models: offers.models.clone(),
            modes: offers.modes.clone(),
            layouts: offers.layouts.clone(),
            off: self.off(),
        }
    }

    /// Features that will not work with this client, with the reasons.
    fn off(&self) -> Vec<Off> {
        let rows = [
            (
                !self.create_files,
                "createFiles",
                "the client does not announce workspaceEdit.resourceOperations: new files are \
                 written to disk",
            ),
            (
                !self.document_changes && !self.offer.edit,
                "versionedEdits",
                "the client does not announce workspaceEdit.documentChanges: edits go out \
                 without a version",
            ),
            (
                !self.offer.save,
                "save",
                "the client does not announce save: you are asked to save files yourself",
            ),
            (
                !self.show_message_request && !self.offer.approvals,
                "approvalMessages",
                "questions would block this editor: use interline.approve and interline.reject",
            ),
            (
                !self.show_message_request && !self.offer.questions,
                "questionMessages",
                "questions would block this editor: they end the turn, and the next prompt answers",
            ),
            (
                !self.offer.query,
                "query",
                "the client does not announce query: only the language servers of your \
                 configuration are asked",
            ),
        ];
        let rows = rows
            .into_iter()
            .filter(|(off, ..)| *off)
            .map(|(_, feature, reason)| Off {
                feature: feature.to_owned(),
                reason: reason.to_owned(),
            });
        let (_, refused) = crate::agent::calls::client_tools::check_offers(&self.offer.tools);
        let refused = refused.into_iter().chain(self.unread.iter().cloned());
        let tools = refused.map(|reason| Off {
            feature: "tools".to_owned(),
            reason,
        });
        rows.chain(tools).collect()
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new(&Value::Null)
    }
}

/// The client's announcement, read leniently: an invalid field counts as missing.
fn offer(capabilities: &Value) -> Option<ClientOffer> {
    let raw = capabilities["experimental"]["interline"].as_object()?;
    let version = raw.get("version").and_then(Value::as_u64)?;
    let on = |key: &str| raw.get(key) == Some(&Value::Bool(true));
    (version >= 1).then(|| ClientOffer {
        version: u32::try_from(version).unwrap_or(u32::MAX),
        events: on("events"),
        approvals: on("approvals"),
        questions: on("questions"),
        save: on("save"),
        edit: on("edit"),
        context: on("context"),
        query: on("query"),
        review: on("review"),
        commands: on("commands"),
        user_settings: on("userSettings"),
        segments: raw.get("segments").cloned().unwrap_or_default(),
        tools: tools(raw.get("tools")).0,
    })
}

/// The valid announced tools, and what is wrong with the others.
fn tools(raw: Option<&Value>) -> (Vec<ToolOffer>, Vec<String>) {
    let mut offers = Vec::new();
    let mut wrong = Vec::new();
    for (at, one) in raw
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        match serde_json::from_value(one.clone()) {
            Ok(offer) => offers.push(offer),
            Err(error) => wrong.push(format!("tool {}: {error}", at + 1)),
        }
    }
    (offers, wrong)
}

fn editor(name: Option<&str>, capabilities: &Value) -> Editor {
    match name {
        Some("Neovim") => Editor::Neovim,
        Some("helix") => Editor::Helix,
        Some("Zed") => Editor::Zed,
        Some("Eglot") => Editor::Emacs,
        Some("kakoune-lsp" | "kak-lsp") => Editor::Kakoune,
        Some(name) if name.starts_with("interline") => Editor::Own,
        // VS Code's client sends the name of the product, of which there are many.
        Some(_) if capabilities["general"]["staleRequestSupport"].is_object() => Editor::VsCode,
        Some(_) => Editor::Unknown,
        None if is_old_eglot(capabilities) => Editor::Emacs,
        None => Editor::Unknown,
    }
}

/// Eglot before 1.10 sends no `clientInfo`, but is the only client without `general` and `window`
/// that has an `experimental` object with nothing of others in it.
fn is_old_eglot(capabilities: &Value) -> bool {
    let bare = capabilities["experimental"].as_object().is_some_and(|all| {
        all.iter()
            .all(|(key, value)| key == "interline" && value.is_object())
    });
    bare && capabilities.get("general").is_none() && capabilities.get("window").is_none()
}

fn delay(editor: Editor, offer: Option<&ClientOffer>) -> Duration {
    // A client that maps edits through its own change log needs no quiet gap.
    if offer.is_some_and(|offer| offer.edit) {
        return Duration::ZERO;
    }
    Duration::from_millis(match editor {
        Editor::VsCode | Editor::Helix | Editor::Zed | Editor::Own => 0,
        Editor::Neovim => 150,
        // Its timer is 0.5 s of idleness.
        Editor::Emacs => 600,
        Editor::Kakoune => 250,
        // A client that knows our methods was written for us and sends changes at once.
        Editor::Unknown if offer.is_some() => 0,
        Editor::Unknown => 600,
    })
}

/// Our preferred encoding among the offered ones: UTF-8 needs no conversion.
fn encoding(offered: &Value) -> Encoding {
    const ORDER: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];
    let offers = |encoding: &Encoding| {
        offered
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == encoding_name(*encoding)))
    };
    ORDER.into_iter().find(offers).unwrap_or(Encoding::Utf16)
}

fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    }
}
