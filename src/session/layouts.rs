//! Layouts by name.

use crate::agent::Shared;
use crate::conversation::Failure;
use crate::prompt::Layout;

/// Loads a layout, or lists the known ones.
pub fn load_layout(shared: &Shared, name: &str) -> Result<Layout, Failure> {
    Layout::load(&shared.texts, name).map_err(|reason| {
        let known = Layout::names(&shared.texts).join(", ");
        Failure::invalid(
            format!("The layout {name} cannot be used: {reason}"),
            format!("Layouts: {known}."),
        )
    })
}
