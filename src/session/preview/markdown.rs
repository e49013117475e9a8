//! A preview as a text for the user: `interline.showPrompt`, and ACP's `/prompt`.

use std::fmt::Write as _;

use super::PromptPreview;

/// The preview as Markdown.
pub fn text(preview: &PromptPreview) -> String {
    let mut out = String::from("# The prompt\n\n");
    let tokens = &preview.tokens;
    let about = if tokens.exact { "" } else { "about " };
    let _ = writeln!(
        out,
        "Epoch {} ({}), {about}{} tokens, {} tools, {} bytes to {}.\n",
        preview.epoch.id,
        preview.epoch.reason,
        tokens.count,
        preview.tools.len(),
        preview.request.body.len(),
        preview.request.provider,
    );
    out.push_str("| segment | source | slot | trust | bytes | why |\n|---|---|---|---|---|---|\n");
    for row in &preview.segments {
        let (bytes, not) = match row.included {
            true => (row.bytes, ""),
            false => (0, "left out: "),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {:?} | {:?} | {bytes} | {not}{} |",
            cell(&row.id),
            cell(&row.source),
            row.slot,
            row.trust,
            cell(&row.reason),
        );
    }
    for (title, text) in [("System", &preview.system), ("Tail", &preview.tail)] {
        let _ = write!(out, "\n## {title}\n\n{}", fenced(text));
    }
    for entry in &preview.pending {
        let _ = write!(
            out,
            "\n## Pending: {} ({})\n\n{}",
            entry.about,
            entry.source,
            fenced(&entry.text)
        );
    }
    for problem in &preview.problems {
        let _ = write!(out, "\nNot used: {}: {}\n", problem.source, problem.reason);
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// A code block whose fence does not occur in the text.
fn fenced(text: &str) -> String {
    let mut fence = String::from("```");
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}
