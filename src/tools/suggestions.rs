//! Suggestions for a misspelt name.

/// Up to three of `known` that `wrong` could be a typo of, closest first, then by name.
pub(super) fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wrong: Vec<char> = wrong
        .chars()
        .take(200)
        .flat_map(char::to_lowercase)
        .collect();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower: Vec<char> = name
                .chars()
                .take(200)
                .flat_map(char::to_lowercase)
                .collect();
            let distance = distance(&wrong, &lower);
            let related = distance <= 2.max(wrong.len() / 3);
            let part = wrong.len() >= 3
                && lower.len() >= 3
                && (contains(&lower, &wrong) || contains(&wrong, &lower));
            (related || part).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn contains(long: &[char], short: &[char]) -> bool {
    long.windows(short.len()).any(|window| window == short)
}

/// Levenshtein distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let known = ["edit", "exec", "glob", "grep", "list", "read", "write"];
        for (wrong, near) in [
            ("raed", vec!["read"]),
            ("read_file", vec!["read"]),
            ("Edit", vec!["edit", "exec"]),
            ("qqqqqq", vec![]),
        ] {
            let found = closest(wrong, known);
            assert_eq!(
                found.first(),
                near.first().map(|name| (*name).to_owned()).as_ref(),
                "{wrong}"
            );
        }
    }
}
