//! What a path leads to.

/// The kind of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    /// FIFO, device or socket, which are never opened. Also a loop of links.
    Special,
    Missing,
}

pub(super) fn links(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}
