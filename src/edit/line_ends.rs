//! Line ends: `\n`, `\r\n` and `\r`, and texts in which all of them are `\n`.

/// Whether `offset` is between the two bytes of a CRLF.
pub fn splits_crlf(text: &str, offset: usize) -> bool {
    let bytes = text.as_bytes();
    offset > 0 && bytes.get(offset - 1) == Some(&b'\r') && bytes.get(offset) == Some(&b'\n')
}

/// `text` with every line end as `\n`.
pub fn line_feeds(text: &str) -> String {
    View::new(text).text
}

/// A text with every line end as `\n`, and the way back to the real bytes.
pub(super) struct View {
    pub text: String,
    /// Offsets in `text` of the `\n` that stand for a CRLF, ascending.
    shrunk: Vec<usize>,
}

impl View {
    pub fn new(real: &str) -> Self {
        let mut text = String::with_capacity(real.len());
        let mut shrunk = Vec::new();
        let mut rest = real;
        while let Some(at) = rest.find('\r') {
            text.push_str(&rest[..at]);
            let crlf = rest[at + 1..].starts_with('\n');
            if crlf {
                shrunk.push(text.len());
            }
            text.push('\n');
            rest = &rest[at + if crlf { 2 } else { 1 }..];
        }
        text.push_str(rest);
        Self { text, shrunk }
    }

    /// The offset in the real text.
    pub fn real(&self, offset: usize) -> usize {
        offset + self.shrunk.partition_point(|at| *at < offset)
    }
}
