//! Texts that stand in for what a provider requires, or cannot read, in every wire format.

/// The result of a call that was interrupted.
pub const INTERRUPTED: &str =
    "This call was interrupted. It has no result and may have had effects.";
/// The result of a call that printed nothing.
pub const NO_OUTPUT: &str = "(no output)";
/// The user's message where a request must have one.
pub const CONTINUE: &str = "Continue.";
/// An image for a model that cannot see.
pub const IMAGE_LEFT_OUT: &str = "[An image was here; this model cannot read images.]";
/// A document for a model that cannot read it.
pub const DOCUMENT_LEFT_OUT: &str = "[A document was here; this model cannot read it.]";
