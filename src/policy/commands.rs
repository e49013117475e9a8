//! What a command line says about itself: control characters, size. It never proves safety.

use super::paths::ignorable;

#[cfg(test)]
mod tests;

/// Longer command lines are refused: nobody reads them before saying yes (A23, A40).
pub const LONGEST: usize = 10 * 1024;

/// A run of blanks that can push the rest of a command out of sight.
const LONGEST_BLANK: usize = 80;

/// The command cannot be shown as it is: control characters but tab and line feed, characters
/// that reorder or hide text, or too long (A40).
pub fn dangerous(command: &str) -> bool {
    command.len() > LONGEST || command.chars().any(hidden)
}

/// The command can be shown, but a part of it is easy to overlook: it is asked every time.
pub fn easy_to_overlook(command: &str) -> bool {
    let mut blank = 0;
    command.chars().any(|c| {
        blank = if c.is_whitespace() { blank + 1 } else { 0 };
        blank > LONGEST_BLANK
    })
}

fn hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || ignorable(c)
        || matches!(c, '\u{2028}' | '\u{2029}')
}
