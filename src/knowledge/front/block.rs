//! Blocks of text in front matter: `|` keeps line ends, `>` folds lines into paragraphs. Pure.

/// How the lines of a block become a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    folded: bool,
}

/// The style that `text`, all that follows a key, announces: `|` or `>`, perhaps with `-`, `+`
/// or a digit, perhaps with a comment.
pub fn style(text: &str) -> Option<Style> {
    let text = super::scalar::without_comment(text);
    let folded = text.starts_with('>');
    let rest = text.strip_prefix(['|', '>'])?;
    let sound = rest.len() <= 2 && rest.chars().all(|c| matches!(c, '-' | '+' | '1'..='9'));
    sound.then_some(Style { folded })
}

/// The text of a block's lines, without the indentation that they share and without blank lines
/// at its ends (never intended).
pub fn text(style: Style, lines: &[&str]) -> String {
    let blank = |line: &&str| line.trim().is_empty();
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = lines.iter().filter(|line| !blank(line)).map(indent).min();
    let shared = shared.unwrap_or(0);
    let mut out = String::new();
    let mut gap = 0;
    let mut verbatim = false;
    for line in lines {
        if blank(line) {
            gap += 1;
            continue;
        }
        let line = line[shared..].trim_end();
        // More indented lines of a folded block keep their ends.
        let keeps = !style.folded || line.starts_with([' ', '\t']);
        if !out.is_empty() {
            match (keeps || verbatim, gap) {
                (true, gap) => out.extend(std::iter::repeat_n('\n', gap + 1)),
                (false, 0) => out.push(' '),
                (false, gap) => out.extend(std::iter::repeat_n('\n', gap)),
            }
        }
        out.push_str(line);
        (gap, verbatim) = (0, keeps);
    }
    out
}
