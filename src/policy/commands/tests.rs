use super::{LONGEST, Verdict, easy_to_overlook, has_hidden_characters, judge};

#[test]
fn a40_hidden_characters_are_dangerous() {
    for command in [
        "ls\r rm -rf /",
        "ls \u{1b}[2K",
        "ls \u{8}\u{8}",
        "ls \u{202e}fr",
        "ls\u{200b}",
        "ls \u{e0041}",
        "ls \u{9b}1A",
        "ls\u{0}",
        "ls \u{2066}x",
        // R07: invisible glyphs.
        "ls \u{2800}; touch x",
        "ls \u{fff0}; touch x",
        "ls \u{fffc}; touch x",
        "ls \u{1d159}; touch x",
        "ls \u{16fe4}; touch x",
        "ls \u{13441}; touch x",
    ] {
        assert!(has_hidden_characters(command), "{command:?}");
    }
    assert!(!has_hidden_characters("cat <<'E'\n\tä ü 😀\nE\n"));
}

#[test]
fn a23_a_command_over_10_kb_is_dangerous() {
    assert!(!has_hidden_characters(&"x".repeat(LONGEST)));
    assert!(has_hidden_characters(&"x".repeat(LONGEST + 1)));
    assert!(has_hidden_characters(&"true; ".repeat(10_000)));
}

#[test]
fn a40_a_payload_behind_500_blanks_is_noticed() {
    assert!(easy_to_overlook(&format!("ls{}; curl x", " ".repeat(500))));
    assert!(easy_to_overlook(&format!("ls{}curl x", "\n".repeat(500))));
    for blank in ["\u{a0}", "\u{3000}", "\u{2003}"] {
        assert!(easy_to_overlook(&format!("ls{}; x", blank.repeat(81))));
    }
    assert!(!easy_to_overlook("if true; then\n        ls\nfi"));
}

/// The command lines of `tests/fixtures/commands.txt` with their verdicts.
pub(super) fn corpus() -> Vec<(Verdict, String)> {
    let text = include_str!("../../../tests/fixtures/commands.txt");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (verdict, command) = line.split_once(' ').expect(line);
            let verdict = match verdict {
                "read-only" => Verdict::ReadOnly,
                "unknown" => Verdict::Unknown,
                "refused" => Verdict::Refused,
                other => panic!("no verdict: {other}"),
            };
            match (verdict, command.split_once('*')) {
                (Verdict::Refused, Some((count, part))) => {
                    let count = count.parse().expect(line);
                    (verdict, unescaped(part).repeat(count))
                }
                _ => (verdict, unescaped(command)),
            }
        })
        .collect()
}

pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next() } else { None };
        plain.push(match next {
            None => c,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('u') => {
                let code: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&code, 16).expect(text);
                char::from_u32(code).expect(text)
            }
            Some(other) => other,
        });
    }
    plain
}

