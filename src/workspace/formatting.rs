//! Tells a formatter's changes at a save apart from typing. Pure.

use ropey::Rope;

use super::document::Change;

/// Whether `changes`, which came in one notification just before the document was saved and led
/// from `before` to `after`, are a formatter's: all words stay as they are, and no key types them.
pub(super) fn formats(changes: &[Change], before: &Rope, after: &Rope) -> bool {
    match changes {
        [] => false,
        [one] if typed(one, after) => false,
        _ => words(before).eq(words(after)),
    }
}

fn words(text: &Rope) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|it| it.is_alphanumeric() || *it == '_')
}

/// Whether one key may have made this change: a character, a line end with its indentation, a
/// deletion. Not an editor that removes blanks at a line's end or ends the last line.
fn typed(change: &Change, after: &Rope) -> bool {
    let (removed, inserted) = (&change.removed, &change.inserted);
    let visible = |text: &str| text.chars().filter(|it| !it.is_whitespace()).count();
    let end = change.start + inserted.len();
    let rest = after.get_byte_slice(end..);
    let next = rest.and_then(|rest| rest.get_char(0));
    let trimmed = inserted.is_empty()
        && removed.chars().all(|it| matches!(it, ' ' | '\t'))
        && matches!(next, None | Some('\n' | '\r'));
    let ended = removed.is_empty()
        && end == after.len_bytes()
        && inserted.chars().all(|it| matches!(it, '\n' | '\r'));
    !trimmed && !ended && visible(inserted) <= 1 && removed.chars().count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Author, Revision};

    fn saved(before: &str, changes: &[(usize, &str, &str)]) -> bool {
        let mut after = before.to_owned();
        let changes: Vec<Change> = changes
            .iter()
            .map(|(start, removed, inserted)| {
                after.replace_range(*start..start + removed.len(), inserted);
                Change {
                    revision: Revision(1),
                    start: *start,
                    removed: (*removed).to_owned(),
                    inserted: (*inserted).to_owned(),
                    author: Author::User,
                    continues: false,
                }
            })
            .collect();
        formats(&changes, &Rope::from_str(before), &Rope::from_str(&after))
    }

    #[test]
    fn a_formatter_keeps_all_words_and_changes_more_than_a_key() {
        assert!(saved("a=1\nb=2\n", &[(1, "", " "), (3, "", " ")]));
        assert!(saved("if x {y}\n", &[(5, "{y}", "{\n    y\n}")]));
        assert!(saved("[1,\n2]\n", &[(5, "", ","), (3, "\n", " ")]));
        assert!(saved("a  \n", &[(1, "  ", "")]));
        assert!(saved("a", &[(1, "", "\n")]));
    }

    #[test]
    fn typing_and_other_edits_are_no_formatting() {
        for (text, change) in [
            ("a\n", (1, "", "b")),
            ("a\n", (1, "", ";")),
            ("a b\n", (1, " ", "")),
            ("{\n}\n", (1, "", "\n    ")),
            ("a\n", (0, "a", "let b = 1")),
            ("a\n", (0, "a", "")),
        ] {
            assert!(!saved(text, &[change]), "{change:?}");
        }
        // Two places of a rename.
        assert!(!saved("a a\n", &[(0, "a", "b"), (2, "a", "b")]));
        assert!(!saved("a\n", &[]));
    }
}
