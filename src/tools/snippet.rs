//! Numbered lines of a text for the model: `12<tab>text`. Line ends are not shown.

use std::fmt::Write as _;

use ropey::Rope;

/// A longer line is cut, and the cut is said.
pub(super) const LONGEST_LINE: usize = 2_000;

/// Lines as a person counts them: a line end at the end of the text begins no new line.
pub(super) fn line_count(rope: &Rope) -> usize {
    let lines = rope.len_lines();
    let last = rope.line(lines.saturating_sub(1));
    if last.len_bytes() == 0 {
        lines.saturating_sub(1)
    } else {
        lines
    }
}

/// Some consecutive lines.
pub(super) struct Page {
    pub text: String,
    /// Number of lines in `text`.
    pub lines: usize,
    /// A line was cut.
    pub cut: bool,
}

/// Lines from `first` (0-based), at most `most` lines and `bytes` bytes, but at least one.
pub(super) fn page(rope: &Rope, first: usize, most: usize, bytes: usize) -> Page {
    let total = line_count(rope);
    let mut page = Page {
        text: String::new(),
        lines: 0,
        cut: false,
    };
    for index in first..total.min(first.saturating_add(most)) {
        let before = page.text.len();
        let cut = push_line(&mut page.text, rope, index);
        if page.text.len() > bytes && page.lines > 0 {
            page.text.truncate(before);
            break;
        }
        page.lines += 1;
        page.cut |= cut;
    }
    page
}

/// The lines with these 1-based numbers and `radius` lines around each; gaps are marked.
pub(super) fn around(rope: &Rope, numbers: &[usize], radius: usize) -> String {
    let ranges = numbers
        .iter()
        .map(|number| (number.saturating_sub(radius), number.saturating_add(radius)));
    ranges_text(rope, ranges)
}

/// The lines with these 1-based numbers and `radius` lines around each, in the order of the
/// numbers. A place that an earlier one shows is left out, so that the first stays the first.
pub(super) fn places(rope: &Rope, numbers: &[usize], radius: usize) -> String {
    let mut shown: Vec<usize> = Vec::new();
    let mut text = String::new();
    for number in numbers {
        if shown.iter().any(|other| other.abs_diff(*number) <= radius) {
            continue;
        }
        if !shown.is_empty() {
            text.push_str("…\n");
        }
        let first = number.saturating_sub(radius).max(1);
        text.push_str(&ranges_text(
            rope,
            std::iter::once((first, number.saturating_add(radius))),
        ));
        shown.push(*number);
    }
    text
}

/// The lines in the given 1-based, inclusive, ascending ranges; at most 60.
pub(super) fn ranges_text(rope: &Rope, ranges: impl Iterator<Item = (usize, usize)>) -> String {
    let total = line_count(rope);
    let mut text = String::new();
    let mut next = 1;
    let mut left = 60_usize;
    for (first, last) in ranges {
        let first = first.max(next);
        let last = last.min(total);
        if first > last {
            continue;
        }
        if next > 1 && first > next {
            text.push_str("…\n");
        }
        for number in first..=last {
            if left == 0 {
                text.push_str("…\n");
                return text;
            }
            push_line(&mut text, rope, number - 1);
            left -= 1;
        }
        next = last + 1;
    }
    text
}

/// The new lines' ranges of a unified diff, from its hunk heads `@@ -a,b +c,d @@`.
pub(super) fn new_ranges(diff: &str) -> Vec<(usize, usize)> {
    diff.lines()
        .filter_map(|line| {
            let head = line.strip_prefix("@@ -")?;
            let new = head.split_once('+')?.1.split_once(' ')?.0;
            let (first, count) = match new.split_once(',') {
                Some((first, count)) => (first.parse().ok()?, count.parse().ok()?),
                None => (new.parse().ok()?, 1_usize),
            };
            (count > 0).then(|| (first, first + count - 1))
        })
        .collect()
}

fn push_line(text: &mut String, rope: &Rope, index: usize) -> bool {
    let _ = write!(text, "{}\t", index + 1);
    let line = rope.line(index);
    let mut shown = 0;
    let mut rest = 0;
    for c in line.chars().filter(|c| !matches!(c, '\n' | '\r')) {
        if shown < LONGEST_LINE {
            text.push(c);
            shown += 1;
        } else {
            rest += 1;
        }
    }
    if rest > 0 {
        let _ = write!(text, "… [{rest} more characters in this line]");
    }
    text.push('\n');
    rest > 0
}

#[cfg(test)]
mod tests {
    use ropey::Rope;

    use super::{around, line_count, new_ranges, page, places};

    #[test]
    fn lines_are_counted_as_a_person_counts_them() {
        for (text, count) in [
            ("", 0),
            ("a", 1),
            ("a\n", 1),
            ("a\r\nb", 2),
            ("\n\n", 2),
            ("a\rb\r", 2),
        ] {
            assert_eq!(line_count(&Rope::from_str(text)), count, "{text:?}");
        }
    }

    #[test]
    fn a_page_ends_at_its_limits_but_has_a_line() {
        let rope = Rope::from_str("one\r\ntwo\nthree");
        assert_eq!(page(&rope, 0, 2, 100).text, "1\tone\n2\ttwo\n");
        assert_eq!(page(&rope, 1, 9, 10).text, "2\ttwo\n");
        assert_eq!(page(&rope, 2, 9, 1).text, "3\tthree\n");
        assert_eq!(page(&rope, 3, 9, 100).lines, 0);
        let long = Rope::from_str(&"ä".repeat(2_003));
        let page = page(&long, 0, 1, 10);
        assert!(page.cut && page.text.ends_with("ä… [3 more characters in this line]\n"));
    }

    #[test]
    fn places_close_together_are_shown_once_and_gaps_are_marked() {
        let rope = Rope::from_str("a\nb\nc\nd\ne\nf\ng\n");
        assert_eq!(
            around(&rope, &[1, 2, 7], 1),
            "1\ta\n2\tb\n3\tc\n…\n6\tf\n7\tg\n"
        );
        assert_eq!(around(&rope, &[50], 1), "");
    }

    #[test]
    fn the_most_similar_place_stays_first_and_is_shown_once() {
        let rope = Rope::from_str("a\nb\nc\nd\ne\nf\ng\n");
        assert_eq!(
            places(&rope, &[6, 1, 7], 1),
            "5\te\n6\tf\n7\tg\n…\n1\ta\n2\tb\n"
        );
        assert_eq!(places(&rope, &[], 1), "");
    }

    #[test]
    fn the_new_lines_of_a_diff_are_found() {
        let diff =
            "--- a\n+++ b\n@@ -1,3 +2,4 @@ fn\n@@ -9 +11 @@\n@@ -20,2 +20,0 @@\n+@@ -1 +1 @@\n";
        assert_eq!(new_ranges(diff), [(2, 5), (11, 11)]);
    }
}
