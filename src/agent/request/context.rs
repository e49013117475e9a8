//! What a request is made from.

use std::path::PathBuf;
use std::sync::Arc;

use super::mcp_tools::Picked;
use crate::agent::{Conversation, Settings, Shared};
use crate::conversation::{EditorContext, EpochId, Input, Segment, SessionId};
use crate::edit::Seen;
use crate::knowledge::hooks::Found;
use crate::prompt::Layout;
use crate::provider::Model;
use crate::workspace::Encoding;

/// Everything that the first message of a turn depends on, owned, so that gathering can run off the
/// async threads.
pub struct RequestContext {
    pub shared: Arc<Shared>,
    pub settings: Arc<Settings>,
    pub cwd: PathBuf,
    pub model: Model,
    pub layout: Arc<Layout>,
    pub editor: EditorContext,
    pub segments: Vec<Segment>,
    pub seen: Seen,
    pub encoding: Encoding,
    /// Background commands that ended.
    pub news: Vec<String>,
    pub conversation: Conversation,
    pub input: Vec<Input>,
    /// The turn has just read which MCP servers apply.
    pub servers_known: bool,
    /// Results for the parts that MCP servers provide.
    pub picked: Picked,
    pub epoch: EpochId,
    /// The hooks that apply.
    pub hooks: Arc<Found>,
    /// The parent session.
    pub parent: Option<SessionId>,
    /// The session whose own memories apply.
    pub session: Option<SessionId>,
}
