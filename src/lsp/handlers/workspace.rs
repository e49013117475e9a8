//! `workspace/did…`: folders and settings.

use lsp_types::{DidChangeConfigurationParams, DidChangeWorkspaceFoldersParams};

use crate::lsp::door::Door;
use crate::lsp::from_proto;
use crate::lsp::service::raw_uri;

pub fn configuration(door: &Door, params: DidChangeConfigurationParams) {
    door.configure(&params.settings);
}

pub fn folders(door: &Door, params: DidChangeWorkspaceFoldersParams) {
    let gone: Vec<String> = params
        .event
        .removed
        .iter()
        .map(|folder| raw_uri(&folder.uri).key())
        .collect();
    let mut roots = door.workspace.roots();
    roots.retain(|root| !gone.contains(&root.uri.key()));
    for folder in params.event.added {
        let uri = raw_uri(&folder.uri);
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
