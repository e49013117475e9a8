//! Plain models of the search for the place of an edit and of patches, which the real ones are
//! compared with on texts that arbitrary bytes choose.

use super::bytes::Bytes;
use crate::edit::line_ends::line_feeds;
use crate::edit::lines::{hunks, split};
use crate::edit::matching::{Place, Strategy, Wanted, locate};
use crate::edit::v4a::{self, Action, Chunk, Problem};
use ropey::Rope;

/// Searches a text in another one, both chosen by `data`.
///
/// # Panics
/// When the search and the model disagree.
pub fn fuzz_matching(data: &[u8]) {
    let mut script = Bytes::new(data);
    while !script.over() {
        let text = read_lines(&mut script, 8).concat();
        let (first, rows) = (script.byte(), script.byte() % 4);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = usize::from(first) % lines.len().max(1);
        let some = lines.iter().skip(first).take(1 + usize::from(rows));
        let old: String = some.map(|line| disguised(&mut script, line)).collect();
        let (new, old) = (read_lines(&mut script, 3).concat(), line_feeds(&old));
        let cut = usize::from(script.byte()) % (old.chars().count() + 1);
        let part: String = old.chars().skip(cut).collect();
        for (old, whole_lines) in [(&old, true), (&part, false)] {
            let whole_lines = whole_lines && old.ends_with('\n');
            for new in [old, &new] {
                let wanted = Wanted {
                    old,
                    new,
                    whole_lines,
                };
                let (strategy, places) = locate(&text, wanted);
                check(&text, &places);
                if new != old || old.is_empty() {
                    continue;
                }
                match whole_lines {
                    true => compare_lines(&text, old, strategy, &places),
                    false => compare_text(&text, old, strategy, &places),
                }
                for place in places.iter().filter(|_| !text.contains('\r')) {
                    let changes = hunks(&text, place.range.clone(), &place.new);
                    assert!(
                        changes.is_empty(),
                        "{old:?} for itself in {text:?}: {changes:?}"
                    );
                }
            }
        }
    }
}

/// The places can be changed, one after another.
fn check(text: &str, places: &[Place]) {
    for pair in places.windows(2) {
        assert!(pair[0].range.start < pair[1].range.start, "{places:?}");
    }
    for place in places {
        assert!(
            text.get(place.range.clone()).is_some(),
            "{place:?} in {text:?}"
        );
    }
}

/// A text that is there exactly is found as often as it is there.
fn compare_text(text: &str, old: &str, strategy: Strategy, places: &[Place]) {
    let view = line_feeds(text);
    let starts = view.char_indices().map(|(at, _)| at);
    let count = starts.filter(|at| view[*at..].starts_with(old)).count();
    if count > 0 {
        assert_eq!(strategy, Strategy::Exact, "{old:?} in {text:?}");
        assert_eq!(places.len() == 1, count == 1, "{old:?} in {text:?}");
    }
    assert!(!places.is_empty() || count == 0, "{old:?} in {text:?}");
}

/// Lines are found by the first of the simple strategies that finds any, wherever it does.
fn compare_lines(text: &str, old: &str, strategy: Strategy, places: &[Place]) {
    let lines = split(text);
    let wanted: Vec<&str> = old.lines().collect();
    let mut rules: Vec<(Strategy, Rule)> = vec![(Strategy::Exact, |_, line, old| line == old)];
    if !old.trim().is_empty() {
        rules.push((Strategy::TrailingSpace, |_, line, old| {
            end(line) == end(old)
        }));
        rules.push((Strategy::Indentation, |by, line, old| {
            blank(line) && blank(old) || shift(end(line), end(old)).is_some_and(|it| it == by)
        }));
    }
    for (known, rule) in rules {
        let starts = (0..lines.len()).filter(|at| {
            let rows = lines[*at..].iter().map(|line| line.body).zip(&wanted);
            let says = rows.clone().find(|(_, old)| !blank(old));
            let by = says.and_then(|(line, old)| shift(end(line), end(old)));
            let by = by.unwrap_or_default();
            rows.len() == wanted.len() && rows.clone().all(|(line, old)| rule(by, line, old))
        });
        let found: Vec<usize> = starts.map(|at| lines[at].start).collect();
        if !found.is_empty() {
            let starts: Vec<usize> = places.iter().map(|place| place.range.start).collect();
            assert_eq!((strategy, starts), (known, found), "{old:?} in {text:?}");
            return;
        }
    }
    let simple = [Strategy::TrailingSpace, Strategy::Indentation].contains(&strategy);
    let exact = strategy == Strategy::Exact && !places.is_empty();
    assert!(!simple && !exact, "{strategy:?} of {old:?} in {text:?}");
}

