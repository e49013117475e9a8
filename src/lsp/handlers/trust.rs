//! `interline/trust/set` and `interline/auth/set`.

use std::sync::Arc;

use crate::conversation::{Failure, FailureKind};
use crate::lsp::door::Door;
use crate::lsp::ext::{Nothing, SetAuth};
use crate::session::SetTrust;

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

pub async fn auth(door: Arc<Door>, params: SetAuth) -> Result<Nothing, Failure> {
    door.sessions()?.set_secret(&params.provider, params.secret);
    Ok(Nothing {})
}
