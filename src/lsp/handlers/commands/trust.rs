//! `interline.trust` and `interline.untrust`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::{Failure, FailureKind};
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::session::{SetTrust, TrustDecision};

pub async fn trust(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    set(&door, args, TrustDecision::Trust)
}

pub async fn untrust(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    set(&door, args, TrustDecision::Untrust)
}

fn set(door: &Door, args: Args, decision: TrustDecision) -> Result<Value, Failure> {
    let named = args.folder.or(args.text);
    let first = || {
        let roots = door.workspace.roots();
        roots.first().map(|root| root.path.display().to_string())
    };
    let folder = named.or_else(first).ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            "no folder is open",
            "pass {\"folder\": …}, or open a folder in the editor",
        )
    })?;
    door.sessions()?.set_trust(SetTrust {
        folder: Some(folder.clone()),
        file: None,
        hash: None,
        decision,
    })?;
    let host = door.host()?;
    host.message(&match decision {
        TrustDecision::Trust => format!("Interline now trusts {folder}."),
        TrustDecision::Untrust => format!("Interline no longer trusts {folder}."),
    });
    host.status_changed();
    Ok(json!({ "folder": folder }))
}
