//! The keys under which the sources of a prompt are recorded, in a baseline and in the updates
//! after it, and an instruction file as it appears in a prompt.

use super::fence;
use super::texts::Texts;
use crate::knowledge::instructions::Instruction;

/// The key prefix of nested instruction files, followed by the absolute path. Whoever claims a
/// file also reports its changes and its removal.
pub const NESTED: &str = "nested:";

/// The key prefix of MCP servers whose late tools were reported, followed by the server's name.
/// Whoever reports them also reports their changes and their removal.
pub const REMOTE: &str = "mcp:";

/// The key of the tools that ask language servers; whoever reports them also reports their end.
pub const LATE: &str = "languageTools";

/// The key of a summary that another layout carried; whoever reports it decides when.
pub const SUMMARY: &str = "summary";

/// The key prefix for the number of messages whose reasoning a model cannot read, followed by the
/// model's name. Not part of a prompt; it is stored with the updates in the log.
pub const UNREADABLE: &str = "unreadable:";

/// The key of an instruction file among the sources; never equal to another kind of key.
pub(super) fn source_key(source: &str) -> String {
    if is_reserved(source) {
        format!("./{source}")
    } else {
        source.to_owned()
    }
}

/// The key does not belong to an instruction file.
pub(super) fn is_reserved(key: &str) -> bool {
    matches!(key, "mode" | "trust" | SUMMARY | LATE)
        || ["segment:", "editor:", "row:", NESTED, REMOTE, UNREADABLE]
            .iter()
            .any(|prefix| key.starts_with(prefix))
}

/// An instruction file as it appears in a prompt.
pub(super) fn rendered(texts: &Texts, one: &Instruction) -> String {
    let (source, text) = (fence::name(&one.source), one.text.trim_end());
    let values = [("source", source.as_str()), ("text", text)];
    texts.render("segments/instruction.md", &values)
}
