use super::*;

#[test]
fn similar_lines_lead_to_the_place_that_was_meant() {
    let text = "fn alpha() {\n    one();\n}\nfn beta() {\n    two(x);\n}\nfn betas() {\n";
    assert_eq!(similar_lines(text, "\n  fn beta () {\n"), [4, 7, 1]);
    assert_eq!(similar_lines(text, "zzz"), [0usize; 0]);
    assert_eq!(similar_lines(text, " \n"), [0usize; 0]);
}

#[test]
fn the_first_difference_shows_both_sides() {
    let shown = |text: &str, old: &str| {
        let differs = places(text, old).1?;
        Some((differs.line, differs.there, differs.wanted))
    };
    let expected =
        |line, there: &str, wanted: &str| Some((line, there.to_owned(), wanted.to_owned()));
    assert_eq!(shown("x\rab 1\ry\r", "ab 2"), expected(2, "ab 1", "ab 2"));
    assert_eq!(shown("a1\nb2\n", "7\ta1\n8\tb3"), expected(2, "b2", "b3"));
    assert_eq!(
        shown("\tif\u{a0}x\n", "if x"),
        expected(1, "\\tif\\u{a0}x", "if x")
    );
    let long = format!("{}1{}", "a".repeat(30), "b".repeat(90));
    let (_, there, _) = shown(&long, &long.replace('1', "2")).unwrap();
    assert_eq!(there, format!("{}1{}", "a".repeat(12), "b".repeat(35)));
    assert_eq!(shown("abcd\n", "abcd\nmore"), expected(2, "", "more"));
}
