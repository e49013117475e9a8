use proptest::prelude::*;

use super::super::markdown::lines;
use super::*;

const LOOK: Look = Look {
    width: 24,
    styles: true,
};

const ANSWER: &str = "## How it works\n\nThe **cart** adds `price * count` and *then* takes the \
    [discount](https://x.test/a_b) of 2 * 3 percent off snake_case_names.\n\n- one **two \
    three** four five six seven\n- two\n  - nested `code here`\n\n1. first\n2. second\n\n\
    ```rust\nfn main() {\n    let a = *b;\n\n}\n```\n\n| a | b |\n|---|--:|\n| **x** | 1 |\n\
    | long cell | 20 |\n\n> quoted text that is long enough\n\n- list with code:\n\n  ```\n  \
    x = 1\n  y = 2\n  ```\n\nThe end.\n";

fn fed(pieces: &[&str]) -> Vec<String> {
    let mut stream = Stream::default();
    let mut out = Vec::new();
    for piece in pieces {
        let shown = stream.push(piece, LOOK);
        assert!(
            shown
                .live
                .is_none_or(|line| line.verbatim || line.width() <= 24)
        );
        out.extend(shown.settled);
    }
    out.extend(stream.end(LOOK));
    out.iter().map(|line| line.paint(true)).collect()
}

fn whole(text: &str) -> Vec<String> {
    lines(text, LOOK)
        .iter()
        .map(|line| line.paint(true))
        .collect()
}

#[test]
fn single_characters_give_the_lines_of_the_whole_text() {
    let mut ends: Vec<usize> = ANSWER.char_indices().map(|(at, _)| at).collect();
    ends.push(ANSWER.len());
    let pieces: Vec<&str> = ends.windows(2).map(|at| &ANSWER[at[0]..at[1]]).collect();
    assert_eq!(fed(&pieces).join("\n"), whole(ANSWER).join("\n"));
}

#[test]
fn lines_are_shown_before_their_block_ends() {
    let mut stream = Stream::default();
    let shown = stream.push("one two three four five six", LOOK);
    let text = |line: &Line| line.paint(false);
    assert_eq!(
        shown.settled.iter().map(text).collect::<Vec<_>>(),
        ["one two three four five"]
    );
    assert_eq!(shown.live.as_ref().map(text), Some("six".to_owned()));
    let shown = stream.push(" **bo", LOOK);
    assert_eq!(shown.live.as_ref().map(text), Some("six".to_owned()));
    let shown = stream.push("ld**", LOOK);
    assert_eq!(shown.live.as_ref().map(text), Some("six bold".to_owned()));
}

#[test]
fn a_long_code_block_is_shown_line_by_line_and_not_stored() {
    let body: String = (0..2000).map(|n| format!("line {n}\n")).collect();
    let text = format!("```\n{body}```\n\nend");
    let pieces: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(fed(&pieces), whole(&text));
    let mut stream = Stream::default();
    for piece in &pieces[..1500] {
        stream.push(piece, LOOK);
    }
    assert!(stream.source.len() < 2 * LONG, "{}", stream.source.len());
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_lines_of_the_whole_text(
        cuts in prop::collection::vec(0..ANSWER.len(), 0..40)
    ) {
        let mut ends: Vec<usize> = cuts.into_iter().map(|at| ANSWER.floor_char_boundary(at)).collect();
        ends.extend([0, ANSWER.len()]);
        ends.sort_unstable();
        let pieces: Vec<&str> = ends.windows(2).map(|at| &ANSWER[at[0]..at[1]]).collect();
        prop_assert_eq!(fed(&pieces), whole(ANSWER));
    }

    #[test]
    fn any_text_is_shown_to_its_end(text in "[a-c*_`\\[\\]()|~#> \n-]{0,80}", at in 0usize..80) {
        let at = text.floor_char_boundary(at.min(text.len()));
        let out = fed(&[&text[..at], &text[at..]]);
        let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).count();
        let plain: usize = whole(&text).iter().map(|line| letters(line)).sum();
        prop_assert!(out.iter().map(|line| letters(line)).sum::<usize>() + 40 >= plain);
    }
}
