use super::*;
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

fn check(text: &str, old: &str, expected: &[&str]) {
    let found: Vec<&str> = find(text, old)
        .into_iter()
        .map(|range| &text[range])
        .collect();
    assert_eq!(found, expected, "{old:?} in {text:?}");
}

#[test]
fn matches_are_exact_and_do_not_overlap() {
    check("aaaa", "aa", &["aa", "aa"]);
    check("let x = 1;", "x  = 1", &[]);
    check("abc", "", &[]);
}

#[test]
fn one_that_overlaps_the_only_match_is_found_too() {
    check("0,\n0,\n0,\n", "0,\n0,\n", &["0,\n0,\n", "0,\n0,\n"]);
    check("}\r\n}\r\n}\r\n", "}\n}\n", &["}\r\n}\r\n", "}\r\n}\r\n"]);
    check("éé", "é", &["é", "é"]);
    check("ééé", "éé", &["éé", "éé"]);
}

#[test]
fn line_feeds_match_every_line_end_b09() {
    check("a\r\nb\r\n", "a\nb\n", &["a\r\nb\r\n"]);
    check("a\rb\r", "a\nb", &["a\rb"]);
    check("a\nb", "a\r\nb", &["a\nb"]);
    check("x\r\n\r\ny", "\n\n", &["\r\n\r\n"]);
}

#[test]
fn a_place_that_differs_only_in_line_ends_is_a_second_match_i11() {
    check("a\nb\n--\na\r\nb\r\n", "a\nb", &["a\nb", "a\r\nb"]);
}

#[test]
fn spelled_out_carriage_returns_are_taken_literally_first() {
    check("a\nb\n--\na\r\nb\r\n", "a\r\nb", &["a\r\nb"]);
}

#[test]
fn a_match_never_splits_a_crlf_i12() {
    check("a\r\nb", "a\r", &["a\r\n"]);
    check("a\r\nb", "\nb", &["\r\nb"]);
}

#[test]
fn large_texts_are_searched_at_once() {
    let text = "fn line() {}\r\n".repeat(400_000);
    assert_eq!(find(&text, "fn line() {}\nfn line() {}\n").len(), 200_000);
}

/// The document after the only place was changed, and how the place was found.
fn changed(text: &str, old: &str, new: &str) -> Option<(Strategy, String)> {
    let wanted = Wanted {
        old,
        new,
        whole_lines: false,
    };
    let (strategy, places) = locate(text, wanted);
    let [place] = places.as_slice() else {
        return None;
    };
    let mut text = text.to_owned();
    text.replace_range(place.range.clone(), &place.new);
    Some((strategy, text))
}

fn becomes(text: &str, old: &str, new: &str, strategy: Strategy, expected: &str) {
    let result = changed(text, old, new);
    let expected = Some((strategy, expected.to_owned()));
    assert_eq!(result, expected, "{old:?} → {new:?} in {text:?}");
}

#[test]
fn spaces_at_the_ends_of_lines_may_differ_and_stay() {
    let by = Strategy::TrailingSpace;
    becomes("a  \nb\t\nc\n", "a\nb\n", "a\nB\n", by, "a  \nB\t\nc\n");
    becomes("a\nb\n", "a \nb", "A \nb", by, "A\nb\n");
    becomes("x a  \nb y\n", "a\nb", "a\nB", by, "x a  \nB y\n");
    becomes("a\nlast", "last\n", "LAST\n", by, "a\nLAST");
    // What is inside a line is no end of one.
    assert_eq!(changed("a  b\n", "a b", "c"), None);
    assert_eq!(changed("\n \n", "  \n", "x"), None);
}

#[test]
fn indentation_may_differ_by_the_same_amount_everywhere() {
    let by = Strategy::Indentation;
    becomes(
        "  if a {\n\n    b();\n  }\n",
        "if a {\n\n  b();\n}\n",
        "if a {\n\n  c();\n  d();\n}\n",
        by,
        "  if a {\n\n    c();\n    d();\n  }\n",
    );
    becomes(
        "\tx\n\t\ty\n",
        "\t\tx\n\t\t\ty",
        "\t\tx\n\t\tz",
        by,
        "\tx\n\tz\n",
    );
    // Another amount in each line, tabs for spaces, and a new line that lacks the indentation.
    assert_eq!(changed(" a\n   b\n", "a\nb", "c"), None);
    assert_eq!(changed("\ta\n\tb\n", "    a\n    b", "    c"), None);
    assert_eq!(changed("a\nb\n", "  a\n  b", "  a\nc"), None);
}