/// Whether a line, which is indented by this more than the wanted one, may stand for it.
type Rule = fn((i8, &str), &str, &str) -> bool;

fn end(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

fn blank(line: &str) -> bool {
    end(line).is_empty()
}

/// How `line` is indented otherwise than `old`, if that is the only difference.
fn shift<'a>(line: &'a str, old: &'a str) -> Option<(i8, &'a str)> {
    let depth = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let ((there, line), (here, old)) = (line.split_at(depth(line)), old.split_at(depth(old)));
    let by = match (there.strip_suffix(here), here.strip_suffix(there)) {
        (Some(""), _) => (0, ""),
        (Some(more), _) => (1, more),
        (None, Some(less)) => (-1, less),
        (None, None) => return None,
    };
    (line == old && !line.is_empty()).then_some(by)
}

/// Reads `data` as a patch; then makes patches of lines that `data` chooses, and applies them.
///
/// # Panics
/// When the parser or the planner and the model disagree.
pub fn fuzz_patches(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(sections) = v4a::parse(&text)
        && !text.contains('\r')
    {
        let again = v4a::parse(&written(&sections));
        assert_eq!(again.map(plain), Ok(plain(sections)));
    }
    let mut script = Bytes::new(data);
    while !script.over() {
        let lines: Vec<String> = read_lines(&mut script, 8)
            .iter()
            .map(|it| line_feeds(it))
            .collect();
        let count = 1 + script.byte() % 3;
        let parts: Vec<Part> = (0..count)
            .map(|at| read_part(&mut script, &lines, at))
            .collect();
        compare_patch(&lines, &parts);
    }
}

/// Without the lines of the patch.
fn plain(mut sections: Vec<v4a::Section>) -> Vec<v4a::Section> {
    for section in &mut sections {
        if let Action::Update { chunks, .. } = &mut section.action {
            chunks.iter_mut().for_each(|chunk| chunk.line = 0);
        }
    }
    sections
}

fn written(sections: &[v4a::Section]) -> String {
    let signed = |sign: &str, text: &str| {
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| format!("{sign}{line}"))
            .collect::<String>()
    };
    let mut out = "*** Begin Patch\n".to_owned();
    for section in sections {
        let path = &section.path;
        match &section.action {
            Action::Add(text) => {
                out.push_str(&format!("*** Add File: {path}\n{}", signed("+", text)));
            }
            Action::Delete => out.push_str(&format!("*** Delete File: {path}\n")),
            Action::Update { to, chunks } => {
                out.push_str(&format!("*** Update File: {path}\n"));
                out.extend(to.iter().map(|to| format!("*** Move to: {to}\n")));
                for chunk in chunks {
                    out.push_str("@@\n");
                    for header in &chunk.headers {
                        // The signs behind a header are no part of it.
                        let end = if header.ends_with("@@") { " @@" } else { "" };
                        out.push_str(&format!("@@ {header}{end}\n"));
                    }
                    out.push_str(&signed("-", &chunk.old));
                    out.push_str(&signed("+", &chunk.new));
                    out.push_str(if chunk.at_end {
                        "*** End of File\n"
                    } else {
                        ""
                    });
                }
            }
        }
    }
    out + "*** End Patch\n"
}

/// A chunk and the lines that it was made of.
struct Part {
    first: usize,
    /// The lines of the chunk: those that it deletes, and what it adds before each.
    rows: Vec<(bool, Option<String>)>,
}

impl Part {
    fn chunk(&self, lines: &[String]) -> Chunk {
        let mut chunk = Chunk {
            line: self.first + 1,
            ..Chunk::default()
        };
        for ((deleted, added), line) in self.rows.iter().zip(&lines[self.first..]) {
            chunk.new.extend(added.iter().cloned());
            chunk.old.push_str(line);
            if !deleted {
                chunk.new.push_str(line);
            }
        }
        chunk
    }

    fn has(&self, line: usize) -> bool {
        (self.first..self.first + self.rows.len()).contains(&line)
    }

    fn deletes(&self, line: usize) -> bool {
        let row = line
            .checked_sub(self.first)
            .and_then(|at| self.rows.get(at));
        row.is_some_and(|(deleted, _)| *deleted)
    }

