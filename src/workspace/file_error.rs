//! Why a file cannot be read or written.

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no such file")]
    Missing,
    #[error("it is a directory")]
    Directory,
    #[error("it is not a regular file")]
    Special,
    #[error("it has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it changed while it was read or written")]
    Changed,
    #[error("it is outside the workspace's folders or was replaced by a link")]
    Escaped,
    /// INV-2: an open document is never written on disk.
    #[error("it is open in the editor, which alone may change it")]
    Open,
    /// Another process's editor has it open, perhaps with unsaved text.
    #[error("it is open in {0}: save and close it there, or ask there")]
    OpenElsewhere(String),
    /// A15: the other names might be outside.
    #[error("it has {links} names (hard links), and replacing it would separate them")]
    HardLinked { links: u64 },
    /// B06: never made writable silently.
    #[error("it is read-only")]
    ReadOnly,
    /// The lock on its folder is held for too long.
    #[error("another process keeps replacing a file in the same folder; try again")]
    Busy,
    /// The editor changed a document that it never opened, so its text is unknown.
    #[error("its text in the editor is unknown ({0}); reopen it in the editor")]
    OutOfSync(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
