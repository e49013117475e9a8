//! The byte budget of all instruction texts. Short files stay complete; long ones are truncated to
//! an equal share, so that a huge file at the root cannot push out the nearest one.

use super::Instruction;

/// Truncates the texts until they fit, with a mark that names the file and its sizes.
pub(super) fn share(
    found: &mut [&mut Instruction],
    budget: usize,
    problems: &mut Vec<(String, String)>,
) {
    let Some(share) = largest_share(found, budget) else {
        return;
    };
    for one in found.iter_mut().filter(|one| one.text.len() > share) {
        let total = one.text.len();
        let kept = one.text.floor_char_boundary(share);
        one.text.truncate(kept);
        let mark = format!(
            "\n[… cut here: {} has {total} bytes, the first {kept} are shown; read the file for \
             the rest …]",
            one_line(&one.source)
        );
        one.text.push_str(&mark);
        let reason = format!(
            "cut to {kept} of {total} bytes: all instruction files together may have {budget}"
        );
        problems.push((one.source.clone(), reason));
    }
}

/// The most bytes a file may keep so that all fit; `None` when they fit as they are.
fn largest_share(found: &[&mut Instruction], budget: usize) -> Option<usize> {
    let mut sizes: Vec<usize> = found.iter().map(|one| one.text.len()).collect();
    sizes.sort_unstable();
    let mut left = budget;
    for (index, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - index);
        if *size > share {
            return Some(share);
        }
        left -= size;
    }
    None
}

/// Keeps the mark on one line, whatever the folder's name.
fn one_line(source: &str) -> String {
    source
        .chars()
        .map(|found| {
            if found.is_control() {
                '\u{fffd}'
            } else {
                found
            }
        })
        .collect()
}
