//! A preview as a table for people.

use crate::conversation::input::Slot;
use crate::session::PromptPreview;

/// Every segment: id, slot, bytes, trust, source, and why it is included or not.
pub fn table(preview: &PromptPreview) -> String {
    let mut rows = vec![[
        "segment".to_owned(),
        "slot".to_owned(),
        "bytes".to_owned(),
        "~tokens".to_owned(),
        "trust".to_owned(),
        "source".to_owned(),
        "why".to_owned(),
    ]];
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
