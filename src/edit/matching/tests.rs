use super::*;

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

#[test]
fn similar_lines_lead_to_the_place_that_was_meant() {
    let text = "fn alpha() {\n    one();\n}\nfn beta() {\n    two(x);\n}\nfn betas() {\n";
    assert_eq!(similar_lines(text, "\n  fn beta () {\n"), [4, 7, 1]);
    assert_eq!(similar_lines(text, "zzz"), [0usize; 0]);
    assert_eq!(similar_lines(text, " \n"), [0usize; 0]);
}
