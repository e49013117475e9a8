//! The workspace: roots, mirrored documents, files (buffer first, disk second), text positions,
//! opening files beneath the roots, search. One mutex, held for one edit and never across an
//! await; queries work on snapshots (cloned ropes). Independent of wire types and sessions.

pub mod beneath;
mod content;
pub mod diagnostics;
pub mod diff;
mod dirty;
pub mod document;
pub mod documents;
pub mod excluded;
mod file_error;
mod file_kind;
pub mod file_state;
pub mod files;
mod formatting;
mod full_text_change;
pub mod git;
pub mod leftovers;
pub mod listings;
mod mirror;
mod open;
pub mod peers;
mod resolve;
pub mod roots;
pub mod search;
pub mod text;
pub mod uri;

pub use beneath::Located;
pub use content::{Content, Source};
pub use dirty::Stamp;
pub use document::{Author, Change, ContentChange, Document, Revision, SyncState};
pub use documents::{Formatted, Workspace};
pub use file_error::FileError;
pub use file_kind::FileKind;
pub use resolve::{canonicalize, kind_without_links};
pub use roots::Root;
pub use text::{Encoding, Position, Range};
pub use uri::Uri;