    fn adds(&self, line: usize) -> Option<&str> {
        let row = line
            .checked_sub(self.first)
            .and_then(|at| self.rows.get(at));
        row.and_then(|(_, added)| added.as_deref())
    }
}

/// The chunks of one text, in any order. Every line of the model has its own end.
fn compare_patch(lines: &[String], parts: &[Part]) {
    let text = lines.concat();
    let chunks: Vec<Chunk> = parts.iter().map(|part| part.chunk(lines)).collect();
    let planned = v4a::plan(&Rope::from_str(&text), &chunks);
    let result = planned.map(|plan| plan.result().to_string());
    let count = |chunk: &Chunk| {
        let rows = chunk.old.split_inclusive('\n').count();
        let at = (0..lines.len()).filter(|at| {
            let end = (at + rows).min(lines.len());
            lines[*at..end].concat() == chunk.old
        });
        at.count()
    };
    if chunks.iter().any(|chunk| chunk.old.is_empty()) {
        assert!(
            result.is_err() || text.is_empty(),
            "a chunk without context"
        );
        return;
    }
    if chunks.iter().any(|chunk| count(chunk) > 1) {
        let errors = result.expect_err("a chunk with two places");
        let twice = |problem: &Problem| matches!(problem, Problem::Ambiguous { .. });
        assert!(
            errors.iter().any(|error| twice(&error.problem)),
            "{errors:?}"
        );
        return;
    }
    let both = |line: usize, of: fn(&Part, usize) -> bool| {
        parts.iter().filter(|part| of(part, line)).count() > 1
    };
    let shared = (0..lines.len()).any(|line| both(line, Part::has));
    let alike = lines
        .iter()
        .enumerate()
        .any(|(at, line)| lines[..at].contains(line));
    // What is deleted of equal lines is not known.
    if shared && !alike && (0..lines.len()).any(|line| both(line, Part::deletes)) {
        assert!(
            result.is_err(),
            "{chunks:?} delete the same lines of {text:?}"
        );
    }
    if shared {
        return;
    }
    let mut expected = String::new();
    for (line, text) in lines.iter().enumerate() {
        expected.extend(parts.iter().filter_map(|part| part.adds(line)));
        if !parts.iter().any(|part| part.deletes(line)) {
            expected.push_str(text);
        }
    }
    let result = result.unwrap_or_else(|errors| panic!("{chunks:?} of {text:?}: {errors:?}"));
    assert_eq!(result, expected, "{chunks:?} of {text:?}");
}

/// Up to `most` lines, each with its end.
fn read_lines(script: &mut Bytes, most: u8) -> Vec<String> {
    const WORDS: [&str; 12] = [
        "a",
        "b",
        "a b",
        "}",
        "",
        "x = “1”",
        "x = \"1\"",
        "ab",
        "1\ta",
        "2\tb",
        "é–",
        "é-",
    ];
    const INDENTS: [&str; 6] = ["", "", "  ", "    ", "\t", "      "];
    let count = script.byte() % (most + 1);
    let end = if script.byte().is_multiple_of(4) {
        "\r\n"
    } else {
        "\n"
    };
    (0..count)
        .map(|_| {
            let indent = script.one_of(&INDENTS);
            let word = script.one_of(&WORDS);
            let space = if script.byte().is_multiple_of(5) {
                "  "
            } else {
                ""
            };
            format!("{indent}{word}{space}{end}")
        })
        .collect()
}

/// The line as a model may remember it.
fn disguised(script: &mut Bytes, line: &str) -> String {
    let body = line.trim_end_matches(['\r', '\n']);
    let body = match script.byte() % 8 {
        0 => end(body).to_owned(),
        1 => format!("{body} "),
        2 => format!("    {body}"),
        3 => body.trim_start_matches(' ').to_owned(),
        4 => body.replace(['“', '”'], "\""),
        5 => format!("1\t{body}"),
        _ => body.to_owned(),
    };
    format!("{body}\n")
}

/// A chunk of consecutive `lines`. What it adds is nowhere else.
fn read_part(script: &mut Bytes, lines: &[String], number: u8) -> Part {
    let first = usize::from(script.byte()) % (lines.len() + 1);
    let rows = usize::from(script.byte() % 4).min(lines.len() - first);
    let row = |at: usize| {
        let what = script.byte() % 4;
        let added = format!("new {number} {at}\n");
        (what & 1 == 1, (what & 2 == 2).then_some(added))
    };
    Part {
        first,
        rows: (0..rows).map(row).collect(),
    }
}

#[cfg(test)]
mod tests;
