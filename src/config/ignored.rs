//! Settings that were ignored: which, from where, why, and how visible that must be.

/// How visible an ignored setting must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Listed on request.
    #[default]
    Note,
    /// Perhaps a misspelt name: shown to the user.
    Unknown,
    /// An invalid value: shown to the user, and no unattended run starts.
    Unclear,
}

/// One ignored setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Dotted, or `*` for a file.
    pub key: String,
    /// The file or the client settings that it comes from.
    pub source: String,
    /// Why, and what to do.
    pub reason: String,
    pub severity: Severity,
}

impl Ignored {
    /// On one line of bounded length.
    pub fn sentence(&self) -> String {
        const LONGEST: usize = 400;
        let words = format!("{} ({}): {}", self.key, self.source, self.reason);
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(LONGEST).collect()
    }
}
