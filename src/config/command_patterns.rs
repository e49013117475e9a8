//! The form of a command pattern in `policy`: words that a command begins with.

/// Longest word, in characters, and most words.
const LONGEST: usize = 100;
const MOST: usize = 10;

/// The words of a pattern, or what is wrong with it.
pub fn words(pattern: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<&str> = pattern.split(' ').filter(|it| !it.is_empty()).collect();
    // Other tools write the rest of the command like this.
    if words.len() > 1 && matches!(words.last(), Some(&"*" | &"…")) {
        words.pop();
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    let fits = |word: &&str| word.chars().count() <= LONGEST && word.chars().all(plain);
    let every = words == ["*"];
    let begins = words.first().is_some_and(|word| !word.starts_with('-'));
    if every || (begins && words.len() <= MOST && words.iter().all(fits)) {
        return Ok(words.into_iter().map(str::to_owned).collect());
    }
    Err(format!(
        "`{}` is not a program with words after it, such as `git push`",
        pattern.chars().take(LONGEST).collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_pattern_has_plain_words() {
        assert_eq!(words("git  push").unwrap(), ["git", "push"]);
        assert_eq!(words("git push *").unwrap(), ["git", "push"]);
        assert_eq!(words("*").unwrap(), ["*"]);
        let long = "x ".repeat(11);
        for wrong in [
            "",
            " ",
            "-x",
            "git; ls",
            "a\nb",
            "a 'b c'",
            "$x",
            "git p*",
            "* x",
            &long,
            "a\u{202e}",
        ] {
            assert!(words(wrong).is_err(), "{wrong:?}");
        }
    }
}
