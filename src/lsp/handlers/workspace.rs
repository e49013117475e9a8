//! `workspace/did…`: folders and settings.

use std::sync::Arc;

use crate::lsp::door::Door;
use crate::lsp::from_proto;
use crate::lsp::params::{DidChangeConfiguration, DidChangeWorkspaceFolders};
use crate::workspace::Uri;

pub fn configuration(door: &Arc<Door>, params: DidChangeConfiguration) {
    door.configure(&params.settings);
}

pub fn folders(door: &Arc<Door>, params: DidChangeWorkspaceFolders) {
    let gone: Vec<String> = params
        .event
        .removed
        .iter()
        .map(|folder| Uri::new(folder.uri.as_str()).key())
        .collect();
    let mut roots = door.workspace.roots();
    roots.retain(|root| !gone.contains(&root.uri.key()));
    for folder in params.event.added {
        let uri = Uri::new(folder.uri);
        let name = Some(folder.name).filter(|name| !name.is_empty());
        if let Some(root) = from_proto::existing_root(uri, name)
            && !roots.iter().any(|known| known.path == root.path)
        {
            roots.push(root);
        }
    }
    door.workspace.set_roots(roots);
    if let Ok(host) = door.host() {
        host.status_changed();
    }
}
