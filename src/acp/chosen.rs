//! What a session is set to, and the agents that its user can choose. Data only.

use crate::conversation::Mode;
use crate::conversation::request::Effort;
use crate::host::SessionChange;
use crate::session::SessionInfo;

/// What a session is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub mode: Mode,
    pub model: String,
    pub layout: String,
    pub agent: Option<String>,
    pub thinking: Option<Effort>,
}

impl From<&SessionInfo> for Chosen {
    fn from(info: &SessionInfo) -> Self {
        Self {
            mode: info.mode,
            model: info.model.clone(),
            layout: info.layout.clone(),
            agent: info.agent.clone(),
            thinking: info.thinking,
        }
    }
}

impl From<&SessionChange> for Chosen {
    fn from(change: &SessionChange) -> Self {
        Self {
            mode: change.mode,
            model: change.model.clone(),
            layout: change.layout.clone(),
            agent: change.agent.clone(),
            thinking: change.thinking,
        }
    }
}

/// An agent that the user can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    pub description: String,
}