/// A17…A20, A24: the corpus joins, substitutes, wraps and quotes commands, sets variables, and has
/// options that write or execute and what shells treat differently.
#[test]
fn a24_each_command_line_of_the_corpus_has_its_verdict() {
    let corpus = corpus();
    assert!(corpus.len() >= 400, "{}", corpus.len());
    let wrong: Vec<_> = corpus
        .iter()
        .map(|(expected, line)| (expected, judge(line), line))
        .filter(|(expected, found, _)| *expected != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A23: what looks like a here-document does not hide the number of parts.
#[test]
fn a23_the_parts_of_a_line_count_beside_a_comment_or_a_quote() {
    let many = "true; ".repeat(60);
    for line in [
        format!("ls # <<E\n{many}"),
        format!("echo '<<E'; {many}"),
        format!("{many} # <<E"),
    ] {
        assert_eq!(judge(&line), Verdict::Refused, "{line}");
    }
    let text = format!("cat <<E\n{many}\nE\n");
    assert_eq!(judge(&text), Verdict::Unknown);
    assert_eq!(judge(&format!("ls # {many}")), Verdict::ReadOnly);
}

/// A line that is no complete command: what is joined to it may be a part of it, such as the rest of
/// a comment, of an open quote or of a pipeline.
pub(super) fn open_end(line: &str) -> bool {
    let differ = |open, close| line.matches(open).count() != line.matches(close).count();
    let bare = line.trim();
    line.contains(['#', '\'', '"', '\\', '`'])
        || line.contains("<<")
        || bare.starts_with(['|', '&', ';'])
        || bare.ends_with(['|', '&'])
        || differ('(', ')')
        || differ('{', '}')
}

#[test]
fn a43_wrapping_makes_no_command_line_laxer() {
    let wraps = [
        ("(", "\n)"),
        ("{ ", "\n}"),
        ("! ", ""),
        ("true && ", ""),
        ("ls; ", ""),
        ("ls | ", ""),
        ("", "\nls"),
        ("", "; ls"),
        ("", " | cat"),
        ("", " 2>&1"),
        ("LC_ALL=C ", ""),
        ("  ", "  "),
    ];
    for (verdict, line) in corpus() {
        for (before, after) in wraps {
            let wrapped = format!("{before}{line}{after}");
            let laxer = judge(&wrapped) < verdict && !open_end(&line);
            assert!(!laxer, "{wrapped:?}");
        }
    }
}

#[test]
fn a43_no_wrapper_that_executes_or_writes_is_read_only() {
    let wraps = [
        ("sh -c '", "'"),
        ("eval ", ""),
        ("env ", ""),
        ("sudo ", ""),
        ("xargs ", ""),
        ("time ", ""),
        ("PATH=. ", ""),
        ("cat $(", ")"),
        ("cat \"$(", ")\""),
        ("cat `", "`"),
        ("cat <(", ")"),
        ("if ", "\nthen ls; fi"),
        ("f() { ", "\n}"),
        ("", " > file"),
        ("", " | sh"),
        ("", " &"),
        ("", "; rm x"),
        ("", " && rm x"),
        ("", "\nrm x"),
        ("rm x; ", ""),
    ];
    for (_, line) in corpus() {
        for (before, after) in wraps {
            let wrapped = format!("{before}{line}{after}");
            // What is after an open quote or a comment is not executed.
            let executed = before.is_empty() && open_end(&line);
            let comment = line.starts_with('#');
            let lax = judge(&wrapped) == Verdict::ReadOnly && !executed && !comment;
            assert!(!lax, "{wrapped:?}");
        }
    }
}

/// Quoted words are the same words, and a quoted line is the name of no known program.
#[test]
fn a43_quoting_makes_no_command_line_laxer() {
    let special: Vec<char> = "$`~*?[{><|&;()'\"\\\n#".chars().collect();
    for (verdict, line) in corpus() {
        let whole = format!("'{}'", line.replace('\'', "'\\''"));
        let single_word = !line.contains(' ') && verdict == Verdict::ReadOnly;
        assert!(single_word || judge(&whole) > Verdict::ReadOnly, "{whole}");
        if line.contains(special.as_slice()) || verdict == Verdict::Refused {
            continue;
        }
        for quote in ["'", "\"", "''"] {
            let quoted = |word| format!("{quote}{word}{quote}");
            let words: Vec<String> = line
                .split(' ')
                .filter(|it| !it.is_empty())
                .map(quoted)
                .collect();
            let quoted = words.join(" ");
            assert!(judge(&quoted) >= verdict, "{quoted}");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(2_000))]

    #[test]
    fn a43_joining_two_lines_is_never_laxer_than_either(
        first in proptest::sample::select(corpus()),
        second in proptest::sample::select(corpus()),
        by in proptest::sample::select(vec![";", " ; ", "&&", "||", "|", "\n", "&", "|&"]),
    ) {
        let joined = format!("{}{by}{}", first.1, second.1);
        let strictest = first.0.max(second.0);
        proptest::prop_assert!(
            open_end(&first.1) || open_end(&second.1) || judge(&joined) >= strictest,
            "{joined:?}"
        );
    }

    #[test]
    fn any_text_is_judged_without_a_panic(text in "[a-z '\"\\\\$`(){};&|<>*?~#=\n-]{0,60}") {
        judge(&text);
    }
}
