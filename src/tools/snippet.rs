//! Numbered lines of a text for the model: `12<tab>text`, without line ends.

use std::fmt::Write as _;

use ropey::Rope;

use crate::prompt::Texts;

/// Characters of one line. A longer line is truncated, with a note on how to read the rest.
pub(super) const LONGEST_LINE: usize = 2_000;
/// The same for a line that is read by column.
const LONGEST_PART: usize = 20_000;

/// Number of lines. A line end at the end of the text does not begin a new line.
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
    /// A line was truncated.
    pub cut: bool,
}

/// The part of a text to show.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// 0-based.
    pub first: usize,
    /// 0-based character of the first line; `None`: from its beginning, truncated.
    pub column: Option<usize>,
    pub lines: usize,
    pub bytes: usize,
}

/// At most the wanted number of lines and bytes, but at least one line.
pub(super) fn page(texts: &Texts, rope: &Rope, wanted: Wanted) -> Page {
    let Wanted {
        first,
        column,
        lines: most,
        bytes,
    } = wanted;
    let total = line_count(rope);
    let mut page = Page {
        text: String::new(),
        lines: 0,
        cut: false,
    };
    for index in first..total.min(first.saturating_add(most)) {
        let before = page.text.len();
        let (from, longest) = match column.filter(|_| index == first) {
            Some(column) => (column, LONGEST_PART),
            None => (0, LONGEST_LINE),
        };
        let cut = push_line(texts, &mut page.text, rope, index, from, longest);
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
pub(super) fn around(texts: &Texts, rope: &Rope, numbers: &[usize], radius: usize) -> String {
    let ranges = numbers
        .iter()
        .map(|number| (number.saturating_sub(radius), number.saturating_add(radius)));
    ranges_text(texts, rope, ranges)
}

/// The lines with these 1-based numbers and `radius` lines around each, in the order of the
/// numbers. A place that an earlier one covers is left out, so the first stays first.
pub(super) fn places(texts: &Texts, rope: &Rope, numbers: &[usize], radius: usize) -> String {
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
            texts,
            rope,
            std::iter::once((first, number.saturating_add(radius))),
        ));
        shown.push(*number);
    }
    text
}

/// The lines in the given 1-based, inclusive, ascending ranges; at most 60.
pub(super) fn ranges_text(
    texts: &Texts,
    rope: &Rope,
    ranges: impl Iterator<Item = (usize, usize)>,
) -> String {
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
            push_line(texts, &mut text, rope, number - 1, 0, LONGEST_LINE);
            left -= 1;
        }
        next = last + 1;
    }
    text
}

/// The ranges of new lines in a unified diff, from its hunk headers `@@ -a,b +c,d @@`.
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

/// Characters of a line without its line end.
pub(super) fn characters(rope: &Rope, index: usize) -> usize {
    let line = rope.line(index);
    line.chars().filter(|c| !matches!(c, '\n' | '\r')).count()
}

/// Appends the line from its character `from` (0-based), at most `longest` characters.
fn push_line(
    texts: &Texts,
    text: &mut String,
    rope: &Rope,
    index: usize,
    from: usize,
    longest: usize,
) -> bool {
    let _ = write!(text, "{}\t", index + 1);
    let line = rope.line(index);
    let mut rest = 0;
    let characters = line.chars().filter(|c| !matches!(c, '\n' | '\r'));
    for (at, c) in characters.skip(from).enumerate() {
        if at < longest {
            text.push(c);
        } else {
            rest += 1;
        }
    }
    if rest > 0 {
        let (line, column) = (index + 1, from + longest + 1);
        text.push('…');
        text.push(' ');
        text.push_str(&texts.render(
            "results/line-cut.md",
            &[
                ("rest", &rest.to_string()),
                ("line", &line.to_string()),
                ("column", &column.to_string()),
            ],
        ));
    }
    text.push('\n');
    rest > 0
}

#[cfg(test)]
mod tests {
    use ropey::Rope;

    use super::{Page, Wanted, around, line_count, new_ranges, places};
    use crate::prompt::Texts;

    fn page(rope: &Rope, first: usize, lines: usize, bytes: usize) -> Page {
        let wanted = Wanted {
            first,
            column: None,
            lines,
            bytes,
        };
        super::page(&Texts::load(None), rope, wanted)
    }

    #[test]
    fn a_final_line_end_begins_no_new_line() {
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
    fn a_page_stops_at_its_limits_but_has_at_least_one_line() {
        let rope = Rope::from_str("one\r\ntwo\nthree");
        assert_eq!(page(&rope, 0, 2, 100).text, "1\tone\n2\ttwo\n");
        assert_eq!(page(&rope, 1, 9, 10).text, "2\ttwo\n");
        assert_eq!(page(&rope, 2, 9, 1).text, "3\tthree\n");
        assert_eq!(page(&rope, 3, 9, 100).lines, 0);
        let long = Rope::from_str(&"ä".repeat(2_003));
        let page = page(&long, 0, 1, 10);
        let end = "ä… [3 more characters in line 1; `read` with offset 1 and column 2001 shows \
                    them]\n";
        assert!(page.cut && page.text.ends_with(end), "{}", page.text);
    }

    /// MC-21: every part of a long line can be read, and the last part has no note.
    #[test]
    fn a_long_line_can_be_read_by_column() {
        let texts = Texts::load(None);
        let line: String = (0..50_000)
            .map(|n| char::from(b'a' + n as u8 % 26))
            .collect();
        let rope = Rope::from_str(&format!("{line}\nend\n"));
        let mut read = String::new();
        let mut cut = true;
        while cut {
            let wanted = Wanted {
                first: 0,
                column: Some(read.len()),
                lines: 1,
                bytes: 100_000,
            };
            let page = super::page(&texts, &rope, wanted);
            let shown = page.text.strip_prefix("1\t").unwrap();
            read.push_str(shown.split(['…', '\n']).next().unwrap());
            cut = page.cut;
        }
        assert_eq!(read, line);
    }

    #[test]
    fn places_close_together_are_shown_once_and_gaps_are_marked() {
        let texts = Texts::load(None);
        let rope = Rope::from_str("a\nb\nc\nd\ne\nf\ng\n");
        assert_eq!(
            around(&texts, &rope, &[1, 2, 7], 1),
            "1\ta\n2\tb\n3\tc\n…\n6\tf\n7\tg\n"
        );
        assert_eq!(around(&texts, &rope, &[50], 1), "");
    }

    #[test]
    fn the_most_similar_place_comes_first_and_only_once() {
        let texts = Texts::load(None);
        let rope = Rope::from_str("a\nb\nc\nd\ne\nf\ng\n");
        assert_eq!(
            places(&texts, &rope, &[6, 1, 7], 1),
            "5\te\n6\tf\n7\tg\n…\n1\ta\n2\tb\n"
        );
        assert_eq!(places(&texts, &rope, &[], 1), "");
    }

    #[test]
    fn the_new_lines_of_a_diff_are_found() {
        let diff =
            "--- a\n+++ b\n@@ -1,3 +2,4 @@ fn\n@@ -9 +11 @@\n@@ -20,2 +20,0 @@\n+@@ -1 +1 @@\n";
        assert_eq!(new_ranges(diff), [(2, 5), (11, 11)]);
    }
}