#[test]
fn line_numbers_that_read_prints_are_no_text() {
    let by = Strategy::ReadPrefix;
    becomes(
        "a\n\nb\n",
        "1\ta\n2\t\n3\tb\n",
        "1\ta\n2\tB\n",
        by,
        "a\nB\n",
    );
    becomes("  a\n  b\n", " 9\ta\n10\tb", "a\nc", by, "  a\n  c\n");
    becomes("1\ta\n", "1\ta", "1\tb", Strategy::Exact, "1\tb\n");
    for (old, new) in [
        ("1\ta\n3\tb", "c"),
        ("1\ta\nb", "c"),
        ("1\ta\n2\tb", "1\ta\nb\n2\tc"),
        ("+1\ta\n+2\tb", "c"),
    ] {
        assert_eq!(changed("a\nb\n", old, new), None, "{old:?}");
    }
}

#[test]
fn typographic_characters_may_be_plain_ones_and_stay() {
    let by = Strategy::Typographic;
    becomes(
        "say(“a”, “b”) — or\n",
        "say(\"a\", \"b\") - or",
        "say(\"c\", \"b\") - or",
        by,
        "say(“c”, “b”) — or\n",
    );
    becomes(
        "it\u{a0}is ’x’\n",
        "is 'x'",
        "is 'y'",
        by,
        "it\u{a0}is ’y’\n",
    );
    becomes("a \"b\"\nc\n", "a “b”\nc", "a “b”\nd", by, "a \"b\"\nd\n");
    becomes(
        "  a – b\n    c\n",
        "a - b\n  c",
        "a - b\n  d",
        by,
        "  a – b\n    d\n",
    );
    assert_eq!(changed("“a”\n“a”\n", "\"a\"", "b"), None);
}

#[test]
fn a_stricter_strategy_hides_a_looser_one_i11() {
    becomes(
        "a \nb\n--\na\nb\n",
        "a\nb",
        "c",
        Strategy::Exact,
        "a \nb\n--\nc\n",
    );
    becomes(
        "  a\n  b\n--\na \nb\n",
        "a\nb",
        "a\nc",
        Strategy::TrailingSpace,
        "  a\n  b\n--\na \nc\n",
    );
}

#[test]
fn whole_lines_begin_and_end_with_lines() {
    let places = |text: &str, old: &str| {
        let wanted = Wanted {
            old,
            new: "x\n",
            whole_lines: true,
        };
        let (strategy, places) = locate(text, wanted);
        (
            strategy,
            places
                .iter()
                .map(|place| text[place.range.clone()].to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let exact = |texts: &[&str]| {
        (
            Strategy::Exact,
            texts.iter().map(|&it| it.to_owned()).collect(),
        )
    };
    assert_eq!(places("xa\na\r\na", "a\n"), exact(&["a\r\n", "a"]));
    assert_eq!(places("xa\n", "a\n"), exact(&[]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// However a place was found: what surrounds it stays, its other copy makes it ambiguous, and
    /// the new text is the wanted one but for what the strategy ignores.
    #[test]
    fn a_loose_match_changes_its_place_only_and_never_another_one_i6_i11(
        before in "(x\n|y \n|\tz\r\n){0,3}",
        lines in prop::collection::vec("( |\t){0,3}[ab“\"’'–-]{1,4}( |\t){0,2}", 1..5),
        ends in prop::collection::vec(prop_oneof!["\n", "\r\n", "\r"], 5),
        new in prop::collection::vec("( |\t){0,3}[ab“\"’'–-]{0,4}", 1..5),
        liberty in 0..4,
        after in "(x\n|y \n|\tz\r\n){0,3}",
    ) {
        let there: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
        let text = format!("{before}{there}{after}");
        let fold = |text: &str| text.chars().map(loosely::fold).collect::<String>();
        let old: String = lines.iter().enumerate().map(|(at, line)| match liberty {
            0 => format!("{}\n", loosely::trimmed(line)),
            1 => format!("  {line}\n"),
            2 => format!("{}\t{line}\n", at + 7),
            _ => format!("{}\n", fold(line)),
        }).collect();
        let new: String = new.iter().map(|line| format!("{}{line}\n", if liberty == 1 { "  " } else { "" })).collect();
        let wanted = Wanted { old: &old, new: &new, whole_lines: false };
        let (strategy, places) = locate(&text, wanted);
        for place in &places {
            prop_assert!(!splits_crlf(&text, place.range.start) && !splits_crlf(&text, place.range.end));
        }
        let expected = before.len()..text.len() - after.len();
        prop_assert!(places.iter().any(|place| place.range == expected), "{old:?} in {text:?}: {places:?}");
        if places.len() == 1 {
            let plain = |text: &str| -> Vec<String> {
                let text = line_feeds(text);
                text.lines().map(|line| fold(line.trim_matches([' ', '\t']))).collect()
            };
            prop_assert_eq!(plain(&places[0].new), plain(&new), "{:?}", strategy);
        }
        // No wanted text has this character, so only the copies match.
        let twice = format!("{text}=\n{there}");
        prop_assert!(locate(&twice, wanted).1.len() > 1, "one of two in {twice:?}");
    }
}
