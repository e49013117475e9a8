//! `interline/trust/set` with its commands, `interline/rules/…`, and `interline/auth/…`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind};
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::ext::{Nothing, SetAuth, TestAuth};
use crate::lsp::handlers::arguments::Args;
use crate::session::{RuleList, RuleRef, SetTrust, TestedAuth, TrustDecision};

pub async fn set(door: Arc<Door>, params: SetTrust) -> Result<Nothing, Failure> {
    if params.folder.is_none() && params.file.is_none() {
        return Err(Failure::new(
            FailureKind::Invalid,
            "neither a folder nor a file is named",
            "pass `folder`, or `file` with `hash`",
        ));
    }
    door.sessions()?.set_trust(params)?;
    door.host()?.status_changed();
    Ok(Nothing {})
}

pub async fn rules(door: Arc<Door>, _params: Nothing) -> Result<RuleList, Failure> {
    door.sessions()?.rules().await
}

pub async fn remove_rule(door: Arc<Door>, params: RuleRef) -> Result<Nothing, Failure> {
    door.sessions()?.remove_rule(params.id).await?;
    Ok(Nothing {})
}

pub async fn auth(door: Arc<Door>, params: SetAuth) -> Result<Nothing, Failure> {
    door.sessions()?.set_secret(&params.provider, params.secret);
    door.host()?.status_changed();
    Ok(Nothing {})
}

pub async fn test(door: Arc<Door>, params: TestAuth) -> Result<TestedAuth, Failure> {
    let sessions = door.sessions()?;
    sessions.test_key(&params.provider, params.secret).await
}

/// `interline.trust`.
pub async fn trust(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide(&door, args, TrustDecision::Trust)
}

/// `interline.untrust`.
pub async fn untrust(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide(&door, args, TrustDecision::Untrust)
}

fn decide(door: &Door, args: Args, decision: TrustDecision) -> Result<Value, Failure> {
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
