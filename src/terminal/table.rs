//! Tables for a terminal: columns as wide as their cells if that fits, else the widest ones are
//! narrowed and their cells wrapped. Pure.

use anstyle::Style;

use super::markup::{DIM, Line, PLAIN, Span, wrap};

/// Where a cell's text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    #[default]
    Left,
    Middle,
    Right,
}

/// The narrowest that a column becomes.
const NARROWEST: usize = 6;

/// Spans of a cell.
pub type Cell = Vec<Span>;

/// The rows as lines; with `ruled`, the first row is a header above a rule.
pub fn lines(rows: &[Vec<Cell>], sides: &[Side], ruled: bool, width: usize) -> Vec<Line> {
    let gap = match ruled {
        true => Span::new(" │ ", DIM),
        false => Span::new("  ", PLAIN),
    };
    let widths = widths(rows, width, Line::of(vec![gap.clone()]).width());
    let mut out = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        out.extend(row_lines(row, &widths, sides, &gap));
        if ruled && index == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            out.push(Line::of(vec![Span::new(&rule.join("─┼─"), DIM)]));
        }
    }
    out
}

fn wide(cell: &Cell) -> usize {
    Line::of(cell.clone()).width()
}

fn widths(rows: &[Vec<Cell>], width: usize, gap: usize) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let mut widths = vec![1; columns];
    for row in rows {
        for (known, cell) in widths.iter_mut().zip(row) {
            *known = wide(cell).max(*known);
        }
    }
    let room = width.saturating_sub(gap * columns.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|it| **it > NARROWEST) else {
            break;
        };
        *widest -= 1;
    }
    widths
}

fn row_lines(row: &[Cell], widths: &[usize], sides: &[Side], gap: &Span) -> Vec<Line> {
    let none = Span::new("", PLAIN);
    let cells: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match row.get(column) {
            Some(cell) => wrap(cell, &none, &none, *width),
            None => Vec::new(),
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    (0..height)
        .map(|at| {
            let mut spans: Vec<Span> = Vec::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    spans.push(gap.clone());
                }
                let line = cells[column].get(at).cloned().unwrap_or_default();
                let left = width.saturating_sub(line.width());
                let before = match sides.get(column).copied().unwrap_or_default() {
                    Side::Left => 0,
                    Side::Middle => left / 2,
                    Side::Right => left,
                };
                spans.push(blanks(before));
                spans.extend(line.spans);
                // Nothing hangs at the end of a line.
                if column + 1 < widths.len() {
                    spans.push(blanks(left - before));
                }
            }
            Line::of(spans)
        })
        .collect()
}

fn blanks(count: usize) -> Span {
    Span::new(&" ".repeat(count), PLAIN)
}

/// A cell of one style.
pub fn cell(text: &str, style: Style) -> Cell {
    vec![Span::new(text, style)]
}

#[cfg(test)]
mod tests {
    use super::super::markup::BOLD;
    use super::*;

    fn shown(rows: &[&[&str]], sides: &[Side], ruled: bool, width: usize) -> Vec<String> {
        let rows: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(|text| cell(text, BOLD)).collect())
            .collect();
        let lines = lines(&rows, sides, ruled, width);
        lines.iter().map(|line| line.paint(false)).collect()
    }

    #[test]
    fn columns_are_aligned() {
        let rows: [&[&str]; 3] = [&["name", "price"], &["a", "1"], &["long one", "20"]];
        assert_eq!(
            shown(&rows, &[Side::Left, Side::Right], true, 40),
            [
                "name     │ price",
                "─────────┼──────",
                "a        │     1",
                "long one │    20"
            ]
        );
    }

    #[test]
    fn the_widest_column_is_narrowed_and_its_cells_are_wrapped() {
        let rows: [&[&str]; 2] = [&["a", "one two three four five"], &["b", "x"]];
        assert_eq!(
            shown(&rows, &[], false, 16),
            ["a  one two three", "   four five", "b  x"]
        );
    }
}
