//! Texts that were copied with the line numbers that `read` prints.

/// Both texts without the numbers; `None` if a line of `old` has none, or they do not count up. A
/// `new` without any number stays as it is.
pub(super) fn without(old: &str, new: &str) -> Option<(String, String)> {
    let mut last = None;
    let mut plain = String::new();
    for line in old.split_inclusive('\n') {
        let (number, text) = split(line)?;
        if last.is_some_and(|last: u64| last.checked_add(1) != Some(number)) {
            return None;
        }
        last = Some(number);
        plain.push_str(text);
    }
    last?;
    let lines: Vec<_> = new
        .split_inclusive('\n')
        .map(|line| (line, split(line)))
        .collect();
    let numbered = lines.iter().filter(|(_, split)| split.is_some()).count();
    if numbered == 0 {
        return Some((plain, new.to_owned()));
    }
    // With some numbers it is unclear which of them are text.
    let all = lines
        .into_iter()
        .map(|(_, split)| split.map(|(_, text)| text));
    Some((plain, all.collect::<Option<String>>()?))
}

/// The number and the text of a line as `read` prints it.
fn split(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    let number = number.trim_start_matches(' ');
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| digits)?, text))
}
