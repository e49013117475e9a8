//! A preview as a table for people.

use super::markup::{BOLD, DIM, PLAIN, wrapped};
use super::table::{self, Side};
use crate::conversation::input::Slot;
use crate::session::PromptPreview;

/// The narrowest terminal that shows why a segment is included.
const WITH_REASONS: usize = 100;

/// Prints the table: on a terminal within its width, and with absent segments only if `all`.
pub fn print(preview: &PromptPreview, all: bool) {
    let Some(look) = super::look() else {
        return super::print(&table(preview));
    };
    let mut rows = rows(preview);
    let mut kept = preview.segments.iter().map(|row| all || row.included);
    let header = rows.remove(0);
    rows.retain(|_| kept.next().unwrap_or(true));
    let hidden = preview.segments.len() - rows.len();
    rows.insert(0, header);
    // Reasons are long: below this width they would break everything else.
    let columns = if look.width < WITH_REASONS && !all {
        6
    } else {
        7
    };
    let cells = |row: &[String; 7]| {
        let row = row.iter().take(columns);
        row.map(|cell| table::cell(cell, PLAIN)).collect()
    };
    let mut cells: Vec<Vec<table::Cell>> = rows.iter().map(cells).collect();
    for cell in cells.iter_mut().take(1).flatten().flatten() {
        cell.style = BOLD;
    }
    let sides = [Side::Left, Side::Left, Side::Right, Side::Right];
    let mut lines = table::lines(&cells, &sides, false, look.width);
    lines.extend(wrapped("", &summary(preview), PLAIN, look.width));
    if hidden > 0 {
        let text = format!(
            "{hidden} segments are not in this prompt; `interline prompt --all` lists them, with reasons."
        );
        lines.extend(wrapped("", &text, DIM, look.width));
    }
    super::print_lines(&lines);
}

/// The header and a row for each segment.
fn rows(preview: &PromptPreview) -> Vec<[String; 7]> {
    let mut rows = vec![
        [
            "segment", "slot", "bytes", "~tokens", "trust", "source", "why",
        ]
        .map(str::to_owned),
    ];
    for row in &preview.segments {
        rows.push([
            row.id.clone(),
            match row.slot {
                Slot::System => "system".to_owned(),
                Slot::Tail => "tail".to_owned(),
            },
            if_included(row.included, row.bytes.to_string()),
            if_included(row.included, row.tokens.to_string()),
            format!("{:?}", row.trust).to_lowercase(),
            row.source.clone(),
            reason(preview, &row.reason),
        ]);
    }
    rows
}

/// Every segment: id, slot, bytes, trust, source, and why it is included or not.
pub fn table(preview: &PromptPreview) -> String {
    let rows = rows(preview);
    let mut widths = [0_usize; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count()).min(44);
        }
    }
    let mut out = String::new();
    for row in rows {
        let line: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out.push_str(&summary(preview));
    out
}

/// Sizes, and what is not used.
fn summary(preview: &PromptPreview) -> String {
    let mut out = String::new();
    let tools: usize = preview
        .tools
        .iter()
        .map(|tool| serde_json::to_string(tool).map_or(0, |json| json.len()))
        .sum();
    out.push_str(&format!(
        "\n{} tools, {tools} bytes; system {} bytes; request {} bytes, ~{} tokens{}; epoch: {}",
        preview.tools.len(),
        preview.system.len(),
        preview.request.body.len(),
        preview.tokens.count,
        if preview.tokens.exact {
            ""
        } else {
            " (estimated)"
        },
        preview.epoch.reason,
    ));
    if !preview.problems.is_empty() {
        out.push_str("\n\nNot used:");
    }
    for problem in &preview.problems {
        out.push_str(&format!("\n  {}: {}", problem.source, problem.reason));
    }
    out
}

fn if_included(included: bool, count: String) -> String {
    if included { count } else { "-".to_owned() }
}

/// Why, without the list below the table.
fn reason(preview: &PromptPreview, reason: &str) -> String {
    let cut = (!preview.problems.is_empty())
        .then(|| reason.find("not used: "))
        .flatten();
    match cut {
        Some(at) => format!("{}not used: see below", &reason[..at]),
        None => reason.to_owned(),
    }
}

/// What the session's next message would report as changed since its baseline.
pub fn pending(preview: &PromptPreview) -> String {
    if preview.epoch.id == "next" {
        let place = match &preview.changed {
            Some(changed) => format!(
                "The request differs from the last one from byte {}, in the segment {}.",
                changed.byte, changed.segment_id
            ),
            None => "The request begins with all bytes of the last one.".to_owned(),
        };
        return format!(
            "The next message begins a new epoch ({}): the provider's cache is lost from there on.\n{place}",
            preview.epoch.reason
        );
    }
    if preview.pending.is_empty() {
        return format!(
            "The baseline (epoch {}, {}) is unchanged: no byte of tools and system changes.",
            preview.epoch.id, preview.epoch.reason
        );
    }
    let mut out =
        String::from("The baseline is unchanged; the next message reports these changes:\n");
    for entry in &preview.pending {
        out.push_str(&format!(
            "  {} {} ({} bytes)\n",
            entry.about,
            entry.source,
            entry.text.len()
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::if_included;

    #[test]
    fn a_segment_that_is_left_out_has_no_size() {
        let counts = [true, false].map(|included| if_included(included, "12".to_owned()));
        assert_eq!(counts, ["12", "-"]);
    }
}
